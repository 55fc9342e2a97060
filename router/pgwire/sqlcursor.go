package pgwire

import "cordwood/router/pgwire/value"

// runDeclare runs DECLARE name [NO SCROLL] CURSOR [WITH|WITHOUT HOLD] FOR query.
func runDeclare(e *executor, s *scanner) (*outcome, error) {
	name, ok := s.name()
	if !ok {
		return nil, s.syntaxError()
	}
	if err := checkName(name); err != nil {
		return nil, err
	}
	held := false
	for !s.accept("CURSOR") {
		switch {
		case s.accept("BINARY"):
			return nil, unsupported("BINARY cursors are not available; use a portal of the extended protocol")
		case s.accept("INSENSITIVE"), s.accept("ASENSITIVE"), s.accept("NO", "SCROLL"):
		case s.accept("SCROLL"):
			return nil, failure("55000", "a cursor can only go forward").withHint("declare it with NO SCROLL")
		default:
			return nil, s.syntaxError()
		}
	}
	if s.accept("WITH", "HOLD") {
		held = true
	} else {
		s.accept("WITHOUT", "HOLD")
	}
	if !s.accept("FOR") {
		return nil, s.syntaxError()
	}
	if e.session.state == outside && !held {
		return nil, failure("25P01", "DECLARE CURSOR can only be used in transaction blocks").
			withHint("declare it WITH HOLD, or begin a transaction")
	}
	if e.portals.byName[name] != nil {
		return nil, failure("42P03", "cursor %q already exists", excerpt(name))
	}
	cmd := newCommand(s.rest())
	if cmd.session != nil || cmd.verb == "INSERT" || cmd.verb == "DELETE" || cmd.verb == "" {
		return nil, s.syntaxError()
	}
	p := &portal{name: name, cmd: cmd, declared: true, held: held}
	if err := e.portals.add(p); err != nil {
		return nil, err
	}
	e.runner.long = true
	out, err := e.run(cmd)
	e.runner.long = false
	if err == nil && out.rows == nil {
		err = failure("42P11", "DECLARE CURSOR needs a query")
	}
	if err != nil {
		delete(e.portals.byName, name)
		return nil, within(err, s.before())
	}
	p.out, p.columns = out, out.rows.columns
	if err := e.portals.rest(p); err != nil {
		delete(e.portals.byName, name)
		return nil, err
	}
	return done("DECLARE CURSOR"), nil
}

// fetching has the arguments of FETCH and MOVE.
type fetching struct {
	name string
	n    int64 // 0 means all
	none bool
}

// readFetch parses [NEXT|n|FORWARD [n|ALL]|ALL] [FROM|IN] name.
func readFetch(s *scanner) (f fetching, err error) {
	f.n = 1
	backwards := failure("55000", "a cursor can only go forward")
	switch {
	case s.accept("NEXT"):
	case s.acceptAny("PRIOR", "LAST", "FIRST", "ABSOLUTE", "RELATIVE", "BACKWARD") != "":
		return f, backwards
	case s.accept("ALL"):
		f.n = 0
	default:
		s.accept("FORWARD")
		if s.accept("ALL") {
			f.n = 0
		} else if s.symbol("-") {
			return f, backwards
		} else if n, ok := s.number(); ok {
			f.n, f.none = n, n == 0
		}
	}
	s.acceptAny("FROM", "IN")
	name, ok := s.name()
	if !ok || !s.end() {
		return f, s.syntaxError()
	}
	f.name = name
	return f, nil
}

func runFetch(e *executor, s *scanner) (*outcome, error) {
	f, err := readFetch(s)
	if err != nil {
		return nil, err
	}
	p, err := e.portals.cursor(f.name)
	if err != nil {
		return nil, err
	}
	return &outcome{tag: "FETCH %d", fetch: p, fetching: f}, nil
}

// runMove reads rows and discards them.
func runMove(e *executor, s *scanner) (*outcome, error) {
	f, err := readFetch(s)
	if err != nil {
		return nil, err
	}
	p, err := e.portals.cursor(f.name)
	if err != nil {
		return nil, err
	}
	if p.finished || f.none {
		return done("MOVE 0"), nil
	}
	n, err := e.portals.move(p, f.n)
	return done("MOVE " + itoa(n)), err
}

// answerFetch sends rows of a cursor.
func (e *executor) answerFetch(out *outcome, formats []value.Format, described bool) error {
	p := out.fetch
	p.out.rows.setFormats(formats)
	if described {
		e.say.send(describe(p.columns, formats))
	}
	var n int64
	if !out.fetching.none {
		var err error
		if n, _, err = e.portals.fetch(p, out.fetching.n); err != nil {
			return err
		}
	}
	e.say.complete(out.tag, n)
	return nil
}

func runClose(e *executor, s *scanner) (*outcome, error) {
	if s.accept("ALL") {
		e.portals.closeDeclared()
		return done("CLOSE CURSOR ALL"), s.done()
	}
	name, ok := s.name()
	if !ok || !s.end() {
		return nil, s.syntaxError()
	}
	if e.portals.byName[name] == nil {
		return nil, failure("34000", "cursor %q does not exist", excerpt(name))
	}
	e.portals.close(name)
	return done("CLOSE CURSOR"), nil
}
