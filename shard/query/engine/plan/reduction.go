package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cordwood/shard/query"
)

// A reduction reduces what one reference to a table reads. It never changes the answer: DuckDB
// evaluates the statement's conditions over the remaining rows. If a reduction is in doubt or
// cannot read a file, it leaves everything as it is.
//
// To add one, write a file with its reduce and explain functions, and put it in a list below.
type reduction struct {
	// name is the reduction's name in Settings.Off and in DESIGN.md's table of gains.
	name string
	// reduce changes the source if the reduction applies. Its only error is the error of ctx.
	reduce func(ctx context.Context, p *Plan, s *Source) error
	// explain returns the text of EXPLAIN about the reduction's effect, or an empty text if it had
	// none.
	explain func(p *Plan, s *Source) string
}

var (
	// partReductions exclude parts, or rows of parts. They are applied in this order.
	partReductions = []reduction{
		{"times", reduceByTimes, explainTimes},
		{"kept", excludeKept, explainKept},
		{"filters", reduceByFilters, explainFilters},
		{"pages", reduceToPages, explainPages},
	}
	// countReductions come after partReductions. They replace rows by the same number of rows of a
	// constant. Only the number of rows is looked up.
	countReductions = []reduction{
		{"bounds", countByBounds, explainBounds},
		{"codes", countByCodes, explainCodes},
	}
)

// Source chooses what the reference reads. If whole is set, it reads all columns. It returns the
// error of ctx, or an error if a segment is damaged whose rows may matter.
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
	s.where, s.weighted = p.hidden(s), p.Weighted
	if err := p.reduce(ctx, s, countReductions); err != nil {
		return nil, err
	}
	return s, p.fetchCold(s)
}

// excludeKept excludes segments whose partial results are known. If Only is set, it excludes all segments and
// batches that are not in Only.
func excludeKept(_ context.Context, p *Plan, s *Source) error {
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

// explainKept returns nothing, because EXPLAIN runs the statement over all segments. The engine
// adds the text about kept partial results.
func explainKept(*Plan, *Source) string { return "" }

// Remain reports whether parts remain whose rows may matter according to their times.
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

// hidden returns the condition that excludes rows which have expired, and rows that the current
// attempt does not read. It is for parts that have other rows as well.
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

// reduceByTimes excludes parts whose times show that none of their rows can matter.
func reduceByTimes(_ context.Context, p *Plan, s *Source) error {
	if p.may == nil && !p.trying() {
		return nil
	}
	s.keep(func(pt *Part, identity bool) bool {
		return !p.outside(pt.Min, pt.Max) && p.MeetsTimes(pt, identity)
	})
	return nil
}

// MeetsTimes reports whether a part may have rows that matter according to its times.
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

// Explain returns the texts of EXPLAIN about what was excluded from the source.
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
