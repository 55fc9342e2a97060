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
	e := &evaluator{r: r, ctx: ctx, steps: steps, memory: r.service.memory.holding()}
	defer e.memory.release()
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

// volume returns the bytes for each label set, or for each label.
func (e *evaluator) volume(of *logql.Range, v *Volume) ([]*series.Series, error) {
	of.Log = requireTable(of.Log)
	if v.ByName {
		return e.bytesByName(of, v.Labels)
	}
	names := slices.Clone(v.Labels)
	if len(names) == 0 {
		for i := range v.Query.Matchers {
			names = append(names, v.Query.Matchers[i].Name)
		}
	}
	return e.bytes(of, names)
}

// requireTable adds a matcher that all entries meet to a selector that would be refused without it. A volume may be
// asked for everything.
func requireTable(log *logql.Log) *logql.Log {
	if log.RequireMatcher() == nil {
		return log
	}
	all := logql.Matcher{Name: translate.TableLabel, Op: "!="}
	return &logql.Log{Matchers: append(slices.Clone(log.Matchers), all)}
}

// labelsTogether limits the number of labels whose bytes one statement counts.
const labelsTogether = 100

// bytesByName returns the bytes of the entries that have a label, with any value. If no labels are given, it takes all
// indexed labels.
func (e *evaluator) bytesByName(of *logql.Range, names []string) ([]*series.Series, error) {
	tables, err := e.r.tables(e.ctx, of.Log.Matchers)
	if err != nil {
		return nil, err
	}
	found := map[string]*series.Series{}
	for _, t := range tables {
		labels := slices.Compact(slices.Sorted(slices.Values(names)))
		if len(labels) == 0 {
			labels = t.LabelNames()
		}
		for some := range slices.Chunk(labels, labelsTogether) {
			if err := e.addBytes(of, t, some, found); err != nil {
				return nil, err
			}
		}
	}
	return series.Sorted(slices.Collect(maps.Values(found))), nil
}

// addBytes adds the bytes of the entries of a table that have each label to the series of the label.
func (e *evaluator) addBytes(of *logql.Range, t *translate.Table, labels []string, to map[string]*series.Series) error {
	sql, err := t.Volumes(of, labels, e.steps)
	if err != nil {
		return err
	}
	return e.r.run(e.ctx, sql, func(_ context.Context, rec arrow.RecordBatch) error {
		step, ok := rec.Column(0).(*array.Int64)
		if !ok {
			return errs.New(errs.Internal, "read volumes: the steps have type %s", rec.Column(0).DataType())
		}
		for i, name := range labels {
			bytes, ok := rec.Column(i + 2).(*array.Float64)
			if !ok {
				return errs.New(errs.Internal, "read volumes: column %d has type %s", i+2, rec.Column(i+2).DataType())
			}
			for row := range bytes.Len() {
				if bytes.Value(row) == 0 {
					continue
				}
				if to[name] == nil {
					if err := e.countSeries(&e.read, name); err != nil {
						return err
					}
					to[name] = series.New(map[string]string{name: ""}, e.steps.N)
				}
				at := int(step.Value(row)) // ranges of one step do not overlap
				to[name].Set(at, to[name].Values[at]+bytes.Value(row))
			}
		}
		return nil
	})
}

// bytes returns the bytes grouped by labels.
func (e *evaluator) bytes(of *logql.Range, names []string) ([]*series.Series, error) {
	slices.Sort(names)
	names = slices.Compact(names)
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
		sql, err := sizeSQL(t, q, span)
		if err != nil {
			return out, err
		}
		err = r.run(ctx, sql, func(_ context.Context, rec arrow.RecordBatch) error {
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

// sizeSQL returns the statement that counts the streams, the entries and the bytes of a table that a selector reads.
func sizeSQL(t *translate.Table, q *logql.Log, span Span) (string, error) {
	compiled, err := t.Compile(&logql.Log{Matchers: q.Matchers})
	if err != nil {
		return "", err
	}
	var labels []string
	for _, c := range t.Labels {
		sql, err := compiled.Label(c.Label)
		if err != nil {
			return "", err
		}
		labels = append(labels, sql)
	}
	group := ""
	if len(labels) > 0 {
		group = " GROUP BY " + strings.Join(labels, ", ")
	}
	return "SELECT CAST(count(*) AS BIGINT), CAST(coalesce(sum(n), 0) AS BIGINT), CAST(coalesce(sum(b), 0) AS BIGINT) " +
		"FROM (SELECT count(*) AS n, sum(strlen(" + t.LineSQL() + ")) AS b FROM " + t.From() +
		where(within(t, span), compiled.Where()) + group + ") AS x WHERE n > 0", nil
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
		err = r.run(ctx, sql, func(_ context.Context, rec arrow.RecordBatch) error {
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
