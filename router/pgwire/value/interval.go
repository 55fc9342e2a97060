package value

import (
	"math"
	"strconv"
	"strings"
)

// inputUnits are the units that PostgreSQL accepts in texts of intervals, in months, days or microseconds.
var inputUnits = func() map[string]span {
	m := map[string]span{}
	add := func(s span, names string) {
		for name := range strings.FieldsSeq(names) {
			m[name] = s
		}
	}
	add(span{months: 12_000}, "millennium millennia mil mils")
	add(span{months: 1_200}, "century centuries cent c")
	add(span{months: 120}, "decade decades dec decs")
	add(span{months: 12}, "year years yr yrs y")
	add(span{months: 1}, "month months mon mons")
	add(span{days: 7}, "week weeks w")
	add(span{days: 1}, "day days d")
	add(span{micros: 3_600_000_000}, "hour hours hr hrs h")
	add(span{micros: 60_000_000}, "minute minutes min mins m")
	add(span{micros: 1_000_000}, "second seconds sec secs s")
	add(span{micros: 1_000}, "millisecond milliseconds msec msecs ms")
	add(span{micros: 1}, "microsecond microseconds usec usecs us")
	return m
}()

// daysPerMonth is how many days the fraction of a month counts.
const daysPerMonth = 30

// spanSum adds up the parts of an interval.
type spanSum struct {
	months, days, micros float64
}

// add adds n units. The fraction of a month counts as days, and the fraction of a day as time.
func (s *spanSum) add(n float64, unit span) {
	switch {
	case unit.micros != 0:
		s.micros += math.Round(n * float64(unit.micros))
	case unit.days != 0:
		s.addDays(n * float64(unit.days))
	case unit.months > 1:
		s.months += math.Round(n * float64(unit.months))
	default:
		whole, fraction := math.Modf(n)
		s.months += whole
		s.addDays(fraction * daysPerMonth)
	}
}

func (s *spanSum) addDays(n float64) {
	whole, fraction := math.Modf(n)
	s.days += whole
	s.micros += math.Round(fraction * microsPerDay)
}

// span returns the sum, if it is within the range of intervals.
func (s *spanSum) span() (v span, ok bool) {
	const exact = 1 << 53 // microseconds beyond it would lose digits
	if math.Abs(s.months) > math.MaxInt32 || math.Abs(s.days) > math.MaxInt32 || math.Abs(s.micros) > exact {
		return v, false
	}
	return span{months: int32(s.months), days: int32(s.days), micros: int64(s.micros)}, true
}

// IntervalText returns an interval in PostgreSQL's notation, such as 1-2, P1DT2H or 1.5 hours, in the engine's.
func IntervalText(text string) (string, error) {
	v, err := readInterval(text)
	if err != nil {
		return "", err
	}
	var parts []string
	add := func(n int64, unit string) {
		if n != 0 || unit == "microseconds" && len(parts) == 0 {
			parts = append(parts, strconv.FormatInt(n, 10)+" "+unit)
		}
	}
	add(int64(v.months), "months")
	add(int64(v.days), "days")
	add(v.micros, "microseconds")
	return strings.Join(parts, " "), nil
}

// readInterval parses an interval in PostgreSQL's notation.
func readInterval(text string) (v span, err error) {
	bad := &Error{"22007", "invalid input syntax for type interval: " + strconv.Quote(excerpt(text))}
	rest := strings.ToLower(strings.TrimSpace(text))
	var sum spanSum
	ok := false
	if iso, isISO := strings.CutPrefix(rest, "p"); isISO {
		ok = sum.readISO(iso)
	} else {
		ok = sum.readParts(strings.TrimPrefix(rest, "@"))
	}
	if !ok {
		return v, bad
	}
	if v, ok = sum.span(); !ok {
		return v, &Error{"22008", "interval field value out of range: " + strconv.Quote(excerpt(text))}
	}
	return v, nil
}

// readParts adds numbers with units, times of day and years with months, such as 1 year 2-3 4 05:06.
func (s *spanSum) readParts(text string) bool {
	words := strings.Fields(spacedUnits(text))
	ago := false
	if n := len(words); n > 1 && words[n-1] == "ago" {
		ago, words = true, words[:n-1]
	}
	for i := 0; i < len(words); i++ {
		sign, word := 1.0, words[i]
		if word == "-" || word == "+" {
			if i++; i == len(words) {
				return false
			}
			word += words[i]
		}
		if rest, negative := strings.CutPrefix(word, "-"); negative {
			sign, word = -1, rest
		} else {
			word = strings.TrimPrefix(word, "+")
		}
		years, months, ranged := strings.Cut(word, "-")
		switch {
		case strings.Contains(word, ":"):
			micros, err := readHours(word)
			if err != nil {
				return false
			}
			s.micros += sign * float64(micros)
		case ranged:
			y, ok1 := unsigned(years)
			m, ok2 := unsigned(months)
			if !ok1 || !ok2 || m >= 12 {
				return false
			}
			s.months += sign * (12*y + m)
		default:
			n, ok := unsigned(word)
			if !ok {
				return false
			}
			unit := inputUnits["second"]
			if i+1 < len(words) {
				named, known := inputUnits[words[i+1]]
				switch {
				case known:
					i++
					unit = named
				case strings.Contains(words[i+1], ":"): // days before a time of day
					unit = inputUnits["day"]
				default:
					return false
				}
			}
			s.add(sign*n, unit)
		}
	}
	if ago {
		s.months, s.days, s.micros = -s.months, -s.days, -s.micros
	}
	return len(words) > 0
}

// spacedUnits writes a space between a number and its unit, as in 1h.
func spacedUnits(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if i > 0 && text[i] >= 'a' && text[i] <= 'z' && (text[i-1] >= '0' && text[i-1] <= '9' || text[i-1] == '.') {
			b.WriteByte(' ')
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// unsigned parses a number without a sign.
func unsigned(text string) (float64, bool) {
	if strings.Trim(text, "0123456789.") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil
}

// The units of ISO 8601 before and after the T.
var (
	isoDates = map[byte]span{'y': {months: 12}, 'm': {months: 1}, 'w': {days: 7}, 'd': {days: 1}}
	isoTimes = map[byte]span{'h': {micros: 3_600_000_000}, 'm': {micros: 60_000_000}, 's': {micros: 1_000_000}}
)

// readISO adds the parts of an interval such as P1Y2M3DT4H5M6S, without the P.
func (s *spanSum) readISO(text string) bool {
	units, some := isoDates, false
	for text != "" {
		if text[0] == 't' {
			units, text = isoTimes, text[1:]
			continue
		}
		end := strings.IndexFunc(text, func(c rune) bool { return c >= 'a' && c <= 'z' })
		if end < 1 {
			return false
		}
		n, err := strconv.ParseFloat(text[:end], 64)
		unit, known := units[text[end]]
		if err != nil || !known || strings.ContainsAny(text[:end], "_x") {
			return false
		}
		s.add(n, unit)
		text, some = text[end+1:], true
	}
	return some
}
