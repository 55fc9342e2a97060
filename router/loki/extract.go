package loki

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"cordwood/proto/errs"
	"cordwood/router/loki/lines"
	"cordwood/router/loki/logql"
	"cordwood/router/loki/series"
	"cordwood/router/loki/translate"
)

// maxLines is the maximum number of lines from which a query extracts the labels of its series in memory.
const maxLines = 1_000_000

// sample is the number of an entry.
type sample struct {
	nanos int64
	value float64
}

// extraction computes a range aggregation whose series have all labels that parsers find, so their names are not known
// in advance. It runs the pipeline over the entries in memory.
type extraction struct {
	e        *evaluator
	r        *logql.Range
	pipeline *lines.Pipeline
	as       logql.Kind
	// metadata has the structured metadata that counts as labels, and without the labels that do not count.
	metadata map[string]bool
	without  map[string]bool
	groups   map[string]*group
	bad      float64
}

func newExtraction(e *evaluator, r *logql.Range, g *logql.Grouping, groups map[string]*group) *extraction {
	x := &extraction{
		e: e, r: r, pipeline: lines.New(r.Log), metadata: translate.Mentioned(r), groups: groups,
		without: map[string]bool{translate.ErrorLabel: true, "__error_details__": true},
	}
	if g == nil {
		g = r.Grouping
	}
	if g != nil {
		for _, name := range g.Names {
			x.without[name] = true
		}
	}
	if r.Unwrap != nil {
		x.as = r.Unwrap.As()
		x.without[r.Unwrap.Name] = true
	}
	return x
}

// extract adds the numbers of a table to groups. g is the grouping of the enclosing aggregation if it is computed
// together with the range, or nil.
func (e *evaluator) extract(r *logql.Range, g *logql.Grouping, t *translate.Table, conditions []string,
	groups map[string]*group,
) error {
	x := newExtraction(e, r, g, groups)
	sql := "SELECT " + selected(t) + " FROM " + t.From() + where(conditions) + limitOf(maxLines-e.lines+1)
	err := e.r.run(e.ctx, sql, func(ctx context.Context, rec arrow.RecordBatch) error {
		if e.lines += int(rec.NumRows()); e.lines > maxLines {
			return errs.New(errs.InvalidArguments, "%[1]s(…) after a parser has a series for each combination of the labels "+
				"that the parser finds in the lines, and at most %[2]d lines are read for it: name the labels that count, as in "+
				"sum by (label) (%[1]s(…)), keep them by | keep label, or use a shorter time", r.Op, maxLines)
		}
		return entries(t, rec, func(e *lines.Entry) error { return x.add(ctx, e) })
	})
	if err == nil && x.bad > 0 {
		err = notNumbers(r, x.bad)
	}
	return err
}

// add adds an entry to its series.
func (x *extraction) add(ctx context.Context, e *lines.Entry) error {
	if kept, err := x.pipeline.Run(ctx, e); !kept || err != nil {
		return err
	}
	p := part{n: 1, sum: float64(len(e.Line)), at: e.Nanos}
	if x.r.Unwrap != nil {
		v, number, found := x.pipeline.Unwrap(x.r.Unwrap, x.as, e)
		switch {
		case !found:
			return nil
		case !number:
			x.bad++
			return nil
		}
		p.sum, p.value, p.mean = v, v, v
	}
	if p.first, p.last = x.e.steps.Bounds(x.r, e.Nanos); p.first > p.last {
		return nil
	}
	labels := x.labels(e)
	of, err := x.e.group(x.groups, series.Key(labels), func() map[string]string {
		for name, v := range labels {
			labels[name] = strings.Clone(v) // the value may be a part of a long line
		}
		return labels
	})
	switch {
	case err != nil:
		return err
	case x.e.alone && len(x.groups) > MaxSeries:
		return tooManySeries(MaxSeries)
	case x.r.Op == "quantile_over_time":
		of.samples = append(of.samples, sample{e.Nanos, p.value})
		return nil
	}
	return x.e.addPart(of, x.r.Op, p)
}

// manyParts is the number of parts from which on a group has a map of their places.
const manyParts = 16

// addPart merges a part with the part of the same steps.
func (e *evaluator) addPart(g *group, op string, p part) error {
	steps := [2]int{p.first, p.last}
	i, ok := g.places[steps]
	if g.places == nil {
		i = slices.IndexFunc(g.parts, func(o part) bool { return o.first == p.first && o.last == p.last })
		ok = i >= 0
	}
	if ok {
		merged := merge(op, g.parts[i], p)
		merged.first, merged.last = p.first, p.last
		g.parts[i] = merged
		return nil
	}
	if err := e.countPart(); err != nil {
		return err
	}
	g.parts = append(g.parts, p)
	switch {
	case g.places != nil:
		g.places[steps] = len(g.parts) - 1
	case len(g.parts) == manyParts:
		g.places = map[[2]int]int{}
		for i := range g.parts {
			g.places[[2]int{g.parts[i].first, g.parts[i].last}] = i
		}
	}
	return nil
}

// labels returns the labels of an entry that count.
func (x *extraction) labels(e *lines.Entry) map[string]string {
	out := map[string]string{}
	for name := range x.metadata {
		if v := e.Metadata[name]; v != "" {
			out[name] = v
		}
	}
	for _, from := range []map[string]string{e.Parsed, e.Labels} {
		for name, v := range from {
			out[name] = v
		}
	}
	for name := range x.without {
		delete(out, name)
	}
	return out
}

// seriesOf returns the numbers of a group.
func (e *evaluator) seriesOf(g *group, r *logql.Range) (*series.Series, error) {
	if len(g.samples) == 0 {
		return g.series(r, e.steps.N), nil
	}
	slices.SortFunc(g.samples, func(a, b sample) int { return cmp.Compare(a.nanos, b.nanos) })
	out := series.New(g.labels, e.steps.N)
	from, to := 0, 0
	var window []float64
	for step := range e.steps.N {
		if err := e.ctx.Err(); err != nil {
			return nil, err
		}
		end := e.steps.Start + int64(step)*e.steps.Step - int64(r.Offset)
		for to < len(g.samples) && g.samples[to].nanos <= end {
			to++
		}
		for from < to && g.samples[from].nanos <= end-int64(r.Range) {
			from++
		}
		if from == to {
			continue
		}
		window = window[:0]
		for _, s := range g.samples[from:to] {
			window = append(window, s.value)
		}
		slices.Sort(window)
		out.Set(step, quantileOf(window, r.Param))
	}
	return out, nil
}

// quantileOf returns a quantile of sorted numbers. Between two of them it interpolates, as quantile_cont does.
func quantileOf(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	low := math.Floor(at)
	a, b := sorted[int(low)], sorted[int(math.Ceil(at))]
	return a + (b-a)*(at-low)
}
