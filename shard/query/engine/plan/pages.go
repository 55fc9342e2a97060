package plan

import (
	"context"
	"fmt"
	"slices"

	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/sql"
	"cordwood/shard/segment"
)

// This file reads single rows. If only a few rows of a segment can matter, it reads them by means
// of the page index, and DuckDB scans them like rows in memory. DuckDB itself would decode whole
// row groups. The rows read include every row that matters; DuckDB still applies all conditions.

const (
	// maxReadRows is the maximum number of rows that one reference reads in this way. For more rows
	// DuckDB is faster.
	maxReadRows = 8192
	// maxFoundRows is the same limit for rows that were looked up one by one.
	maxFoundRows = 4096
	// maxFindGroups is the maximum number of row groups of a segment in which values are looked up.
	maxFindGroups = 8
	// MaxKeyValues is the maximum number of values that are looked up.
	MaxKeyValues = 64
)

// key lists the values of a column: every row that matters has one of them.
type key struct {
	column uint32
	values []*literal
}

// in returns the values as the bytes that bloom filters hash, for a file where the column has type
// t. It returns none if the column cannot have any of the values. ok is false if that is not known.
func (k *key) in(t schema.Type) (values [][]byte, ok bool) {
	for _, value := range k.values {
		list, ok := value.in(t)
		if !ok {
			return nil, false
		}
		values = append(values, list...)
	}
	return values, true
}

// keys returns the columns for which a condition allows only single values.
func (p *Scope) keys(v any) []key {
	n, _ := v.(sql.Node)
	kind := sql.Text(n, "type")
	switch sql.Text(n, "class") {
	case "CONJUNCTION":
		var out []key
		if kind == "CONJUNCTION_AND" {
			for _, child := range sql.Args(n) {
				out = append(out, p.keys(child)...)
			}
		}
		return out
	case "OPERATOR":
		list := sql.Args(n)
		if kind != "COMPARE_IN" || len(list) < 2 || len(list) > MaxKeyValues+1 {
			return nil
		}
		var out key
		for _, value := range list[1:] {
			c, l := p.literal(list[0], value)
			if c == nil {
				return nil
			}
			out.column, out.values = c.ID, append(out.values, l)
		}
		return []key{out}
	case "COMPARISON":
		if kind != "COMPARE_EQUAL" {
			return nil
		}
		c, l := p.literal(n["left"], n["right"])
		if c == nil {
			c, l = p.literal(n["right"], n["left"])
		}
		if c != nil {
			return []key{{c.ID, []*literal{l}}}
		}
	}
	return nil
}

// reduceToPages replaces parts in which only a few rows can matter by batches of these rows.
func reduceToPages(ctx context.Context, p *Plan, s *Source) error {
	if p.may == nil && !p.trying() {
		return nil // every row of every part matters
	}
	budget := maxReadRows
	var left []Part
	for i := range s.Plain {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if rows, ok := p.readRows(&s.Plain[i], s.need, &budget); ok {
			left = append(left, rows...)
		} else {
			left = append(left, s.Plain[i])
		}
	}
	s.Plain = left
	return nil
}

func explainPages(_ *Plan, s *Source) string {
	rows := 0
	for pt := range s.Parts() {
		if pt.file != nil {
			rows += pt.Batch.Rows
		}
	}
	if rows == 0 {
		return ""
	}
	return fmt.Sprintf("; %d rows read by the page index", rows)
}

// readRows reads the rows of a segment that matter into batches. ok is false if DuckDB has to read the
// file. budget is how many more rows may be read.
func (p *Plan) readRows(pt *Part, need []int, budget *int) (out []Part, ok bool) {
	if pt.Segment == nil || pt.far || pt.Segment.Damaged != "" || pt.Segment.Shared || p.timesOnly && len(need) == 1 ||
		p.may == nil && !p.trying() {
		return nil, false
	}
	columns, ok := p.PageColumns(pt.Segment, need)
	if !ok {
		return nil, false
	}
	f := p.FiltersOf(pt.Segment)
	if f == nil {
		return nil, false
	}
	l := &RowFinder{Plan: p, Segment: pt.Segment, Left: pt.Left, Filters: f, TimeType: p.View.timeType()}
	defer l.close()
	chosen, rows, ok := l.Find(columns)
	if !ok {
		chosen, rows, ok = l.pages(columns, *budget)
	}
	if !ok || rows > *budget {
		return nil, false
	}
	if pt.Segment.Cold > 0 {
		p.Prefetch(columnsOf(pt.Segment, chosen, columns))
	}
	for _, c := range chosen {
		b, err := f.Rows(l.File, c.Group, columns, c.Runs)
		if err != nil {
			// The row group is too large or damaged. DuckDB reads the file and reports the error.
			return nil, false
		}
		part := *pt
		part.Segment, part.Batch, part.file, part.Groups = nil, b, pt.Segment, nil
		out = append(out, part)
	}
	*budget -= rows
	return out, true
}

// PageColumns returns the columns to be read, with the types that the segment has.
func (p *Plan) PageColumns(s *query.Segment, need []int) ([]segment.Column, bool) {
	var out []segment.Column
	add := func(c *schema.Column) bool {
		for i := range s.Columns {
			if has := &s.Columns[i]; has.ID == c.ID {
				out = append(out, segment.Column{
					ID: c.ID, FieldID: fieldID(*has), Name: has.Name, Type: has.Type,
					Semantic: c.Semantic,
				})
				return has.Type.Widens(c.Type) != schema.WidensNever
			}
		}
		return true
	}
	for _, at := range need {
		if !add(&p.View.Columns[at]) {
			return nil, false
		}
	}
	deleted := schema.DeletedColumn()
	return out, add(&deleted)
}

// RowFinder chooses the rows of one segment.
type RowFinder struct {
	*Plan
	Segment *query.Segment
	// Left are the row groups that filters did not exclude; nil means all.
	Left     []int
	Filters  *segment.Filters
	TimeType schema.Type
	File     *File
}

// groupRuns are rows of a row group.
type groupRuns struct {
	Group int
	Runs  []segment.Run
}

// Open opens the file if it is not open yet, and reports whether that succeeded.
func (l *RowFinder) Open() bool {
	if l.File == nil {
		var err error
		if l.File, err = l.Plan.Open(l.Segment, l.Filters); err != nil {
			l.File = nil
			return false
		}
	}
	return true
}

func (l *RowFinder) close() {
	if l.File != nil {
		l.File.Close()
	}
}

// EachGroup calls f with each row group that filters did not exclude, until f returns false.
func (l *RowFinder) EachGroup(f func(group int) bool) bool {
	if l.Left != nil {
		for _, g := range l.Left {
			if !f(g) {
				return false
			}
		}
		return true
	}
	for g := range l.Filters.Groups {
		if !f(g) {
			return false
		}
	}
	return true
}

// columnsOf returns what is read of a segment.
func columnsOf(s *query.Segment, chosen []groupRuns, columns []segment.Column) Columns {
	c := Columns{Segment: s, Groups: make([]int, 0, len(chosen)), Fields: fieldIDs(columns)}
	for _, g := range chosen {
		c.Groups = append(c.Groups, g.Group)
	}
	return c
}

func fieldIDs(columns []segment.Column) []uint32 {
	out := make([]uint32, len(columns))
	for i := range columns {
		out[i] = columns[i].FieldID
	}
	return out
}

// Find looks up the rows that have a value that the conditions request. It uses a column with bloom
// filters.
func (l *RowFinder) Find(columns []segment.Column) (chosen []groupRuns, rows int, ok bool) {
	if l.Left == nil || len(l.Left) > maxFindGroups {
		return nil, 0, false
	}
	for _, k := range l.keys {
		at := slices.IndexFunc(columns, func(c segment.Column) bool { return c.ID == k.column })
		if at < 0 {
			continue
		}
		c := columns[at]
		values, ok := k.in(c.Type)
		if ok && len(values) == 0 {
			return nil, 0, true
		}
		if !ok || !l.EachGroup(func(g int) bool { return l.Filters.HasBloom(c.FieldID, g) }) || !l.Open() {
			continue
		}
		l.Prefetch(Columns{Segment: l.Segment, Groups: l.Left, Fields: []uint32{c.FieldID}})
		chosen, rows = nil, 0
		if l.EachGroup(func(g int) bool {
			runs, more, err := l.Filters.Find(l.File, g, c, values, maxFoundRows-rows)
			if err != nil || more {
				return false
			}
			if len(runs) > 0 {
				chosen, rows = append(chosen, groupRuns{g, runs}), rows+len(runs)
			}
			return true
		}) {
			return chosen, rows, true
		}
	}
	return nil, 0, false
}

// pages selects the pages whose times can matter. ok is false if they have more rows than budget.
func (l *RowFinder) pages(columns []segment.Column, budget int) (chosen []groupRuns, rows int, ok bool) {
	if !l.trying() && !l.used.time {
		return nil, 0, false
	}
	at := slices.IndexFunc(columns, func(c segment.Column) bool { return c.Semantic == schema.Timestamp })
	if at < 0 {
		return nil, 0, false
	}
	field := columns[at].FieldID
	ok = l.EachGroup(func(g int) bool {
		lo, hi, bounded := l.Filters.Bounds(field, g)
		if bounded && !l.Matters(lo, hi) {
			return true
		}
		if !l.Open() {
			return false
		}
		pages, err := l.Filters.PageBounds(l.File, field, g)
		if err != nil {
			return false
		}
		var runs []segment.Run
		for _, p := range pages {
			if !l.Matters(p.Min, p.Max) {
				continue
			}
			rows += p.Rows
			if n := len(runs); n > 0 && runs[n-1].First+runs[n-1].Rows == p.First {
				runs[n-1].Rows += p.Rows
			} else {
				runs = append(runs, p.Run)
			}
		}
		if runs != nil {
			chosen = append(chosen, groupRuns{g, runs})
		}
		return rows <= budget
	})
	return chosen, rows, ok
}

// Matters reports whether rows with these bounds of the time index, in the file's unit, can matter.
func (l *RowFinder) Matters(lo, hi int64) bool {
	factor := FileFactor(l.TimeType)
	lo, hi = lo/factor, hi/factor
	if l.outside(lo, hi) {
		return false
	}
	return l.may == nil || l.may(&probe{times: Span{Nanoseconds(lo, l.TimeType), Nanoseconds(hi, l.TimeType)}})
}

// FileFactor returns the factor from the time index's unit to the file's unit. It is not 1 for a
// time index in seconds, because files have milliseconds.
func FileFactor(t schema.Type) int64 {
	if t == schema.TimestampSecond {
		return 1000
	}
	return 1
}
