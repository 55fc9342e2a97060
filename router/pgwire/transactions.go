package pgwire

import (
	"slices"
	"strings"
)

// maxSavepoints is the maximum number of savepoints in a transaction.
const maxSavepoints = 1000

func runBegin(e *executor, s *scanner) (*outcome, error) {
	s.acceptAny("WORK", "TRANSACTION")
	return e.beginTransaction(s, "BEGIN")
}

func runStart(e *executor, s *scanner) (*outcome, error) {
	if !s.accept("TRANSACTION") {
		return nil, s.syntaxError()
	}
	return e.beginTransaction(s, "START TRANSACTION")
}

func (e *executor) beginTransaction(s *scanner, tag string) (*outcome, error) {
	modes, err := transactionModes(s)
	if err != nil {
		return nil, err
	}
	if e.session.state == outside {
		e.session.begin()
	} else {
		e.say.notice(warning("25001", "there is already a transaction in progress"))
	}
	return done(tag), e.session.setModes(modes)
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
func (s *session) setModes(modes [][2]string) error {
	for _, m := range modes {
		_, val, err := s.check(m[0], m[1])
		if err != nil {
			return err
		}
		if m[0] == "transaction_read_only" {
			s.reading = val == "on"
		} else {
			s.local[m[0]] = val
		}
	}
	return nil
}

// runCommit ends a transaction. A failed transaction is rolled back.
func runCommit(e *executor, s *scanner) (*outcome, error) {
	s.acceptAny("WORK", "TRANSACTION")
	chain := chained(s)
	if err := s.done(); err != nil {
		return nil, err
	}
	switch e.session.state {
	case outside:
		e.say.notice(warning("25P01", "there is no transaction in progress"))
		return done("COMMIT"), nil
	case failed:
		return e.rollBack(chain), nil
	}
	e.endTransaction(false, chain)
	return done("COMMIT"), nil
}

// chained reads AND CHAIN, and reports whether it is there.
func chained(s *scanner) bool {
	if s.accept("AND", "NO", "CHAIN") {
		return false
	}
	return s.accept("AND", "CHAIN")
}

func (e *executor) endTransaction(undo, chain bool) {
	e.portals.closeAll(false)
	e.session.finish(undo)
	if chain {
		e.session.begin()
	}
}

func runRollback(e *executor, s *scanner) (*outcome, error) {
	if s.accept("PREPARED") {
		return nil, unsupported("ROLLBACK PREPARED is not available: there are no transactions of two phases")
	}
	s.acceptAny("WORK", "TRANSACTION")
	if s.accept("TO") {
		return e.session.rollBackTo(s)
	}
	chain := chained(s)
	if err := s.done(); err != nil {
		return nil, err
	}
	if e.session.state == outside {
		e.say.notice(warning("25P01", "there is no transaction in progress"))
		return done("ROLLBACK"), nil
	}
	return e.rollBack(chain), nil
}

// rollBack ends a transaction. The rows that its statements stored stay, and a warning says so.
func (e *executor) rollBack(chain bool) *outcome {
	if e.session.stored {
		e.say.notice(warning("01000", "what the statements of the transaction have changed stays: "+
			"each statement stands for itself"))
	}
	e.endTransaction(true, chain)
	return done("ROLLBACK")
}

func runSavepoint(e *executor, s *scanner) (*outcome, error) {
	name, ok := s.name()
	if !ok || !s.end() {
		return nil, s.syntaxError()
	}
	if err := checkName(name); err != nil {
		return nil, err
	}
	switch {
	case e.session.state == outside:
		return nil, failure("25P01", "SAVEPOINT can only be used in transaction blocks")
	case len(e.session.savepoints) >= maxSavepoints:
		return nil, failure("54000", "a transaction has at most %d savepoints", maxSavepoints)
	}
	e.session.savepoints = append(e.session.savepoints, name)
	return done("SAVEPOINT"), nil
}

// savepoint reads the name of a savepoint and returns its index.
func (s *session) savepoint(sc *scanner) (int, error) {
	sc.accept("SAVEPOINT")
	name, ok := sc.name()
	if !ok || !sc.end() {
		return 0, sc.syntaxError()
	}
	if s.state == outside {
		return 0, failure("25P01", "savepoints can only be used in transaction blocks")
	}
	points := s.savepoints
	for i := len(points) - 1; i >= 0; i-- {
		if points[i] == name {
			return i, nil
		}
	}
	return 0, failure("3B001", "savepoint %q does not exist", excerpt(name))
}

func runRelease(e *executor, s *scanner) (*outcome, error) {
	i, err := e.session.savepoint(s)
	if err != nil {
		return nil, err
	}
	e.session.savepoints = slices.Delete(e.session.savepoints, i, len(e.session.savepoints))
	return done("RELEASE"), nil
}

// rollBackTo rolls back to a savepoint, so that a failed transaction can continue.
func (s *session) rollBackTo(sc *scanner) (*outcome, error) {
	i, err := s.savepoint(sc)
	if err != nil {
		return nil, err
	}
	s.savepoints = s.savepoints[:i+1]
	s.state = inside
	return done("ROLLBACK"), nil
}
