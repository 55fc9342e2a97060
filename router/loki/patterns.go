package loki

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/explore/budget"
	"cordwood/router/explore/patterns"
	"cordwood/router/explore/scope"
	"cordwood/router/loki/logql"
	"cordwood/router/loki/translate"
	"cordwood/router/query/format"
)

// Pattern is a common pattern of lines.
type Pattern struct {
	// Text is a line with <_> in place of its variable parts.
	Text  string
	Level string
	// Samples has the number of lines for each step with lines. Times are in seconds since 1970.
	Samples []Sample
	total   int64
	merged  *patterns.Merged
}

// Sample is the number of lines in the step that starts at Seconds.
type Sample struct{ Seconds, Count int64 }

// The limits of patterns: how many are returned, how many lines one must have, and how many rows of all tables are read
// at most.
const (
	maxPatterns    = 300
	minLines       = 3
	maxPatternRows = 400_000
)

// Patterns returns the most frequent patterns of lines for each level. step is the time between samples. If there are
// many lines, the counts are estimated from some of them.
func (r *Reader) Patterns(ctx context.Context, q *logql.Log, span Span, step time.Duration) ([]*Pattern, error) {
	tables, err := r.tables(ctx, q.Matchers)
	if err != nil {
		return nil, err
	}
	f := &finder{reader: r, step: int64(step), merger: &patterns.Merger{}, found: map[string]*Pattern{}}
	f.most = maxPatternRows / max(1, len(tables))
	for _, t := range tables {
		if err := f.read(ctx, t, q, span); err != nil {
			return nil, err
		}
	}
	return f.patterns(), nil
}

// finder finds patterns.
type finder struct {
	reader *Reader
	step   int64
	most   int // rows of each table
	merger *patterns.Merger
	found  map[string]*Pattern
	all    []*Pattern
}

// sample returns where to read the rows of a table from, the condition for them, and the factor by which their counts
// have to be multiplied. If there are many rows, it selects some time slices.
func (f *finder) sample(ctx context.Context, t *translate.Table,
	span Span,
) (from, where string, by float64, err error) {
	extents, err := f.reader.service.source.Extents(ctx, []*schema.Table{t.Def})
	if err != nil {
		return "", "", 0, err
	}
	rowsOf := &scope.Table{Def: t.Def, Condition: "TRUE"}
	s := &scope.Scope{
		Database: t.Def.Database, Tables: []*scope.Table{rowsOf},
		Range: scope.Range{From: moment(span.Start), To: moment(span.End)},
	}
	rows := budget.Estimate(s, extents).Rows
	if sample, ok := budget.NewSample(s, extents, budget.SampleRows); ok {
		return sample.From(rowsOf), sample.Condition(rowsOf), float64(rows) / float64(min(budget.SampleRows, rows)), nil
	}
	return t.From(), "TRUE", 1, nil
}

func (f *finder) read(ctx context.Context, t *translate.Table, q *logql.Log, span Span) error {
	compiled, err := t.Compile(q)
	if err != nil {
		return err
	}
	from, part, by, err := f.sample(ctx, t, span)
	if err != nil {
		return err
	}
	level, err := compiled.Label(translate.LevelLabel)
	if err != nil {
		return err
	}
	line, err := compiled.Line()
	if err != nil {
		return err
	}
	step := strconv.FormatInt(f.step, 10)
	sql := "SELECT " + patterns.Mask(line) + ", " + level + ", epoch_ns(" + t.Time() + ") // " + step +
		", CAST(count(*) AS BIGINT) FROM " + from +
		where(within(t, span), compiled.Where(), []string{part}) + " GROUP BY 1, 2, 3 ORDER BY 4 DESC" +
		limitOf(f.most)
	return f.reader.run(ctx, sql, func(_ context.Context, rec arrow.RecordBatch) error {
		masks, levels := format.Text(rec.Column(0)), format.Text(rec.Column(1))
		at, ok := rec.Column(2).(*array.Int64)
		counts, also := rec.Column(3).(*array.Int64)
		if masks == nil || levels == nil || !ok || !also {
			return errs.New(errs.Internal, "find patterns: the answer has the types %s", rec.Schema())
		}
		for row := range int(rec.NumRows()) {
			f.add(masks(row), levels(row), at.Value(row)*f.step/int64(time.Second), int64(float64(counts.Value(row))*by+.5))
		}
		return nil
	})
}

// add adds the count of the lines with a mask.
func (f *finder) add(mask, level string, seconds, count int64) {
	if strings.TrimSpace(mask) == "" {
		return
	}
	merged := f.merger.Add(strings.Clone(mask))
	if merged == nil {
		return
	}
	key := strconv.Itoa(merged.Number()) + " " + level
	p := f.found[key]
	if p == nil {
		p = &Pattern{Level: strings.Clone(level), merged: merged}
		f.found[key], f.all = p, append(f.all, p)
	}
	p.total += count
	p.Samples = append(p.Samples, Sample{seconds, count})
}

// patterns returns the most frequent patterns.
func (f *finder) patterns() []*Pattern {
	out := slices.DeleteFunc(f.all, func(p *Pattern) bool { return p.total < minLines })
	slices.SortFunc(out, func(a, b *Pattern) int { return cmp.Compare(b.total, a.total) })
	out = out[:min(len(out), maxPatterns)]
	for _, p := range out {
		p.Text = strings.ReplaceAll(p.merged.Text(), patterns.Hole, "<_>")
		for strings.Contains(p.Text, "<_><_>") {
			p.Text = strings.ReplaceAll(p.Text, "<_><_>", "<_>")
		}
		slices.SortFunc(p.Samples, func(a, b Sample) int { return cmp.Compare(a.Seconds, b.Seconds) })
		samples := p.Samples[:0]
		for _, s := range p.Samples {
			if n := len(samples); n > 0 && samples[n-1].Seconds == s.Seconds {
				samples[n-1].Count += s.Count
			} else {
				samples = append(samples, s)
			}
		}
		p.Samples = samples
	}
	return out
}
