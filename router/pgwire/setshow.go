package pgwire

import (
	"slices"
	"strings"
)

func runSet(c *conn, s *scanner) (*outcome, error) {
	local := s.accept("LOCAL")
	switch {
	case local:
	case s.accept("SESSION", "CHARACTERISTICS", "AS", "TRANSACTION"):
		return c.setDefaults(s)
	case s.accept("SESSION", "AUTHORIZATION"), s.accept("ROLE"):
		return c.setRole(s)
	default:
		s.accept("SESSION")
	}
	switch {
	case s.accept("TRANSACTION"):
		modes, err := transactionModes(s)
		if err != nil {
			return nil, err
		}
		if c.session.state == outside {
			c.notice(warning("25P01", "SET TRANSACTION can only be used in transaction blocks"))
			return done("SET"), nil
		}
		return done("SET"), c.setModes(modes)
	case s.accept("TIME", "ZONE"):
		s.accept("INTERVAL")
		return c.set(s, "TimeZone", local, true)
	case s.accept("NAMES"):
		return c.set(s, "client_encoding", local, true)
	case s.accept("SCHEMA"):
		return c.set(s, "search_path", local, true)
	}
	name, ok := s.dotted()
	if !ok {
		return nil, s.syntaxError()
	}
	return c.set(s, name, local, false)
}

// set parses the value of a setting, and sets it.
func (c *conn) set(s *scanner, name string, local, bare bool) (*outcome, error) {
	if !bare && !s.symbol("=") && !s.accept("TO") {
		return nil, s.syntaxError()
	}
	val, ok := s.value()
	if !ok {
		return nil, s.syntaxError()
	}
	if bare {
		s.accept("HOUR", "TO", "MINUTE") // of SET TIME ZONE INTERVAL '+00:00', as Sequelize sends it
	}
	if err := s.done(); err != nil {
		return nil, err
	}
	if strings.EqualFold(val, "DEFAULT") {
		return done("SET"), c.reset(name)
	}
	canonical, text, err := c.session.check(name, val)
	if err != nil {
		return nil, err
	}
	if canonical == "timezone" && !strings.EqualFold(val, "UTC") && !c.session.noticed["zone"] {
		c.session.noticed["zone"] = true
		n := warning("01000", "times are in UTC, whatever the time zone of the session")
		n.Severity = "NOTICE"
		c.notice(n)
	}
	switch {
	case canonical == "":
	case local && c.session.state == outside:
		c.notice(warning("25P01", "SET LOCAL can only be used in transaction blocks"))
	case local:
		c.session.local[canonical] = text
	default:
		delete(c.session.local, canonical)
		c.session.values[canonical] = text
	}
	return done("SET"), nil
}

// setDefaults sets the modes of later transactions.
func (c *conn) setDefaults(s *scanner) (*outcome, error) {
	modes, err := transactionModes(s)
	if err != nil {
		return nil, err
	}
	for _, m := range modes {
		name, val, err := c.session.check("default_"+m[0], m[1])
		if err != nil {
			return nil, err
		}
		c.session.values[name] = val
	}
	return done("SET"), nil
}

// setRole accepts only the current user.
func (c *conn) setRole(s *scanner) (*outcome, error) {
	val, ok := s.value()
	if !ok || !s.end() {
		return nil, s.syntaxError()
	}
	name := strings.Trim(val, `"`)
	if name != c.session.user && !strings.EqualFold(name, "DEFAULT") && !strings.EqualFold(name, "NONE") {
		return nil, failure("42501", "permission denied to set role %q", excerpt(name))
	}
	return done("SET"), nil
}

// reset restores the value at the start of the session.
func (c *conn) reset(name string) error {
	name = strings.ToLower(name)
	switch known := settings[name]; {
	case known != nil && known.set == nil:
		return failure("55P02", "parameter %q cannot be changed", known.name)
	case known == nil && !harmless[name] && !strings.Contains(name, "."):
		return unknownSetting(name)
	}
	delete(c.session.values, name)
	delete(c.session.local, name)
	return nil
}

func runReset(c *conn, s *scanner) (*outcome, error) {
	switch {
	case s.accept("ALL"):
		clear(c.session.values)
		clear(c.session.local)
		return done("RESET"), s.done()
	case s.accept("SESSION", "AUTHORIZATION"), s.accept("ROLE"):
		return done("RESET"), s.done()
	case s.accept("TIME", "ZONE"):
		return done("RESET"), c.reset("timezone")
	}
	name, ok := s.dotted()
	if !ok || !s.end() {
		return nil, s.syntaxError()
	}
	return done("RESET"), c.reset(name)
}

func runUse(c *conn, s *scanner) (*outcome, error) {
	name, ok := s.name()
	if !ok || !s.end() {
		return nil, s.syntaxError()
	}
	if !c.session.hasDatabase(name) {
		return nil, failure("3F000", "database %q does not exist", excerpt(name))
	}
	c.session.values["search_path"] = `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	return done("SET"), nil
}

func runShow(c *conn, s *scanner) (*outcome, error) {
	switch {
	case s.accept("ALL"):
		if err := s.done(); err != nil {
			return nil, err
		}
		var rows [][]any
		for _, name := range c.session.names() {
			rows = append(rows, []any{displayName(name), c.session.show(name), ""})
		}
		return &outcome{tag: "SHOW", rows: textCursor([]string{"name", "setting", "description"}, rows)}, nil
	case s.accept("TIME", "ZONE"):
		return c.showOne(s, "timezone")
	case s.accept("TRANSACTION", "ISOLATION", "LEVEL"):
		return c.showOne(s, "transaction_isolation")
	case s.accept("SESSION", "AUTHORIZATION"):
		return c.showOne(s, "session_authorization")
	}
	name, ok := s.dotted()
	if !ok {
		return nil, s.syntaxError()
	}
	return c.showOne(s, strings.ToLower(name))
}

func (c *conn) showOne(s *scanner, name string) (*outcome, error) {
	if err := s.done(); err != nil {
		return nil, err
	}
	val, known := c.session.lookUp(name)
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

func runDiscard(c *conn, s *scanner) (*outcome, error) {
	what := s.acceptAny("ALL", "PLANS", "TEMP", "TEMPORARY", "SEQUENCES")
	if what == "" || !s.end() {
		return nil, s.syntaxError()
	}
	if what == "ALL" {
		if c.session.state != outside {
			return nil, failure("25001", "DISCARD ALL cannot run inside a transaction block")
		}
		c.closePortals(true)
		clear(c.session.values)
		clear(c.session.local)
		clear(c.statements)
		c.textBytes = 0
	}
	return done("DISCARD " + what), nil
}
