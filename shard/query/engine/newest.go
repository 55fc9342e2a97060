package engine

import (
	"cmp"
	"math"
	"os"
	"slices"
	"strings"

	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/segment"
)

// This file answers "the newest N rows" without reading all of them. A statement of
// that kind is run over the rows from some moment on; if it yields N rows, they are the
// ones, since all others are older. If not, it is run again from an earlier moment.

// newest is what a statement must be like: its rows are those of one table, each by
// itself, the latest first, and at most so many.
type newest struct {
	ref   int    // in statement.tables
	order string // the name by which it orders
	rows  uint64 // LIMIT and OFFSET together; 0: no LIMIT
	limit uint64 // LIMIT alone
}

const (
	// maxNewest is the most rows for which the newest are looked for first.
	maxNewest = 10_000
	// firstFactor is how many times as many rows the first attempt reads, growth by how
	// much each is larger than the one before; the last reads everything.
	firstFactor = 16
	growth      = 16
	maxAttempts = 3
	// minAttempt is the least that the first attempt reads: less is no faster.
	minAttempt = 20_000
	// maxKept is how many bytes of an answer are kept before it is known to be one.
	maxKept = 16 << 20
)

// findNewest tells whether a query is one for the newest rows.
func findNewest(st *statement, n node) *newest {
	if text(n, "type") != "SELECT_NODE" {
		return nil
	}
	for _, key := range []string{"group_expressions", "group_sets", "having", "qualify", "sample"} {
		if n[key] != nil {
			return nil
		}
	}
	if text(n, "aggregate_handling") != "STANDARD_HANDLING" {
		return nil // GROUP BY ALL
	}
	from, _ := n["from_table"].(node)
	ref, ok := st.reference(from)
	if !ok || from["sample"] != nil || from["column_name_alias"] != nil {
		return nil
	}
	out := &newest{ref: ref}
	modifiers, _ := n["modifiers"].([]any)
	for _, m := range modifiers {
		m, _ := m.(node)
		switch text(m, "type") {
		case "ORDER_MODIFIER":
			list, _ := m["orders"].([]any)
			if len(list) == 0 {
				return nil
			}
			first, _ := list[0].(node)
			by, _ := first["expression"].(node)
			path, _ := by["column_names"].([]any)
			if text(first, "type") != "DESCENDING" || text(by, "class") != "COLUMN_REF" || len(path) != 1 {
				return nil
			}
			out.order, _ = path[0].(string)
		case "LIMIT_MODIFIER":
			limit, ok := rowCount(m["limit"])
			offset, fine := rowCount(m["offset"])
			if !ok || !fine {
				return nil
			}
			out.limit, out.rows = limit, limit+offset
		default:
			return nil
		}
	}
	if out.order == "" || out.rows > maxNewest {
		return nil
	}
	// Rows that depend on others, and a name of the list that hides the column's.
	list, _ := n["select_list"].([]any)
	for _, item := range list {
		item, _ := item.(node)
		if alias := text(item, "alias"); strings.EqualFold(alias, out.order) || strings.Contains(alias, `\`) {
			return nil // a backslash stands for a part of the name that COLUMNS finds
		}
		if plainStar := text(item, "class") == "STAR" && onlyKeys(item, "relation_name", "exclude_list"); !plainStar && hasClass(item, "STAR") {
			return nil
		}
	}
	if hasClass(n["select_list"], "WINDOW") || hasClass(modifiers, "WINDOW") {
		return nil
	}
	return out
}

// unit is some rows of which the bounds of the time index are known.
type unit struct {
	min, max int64
	rows     int64
	// segment is the file whose row group it is, or nil.
	segment *query.Segment
	group   int
}

// attempts returns the moments from which on to try, the latest first, in the unit of
// the time index. There are none if the statement is of another kind or reads little.
// limit is that of the request.
func (p *plan) attempts(limit uint64) []int64 {
	n := p.shape.newest
	rows := n.rows
	if n.limit == 0 {
		rows += limit
	}
	if rows == 0 || rows > maxNewest {
		return nil
	}
	index := p.view.Schema.TimeIndex()
	if c := p.named(n.order); index == nil || c == nil || c.ID != index.ID {
		return nil
	}
	kept := p.pruned
	units, total := p.units(index)
	p.pruned = kept
	var out []int64
	want := max(firstFactor*int64(rows), p.minAttempt)
	if len(p.ref.conds) == 0 && p.view.ExpiredBefore == nil && !p.view.Merges() {
		want = int64(rows)
	}
	for range maxAttempts {
		if want > total/2 {
			break
		}
		at := since(units, want)
		if want <= maxLentRows && !p.off["pages"] {
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
func (p *plan) named(name string) *schema.Column {
	return (&planner{schema: p.view.Schema, names: p.view.names}).named(name)
}

// units returns what the reference reads in pieces of known bounds, the latest first.
// Of files with many rows the pieces are row groups.
func (p *plan) units(index *schema.Column) (units []unit, total int64) {
	factor := fileFactor(index.Type)
	for _, part := range p.parts() {
		if part.batch != nil {
			units = append(units, unit{min: part.min, max: part.max, rows: int64(part.batch.Rows)})
			total += int64(part.batch.Rows)
			continue
		}
		total += part.segment.Rows
		whole := unit{min: part.min, max: part.max, rows: part.segment.Rows}
		field, _ := fieldOf(part.segment, index.ID)
		filters := p.filters.get(part.segment)
		if filters == nil || part.segment.Shared || len(filters.Groups) == 0 {
			units = append(units, whole)
			continue
		}
		for g := range filters.Groups {
			lo, hi, ok := filters.Bounds(field, g)
			if !ok {
				lo, hi = part.min*factor, part.max*factor
			}
			units = append(units, unit{max(lo/factor, part.min), min(hi/factor, part.max), filters.Groups[g].Rows, part.segment, g})
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
func (p *plan) pageUnits(units []unit, from int64) (out []unit) {
	index := p.view.Schema.TimeIndex()
	factor := fileFactor(index.Type)
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
func (p *plan) pagesOf(u unit, index *schema.Column) []segment.PageBounds {
	if u.segment == nil {
		return nil
	}
	f := p.filters.get(u.segment)
	if f == nil {
		return nil
	}
	file, err := os.Open(u.segment.Path)
	if err != nil {
		return nil
	}
	defer file.Close()
	field, _ := fieldOf(u.segment, index.ID)
	pages, err := f.PageBounds(file, field, u.group)
	if err != nil {
		return nil
	}
	return pages
}
