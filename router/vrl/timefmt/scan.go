package timefmt

// minusSign is U+2212, which ISO 8601 prefers to the hyphen.
const minusSign = "\u2212"

// parseOffset reads a UTC offset in seconds, at most a day either way.
func parseOffset(text string, i int, rule offsetRule) (int32, int, Reason) {
	start := i
	if i == len(text) {
		return 0, i, TooShort
	}
	if rule&offUTC != 0 && len(text)-i >= 3 && equalFold(text[i:i+3], "utc") {
		return 0, i + 3, ok
	}
	negative := false
	switch c := text[i]; {
	case (c == 'Z' || c == 'z') && rule&offZulu != 0:
		return 0, i + 1, ok
	case c == '+':
		i++
	case c == '-':
		negative = true
		i++
	case len(text)-i >= len(minusSign) && text[i:i+len(minusSign)] == minusSign:
		negative = true
		i += len(minusSign)
	default:
		return 0, start, Invalid
	}
	h, i, reason := twoDigits(text, i, 99)
	if reason != ok {
		return 0, start, reason
	}
	off := h * 3600
	m, end, reason := twoDigits(text, skipColon(text, i), 59)
	switch {
	case reason == ok:
		off += m * 60
		i = end
		if rule&offSeconds != 0 {
			if s, end, reason := twoDigits(text, skipColon(text, i), 59); reason == ok {
				off += s
				i = end
			}
		}
	case reason == OutOfRange || rule&offMinutesOption == 0:
		return 0, start, reason
	}
	if off >= secondsPerDay {
		return 0, start, OutOfRange
	}
	if negative {
		off = -off
	}
	return off, i, ok
}

// skipColon skips the optional separator between the parts of an offset.
func skipColon(text string, i int) int {
	for i < len(text) {
		if text[i] == ':' {
			i++
			continue
		}
		n := spaceLen(text[i:])
		if n == 0 {
			break
		}
		i += n
	}
	return i
}

// twoDigits parses exactly two digits with a value of at most limit.
func twoDigits(text string, i int, limit int32) (int32, int, Reason) {
	if i+2 > len(text) {
		return 0, i, TooShort
	}
	a, b := text[i]-'0', text[i+1]-'0'
	if a > 9 || b > 9 {
		return 0, i, Invalid
	}
	v := int32(a)*10 + int32(b)
	if v > limit {
		return 0, i, OutOfRange
	}
	return v, i + 2, ok
}

var (
	longMonths = [...]string{
		"January", "February", "March", "April", "May", "June",
		"July", "August", "September", "October", "November", "December",
	}
	longWeekdays = [...]string{
		"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
	}
)

// key returns the first three letters of s in lower case as one number.
func key(s string) uint32 {
	return (uint32(s[0])<<16 | uint32(s[1])<<8 | uint32(s[2])) | 0x202020
}

// monthName parses a short or long month name; month is 0 if there is none.
func monthName(text string, i int) (month int32, end int) {
	if i+3 > len(text) {
		return 0, i
	}
	m := 0
	switch key(text[i:]) {
	case 'j'<<16 | 'a'<<8 | 'n':
		m = 1
	case 'f'<<16 | 'e'<<8 | 'b':
		m = 2
	case 'm'<<16 | 'a'<<8 | 'r':
		m = 3
	case 'a'<<16 | 'p'<<8 | 'r':
		m = 4
	case 'm'<<16 | 'a'<<8 | 'y':
		m = 5
	case 'j'<<16 | 'u'<<8 | 'n':
		m = 6
	case 'j'<<16 | 'u'<<8 | 'l':
		m = 7
	case 'a'<<16 | 'u'<<8 | 'g':
		m = 8
	case 's'<<16 | 'e'<<8 | 'p':
		m = 9
	case 'o'<<16 | 'c'<<8 | 't':
		m = 10
	case 'n'<<16 | 'o'<<8 | 'v':
		m = 11
	case 'd'<<16 | 'e'<<8 | 'c':
		m = 12
	default:
		return 0, i
	}
	return int32(m), longEnd(text, i, longMonths[m-1])
}

// weekdayName parses a short or long weekday name, with Monday as 0; -1 if there is none.
func weekdayName(text string, i int) (weekday int32, end int) {
	if i+3 > len(text) {
		return -1, i
	}
	d := 0
	switch key(text[i:]) {
	case 'm'<<16 | 'o'<<8 | 'n':
		d = 0
	case 't'<<16 | 'u'<<8 | 'e':
		d = 1
	case 'w'<<16 | 'e'<<8 | 'd':
		d = 2
	case 't'<<16 | 'h'<<8 | 'u':
		d = 3
	case 'f'<<16 | 'r'<<8 | 'i':
		d = 4
	case 's'<<16 | 'a'<<8 | 't':
		d = 5
	case 's'<<16 | 'u'<<8 | 'n':
		d = 6
	default:
		return -1, i
	}
	return int32(d), longEnd(text, i, longWeekdays[d])
}

// longEnd returns the end of the name at text[i:]: the end of the long name if it is there, otherwise the end of
// its first three letters.
func longEnd(text string, i int, long string) int {
	if end := i + len(long); end <= len(text) && equalFold(text[i+3:end], long[3:]) {
		return end
	}
	return i + 3
}

// equalFold compares two texts, ignoring the case of ASCII letters.
func equalFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if a[i]|0x20 != b[i]|0x20 {
			return false
		}
	}
	return true
}
