package plan

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
	// reduce changes the source if the reduction applies. Its only error is the error of ctx.
	reduce func(ctx context.Context, p *Plan, s *Source) error
	// explain returns what EXPLAIN says of the reduction's effect; empty: it had none.
	explain func(p *Plan, s *Source) string
}

var (
	// partReductions leave out parts, or rows of parts. They are applied in this order.
	partReductions = []reduction{
		{"times", reduceByTimes, explainTimes},
		{"kept", leaveKept, explainKept},
		{"filters", reduceByFilters, explainFilters},
		{"pages", reduceToPages, explainPages},
	}
	// countReductions come after them. They replace rows that would be read by rows of a constant,
	// whose number alone was looked up.
	countReductions = []reduction{
		{"bounds", countByBounds, explainBounds},
		{"codes", countByCodes, explainCodes},
	}
)

// Source chooses what the reference reads. whole: with all columns. The error is the error of ctx, or
// that a segment is damaged whose rows may matter.
func (p *Plan) Source(ctx context.Context, whole bool) (*Source, error) {
	s := &Source{View: p.View, need: p.Need(whole)}
	s.Plain = p.Parts()
	if p.View.Merges() {
		s.Plain, s.Merges = separate(s.Plain)
	}
	if err := p.reduce(ctx, s, partReductions); err != nil {
		return nil, err
	}
	for pt := range s.Parts() {
		if pt.Segment != nil && pt.Segment.Damaged != "" {
			return nil, query.DamagedError(p.View.Table, pt.Segment)
		}
	}
	s.where = p.hidden(s)
	return s, p.reduce(ctx, s, countReductions)
}

// leaveKept leaves out segments of which it is known what the statement finds in them, and all that are not asked for.
func leaveKept(_ context.Context, p *Plan, s *Source) error {
	if len(p.Kept) == 0 && p.Only == nil {
		return nil
	}
	s.numbered = p.Only != nil
	s.keep(func(pt *Part, identity bool) bool {
		if pt.Segment == nil || identity {
			return p.Only == nil
		}
		return !p.Kept[pt.Segment.Path] && (p.Only == nil || p.Only[pt.Segment.Path])
	})
	return nil
}

// explainKept returns nothing: a statement that is explained reads all segments. The engine adds what is known of them.
func explainKept(*Plan, *Source) string { return "" }

// Remain reports whether there are parts to be read whose rows may matter, as far as times show.
func (p *Plan) Remain() bool {
	return slices.ContainsFunc(p.Parts(), func(pt Part) bool {
		return (pt.Segment == nil || !p.Kept[pt.Segment.Path]) && p.MeetsTimes(&pt, p.View.Merges())
	})
}

func (p *Plan) reduce(ctx context.Context, s *Source, list []reduction) error {
	for _, r := range list {
		if p.Off[r.name] {
			continue
		}
		if err := r.reduce(ctx, p, s); err != nil {
			return err
		}
	}
	return nil
}

// hidden returns the condition that leaves out rows which have expired, or which an attempt does not read, in
// parts that have other rows as well.
func (p *Plan) hidden(s *Source) string {
	hide, before, after := false, false, false
	for pt := range s.Parts() {
		hide = hide || p.View.ExpiredBefore != nil && pt.Min < *p.View.ExpiredBefore
		before = before || p.From != nil && pt.Min < *p.From
		after = after || p.Until != nil && pt.Max > *p.Until
	}
	var conditions []string
	switch {
	case before && (!hide || *p.From > *p.View.ExpiredBefore):
		conditions = append(conditions, p.View.since(*p.From))
	case hide:
		conditions = append(conditions, p.View.since(*p.View.ExpiredBefore))
	}
	if after {
		conditions = append(conditions, "NOT ("+p.View.since(*p.Until+1)+")")
	}
	conditions = slices.DeleteFunc(conditions, func(c string) bool { return c == "" })
	return strings.Join(conditions, " AND ")
}

// reduceByTimes leaves out parts whose times show that no row of them can matter.
func reduceByTimes(_ context.Context, p *Plan, s *Source) error {
	if p.may == nil && !p.trying() {
		return nil
	}
	s.keep(func(pt *Part, identity bool) bool {
		return !p.outside(pt.Min, pt.Max) && p.MeetsTimes(pt, identity)
	})
	return nil
}

// MeetsTimes reports whether a part may have rows that matter, as far as its times show.
func (p *Plan) MeetsTimes(pt *Part, identity bool) bool {
	if p.may == nil || p.may(p.probe(pt, identity)) {
		return true
	}
	if pt.Segment != nil {
		p.Pruned.byTime++
	}
	return false
}

func explainTimes(p *Plan, _ *Source) string {
	if p.Pruned.byTime == 0 {
		return ""
	}
	return fmt.Sprintf(", %d left out by time", p.Pruned.byTime)
}

// Summary returns the line of EXPLAIN about the reference.
func (p *Plan) Summary(s *Source) string {
	var b strings.Builder
	files, rows := make(map[string]bool), int64(0)
	for pt := range s.Parts() {
		switch {
		case pt.file != nil:
			files[pt.file.Path] = true
		case pt.Segment != nil:
			files[pt.Segment.Path] = true
		default:
			rows += int64(pt.Batch.Rows)
		}
	}
	fmt.Fprintf(&b, "%s: %d of %d segments%s", p.Ref.Name, len(files), p.Pruned.Segments, p.Explain(s))
	fmt.Fprintf(&b, "; %d of %d rows in memory", rows, p.Pruned.Memtable)
	if n := len(slices.Concat(s.Merges...)); n > 0 {
		fmt.Fprintf(&b, "; %d parts overlap and are merged", n)
	}
	fmt.Fprintf(&b, "; %d of %d columns", len(s.need), len(p.View.Columns))
	return b.String()
}

// Explain returns what was not read of the source, and why.
func (p *Plan) Explain(s *Source) string {
	var b strings.Builder
	if p.Pruned.expired > 0 {
		fmt.Fprintf(&b, ", %d parts expired", p.Pruned.expired)
	}
	for _, r := range slices.Concat(partReductions, countReductions) {
		b.WriteString(r.explain(p, s))
	}
	return b.String()
}
