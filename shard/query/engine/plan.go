package engine

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/shard/query"
)

// plan is what is known of one reference before the engine sees the statement.
type plan struct {
	ref  *tableRef
	view *tableView
	// may is what the conditions of the statement tell, or nil.
	may  predicate
	used reasons
	// keys are those of the conditions.
	keys []key
	// from is the moment, in the unit of the time index, before which rows do not matter.
	from *int64
	// timesOnly tells that all that the statement reads are times, by reads.
	timesOnly bool
	reads     []reader
	// pruned counts what was left out, for EXPLAIN ANALYZE.
	pruned pruning
}

// pruning counts the parts of a table.
type pruning struct {
	segments, byTime, byFilters, expired int
	groups, groupsLeft                   int // row groups that filters were asked about
	rows, memtable, memtableRows         int64
	merged                               int
}

// predicates works out what the conditions of the plan's reference tell at a moment.
func (p *plan) predicates(searches []search, now time.Time) {
	var parts []predicate
	for _, c := range p.ref.conds {
		pl := &planner{schema: p.view.Schema, names: p.view.names, alias: c.alias, alone: c.alone, searches: searches}
		pl.constants = p.constants(now)
		parts = append(parts, pl.predicate(c.expr, false))
		p.keys = append(p.keys, pl.keys(c.expr)...)
		p.used.time = p.used.time || pl.used.time
		p.used.value = p.used.value || pl.used.value
		p.used.tokens = p.used.tokens || pl.used.tokens
		p.used.bounds = p.used.bounds || pl.used.bounds
	}
	p.may = every(parts)
}

func (p *plan) constants(now time.Time) constants {
	return constants{now: now, column: func(name string) bool {
		return slices.ContainsFunc(p.view.columns, func(c schema.Column) bool { return strings.EqualFold(c.Name, name) })
	}}
}

// source chooses what the reference reads.
func (p *plan) source(e *Engine, st *statement, whole bool) *source {
	v := p.view
	s := &source{tableView: v, need: p.need(st, whole)}
	timeType := schema.TimestampNanosecond
	if c := v.Schema.TimeIndex(); c != nil {
		timeType = c.Type
	}
	plain, merges := p.parts(), [][]part(nil)
	if v.Merges() {
		plain, merges = separate(plain)
	}
	p.pruned.merged = len(merges)
	hide, cut, budget := false, false, maxLentRows
	prune := func(list []part, identity bool) []part {
		var left []part
		for _, part := range list {
			if v.ExpiredBefore != nil && part.max < *v.ExpiredBefore {
				p.pruned.expired++
				continue
			}
			if p.from != nil && part.max < *p.from {
				continue
			}
			if part.segment != nil && part.segment.Damaged != "" {
				// Its filters cannot be read; its times are known.
				times := span{nanoseconds(part.min, timeType), nanoseconds(part.max, timeType)}
				if p.may == nil || p.may(&probe{times: times, identity: identity}) {
					s.damaged = part.segment
				}
				continue
			}
			if !p.meets(e, &part, timeType, identity) {
				continue
			}
			hide = hide || v.ExpiredBefore != nil && part.min < *v.ExpiredBefore
			cut = cut || p.from != nil && part.min < *p.from
			if !identity && !part.far {
				if lent, ok := p.lend(e, &part, timeType, s.need, &budget); ok {
					left = append(left, lent...)
					continue
				}
			}
			left = append(left, part)
		}
		return left
	}
	s.plain = prune(plain, false)
	for _, group := range merges {
		if group = prune(group, true); len(group) > 0 {
			s.merges = append(s.merges, group)
		}
	}
	p.count(e, s, timeType)
	if hide {
		s.where = v.since(*v.ExpiredBefore)
	}
	if cut && (!hide || *p.from > *v.ExpiredBefore) {
		s.where = v.since(*p.from)
	}
	return s
}

// parts lists what the table has, in the order in which it was written.
func (p *plan) parts() []part {
	v := p.view
	segments := make([]*query.Segment, len(v.Segments))
	for i := range v.Segments {
		segments[i] = &v.Segments[i]
	}
	if v.Merges() {
		slices.SortStableFunc(segments, func(a, b *query.Segment) int { return cmp.Compare(a.Order, b.Order) })
	}
	p.pruned = pruning{segments: len(segments)}
	timeType := schema.TimestampNanosecond
	if c := v.Schema.TimeIndex(); c != nil {
		timeType = c.Type
	}
	parts := make([]part, 0, len(segments)+len(v.Batches))
	for _, s := range segments {
		p.pruned.rows += s.Rows
		parts = append(parts, part{segment: s, merge: v.Eras.Segment(s.Order, v.Merge), rank: len(parts), min: s.MinTime, max: s.MaxTime, far: isFar(s.MinTime, s.MaxTime, timeType)})
	}
	for i, b := range v.Batches {
		if b.Rows > 0 {
			p.pruned.memtable += int64(b.Rows)
			parts = append(parts, part{batch: b, merge: v.Eras.Batch(i, v.Merge), rank: len(parts), min: b.MinTime, max: b.MaxTime, far: isFar(b.MinTime, b.MaxTime, timeType)})
		}
	}
	return parts
}

// meets tells whether a part may have rows that matter, and notes which row groups do.
func (p *plan) meets(e *Engine, part *part, timeType schema.Type, identity bool) bool {
	if p.may == nil {
		if part.batch != nil {
			p.pruned.memtableRows += int64(part.batch.Rows)
		}
		return true
	}
	pr := &probe{times: span{nanoseconds(part.min, timeType), nanoseconds(part.max, timeType)}, identity: identity}
	switch {
	case !p.may(pr):
		if part.segment != nil {
			p.pruned.byTime++
		}
		return false
	case part.batch != nil:
		p.pruned.memtableRows += int64(part.batch.Rows)
	case p.used.value || p.used.tokens || p.used.bounds && p.narrower(part.segment):
		return p.filters(e, part, pr)
	}
	return true
}

// need returns the indexes of the columns that the statement may name, at least one.
func (p *plan) need(st *statement, whole bool) []int {
	v := p.view
	var need []int
	for i, c := range v.columns {
		switch {
		case whole, c.Semantic == schema.Timestamp,
			v.Merges() && c.Semantic == schema.Tag,
			st.words[lowerASCII(c.Name)] > 0, st.words[lowerASCII(v.names[i])] > 0:
			need = append(need, i)
		}
	}
	if need == nil {
		need = []int{0}
	}
	return need
}

// planned is a statement with what is known of its tables.
type planned struct {
	plans    []*plan // one for each of statement.tables
	views    []*tableView
	searches []search
	truncs   []truncCall
}

// search is a call, and how words are told apart in it.
type search struct {
	*searchCall
	analyzer
}

// plan returns the plans of the statement's references.
func (st *statement) plan(req *query.Request, now time.Time) (*planned, error) {
	views := make(map[query.TableName]*tableView, len(st.names))
	var list []*tableView
	for _, name := range st.names {
		t := findTable(req, name)
		if t == nil {
			return nil, errs.New(errs.TableNotFound, "table %s does not exist", name)
		}
		v, err := newTableView(t)
		if err != nil {
			return nil, err
		}
		views[name] = v
		list = append(list, v)
	}
	plans := make([]*plan, len(st.tables))
	for i := range st.tables {
		plans[i] = &plan{ref: &st.tables[i], view: views[st.tables[i].name]}
	}
	searches := make([]search, len(st.searches))
	for i, call := range st.searches {
		searches[i] = search{call, call.analyzerIn(plans)}
	}
	for _, p := range plans {
		p.predicates(searches, now)
		p.reads, p.timesOnly = p.readers(st, now)
	}
	return &planned{plans: plans, views: list, searches: searches, truncs: st.truncsOf(plans)}, nil
}
