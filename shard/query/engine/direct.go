package engine

import (
	"context"
	"strings"
	"time"

	"cordwood/proto/schema"
)

// This file tells which statements are answered without the engine: those for whole rows
// of one table, as "the row of this id" and "the newest rows with an error", of which
// planning, binding and starting the engine would be most of the work. What the engine
// would do is known exactly for these, or the engine does it.

// direct is what such a statement asks for.
type direct struct {
	ref    int // in statement.tables
	list   []item
	where  node
	order  string // the column by which it orders, or empty
	desc   bool
	limit  uint64 // if limited
	offset uint64

	limited bool
}

// item is an element of the list of a SELECT: a star, or a column.
type item struct {
	column node // nil: a star
	alias  string
}

// findDirect tells whether a query is one that may be answered without the engine.
func findDirect(st *statement, n node) *direct {
	if text(n, "type") != "SELECT_NODE" || !onlyKeys(n, "aggregate_handling", "from_table", "modifiers", "select_list", "where_clause") ||
		text(n, "aggregate_handling") != "STANDARD_HANDLING" {
		return nil
	}
	from, _ := n["from_table"].(node)
	ref, ok := st.reference(from)
	if !ok || !onlyKeys(from, "alias", "table_name", "schema_name", "catalog_name") {
		return nil
	}
	d := &direct{ref: ref}
	d.where, _ = n["where_clause"].(node)
	list, _ := n["select_list"].([]any)
	for _, v := range list {
		i, _ := v.(node)
		switch {
		case text(i, "class") == "STAR" && onlyKeys(i):
			d.list = append(d.list, item{})
		case isColumn(i):
			d.list = append(d.list, item{column: i, alias: text(i, "alias")})
		default:
			return nil
		}
	}
	modifiers, _ := n["modifiers"].([]any)
	for _, m := range modifiers {
		m, _ := m.(node)
		if !d.modify(m) {
			return nil
		}
	}
	return d
}

func isColumn(n node) bool {
	return text(n, "class") == "COLUMN_REF" && onlyKeys(n, "column_names", "alias")
}

// modify takes note of an ORDER BY or LIMIT, and tells whether it is of a known kind.
func (d *direct) modify(m node) bool {
	switch text(m, "type") {
	case "ORDER_MODIFIER":
		list, _ := m["orders"].([]any)
		if len(list) != 1 || !onlyKeys(m, "orders") {
			return false
		}
		o, _ := list[0].(node)
		by, _ := o["expression"].(node)
		path, _ := by["column_names"].([]any)
		if !isColumn(by) || len(path) != 1 {
			return false
		}
		d.order, _ = path[0].(string)
		kind := text(o, "type")
		d.desc = kind == "DESCENDING"
		return d.desc || kind == "ASCENDING" || kind == "ORDER_DEFAULT" || kind == ""
	case "LIMIT_MODIFIER":
		limit, ok := rowCount(m["limit"])
		offset, fine := rowCount(m["offset"])
		d.limit, d.offset, d.limited = limit, offset, m["limit"] != nil
		return ok && fine && onlyKeys(m, "limit", "offset")
	}
	return false
}

// column is a column of the answer.
type outColumn struct {
	*schema.Column
	name string
}

// directRun is a statement about to be answered without the engine.
type directRun struct {
	ctx context.Context
	*direct
	plan *plan
	out  []outColumn
	// tests is what every row meets; filter are the columns that it reads.
	tests  rowTest
	filter []int
	index  *schema.Column
	// examined counts the rows that were looked at; for EXPLAIN, as are the others.
	examined int64
	found    int
	// request is the limit of the request, or 0.
	request uint64
}

// newDirect returns what answers the statement without the engine, or nil if it is none
// of that kind or says anything of which it is not known what the engine makes of it.
func newDirect(ctx context.Context, shape *direct, planned *planned, limit uint64, now time.Time) *directRun {
	if shape == nil || len(planned.plans) != 1 {
		return nil
	}
	p := planned.plans[shape.ref]
	v := p.view
	if v.Merges() || shadowedNames(planned.views) != nil {
		return nil
	}
	d := &directRun{ctx: ctx, direct: shape, plan: p, request: limit, index: v.Schema.TimeIndex()}
	alias := p.ref.calledAs()
	for i, c := range v.columns {
		// What a name means must be beyond doubt.
		if _, fills := fill(&c); fills || v.names[i] != c.Name || strings.EqualFold(c.Name, alias) {
			return nil
		}
	}
	if d.index == nil || d.order != "" && d.order != d.index.Name || !d.columns(alias) {
		return nil
	}
	c := &tester{planner: planner{schema: v.Schema, names: v.names, alias: alias, alone: true}}
	c.constants = p.constants(now)
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

// columns works out the columns of the answer.
func (d *directRun) columns(alias string) bool {
	v := d.plan.view
	pl := &planner{schema: v.Schema, names: v.names, alias: alias, alone: true}
	taken := make(map[string]bool)
	add := func(c *schema.Column, name string) bool {
		key := lowerASCII(name)
		if taken[key] {
			return false
		}
		taken[key] = true
		d.out = append(d.out, outColumn{c, name})
		return true
	}
	for _, i := range d.list {
		if i.column == nil {
			for k := range v.columns {
				if !add(&v.columns[k], v.names[k]) {
					return false
				}
			}
			continue
		}
		path, _ := i.column["column_names"].([]any)
		c := pl.column(i.column)
		if c == nil || path[len(path)-1] != c.Name {
			return false
		}
		name := c.Name
		if i.alias != "" {
			// An alias that is the name of a column could be meant in its place.
			name = i.alias
			if pl.named(name) != nil || strings.EqualFold(name, d.order) {
				return false
			}
		}
		if !add(c, name) {
			return false
		}
	}
	return len(d.out) > 0
}
