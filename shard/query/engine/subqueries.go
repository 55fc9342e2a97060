package engine

import (
	"slices"
	"strings"

	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/plan"
	"cordwood/shard/query/engine/split"
	"cordwood/shard/query/engine/sql"
)

// This file finds the subqueries in the expressions of a statement that can be run first, as statements of their own.
// Their values then become literals, so that only one table is left, and the statement can be split.

const (
	// maxFirst is the maximum number of such subqueries.
	maxFirst = 8
	// maxParsed is the maximum number of bytes of queries in parentheses that are parsed to find them. A query is parsed
	// again with each query around it.
	maxParsed = 1 << 20
)

// subquery is a query in an expression, with its positions in the text.
type subquery struct {
	query.First
	spans []sql.Span
	key   string // see split.SubqueryKey
}

// valueTypes are the types of values that can become literals.
var valueTypes = map[string]bool{
	"TINYINT": true, "SMALLINT": true, "INTEGER": true, "BIGINT": true, "UTINYINT": true, "USMALLINT": true,
	"UINTEGER": true, "UBIGINT": true, "HUGEINT": true, "FLOAT": true, "DOUBLE": true, "BOOLEAN": true, "VARCHAR": true,
	"DATE": true, "TIMESTAMP": true, "TIMESTAMP_S": true, "TIMESTAMP_MS": true, "TIMESTAMP_NS": true,
}

// hasSubquery reports whether a query is in an expression of the statement.
func hasSubquery(tree sql.Node) bool { return sql.HasClass(tree, "SUBQUERY") }

// outermost returns the subqueries in the expressions of a query and of the queries in its FROM, but none of those
// inside of other subqueries.
func outermost(tree sql.Node) (out []sql.Node) {
	sql.EachNode(tree, func(n sql.Node) bool {
		if sql.Text(n, "class") != "SUBQUERY" {
			return true
		}
		out = append(out, n)
		return false
	})
	return out
}

// subqueries returns the statement's subqueries that have to be run first, in the order of the text.
func (r *run) subqueries() ([]subquery, error) {
	if !hasSubquery(r.st.tree) {
		return nil, nil
	}
	queries, err := r.queriesInParentheses()
	if err != nil {
		return nil, err
	}
	var out []subquery
	for _, n := range outermost(r.st.tree) {
		key, use := split.SubqueryKey(n)
		if slices.ContainsFunc(out, func(s subquery) bool { return s.key == key }) {
			continue
		}
		if use == split.UseNone || len(out) == maxFirst {
			return nil, split.Subquery("it has too many subqueries in expressions, or compares with one in an " +
				"unusual way; use IN, EXISTS, or a subquery in place of a value")
		}
		s, err := r.subquery(n, use, queries)
		if err != nil {
			return nil, err
		}
		s.key = key
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b subquery) int { return a.spans[0].From - b.spans[0].From })
	return out, nil
}

// parsed is a query in parentheses.
type parsed struct {
	span   sql.Span
	tables []query.TableName
	// references is the number of references to tables.
	references int
	root       sql.Node
}

// queriesInParentheses parses the queries that are in parentheses in the statement's text. It skips texts that
// begin like a query but are none.
func (r *run) queriesInParentheses() (out []parsed, err error) {
	length := 0
	for _, span := range sql.Queries(r.st.SQL) {
		if length += span.To - span.From; length > maxParsed {
			return nil, split.Subquery("it is too long to find its subqueries in expressions")
		}
		st, root, err := sql.Parse(r.st.SQL[span.From:span.To], r.request.Database, r.in.SyntaxTree)
		switch {
		case sql.IsBroken(err):
			return nil, err
		case err == nil:
			out = append(out, parsed{span, st.Names, len(st.Tables), root})
		}
	}
	return out, nil
}

// subquery finds a subquery among the queries in parentheses.
func (r *run) subquery(n sql.Node, use split.Use, queries []parsed) (out subquery, err error) {
	for _, q := range queries {
		if !split.SameQuery(n, q.root) {
			continue
		}
		if r.references(q.span) != q.references {
			return out, split.Subquery("a subquery in an expression reads a query of WITH; write that query into the subquery")
		}
		text := r.st.SQL[q.span.From:q.span.To]
		out.spans = append(out.spans, q.span)
		out.SQL, out.Tables, out.Exists = text, q.tables, use == split.UseExists
		if out.Rows = 1; use == split.UseList {
			out.SQL, out.Rows = sql.Distinct(text, q.root, split.HasAggregate), query.MaxValues
		}
	}
	if len(out.spans) == 0 {
		return out, split.Subquery("it has a subquery in an expression")
	}
	out.Type, err = r.valueType(&out.First)
	return out, err
}

// references returns the number of references to tables within a span.
func (r *run) references(span sql.Span) (n int) {
	for _, ref := range r.st.Tables {
		if span.Contains(ref.At()) {
			n++
		}
	}
	return n
}

// valueType returns the type of the only column of a subquery.
func (r *run) valueType(f *query.First) (string, error) {
	st, err := r.parseWorker(f.SQL)
	if err != nil {
		return "", refused("a subquery", err)
	}
	w := &run{ctx: r.ctx, engine: r.engine, in: r.in, st: st, request: r.request, session: r.session}
	if err := w.plan(); err != nil {
		return "", refused("a subquery", err)
	}
	defer w.release()
	columns, err := w.columns()
	switch {
	case sql.IsBroken(err):
		return "", err
	case err != nil:
		return "", split.Subquery("a subquery in an expression uses columns of the query around it; x IN (SELECT …) " +
			"without such columns runs first, and its values become literals")
	case f.Exists:
		return "", nil
	case len(columns) != 1 || !valueTypes[columns[0].Type]:
		return "", split.Subquery("the values of a subquery in an expression cannot become literals; " +
			"select one column of numbers, texts or times in it")
	}
	return columns[0].Type, nil
}

// valuesOf returns the values of the subqueries for package split. If the request has none, there is one null for each.
func (r *run) valuesOf(of []subquery, table *plan.View) map[string]split.Values {
	out := map[string]split.Values{}
	for i, s := range of {
		v := split.Values{Type: s.Type, Null: true, Plain: plainIn(table, s.Type)}
		if i < len(r.request.Values) {
			given := &r.request.Values[i]
			v.Texts, v.Null, v.Exists = given.Texts, given.Null, given.Exists
		}
		out[s.key] = v
	}
	return out
}

// plainIn returns a function that reports whether a column of the table takes literals of a type without a cast. The
// filters of segments know only these.
func plainIn(table *plan.View, typ string) func(column string) bool {
	return func(column string) bool {
		i := slices.Index(table.Names, column)
		if i < 0 {
			return false
		}
		of := table.Columns[i].Type
		return of == schema.String && typ == "VARCHAR" || of.IsInteger() && strings.HasSuffix(typ, "INT") ||
			of.IsInteger() && typ == "INTEGER"
	}
}

// outside returns the number of the only reference to a table outside of some subqueries.
func (r *run) outside(of []subquery) (int, error) {
	at, n := 0, 0
	for i, ref := range r.st.Tables {
		inside := slices.ContainsFunc(of, func(s subquery) bool {
			return slices.ContainsFunc(s.spans, func(span sql.Span) bool { return span.Contains(ref.At()) })
		})
		if !inside {
			at, n = i, n+1
		}
	}
	if n != 1 {
		return 0, split.SeveralTables()
	}
	return at, nil
}
