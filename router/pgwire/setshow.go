package pgwire

import (
	"slices"
	"strings"

	"cordwood/router/query/statement"
)

func runSet(e *executor, s *scanner) (*outcome, error) {
	local := s.accept("LOCAL")
	switch {
	case local:
	case s.accept("SESSION", "CHARACTERISTICS", "AS", "TRANSACTION"):
		return e.session.setDefaults(s)
	case s.accept("SESSION", "AUTHORIZATION"), s.accept("ROLE"):
		return e.session.setRole(s)
	default:
		s.accept("SESSION")
	}
	switch {
	case s.accept("TRANSACTION"):
		modes, err := transactionModes(s)
		if err != nil {
			return nil, err
		}
		if e.session.state == outside {
			e.say.notice(warning("25P01", "SET TRANSACTION can only be used in transaction blocks"))
			return done("SET"), nil
		}
		return done("SET"), e.session.setModes(modes)
	case s.accept("TIME", "ZONE"):
		s.accept("INTERVAL")
		return e.set(s, "TimeZone", local, true)
	case s.accept("NAMES"):
		return e.set(s, "client_encoding", local, true)
	case s.accept("SCHEMA"):
		return e.set(s, "search_path", local, true)
	}
	name, ok := s.dotted()
	if !ok {
		return nil, s.syntaxError()
	}
	return e.set(s, name, local, false)
}

// set parses the value of a setting, and sets it.
func (e *executor) set(s *scanner, name string, local, bare bool) (*outcome, error) {
	if !bare && !s.symbol("=") && !s.accept("TO") {
		return nil, s.syntaxError()
	}
	quoted := !s.end() && s.toks[s.at].Kind == statement.TokenName
	val, ok := s.value()
	if !ok {
		return nil, s.syntaxError()
	}
	if quoted && !strings.EqualFold(name, "search_path") { // only a list of names keeps its quotes
		val = strings.ReplaceAll(strings.Trim(val, `"`), `""`, `"`)
	}
	if bare {
		s.accept("HOUR", "TO", "MINUTE") // of SET TIME ZONE INTERVAL '+00:00', as Sequelize sends it
	}
	if err := s.done(); err != nil {
		return nil, err
	}
	if strings.EqualFold(val, "DEFAULT") {
		return done("SET"), e.session.reset(name)
	}
	canonical, text, err := e.session.check(name, val)
	if err != nil {
		return nil, err
	}
	if canonical == "timezone" && !strings.EqualFold(val, "UTC") && !e.session.noticed["zone"] {
		e.session.noticed["zone"] = true
		n := warning("01000", "times are in UTC, whatever the time zone of the session")
		n.Severity = "NOTICE"
		e.say.notice(n)
	}
	switch {
	case canonical == "":
	case local && e.session.state == outside:
		e.say.notice(warning("25P01", "SET LOCAL can only be used in transaction blocks"))
	case local:
		e.session.local[canonical] = text
	default:
		delete(e.session.local, canonical)
		e.session.values[canonical] = text
	}
	return done("SET"), nil
}

// setDefaults sets the modes of later transactions.
func (s *session) setDefaults(sc *scanner) (*outcome, error) {
	modes, err := transactionModes(sc)
	if err != nil {
		return nil, err
	}
	for _, m := range modes {
		name, val, err := s.check("default_"+m[0], m[1])
		if err != nil {
			return nil, err
		}
		s.values[name] = val
	}
	return done("SET"), nil
}

// setRole accepts only the current user.
func (s *session) setRole(sc *scanner) (*outcome, error) {
	val, ok := sc.value()
	if !ok || !sc.end() {
		return nil, sc.syntaxError()
	}
	name := strings.Trim(val, `"`)
	if name != s.user && !strings.EqualFold(name, "DEFAULT") && !strings.EqualFold(name, "NONE") {
		return nil, failure("42501", "permission denied to set role %q", excerpt(name))
	}
	return done("SET"), nil
}

// reset restores the value at the start of the session.
func (s *session) reset(name string) error {
	name = strings.ToLower(name)
	switch known := settings[name]; {
	case known != nil && known.set == nil:
		return failure("55P02", "parameter %q cannot be changed", known.name)
	case known == nil && !harmless[name] && !strings.Contains(name, "."):
		return unknownSetting(name)
	}
	delete(s.values, name)
	delete(s.local, name)
	return nil
}

func runReset(e *executor, s *scanner) (*outcome, error) {
	switch {
	case s.accept("ALL"):
		clear(e.session.values)
		clear(e.session.local)
		return done("RESET"), s.done()
	case s.accept("SESSION", "AUTHORIZATION"), s.accept("ROLE"):
		return done("RESET"), s.done()
	case s.accept("TIME", "ZONE"):
		return done("RESET"), e.session.reset("timezone")
	}
	name, ok := s.dotted()
	if !ok || !s.end() {
		return nil, s.syntaxError()
	}
	return done("RESET"), e.session.reset(name)
}

func runUse(e *executor, s *scanner) (*outcome, error) {
	name, ok := s.name()
	if !ok || !s.end() {
		return nil, s.syntaxError()
	}
	if !e.session.hasDatabase(name) {
		return nil, failure("3F000", "database %q does not exist", excerpt(name))
	}
	e.session.values["search_path"] = `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	return done("SET"), nil
}

func runShow(e *executor, s *scanner) (*outcome, error) {
	switch {
	case s.accept("ALL"):
		if err := s.done(); err != nil {
			return nil, err
		}
		var rows [][]any
		for _, name := range e.session.names() {
			rows = append(rows, []any{displayName(name), e.session.show(name), ""})
		}
		return &outcome{tag: "SHOW", rows: textCursor([]string{"name", "setting", "description"}, rows)}, nil
	case s.accept("TIME", "ZONE"):
		return e.session.showOne(s, "timezone")
	case s.accept("TRANSACTION", "ISOLATION", "LEVEL"):
		return e.session.showOne(s, "transaction_isolation")
	case s.accept("SESSION", "AUTHORIZATION"):
		return e.session.showOne(s, "session_authorization")
	}
	name, ok := s.dotted()
	if !ok {
		return nil, s.syntaxError()
	}
	return e.session.showOne(s, strings.ToLower(name))
}

func (s *session) showOne(sc *scanner, name string) (*outcome, error) {
	if err := sc.done(); err != nil {
		return nil, err
	}
	val, known := s.lookUp(name)
	if !known {
		return nil, unknownSetting(name)
	}
	return &outcome{tag: "SHOW", rows: textCursor([]string{displayName(name)}, [][]any{{val}})}, nil
}

// displayName returns the name of a setting in PostgreSQL's spelling.
func displayName(name string) string {
	if known := settings[name]; known != nil {
		return known.name
	}
	return name
}

// lookUp returns the value of a setting, and whether the setting exists.
func (s *session) lookUp(name string) (val string, known bool) {
	if settings[name] != nil {
		return s.show(name), true
	}
	for _, m := range []map[string]string{s.local, s.values, s.start} {
		if v, ok := m[name]; ok {
			return v, true
		}
	}
	return "", harmless[name]
}

// show formats the value of a setting for SHOW.
func (s *session) show(name string) string {
	v := s.get(name)
	if name == "statement_timeout" {
		return shortSpan(v)
	}
	return v
}

// shortSpan formats milliseconds in the largest unit that divides them.
func shortSpan(text string) string {
	d, err := parseSpan(text)
	if err != nil || d == 0 {
		return text
	}
	for _, unit := range []string{"d", "h", "min", "s"} {
		if of := spanUnits[unit]; d%of == 0 {
			return strings.TrimSpace(itoa(int64(d/of)) + unit)
		}
	}
	return text
}

// names returns the names of all settings with a value, in lower case and sorted.
func (s *session) names() []string {
	var names []string
	for name := range settings {
		names = append(names, name)
	}
	for name := range s.values {
		if settings[name] == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func runDiscard(e *executor, s *scanner) (*outcome, error) {
	what := s.acceptAny("ALL", "PLANS", "TEMP", "TEMPORARY", "SEQUENCES")
	if what == "" || !s.end() {
		return nil, s.syntaxError()
	}
	if what == "ALL" {
		if e.session.state != outside {
			return nil, failure("25001", "DISCARD ALL cannot run inside a transaction block")
		}
		e.portals.closeAll(true)
		clear(e.session.values)
		clear(e.session.local)
		e.prepared.forgetAll()
	}
	return done("DISCARD " + what), nil
}
