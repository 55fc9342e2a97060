package pgwire

import (
	"maps"
	"time"

	"cordwood/proto/schema"
	"cordwood/router/pgwire/rewrite"
)

// The states of a transaction.
const (
	outside = 'I'
	inside  = 'T'
	failed  = 'E'
)

// session holds the settings of a connection and the state of its transaction. The server has no real transactions: a
// statement sees the rows that were acknowledged before it began, and a rollback does not undo it.
type session struct {
	cfg      *Config
	user     string
	database string // the database that the client connected to: PostgreSQL's catalog
	readOnly bool   // the user may not write
	// hasDatabase reports whether a database exists for the user.
	hasDatabase func(name string) bool

	// values are the settings by name in lower case. local are the settings that apply until the transaction ends, before
	// are the values at its start, and start are the values that RESET restores.
	values, local, before, start map[string]string
	reported                     map[string]string

	state      byte
	stored     bool // a statement of the transaction stored something
	reading    bool // the transaction is READ ONLY
	savepoints []string
	noticed    map[string]bool // notices that were sent: each is sent once
}

func newSession(cfg *Config, user string, readOnly bool, hasDatabase func(name string) bool) *session {
	return &session{
		hasDatabase: hasDatabase,
		cfg:         cfg, user: user, readOnly: readOnly, values: map[string]string{}, local: map[string]string{},
		start: map[string]string{}, reported: map[string]string{}, state: outside, noticed: map[string]bool{},
	}
}

// startIn sets the database that the client connected to, and the default database of names.
func (s *session) startIn(catalog, database string) {
	s.database = catalog
	s.start["search_path"] = database
}

// open applies the parameters of the start-up packet. fallback is the database of clients that name none.
func (s *session) open(params map[string]string, fallback string) error {
	if err := s.chooseDatabase(params["database"], fallback); err != nil {
		return err
	}
	options, err := startOptions(params["options"])
	if err != nil {
		return err
	}
	params = maps.Clone(params)
	for _, name := range []string{"user", "database", "options"} {
		delete(params, name)
	}
	for _, list := range []map[string]string{params, options} {
		for name, text := range list {
			if err := s.startWith(name, text); err != nil {
				err.Severity = "FATAL"
				return err
			}
		}
	}
	return nil
}

// chooseDatabase sets the default database. Clients without a database send the name of the user.
func (s *session) chooseDatabase(name, fallback string) error {
	switch {
	case name != "" && s.exists(name):
		s.startIn(name, name)
	case name == "" || name == "postgres" || name == s.user:
		if !s.exists(fallback) {
			return fatal("3D000", "the default database %q of the user %s does not exist", excerpt(fallback), excerpt(s.user)).
				withHint("connect to one that exists, as with dbname=public, create it, or change the default by ALTER USER")
		}
		s.startIn(orElse(name, fallback), fallback)
	default:
		return fatal("3D000", "database %q does not exist", excerpt(name)).
			withHint("connect to one that exists, as with dbname=public, or create it")
	}
	return nil
}

// exists reports whether a database exists for the user. The one of requests that name none always exists.
func (s *session) exists(name string) bool {
	return name == schema.DefaultDatabase || schema.ReservedDatabase(name) || s.hasDatabase(name)
}

// startWith sets a setting at the start of the session. RESET restores this value.
func (s *session) startWith(name, text string) *Error {
	canonical, val, err := s.check(name, text)
	if err != nil {
		return err
	}
	if canonical != "" {
		s.start[canonical] = val
	}
	return nil
}

// schema returns the database of names without a database.
func (s *session) schema() string {
	if found := s.databases(); len(found) > 0 {
		return found[0]
	}
	return schema.DefaultDatabase
}

// databases returns the databases in the search path that exist.
func (s *session) databases() (found []string) {
	for _, name := range pathNames(s.get("search_path")) {
		if name == "$user" {
			name = s.user
		}
		if s.hasDatabase(name) || schema.ReservedDatabase(name) {
			found = append(found, name)
		}
	}
	return found
}

// get returns the value of a setting by its name in lower case.
func (s *session) get(name string) string {
	for _, m := range []map[string]string{s.local, s.values, s.start} {
		if v, ok := m[name]; ok {
			return v
		}
	}
	if known := settings[name]; known != nil {
		return known.value(s)
	}
	return ""
}

// timeout returns the time limit of a statement.
func (s *session) timeout() time.Duration {
	d, err := parseSpan(s.get("statement_timeout"))
	if err != nil {
		return s.cfg.Timeout
	}
	if d == 0 {
		return s.cfg.MaxTimeout
	}
	return d
}

// changed returns the settings that clients follow and that have changed since the last call.
func (s *session) changed() (out [][2]string) {
	for _, name := range reportedNames {
		v := s.get(name)
		if old, known := s.reported[name]; !known || old != v {
			s.reported[name] = v
			out = append(out, [2]string{settings[name].name, v})
		}
	}
	return out
}

// status returns the state of the transaction for ReadyForQuery.
func (s *session) status() byte { return s.state }

// begin starts a transaction.
func (s *session) begin() {
	s.state, s.stored, s.reading = inside, false, s.get("default_transaction_read_only") == "on"
	s.before = maps.Clone(s.values)
	s.savepoints = nil
}

// finish ends a transaction. If undo is set, it restores the settings.
func (s *session) finish(undo bool) {
	if undo && s.before != nil {
		s.values = s.before
	}
	s.before, s.savepoints = nil, nil
	clear(s.local)
	s.state, s.reading = outside, false
}

// spoil marks the transaction as failed.
func (s *session) spoil() {
	if s.state == inside {
		s.state = failed
	}
}

// mayWrite returns an error if the transaction is read-only. Package query checks the rights of the user.
func (s *session) mayWrite(what string) error {
	if s.state != outside && s.reading || s.state == outside && s.get("default_transaction_read_only") == "on" &&
		!s.readOnly {
		return failure("25006", "cannot execute %s in a read-only transaction", what)
	}
	return nil
}

// mayRun returns an error if the transaction has failed and the statement does not end it.
func (s *session) mayRun(cmd *command) error {
	if s.state == failed && !cmd.always && cmd.verb != "" {
		return failure("25P02", "current transaction is aborted, commands ignored until end of transaction block")
	}
	return nil
}

// applySets applies the calls of set_config.
func (s *session) applySets(sets []rewrite.Set) error {
	for _, set := range sets {
		name, val, err := s.check(set.Name, set.Value)
		switch {
		case err != nil:
			return err
		case name == "":
		case set.Local && s.state != outside:
			s.local[name] = val
		case !set.Local:
			s.values[name] = val
		}
	}
	return nil
}
