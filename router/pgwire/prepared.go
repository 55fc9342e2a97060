package pgwire

import (
	"time"

	"cordwood/router/pgwire/rewrite"
	"cordwood/router/pgwire/value"
)

// The limits on prepared statements of a connection. Drivers keep hundreds of them, pgx 512 by default.
const (
	maxPrepared     = 1000
	maxPreparedText = 4 << 20
	// maxStatement is the maximum length of a statement with its values. maxInsert is the same for INSERT: enough for a
	// Bind message whose binary values become hexadecimal digits.
	maxStatement = 256 << 10
	maxInsert    = 32 << 20
)

// prepared is a statement with parameters that is ready to be bound.
type prepared struct {
	cmd    *command
	places []rewrite.Place
	params []*value.Type
	// columns are the columns of its rows, or nil if it returns none.
	columns []column
	// computed has the numbers of the parameters in expressions of INSERT … VALUES.
	computed map[int]bool
	// since is when the statement was prepared, and fromSQL is true for PREPARE.
	since   time.Time
	fromSQL bool
}

// filled returns the statement with values in place of its parameters, if its length is at most most bytes.
func (p *prepared) filled(values []string, most int) (string, error) {
	text, ok := rewrite.Substitute(p.cmd.text, p.places, values, most)
	if !ok {
		return "", failure("54000", "the statement with its values has more than %d bytes", most).
			withHint("send fewer or shorter values at a time; COPY takes any number of rows")
	}
	return text, nil
}

// bind returns the command with values in place of its parameters.
func (p *prepared) bind(values []string) (*command, error) {
	most := maxStatement
	if p.cmd.verb == "INSERT" {
		most = maxInsert
	}
	text, err := p.filled(values, most)
	if err != nil {
		return nil, err
	}
	cmd := *p.cmd
	cmd.text, cmd.bound = text, bindingOf(p.cmd.text, p.places, values)
	return &cmd, nil
}

// The memory of a statement itself, of a rewrite.Place, of a parameter's type, and of a column without its name.
const (
	preparedBytes  = 512
	placeBytes     = 24
	parameterBytes = 8
	columnBytes    = 32
)

// weight returns the approximate memory of the statement, in bytes.
func (p *prepared) weight() int {
	n := preparedBytes + len(p.cmd.text) + placeBytes*len(p.places) + parameterBytes*len(p.params)
	for _, col := range p.columns {
		n += columnBytes + len(col.name)
	}
	return n
}

// preparedStore has the prepared statements of a connection by name: those of the extended protocol and of PREPARE.
type preparedStore struct {
	byName map[string]*prepared
	bytes  int // the memory of all statements
	// forgotten is called for a statement that was removed.
	forgotten func(p *prepared)
}

func newPreparedStore(forgotten func(*prepared)) *preparedStore {
	return &preparedStore{byName: map[string]*prepared{}, forgotten: forgotten}
}

// has reports whether a name is taken.
func (s *preparedStore) has(name string) bool { return s.byName[name] != nil }

// find returns a prepared statement by its name.
func (s *preparedStore) find(name string) (*prepared, error) {
	if p := s.byName[name]; p != nil {
		return p, nil
	}
	if name == "" {
		return nil, failure("26000", "unnamed prepared statement does not exist")
	}
	return nil, failure("26000", "prepared statement %q does not exist", excerpt(name))
}

// keep adds a prepared statement under a name.
func (s *preparedStore) keep(name string, p *prepared) error {
	if err := checkName(name); err != nil {
		return err
	}
	if old := s.byName[name]; old != nil && name != "" {
		return failure("42P05", "prepared statement %q already exists", excerpt(name))
	}
	s.forget(name)
	if err := s.roomFor(name); err != nil {
		return err
	}
	if s.bytes+p.weight() > maxPreparedText {
		return failure("53400", "the prepared statements are too large; those of a connection may take %d bytes",
			maxPreparedText)
	}
	s.byName[name] = p
	s.bytes += p.weight()
	return nil
}

// roomFor returns an error if the connection has as many prepared statements as it may have. An unnamed statement
// replaces the one before it.
func (s *preparedStore) roomFor(name string) error {
	if len(s.byName) >= maxPrepared && (name != "" || s.byName[""] == nil) {
		return failure("53400", "too many prepared statements; a connection may have %d", maxPrepared).
			withHint("close those that are no longer needed")
	}
	return nil
}

// forget removes a prepared statement and its portals.
func (s *preparedStore) forget(name string) {
	p := s.byName[name]
	if p == nil {
		return
	}
	delete(s.byName, name)
	s.bytes -= p.weight()
	s.forgotten(p)
}

// forgetAll removes all prepared statements and their portals.
func (s *preparedStore) forgetAll() {
	for name := range s.byName {
		s.forget(name)
	}
}
