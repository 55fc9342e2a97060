package timefmt

import (
	"strconv"
	"time"
)

// Append appends t, in its own zone, to dst. If the pattern contains %#z, it returns an *AppendError and leaves dst
// unchanged.
func (f *Format) Append(dst []byte, t time.Time) ([]byte, error) {
	if f.flags&readOnly != 0 {
		for i := range f.ops {
			if f.ops[i].spec == '#' {
				return dst, &AppendError{Pattern: f.pattern, Spec: f.ops[i].text}
			}
		}
	}
	var c clock
	c.init(t)
	for i := range f.ops {
		dst = c.append(dst, &f.ops[i])
	}
	return dst, nil
}

// clock has the parts of a time.
type clock struct {
	t                time.Time
	year, month, day int32
	hour, min, sec   int
	nano             int
	offset           int
	zone             string
	days             int64 // since 1970, on the local calendar
}

func (c *clock) init(t time.Time) {
	c.t = t
	c.zone, c.offset = t.Zone()
	local := t.Unix() + int64(c.offset)
	c.days = floorDiv(local, secondsPerDay)
	s := int(local - c.days*secondsPerDay)
	c.hour, c.min, c.sec = s/3600, s/60%60, s%60
	c.nano = t.Nanosecond()
	c.year, c.month, c.day = civilFromDays(c.days)
}

func (c *clock) ordinal() int32 { return int32(c.days-daysFromCivil(c.year, 1, 1)) + 1 }

// append writes one step of the pattern.
func (c *clock) append(dst []byte, o *op) []byte {
	switch o.kind {
	case opLiteral, opSpace, opDateSep:
		return append(dst, o.lit...)
	case opYear:
		year := c.year
		if o.spec == 'G' {
			year, _ = isoWeekOf(c.days)
		}
		return appendYear(dst, year, o.pad)
	case opMonth:
		name := longMonths[c.month-1]
		if o.spec != 'B' {
			name = name[:3]
		}
		return append(dst, name...)
	case opWeekday:
		name := longWeekdays[weekdayOf(c.days)]
		if o.spec != 'A' {
			name = name[:3]
		}
		return append(dst, name...)
	case opAMPM:
		return append(dst, halfDay(c.hour, o.spec)...)
	case opFraction:
		return appendFraction(dst, c.nano, int(o.width))
	case opDigits:
		return appendDigits(dst, c.nano, int(o.width))
	case opOffset:
		return appendOffset(dst, c.offset, o.off)
	case opZoneName:
		if c.zone == "" {
			return appendOffset(dst, c.offset, offColon)
		}
		return append(dst, c.zone...)
	case opTimestamp:
		return appendPadded(dst, c.t.Unix(), int(o.width), o.pad)
	}
	return appendPadded(dst, c.value(o.spec), int(o.width), o.pad)
}

// halfDay is AM or PM: %p writes it in upper case, %P in lower case.
func halfDay(hour int, spec byte) string {
	switch {
	case spec == 'p' && hour < 12:
		return "AM"
	case spec == 'p':
		return "PM"
	case hour < 12:
		return "am"
	default:
		return "pm"
	}
}

// value returns the value of a specifier that is a plain number.
func (c *clock) value(spec byte) int64 {
	switch spec {
	case 'C':
		return floorDiv(int64(c.year), 100)
	case 'y':
		return floorMod(int64(c.year), 100)
	case 'g':
		year, _ := isoWeekOf(c.days)
		return floorMod(int64(year), 100)
	case 'q':
		return int64(c.month+2) / 3
	case 'm':
		return int64(c.month)
	case 'd', 'e':
		return int64(c.day)
	case 'j':
		return int64(c.ordinal())
	case 'U':
		return int64(weekOfYear(c.ordinal(), weekdayOf(c.days), sunday))
	case 'W':
		return int64(weekOfYear(c.ordinal(), weekdayOf(c.days), monday))
	case 'V':
		_, week := isoWeekOf(c.days)
		return int64(week)
	case 'u':
		return int64(weekdayOf(c.days)) + 1
	case 'w':
		return int64(since(weekdayOf(c.days), sunday))
	case 'H', 'k':
		return int64(c.hour)
	case 'I', 'l':
		return int64((c.hour+11)%12) + 1
	case 'M':
		return int64(c.min)
	case 'S':
		return int64(c.sec)
	default: // 'f'
		return int64(c.nano)
	}
}

// appendYear writes at least four digits. A year outside 0 to 9999 gets a sign.
func appendYear(dst []byte, year int32, pad byte) []byte {
	if year >= 0 && year <= 9999 {
		return appendPadded(dst, int64(year), 4, pad)
	}
	sign := byte('+')
	if year < 0 {
		sign, year = '-', -year
	}
	if pad == '_' {
		for n := digitsOf(int64(year)); n < 4; n++ {
			dst = append(dst, ' ')
		}
	}
	dst = append(dst, sign)
	if pad == '_' {
		pad = '-'
	}
	return appendPadded(dst, int64(year), 4, pad)
}

// appendPadded writes v with at least width characters, including the sign.
func appendPadded(dst []byte, v int64, width int, pad byte) []byte {
	fill := byte('0')
	switch pad {
	case '-':
		return strconv.AppendInt(dst, v, 10)
	case '_':
		fill = ' '
	}
	if v < 0 {
		if fill == '0' {
			dst = append(dst, '-')
			v = -v
		}
		width--
	}
	for n := digitsOf(v); n < width; n++ {
		dst = append(dst, fill)
	}
	return strconv.AppendInt(dst, v, 10)
}

// digitsOf counts the digits of v without its sign.
func digitsOf(v int64) int {
	n := 1
	for v /= 10; v != 0; v /= 10 {
		n++
	}
	return n
}

// appendFraction writes a dot and width digits. If width is 0, it writes as many of 0, 3, 6 or 9 digits as needed,
// and no dot if there are none.
func appendFraction(dst []byte, nano, width int) []byte {
	if width == 0 {
		switch {
		case nano == 0:
			return dst
		case nano%1_000_000 == 0:
			width = 3
		case nano%1_000 == 0:
			width = 6
		default:
			width = 9
		}
	}
	return appendDigits(append(dst, '.'), nano, width)
}

// appendDigits writes the first width digits of a fraction.
func appendDigits(dst []byte, nano, width int) []byte {
	for n := width; n < 9; n++ {
		nano /= 10
	}
	return appendPadded(dst, int64(nano), width, '0')
}

// appendOffset writes an offset according to the rule. If seconds are not shown, it is rounded to the nearest
// minute. If minutes are not shown, they are dropped.
func appendOffset(dst []byte, offset int, rule offsetRule) []byte {
	sign := byte('+')
	if offset < 0 {
		sign, offset = '-', -offset
	}
	if rule&(offSeconds|offHours) == 0 {
		offset = (offset + 30) / 60 * 60
	}
	dst = append(dst, sign)
	dst = appendPadded(dst, int64(offset/3600), 2, '0')
	if rule&offHours != 0 {
		return dst
	}
	if rule&offColon != 0 {
		dst = append(dst, ':')
	}
	dst = appendPadded(dst, int64(offset/60%60), 2, '0')
	if rule&offSeconds != 0 {
		dst = append(dst, ':')
		dst = appendPadded(dst, int64(offset%60), 2, '0')
	}
	return dst
}
