package split

import (
	"fmt"
	"slices"
	"strings"

	"cordwood/shard/query/engine/sql"
)

// This file splits a query whose FROM is another query: a subquery, or the name of a WITH. The inner query reads the
// table, or has such a FROM itself.
//
// If the inner query only has columns, expressions and a WHERE, both are one query over the table: the columns of the
// inner query are replaced by their expressions, and rows have to meet both conditions. Otherwise the inner query is
// split, and the outer query becomes part of the last step.

// maxCopied is the maximum number of nodes that replace the columns of one inner query. A column that is used twice
// doubles its expression, and so does each level of inner queries.
const maxCopied = 20_000

// derived is a column of an inner query. Its name is empty if only the engine knows it.
type derived struct {
	name string
	expr sql.Node
}

// withQuery is a query of WITH with its name in lower case. A query can read the queries before it: sees is the last of
// them, or nil. columns are the names that WITH gives to its columns.
type withQuery struct {
	name    string
	node    sql.Node
	columns []any
	sees    *withQuery
}

// find returns the last query of a name, or nil.
func (w *withQuery) find(name string) *withQuery {
	for w != nil && w.name != name {
		w = w.sees
	}
	return w
}

// with returns w with the queries of a node's WITH. Each query sees the queries before it.
func (w *withQuery) with(n sql.Node) (*withQuery, error) {
	ctes, ok := n["cte_map"].(sql.Node)
	if !ok {
		return w, nil
	}
	list, _ := ctes["map"].([]any)
	for _, v := range list {
		cte, _ := v.(sql.Node)
		value, _ := cte["value"].(sql.Node)
		of, _ := value["query"].(sql.Node)
		node, ok := of["node"].(sql.Node)
		if !ok || !sql.OnlyKeys(value, "query", "materialized", "aliases") {
			return nil, notSplit(causeForm, "it has a WITH that is not a plain query, such as a recursive one")
		}
		columns, _ := value["aliases"].([]any)
		w = &withQuery{sql.LowerASCII(sql.Text(cte, "key")), node, columns, w}
	}
	return w, nil
}

// innerQuery is the query in a FROM.
type innerQuery struct {
	node sql.Node
	// sees are the queries of WITH that it can read.
	sees *withQuery
	// alias is the name that the outer query has for it, and columns are the names of its first columns there.
	alias   string
	columns []any
}

// inner returns the query in a FROM, or nil if the FROM is not a query.
func (w *withQuery) inner(from sql.Node) (*innerQuery, error) {
	alias := sql.Text(from, "alias")
	columns, _ := from["column_name_alias"].([]any)
	switch sql.Text(from, "type") {
	case "SUBQUERY":
		of, _ := from["subquery"].(sql.Node)
		node, _ := of["node"].(sql.Node)
		if node == nil || !sql.OnlyKeys(from, "subquery", "alias", "column_name_alias") {
			return nil, notSplit(causeForm, "its subquery in FROM has a sample")
		}
		return &innerQuery{node, w, alias, columns}, nil
	case "BASE_TABLE":
		name := sql.Text(from, "table_name")
		q := w.find(sql.LowerASCII(name))
		if q == nil || sql.Text(from, "schema_name") != "" {
			return nil, nil
		}
		if !sql.OnlyKeys(from, "table_name", "alias") {
			return nil, notSplit(causeForm, "the name of a WITH has a list of columns, or a sample")
		}
		if alias == "" {
			alias = name
		}
		return &innerQuery{q.node, q.sees, alias, q.columns}, nil
	}
	return nil, nil
}

// simple reports whether the block only has columns, expressions and a WHERE.
func (b *block) simple() bool {
	return b.over == nil && !b.aggregates() && !b.distinct && !b.limited && b.offset == 0 && len(b.orders) == 0
}

// outputs returns the columns of the block's answer.
func (b *block) outputs() ([]derived, error) {
	var out []derived
	for _, item := range b.items {
		list := []derived{{name: sql.Text(item, "alias"), expr: item}}
		name, bare := bareColumn(item)
		switch {
		case sql.HasClass(item, "STAR") && !isStar(item):
			return nil, notSplit(causeForm, "an expression over several columns in an inner query")
		case isStar(item):
			list = nil
			for _, c := range b.Columns {
				list = append(list, derived{c, columnOf(c)})
			}
		case bare && list[0].name == "":
			list[0].name = name
		}
		out = append(out, list...)
	}
	if len(b.renamed) > len(out) {
		return nil, notSplit(causeNames, "its list of columns is longer than the inner query's")
	}
	for i, v := range b.renamed {
		out[i].name, _ = v.(string)
	}
	seen := map[string]bool{}
	for _, d := range out {
		low := sql.LowerASCII(d.name)
		if low != "" && seen[low] {
			return nil, notSplit(causeNames, "two columns of an inner query have one name; give one of them an alias")
		}
		seen[low] = true
	}
	return out, nil
}

// derive makes a block that reads the columns of an inner one.
func (b *block) derive(in *block, alias string) error {
	columns, err := in.outputs()
	if err != nil {
		return err
	}
	if in.draws {
		return drawnHere()
	}
	if in.repeats && in.simple() { // without the item, there would be one row for each row of the table
		return notSplit(causeFunction,
			"an inner query calls a function such as unnest(), which makes several rows of one; "+
				"call it in the outermost query")
	}
	b.alias, b.usesNow, b.usesDay, b.from = alias, in.usesNow, in.usesDay, in.from
	for _, d := range columns {
		if d.name != "" {
			b.columns[sql.LowerASCII(d.name)] = d.name
		}
	}
	if b.over = in; !in.simple() {
		if slices.ContainsFunc(columns, func(d derived) bool { return d.name == "" }) {
			return notSplit(causeNames, "a column of an inner query has no name; give it an alias")
		}
	}
	return nil
}

// flatten turns the block and a simple inner one into one block over the table.
func (b *block) flatten() error {
	in := b.over
	columns, err := in.outputs()
	if err != nil {
		return err
	}
	of, size, copied := map[string]sql.Node{}, map[string]int{}, 0
	for _, d := range columns {
		if d.name != "" {
			of[d.name], _ = clone(d.expr).(sql.Node)
			delete(of[d.name], "alias")
			size[d.name] = nodes(of[d.name])
		}
	}
	put := func(n sql.Node) (sql.Node, error) {
		name, bare := bareColumn(n)
		if !bare {
			return nil, nil
		}
		if of[name] == nil {
			return nil, notSplit(causeNames, "%s is not a column of its inner query", name)
		}
		if copied += size[name]; copied > maxCopied {
			return nil, notSplit(causeForm, "the expressions of its inner query are used too often")
		}
		out, _ := clone(of[name]).(sql.Node)
		return out, nil
	}
	replaced := func(n sql.Node) sql.Node {
		if n == nil || err != nil {
			return n
		}
		var out sql.Node
		if out, err = expression(n, put); err == nil && sql.Text(n, "alias") != "" {
			out["alias"] = n["alias"]
		}
		return out
	}
	for i := range b.items {
		b.items[i] = replaced(b.items[i])
	}
	for i := range b.groups {
		b.groups[i] = replaced(b.groups[i])
	}
	for i := range b.orders {
		b.orders[i].by = replaced(b.orders[i].by)
	}
	b.where, b.having = replaced(b.where), replaced(b.having)
	if in.where != nil && b.where != nil {
		b.where = sql.Node{
			"class": "CONJUNCTION", "type": "CONJUNCTION_AND", "children": []any{in.where, b.where},
		}
	} else if in.where != nil {
		b.where = in.where
	}
	b.columns, b.aliases, b.itemKeys, b.over = in.columns, nil, nil, nil
	return err
}

// splitOuter splits the inner query, and makes the block's query the last step over its answer.
func (b *block) splitOuter() (*Plan, error) {
	columns, err := b.over.outputs()
	if err != nil {
		return nil, err
	}
	of := *b.over.Statement
	of.Names, of.Limit = nil, 0
	for _, d := range columns {
		of.Names = append(of.Names, d.name)
	}
	b.over.Statement = &of
	p, err := b.over.split()
	if err != nil {
		return nil, err
	}
	if p.Final == "" {
		return nil, notSplit(causeForm,
			"it sorts, limits or computes rows of a subquery that each node would answer by itself")
	}
	final, err := b.queryText("(" + p.Final + ") AS __inner")
	if err != nil {
		return nil, err
	}
	return &Plan{Kind: p.Kind, Worker: p.Worker, Final: final, divided: p.divided}, nil
}

// queryText returns the block's query over a FROM, as text.
func (b *block) queryText(from string) (string, error) {
	var err error
	printed := func(n sql.Node) string {
		s, e := text(n)
		if err == nil {
			err = e
		}
		return s
	}
	items := make([]string, len(b.items))
	for i, item := range b.items {
		items[i] = printed(item) + " AS " + sql.QuoteName(b.Names[i])
	}
	out := "SELECT "
	if b.distinct {
		out = "SELECT DISTINCT "
	}
	out += strings.Join(items, ", ") + " FROM " + from
	if b.where != nil {
		out += " WHERE " + printed(b.where)
	}
	for i, g := range b.groups {
		by := printed(g)
		if at := b.itemOf(g); at > 0 {
			by = fmt.Sprint(at) // a literal would be the number of an item
		}
		out += map[bool]string{true: " GROUP BY ", false: ", "}[i == 0] + by
	}
	if b.having != nil {
		out += " HAVING " + printed(b.having)
	}
	for i, o := range b.orders {
		by := fmt.Sprint(o.item)
		if o.item == 0 {
			by = printed(o.by)
		}
		out += map[bool]string{true: " ORDER BY ", false: ", "}[i == 0] + by + o.how
	}
	return out + b.tail(), err
}
