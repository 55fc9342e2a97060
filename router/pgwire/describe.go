package pgwire

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/lazyregexp"
	"cordwood/proto/schema"
	"cordwood/router/pgwire/rewrite"
	"cordwood/router/pgwire/value"
	"cordwood/router/query"
	"cordwood/router/query/statement"
)

// describer prepares statements: it determines the types of their parameters and of their columns.
type describer struct {
	session    *session
	translator *translator
	runner     *runner
	// sessionColumns returns the columns of a statement about the session, or nil if it returns no rows.
	sessionColumns func(cmd *command) ([]column, error)
}

// prepare prepares a statement. oids are the types of its parameters, 0 if the client does not specify one.
func (d *describer) prepare(text string, oids []uint32) (*prepared, error) {
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
	p := &prepared{cmd: newCommand(text), since: time.Now()}
	if err := p.cmd.checkLength(); err != nil {
		return nil, err
	}
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
	if err := d.session.mayRun(p.cmd); err != nil {
		return nil, err
	}
	err = d.describePrepared(p)
	for i, t := range p.params {
		if t == nil {
			p.params[i] = value.Text
		}
	}
	return p, err
}

// explained gives the parameters of an EXPLAIN the types that they have in the statement that it explains. If that one
// has an error, running it reports the error.
func (d *describer) explained(p *prepared) {
	s := newScanner(p.cmd.text)
	if len(p.places) == 0 || !s.accept("EXPLAIN") {
		return
	}
	if _, err := readExplain(s); err != nil || s.end() || s.word("EXECUTE") || s.word("EXPLAIN") {
		return
	}
	oids := make([]uint32, len(p.params))
	for i, t := range p.params {
		if t != nil {
			oids[i] = t.OID
		}
	}
	if inner, err := d.prepare(s.rest(), oids); err == nil {
		copy(p.params, inner.params)
	}
}

// describePrepared determines the types of parameters and columns.
func (d *describer) describePrepared(p *prepared) error {
	cmd := p.cmd
	switch {
	case cmd.verb == "":
		return nil
	case cmd.session != nil:
		d.explained(p)
		columns, err := d.sessionColumns(cmd)
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
	if len(marked) > maxStatement && cmd.verb == "SELECT" { // the texts that replace parameters are longer than values
		return d.describeQuery(p)
	}
	st, err := d.translator.parse(marked)
	if err != nil {
		return d.translator.placed(err, cmd, marked)
	}
	switch st := st.(type) {
	case *statement.Query:
		return d.describeQuery(p)
	case *statement.Insert:
		return d.describeInsert(p, st)
	case *statement.Delete:
		return d.describeDelete(p, st)
	}
	if statement.ShowsSecret(st) { // describing it must not run it
		for _, name := range query.SecretColumns() {
			p.columns = append(p.columns, column{name: name, typ: value.Text})
		}
		return nil
	}
	if st.Rows() {
		return d.describeRows(p, st)
	}
	return nil
}

// markerText matches a literal made by marker.
var markerText = lazyregexp.New(`'\$cordwood parameter ([0-9]+)\$'`)

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
func (d *describer) describeQuery(p *prepared) error {
	text := rewrite.AnyOfParameter(p.cmd.text, p.places)
	for i, oid := range rewrite.Documents(p.cmd.text, p.places, len(p.params)) {
		if oid != 0 && p.params[i] == nil {
			p.params[i] = value.ByOID(oid)
		}
	}
	answer, err := d.describe(p, text.Text)
	open := err != nil && slices.Contains(p.params, nil) // the engine may lack a type
	if err != nil && !open {
		return d.translator.placed(err, p.cmd, text.Text) // without a position if the text is not the client's
	}
	if err == nil {
		open = p.learn(answer, text)
	}
	if open || len(text.Any) > 0 {
		d.infer(p, text)
		// Once all parameter types are known, the column types are known, too.
		again, failed := d.describe(p, p.cmd.text)
		switch {
		case failed == nil:
			answer = again
		case err != nil:
			return d.translator.placed(failed, p.cmd, p.cmd.text)
		}
	}
	p.columns = d.columns(p.cmd.text, answer)
	return nil
}

// learn gives parameters the types that the engine reports. It reports whether there are parameters without types.
func (p *prepared) learn(answer *query.Description, text rewrite.AnyText) (open bool) {
	for i, t := range answer.Parameters {
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
	return open
}

// maxInferred is the maximum number of times that the engine is asked for the types of parameters of a statement, if
// its text has at most maxInferredText bytes. A longer statement takes more time to describe, so it is described less
// often.
const (
	maxInferred     = 32
	maxInferredText = 2 << 10
)

// infer gives types to the parameters for which the engine reports none. It stops at the first such parameter, so it
// is asked again after each type that was found. Like PostgreSQL, infer takes the type of the other operand of an
// operator.
// What remains gets a type by the tokens beside it, which is text if they do not tell.
func (d *describer) infer(p *prepared, text rewrite.AnyText) {
	guesses := rewrite.Guess(p.cmd.text, p.places, len(p.params))
	asked := map[int]bool{}
	most := max(1, maxInferred*maxInferredText/max(len(p.cmd.text), maxInferredText))
	for range most {
		open := map[int]bool{}
		for i, t := range p.params {
			if t == nil {
				open[i+1] = true
			}
		}
		found := 0
		for _, place := range p.places {
			if n := place.Number; found == 0 && open[n] && !asked[n] && len(asked) < most {
				asked[n] = true
				if p.params[n-1] = d.operandType(p, n, open); p.params[n-1] != nil {
					found = n
				}
			}
		}
		for _, place := range p.places {
			if n := place.Number; found == 0 && open[n] && guesses[n-1] != value.Text.OID {
				p.params[n-1], found = value.ByOID(guesses[n-1]), n
				break
			}
		}
		if found == 0 {
			break
		}
		answer, err := d.describe(p, text.Text)
		if err == nil && !p.learn(answer, text) {
			break
		}
	}
	for i := range p.params {
		if p.params[i] == nil {
			p.params[i] = value.ByOID(guesses[i])
		}
	}
}

// operandType returns the type of parameter n that follows from the other operand of an operator, or nil.
func (d *describer) operandType(p *prepared, n int, open map[int]bool) *value.Type {
	beside, ok := rewrite.OperandBeside(p.cmd.text, p.places, n, open)
	if !ok {
		return nil
	}
	_, err := d.describe(p, beside.Probe)
	var refused *errs.Error
	if !errors.As(err, &refused) {
		return nil
	}
	return value.ByOID(beside.Type(rewrite.ProbedType(refused.Msg)))
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
func (d *describer) describe(p *prepared, text string) (*query.Description, error) {
	types := make([]string, len(p.params))
	for i, t := range p.params {
		if t != nil {
			types[i] = t.Engine()
		}
	}
	r, err := d.translator.rewritten(text)
	if err != nil {
		return nil, err
	}
	return d.runner.describe(r.Text, types)
}

// columns returns the columns of a query that the engine has described.
func (d *describer) columns(text string, answer *query.Description) []column {
	columns := make([]column, len(answer.Columns))
	for i, col := range answer.Columns {
		columns[i] = column{name: col.Name, typ: value.OfEngine(col.Type)}
	}
	d.translator.refine(text, columns)
	return columns
}

// describeDelete describes a query with the same condition.
func (d *describer) describeDelete(p *prepared, st *statement.Delete) error {
	if len(p.places) == 0 {
		return nil
	}
	name := schema.QuoteIdent(orElse(st.Name.Database, d.session.schema())) + "." + schema.QuoteIdent(st.Name.Table)
	text := "SELECT 1 FROM " + name + " WHERE " + markerText.ReplaceAllString(st.Where, "$$$1")
	answer, err := d.describe(p, text)
	if err != nil {
		return asError(err, nil)
	}
	for i, t := range answer.Parameters {
		if i < len(p.params) && p.params[i] == nil && t != "" {
			p.params[i] = parameterOf(t)
		}
	}
	return nil
}

// describeRows runs a statement such as SHOW TABLES to get its columns.
func (d *describer) describeRows(p *prepared, st statement.Statement) error {
	req := d.runner.request()
	req.Statements, req.Limited = []statement.Statement{st}, true
	x := d.runner.execute(req)
	defer d.runner.setCurrent(nil)
	res, ok := d.runner.result(x)
	if ok && res.Rows != nil {
		p.columns = columnsOf(res.Rows.Schema())
	}
	err, cause := x.end()
	if err != nil {
		return asError(err, cause)
	}
	return nil
}
