package value

import (
	"encoding/binary"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"cordwood/proto/schema"
)

// timeLiteral returns the literal of a timestamp, date, time of day or interval in text format.
func timeLiteral(t *Type, s string) (string, error) {
	s = strings.TrimSpace(s)
	switch t.kind {
	case kindMoment:
		return MomentLiteral(s)
	case kindDate:
		switch strings.ToLower(s) {
		case "infinity", "-infinity":
			return "DATE " + quote(strings.ToLower(s)), nil
		}
		if strings.EqualFold(s, "epoch") {
			return dateLiteral(0)
		}
		day, rest, err := readDate(s)
		if err != nil {
			if v, ok := readSpelled(s); ok {
				return dateLiteral(v.day)
			}
			return "", err
		}
		if isClock(rest) {
			_, rest, err = readClock(strings.TrimLeft(rest, " T"))
		}
		if _, wrong := readOffset(orElse(strings.TrimSpace(rest), "Z")); wrong == nil {
			rest = ""
		}
		if rest != "" || err != nil {
			return "", invalidMoment("date", s)
		}
		return dateLiteral(day)
	case kindTime:
		nanos, rest, err := readClock(s)
		nanos, ok := halfDay(nanos, strings.ToLower(strings.TrimSpace(rest)))
		if rest != "" && !strings.EqualFold(strings.TrimSpace(rest), "am") &&
			!strings.EqualFold(strings.TrimSpace(rest), "pm") || err != nil || !ok {
			return "", invalidMoment("time", s)
		}
		return "TIME " + quote(string(appendClock(nil, nanos/1000))), nil
	case kindTimeTZ:
		return timeTZLiteral(s)
	}
	v, err := readInterval(s)
	if err != nil {
		return "", err
	}
	return spanLiteral(v), nil
}

// isClock reports whether a text after a day begins with a time of day. JDBC sends days as "2026-01-05 +00".
func isClock(s string) bool {
	clock := strings.TrimLeft(s, " T")
	return clock != s && (clock == "" || clock[0] != '+' && clock[0] != '-')
}

func timeTZLiteral(s string) (string, error) {
	nanos, rest, err := readClock(s)
	if err != nil {
		return "", err
	}
	rest = orElse(strings.TrimSpace(rest), "Z")
	seconds, err := readOffset(rest)
	if hours, known := zoneHours[strings.ToLower(rest)]; known {
		seconds, err = hours*3600, nil
	}
	if err != nil {
		return "", err
	}
	return "CAST(" + quote(string(appendClock(nil, nanos/1000))+offsetText(seconds)) + " AS TIME WITH TIME ZONE)", nil
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func offsetText(seconds int64) string {
	sign := "+"
	if seconds < 0 {
		sign, seconds = "-", -seconds
	}
	two := func(n int64) string { return string([]byte{byte('0' + n/10), byte('0' + n%10)}) }
	return sign + two(seconds/3600) + ":" + two(seconds/60%60)
}

// spanLiteral returns the literal of an interval.
func spanLiteral(v span) string {
	return "(INTERVAL (" + strconv.FormatInt(int64(v.months), 10) + ") MONTH + INTERVAL (" +
		strconv.FormatInt(int64(v.days), 10) + ") DAY + INTERVAL (" + strconv.FormatInt(v.micros, 10) + ") MICROSECOND)"
}

func dateLiteral(day int64) (string, error) {
	if day < firstDay || day > lastDateDay {
		return "", &Error{"22008", "date out of range: a date must be from 4714-11-24 BC to 5874897-12-31"}
	}
	text, before := appendDay(nil, day)
	if before {
		text = append(text, " (BC)"...)
	}
	return "DATE " + quote(string(text)), nil
}

// The timestamps that fit into 64 bits of nanoseconds, in seconds. Literals within this range are exact.
const (
	firstNanoSecond = math.MinInt64/1_000_000_000 + 1
	lastNanoSecond  = math.MaxInt64/1_000_000_000 - 1
)

// MomentLiteral returns the literal of a timestamp in PostgreSQL's notation: with or without an offset, T, Z, up to
// nine decimals, BC, or infinity.
func MomentLiteral(s string) (string, error) {
	switch strings.ToLower(s) {
	case "infinity", "-infinity":
		return "TIMESTAMP " + quote(strings.ToLower(s)), nil
	case "epoch":
		s = "1970-01-01"
	}
	day, rest, err := readDate(s)
	var failed *Error
	switch {
	case errors.As(err, &failed) && failed.State == "22008":
		return "", err
	case err != nil:
		return spelledMoment(s)
	}
	nanos, seconds := int64(0), int64(0)
	if rest != "" && isClock(rest) {
		if nanos, rest, err = readClock(strings.TrimLeft(rest, " T")); err != nil {
			return "", invalidMoment("timestamp", s)
		}
	}
	switch rest = strings.TrimSpace(rest); strings.ToUpper(rest) {
	case "", "UTC", "GMT":
	default:
		var known bool
		if seconds, known = zoneSeconds(rest, day, nanos); !known {
			return spelledMoment(s)
		}
	}
	return momentLiteral(day*86400-seconds, nanos)
}

// spelledMoment is MomentLiteral for the forms that readSpelled reads.
func spelledMoment(s string) (string, error) {
	v, ok := readSpelled(s)
	if !ok {
		return "", invalidMoment("timestamp", s)
	}
	return momentLiteral(v.day*86400-v.seconds, v.nanos)
}

// The range of timestamps, in seconds: from PostgreSQL's first day, 4714-11-24 BC, to the engine's last microsecond,
// 294247-01-10 04:00:54.775806. PostgreSQL's timestamps end 30 years later.
const (
	firstSecond = firstDay * 86400
	lastSecond  = 9223372036854
)

// momentLiteral returns the literal of a timestamp, given as seconds since 1970 and additional nanoseconds. Beyond the
// range of nanoseconds, the literal has microseconds. A timestamp that the engine does not have is an error.
func momentLiteral(seconds, nanos int64) (string, error) {
	seconds += nanos / int64(time.Second)
	nanos %= int64(time.Second)
	switch {
	case seconds < firstSecond, seconds > lastSecond, seconds == lastSecond && nanos/1000 >= 775_807:
		return "", &Error{"22008", "timestamp out of range: a timestamp must be from 4714-11-24 BC to 294247-01-10 04:00:54"}
	case seconds < firstNanoSecond || seconds > lastNanoSecond:
		day := schema.FloorDiv(seconds, 86400)
		text, before := appendDay(nil, day)
		if before {
			text = append(text, " (BC)"...)
		}
		text = appendClock(append(text, ' '), (seconds-day*86400)*1e6+nanos/1000)
		return "TIMESTAMP " + quote(string(text)), nil
	}
	text := time.Unix(seconds, nanos).UTC().Format("2006-01-02 15:04:05.999999999")
	return "TIMESTAMP_NS " + quote(text), nil
}

// readDate parses YYYY-MM-DD, YYYY/MM/DD or YYYYMMDD at the beginning of a text, and BC at its end. It returns days
// since 1970 and the rest of the text.
func readDate(s string) (day int64, rest string, err error) {
	bad := invalidMoment("date", s)
	whole, before := s, false
	if n := len(s) - len(" BC"); n > 0 && strings.EqualFold(s[n:], " BC") {
		s, before = strings.TrimRight(s[:n], " "), true
	}
	end := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '-' && r != '/' })
	if end < 0 {
		end = len(s)
	}
	head := s[:end]
	if len(head) == 8 && !strings.ContainsAny(head, "-/") {
		head = head[:4] + "-" + head[4:6] + "-" + head[6:]
	} else if strings.Count(head, "/") == 2 && !strings.Contains(head, "-") {
		head = strings.ReplaceAll(head, "/", "-")
	}
	if n := strings.Count(head, "-"); n > 2 { // a date followed by an offset
		at := strings.LastIndexByte(head, '-')
		head, end = head[:at], at
	}
	parts := strings.Split(head, "-")
	if len(parts) != 3 || len(parts[0]) < 4 || len(parts[0]) > 7 {
		return 0, "", bad
	}
	var n [3]int64
	for i, p := range parts {
		if n[i], err = strconv.ParseInt(p, 10, 32); err != nil || p == "" {
			return 0, "", bad
		}
	}
	year := n[0]
	if before {
		year = 1 - year // the year 1 BC comes before the year 1
	}
	day = dayOf(year, int(n[1]), int(n[2]))
	if y, m, d := civil(day); n[0] == 0 || y != year || int64(m) != n[1] || int64(d) != n[2] {
		return 0, "", &Error{"22008", "date/time field value out of range: " + strconv.Quote(excerpt(whole))}
	}
	return day, s[end:], nil
}

// dayOf is the inverse of civil.
func dayOf(year int64, month, dom int) int64 {
	if month <= 2 {
		year--
	}
	era := schema.FloorDiv(year, 400)
	yoe := year - era*400
	mp := int64(month+9) % 12
	doy := (153*mp+2)/5 + int64(dom) - 1
	return era*146097 + yoe*365 + yoe/4 - yoe/100 + doy - 719468
}

// binaryTimeLiteral returns the literal of a timestamp, date, time of day or interval in binary format. The caller has
// checked the length of b.
func binaryTimeLiteral(t *Type, b []byte) (string, error) {
	if len(b) < 4 {
		return "", badBinary(t.Name)
	}
	if t.kind == kindDate {
		switch d := int32(binary.BigEndian.Uint32(b)); d {
		case math.MaxInt32:
			return "DATE 'infinity'", nil
		case math.MinInt32:
			return "DATE '-infinity'", nil
		default:
			return dateLiteral(int64(d) + epochDays)
		}
	}
	v := int64(binary.BigEndian.Uint64(b))
	switch t.kind {
	case kindMoment:
		switch v {
		case math.MaxInt64:
			return "TIMESTAMP 'infinity'", nil
		case math.MinInt64:
			return "TIMESTAMP '-infinity'", nil
		}
		s := schema.FloorDiv(v, 1_000_000)
		return momentLiteral(s+epochDays*86400, (v-s*1_000_000)*1000)
	case kindInterval:
		return spanLiteral(span{
			micros: v, days: int32(binary.BigEndian.Uint32(b[8:])), months: int32(binary.BigEndian.Uint32(b[12:])),
		}), nil
	}
	if v < 0 || v > microsPerDay {
		return "", badBinary(t.Name)
	}
	clock := string(appendClock(nil, v))
	if t.kind == kindTime {
		return "TIME " + quote(clock), nil
	}
	west := int64(int32(binary.BigEndian.Uint32(b[8:])))
	if west < -16*3600 || west > 16*3600 {
		return "", badBinary(t.Name)
	}
	return "CAST(" + quote(clock+offsetText(-west)) + " AS TIME WITH TIME ZONE)", nil
}
