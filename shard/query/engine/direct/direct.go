package direct

import (
	"context"
	"strings"
	"time"

	"cordwood/proto/schema"
	"cordwood/shard/query/engine/plan"
	"cordwood/shard/query/engine/sql"
)

// This file decides which statements are answered without DuckDB: statements for whole rows of one
// table, such as "the row with this id" and "the newest rows with an error". For these, planning,
// binding and starting DuckDB would be most of the work. Statements are accepted only if DuckDB's
// answer is known exactly.

// Shape holds the parts of the text of a statement that may be answered without DuckDB.
type Shape struct {
	ref    int // in statement.tables
	list   []item
	where  sql.Node
	order  string // the column of ORDER BY, or empty
	desc   bool
	limit  uint64 // whether there is a LIMIT
	offset uint64

	limited bool
}

// item is an element of the SELECT list: a star or a column.
type item struct {
	column sql.Node // nil for a star
	alias  string
}

// Find reports whether a statement may be answered without DuckDB, and returns its shape.
func Find(st *sql.Statement, n sql.Node) *Shape {
	if sql.Text(n, "type") != "SELECT_NODE" ||
		!sql.OnlyKeys(n, "aggregate_handling", "from_table", "modifiers", "select_list", "where_clause") ||
		sql.Text(n, "aggregate_handling") != "STANDARD_HANDLING" {
		return nil
	}
	from, _ := n["from_table"].(sql.Node)
	ref, ok := st.Reference(from)
	if !ok || !sql.OnlyKeys(from, "alias", "table_name", "schema_name", "catalog_name") {
		return nil
	}
	d := &Shape{ref: ref}
	d.where, _ = n["where_clause"].(sql.Node)
	list, _ := n["select_list"].([]any)
	for _, v := range list {
		i, _ := v.(sql.Node)
		switch {
		case sql.Text(i, "class") == "STAR" && sql.OnlyKeys(i):
			d.list = append(d.list, item{})
		case isColumn(i):
			d.list = append(d.list, item{column: i, alias: sql.Text(i, "alias")})
		default:
			return nil
		}
	}
	modifiers, _ := n["modifiers"].([]any)
	for _, m := range modifiers {
		m, _ := m.(sql.Node)
		if !d.modify(m) {
			return nil
		}
	}
	return d
}

func isColumn(n sql.Node) bool {
	return sql.Text(n, "class") == "COLUMN_REF" && sql.OnlyKeys(n, "column_names", "alias")
}

// modify records an ORDER BY or LIMIT, and reports whether it is of a known kind.
func (d *Shape) modify(m sql.Node) bool {
	switch sql.Text(m, "type") {
	case "ORDER_MODIFIER":
		list, _ := m["orders"].([]any)
		if len(list) != 1 || !sql.OnlyKeys(m, "orders") {
			return false
		}
		o, _ := list[0].(sql.Node)
		by, _ := o["expression"].(sql.Node)
		path, _ := by["column_names"].([]any)
		if !isColumn(by) || len(path) != 1 {
			return false
		}
		d.order, _ = path[0].(string)
		kind := sql.Text(o, "type")
		d.desc = kind == "DESCENDING"
		return d.desc || kind == "ASCENDING" || kind == "ORDER_DEFAULT" || kind == ""
	case "LIMIT_MODIFIER":
		limit, ok := sql.RowCount(m["limit"])
		offset, fine := sql.RowCount(m["offset"])
		d.limit, d.offset, d.limited = limit, offset, m["limit"] != nil
		return ok && fine && sql.OnlyKeys(m, "limit", "offset")
	}
	return false
}

// outColumn is a column of the answer.
type outColumn struct {
	*schema.Column
	name string
}

// Run answers one statement without DuckDB.
type Run struct {
	ctx context.Context
	*Shape
	Plan *plan.Plan
	out  []outColumn
	// tests are the conditions that every row has to meet. filter lists the columns that the
	// conditions read.
	tests  rowTest
	filter []int
	index  *schema.Column
	// examined counts the rows on which conditions were tested. This counter and the next ones are
	// for EXPLAIN.
	examined int64
	found    int
	// request is the limit of the request, or 0 if it has none.
	request uint64
}

// New returns a Run for the statement. It returns nil if the statement is of another kind, or if it
// is not certain how DuckDB interprets one of its parts.
func New(ctx context.Context, shape *Shape, planned *plan.Planned, limit uint64, now time.Time) *Run {
	if shape == nil || len(planned.Plans) != 1 {
		return nil
	}
	p := planned.Plans[shape.ref]
	v := p.View
	if v.Merges() || plan.ShadowedNames(planned.Views) != nil {
		return nil
	}
	d := &Run{ctx: ctx, Shape: shape, Plan: p, request: limit, index: v.Schema.TimeIndex()}
	alias := p.Ref.CalledAs()
	for i, c := range v.Columns {
		// It must be certain which column a name refers to.
		if _, fills := plan.Fill(&c); fills || v.Names[i] != c.Name || strings.EqualFold(c.Name, alias) {
			return nil
		}
	}
	if d.index == nil || d.order != "" && d.order != d.index.Name || !d.columns(alias) {
		return nil
	}
	c := &tester{Scope: plan.Scope{Schema: v.Schema, Names: v.Names, Alias: alias, Alone: true}}
	c.Constants = p.Constants(now)
	var ok bool
	if d.where != nil {
		if d.tests, ok = c.test(d.where, false); !ok {
			return nil
		}
	}
	if v.ExpiredBefore != nil {
		d.tests = both(d.tests, c.notExpired(d.index, *v.ExpiredBefore))
	}
	d.tests = both(d.tests, notDeleted)
	d.filter = c.columns
	return d
}

// columns determines the columns of the answer.
func (d *Run) columns(alias string) bool {
	v := d.Plan.View
	pl := &plan.Scope{Schema: v.Schema, Names: v.Names, Alias: alias, Alone: true}
	taken := make(map[string]bool)
	add := func(c *schema.Column, name string) bool {
		key := sql.LowerASCII(name)
		if taken[key] {
			return false
		}
		taken[key] = true
		d.out = append(d.out, outColumn{c, name})
		return true
	}
	for _, i := range d.list {
		if i.column == nil {
			for k := range v.Columns {
				if !add(&v.Columns[k], v.Names[k]) {
					return false
				}
			}
			continue
		}
		path, _ := i.column["column_names"].([]any)
		c := pl.Column(i.column)
		if c == nil || path[len(path)-1] != c.Name {
			return false
		}
		name := c.Name
		if i.alias != "" && i.alias != name {
			// If an alias is also the name of a column, it is unclear which of the two ORDER BY
			// means.
			name = i.alias
			if pl.Named(name) != nil || strings.EqualFold(name, d.order) {
				return false
			}
		}
		if !add(c, name) {
			return false
		}
	}
	return len(d.out) > 0
}
