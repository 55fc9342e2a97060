package loki

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"cordwood/proto/errs"
	"cordwood/router/loki/logql"
	"cordwood/router/loki/series"
	"cordwood/router/loki/translate"
	"cordwood/router/query/format"
)

// Metric computes a metric for each step. The result has at most MaxSeries series.
func (r *Reader) Metric(ctx context.Context, m logql.Metric, steps translate.Steps) (series.Value, error) {
	if steps.N > MaxSteps {
		return series.Value{}, errs.New(errs.InvalidArguments, "exceeded maximum resolution of 11,000 points per time "+
			"series. Try increasing the value of the step parameter")
	}
	e := &evaluator{r: r, ctx: ctx, steps: steps, memory: r.service.memory.holding()}
	defer e.memory.release()
	_, e.alone = m.(*logql.Range)
	v, err := e.eval(m)
	if err != nil {
		return v, err
	}
	sort, sorted := m.(*logql.Sort)
	v.Series = series.Sorted(v.Series)
	if sorted && steps.N == 1 {
		v.Series = series.SortByValue(v.Series, sort.Desc)
	}
	if len(v.Series) > MaxSeries {
		return v, tooManySeries(MaxSeries)
	}
	r.stats.Entries += int64(len(v.Series))
	return v, nil
}

func tooManySeries(most int) error {
	return errs.New(errs.InvalidArguments, "maximum number of series (%d) reached for a single query; consider reducing "+
		"query cardinality by adding more specific stream selectors, reducing the time range, or aggregating results with "+
		"functions like sum(), count() or topk()", most)
}

// evaluator computes the metrics of one request.
type evaluator struct {
	r     *Reader
	ctx   context.Context //nolint:containedctx // it lives as long as the request
	steps translate.Steps
	// read counts the series that statements return, and joined those that group_left and group_right make of them.
	read, joined tally
	memory       *holding
	// parts counts the numbers that the series are computed from, and lines the entries that are parsed in memory.
	parts, lines int
	// named are the labels that the query names around the metric that is being evaluated.
	named []string
	// alone is true if the metric is a range aggregation, so that its series are those of the answer.
	alone bool
}

func (e *evaluator) eval(m logql.Metric) (series.Value, error) {
	switch m := m.(type) {
	case *logql.Number:
		return series.Constant(m.Value, e.steps.N), nil
	case *logql.Constant:
		s := series.New(map[string]string{}, e.steps.N)
		for i := range s.Values {
			s.Set(i, m.Value)
		}
		return series.Value{Series: []*series.Series{s}}, nil
	case *logql.Range:
		return e.rangeOf(m, nil)
	case *logql.Vector:
		return e.vector(m)
	case *logql.Sort:
		return e.eval(m.Of)
	case *logql.LabelReplace:
		v, err := e.within(slices.Concat(e.named, []string{m.Src}), m.Of)
		if err != nil {
			return v, err
		}
		out, err := series.Replace(m, v.Series)
		return series.Value{Series: out}, err
	case *logql.Binary:
		names := e.named
		if m.Matching != nil && m.Matching.On {
			names = slices.Concat(names, m.Matching.Names)
		}
		l, err := e.within(names, m.L)
		if err != nil {
			return l, err
		}
		r, err := e.within(names, m.R)
		if err != nil {
			return r, err
		}
		return series.Binary(m, l, r, e.steps.N, func(key string) error {
			if err := e.ctx.Err(); err != nil {
				return err
			}
			return e.countSeries(&e.joined, key)
		})
	}
	return series.Value{}, errs.New(errs.Internal, "metrics of type %T are not implemented", m)
}

// additive lists, for each range aggregation, the aggregations over series that one SQL statement can compute together
// with it.
var additive = map[string][]string{
	"sum": {"count_over_time", "rate", "bytes_over_time", "bytes_rate", "sum_over_time"},
	"min": {"min_over_time"},
	"max": {"max_over_time"},
}

func (e *evaluator) vector(v *logql.Vector) (series.Value, error) {
	if of, ok := v.Of.(*logql.Range); ok && slices.Contains(additive[v.Op], of.Op) && of.Grouping == nil {
		g := v.Grouping
		if g == nil {
			g = &logql.Grouping{}
		}
		return e.rangeOf(of, g)
	}
	in, err := e.within(namesWithin(v, e.named), v.Of)
	if err != nil {
		return in, err
	}
	return series.Value{Series: series.Aggregate(v, in.Series, e.steps.N)}, nil
}

// namesWithin returns the labels that the operand of an aggregation needs, of which the query names some outside.
func namesWithin(v *logql.Vector, outside []string) []string {
	g := v.Grouping
	switch {
	case v.Op == "topk" || v.Op == "bottomk" || v.Op == "approx_topk": // they keep the labels of their operand
	case g == nil:
		return nil
	case !g.Without:
		return g.Names
	}
	if g == nil {
		return outside
	}
	return slices.Concat(outside, g.Names)
}

// within evaluates the operand of an operator that needs labels of the given names.
func (e *evaluator) within(names []string, m logql.Metric) (series.Value, error) {
	outer := e.named
	e.named = names
	defer func() { e.named = outer }()
	return e.eval(m)
}

// rangeOf computes an aggregation over a range.
func (e *evaluator) rangeOf(r *logql.Range, g *logql.Grouping) (series.Value, error) {
	if err := r.Log.RequireMatcher(); err != nil {
		return series.Value{}, err
	}
	if len(e.named) > 0 {
		with := *r
		with.Named = e.named
		r = &with
	}
	tables, err := e.r.tables(e.ctx, r.Log.Matchers)
	if err != nil {
		return series.Value{}, err
	}
	groups := map[string]*group{}
	if r.Op == "quantile_over_time" && len(tables) > 0 {
		err = e.quantile(r, g, tables, groups)
	} else {
		err = e.collectAll(r, g, tables, groups)
	}
	if err != nil {
		return series.Value{}, err
	}
	out := make([]*series.Series, 0, len(groups))
	for _, of := range groups {
		made, err := e.seriesOf(of, r)
		if err != nil {
			return series.Value{}, err
		}
		out = append(out, made)
	}
	if r.Op == "absent_over_time" {
		out = []*series.Series{absent(r, out, e.steps.N)}
	}
	return series.Value{Series: out}, nil
}

// maxJoined limits the work of a quantile: the number of rows, each counted once for each step that it belongs to.
const maxJoined = 50_000_000

// quantile computes quantiles over the entries of all tables together: quantiles of parts cannot be merged.
func (e *evaluator) quantile(r *logql.Range, g *logql.Grouping, tables []*translate.Table, groups map[string]*group,
) error {
	if err := e.checkQuantile(r); err != nil {
		return err
	}
	s, err := translate.Quantiles(tables, r, g, e.steps)
	switch {
	case err != nil:
		return err
	case s.Unnamed:
		return e.collectAll(r, g, tables, groups)
	}
	return e.collect(r, s, groups)
}

// checkQuantile refuses a quantile that would take too long.
func (e *evaluator) checkQuantile(r *logql.Range) error {
	times := int64(r.Range) / max(e.steps.Step, 1)
	if e.steps.N == 1 || times <= 1 {
		return nil
	}
	count := &logql.Range{Op: "count_over_time", Log: r.Log, Range: r.Range, Offset: r.Offset}
	whole := translate.Steps{Start: e.steps.Last(), Step: 1, N: 1}
	count.Range += moment(e.steps.Last()).Sub(moment(e.steps.Start))
	other := &evaluator{r: e.r, ctx: e.ctx, steps: whole, memory: e.memory}
	v, err := other.rangeOf(count, &logql.Grouping{})
	if err != nil || len(v.Series) == 0 {
		return err
	}
	if rows := v.Series[0].Values[0]; rows*float64(times) > maxJoined {
		return errs.New(errs.InvalidArguments, "quantile_over_time over %.0f entries with a range of %d steps counts each "+
			"entry %d times, and at most %d are possible together: use a longer step or a shorter range", rows, times, times,
			maxJoined)
	}
	return nil
}

// collectAll adds the numbers of all tables to groups.
func (e *evaluator) collectAll(r *logql.Range, g *logql.Grouping, tables []*translate.Table, groups map[string]*group,
) error {
	for _, t := range tables {
		s, err := t.Samples(r, g, e.steps)
		if err == nil && s.Unnamed {
			err = e.extract(r, g, t, s.Where, groups)
		} else if err == nil {
			err = e.collect(r, s, groups)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// collect runs a statement and adds its numbers to groups.
func (e *evaluator) collect(r *logql.Range, s *translate.Samples, groups map[string]*group) error {
	return e.r.run(e.ctx, s.SQL, func(_ context.Context, rec arrow.RecordBatch) error {
		read, err := newReading(s, rec)
		if err != nil {
			return err
		}
		for row := range int(rec.NumRows()) {
			labels, p := read.row(row)
			if p.bad > 0 {
				return notNumbers(r, p.bad)
			}
			of, err := e.group(groups, series.Key(labels), func() map[string]string { return labels })
			if err == nil {
				err = e.countPart()
			}
			if err != nil {
				return err
			}
			of.parts = append(of.parts, p)
		}
		return nil
	})
}

func notNumbers(r *logql.Range, n float64) error {
	return errs.New(errs.InvalidArguments, "pipeline error: 'SampleExtractionErr': %.0f values of the label %s are not "+
		"numbers. To skip them, add | __error__=\"\" after unwrap", n, r.Unwrap.Name)
}

// group returns the group with a key. If there is none, it adds one with the given labels.
func (e *evaluator) group(groups map[string]*group, key string, labels func() map[string]string) (*group, error) {
	if of := groups[key]; of != nil {
		return of, nil
	}
	if err := e.countSeries(&e.read, key); err != nil {
		return nil, err
	}
	of := &group{labels: labels()}
	groups[key] = of
	return of, nil
}

// reading decodes the rows of a statement.
type reading struct {
	s       *translate.Samples
	labels  []func(int) string
	numbers []func(int) float64
	whole   []*array.Int64
}

func newReading(s *translate.Samples, rec arrow.RecordBatch) (*reading, error) {
	r := &reading{s: s}
	n := len(s.Names)
	for i := range n {
		column := rec.Column(i)
		read := format.Text(column)
		r.labels = append(r.labels, func(row int) string {
			if read == nil || format.IsNull(column, row) {
				return ""
			}
			return read(row)
		})
	}
	for i := n; i < int(rec.NumCols()); i++ {
		switch column := rec.Column(i).(type) {
		case *array.Int64:
			r.whole = append(r.whole, column)
			r.numbers = append(r.numbers, func(row int) float64 { return float64(column.Value(row)) })
		case *array.Float64:
			r.whole = append(r.whole, nil)
			r.numbers = append(r.numbers, func(row int) float64 {
				if column.IsNull(row) {
					return math.NaN()
				}
				return column.Value(row)
			})
		default:
			return nil, errs.New(errs.Internal, "read numbers: column %d has type %s", i, column.DataType())
		}
	}
	return r, nil
}

// row returns the labels and numbers of a row.
func (r *reading) row(row int) (map[string]string, part) {
	labels := map[string]string{}
	for i, name := range r.s.Names {
		if v := r.labels[i](row); v != "" {
			labels[name] = strings.Clone(v) // the batch is reused
		}
	}
	p := part{first: int(r.whole[0].Value(row)), last: int(r.whole[1].Value(row))}
	for i, name := range r.s.Columns {
		v := r.numbers[i+2](row)
		switch name {
		case "n":
			p.n = v
		case "sum":
			p.sum = v
		case "value":
			p.value = v
		case "mean":
			p.mean = v
		case "variance":
			p.m2 = v
		case "at":
			p.at = r.whole[i+2].Value(row)
		case "bad":
			p.bad = v
		}
	}
	p.m2 *= p.n
	return labels, p
}

// absent returns the series of absent_over_time: 1 at the steps at which there is no entry.
func absent(r *logql.Range, in []*series.Series, steps int) *series.Series {
	labels := map[string]string{}
	for _, m := range r.Log.Matchers {
		if m.Op == "=" && m.Value != "" {
			labels[m.Name] = m.Value
		}
	}
	out := series.New(labels, steps)
	for i := range steps {
		if !slices.ContainsFunc(in, func(s *series.Series) bool { return s.Has[i] }) {
			out.Set(i, 1)
		}
	}
	return out
}
