package value

import (
	"strconv"
	"strings"
	"time"

	"cordwood/proto/zone"
)

// months are the beginnings of the names of months, which may be written in full or by three letters.
var months = []string{
	"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
	"december",
}

var weekdays = []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}

// named returns the place of a name in a list, from 1, or 0. At least three letters of it are needed.
func named(list []string, word string) int {
	for i, name := range list {
		if len(word) == 3 && strings.HasPrefix(name, word) || word == name || name == "september" && word == "sept" {
			return i + 1
		}
	}
	return 0
}

// zoneHours are the abbreviations of time zones of PostgreSQL's default list that are widely used, in hours.
var zoneHours = map[string]int64{
	"utc": 0, "gmt": 0, "z": 0, "wet": 0, "west": 1, "bst": 1, "cet": 1, "cest": 2, "eet": 2, "eest": 3, "msk": 3,
	"est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7, "jst": 9,
}

// zoneSeconds returns the offset of a zone at a local time, in seconds: of an offset, an abbreviation or a name such as
// Europe/Berlin.
func zoneSeconds(name string, day, nanos int64) (int64, bool) {
	if seconds, err := readOffset(name); err == nil {
		return seconds, true
	}
	if hours, ok := zoneHours[strings.ToLower(name)]; ok {
		return hours * 3600, true
	}
	if !strings.Contains(name, "/") {
		return 0, false
	}
	location, err := zone.Load(name)
	if err != nil {
		return 0, false
	}
	year, month, dom := civil(day)
	local := time.Date(int(year), time.Month(month), dom, 0, 0, 0, 0, location)
	_, seconds := time.Date(local.Year(), local.Month(), local.Day(), int(nanos/int64(time.Hour)),
		int(nanos/int64(time.Minute)%60), int(nanos/int64(time.Second)%60), 0, location).Zone()
	return int64(seconds), true
}

// spelled is a time in one of the forms that people write, such as "Jan 5 2026 10:00 PM" or "5 January, 2026".
type spelled struct {
	day, nanos, seconds int64
}

// readSpelled reads a text with the name of a month, points in the day, or AM and PM. Numbers alone are no days here:
// which of them is the month would depend on a setting.
func readSpelled(s string) (out spelled, ok bool) {
	var year, month, dom int64
	var zoneName, half string
	clock, dated := false, false
	for word := range strings.FieldsSeq(strings.ReplaceAll(s, ",", " ")) {
		lower := strings.ToLower(word)
		n, err := strconv.ParseInt(word, 10, 32)
		switch {
		case named(months, lower) > 0 && month == 0 && !dated:
			month = int64(named(months, lower))
		case named(weekdays, lower) > 0:
		case (lower == "am" || lower == "pm") && half == "" && clock:
			half = lower
		case strings.Contains(word, ":") && !clock:
			clock = true
			var rest string
			if out.nanos, rest, err = readClock(word); err != nil {
				return out, false
			}
			if rest = strings.ToLower(rest); rest == "am" || rest == "pm" {
				half = rest
			} else if rest != "" {
				zoneName = rest
			}
		case err == nil && len(word) <= 2 && dom == 0 && !dated:
			dom = n
		case err == nil && len(word) == 4 && year == 0 && !dated:
			year = n
		case strings.Count(word, ".") == 2 && len(word) >= 8 && word[4] == '.' || strings.Count(word, "-") == 2:
			if dated || year+month+dom > 0 {
				return out, false
			}
			day, rest, err := readDate(strings.ReplaceAll(word, ".", "-"))
			if err != nil || rest != "" {
				return out, false
			}
			out.day, dated = day, true
		case zoneName == "" && clock:
			zoneName = word
		default:
			return out, false
		}
	}
	if !dated {
		if year == 0 || month == 0 || dom == 0 {
			return out, false
		}
		out.day = dayOf(year, int(month), int(dom))
		if y, m, d := civil(out.day); y != year || int64(m) != month || int64(d) != dom {
			return out, false
		}
	}
	if out.nanos, ok = halfDay(out.nanos, half); !ok {
		return out, false
	}
	if zoneName != "" {
		out.seconds, ok = zoneSeconds(zoneName, out.day, out.nanos)
	}
	return out, ok
}

// halfDay returns the time of day for a time with AM or PM.
func halfDay(nanos int64, half string) (int64, bool) {
	const noon = 12 * int64(time.Hour)
	switch {
	case half == "":
		return nanos, true
	case nanos >= noon+int64(time.Hour) || nanos < int64(time.Hour):
		return nanos, false
	}
	nanos %= noon
	if half == "pm" {
		nanos += noon
	}
	return nanos, true
}
