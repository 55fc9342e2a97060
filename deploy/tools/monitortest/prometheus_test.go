package monitortest

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// prometheus stores scraped series, and evaluates expressions with Prometheus' own engine. The test
// controls its clock: scrapes are half a minute apart, whatever the real time is.
type prometheus struct {
	engine *promql.Engine
	now    time.Time
	series map[string]*storedSeries // by their labels as text
	alive  map[string][]*storedSeries
}

type storedSeries struct {
	labels  labels.Labels
	samples []chunks.Sample
}

func newPrometheus() *prometheus {
	return &prometheus{
		engine: promql.NewEngine(promql.EngineOpts{
			MaxSamples: 10_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute,
		}),
		now:    time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC),
		series: map[string]*storedSeries{},
		alive:  map[string][]*storedSeries{},
	}
}

// scrape stores the texts of /metrics, by instance, half a minute after the previous scrape. The
// series of a missing instance end, like those of a target that does not answer.
func (p *prometheus) scrape(t *testing.T, pages map[string]string) {
	t.Helper()
	p.now = p.now.Add(30 * time.Second)
	for instance, series := range p.alive {
		if _, ok := pages[instance]; ok {
			continue
		}
		for _, s := range series {
			s.samples = append(s.samples, sample{p.now.UnixMilli(), math.Float64frombits(value.StaleNaN)})
		}
		delete(p.alive, instance)
	}
	for instance, page := range pages {
		p.alive[instance] = p.read(t, instance, page)
	}
}

// read parses one text of /metrics.
func (p *prometheus) read(t *testing.T, instance, page string) []*storedSeries {
	t.Helper()
	lines, err := textparse.New([]byte(page), "text/plain", "", false, false, false, labels.NewSymbolTable())
	if err != nil {
		t.Fatal(err)
	}
	var all []*storedSeries
	for {
		entry, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%s: /metrics: %v", instance, err)
		}
		if entry != textparse.EntrySeries {
			continue
		}
		var l labels.Labels
		lines.Labels(&l)
		l = labels.NewBuilder(l).Set("job", "cordwood").Set("instance", instance).Labels()
		s, ok := p.series[l.String()]
		if !ok {
			s = &storedSeries{labels: l}
			p.series[l.String()] = s
		}
		_, _, v := lines.Series()
		s.samples = append(s.samples, sample{p.now.UnixMilli(), v})
		all = append(all, s)
	}
}

// query evaluates an expression at the current time.
func (p *prometheus) query(t *testing.T, expr string) promql.Vector {
	t.Helper()
	q, err := p.engine.NewInstantQuery(context.Background(), p, nil, expr, p.now)
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	defer q.Close()
	vector, err := q.Exec(context.Background()).Vector()
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	return slices.Clone(vector) // Close reuses the engine's own slice
}

// Querier and the methods below make it a storage for the engine.
func (p *prometheus) Querier(_, _ int64) (storage.Querier, error) { return p, nil }

// Select returns the matching series, sorted if the engine requires it.
func (p *prometheus) Select(
	_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher,
) storage.SeriesSet {
	found := &seriesSet{}
	for _, s := range p.series {
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.labels.Get(m.Name)) }) {
			found.series = append(found.series, storage.NewListSeries(s.labels, s.samples))
		}
	}
	return found
}

func (p *prometheus) LabelValues(
	context.Context, string, *storage.LabelHints, ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	return nil, nil, errors.ErrUnsupported
}

func (p *prometheus) LabelNames(
	context.Context, *storage.LabelHints, ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	return nil, nil, errors.ErrUnsupported
}

func (p *prometheus) Close() error { return nil }

type seriesSet struct {
	series []storage.Series
	at     storage.Series
}

func (s *seriesSet) Next() bool {
	if len(s.series) == 0 {
		return false
	}
	s.at, s.series = s.series[0], s.series[1:]
	return true
}

func (s *seriesSet) At() storage.Series                { return s.at }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

// sample is a value at a time, in milliseconds since 1970.
type sample struct {
	t int64
	f float64
}

func (s sample) T() int64                      { return s.t }
func (s sample) F() float64                    { return s.f }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }
