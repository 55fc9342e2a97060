package timefmt

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// opKind is how a step of a pattern is parsed.
type opKind uint8

const (
	opLiteral       opKind = iota // text, byte for byte
	opSpace                       // any white space, or none
	opNumber                      // digits into a field
	opYear                        // digits, or a sign and any number of digits
	opHour                        // hour of 24: two fields
	opHour12                      // hour of 12
	opMonth                       // month name
	opWeekday                     // weekday name
	opWeekdayNumber               // %u, %w
	opAMPM                        // am, pm
	opFraction                    // optional dot and digits
	opDigits                      // a fixed number of digits of a fraction
	opOffset                      // UTC offset
	opZoneName                    // skipped
	opTimestamp                   // Unix seconds
	opDateSep                     // the T of RFC 3339
)

// op is one step of a pattern.
type op struct {
	kind  opKind
	spec  byte // the letter of the specifier, for writing
	pad   byte // '0', '_' or '-'; 0 if there is no padding
	width uint8
	field field
	off   offsetRule
	lo    int32
	hi    int32
	lit   string // literal text, or the original white space
	text  string // the specifier in the pattern, for errors
}

// offsetRule is how an offset is parsed and written.
type offsetRule uint8

const (
	offZulu          offsetRule = 1 << iota // Z is read as 0
	offUTC                                  // UTC is read as 0
	offMinutesOption                        // minutes may be missing
	offSeconds                              // seconds may follow; they are written
	offHours                                // only hours are written
	offColon                                // colons are written
)

// number describes the specifiers for plain numbers.
type number struct {
	field  field
	width  uint8
	pad    byte
	lo, hi int32
}

var numbers = map[byte]number{
	'C': {fYearDiv, 2, '0', 0, 99},
	'y': {fYearMod, 2, '0', 0, 99},
	'g': {fISOYearMod, 2, '0', 0, 99},
	'q': {fQuarter, 1, '0', 1, 4},
	'm': {fMonth, 2, '0', 1, 12},
	'd': {fDay, 2, '0', 1, 31},
	'e': {fDay, 2, '_', 1, 31},
	'U': {fWeekSun, 2, '0', 0, 53},
	'W': {fWeekMon, 2, '0', 0, 53},
	'V': {fISOWeek, 2, '0', 1, 53},
	'j': {fOrdinal, 3, '0', 1, 366},
	'M': {fMinute, 2, '0', 0, 59},
	'S': {fSecond, 2, '0', 0, 60},
	'f': {fNano, 9, '0', 0, 999_999_999},
}

// composites are the specifiers that stand for several others.
var composites = map[byte]string{
	'D': "%m/%d/%y",
	'x': "%m/%d/%y",
	'F': "%Y-%m-%d",
	'v': "%e-%b-%Y",
	'R': "%H:%M",
	'T': "%H:%M:%S",
	'X': "%H:%M:%S",
	'r': "%I:%M:%S %p",
	'c': "%a %b %e %H:%M:%S %Y",
}

// notNumbers has the first characters of specifiers that are not numbers.
const notNumbers = "DxFvRTXrcbhBaApPzZnt%+.:#369"

func compile(pattern string) (*Format, error) {
	f := &Format{pattern: pattern}
	for i := 0; i < len(pattern); {
		if pattern[i] != '%' {
			i = f.addText(pattern, i)
			continue
		}
		n, problem := f.addSpec(pattern[i:])
		if problem != "" {
			return nil, &PatternError{Pattern: pattern, Spec: pattern[i : i+n], Pos: i, Problem: problem}
		}
		i += n
	}
	f.layout = newLayout(f.ops)
	return f, nil
}

// addText adds the literal or the white space at pattern[i:] and returns its end.
func (f *Format) addText(pattern string, i int) int {
	start, space := i, spaceLen(pattern[i:]) > 0
	for i < len(pattern) && pattern[i] != '%' {
		n := spaceLen(pattern[i:])
		if (n > 0) != space {
			break
		}
		if n == 0 {
			_, n = utf8.DecodeRuneInString(pattern[i:])
		}
		i += n
	}
	f.addLiteral(pattern[start:i], pattern[start:i], space)
	return i
}

func (f *Format) addLiteral(lit, text string, space bool) {
	kind := opLiteral
	if space {
		kind = opSpace
	}
	f.ops = append(f.ops, op{kind: kind, lit: lit, text: text})
}

// spaceLen returns the length of the white space character at the start of s, or 0.
func spaceLen(s string) int {
	if s == "" {
		return 0
	}
	if c := s[0]; c < utf8.RuneSelf {
		if c == ' ' || c >= '\t' && c <= '\r' {
			return 1
		}
		return 0
	}
	if r, n := utf8.DecodeRuneInString(s); unicode.IsSpace(r) {
		return n
	}
	return 0
}

// addSpec adds the specifier at the start of s. It returns the specifier's length. If the specifier is invalid, it
// returns the length of the text to show and the problem.
func (f *Format) addSpec(s string) (n int, problem string) {
	n = 1
	pad := byte(0)
	if n < len(s) && (s[n] == '-' || s[n] == '_' || s[n] == '0') {
		pad = s[n]
		n++
	}
	if n == len(s) {
		return n, "incomplete specifier"
	}
	_, size := utf8.DecodeRuneInString(s[n:])
	c := s[n]
	n += size
	switch {
	case f.addNumber(c, pad, s[:n]):
		return n, ""
	case pad != 0 && strings.IndexByte(notNumbers, c) >= 0:
		return n, "padding does not apply in specifier"
	case pad != 0:
		return n, "unknown specifier"
	}
	switch c {
	case '.', ':', '#', '3', '6', '9':
		return f.addLongSpec(s)
	case '+':
		f.addRFC3339(s[:n])
		return n, ""
	}
	if sub, found := composites[c]; found {
		f.addComposite(sub, s[:n])
		return n, ""
	}
	o := op{spec: c, text: s[:n]}
	switch c {
	case 'b', 'h', 'B':
		o.kind, o.field = opMonth, fMonth
	case 'a', 'A':
		o.kind, o.field = opWeekday, fWeekday
	case 'p', 'P':
		o.kind, o.field = opAMPM, fHourDiv
	case 'z':
		o.kind = opOffset
	case 'Z':
		o.kind = opZoneName
	case 'n':
		f.addLiteral("\n", s[:n], true)
		return n, ""
	case 't':
		f.addLiteral("\t", s[:n], true)
		return n, ""
	case '%':
		f.addLiteral("%", s[:n], false)
		return n, ""
	default:
		return n, "unknown specifier"
	}
	f.add(o)
	return n, ""
}

// addNumber adds the specifier of letter c if it is a number.
func (f *Format) addNumber(c, pad byte, text string) bool {
	o := op{spec: c, text: text}
	switch c {
	case 'Y':
		o.kind, o.field, o.width, o.pad = opYear, fYear, 4, '0'
	case 'G':
		o.kind, o.field, o.width, o.pad = opYear, fISOYear, 4, '0'
	case 'H', 'k':
		o.kind, o.width, o.pad, o.hi = opHour, 2, '0', 23
	case 'I', 'l':
		o.kind, o.width, o.pad, o.lo, o.hi = opHour12, 2, '0', 1, 12
	case 'u':
		o.kind, o.field, o.width, o.pad, o.lo, o.hi = opWeekdayNumber, fWeekday, 1, '0', 1, 7
	case 'w':
		o.kind, o.field, o.width, o.pad, o.lo, o.hi = opWeekdayNumber, fWeekday, 1, '0', 0, 6
	case 's':
		o.kind, o.width, o.pad = opTimestamp, 9, '-'
	default:
		d, found := numbers[c]
		if !found {
			return false
		}
		o.kind, o.field, o.width, o.pad, o.lo, o.hi = opNumber, d.field, d.width, d.pad, d.lo, d.hi
	}
	if c == 'k' || c == 'l' {
		o.pad = '_'
	}
	if pad != 0 {
		o.pad = pad
	}
	f.add(o)
	return true
}

// longSpecs are the specifiers of more than one character.
var longSpecs = []struct {
	text string
	op   op
}{
	{"%.f", op{kind: opFraction, field: fNano}},
	{"%.3f", op{kind: opFraction, field: fNano, width: 3}},
	{"%.6f", op{kind: opFraction, field: fNano, width: 6}},
	{"%.9f", op{kind: opFraction, field: fNano, width: 9}},
	{"%3f", op{kind: opDigits, field: fNano, width: 3}},
	{"%6f", op{kind: opDigits, field: fNano, width: 6}},
	{"%9f", op{kind: opDigits, field: fNano, width: 9}},
	{"%:z", op{kind: opOffset, spec: 'z', off: offColon}},
	{"%::z", op{kind: opOffset, spec: 'z', off: offColon | offSeconds}},
	{"%:::z", op{kind: opOffset, spec: 'z', off: offHours | offMinutesOption}},
	{"%#z", op{kind: opOffset, spec: '#', off: offZulu | offMinutesOption}},
}

func (f *Format) addLongSpec(s string) (int, string) {
	best := 0
	for _, l := range longSpecs {
		if len(s) >= len(l.text) && s[:len(l.text)] == l.text {
			o := l.op
			o.text = s[:len(l.text)]
			f.add(o)
			return len(l.text), ""
		}
		for n := min(len(l.text), len(s)); n > best; n-- {
			if s[:n] == l.text[:n] {
				best = n
			}
		}
	}
	if best == len(s) {
		return best, "incomplete specifier"
	}
	_, size := utf8.DecodeRuneInString(s[best:])
	return best + size, "unknown specifier"
}

// addComposite adds the steps of the valid pattern sub, under the name text.
func (f *Format) addComposite(sub, text string) {
	from := len(f.ops)
	for i := 0; i < len(sub); {
		if sub[i] != '%' {
			i = f.addText(sub, i)
			continue
		}
		n, _ := f.addSpec(sub[i:])
		i += n
	}
	for i := from; i < len(f.ops); i++ {
		f.ops[i].text = text
	}
}

// addRFC3339 adds %+. The T may be a space or in lower case, and the offset may be Z or UTC.
func (f *Format) addRFC3339(text string) {
	f.addComposite("%Y-%m-%d", text)
	f.ops = append(f.ops, op{kind: opDateSep, lit: "T", text: text})
	f.addComposite("%H:%M:%S%.f", text)
	f.add(op{kind: opOffset, spec: 'z', off: offColon | offZulu | offUTC, text: text})
}

// add adds a step and records which fields it provides.
func (f *Format) add(o op) {
	switch o.kind {
	case opHour:
		f.fields |= setOf(fHourDiv) | setOf(fHourMod)
	case opHour12:
		f.fields |= setOf(fHourMod)
	case opTimestamp:
		f.fields |= setOf(fTimestamp)
	case opOffset:
		f.flags |= hasOffset
		if o.spec == '#' {
			f.flags |= readOnly
		}
	case opZoneName:
		f.flags |= hasZoneName
	default:
		f.fields |= setOf(o.field)
	}
	f.ops = append(f.ops, o)
}
