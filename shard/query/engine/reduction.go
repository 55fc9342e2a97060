package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cordwood/shard/query"
)

// A reduction lessens what one reference to a table reads. It never changes the answer: DuckDB
// evaluates the statement's conditions over whatever is left. A reduction that is in doubt, or that
// meets a file which it cannot read, leaves everything as it is.
//
// To add one, write a file with its reduce and explain functions, and put it in a list below.
type reduction struct {
	// name switches the reduction off (Settings.Off), and names its row in DESIGN.md's table of gains.
	name string
	// reduce changes the source if the reduction applies. Its only error is that of ctx.
	reduce func(ctx context.Context, p *plan, s *source) error
	// explain returns what EXPLAIN says of the reduction's effect; empty: it had none.
	explain func(p *plan, s *source) string
}

var (
	// partReductions leave out parts, or rows of parts. They are applied in this order.
	partReductions = []reduction{
		{"times", reduceByTimes, explainTimes},
		{"filters", reduceByFilters, explainFilters},
		{"pages", reduceToPages, explainPages},
	}
	// countReductions come after them. They put rows of a constant, of which only the number was
	// looked up, in the place of rows that would be read.
	countReductions = []reduction{
		{"bounds", countByBounds, explainBounds},
		{"codes", countByCodes, explainCodes},
	}
)

// settings is what all plans of an engine have in common.
type settings struct {
	// filters has what footers of segments say.
	filters *filterCache
	// threads is how many goroutines may read segments for one statement.
	threads int
	// minAttempt is the constant of that name; tests of small tables lower it.
	minAttempt int64
	// off names the reductions and executors that are not tried; tests and benchmarks compare.
	off map[string]bool
}

// source chooses what the reference reads. whole: with all columns. The error is that of ctx, or
// that a segment is damaged whose rows may matter.
func (p *plan) source(ctx context.Context, whole bool) (*source, error) {
	s := &source{tableView: p.view, need: p.need(whole)}
	s.plain = p.parts()
	if p.view.Merges() {
		s.plain, s.merges = separate(s.plain)
	}
	if err := p.reduce(ctx, s, partReductions); err != nil {
		return nil, err
	}
	for pt := range s.parts() {
		if pt.segment != nil && pt.segment.Damaged != "" {
			return nil, query.DamagedError(p.view.Table, pt.segment)
		}
	}
	s.where = p.hidden(s)
	return s, p.reduce(ctx, s, countReductions)
}

func (p *plan) reduce(ctx context.Context, s *source, list []reduction) error {
	for _, r := range list {
		if p.off[r.name] {
			continue
		}
		if err := r.reduce(ctx, p, s); err != nil {
			return err
		}
	}
	return nil
}

// hidden returns the condition that leaves out rows which have expired, or which lie before p.from, in
// parts that have other rows as well.
func (p *plan) hidden(s *source) string {
	hide, cut := false, false
	for pt := range s.parts() {
		hide = hide || p.view.ExpiredBefore != nil && pt.min < *p.view.ExpiredBefore
		cut = cut || p.from != nil && pt.min < *p.from
	}
	switch {
	case cut && (!hide || *p.from > *p.view.ExpiredBefore):
		return p.view.since(*p.from)
	case hide:
		return p.view.since(*p.view.ExpiredBefore)
	}
	return ""
}

// reduceByTimes leaves out parts whose times show that no row of them can matter.
func reduceByTimes(_ context.Context, p *plan, s *source) error {
	s.keep(func(pt *part, identity bool) bool {
		if p.from != nil && pt.max < *p.from {
			return false
		}
		return p.meetsTimes(pt, identity)
	})
	return nil
}

// meetsTimes reports whether a part may have rows that matter, as far as its times show.
func (p *plan) meetsTimes(pt *part, identity bool) bool {
	if p.may == nil || p.may(p.probe(pt, identity)) {
		return true
	}
	if pt.segment != nil {
		p.pruned.byTime++
	}
	return false
}

func explainTimes(p *plan, _ *source) string {
	if p.pruned.byTime == 0 {
		return ""
	}
	return fmt.Sprintf(", %d left out by time", p.pruned.byTime)
}

// summary returns the line of EXPLAIN about the reference.
func (p *plan) summary(s *source) string {
	var b strings.Builder
	files, rows := make(map[string]bool), int64(0)
	for pt := range s.parts() {
		switch {
		case pt.file != nil:
			files[pt.file.Path] = true
		case pt.segment != nil:
			files[pt.segment.Path] = true
		default:
			rows += int64(pt.batch.Rows)
		}
	}
	fmt.Fprintf(&b, "%s: %d of %d segments%s", p.ref.name, len(files), p.pruned.segments, p.explain(s))
	fmt.Fprintf(&b, "; %d of %d rows in memory", rows, p.pruned.memtable)
	if n := len(slices.Concat(s.merges...)); n > 0 {
		fmt.Fprintf(&b, "; %d parts overlap and are merged", n)
	}
	fmt.Fprintf(&b, "; %d of %d columns", len(s.need), len(p.view.columns))
	return b.String()
}

// explain returns what was not read of the source, and why.
func (p *plan) explain(s *source) string {
	var b strings.Builder
	if p.pruned.expired > 0 {
		fmt.Fprintf(&b, ", %d parts expired", p.pruned.expired)
	}
	for _, r := range slices.Concat(partReductions, countReductions) {
		b.WriteString(r.explain(p, s))
	}
	return b.String()
}
