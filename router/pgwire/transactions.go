package pgwire

import (
	"slices"
	"strings"
)

// maxSavepoints is the maximum number of savepoints in a transaction.
const maxSavepoints = 1000

func runBegin(c *conn, s *scanner) (*outcome, error) {
	s.acceptAny("WORK", "TRANSACTION")
	return c.beginTransaction(s, "BEGIN")
}

func runStart(c *conn, s *scanner) (*outcome, error) {
	if !s.accept("TRANSACTION") {
		return nil, s.syntaxError()
	}
	return c.beginTransaction(s, "START TRANSACTION")
}

func (c *conn) beginTransaction(s *scanner, tag string) (*outcome, error) {
	modes, err := transactionModes(s)
	if err != nil {
		return nil, err
	}
	if c.session.state == outside {
		c.session.begin()
	} else {
		c.notice(warning("25001", "there is already a transaction in progress"))
	}
	return done(tag), c.setModes(modes)
}

// transactionModes parses the modes after BEGIN.
func transactionModes(s *scanner) (modes [][2]string, err error) {
	for !s.end() {
		switch {
		case s.accept("READ", "ONLY"):
			modes = append(modes, [2]string{"transaction_read_only", "on"})
		case s.accept("READ", "WRITE"):
			modes = append(modes, [2]string{"transaction_read_only", "off"})
		case s.accept("ISOLATION", "LEVEL"):
			level := s.acceptAny("SERIALIZABLE", "REPEATABLE", "READ")
			if level == "REPEATABLE" || level == "READ" {
				level += " " + s.acceptAny("READ", "COMMITTED", "UNCOMMITTED")
			}
			modes = append(modes, [2]string{"transaction_isolation", strings.ToLower(level)})
		case s.accept("DEFERRABLE"), s.accept("NOT", "DEFERRABLE"):
		default:
			return nil, s.syntaxError()
		}
		s.symbol(",")
	}
	return modes, nil
}

// setModes sets the modes of the transaction.
func (c *conn) setModes(modes [][2]string) error {
	for _, m := range modes {
		_, val, err := c.session.check(m[0], m[1])
		if err != nil {
			return err
		}
		if m[0] == "transaction_read_only" {
			c.session.reading = val == "on"
		} else {
			c.session.local[m[0]] = val
		}
	}
	return nil
}

// runCommit ends a transaction. A failed transaction is rolled back.
func runCommit(c *conn, s *scanner) (*outcome, error) {
	s.acceptAny("WORK", "TRANSACTION")
	chain := chained(s)
	if err := s.done(); err != nil {
		return nil, err
	}
	switch c.session.state {
	case outside:
		c.notice(warning("25P01", "there is no transaction in progress"))
		return done("COMMIT"), nil
	case failed:
		return c.rollBack(chain), nil
	}
	c.endTransaction(false, chain)
	return done("COMMIT"), nil
}

// chained reads AND CHAIN, and reports whether it is there.
func chained(s *scanner) bool {
	if s.accept("AND", "NO", "CHAIN") {
		return false
	}
	return s.accept("AND", "CHAIN")
}

func (c *conn) endTransaction(undo, chain bool) {
	c.closePortals(false)
	c.session.finish(undo)
	if chain {
		c.session.begin()
	}
}

func runRollback(c *conn, s *scanner) (*outcome, error) {
	if s.accept("PREPARED") {
		return nil, unsupported("ROLLBACK PREPARED is not available: there are no transactions of two phases")
	}
	s.acceptAny("WORK", "TRANSACTION")
	if s.accept("TO") {
		return c.rollBackTo(s)
	}
	chain := chained(s)
	if err := s.done(); err != nil {
		return nil, err
	}
	if c.session.state == outside {
		c.notice(warning("25P01", "there is no transaction in progress"))
		return done("ROLLBACK"), nil
	}
	return c.rollBack(chain), nil
}

// rollBack ends a transaction. The rows that its statements stored stay, and a warning says so.
func (c *conn) rollBack(chain bool) *outcome {
	if c.session.stored {
		c.notice(warning("01000", "what the statements of the transaction have changed stays: "+
			"each statement stands for itself"))
	}
	c.endTransaction(true, chain)
	return done("ROLLBACK")
}

func runSavepoint(c *conn, s *scanner) (*outcome, error) {
	name, ok := s.name()
	if !ok || !s.end() {
		return nil, s.syntaxError()
	}
	if err := checkName(name); err != nil {
		return nil, err
	}
	switch {
	case c.session.state == outside:
		return nil, failure("25P01", "SAVEPOINT can only be used in transaction blocks")
	case len(c.session.savepoints) >= maxSavepoints:
		return nil, failure("54000", "a transaction has at most %d savepoints", maxSavepoints)
	}
	c.session.savepoints = append(c.session.savepoints, name)
	return done("SAVEPOINT"), nil
}

// savepoint reads the name of a savepoint and returns its index.
func (c *conn) savepoint(s *scanner) (int, error) {
	s.accept("SAVEPOINT")
	name, ok := s.name()
	if !ok || !s.end() {
		return 0, s.syntaxError()
	}
	if c.session.state == outside {
		return 0, failure("25P01", "savepoints can only be used in transaction blocks")
	}
	points := c.session.savepoints
	for i := len(points) - 1; i >= 0; i-- {
		if points[i] == name {
			return i, nil
		}
	}
	return 0, failure("3B001", "savepoint %q does not exist", excerpt(name))
}

func runRelease(c *conn, s *scanner) (*outcome, error) {
	i, err := c.savepoint(s)
	if err != nil {
		return nil, err
	}
	c.session.savepoints = slices.Delete(c.session.savepoints, i, len(c.session.savepoints))
	return done("RELEASE"), nil
}

// rollBackTo rolls back to a savepoint, so that a failed transaction can continue.
func (c *conn) rollBackTo(s *scanner) (*outcome, error) {
	i, err := c.savepoint(s)
	if err != nil {
		return nil, err
	}
	c.session.savepoints = c.session.savepoints[:i+1]
	c.session.state = inside
	return done("ROLLBACK"), nil
}
