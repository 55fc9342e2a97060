package quick

// start describes how the rest of a match may begin at an instruction.
type start struct {
	// bytes are the bytes with which the rest may begin. The set may be too large.
	bytes set
	// end is set if the rest may be empty at the end of the text only.
	end bool
	// empty is set if the rest may be empty anywhere.
	empty bool
	// perhaps is set if the rest may be empty where an assertion holds.
	perhaps bool
}

// open reports whether the rest of a match may be empty before the end of the text.
func (s *start) open() bool { return s.empty || s.perhaps }

// analyze computes what makes the program fast, and whether it is valid for ASCII texts only.
func (p *Program) analyze() {
	for i := range p.insts {
		in := &p.insts[i]
		if in.op != opGreedy && in.op != opLazy {
			continue
		}
		after := p.startOf(in.next)
		in.delim = p.delimiter(in.next)
		in.atEnd = after.end || after.open()
		if !after.open() {
			in.follow = &after.bytes
		}
		in.final = in.op == opGreedy && (after.empty || !after.perhaps && !after.bytes.meets(in.set))
		// A repetition of all non-ASCII characters matches their single bytes. This is correct if it cannot end between
		// two bytes of one character.
		switch {
		case !in.set.has(contFirst) || in.final:
		case after.open() || after.bytes.hasContinuation():
			p.ascii = true
		}
	}
	first := p.startOf(p.start)
	if !first.open() && !first.end {
		p.first = &first.bytes
	}
	pc := p.start
	for {
		in := &p.insts[pc]
		switch in.op {
		case opBegin:
			p.anchored = true
		case opSave:
		case opText:
			p.prefix = in.text
			return
		default:
			return
		}
		pc = in.next
	}
}

// contFirst is the lowest continuation byte of UTF-8.
const contFirst = 0x80

func (s *set) hasContinuation() bool { return s[contFirst>>6] != 0 }

func (s *set) meets(o *set) bool {
	return s[0]&o[0]|s[1]&o[1]|s[2]&o[2]|s[3]&o[3] != 0
}

func (s *set) include(o *set) {
	for i := range s {
		s[i] |= o[i]
	}
}

// delimiter returns the byte with which the rest of a match from pc always begins, or -1.
func (p *Program) delimiter(pc int32) int16 {
	for p.insts[pc].op == opSave {
		pc = p.insts[pc].next
	}
	if in := &p.insts[pc]; in.op == opText && in.text != "" {
		return int16(in.text[0])
	}
	return -1
}

// startOf returns how the rest of a match may begin at pc.
func (p *Program) startOf(pc int32) *start {
	s := &start{}
	// Each instruction is visited at most twice: without an assertion before it, and with one.
	var seen [2][maxInsts]bool
	var visit func(pc int32, asserted int)
	visit = func(pc int32, asserted int) {
		if seen[asserted][pc] {
			return
		}
		seen[asserted][pc] = true
		in := &p.insts[pc]
		switch in.op {
		case opMatch:
			if asserted > 0 {
				s.perhaps = true
			} else {
				s.empty = true
			}
		case opText:
			s.bytes.add(in.text[0])
		case opSet:
			s.bytes.include(in.set)
		case opGreedy, opLazy:
			s.bytes.include(in.set)
			if in.min == 0 {
				visit(in.next, asserted)
			}
		case opSplit:
			visit(in.next, asserted)
			visit(in.other, asserted)
		case opSave:
			visit(in.next, asserted)
		case opEnd:
			s.end = true
		case opLineEnd:
			s.end = true
			s.bytes.add('\n')
		default:
			visit(in.next, 1)
		}
	}
	visit(pc, 0)
	return s
}
