package engine

import (
	"context"
	"fmt"
	"os"
	"slices"

	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/segment"
)

// This file reads single rows. Where little of a segment can matter, the rows are read
// here by the index of its pages, and lent to the engine as those in memory are, which
// would else decode whole row groups. What is lent holds every row that matters: the
// engine applies all conditions itself.

const (
	// maxLentRows is the most rows of pages that one reference reads of segments in this
	// way; of more the engine is the faster reader.
	maxLentRows = 8192
	// maxFoundRows is the same of rows that were looked up one by one.
	maxFoundRows = 4096
	// maxFindGroups is the most row groups of a segment in which values are looked up.
	maxFindGroups = 8
	// maxKeyValues is the most values that are looked up.
	maxKeyValues = 64
)

// key is a column that has one of some values in every row that matters.
type key struct {
	column uint32
	values []*literal
}

// in are the values in the bytes that bloom filters hash, in a file where the column has
// that type; none if the column cannot have any of them. ok is false if that is not known.
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

// keys returns what a condition says of single values.
func (p *planner) keys(v any) []key {
	n, _ := v.(node)
	kind := text(n, "type")
	switch text(n, "class") {
	case "CONJUNCTION":
		var out []key
		if kind == "CONJUNCTION_AND" {
			for _, child := range args(n) {
				out = append(out, p.keys(child)...)
			}
		}
		return out
	case "OPERATOR":
		list := args(n)
		if kind != "COMPARE_IN" || len(list) < 2 || len(list) > maxKeyValues+1 {
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

// reduceToPages puts rows that were read here in the place of parts of which few can matter.
func reduceToPages(_ context.Context, p *plan, s *source) error {
	budget := maxLentRows
	var left []part
	for i := range s.plain {
		if lent, ok := p.lend(&s.plain[i], s.need, &budget); ok {
			left = append(left, lent...)
		} else {
			left = append(left, s.plain[i])
		}
	}
	s.plain = left
	return nil
}

func explainPages(_ *plan, s *source) string {
	rows := 0
	for pt := range s.parts() {
		if pt.file != nil {
			rows += pt.batch.Rows
		}
	}
	if rows == 0 {
		return ""
	}
	return fmt.Sprintf("; %d rows read by the index of pages", rows)
}

// lend reads what matters of a segment's part into batches, which take its place; ok is
// false if the engine is to read the file. budget is how many rows may still be read.
func (p *plan) lend(pt *part, need []int, budget *int) (out []part, ok bool) {
	if pt.segment == nil || pt.far || pt.segment.Damaged != "" || pt.segment.Shared || p.timesOnly && len(need) == 1 || p.may == nil && p.from == nil {
		return nil, false
	}
	columns, ok := p.pageColumns(pt.segment, need)
	if !ok {
		return nil, false
	}
	f := p.filters.get(pt.segment)
	if f == nil {
		return nil, false
	}
	l := &lender{plan: p, segment: pt.segment, left: pt.left, filters: f, timeType: p.view.timeType()}
	defer l.close()
	chosen, rows, ok := l.find(columns)
	if !ok {
		chosen, rows, ok = l.pages(columns, *budget)
	}
	if !ok || rows > *budget {
		return nil, false
	}
	for _, c := range chosen {
		b, err := f.Rows(l.file, c.group, columns, c.runs)
		if err != nil {
			// Too large, or damaged: the engine says what is wrong, as with any file.
			return nil, false
		}
		lent := *pt
		lent.segment, lent.batch, lent.file, lent.groups = nil, b, pt.segment, nil
		out = append(out, lent)
	}
	*budget -= rows
	return out, true
}

// pageColumns are the columns to be read, as the segment has them.
func (p *plan) pageColumns(s *query.Segment, need []int) ([]segment.Column, bool) {
	var out []segment.Column
	add := func(c *schema.Column) bool {
		for i := range s.Columns {
			if has := &s.Columns[i]; has.ID == c.ID {
				out = append(out, segment.Column{ID: c.ID, FieldID: fieldID(*has), Name: has.Name, Type: has.Type, Semantic: c.Semantic})
				return has.Type.Widens(c.Type) != schema.WidensNever
			}
		}
		return true
	}
	for _, at := range need {
		if !add(&p.view.columns[at]) {
			return nil, false
		}
	}
	deleted := schema.DeletedColumn()
	return out, add(&deleted)
}

// lender chooses the rows of one segment.
type lender struct {
	*plan
	segment *query.Segment
	// left are the row groups that filters have left; nil: all.
	left     []int
	filters  *segment.Filters
	timeType schema.Type
	file     *os.File
}

// groupRuns are rows of a row group.
type groupRuns struct {
	group int
	runs  []segment.Run
}

func (l *lender) open() bool {
	if l.file == nil {
		var err error
		if l.file, err = os.Open(l.segment.Path); err != nil {
			l.file = nil
			return false
		}
	}
	return true
}

func (l *lender) close() {
	if l.file != nil {
		l.file.Close()
	}
}

// eachGroup calls f with the row groups that filters have left, until it returns false.
func (l *lender) eachGroup(f func(group int) bool) bool {
	if l.left != nil {
		for _, g := range l.left {
			if !f(g) {
				return false
			}
		}
		return true
	}
	for g := range l.filters.Groups {
		if !f(g) {
			return false
		}
	}
	return true
}

// find looks up the rows that have a value which the conditions ask for, in a column that
// has bloom filters where it is looked up.
func (l *lender) find(columns []segment.Column) (chosen []groupRuns, rows int, ok bool) {
	if l.left == nil || len(l.left) > maxFindGroups {
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
		if !ok || !l.eachGroup(func(g int) bool { return l.filters.HasBloom(c.FieldID, g) }) || !l.open() {
			continue
		}
		chosen, rows = nil, 0
		if l.eachGroup(func(g int) bool {
			runs, more, err := l.filters.Find(l.file, g, c, values, maxFoundRows-rows)
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

// pages chooses the pages whose times can matter, if they have no more rows than budget.
func (l *lender) pages(columns []segment.Column, budget int) (chosen []groupRuns, rows int, ok bool) {
	if l.from == nil && !l.used.time {
		return nil, 0, false
	}
	at := slices.IndexFunc(columns, func(c segment.Column) bool { return c.Semantic == schema.Timestamp })
	if at < 0 {
		return nil, 0, false
	}
	field := columns[at].FieldID
	ok = l.eachGroup(func(g int) bool {
		lo, hi, bounded := l.filters.Bounds(field, g)
		if bounded && !l.matters(lo, hi) {
			return true
		}
		if !l.open() {
			return false
		}
		pages, err := l.filters.PageBounds(l.file, field, g)
		if err != nil {
			return false
		}
		var runs []segment.Run
		for _, p := range pages {
			if !l.matters(p.Min, p.Max) {
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

// matters tells whether rows whose time index has such bounds in the file can matter.
func (l *lender) matters(lo, hi int64) bool {
	factor := fileFactor(l.timeType)
	lo, hi = lo/factor, hi/factor
	if l.from != nil && hi < *l.from {
		return false
	}
	return l.may == nil || l.may(&probe{times: span{nanoseconds(lo, l.timeType), nanoseconds(hi, l.timeType)}})
}

// fileFactor is how many times as large a value of the time index is in files: those of
// seconds have milliseconds.
func fileFactor(t schema.Type) int64 {
	if t == schema.TimestampSecond {
		return 1000
	}
	return 1
}
