package timefmt

// layout is the usual form of a pattern's texts, in which each number has all of its digits, so that everything before
// the fraction has a fixed place. It reads such a text in one step. A text of another form, which the pattern may
// still allow, is left to the steps of the pattern.
type layout struct {
	size     int // bytes before the fraction and the offset
	literals []placedByte
	// The places of the numbers. name is the place of a month's name, which replaces month; -1 if there is none.
	year, month, name, day, hour, minute, second int
	fraction                                     bool
	offset                                       bool
	rule                                         offsetRule
}

// placedByte is a byte that the text must have at a place.
type placedByte struct {
	at int
	c  byte
}

// newLayout returns the layout of a pattern's steps; nil if the pattern has a step without a fixed place.
func newLayout(ops []op) *layout {
	l := &layout{year: -1, month: -1, name: -1, day: -1, hour: -1, minute: -1, second: -1}
	for i := range ops {
		if l.offset || l.fraction && ops[i].kind != opOffset || !l.add(&ops[i]) {
			return nil
		}
		if ops[i].kind == opMonth && i+1 < len(ops) && !endsName(&ops[i+1]) {
			return nil
		}
	}
	month := (l.month < 0) != (l.name < 0)
	if !month || l.year < 0 || l.day < 0 || l.hour < 0 || l.minute < 0 || l.fraction && l.second < 0 {
		return nil
	}
	return l
}

// endsName reports whether o cannot match the rest of a long name.
func endsName(o *op) bool {
	switch o.kind {
	case opLiteral:
		c := o.lit[0] | 0x20
		return c < 'a' || c > 'z'
	case opSpace, opNumber, opYear, opHour, opFraction:
		return true
	}
	return false
}

// add adds a step. It returns false if the step has no fixed place, or its field already has one.
func (l *layout) add(o *op) bool {
	switch o.kind {
	case opLiteral, opDateSep:
		for i := range len(o.lit) {
			l.literals = append(l.literals, placedByte{l.size + i, o.lit[i]})
		}
		l.size += len(o.lit)
		return true
	case opSpace:
		l.literals = append(l.literals, placedByte{l.size, ' '})
		l.size++
		return o.lit == " "
	case opFraction:
		l.fraction = true
		return true
	case opOffset:
		l.offset, l.rule = true, o.off
		return true
	}
	place, width := l.place(o)
	if place == nil || *place >= 0 {
		return false
	}
	*place = l.size
	l.size += width
	return true
}

// place returns where the place of a field is stored, and the length of the field; nil for steps that have none.
func (l *layout) place(o *op) (place *int, width int) {
	switch {
	case o.kind == opYear && o.field == fYear:
		return &l.year, 4
	case o.kind == opMonth && o.spec != 'B': // most texts have a long name for %B
		return &l.name, 3
	case o.kind == opHour:
		return &l.hour, 2
	case o.kind != opNumber:
		return nil, 0
	}
	switch o.field {
	case fMonth:
		return &l.month, 2
	case fDay:
		return &l.day, 2
	case fMinute:
		return &l.minute, 2
	case fSecond:
		return &l.second, 2
	}
	return nil, 0
}

// parse reads a text of the usual form. It returns false for all others.
func (l *layout) parse(text string) (sec int64, nsec int32, done bool) {
	if len(text) < l.size {
		return 0, 0, false
	}
	for _, p := range l.literals {
		if text[p.at] != p.c {
			return 0, 0, false
		}
	}
	d := pairs{text: text}
	y := d.at(l.year)*100 + d.at(l.year+2)
	day, clock := d.at(l.day), d.at(l.hour)*3600
	minute, second := d.at(l.minute), int32(0)
	if l.second >= 0 {
		second = d.at(l.second)
	}
	m := int32(0)
	if l.name >= 0 {
		m, _ = monthName(text[l.name:l.name+3], 0)
	} else {
		m = d.at(l.month)
	}
	if d.bad || m < 1 || m > 12 || day < 1 || day > daysIn(y, m) || clock > 23*3600 || minute > 59 || second > 59 {
		return 0, 0, false
	}
	rest := text[l.size:]
	if l.fraction && len(rest) > 0 && rest[0] == '.' {
		n := 0
		if nsec, n = fixedFraction(rest[1:]); n == 0 {
			return 0, 0, false
		}
		rest = rest[1+n:]
	}
	sec = daysFromCivil(y, m, day)*secondsPerDay + int64(clock+minute*60+second)
	if !l.offset {
		return sec, nsec, rest == ""
	}
	off, done := fixedOffset(rest, l.rule)
	return sec - int64(off), nsec, done
}

// pairs reads numbers of two digits.
type pairs struct {
	text string
	bad  bool
}

func (d *pairs) at(i int) int32 {
	tens, ones := d.text[i]-'0', d.text[i+1]-'0'
	if tens > 9 || ones > 9 {
		d.bad = true
	}
	return int32(tens)*10 + int32(ones)
}

// fixedFraction reads the digits at the start of s, of which there are at most nine. It returns their number, which is
// 0 if there are none or too many.
func fixedFraction(s string) (nsec int32, n int) {
	for n < len(s) && s[n]-'0' <= 9 {
		if n == 9 {
			return 0, 0
		}
		nsec = nsec*10 + int32(s[n]-'0')
		n++
	}
	for i := n; i < 9; i++ {
		nsec *= 10
	}
	return nsec, n
}

// fixedOffset reads s as an offset in the form Z, +0930 or +09:30.
func fixedOffset(s string, rule offsetRule) (seconds int32, done bool) {
	if s == "Z" {
		return 0, rule&offZulu != 0
	}
	if len(s) != 5 && (len(s) != 6 || s[3] != ':') || s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	d := pairs{text: s}
	h, m := d.at(1), d.at(len(s)-2)
	if d.bad || h > 23 || m > 59 {
		return 0, false
	}
	seconds = h*3600 + m*60
	if s[0] == '-' {
		seconds = -seconds
	}
	return seconds, true
}
