package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cordwood/proto/errs"
	"cordwood/proto/lazyregexp"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/duck"
	"cordwood/shard/query/engine/sql"
)

// Describe returns the columns of the answer to a statement, without running it, and the types of
// its parameters. The segments and batches of the request are not read.
//
// For a wrong statement it returns the errors of Query. Unlike in Query, the statement may have
// parameters: $1 and so on.
func (e *Engine) Describe(ctx context.Context, req *query.Request) (*query.Description, error) {
	d, req, err := newDescriber(req)
	if err != nil {
		return nil, err
	}
	st, req, err := e.study(ctx, req)
	if err != nil {
		return nil, d.placed(err)
	}
	if st.Explain != "" {
		return &query.Description{
			Columns:    []query.Column{{Name: "explain_key", Type: "VARCHAR"}, {Name: "explain_value", Type: "VARCHAR"}},
			Parameters: d.types,
		}, nil
	}
	in, err := e.acquire(ctx)
	if err != nil {
		return nil, err
	}
	d.run = &run{ctx: ctx, engine: e, in: in, st: st, request: withoutRows(req)}
	columns, err := d.describe()
	e.release(in, sql.IsBroken(err))
	if err != nil && ctx.Err() != nil {
		return nil, contextError(ctx)
	}
	if err != nil {
		err = sql.ToClient(err, d.text)
		duck.GiveBackAfter(err)
		return nil, d.placed(err)
	}
	out := &query.Description{Columns: make([]query.Column, len(columns)), Parameters: d.types}
	for i, c := range columns {
		out.Columns[i] = query.Column{Name: d.nameOf(c.Name), Type: c.Type}
	}
	return out, nil
}

// describer describes a statement. While the statement is checked, literals replace its parameters.
type describer struct {
	*run
	marker sql.Marker
	places []sql.Parameter
	// types are the types of the parameters. An empty text means that the type is not known.
	types []string
	// patterns are the parameters that are patterns of ~. They stay literals, because the engine takes nothing else.
	patterns []int
}

// givenType matches the types that a client may give a parameter.
var givenType = lazyregexp.New(`^[A-Z_]+( WITH TIME ZONE)?(\([0-9]{1,2}(,[0-9]{1,2})?\))?(\[\])*$`)

// newDescriber returns a describer for the statement of a request. It also returns the request with
// literals in place of the parameters.
func newDescriber(req *query.Request) (*describer, *query.Request, error) {
	list, most, err := sql.Parameters(req.SQL)
	if err != nil {
		return nil, nil, err
	}
	if len(req.Parameters) > sql.MaxParameter {
		return nil, nil, errs.New(errs.InvalidArguments, "the client gave the types of %d parameters; at most %d are "+
			"allowed", len(req.Parameters),
			sql.MaxParameter)
	}
	d := &describer{marker: sql.NewMarker(req.SQL), places: list, types: make([]string, max(most, len(req.Parameters)))}
	for i, given := range req.Parameters {
		if given != "" && !givenType.MatchString(given) {
			return nil, nil, errs.New(errs.InvalidArguments, "parameter $%[2]d cannot have the type %[1]q; use a type such as "+
				"BIGINT, DOUBLE, VARCHAR or TIMESTAMP", given, i+1)
		}
	}
	copy(d.types, req.Parameters)
	for _, p := range list {
		before := strings.TrimRight(req.SQL[:p.From], " \t\r\n")
		if strings.HasSuffix(before, "~") && !strings.HasSuffix(before, "~~") || strings.HasSuffix(before, "~*") {
			d.patterns, d.types[p.Number-1] = append(d.patterns, p.Number), "VARCHAR"
		}
	}
	out := *req
	out.SQL = sql.ReplaceParameters(req.SQL, list, d.marker.Literal)
	return d, &out, nil
}

// placed converts the position in an error about the statement with literals to the position in the client's statement.
func (d *describer) placed(err error) error {
	e := (*errs.Error)(nil)
	if !errors.As(err, &e) {
		return err
	}
	m := errorPlace.FindStringSubmatchIndex(e.Msg)
	if m == nil {
		return err
	}
	at, _ := strconv.Atoi(e.Msg[m[2]:m[3]]) // the pattern has few digits
	moved := *e
	moved.Msg = e.Msg[:m[2]] + strconv.Itoa(d.origin(at)) + e.Msg[m[3]:]
	return &moved
}

var errorPlace = lazyregexp.New(`\(position ([0-9]{1,9})\)$`)

// origin converts an offset in the statement with literals to an offset in the client's statement. Within a literal, it
// is the offset of the parameter.
func (d *describer) origin(at int) int {
	longer := 0 // by how much the literals before are longer than their parameters
	for _, p := range d.places {
		from := p.From + longer
		to := from + len(d.marker.Literal(p.Number))
		switch {
		case at < from:
			return at - longer
		case at < to:
			return p.From
		}
		longer += to - from - (p.To - p.From)
	}
	return at - longer
}

func (d *describer) describe() ([]duck.Column, error) {
	defer d.close()
	if err := d.plan(); err != nil {
		return nil, err
	}
	if err := d.connect(); err != nil {
		return nil, err
	}
	defer d.session.Watch(d.ctx)()
	if len(d.types) == 0 {
		return d.columns()
	}
	if err := d.infer(); err != nil {
		return nil, err
	}
	// At first no value is null, because DuckDB would treat a || NULL as a number. In the second attempt all values
	// are null, because DuckDB may calculate with the values of the first one.
	if columns, err := d.columnsWith("CAST('' AS VARCHAR)", standIn); err == nil {
		return columns, nil
	}
	// Most parameters of unknown type are texts. But DuckDB cannot add a text and a number, as in '5' + 1.
	columns, err := d.columnsWith("CAST(NULL AS VARCHAR)", nullOf)
	if sql.IsBinding(err) {
		text := d.text
		if columns, err := d.columnsWith("NULL", nullOf); err == nil {
			return columns, nil
		}
		d.text = text // to which the position in err refers
	}
	if errs.CodeOf(err) == errs.Unexpected {
		d.times = nil // DuckDB rewrites a literal there itself: replace the parameter by a text
		return d.columns()
	}
	return columns, err
}

// infer finds the types of parameters if the client gave no types at all.
func (d *describer) infer() error {
	d.times = d.edits(func(n int) string {
		if t := d.types[n-1]; t != "" {
			return fmt.Sprintf("CAST($%d AS %s)", n, t)
		}
		return fmt.Sprintf("$%d", n)
	})
	if d.rewrite(false) != nil {
		return nil // DuckDB requires a literal there; if the statement has a fault, the request for the columns reports it
	}
	found, err := d.session.ParameterTypes(d.text.SQL, len(d.types))
	if sql.IsBroken(err) {
		return err
	}
	for i, t := range found {
		if d.types[i] == "" {
			d.types[i] = t
		}
	}
	return nil
}

// columnsWith returns the columns of the answer, with values in the places of parameters. known
// returns the value for a type.
func (d *describer) columnsWith(unknown string, known func(typ string) string) ([]duck.Column, error) {
	d.times, d.ran, d.rows = d.edits(func(n int) string {
		if t := d.types[n-1]; t != "" {
			return known(t)
		}
		return unknown
	}), false, 0
	return d.columns()
}

// edits returns the edits that replace the parameters, except for patterns.
func (d *describer) edits(f func(n int) string) []sql.Edit {
	return slices.DeleteFunc(d.marker.Edits(d.st.SQL, f), func(e sql.Edit) bool {
		return slices.ContainsFunc(d.patterns, func(n int) bool { return d.st.SQL[e.From:e.To] == d.marker.Literal(n) })
	})
}

func nullOf(typ string) string { return "CAST(NULL AS " + typ + ")" }

// standIn returns a value of a type; null if the type has none that is valid everywhere.
func standIn(typ string) string {
	text := ""
	switch base, _, _ := strings.Cut(typ, "("); {
	case strings.HasSuffix(typ, "]"):
		return nullOf(typ)
	case typ == "VARCHAR" || typ == "BLOB":
	case strings.HasSuffix(base, "INT") || strings.HasSuffix(base, "INTEGER") || base == "DECIMAL" || base == "DOUBLE" ||
		base == "FLOAT" || base == "BOOLEAN":
		text = "1"
	case strings.HasPrefix(base, "TIMESTAMP") || base == "DATE":
		text = "2000-01-01"
	default:
		return nullOf(typ)
	}
	return "CAST('" + text + "' AS " + typ + ")"
}

// nameOf returns the name of a column as it is written in the client's text.
func (d *describer) nameOf(name string) string {
	for _, e := range d.marker.Edits(name, func(n int) string { return fmt.Sprintf("$%d", n) }) {
		name = strings.ReplaceAll(name, name[e.From:e.To], e.Text)
		return d.nameOf(name)
	}
	return name
}
