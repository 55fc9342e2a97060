package loki

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cordwood/router/loki/lines"
	"cordwood/router/loki/logql"
	"cordwood/router/loki/series"
)

// generator makes random entries and queries.
type generator struct{ *rand.Rand }

func (g *generator) of(list ...string) string { return list[g.IntN(len(list))] }

var words = []string{
	"error", "info", "GET", "timeout", "user 7", "ünï", "a.b", "x=y", `say "hi"`, "WARN", "c:\\dir",
	"0",
}

func (g *generator) word() string { return g.of(words...) }

func (g *generator) number() string {
	return g.of("1", "200", "404", "1.5", "0.25", "-3", "1e3", "7ms", "1h30m", "2.5s", "10KB", "3MiB", "12", "x", "")
}

// fraction returns a number as JSON may spell it. A label has the same digits.
func (g *generator) fraction() string {
	return g.of("7", "-3", "1.50", "1.5", "2e3", "2000.00", "0.125", "-0.0", "1.0E+2", "12345678901234567890.10")
}

func (g *generator) line() string {
	switch g.IntN(4) {
	case 0:
		return fmt.Sprintf(`{"level":%q,"status":%d,"msg":%q,"user":{"id":%d,"name":%q},"took":%q,"ok":%t,`+
			`"tags":[%s,"a"],"n":%s,"none":null}`,
			g.of("info", "error", "warn"), g.IntN(3)*100+200, g.word(), g.IntN(3), g.word(), g.number(), g.IntN(2) == 0,
			g.fraction(), g.fraction())
	case 1:
		return fmt.Sprintf("level=%s status=%d msg=%s took=%s empty= app=%s", g.of("info", "error"), g.IntN(3)*100+200,
			strconv.Quote(g.word()), g.number(), g.word())
	case 2:
		return fmt.Sprintf("10.0.0.%d - %s [%s] %q %s", g.IntN(3), g.of("bob", "ann"), g.number(), "GET /x", g.number())
	}
	return g.of("", `{"broken":`, `"text"`, `[1]`, "plain ERROR text", `a="unclosed b=1`, "\x1b[31mred\x1b[0m",
		"two\nlines",
		`{"_entry":"inner","app":"packed","n":1}`)
}

func (g *generator) entries(n int) []sent {
	out := make([]sent, n)
	for i := range out {
		out[i] = sent{line: g.line(), labels: map[string]string{"app": g.of("web", "api"), "env": g.of("prod", "dev")}}
		if g.IntN(2) == 0 {
			out[i].metadata = map[string]string{"trace_id": g.of("1", "2"), "status": g.of("200", "x")}
		}
	}
	return out
}

func (g *generator) label() string {
	return g.of("app", "env", "level", "status", "msg", "took", "user_id", "user_name", "n", "ok", "trace_id",
		"app_extracted",
		"detected_level", "ip", "who", "rest", "nothing", "service_name", "empty", "x")
}

func (g *generator) matcher() string {
	return g.of("=", "!=", "=~", "!~") + strconv.Quote(g.of("", "web", "error", "200", "1", "info|error", "x", "ann"))
}

func (g *generator) condition(depth int) string {
	switch {
	case depth > 0 && g.IntN(4) == 0:
		return "(" + g.condition(depth-1) + g.of(" and ", " or ") + g.condition(depth-1) + ")"
	case g.IntN(2) == 0:
		return g.label() + g.matcher()
	}
	return g.label() + g.of(" > ", " >= ", " < ", " <= ", " = ", " != ") + g.of("1", "200", "1.5", "7ms", "1h", "10KB",
		"1MiB")
}

func (g *generator) template() string {
	return strconv.Quote(g.of("{{.msg}}", "{{.app}}-{{.level | ToUpper}}", "{{ __line__ | trunc 5 }}",
		"{{.took | default \"none\"}}",
		"{{ .msg | replace \"e\" \"3\" }}!", "{{TrimPrefix .level \"in\"}}", "{{.user_name | TrimSpace | trunc -3}}", "text",
		"{\"a\":\"{{.level}}\"}", "{{ printf \"%s\" .status }}",
		"{{ contains \"e\" __line__ }}", "{{ .app | hasPrefix \"w\" }}{{hasSuffix \"0\" .status}}"))
}

func (g *generator) stage() string {
	switch g.IntN(16) {
	case 0, 1:
		return g.of("|=", "!=") + " " + strconv.Quote(g.word())
	case 2:
		return g.of("|~", "!~") + " " + strconv.Quote(g.of("(?i)ERR", "user \\d", "^level", "a.b", "x$", ""))
	case 3:
		return g.of("|>", "!>") + " " + strconv.Quote(g.of("level=<_> status=<_>", "<_>took<_>", "10.0.0.<_> - bob <_>",
			"a<_>b", "<_>e<_>", "<_>=<_> <_>=<_>", "<_> <_>", "level=<_>e<_>s<_>", ""))
	case 4, 5:
		return "| json" + g.of("", "", "", " != \"GET\"", " !~ \"WARN\"")
	case 6, 7:
		return "| logfmt" + g.of("", "", " --strict", " != \"error\"")
	case 8:
		return "| json " + g.of(`x="user.id"`, `x="tags[0]", ok`, `x="user"`)
	case 9:
		return "| pattern " + strconv.Quote(g.of("<ip> - <who> [<x>] <rest>", "level=<level> <rest>", "<_> <x> <_>"))
	case 10:
		return "| regexp " + strconv.Quote(g.of(`(?P<ip>\d+\.\d+\.\d+\.\d+) - (?P<who>\w+)`, `status=(?P<x>\d+)`))
	case 11:
		return "| line_format " + g.template()
	case 12:
		return "| label_format " + g.of("x="+g.template(), "x=level", "level=msg, y=app", "status=x", "app=who, msg=nothing")
	case 13:
		return "| " + g.of("drop level, app", "drop status=\"200\"", "drop __error__", "keep app, status",
			"keep level=~\"e.*\", msg")
	case 14:
		return g.of("| unpack", "| decolorize", "| __error__=\"\"", "| __error__!=\"\"")
	}
	return "| " + g.condition(2)
}

func (g *generator) log() string {
	q := `{table="loki_logs"` + g.of("", `, app="web"`, `, env=~"prod|x"`, `, app!="api"`, `, service_name="web"`,
		`, detected_level="error"`) + "}"
	for range g.IntN(5) {
		q += " " + g.stage()
	}
	return q
}

// naive returns the entries of a query by running its pipeline over all entries.
func (s *server) naive(t *testing.T, q *logql.Log) []*lines.Entry {
	t.Helper()
	p := lines.New(q)
	var out []*lines.Entry
	for i := range s.entries {
		e := s.entries[i].entry("loki_logs")
		selected := true
		for k := range q.Matchers {
			selected = selected && q.Matchers[k].Matches(e.Get(q.Matchers[k].Name))
		}
		if !selected {
			continue
		}
		kept, err := p.Run(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		if kept {
			out = append(out, e)
		}
	}
	return out
}

// TestRandomQueries compares the responses to random queries, which the engine computes from SQL, with the results of
// running the pipelines over all entries. Set LOKI_SEED to repeat a run.
func TestRandomQueries(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64() >> 32
	if text := os.Getenv("LOKI_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("repeat with: LOKI_SEED=%d go test ./test/loki -run TestRandomQueries", seed)
	g := &generator{rand.New(rand.NewPCG(seed, 0))}
	s := start(t)
	s.push(g.entries(400), time.Second)
	rounds := 120
	if testing.Short() {
		rounds = 40
	}
	some := 0
	for round := range rounds {
		text := g.log()
		e, err := logql.Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		q := e.(*logql.Log)
		want := s.naive(t, q)
		if len(want) > 0 {
			some++
		}
		s.compareLines(t, text, want)
		s.compareCounts(t, text, g.label(), want)
		s.compareWindows(t, g, text, want)
		if round%4 == 0 {
			s.compareSeries(t, g, q, want)
		}
		if t.Failed() {
			return
		}
	}
	if some < rounds/4 {
		t.Errorf("only %d of %d queries have entries", some, rounds)
	}
}

// answered reports whether a query has results. It is an error if it has none, unless the server refuses the query
// because its expression would be too large: some random pipelines use a label many times.
func answered(t *testing.T, q string, status int, got *result) bool {
	t.Helper()
	if status != 200 && !strings.Contains(got.Message, "becomes an SQL expression of more than") {
		t.Errorf("%s: %d %s", q, status, got.Message)
	}
	return status == 200
}

// compareLines compares the lines of a response.
func (s *server) compareLines(t *testing.T, q string, want []*lines.Entry) {
	t.Helper()
	status, got := s.query("query_range", "query", q, "start", nanos(s.begin), "end", nanos(s.end), "limit", "5000",
		"direction",
		"forward")
	if !answered(t, q, status, got) {
		return
	}
	var lines []string
	for _, st := range got.Data.Result {
		for _, v := range st.Values {
			lines = append(lines, fmt.Sprintf("%v %q %v", v[0], v[1], st.Stream))
		}
	}
	var expected []string
	for _, e := range want {
		labels := maps.Clone(e.Metadata)
		maps.Copy(labels, e.Parsed)
		maps.Copy(labels, e.Labels)
		expected = append(expected, fmt.Sprintf("%v %q %v", nanos(e.Nanos), e.Line, labels))
	}
	slices.Sort(lines)
	slices.Sort(expected)
	if d := difference(lines, expected); d != "" {
		t.Errorf("%s: lines: %s", q, d)
	}
}

// difference returns the first text that is in only one of the lists.
func difference(got, want []string) string {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return "missing: " + want[i]
		case i >= len(want), got[i] < want[i]:
			return "too many: " + got[i]
		case got[i] > want[i]:
			return "missing: " + want[i]
		}
	}
	return ""
}

// compareCounts compares the counts grouped by a label.
func (s *server) compareCounts(t *testing.T, q, label string, want []*lines.Entry) {
	t.Helper()
	span := time.Duration(s.end - s.begin + 1)
	metric := fmt.Sprintf("sum by (%s) (count_over_time(%s [%s]))", label, q, logql.FormatDuration(span))
	status, got := s.query("query", "query", metric, "time", nanos(s.end))
	if !answered(t, metric, status, got) {
		return
	}
	counts := map[string]int{}
	for _, e := range want {
		counts[e.Get(label)]++
	}
	for _, m := range got.Data.Result {
		v := m.Metric[label]
		if text := fmt.Sprint(m.Value[1]); text != strconv.Itoa(counts[v]) {
			t.Errorf("%s: %q: %s, want %d", metric, v, text, counts[v])
		}
		delete(counts, v)
	}
	for v, n := range counts {
		t.Errorf("%s: %q is missing, want %d", metric, v, n)
	}
}

// compareWindows compares an aggregation over ranges of random lengths.
func (s *server) compareWindows(t *testing.T, g *generator, q string, want []*lines.Entry) {
	t.Helper()
	step := time.Duration(1+g.IntN(40)) * 1500 * time.Millisecond
	length := []time.Duration{step, step * 3, step / 2, time.Duration(1+g.IntN(200)) * 700 * time.Millisecond}[g.IntN(4)]
	ops := []string{"sum", "avg", "min", "max", "stddev", "first", "last"}
	op := ops[g.IntN(len(ops))]
	label := g.label()
	convert, kind := label, logql.PlainNumber
	if g.IntN(2) == 0 {
		convert, kind = "duration("+label+")", logql.Duration
	}
	metric := fmt.Sprintf(`max without (zzz) (%s_over_time(%s | unwrap %s | __error__="" [%s]) by (app))`, op, q, convert,
		logql.FormatDuration(length))
	if op == "sum" {
		metric = fmt.Sprintf(`sum by (app) (sum_over_time(%s | unwrap %s | __error__="" [%s]))`, q, convert,
			logql.FormatDuration(length))
	}
	status, got := s.query("query_range", "query", metric, "start", nanos(s.begin), "end", nanos(s.end), "step",
		fmt.Sprint(step.Seconds()))
	if !answered(t, metric, status, got) {
		return
	}
	expected := map[string]float64{}
	for at := s.begin; at <= s.end; at += int64(step) {
		byApp := map[string][]float64{}
		for _, e := range want {
			if e.Nanos <= at-int64(length) || e.Nanos > at || e.Get("__error__") != "" {
				continue
			}
			if v, ok := logql.ParseAs(e.Get(label), kind); ok {
				byApp[e.Get("app")] = append(byApp[e.Get("app")], v)
			}
		}
		for app, list := range byApp {
			expected[fmt.Sprintf("%s %.3f", app, float64(at/1e6)/1e3)] = reduce(op, list)
		}
	}
	for _, m := range got.Data.Result {
		for _, v := range m.Values {
			key := fmt.Sprintf("%s %.3f", m.Metric["app"], v[0])
			n, err := strconv.ParseFloat(fmt.Sprint(v[1]), 64)
			w, ok := expected[key]
			if err != nil || !ok || math.Abs(n-w) > 1e-6*max(1, math.Abs(w)) {
				t.Errorf("%s step %s: %s: %v, want %v (%t)", metric, step, key, n, w, ok)
				return
			}
			delete(expected, key)
		}
	}
	for key, w := range expected {
		t.Errorf("%s step %s: %s is missing, want %v", metric, step, key, w)
		return
	}
}

// reduce aggregates numbers in the order of time.
func reduce(op string, list []float64) float64 {
	sum := 0.
	for _, v := range list {
		sum += v
	}
	mean := sum / float64(len(list))
	switch op {
	case "sum":
		return sum
	case "avg":
		return mean
	case "min":
		return slices.Min(list)
	case "max":
		return slices.Max(list)
	case "first":
		return list[0]
	case "last":
		return list[len(list)-1]
	}
	squares := 0.
	for _, v := range list {
		squares += (v - mean) * (v - mean)
	}
	return math.Sqrt(squares / float64(len(list)))
}

// TestStreamsAreDistinct checks that a response has each label set only once.
func TestStreamsAreDistinct(t *testing.T) {
	t.Parallel()
	g := &generator{rand.New(rand.NewPCG(1, 1))}
	s := start(t)
	s.push(g.entries(50), time.Second)
	_, got := s.query("query_range", "query", `{app=~".+"} | json`, "limit", "5000")
	seen := map[string]bool{}
	for _, st := range got.Data.Result {
		key := series.Key(st.Stream)
		if seen[key] {
			t.Errorf("twice: %s", strings.ReplaceAll(key, "\x00", "="))
		}
		seen[key] = true
	}
	if len(seen) < 2 {
		t.Errorf("%d streams", len(seen))
	}
}
