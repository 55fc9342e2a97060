package timefmt

import (
	"math"
	"time"
)

// parse parses text: by the layout of the pattern if it has the usual form, otherwise into fields, which it resolves.
func (f *Format) parse(text string, o *ParseOptions) (int64, int32, failure) {
	if l := f.layout; l != nil && (l.offset || !o.RequireOffset && (o.Zone == nil || o.Zone == time.UTC)) {
		if sec, nsec, done := l.parse(text); done {
			return sec, nsec, failure{}
		}
	}
	var p parsed
	i := 0
	for n := range f.ops {
		if end := p.quick(&f.ops[n], text, i); end > i {
			i = end
			continue
		}
		end, reason := f.step(&p, n, text, i)
		if reason != ok {
			return 0, 0, failure{reason: reason, op: n, pos: min(i, len(text))}
		}
		i = end
	}
	if i < len(text) {
		return 0, 0, failure{reason: TooLong, op: len(f.ops), pos: i}
	}
	sec, nsec, reason := p.resolve(o)
	return sec, nsec, failure{reason: reason, op: len(f.ops), pos: i}
}

// quick parses the most frequent steps: numbers with two digits and literals of one byte. If a step needs more, it
// changes nothing and returns i.
func (p *parsed) quick(o *op, text string, i int) int {
	if o.kind == opLiteral {
		if len(o.lit) == 1 && i < len(text) && text[i] == o.lit[0] {
			return i + 1
		}
		return i
	}
	if o.width != 2 || i+2 > len(text) || o.kind != opNumber && o.kind != opHour {
		return i
	}
	tens, ones := text[i]-'0', text[i+1]-'0'
	if tens > 9 || ones > 9 {
		return i
	}
	v := int32(tens)*10 + int32(ones)
	if v < o.lo || v > o.hi {
		return i
	}
	if o.kind == opNumber {
		if p.has(o.field) {
			return i
		}
		p.fields |= setOf(o.field)
		p.v[o.field] = v
		return i + 2
	}
	if p.fields&(setOf(fHourDiv)|setOf(fHourMod)) != 0 {
		return i
	}
	p.fields |= setOf(fHourDiv) | setOf(fHourMod)
	if v >= 12 {
		p.v[fHourDiv] = 1
		v -= 12
	}
	p.v[fHourMod] = v
	return i + 2
}

// step parses step n of the pattern at text[i:] and returns the end.
func (f *Format) step(p *parsed, n int, text string, i int) (int, Reason) {
	o := &f.ops[n]
	switch o.kind {
	case opLiteral:
		if end := i + len(o.lit); end <= len(text) {
			if text[i:end] == o.lit {
				return end, ok
			}
			return i, Invalid
		}
		if text[i:] == o.lit[:len(text)-i] {
			return i, TooShort
		}
		return i, Invalid
	case opSpace:
		return skipSpace(text, i), ok
	case opZoneName:
		return f.skipZoneName(n, text, i), ok
	case opMonth:
		m, end := monthName(text, i)
		return p.setName(fMonth, m, end, i, len(text))
	case opWeekday:
		d, end := weekdayName(text, i)
		return p.setName(fWeekday, d, end, i, len(text))
	case opAMPM:
		return p.parseAMPM(text, i)
	case opFraction:
		if i == len(text) || text[i] != '.' {
			return i, ok
		}
		return p.parseFraction(text, i+1)
	case opDigits:
		return p.parseDigits(text, i, int(o.width))
	case opOffset:
		off, end, reason := parseOffset(text, skipSpace(text, i), o.off)
		if reason == ok && !p.set(fOffset, off) {
			reason = Impossible
		}
		return end, reason
	case opTimestamp:
		return p.parseTimestamp(text, i)
	case opDateSep:
		if i == len(text) {
			return i, TooShort
		}
		if c := text[i]; c != 'T' && c != 't' && c != ' ' {
			return i, Invalid
		}
		return i + 1, ok
	}
	return p.parseNumber(o, text, i)
}

// parseNumber parses the kinds of steps that are digits in a range.
func (p *parsed) parseNumber(o *op, text string, i int) (int, Reason) {
	i = skipSpace(text, i)
	var v int64
	var end int
	var reason Reason
	if o.kind == opYear {
		v, end, reason = parseYear(text, i, int(o.width))
	} else {
		v, end, reason = digits(text, i, int(o.width))
		if reason == ok && (v < int64(o.lo) || v > int64(o.hi)) {
			reason = OutOfRange
		}
	}
	if reason != ok {
		return i, reason
	}
	n, agrees := int32(v), false
	switch o.kind {
	case opHour:
		agrees = p.set(fHourDiv, n/12) && p.set(fHourMod, n%12)
	case opHour12:
		agrees = p.set(fHourMod, n%12)
	case opWeekdayNumber:
		agrees = p.set(fWeekday, (n+6)%7) // Monday is 0
	default:
		agrees = p.set(o.field, n)
	}
	if !agrees {
		return i, Impossible
	}
	return end, ok
}

// digits reads 1 to width digits.
func digits(text string, i, width int) (int64, int, Reason) {
	v, start := int64(0), i
	for stop := min(len(text), i+width); i < stop; i++ {
		c := text[i] - '0'
		if c > 9 {
			break
		}
		v = v*10 + int64(c)
	}
	if i == start {
		if i == len(text) {
			return 0, i, TooShort
		}
		return 0, i, Invalid
	}
	return v, i, ok
}

// parseYear reads a year: width digits at most, any number of them after a sign.
func parseYear(text string, i, width int) (int64, int, Reason) {
	if i < len(text) && (text[i] == '+' || text[i] == '-') {
		v, end, reason := longInteger(text, i+1, text[i] == '-')
		if reason == ok && (v < minYear || v > maxYear) {
			reason = OutOfRange
		}
		return v, end, reason
	}
	return digits(text, i, width)
}

// longInteger parses any number of digits, as far as they fit.
func longInteger(text string, i int, negative bool) (int64, int, Reason) {
	v, start := int64(0), i
	for ; i < len(text); i++ {
		c := text[i] - '0'
		if c > 9 {
			break
		}
		if v > (math.MaxInt64-9)/10 {
			return 0, i, OutOfRange
		}
		v = v*10 + int64(c)
	}
	if i == start {
		if i == len(text) {
			return 0, i, TooShort
		}
		return 0, i, Invalid
	}
	if negative {
		v = -v
	}
	return v, i, ok
}

// parseTimestamp reads Unix seconds.
func (p *parsed) parseTimestamp(text string, i int) (int, Reason) {
	i = skipSpace(text, i)
	start := i
	negative := i < len(text) && text[i] == '-'
	if i < len(text) && (text[i] == '-' || text[i] == '+') {
		i++
	}
	v, end, reason := longInteger(text, i, negative)
	if reason == ok && (v < minUnix || v > maxUnix) {
		reason = OutOfRange
	}
	if reason != ok {
		return start, reason
	}
	if p.has(fTimestamp) && p.timestamp != v {
		return start, Impossible
	}
	p.fields |= setOf(fTimestamp)
	p.timestamp = v
	return end, ok
}

func (p *parsed) parseAMPM(text string, i int) (int, Reason) {
	if i+2 > len(text) {
		return i, TooShort
	}
	v := int32(0)
	switch text[i] | 0x20 {
	case 'a':
	case 'p':
		v = 1
	default:
		return i, Invalid
	}
	if text[i+1]|0x20 != 'm' {
		return i, Invalid
	}
	if !p.set(fHourDiv, v) {
		return i, Impossible
	}
	return i + 2, ok
}

// parseFraction parses the digits after a dot. Digits after the ninth are dropped.
func (p *parsed) parseFraction(text string, i int) (int, Reason) {
	v, end, reason := digits(text, i, 9)
	if reason != ok {
		return i, reason
	}
	nano := int32(v)
	for n := end - i; n < 9; n++ {
		nano *= 10
	}
	for end < len(text) && text[end]-'0' <= 9 {
		end++
	}
	if !p.set(fNano, nano) {
		return i, Impossible
	}
	return end, ok
}

// parseDigits reads exactly width digits of a fraction.
func (p *parsed) parseDigits(text string, i, width int) (int, Reason) {
	if i+width > len(text) {
		return i, TooShort
	}
	v, end, reason := digits(text, i, width)
	if reason == ok && end < i+width {
		reason = Invalid
	}
	if reason != ok {
		return i, reason
	}
	nano := int32(v)
	for n := width; n < 9; n++ {
		nano *= 10
	}
	if !p.set(fNano, nano) {
		return i, Impossible
	}
	return end, ok
}

// skipZoneName skips to white space, or to the literal that follows in the pattern.
func (f *Format) skipZoneName(n int, text string, i int) int {
	stop := byte(0)
	if n+1 < len(f.ops) && f.ops[n+1].kind == opLiteral {
		stop = f.ops[n+1].lit[0]
	}
	for i < len(text) && spaceLen(text[i:]) == 0 && (stop == 0 || text[i] != stop) {
		i++
	}
	return i
}

func skipSpace(text string, i int) int {
	for i < len(text) {
		n := spaceLen(text[i:])
		if n == 0 {
			break
		}
		i += n
	}
	return i
}
