package plan

import (
	"cmp"
	"math"
	"os"
	"slices"
	"strings"

	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/sql"
	"cordwood/shard/segment"
)

// This file answers "the newest N rows" without reading all of them. A statement of
// that kind is run over the rows from some moment on; if it yields N rows, they are the
// ones, since all others are older. If not, it is run again from an earlier moment.

const (
	// maxNewest is the most rows for which the newest are looked for first.
	maxNewest = 10_000
	// firstFactor is how many times as many rows the first attempt reads, growth by how
	// much each is larger than the one before; the last reads everything.
	firstFactor = 16
	growth      = 16
	maxAttempts = 3
	// MinAttempt is the least that the first attempt reads: less is no faster.
	MinAttempt = 20_000
	// MaxKept is how many bytes of an answer are kept before it is known to be one.
	MaxKept = 16 << 20
)

// findNewest returns what a query for the newest rows asks for, or nil if it is another query.
func findNewest(st *sql.Statement, n sql.Node) *newest {
	if sql.Text(n, "type") != "SELECT_NODE" {
		return nil
	}
	for _, key := range []string{"group_expressions", "group_sets", "having", "qualify", "sample"} {
		if n[key] != nil {
			return nil
		}
	}
	if sql.Text(n, "aggregate_handling") != "STANDARD_HANDLING" {
		return nil // GROUP BY ALL
	}
	from, _ := n["from_table"].(sql.Node)
	ref, ok := st.Reference(from)
	if !ok || from["sample"] != nil || from["column_name_alias"] != nil {
		return nil
	}
	out := &newest{Ref: ref}
	modifiers, _ := n["modifiers"].([]any)
	for _, m := range modifiers {
		if m, _ := m.(sql.Node); !out.modified(m) {
			return nil
		}
	}
	if out.order == "" || out.rows > maxNewest || out.hidden(n["select_list"]) {
		return nil
	}
	if sql.HasClass(n["select_list"], "WINDOW") || sql.HasClass(modifiers, "WINDOW") {
		return nil // rows that depend on others
	}
	return out
}

// modified takes in the ORDER BY or LIMIT of the query. It returns false for other modifiers, and if the
// order is not from the newest on.
func (q *newest) modified(m sql.Node) bool {
	switch sql.Text(m, "type") {
	case "ORDER_MODIFIER":
		list, _ := m["orders"].([]any)
		if len(list) == 0 {
			return false
		}
		first, _ := list[0].(sql.Node)
		by, _ := first["expression"].(sql.Node)
		path, _ := by["column_names"].([]any)
		if sql.Text(first, "type") != "DESCENDING" || sql.Text(by, "class") != "COLUMN_REF" || len(path) != 1 {
			return false
		}
		q.order, _ = path[0].(string)
		return true
	case "LIMIT_MODIFIER":
		limit, ok := sql.RowCount(m["limit"])
		offset, fine := sql.RowCount(m["offset"])
		q.Limit, q.rows = limit, limit+offset
		return ok && fine
	}
	return false
}

// hidden reports whether a name in the list of the SELECT may hide the column that orders the rows.
func (q *newest) hidden(list any) bool {
	items, _ := list.([]any)
	for _, item := range items {
		item, _ := item.(sql.Node)
		if alias := sql.Text(item, "alias"); strings.EqualFold(alias, q.order) || strings.Contains(alias, `\`) {
			return true // a backslash stands for a part of the name that COLUMNS finds
		}
		plainStar := sql.Text(item, "class") == "STAR" && sql.OnlyKeys(item, "relation_name", "exclude_list")
		if !plainStar && sql.HasClass(item, "STAR") {
			return true
		}
	}
	return false
}

// unit is some rows of which the bounds of the time index are known.
type unit struct {
	min, max int64
	rows     int64
	// segment is the file whose row group it is, or nil.
	segment *query.Segment
	group   int
}

// Attempts returns the moments from which on to try, the latest first, in the unit of
// the time index. There are none if the statement is of another kind or reads little.
// limit is that of the request.
func (p *Plan) Attempts(limit uint64) []int64 {
	n := p.shape.Newest
	rows := n.rows
	if n.Limit == 0 {
		rows += limit
	}
	if rows == 0 || rows > maxNewest {
		return nil
	}
	index := p.View.Schema.TimeIndex()
	if c := p.named(n.order); index == nil || c == nil || c.ID != index.ID {
		return nil
	}
	kept := p.Pruned
	units, total := p.units(index)
	p.Pruned = kept
	var out []int64
	want := max(firstFactor*int64(rows), p.MinAttempt)
	if len(p.Ref.Conds) == 0 && p.View.ExpiredBefore == nil && !p.View.Merges() {
		want = int64(rows)
	}
	for range maxAttempts {
		if want > total/2 {
			break
		}
		at := since(units, want)
		if want <= maxLentRows && !p.Off["pages"] {
			at = since(p.pageUnits(units, at), want)
		}
		if len(out) == 0 || at < out[len(out)-1] {
			out = append(out, at)
		}
		want *= growth
	}
	return out
}

// named returns the table's column of that name, if it is the only one.
func (p *Plan) named(name string) *schema.Column {
	return (&Scope{Schema: p.View.Schema, Names: p.View.Names}).Named(name)
}

// units returns what the reference reads in pieces of known bounds, the latest first.
// Of files with many rows the pieces are row groups.
func (p *Plan) units(index *schema.Column) (units []unit, total int64) {
	factor := FileFactor(index.Type)
	for _, part := range p.Parts() {
		if part.Batch != nil {
			units = append(units, unit{min: part.min, max: part.Max, rows: int64(part.Batch.Rows)})
			total += int64(part.Batch.Rows)
			continue
		}
		total += part.Segment.Rows
		whole := unit{min: part.min, max: part.Max, rows: part.Segment.Rows}
		field, _ := FieldOf(part.Segment, index.ID)
		filters := p.Filters.Get(part.Segment)
		if filters == nil || part.Segment.Shared || len(filters.Groups) == 0 {
			units = append(units, whole)
			continue
		}
		for g := range filters.Groups {
			lo, hi, ok := filters.Bounds(field, g)
			if !ok {
				lo, hi = part.min*factor, part.Max*factor
			}
			units = append(units, unit{
				max(lo/factor, part.min), min(hi/factor, part.Max), filters.Groups[g].Rows,
				part.Segment, g,
			})
		}
	}
	slices.SortFunc(units, func(a, b unit) int { return cmp.Compare(b.min, a.min) })
	return units, total
}

// since returns the latest moment from which on there are at least so many rows.
func since(units []unit, rows int64) int64 {
	for _, u := range units {
		if rows -= u.rows; rows <= 0 {
			return u.min
		}
	}
	return math.MinInt64
}

// pageUnits returns the units that reach up to a moment or later, row groups in pieces of
// a page each where those are known, the latest first.
func (p *Plan) pageUnits(units []unit, from int64) (out []unit) {
	index := p.View.Schema.TimeIndex()
	factor := FileFactor(index.Type)
	for _, u := range units {
		if u.max < from {
			continue
		}
		pages := p.pagesOf(u, index)
		if pages == nil {
			out = append(out, u)
		}
		for _, page := range pages {
			out = append(out, unit{min: max(page.Min/factor, u.min), max: min(page.Max/factor, u.max), rows: int64(page.Rows)})
		}
	}
	slices.SortFunc(out, func(a, b unit) int { return cmp.Compare(b.min, a.min) })
	return out
}

// pagesOf returns the pages of a row group, or nil if they are unknown.
func (p *Plan) pagesOf(u unit, index *schema.Column) []segment.PageBounds {
	if u.segment == nil {
		return nil
	}
	f := p.Filters.Get(u.segment)
	if f == nil {
		return nil
	}
	file, err := os.Open(u.segment.Path)
	if err != nil {
		return nil
	}
	defer file.Close()
	field, _ := FieldOf(u.segment, index.ID)
	pages, err := f.PageBounds(file, field, u.group)
	if err != nil {
		return nil
	}
	return pages
}
