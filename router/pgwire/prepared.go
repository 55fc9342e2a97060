package pgwire

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/pgwire/rewrite"
	"cordwood/router/pgwire/value"
	"cordwood/router/query"
	"cordwood/router/query/statement"
)

// The limits on prepared statements of a connection.
const (
	maxPrepared     = 256
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
}

// prepare prepares a statement. oids are the types of its parameters, 0 if the client does not specify one.
func (c *conn) prepare(text string, oids []uint32) (*prepared, error) {
	pieces, err := rewrite.Split(text)
	if err != nil {
		return nil, failure("54000", "%s", err)
	}
	if len(pieces) > 1 {
		return nil, failure("42601", "cannot insert multiple commands into a prepared statement")
	}
	if len(pieces) == 1 {
		text = text[:pieces[0].At] + pieces[0].Text
	}
	p := &prepared{cmd: newCommand(text)}
	places, most, err := rewrite.Places(text)
	if err != nil {
		return nil, failure("42P02", "%s", err)
	}
	p.places = places
	p.params = make([]*value.Type, max(most, len(oids)))
	for i, oid := range oids {
		if oid != value.Unknown.OID {
			p.params[i] = value.ByOID(oid)
		}
	}
	used := make([]bool, most)
	for _, at := range places {
		used[at.Number-1] = true
	}
	for i := len(oids); i < most; i++ {
		if !used[i] {
			return nil, failure("42P02", "there is no parameter $%d, but one with a larger number", i+1)
		}
	}
	if err := c.mayRun(p.cmd); err != nil {
		return nil, err
	}
	err = c.describePrepared(p)
	for i, t := range p.params {
		if t == nil {
			p.params[i] = value.Text
		}
	}
	return p, err
}

// mayRun returns an error if the transaction has failed and the statement does not end it.
func (c *conn) mayRun(cmd *command) error {
	if c.session.state == failed && !cmd.always && cmd.verb != "" {
		return failure("25P02", "current transaction is aborted, commands ignored until end of transaction block")
	}
	return nil
}

// describePrepared determines the types of parameters and columns.
func (c *conn) describePrepared(p *prepared) error {
	cmd := p.cmd
	switch {
	case cmd.verb == "":
		return nil
	case cmd.session != nil:
		columns, err := c.sessionColumns(cmd)
		p.columns = columns
		return err
	}
	marks := make([]string, len(p.params))
	for i := range marks {
		marks[i] = marker(i + 1)
	}
	marked, err := p.filled(marks, maxInsert)
	if err != nil {
		return err
	}
	st, err := c.parse(marked)
	if err != nil {
		return c.placed(err, cmd, marked)
	}
	switch st := st.(type) {
	case *statement.Query:
		if cmd.verb == "EXPLAIN" {
			p.columns = []column{{name: "QUERY PLAN", typ: value.Text}}
			return nil
		}
		return c.describeQuery(p)
	case *statement.Insert:
		return c.describeInsert(p, st)
	case *statement.Delete:
		return c.describeDelete(p, st)
	}
	if statement.ShowsSecret(st) { // describing it must not run it
		for _, name := range query.SecretColumns() {
			p.columns = append(p.columns, column{name: name, typ: value.Text})
		}
		return nil
	}
	if st.Rows() {
		return c.describeRows(p, st)
	}
	return nil
}

// markerText matches a literal made by marker.
var markerText = regexp.MustCompile(`'\$cordwood parameter ([0-9]+)\$'`)

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
	cmd.text = text
	return &cmd, nil
}

// The memory of a rewrite.Place, of a parameter's type, and of a column without its name.
const (
	placeBytes     = 24
	parameterBytes = 8
	columnBytes    = 32
)

// weight returns the approximate memory of the statement, in bytes.
func (p *prepared) weight() int {
	n := len(p.cmd.text) + placeBytes*len(p.places) + parameterBytes*len(p.params)
	for _, col := range p.columns {
		n += columnBytes + len(col.name)
	}
	return n
}

// marker returns the literal that replaces a parameter while a statement is described.
func marker(n int) string { return "'$cordwood parameter " + strconv.Itoa(n) + "$'" }

// markedAs returns the number of the parameter that a marker replaces, or 0 if the text is not a marker.
func markedAs(text string) int {
	inner, ok := strings.CutPrefix(text, "$cordwood parameter ")
	inner, ok2 := strings.CutSuffix(inner, "$")
	n, err := strconv.Atoi(inner)
	if !ok || !ok2 || err != nil {
		return 0
	}
	return n
}

// describeQuery lets the engine prepare the statement over empty tables.
func (c *conn) describeQuery(p *prepared) error {
	text := rewrite.AnyOfParameter(p.cmd.text, p.places)
	for i, oid := range rewrite.Documents(p.cmd.text, p.places, len(p.params)) {
		if oid != 0 && p.params[i] == nil {
			p.params[i] = value.ByOID(oid)
		}
	}
	d, err := c.describe(p, text.Text)
	if err != nil {
		return c.placed(err, p.cmd, p.cmd.text)
	}
	open := false
	for i, t := range d.Parameters {
		if i >= len(p.params) || p.params[i] != nil {
			continue
		}
		switch {
		case t == "":
			open = true
		case text.Any[i+1]:
			p.params[i] = value.ArrayOf(value.OfEngine(t))
		default:
			p.params[i] = parameterOf(t)
		}
	}
	if open || len(text.Any) > 0 {
		guesses := rewrite.Guess(p.cmd.text, p.places, len(p.params))
		for i := range p.params {
			if p.params[i] == nil {
				p.params[i] = value.ByOID(guesses[i])
			}
		}
		// Once all parameter types are known, the column types are known, too.
		if again, err := c.describe(p, p.cmd.text); err == nil {
			d = again
		}
	}
	p.columns = make([]column, len(d.Columns))
	for i, col := range d.Columns {
		p.columns[i] = column{name: col.Name, typ: value.OfEngine(col.Type)}
	}
	c.refine(p.cmd.text, p.columns)
	return nil
}

// parameterOf returns the type of a parameter whose type in the engine is known.
func parameterOf(engine string) *value.Type {
	t := value.OfEngine(engine)
	if strings.HasPrefix(engine, "DECIMAL") || engine == "HUGEINT" || engine == "UBIGINT" {
		return value.Numeric
	}
	return t
}

// describe lets the engine describe a query with the known parameter types.
func (c *conn) describe(p *prepared, text string) (*query.Description, error) {
	types := make([]string, len(p.params))
	for i, t := range p.params {
		if t != nil {
			types[i] = t.Engine()
		}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	ctx, end := c.caller(ctx, func(err error) { cancel(err) })
	defer end()
	r, err := c.rewritten(text)
	if err != nil {
		return nil, err
	}
	c.setCancel(cancel)
	defer c.setCancel(nil)
	defer c.watch(cancel)()
	d, err := c.srv.cfg.Service.Describe(ctx, r.Text, c.request(), types)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return nil, asError(err, cause)
	}
	return d, err
}

// describeInsert gives parameters the types of the columns that they are stored in.
func (c *conn) describeInsert(p *prepared, st *statement.Insert) error {
	ctx, end := c.caller(context.Background(), func(error) {})
	defer end()
	t, err := c.srv.cfg.Service.Target(ctx, orElse(st.Name.Database, c.session.schema()), st.Name.Table)
	if err != nil {
		return asError(err, nil)
	}
	names := st.Columns
	if len(names) == 0 {
		for _, col := range t.Columns {
			names = append(names, col.Name)
		}
	}
	for _, row := range st.Values {
		for i, v := range row {
			n := markedAs(v.Text)
			if v.Kind != statement.Text || n == 0 || i >= len(names) || p.params[n-1] != nil {
				continue
			}
			if col := t.Column(names[i]); col != nil {
				p.params[n-1] = storedType(col.Type)
			}
		}
	}
	return nil
}

// readBytes decodes texts that begin with \x if their columns are binary, as PostgreSQL does.
func (c *conn) readBytes(st *statement.Insert) error {
	var t *schema.Table
	for _, row := range st.Values {
		for i, v := range row {
			if v.Kind != statement.Text || !strings.HasPrefix(v.Text, `\x`) {
				continue
			}
			if t == nil {
				ctx, end := c.caller(context.Background(), func(error) {})
				found, err := c.srv.cfg.Service.Target(ctx, orElse(st.Name.Database, c.session.schema()), st.Name.Table)
				end()
				if err != nil {
					return nil // the INSERT itself reports it
				}
				t = found
			}
			col := columnAt(t, st.Columns, i)
			if col == nil || col.Type != schema.Binary {
				continue
			}
			stored, err := value.Store(value.Bytea, value.FormatText, []byte(v.Text))
			if err != nil {
				return asError(err, nil)
			}
			row[i] = statement.Literal{Kind: statement.Bytes, Text: stored.Text}
		}
	}
	return nil
}

// columnAt returns the column for the i-th value of an INSERT with the given columns, or with all if there are none.
func columnAt(t *schema.Table, names []string, i int) *schema.Column {
	switch {
	case len(names) == 0 && i < len(t.Columns):
		return &t.Columns[i]
	case i < len(names):
		return t.Column(names[i])
	}
	return nil
}

// describeDelete describes a query with the same condition.
func (c *conn) describeDelete(p *prepared, st *statement.Delete) error {
	if len(p.places) == 0 {
		return nil
	}
	name := schema.QuoteIdent(orElse(st.Name.Database, c.session.schema())) + "." + schema.QuoteIdent(st.Name.Table)
	text := "SELECT 1 FROM " + name + " WHERE " + markerText.ReplaceAllString(st.Where, "$$$1")
	d, err := c.describe(p, text)
	if err != nil {
		return asError(err, nil)
	}
	for i, t := range d.Parameters {
		if i < len(p.params) && p.params[i] == nil && t != "" {
			p.params[i] = parameterOf(t)
		}
	}
	return nil
}

// describeRows runs a statement such as SHOW TABLES to get its columns.
func (c *conn) describeRows(p *prepared, st statement.Statement) error {
	req := c.request()
	req.Statements, req.Limited = []statement.Statement{st}, true
	x := c.execute(req)
	defer c.setCurrent(nil)
	res, ok := c.result(x)
	if ok && res.Rows != nil {
		p.columns = columnsOf(res.Rows.Schema())
	}
	err, cause := x.end()
	if err != nil {
		return asError(err, cause)
	}
	return nil
}

// parse rewrites and parses a statement for package query.
func (c *conn) parse(text string) (statement.Statement, error) {
	r, err := c.rewritten(text)
	if err != nil {
		return nil, err
	}
	list, err := statement.Parse(r.Text)
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, failure("42601", "expected one statement")
	}
	return list[0], nil
}

// request returns a request with the settings of the session.
func (c *conn) request() query.Request {
	req := query.Request{
		Database: c.session.schema(), Catalog: c.session.database, Protocol: "pg", Timeout: c.session.timeout(),
		AllowPartial: c.session.get("cordwood.allow_partial") == "on",
	}
	if d, err := parseSpan(c.session.get("cordwood.max_staleness")); err == nil {
		req.MaxStaleness = d
	}
	return req
}

// placed adds the position in the client's text to an error.
func (c *conn) placed(err error, cmd *command, text string) error {
	e := asError(err, nil)
	if errs.CodeOf(err) == errs.Unknown && !errors.As(err, new(*Error)) {
		return e
	}
	if errs.CodeOf(err) == errs.InvalidArguments && (cmd.verb == "CREATE" || cmd.verb == "ALTER") {
		e.State = "42P16" // the definition is invalid, and the words in it do not matter
	}
	r, rerr := c.rewritten(text)
	if rerr != nil {
		return e
	}
	if at := e.placeOf(r.Text); at >= 0 && text == cmd.text {
		e.Position = characters(cmd.text, r.Origin(at))
	}
	return e
}

// keep adds a prepared statement under a name.
func (c *conn) keep(name string, p *prepared) error {
	if err := checkName(name); err != nil {
		return err
	}
	if old := c.statements[name]; old != nil && name != "" {
		return failure("42P05", "prepared statement %q already exists", excerpt(name))
	}
	c.forget(name)
	if err := c.roomFor(name); err != nil {
		return err
	}
	if c.textBytes+p.weight() > maxPreparedText {
		return failure("53400", "the prepared statements are too large; those of a connection may take %d bytes",
			maxPreparedText)
	}
	c.statements[name] = p
	c.textBytes += p.weight()
	return nil
}

// roomFor returns an error if the connection has as many prepared statements as it may have. An unnamed statement
// replaces the one before it.
func (c *conn) roomFor(name string) error {
	if len(c.statements) >= maxPrepared && (name != "" || c.statements[""] == nil) {
		return failure("53400", "too many prepared statements; a connection may have %d", maxPrepared).
			withHint("close those that are no longer needed")
	}
	return nil
}

// forget removes a prepared statement and its portals.
func (c *conn) forget(name string) {
	p := c.statements[name]
	if p == nil {
		return
	}
	delete(c.statements, name)
	c.textBytes -= p.weight()
	for portal, o := range c.portals {
		if o.stmt == p && !o.declared {
			c.closePortal(portal)
		}
	}
}

// find returns a prepared statement by its name.
func (c *conn) find(name string) (*prepared, error) {
	if p := c.statements[name]; p != nil {
		return p, nil
	}
	if name == "" {
		return nil, failure("26000", "unnamed prepared statement does not exist")
	}
	return nil, failure("26000", "prepared statement %q does not exist", excerpt(name))
}
