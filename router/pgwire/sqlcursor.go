package pgwire

import "cordwood/router/pgwire/value"

// runDeclare runs DECLARE name [NO SCROLL] CURSOR [WITH|WITHOUT HOLD] FOR query.
func runDeclare(c *conn, s *scanner) (*outcome, error) {
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
	if c.session.state == outside && !held {
		return nil, failure("25P01", "DECLARE CURSOR can only be used in transaction blocks").
			withHint("declare it WITH HOLD, or begin a transaction")
	}
	if c.portals[name] != nil {
		return nil, failure("42P03", "cursor %q already exists", excerpt(name))
	}
	cmd := newCommand(s.rest())
	if cmd.session != nil || cmd.verb == "INSERT" || cmd.verb == "DELETE" || cmd.verb == "" {
		return nil, s.syntaxError()
	}
	p := &portal{name: name, cmd: cmd, declared: true, held: held}
	if err := c.addPortal(p); err != nil {
		return nil, err
	}
	c.long = true
	out, err := c.run(cmd)
	c.long = false
	if err == nil && out.rows == nil {
		err = failure("42P11", "DECLARE CURSOR needs a query")
	}
	if err != nil {
		delete(c.portals, name)
		return nil, within(err, s.before())
	}
	p.out, p.columns = out, out.rows.columns
	if err := c.rest(p); err != nil {
		delete(c.portals, name)
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

// openCursor returns a cursor by its name.
func (c *conn) openCursor(name string) (*portal, error) {
	p := c.portals[name]
	if p == nil || p.out == nil || p.out.rows == nil {
		return nil, failure("34000", "cursor %q does not exist", excerpt(name))
	}
	return p, nil
}

func runFetch(c *conn, s *scanner) (*outcome, error) {
	f, err := readFetch(s)
	if err != nil {
		return nil, err
	}
	p, err := c.openCursor(f.name)
	if err != nil {
		return nil, err
	}
	return &outcome{tag: "FETCH %d", fetch: p, fetching: f}, nil
}

// runMove reads rows and discards them.
func runMove(c *conn, s *scanner) (*outcome, error) {
	f, err := readFetch(s)
	if err != nil {
		return nil, err
	}
	p, err := c.openCursor(f.name)
	if err != nil {
		return nil, err
	}
	if p.finished || f.none {
		return done("MOVE 0"), nil
	}
	if err := c.wake(p); err != nil {
		return nil, err
	}
	stop := c.reading(p.out.rows.x)
	n := int64(0)
	for f.n == 0 || n < f.n {
		if !p.out.rows.next() {
			stop()
			return done("MOVE " + itoa(n)), c.finishPortal(p, p.out.rows.rows.Err())
		}
		n++
	}
	stop()
	return done("MOVE " + itoa(n)), c.rest(p)
}

// answerFetch sends rows of a cursor.
func (c *conn) answerFetch(out *outcome, formats []value.Format, described bool) error {
	p := out.fetch
	p.out.rows.setFormats(formats)
	if described {
		c.out.Send(describe(p.columns, formats))
	}
	var n int64
	if !out.fetching.none {
		var err error
		if n, _, err = c.fetch(p, out.fetching.n); err != nil {
			return err
		}
	}
	c.complete(out.tag, n)
	return nil
}

func runClose(c *conn, s *scanner) (*outcome, error) {
	if s.accept("ALL") {
		for name, p := range c.portals {
			if p.declared {
				c.closePortal(name)
			}
		}
		return done("CLOSE CURSOR ALL"), s.done()
	}
	name, ok := s.name()
	if !ok || !s.end() {
		return nil, s.syntaxError()
	}
	if c.portals[name] == nil {
		return nil, failure("34000", "cursor %q does not exist", excerpt(name))
	}
	c.closePortal(name)
	return done("CLOSE CURSOR"), nil
}
