package plan

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/sql"
	"cordwood/shard/segment"
)

// This file answers "the newest N rows", also with an upper bound of the time, without reading all
// rows. It runs the statement over the rows from some moment on. If that yields N rows, they are
// the answer, since all others are older. If not, it runs the statement again from an earlier
// moment. The oldest rows are found in the same way, up to some moment.

const (
	// maxNewest is the largest N for which the newest rows are searched for first.
	maxNewest = 10_000
	// firstFactor times N is how many rows the first attempt reads. Each further attempt reads
	// growth times as many. The last reads everything.
	firstFactor = 16
	growth      = 16
	maxAttempts = 3
	// MinAttempt is the minimum number of rows of the first attempt. Fewer rows are not faster to
	// read.
	MinAttempt = 20_000
	// MaxKept is the maximum size of an answer, in bytes, that is held back until it is known that
	// the attempt found enough rows.
	MaxKept = 16 << 20
)

// findNewest returns what a query for the newest or the oldest rows requests, or nil for another
// query.
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
		return nil // a row's values depend on other rows
	}
	return out
}

// modified reads the ORDER BY or LIMIT of the query. It returns false for other modifiers, and if
// the order is not by a column.
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
		if sql.Text(by, "class") != "COLUMN_REF" || len(path) != 1 {
			return false
		}
		q.order, _ = path[0].(string)
		switch sql.Text(first, "type") {
		case "DESCENDING":
			return true
		case "ASCENDING", "ORDER_DEFAULT", "":
			q.Oldest = true
			return true
		}
	case "LIMIT_MODIFIER":
		limit, ok := sql.RowCount(m["limit"])
		offset, fine := sql.RowCount(m["offset"])
		q.Limit, q.rows = limit, limit+offset
		return ok && fine
	}
	return false
}

// hidden reports whether a name in the SELECT list may hide the column that orders the rows.
func (q *newest) hidden(list any) bool {
	items, _ := list.([]any)
	for _, item := range items {
		item, _ := item.(sql.Node)
		if alias := sql.Text(item, "alias"); strings.EqualFold(alias, q.order) || strings.Contains(alias, `\`) {
			return true // a backslash refers to a part of the name that COLUMNS matched
		}
		plainStar := sql.Text(item, "class") == "STAR" && sql.OnlyKeys(item, "relation_name", "exclude_list")
		if !plainStar && sql.HasClass(item, "STAR") {
			return true
		}
	}
	return false
}

// unit is a set of rows for which the bounds of the time index are known.
type unit struct {
	min, max int64
	rows     int64
	// segment is the file that contains the row group, or nil.
	segment *query.Segment
	group   int
}

// Attempts returns the moments to try, in the unit of the time index. For the newest rows they are
// lower bounds, the latest first; for the oldest rows they are upper bounds. It returns none if the
// statement is of another kind or reads few rows. limit is the LIMIT of the request.
func (p *Plan) Attempts(limit uint64) []int64 {
	n := p.shape.Newest
	rows := n.rows
	if n.Limit == 0 {
		rows += limit
	}
	if n.Limit == 0 && limit == 0 || rows > maxNewest {
		return nil // OFFSET alone asks for all further rows
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
	if p.onlyTimes && p.View.ExpiredBefore == nil && !p.View.Merges() {
		want = int64(rows)
	}
	for range maxAttempts {
		if want > total/2 {
			break
		}
		at := n.reach(units, want)
		if want <= maxReadRows && !p.Off["pages"] {
			at = n.reach(p.pageUnits(units, at), want)
		}
		if p.View.since(at) == "" {
			break // it cannot be written in a condition
		}
		if len(out) == 0 || n.sooner(out[len(out)-1], at) {
			out = append(out, at)
		}
		want *= growth
	}
	return out
}

// Try makes the plan read only the rows from a moment on, or up to it if the oldest rows are
// requested.
func (p *Plan) Try(at int64) {
	if p.From, p.Until = &at, nil; p.shape.Newest.Oldest {
		p.From, p.Until = nil, &at
	}
}

// EndTrying makes the plan read all rows again.
func (p *Plan) EndTrying() { p.From, p.Until = nil, nil }

// outside reports whether the current attempt does not read rows with times in this range. The
// range is in the unit of the time index.
func (p *Plan) outside(lo, hi int64) bool {
	return p.From != nil && hi < *p.From || p.Until != nil && lo > *p.Until
}

// trying reports whether an attempt restricts the rows that are read.
func (p *Plan) trying() bool { return p.From != nil || p.Until != nil }

// borders returns the bounds that the condition sets for the time. ok is false if the condition
// tests anything else.
func (p *Scope) borders(v any) (list []indistinct, all bool) {
	n, _ := v.(sql.Node)
	switch sql.Text(n, "class") {
	case "COMPARISON", "BETWEEN":
		list = p.readersOf(n)
		return list, list != nil
	case "CONJUNCTION", "OPERATOR":
		all = sql.Text(n, "type") == "CONJUNCTION_AND"
		for _, child := range sql.Args(n) {
			more, known := p.borders(child)
			list, all = append(list, more...), all && known
		}
	}
	return list, all
}

// named returns the table's column of that name, if it is the only one.
func (p *Plan) named(name string) *schema.Column {
	return (&Scope{Schema: p.View.Schema, Names: p.View.Names}).Named(name)
}

// units returns the pieces of the reference with known bounds of their times, in the order in which
// they have to be read. The pieces of files with many rows are row groups. Pieces that conditions
// on the time exclude are left out.
func (p *Plan) units(index *schema.Column) (units []unit, total int64) {
	factor := FileFactor(index.Type)
	add := func(u unit) {
		if !p.meets(u.min, u.max) {
			return
		}
		total += u.rows
		units = append(units, p.sure(u))
	}
	for _, part := range p.Parts() {
		if part.Batch != nil {
			add(unit{min: part.Min, max: part.Max, rows: int64(part.Batch.Rows)})
			continue
		}
		whole := unit{min: part.Min, max: part.Max, rows: part.Segment.Rows}
		field, _ := FieldOf(part.Segment, index.ID)
		if part.Segment.Cold > 0 {
			add(whole) // its row groups are looked at when it is read
			continue
		}
		filters := p.Filters.Get(part.Segment)
		if filters == nil || part.Segment.Shared || len(filters.Groups) == 0 {
			add(whole)
			continue
		}
		for g := range filters.Groups {
			lo, hi, ok := filters.Bounds(field, g)
			if !ok {
				lo, hi = part.Min*factor, part.Max*factor
			}
			add(unit{
				max(lo/factor, part.Min), min(hi/factor, part.Max), filters.Groups[g].Rows,
				part.Segment, g,
			})
		}
	}
	p.shape.Newest.sort(units)
	return units, total
}

// sure returns the unit. If the unit is across a border of the conditions, its row count is set to 0, since its
// rows may be on either side.
func (p *Plan) sure(u unit) unit {
	timeType := p.View.timeType()
	times := Span{Nanoseconds(u.min, timeType), Nanoseconds(u.max, timeType)}
	if slices.ContainsFunc(p.borders, func(r indistinct) bool { return !r(times) }) {
		u.rows = 0
	}
	return u
}

// sort sorts the units by the order in which they have to be read.
func (q *newest) sort(units []unit) {
	slices.SortFunc(units, func(a, b unit) int {
		if q.Oldest {
			return cmp.Compare(a.max, b.max)
		}
		return cmp.Compare(b.min, a.min)
	})
}

// sooner reports whether an attempt with the border at reads fewer rows than an attempt with the border than.
func (q *newest) sooner(at, than int64) bool {
	if q.Oldest {
		return at < than
	}
	return at > than
}

// reach returns the border of the smallest attempt that reads at least the given number of rows.
func (q *newest) reach(units []unit, rows int64) int64 {
	for _, u := range units {
		if rows -= u.rows; rows > 0 {
			continue
		}
		if q.Oldest {
			return u.max
		}
		return u.min
	}
	if q.Oldest {
		return math.MaxInt64
	}
	return math.MinInt64
}

// pageUnits returns the units that are before a moment, or across it, in reading order. Row groups
// are divided into pages where these are known.
func (p *Plan) pageUnits(units []unit, at int64) (out []unit) {
	oldest := p.shape.Newest.Oldest
	index := p.View.Schema.TimeIndex()
	factor := FileFactor(index.Type)
	for _, u := range units {
		if !oldest && u.max < at || oldest && u.min > at {
			continue
		}
		pages := p.pagesOf(u, index)
		if pages == nil {
			out = append(out, u)
		}
		for _, page := range pages {
			piece := unit{min: max(page.Min/factor, u.min), max: min(page.Max/factor, u.max), rows: int64(page.Rows)}
			if p.meets(piece.min, piece.max) {
				out = append(out, p.sure(piece))
			}
		}
	}
	p.shape.Newest.sort(out)
	return out
}

// pagesOf returns the pages of a row group, or nil if they are unknown.
func (p *Plan) pagesOf(u unit, index *schema.Column) []segment.PageBounds {
	if u.segment == nil {
		return nil
	}
	f := p.FiltersOf(u.segment)
	if f == nil {
		return nil
	}
	file, err := p.Open(u.segment, f)
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
