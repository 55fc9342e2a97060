package loki

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/loki/logql"
	"cordwood/router/loki/series"
	"cordwood/router/loki/translate"
)

// Volume is a request for the number of bytes in lines.
type Volume struct {
	Query *logql.Log
	Span
	// Steps are the ends of the ranges to count; each range is one step long. If it is nil, the whole time is one
	// range.
	Steps *translate.Steps
	// Labels are the labels to group by. If it is empty, they are the labels of the selector.
	Labels []string
	// ByName counts, for each label, the bytes of the entries that have it with any value.
	ByName bool
	Limit  int
}

// Volume returns the number of bytes in lines for each label set, the largest first.
func (r *Reader) Volume(ctx context.Context, v *Volume) ([]*series.Series, error) {
	steps := translate.Steps{Start: v.End - 1, Step: 1, N: 1}
	length := time.Duration(v.End - v.Start)
	if v.Steps != nil {
		steps, length = *v.Steps, time.Duration(v.Steps.Step)
	}
	if steps.N > MaxSteps {
		return nil, errs.New(errs.InvalidArguments, "exceeded maximum resolution of 11,000 points per time series. Try "+
			"increasing the value of the step parameter")
	}
	if length <= 0 {
		return nil, nil
	}
	e := &evaluator{r: r, ctx: ctx, steps: steps}
	of := &logql.Range{Op: "bytes_over_time", Log: &logql.Log{Matchers: v.Query.Matchers}, Range: length}
	out, err := e.volume(of, v)
	if err != nil {
		return nil, err
	}
	size := func(s *series.Series) (sum float64) {
		for _, n := range s.Values {
			sum += n
		}
		return sum
	}
	slices.SortStableFunc(out, func(a, b *series.Series) int { return cmp.Compare(size(b), size(a)) })
	return out[:min(len(out), v.Limit)], nil
}

// volume returns the bytes for each label set.
func (e *evaluator) volume(of *logql.Range, v *Volume) ([]*series.Series, error) {
	names := v.Labels
	if len(names) == 0 {
		for i := range v.Query.Matchers {
			names = append(names, v.Query.Matchers[i].Name)
		}
	}
	if v.ByName && len(v.Labels) == 0 {
		tables, err := e.r.tables(e.ctx, v.Query.Matchers)
		if err != nil {
			return nil, err
		}
		all := map[string]bool{}
		for _, t := range tables {
			for _, n := range t.LabelNames() {
				all[n] = true
			}
		}
		names = slices.Sorted(maps.Keys(all))
	}
	if !v.ByName {
		return e.bytes(of, names)
	}
	var out []*series.Series
	for _, name := range names {
		log := &logql.Log{Matchers: append(slices.Clone(of.Log.Matchers), logql.Matcher{Name: name, Op: "!="})}
		one := *of
		one.Log = log
		found, err := e.bytes(&one, nil)
		if err != nil {
			return nil, err
		}
		for _, s := range found {
			s.Labels = map[string]string{name: ""}
			out = append(out, s)
		}
	}
	return out, nil
}

// bytes returns the bytes grouped by labels.
func (e *evaluator) bytes(of *logql.Range, names []string) ([]*series.Series, error) {
	slices.Sort(names)
	names = slices.Compact(names)
	if len(of.Log.Matchers) == 0 { // an empty selector is allowed here
		of.Log = &logql.Log{Matchers: []logql.Matcher{{Name: translate.TableLabel, Op: "!="}}}
	} else if err := of.Log.RequireMatcher(); err != nil {
		of.Log = &logql.Log{Matchers: append(slices.Clone(of.Log.Matchers), logql.Matcher{
			Name: translate.TableLabel, Op: "!=",
		})}
	}
	v, err := e.rangeOf(of, &logql.Grouping{Names: names})
	out := series.Sorted(v.Series)
	if len(out) > MaxVolumes && err == nil {
		err = tooManySeries(MaxVolumes)
	}
	return out, err
}

// Size is the amount of data that a selector reads.
type Size struct{ Streams, Chunks, Entries, Bytes int64 }

// Size returns the number of streams, entries and bytes that a selector reads, and the number of segments that have
// them.
func (r *Reader) Size(ctx context.Context, q *logql.Log, span Span) (Size, error) {
	var out Size
	tables, err := r.tables(ctx, q.Matchers)
	if err != nil {
		return out, err
	}
	var defs []*schema.Table
	for _, t := range tables {
		defs = append(defs, t.Def)
		compiled, err := t.Compile(&logql.Log{Matchers: q.Matchers})
		if err != nil {
			return out, err
		}
		var labels []string
		for _, c := range t.Labels {
			sql, err := compiled.Label(c.Label)
			if err != nil {
				return out, err
			}
			labels = append(labels, sql)
		}
		group := ""
		if len(labels) > 0 {
			group = " GROUP BY " + strings.Join(labels, ", ")
		}
		sql := "SELECT CAST(count(*) AS BIGINT), CAST(coalesce(sum(n), 0) AS BIGINT), CAST(coalesce(sum(b), 0) AS BIGINT) " +
			"FROM (SELECT count(*) AS n, sum(strlen(" + t.LineSQL() + ")) AS b FROM " + t.From() +
			where(within(t, span), compiled.Where()) + group + ") AS x WHERE n > 0"
		err = r.run(ctx, sql, func(rec arrow.RecordBatch) error {
			for i, to := range []*int64{&out.Streams, &out.Entries, &out.Bytes} {
				column, ok := rec.Column(i).(*array.Int64)
				if !ok {
					return errs.New(errs.Internal, "read sizes: column %d has type %s", i, rec.Column(i).DataType())
				}
				*to += column.Value(0)
			}
			return nil
		})
		if err != nil {
			return out, err
		}
	}
	if len(defs) == 0 {
		return out, nil
	}
	extents, err := r.service.source.Extents(ctx, defs)
	if err != nil {
		return out, err
	}
	for _, t := range tables {
		e := extents[t.Def.ID]
		if e == nil {
			continue
		}
		for _, s := range e.Segments {
			if timeOf(s.MinTime, t) < span.End && timeOf(s.MaxTime, t) >= span.Start {
				out.Chunks++
			}
		}
	}
	return out, nil
}

// Cardinality is the number of values of a label.
type Cardinality struct {
	Label  string `json:"label"`
	Values int64  `json:"cardinality"`
}

// Cardinalities returns the labels of a selector's entries with the number of their values.
func (r *Reader) Cardinalities(ctx context.Context, q *logql.Log, span Span) ([]Cardinality, error) {
	tables, err := r.tables(ctx, q.Matchers)
	if err != nil {
		return nil, err
	}
	counts := map[string]int64{}
	for _, t := range tables {
		compiled, err := t.Compile(&logql.Log{Matchers: q.Matchers})
		if err != nil {
			return nil, err
		}
		names := t.LabelNames()
		columns := make([]string, len(names))
		for i, name := range names {
			sql, err := compiled.Label(name)
			if err != nil {
				return nil, err
			}
			columns[i] = "CAST(count(DISTINCT nullif(" + sql + ", '')) AS BIGINT)"
		}
		sql := "SELECT " + strings.Join(columns, ", ") + " FROM " + t.From() + where(within(t, span), compiled.Where())
		err = r.run(ctx, sql, func(rec arrow.RecordBatch) error {
			for i, name := range names {
				column, ok := rec.Column(i).(*array.Int64)
				if !ok {
					return errs.New(errs.Internal, "count values: column %d has type %s", i, rec.Column(i).DataType())
				}
				if len(tables) > 1 && name != translate.TableLabel {
					counts[name] = max(counts[name], column.Value(0)) // tables share values
				} else {
					counts[name] += column.Value(0)
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	out := []Cardinality{}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if counts[name] > 0 {
			out = append(out, Cardinality{name, counts[name]})
		}
	}
	return out, nil
}

// timeOf converts a value of a time index to nanoseconds. Times out of range become the nearest representable time.
func timeOf(v int64, t *translate.Table) int64 {
	unit := 1_000_000_000 / t.Def.TimeIndex().Type.UnitsPerSecond()
	const most = 1<<63 - 1
	switch {
	case v > most/unit:
		return most
	case v < -most/unit:
		return -most
	}
	return v * unit
}
