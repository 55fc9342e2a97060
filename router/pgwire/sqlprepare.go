package pgwire

import (
	"strconv"
	"strings"

	"cordwood/router/pgwire/rewrite"
	"cordwood/router/pgwire/value"
	"cordwood/router/query/statement"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// sessionColumns returns the columns of a statement about the session, or nil if it returns no rows.
func (e *executor) sessionColumns(cmd *command) ([]column, error) {
	s := newScanner(cmd.text)
	s.at = 1
	switch cmd.verb {
	case "SHOW":
		out, err := runShow(e, s)
		if err != nil {
			return nil, err
		}
		return out.rows.columns, nil
	case "EXPLAIN":
		o, err := readExplain(s)
		return o.columns(), err
	case "FETCH":
		f, err := readFetch(s)
		if err != nil {
			return nil, err
		}
		if p := e.portals.byName[f.name]; p != nil {
			return p.columns, nil
		}
	case "EXECUTE":
		if name, ok := s.name(); ok && e.prepared.has(name) {
			return e.prepared.byName[name].columns, nil
		}
	}
	return nil, nil
}

// typeNames maps the type names that PREPARE accepts besides those of pg_type.
var typeNames = map[string]*value.Type{
	"int": value.Int4, "integer": value.Int4, "bigint": value.Int8, "smallint": value.Int2, "boolean": value.Bool,
	"real": value.Float4, "double": value.Float8, "decimal": value.Numeric, "string": value.Text,
}

// typeNamed returns the OID of a type by its name, or 0 if it is unknown.
func typeNamed(name string) uint32 {
	if t := typeNames[name]; t != nil {
		return t.OID
	}
	for _, t := range value.Scalars {
		if t.Name == name {
			return t.OID
		}
	}
	return 0
}

// runPrepare runs PREPARE name [(types)] AS statement.
func runPrepare(e *executor, s *scanner) (*outcome, error) {
	if s.accept("TRANSACTION") {
		return nil, unsupported("PREPARE TRANSACTION is not available: there are no transactions of two phases")
	}
	name, ok := s.name()
	if !ok {
		return nil, s.syntaxError()
	}
	var oids []uint32
	if s.symbol("(") {
		for !s.symbol(")") {
			word, ok := s.dotted()
			if !ok {
				return nil, s.syntaxError()
			}
			s.acceptAny("PRECISION")
			oid := typeNamed(strings.TrimPrefix(word, "pg_catalog."))
			if s.symbol("[") && s.symbol("]") && oid != 0 {
				oid = value.ByOID(oid).Array
			}
			if oids = append(oids, oid); len(oids) > rewrite.MaxParameter {
				return nil, failure("54000", "a statement has at most %d parameters", rewrite.MaxParameter)
			}
			s.symbol(",")
		}
	}
	if !s.accept("AS") {
		return nil, s.syntaxError()
	}
	if e.prepared.has(name) {
		return nil, failure("42P05", "prepared statement %q already exists", excerpt(name))
	}
	if err := checkName(name); err != nil {
		return nil, err
	}
	if newCommand(s.rest()).session != nil {
		return nil, failure("42601", "PREPARE needs a query, INSERT or DELETE")
	}
	if err := e.prepared.roomFor(name); err != nil {
		return nil, err
	}
	p, err := e.describer.prepare(s.rest(), oids)
	if err != nil {
		return nil, within(err, s.before())
	}
	p.fromSQL = true
	return done("PREPARE"), e.prepared.keep(name, p)
}

// runExecute runs EXECUTE name [(values)]. The values are inserted as they are written in the statement.
func runExecute(e *executor, s *scanner) (*outcome, error) {
	_, cmd, err := e.bound(s)
	if err != nil {
		return nil, err
	}
	out, err := e.run(cmd)
	return out, within(err, nil) // a position in the prepared statement says nothing about this text
}

// bound returns the prepared statement that EXECUTE names, with its values.
func (e *executor) bound(s *scanner) (*prepared, *command, error) {
	name, ok := s.name()
	if !ok {
		return nil, nil, s.syntaxError()
	}
	p, err := e.prepared.find(name)
	if err != nil {
		return nil, nil, err
	}
	values, err := s.arguments()
	if err != nil {
		return nil, nil, err
	}
	if p.cmd.verb == "EXECUTE" || p.cmd.verb == "PREPARE" || p.cmd.verb == "EXPLAIN" { // it could execute itself
		return nil, nil, unsupported("EXECUTE of a statement that is %s is not available", p.cmd.verb)
	}
	if len(values) != len(p.params) {
		return nil, nil, failure("42601", "wrong number of parameters for prepared statement %q: expected %d, got %d",
			excerpt(name), len(p.params), len(values))
	}
	if p.cmd.verb != "INSERT" {
		for i, v := range values {
			values[i] = "(" + v + ")"
		}
	}
	cmd, err := p.bind(values)
	return p, cmd, err
}

// arguments reads the texts of values in parentheses.
func (s *scanner) arguments() (out []string, err error) {
	if s.end() {
		return nil, nil
	}
	if !s.symbol("(") {
		return nil, s.syntaxError()
	}
	depth, from := 0, s.at
	for ; !s.end(); s.at++ {
		t := s.toks[s.at]
		if t.Kind != statement.TokenSymbol {
			continue
		}
		switch {
		case t.Value == "(" || t.Value == "[":
			depth++
		case depth == 0 && (t.Value == ")" || t.Value == ","):
			if s.at > from {
				out = append(out, s.text[s.toks[from].From:s.toks[s.at-1].To])
			}
			from = s.at + 1
			if t.Value == ")" {
				s.at++
				return out, s.done()
			}
		case t.Value == ")" || t.Value == "]":
			depth--
		}
	}
	return nil, s.syntaxError()
}

// runDeallocate runs DEALLOCATE [PREPARE] name|ALL.
func runDeallocate(e *executor, s *scanner) (*outcome, error) {
	s.accept("PREPARE")
	if s.accept("ALL") {
		e.prepared.forgetAll()
		return done("DEALLOCATE ALL"), s.done()
	}
	name, ok := s.name()
	if !ok || !s.end() {
		return nil, s.syntaxError()
	}
	if _, err := e.prepared.find(name); err != nil {
		return nil, err
	}
	e.prepared.forget(name)
	return done("DEALLOCATE"), nil
}
