package pgwire

import (
	"strings"

	"cordwood/router/pgwire/value"
	"cordwood/router/query/statement"
)

// explaining are the options of EXPLAIN that have an effect.
type explaining struct {
	analyze, json bool
	// output has the names of the columns of the query, for JSON.
	output []string
}

// explainOptions are the options of EXPLAIN in PostgreSQL. They are accepted; only ANALYZE and FORMAT have an effect.
var explainOptions = map[string]bool{
	"ANALYZE": true, "ANALYSE": true, "VERBOSE": true, "COSTS": true, "SETTINGS": true, "GENERIC_PLAN": true,
	"BUFFERS": true, "SERIALIZE": true, "WAL": true, "TIMING": true, "SUMMARY": true, "MEMORY": true, "FORMAT": true,
}

// readExplain reads the options after EXPLAIN.
func readExplain(s *scanner) (o explaining, err error) {
	if s.acceptAny("ANALYZE", "ANALYSE") != "" {
		o.analyze = true
	}
	s.accept("VERBOSE")
	from := s.at
	if !s.symbol("(") {
		return o, nil
	}
	if s.end() || s.toks[s.at].Kind != statement.TokenWord || s.word("SELECT") || s.word("WITH") || s.word("VALUES") ||
		s.word("TABLE") || s.word("FROM") {
		s.at = from // a query in brackets
		return o, nil
	}
	for {
		if err := o.read(s); err != nil {
			return o, err
		}
		if s.symbol(")") {
			return o, nil
		}
		if !s.symbol(",") {
			return o, s.syntaxError()
		}
	}
}

// read reads an option with its value.
func (o *explaining) read(s *scanner) error {
	at := s.at
	name, ok := s.name()
	if !ok {
		return s.syntaxError()
	}
	if !explainOptions[strings.ToUpper(name)] {
		e := failure("42601", "unrecognized EXPLAIN option %q", excerpt(name))
		e.Position = characters(s.text, s.toks[at].From)
		return e
	}
	val := "on"
	if !s.end() && s.toks[s.at].Kind != statement.TokenSymbol {
		val = strings.ToLower(s.toks[s.at].Value)
		s.at++
	}
	switch name {
	case "analyze", "analyse":
		switch val {
		case "on", "true", "1":
			o.analyze = true
		case "off", "false", "0":
			o.analyze = false
		default:
			return failure("42601", "%s requires a Boolean value", name)
		}
	case "format":
		switch val {
		case "text", "json":
			o.json = val == "json"
		default:
			return unsupported("EXPLAIN in the format %s is not available", excerpt(val)).
				withHint("use FORMAT TEXT or FORMAT JSON")
		}
	}
	return nil
}

// columns returns the columns of the answer.
func (o explaining) columns() []column {
	c := column{name: "QUERY PLAN", typ: value.Text}
	if o.json {
		c.typ = value.JSON
	}
	return []column{c}
}

// runExplain runs EXPLAIN of a query or an INSERT, or of EXECUTE of one.
func runExplain(e *executor, s *scanner) (*outcome, error) {
	o, err := readExplain(s)
	if err != nil {
		return nil, err
	}
	if s.end() {
		return nil, s.syntaxError()
	}
	prefix, inner := o.prefix(), s.rest()
	execute := s.accept("EXECUTE")
	if execute {
		p, bound, err := e.bound(s)
		if err != nil {
			return nil, err
		}
		inner, o.output = bound.text, names(p.columns)
	} else if at := s.toks[s.at].From; at > len(prefix) {
		prefix += strings.Repeat(" ", at-len(prefix)) // positions of errors stay the same
	}
	if newCommand(inner).verb == "INSERT" {
		out, err := e.explainInsert(o, inner)
		return out, within(err, nil)
	}
	if o.json && !execute {
		if d, err := e.describer.describe(&prepared{}, inner); err == nil { // otherwise the engine reports the error below
			o.output = names(e.describer.columns(inner, d))
		}
	}
	out, err := e.runStored(&command{verb: "EXPLAIN", text: prefix + inner, explaining: o})
	if execute {
		err = within(err, nil)
	}
	return out, err
}

// prefix returns the words of the engine's EXPLAIN.
func (o explaining) prefix() string {
	switch {
	case o.analyze && o.json:
		return "EXPLAIN (ANALYZE,FORMAT json)"
	case o.json:
		return "EXPLAIN (FORMAT json) "
	case o.analyze:
		return "EXPLAIN ANALYZE "
	}
	return "EXPLAIN "
}

// explainInsert explains an INSERT: its rows are written in the statement, so its plan has two nodes.
func (e *executor) explainInsert(o explaining, text string) (*outcome, error) {
	if o.analyze {
		return nil, unsupported("EXPLAIN ANALYZE of INSERT is not available, because it would store the rows").
			withHint("use EXPLAIN without ANALYZE")
	}
	st, err := e.translator.parse(text)
	if err != nil {
		return nil, asError(err, nil)
	}
	insert, ok := st.(*statement.Insert)
	if !ok {
		return nil, failure("42601", "expected one INSERT")
	}
	if insert.Query != "" {
		return nil, unsupported("EXPLAIN of INSERT with a query is not available").withHint("explain the query alone")
	}
	t, err := e.runner.target(insert.Name)
	if err != nil {
		return nil, asError(err, nil)
	}
	if !o.json {
		return explainedAs(o, "Insert on "+t.Name, "  ->  Values, "+itoa(int64(len(insert.Values)))+" rows"), nil
	}
	p := &prepared{cmd: newCommand(text)}
	if err := e.describer.describeReturning(p); err != nil {
		return nil, err
	}
	plan := map[string]any{
		"Node Type": "ModifyTable", "Operation": "Insert", "Relation Name": t.Name, "Schema": t.Database, "Alias": t.Name,
		"Plans": []any{map[string]any{
			"Node Type": "Values Scan", "Parent Relationship": "Outer", "Plan Rows": len(insert.Values),
		}},
	}
	if insert.Rows() {
		plan["Output"] = names(p.columns)
	}
	text, err = planText(plan, nil)
	return explainedAs(o, text), err
}

// explainedAs returns the outcome of an EXPLAIN with these lines.
func explainedAs(o explaining, lines ...string) *outcome {
	rows := make([][]any, len(lines))
	for i, line := range lines {
		rows[i] = []any{line}
	}
	cur := textCursor([]string{"QUERY PLAN"}, rows)
	cur.columns = o.columns()
	return &outcome{tag: "EXPLAIN", rows: cur}
}

func names(columns []column) []string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = c.name
	}
	return out
}

// explained returns the rows of EXPLAIN in PostgreSQL's form: one column, and a row for each line, or one row for JSON.
func (e *executor) explained(cmd *command, c *cursor) (*cursor, error) {
	if cmd.explaining.json {
		return explainedJSON(c, cmd.explaining.output)
	}
	const most = 100_000
	var lines []string
	last := len(c.columns) - 1
	for len(lines) < most && c.next() {
		text, null, err := c.appendValue(nil, last)
		if err != nil {
			return nil, err
		}
		if !null {
			lines = append(lines, strings.Split(strings.TrimRight(string(text), "\n"), "\n")...)
		}
	}
	if err := c.rows.Err(); err != nil {
		return nil, err
	}
	out := explainedAs(cmd.explaining, lines...).rows
	out.x = c.x
	return out, nil
}
