package quick

// start is what may follow at a place of the program.
type start struct {
	// bytes are the bytes that the rest of a match may begin with. There may be some that
	// it cannot.
	bytes set
	// end says that the rest may match nothing, but at the end of the text only.
	end bool
	// empty says that the rest does match if nothing else will do, without any byte.
	empty bool
	// perhaps says the same with an assertion in between.
	perhaps bool
}

// open reports whether the rest of a match may be empty elsewhere than at the end.
func (s *start) open() bool { return s.empty || s.perhaps }

// analyze finds out what makes the program quick, and whether it is right for ASCII only.
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
		// A repetition of all characters beyond ASCII takes single bytes of them. That is
		// right as long as it cannot end between two bytes of one character.
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

// contFirst is the least of the bytes of a character beyond ASCII after its first, which
// are a quarter of all bytes.
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

// delimiter returns the byte that the rest of a match from pc begins with, if it is always the
// same, or -1.
func (p *Program) delimiter(pc int32) int16 {
	for p.insts[pc].op == opSave {
		pc = p.insts[pc].next
	}
	if in := &p.insts[pc]; in.op == opText && in.text != "" {
		return int16(in.text[0])
	}
	return -1
}

// startOf finds out what may follow at pc.
func (p *Program) startOf(pc int32) *start {
	s := &start{}
	// Instructions are visited once without an assertion before them and once with one.
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
