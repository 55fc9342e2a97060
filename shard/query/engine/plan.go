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
	*settings
	st    *statement
	shape *shape
	ref   *tableRef
	view  *tableView
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

// pruning counts the parts of a table, and those that were left out.
type pruning struct {
	segments, byTime, byFilters, expired int
	groups, groupsLeft                   int   // row groups that filters were asked about
	memtable                             int64 // rows
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

// parts lists what the table has, in the order in which it was written. What has expired as a whole
// is left out.
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
	timeType := v.timeType()
	parts := make([]part, 0, len(segments)+len(v.Batches))
	add := func(pt part) {
		if v.ExpiredBefore != nil && pt.max < *v.ExpiredBefore {
			p.pruned.expired++
			return
		}
		pt.rank, pt.far = len(parts), isFar(pt.min, pt.max, timeType)
		parts = append(parts, pt)
	}
	for _, s := range segments {
		add(part{segment: s, merge: v.Eras.Segment(s.Order, v.Merge), min: s.MinTime, max: s.MaxTime})
	}
	for i, b := range v.Batches {
		if b.Rows > 0 {
			p.pruned.memtable += int64(b.Rows)
			add(part{batch: b, merge: v.Eras.Batch(i, v.Merge), min: b.MinTime, max: b.MaxTime})
		}
	}
	return parts
}

// probe is what is known of a part without a look at its file.
func (p *plan) probe(pt *part, identity bool) *probe {
	return &probe{times: span{nanoseconds(pt.min, p.view.timeType()), nanoseconds(pt.max, p.view.timeType())}, identity: identity}
}

// need returns the indexes of the columns that the statement may name, at least one.
func (p *plan) need(whole bool) []int {
	v := p.view
	var need []int
	for i, c := range v.columns {
		switch {
		case whole, c.Semantic == schema.Timestamp,
			v.Merges() && c.Semantic == schema.Tag,
			p.st.words[lowerASCII(c.Name)] > 0, p.st.words[lowerASCII(v.names[i])] > 0:
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

// newPlans returns the plans of the statement's references.
func newPlans(st *statement, shape *shape, req *query.Request, now time.Time, settings *settings) (*planned, error) {
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
		plans[i] = &plan{settings: settings, st: st, shape: shape, ref: &st.tables[i], view: views[st.tables[i].name]}
	}
	searches := make([]search, len(st.searches))
	for i, call := range st.searches {
		searches[i] = search{call, analyzerIn(call, plans)}
	}
	for _, p := range plans {
		p.predicates(searches, now)
		p.reads, p.timesOnly = p.readers(now)
	}
	out := &planned{plans: plans, views: list, searches: searches}
	if !settings.off["trunc"] {
		out.truncs = truncsOf(st, shape.truncs, plans)
	}
	return out, nil
}

// findTable returns the table of that name; one that differs only in case if there is no
// exact one.
func findTable(req *query.Request, name query.TableName) *query.Table {
	var similar *query.Table
	for i := range req.Tables {
		t := &req.Tables[i]
		if t.Database == name.Database && t.Name == name.Name {
			return t
		}
		if strings.EqualFold(t.Database, name.Database) && strings.EqualFold(t.Name, name.Name) {
			similar = t
		}
	}
	return similar
}
