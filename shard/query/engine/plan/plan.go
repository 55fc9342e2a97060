package plan

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/sql"
)

// Plan describes what one table reference reads. It is made before DuckDB gets the statement.
type Plan struct {
	*Settings
	Cold  *Cold
	St    *sql.Statement
	shape *Shape
	Ref   *sql.TableRef
	View  *View
	// may is the predicate that follows from the conditions of the statement, or nil.
	may  predicate
	used reasons
	// keys are the keys of the conditions.
	keys []key
	// Rows before From or after Until, in the unit of the time index, do not matter; see newest.go.
	From, Until *int64
	// borders are the bounds that the conditions of a query for the newest rows set for times.
	// onlyTimes means that the conditions test nothing else.
	borders   []indistinct
	onlyTimes bool
	// timesOnly means that the statement reads only the time index, and only for the uses in reads.
	timesOnly bool
	reads     []indistinct
	// Pruned counts what was excluded, for EXPLAIN ANALYZE.
	Pruned pruning
	// Kept are the paths of segments that need not be read, because the statement's partial results
	// for them are known.
	Kept map[string]bool
	// Only, if not nil, are the paths of the segments to read; nothing else is read. Their rows get
	// a column with the number of their segment (Source.Numbered).
	Only map[string]bool
	// Weighted means that rows that are only counted are read as one row with their number in
	// WeightColumn.
	Weighted bool
}

const (
	// NumberColumn is the name of the column with the number of the segment.
	NumberColumn = "__segment"
	// WeightColumn is the name of the column with the number of rows that a row represents.
	WeightColumn = "__weight"
)

// pruning counts the parts of a table, and the parts that were excluded.
type pruning struct {
	Segments, byTime, byFilters, expired int
	groups, GroupsLeft                   int   // row groups whose filters were checked
	Memtable                             int64 // rows
}

// predicates derives the predicate of the plan's reference from its conditions, at a moment.
func (p *Plan) predicates(searches []sql.Search, now time.Time) {
	var parts []predicate
	p.onlyTimes = true
	for _, c := range p.Ref.Conds {
		pl := &Scope{Schema: p.View.Schema, Names: p.View.Names, Alias: c.Alias, Alone: c.Alone, searches: searches}
		pl.Constants = p.Constants(now)
		parts = append(parts, pl.predicate(c.Expr, false))
		if p.shape.Newest != nil {
			borders, all := pl.borders(c.Expr)
			p.borders, p.onlyTimes = append(p.borders, borders...), p.onlyTimes && all
		}
		p.keys = append(p.keys, pl.keys(c.Expr)...)
		p.used.time = p.used.time || pl.used.time
		p.used.value = p.used.value || pl.used.value
		p.used.tokens = p.used.tokens || pl.used.tokens
		p.used.bounds = p.used.bounds || pl.used.bounds
	}
	p.may = every(parts)
}

// Constants returns an evaluator of the statement's constants at a moment.
func (p *Plan) Constants(now time.Time) Constants {
	return Constants{Now: now, Column: func(name string) bool {
		return slices.ContainsFunc(p.View.Columns, func(c schema.Column) bool { return strings.EqualFold(c.Name, name) })
	}}
}

// Parts lists the table's parts in the order in which they were written, without parts that have
// expired as a whole.
func (p *Plan) Parts() []Part {
	v := p.View
	segments := make([]*query.Segment, len(v.Segments))
	for i := range v.Segments {
		segments[i] = &v.Segments[i]
	}
	if v.Merges() {
		slices.SortStableFunc(segments, func(a, b *query.Segment) int { return cmp.Compare(a.Order, b.Order) })
	}
	p.Pruned = pruning{Segments: len(segments)}
	timeType := v.timeType()
	parts := make([]Part, 0, len(segments)+len(v.Batches))
	add := func(pt Part) {
		if v.ExpiredBefore != nil && pt.Max < *v.ExpiredBefore {
			p.Pruned.expired++
			return
		}
		pt.Rank, pt.far = len(parts), isFar(pt.Min, pt.Max, timeType)
		parts = append(parts, pt)
	}
	for _, s := range segments {
		add(Part{Segment: s, merge: v.Eras.Segment(s.Order, v.Merge), Min: s.MinTime, Max: s.MaxTime})
	}
	for i, b := range v.Batches {
		if b.Rows > 0 {
			p.Pruned.Memtable += int64(b.Rows)
			add(Part{Batch: b, merge: v.Eras.Batch(i, v.Merge), Min: b.MinTime, Max: b.MaxTime})
		}
	}
	return parts
}

// probe returns what is known of a part without reading its file.
func (p *Plan) probe(pt *Part, identity bool) *probe {
	return &probe{
		times:    Span{Nanoseconds(pt.Min, p.View.timeType()), Nanoseconds(pt.Max, p.View.timeType())},
		identity: identity,
	}
}

// Need returns the indexes of the columns that the reference may read, and at least one index. If whole is set, these
// are all columns.
func (p *Plan) Need(whole bool) []int {
	v := p.View
	var need []int
	for i, c := range v.Columns {
		switch {
		case whole, c.Semantic == schema.Timestamp,
			v.Merges() && c.Semantic == schema.Tag,
			p.St.Reads(p.Ref, c.Name), p.St.Reads(p.Ref, v.Names[i]):
			need = append(need, i)
		}
	}
	if need == nil {
		need = []int{0}
	}
	return need
}
