package loki

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cordwood/router/loki/lines"
	"cordwood/router/loki/logql"
	"cordwood/router/loki/series"
	"cordwood/router/loki/translate"
)

// compareSeries compares a range aggregation without by, whose series have all labels of the entries: a count at one
// time, and an aggregation of numbers over ranges.
func (s *server) compareSeries(t *testing.T, g *generator, q *logql.Log, want []*lines.Entry) {
	t.Helper()
	text := q.String()
	r := &logql.Range{Op: "count_over_time", Log: q, Range: time.Duration(s.end - s.begin + 1)}
	once := translate.Steps{Start: s.end, Step: 1, N: 1}
	s.compareRange(t, r, once, want, func(*lines.Entry) (float64, bool) { return 1, true },
		func(list []float64) float64 { return float64(len(list)) })

	label := g.of("status", "n", "user_id", "x")
	step := time.Duration(1+g.IntN(40)) * 1500 * time.Millisecond
	steps := translate.Steps{Start: s.begin, Step: int64(step), N: int((s.end-s.begin)/int64(step)) + 1}
	length := []time.Duration{step, step * 3, step / 2, time.Duration(1+g.IntN(200)) * 700 * time.Millisecond}[g.IntN(4)]
	m, err := logql.Parse(fmt.Sprintf(`%s%s | unwrap %s | __error__="" [%s])`,
		g.of("sum_over_time(", "min_over_time(", "quantile_over_time(0.7, "), text, label, logql.FormatDuration(length)))
	if err != nil {
		t.Fatal(err)
	}
	r = m.(*logql.Range)
	s.compareRange(t, r, steps, want, func(e *lines.Entry) (float64, bool) {
		v, ok := logql.ParseAs(e.Get(label), logql.PlainNumber)
		return v, ok && e.Get("__error__") == ""
	}, func(list []float64) float64 {
		switch r.Op {
		case "quantile_over_time":
			return quantile(list, r.Param)
		case "min_over_time":
			return slices.Min(list)
		}
		return reduce("sum", list)
	})
}

// quantile returns a quantile with interpolation.
func quantile(list []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (sorted[high]-sorted[low])*(at-float64(low))
}

// compareRange compares the series of a range aggregation with those that are computed from the entries.
func (s *server) compareRange(t *testing.T, r *logql.Range, steps translate.Steps, want []*lines.Entry,
	value func(*lines.Entry) (float64, bool), reduced func([]float64) float64,
) {
	t.Helper()
	text := r.String()
	path, params := "query_range", []string{
		"query", text, "start", nanos(steps.Start), "end", nanos(steps.Last()), "step",
		strconv.FormatInt(steps.Step/1e6, 10) + "ms",
	}
	if steps.N == 1 {
		path, params = "query", []string{"query", text, "time", nanos(steps.Start)}
	}
	status, got := s.query(path, params...)
	if !answered(t, text, status, got) {
		return
	}
	expected := map[string]float64{}
	for step := range steps.N {
		at := steps.Start + int64(step)*steps.Step
		bySeries := map[string][]float64{}
		for _, e := range want {
			if v, ok := value(e); ok && e.Nanos > at-int64(r.Range) && e.Nanos <= at {
				key := seriesOf(r, e)
				bySeries[key] = append(bySeries[key], v)
			}
		}
		for key, list := range bySeries {
			expected[fmt.Sprintf("%q at %.3f", key, float64(at/1e6)/1e3)] = reduced(list)
		}
	}
	for _, m := range got.Data.Result {
		if m.Value[0] != nil {
			m.Values = append(m.Values, m.Value)
		}
		for _, v := range m.Values {
			key := fmt.Sprintf("%q at %.3f", series.Key(m.Metric), v[0])
			n, err := strconv.ParseFloat(fmt.Sprint(v[1]), 64)
			w, ok := expected[key]
			if err != nil || !ok || math.Abs(n-w) > 1e-6*max(1, math.Abs(w)) {
				t.Errorf("%s: %s: %v, want %v (%t)", text, key, n, w, ok)
				return
			}
			delete(expected, key)
		}
	}
	for key, w := range expected {
		t.Errorf("%s: %s is missing, want %v", text, key, w)
		return
	}
}

// seriesOf returns the key of the series that an entry belongs to: all labels, and the metadata that the query
// mentions.
func seriesOf(r *logql.Range, e *lines.Entry) string {
	labels := map[string]string{}
	for name := range translate.Mentioned(r) {
		if v := e.Metadata[name]; v != "" {
			labels[name] = v
		}
	}
	for _, from := range []map[string]string{e.Parsed, e.Labels} {
		for name, v := range from {
			labels[name] = v
		}
	}
	delete(labels, "__error__")
	if r.Unwrap != nil {
		delete(labels, r.Unwrap.Name)
	}
	return series.Key(labels)
}

// TestExtractedLabels checks the series of range aggregations without by after a parser, as Loki groups them.
func TestExtractedLabels(t *testing.T) {
	t.Parallel()
	s := start(t)
	var entries []sent
	for i := range 60 {
		entries = append(entries, sent{
			line:   fmt.Sprintf("level=%s took=%d user=u%d", []string{"info", "error"}[i%2], i, i%3),
			labels: map[string]string{"app": []string{"web", "api"}[i/30]}, metadata: map[string]string{"trace": "7"},
		})
	}
	s.push(entries, time.Second)
	for _, tt := range []struct{ query, want string }{
		{`count_over_time({app="web"} | logfmt | drop took, user [1h])`, "level=error:15 level=info:15"},
		{`count_over_time({app="web"} | logfmt | drop took, level | user="u1" [1h])`, "user=u1:10"},
		{`max_over_time({app="web"} | logfmt | unwrap took [1h])`, "level=error user=u0:27 level=error user=u1:25 " +
			"level=error user=u2:29 level=info user=u0:24 level=info user=u1:28 level=info user=u2:26"},
		{`sum_over_time({app="web"} | logfmt | drop user | unwrap took | took > 20 [1h])`, "level=error:125 level=info:100"},
		{`sum without (took, user) (count_over_time({app="web"} | logfmt [1h]))`, "level=error:15 level=info:15"},
		{`sum(quantile_over_time(0.5, {app="web"} | logfmt | __error__="" | unwrap took | __error__="" [1h]))`, ":87"},
		{`count(rate({app=~"web|api"} | logfmt [1h]))`, ":60"},
		{`topk(1, max_over_time({app="web"} | logfmt | unwrap took [1h]))`, "level=error user=u2:29"},
		{`rate({app="web"} | logfmt | drop took, user, level | trace="7" [30s])`, "trace=7:1"},
		{`count_over_time({app="web"} | json | keep app [1h])`, ":30"},
		{`count_over_time({app="web"} | keep app | logfmt | drop took, level [1h])`, "user=u0:10 user=u1:10 user=u2:10"},
	} {
		status, got := s.query("query", "query", tt.query, "time", nanos(s.entries[29].nanos))
		if strings.Contains(tt.query, "api") {
			status, got = s.query("query", "query", tt.query, "time", nanos(s.end))
		}
		var list []string
		for _, m := range got.Data.Result {
			var labels []string
			for _, name := range []string{"level", "user", "trace"} {
				if v := m.Metric[name]; v != "" {
					labels = append(labels, name+"="+v)
				}
			}
			list = append(list, fmt.Sprintf("%s:%v", strings.Join(labels, " "), m.Value[1]))
		}
		slices.Sort(list)
		if text := strings.Join(list, " "); status != http.StatusOK || text != tt.want {
			t.Errorf("%s: %d %s\n%s, want\n%s", tt.query, status, got.Message, text, tt.want)
		}
	}
	status, got := s.query("query", "query", `sum(sum_over_time({app="web"} | logfmt | unwrap user [1h]))`)
	if status != http.StatusBadRequest || !strings.Contains(got.Message, "'SampleExtractionErr': 30 values") {
		t.Errorf("unwrap of texts: %d %s", status, got.Message)
	}
}

// TestExtractedLimit checks that a metric with a series for each line is refused.
func TestExtractedLimit(t *testing.T) {
	t.Parallel()
	s := start(t)
	var entries []sent
	for i := range 700 {
		entries = append(entries, sent{line: fmt.Sprintf("id=%d", i), labels: map[string]string{"app": "web"}})
	}
	s.push(entries, time.Second)
	status, got := s.query("query", "query", `rate({app="web"} | logfmt [1h])`)
	if status != http.StatusBadRequest || !strings.Contains(got.Message, "maximum number of series (500) reached") {
		t.Errorf("%d %s", status, got.Message)
	}
	if status, got = s.query("query", "query", `count(rate({app="web"} | logfmt [1h]))`); status != http.StatusOK ||
		len(got.Data.Result) != 1 || got.Data.Result[0].Value[1] != "700" {
		t.Errorf("%d %v", status, got)
	}
}

// TestQuantileOfTables checks a quantile over the entries of several tables, which have different labels.
func TestQuantileOfTables(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.sql("CREATE TABLE web (ts TIMESTAMP(9) TIME INDEX, host STRING, app STRING, took DOUBLE, message STRING, " +
		"PRIMARY KEY (host, app))")
	s.sql("CREATE TABLE api (ts TIMESTAMP(3) TIME INDEX, host STRING, took BIGINT, message STRING, PRIMARY KEY (host))")
	begin := time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)
	random := rand.New(rand.NewPCG(7, 7))
	var all []float64
	byApp := map[string][]float64{}
	insert := map[string][]string{}
	for i := range 200 {
		v := float64(random.IntN(1000))
		at := begin.Add(time.Duration(i) * time.Second).Format("2006-01-02 15:04:05")
		host := fmt.Sprint("h", i%2)
		switch i % 3 {
		case 0:
			insert["api"] = append(insert["api"], fmt.Sprintf("('%s', '%s', %g, 'took=%g')", at, host, v, v))
			byApp[""] = append(byApp[""], v)
		default:
			insert["web"] = append(insert["web"], fmt.Sprintf("('%s', '%s', 'a', %g, 'took=%g')", at, host, v, v))
			byApp["a"] = append(byApp["a"], v)
		}
		all = append(all, v)
	}
	for table, rows := range insert {
		s.sql("INSERT INTO " + table + " VALUES " + strings.Join(rows, ", "))
	}
	end := begin.Add(200 * time.Second)
	medians := map[string]float64{"": quantile(byApp[""], 0.5), "a": quantile(byApp["a"], 0.5)}
	for query, want := range map[string]map[string]float64{
		`quantile_over_time(0.9, {host=~"h.*"} | unwrap took [5m]) by ()`:                   {"": quantile(all, 0.9)},
		`quantile_over_time(0.25, {host=~"h.*"} | logfmt x="took" | unwrap x [5m]) by ()`:   {"": quantile(all, 0.25)},
		`quantile_over_time(0.5, {host=~"h.*"} | unwrap took [5m]) by (app)`:                medians,
		`quantile_over_time(0.5, {host=~"h.*"} | unwrap took [5m]) without (host)`:          medians,
		`quantile_over_time(0.5, {host=~"h.*"} | logfmt | unwrap took [5m]) without (host)`: medians,
		`avg without (host, table, service_name) (quantile_over_time(0, {host=~"h.*"} | unwrap took [5m]) by (app))`: {
			"": slices.Min(byApp[""]), "a": slices.Min(byApp["a"]),
		},
	} {
		for _, steps := range []string{"200", "50"} {
			status, got := s.query("query_range", "query", query, "start", nanos(begin.UnixNano()), "end",
				nanos(end.UnixNano()), "step", steps)
			if status != http.StatusOK || len(got.Data.Result) != len(want) {
				t.Errorf("%s: %d %s %v", query, status, got.Message, got.Data.Result)
				continue
			}
			for _, m := range got.Data.Result {
				last := m.Values[len(m.Values)-1]
				if n, _ := strconv.ParseFloat(fmt.Sprint(last[1]), 64); math.Abs(n-want[m.Metric["app"]]) > 1e-9 {
					t.Errorf("%s: %v is %v, want %v", query, m.Metric, last, want)
				}
			}
		}
	}
}
