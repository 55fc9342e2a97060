package loki

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// linesWithTimes returns the entries of an answer as times and lines, in the order of the answer's streams.
func linesWithTimes(r *result) (list []string) {
	for _, s := range r.Data.Result {
		for _, v := range s.Values {
			list = append(list, fmt.Sprint(v[0], " ", v[1]))
		}
	}
	return list
}

// TestSplitQueries sends the parts into which Explore splits the range of a query, and compares them with the whole:
// for entries, a part ends where the next one begins; for metrics, it ends a step before the next one begins, and the
// first one begins at a multiple of the step.
func TestSplitQueries(t *testing.T) {
	t.Parallel()
	s := start(t)
	var entries []sent
	for i := range 500 {
		entries = append(entries, sent{line: fmt.Sprintf("n=%d", i), labels: map[string]string{"app": "web"}})
	}
	s.push(entries, 700*time.Millisecond)
	begin, end, part := s.begin/1e6*1e6, s.end/1e6*1e6, int64(60*time.Second)
	ask := func(query string, from, to int64, more ...string) *result {
		t.Helper()
		params := append([]string{"query", query, "start", nanos(from), "end", nanos(to), "limit", "1000"}, more...)
		status, got := s.query("query_range", params...)
		if status != http.StatusOK {
			t.Fatalf("%q: %d %s", params, status, got.Message)
		}
		return got
	}
	for _, direction := range []string{"forward", "backward"} {
		var parts []string
		for at := end; at > begin; at -= part {
			parts = append(parts, linesWithTimes(ask(`{app="web"}`, max(at-part, begin), at, "direction", direction))...)
		}
		whole := linesWithTimes(ask(`{app="web"}`, begin, end, "direction", direction))
		slices.Sort(parts)
		slices.Sort(whole)
		if len(whole) < 490 || !slices.Equal(parts, whole) {
			t.Errorf("%s: the parts have %d entries, and the whole has %d", direction, len(parts), len(whole))
		}
	}
	const step = int64(7 * time.Second)
	points := func(r *result) (list []string) {
		for _, x := range r.Data.Result {
			for _, v := range x.Values {
				list = append(list, fmt.Sprint(x.Metric, v[0], v[1]))
			}
		}
		return list
	}
	for _, query := range []string{
		`sum by (app) (count_over_time({app="web"}[7s]))`, `max_over_time({app="web"} | logfmt | unwrap n [30s]) by (app)`,
		`quantile_over_time(0.9, {app="web"} | logfmt | unwrap n [30s]) by (app)`,
	} {
		first, length := begin-begin%step, part/step*step
		var parts []string
		for at := first; at < end; at += length {
			parts = append(parts, points(ask(query, at, min(at+length-step, end), "step", "7000ms"))...)
		}
		if whole := points(ask(query, first, end, "step", "7000ms")); len(whole) < 40 || !slices.Equal(parts, whole) {
			t.Errorf("%s: the parts have %d numbers\n%q\nand the whole has %d\n%q", query, len(parts), parts, len(whole), whole)
		}
	}
}

// TestContext sends the requests for the lines around a line: those before it, which end at its time, and those from
// its time on.
func TestContext(t *testing.T) {
	t.Parallel()
	s := start(t)
	var entries []sent
	for i := range 40 {
		app := []string{"web", "api"}[i%2]
		entries = append(entries, sent{
			line: fmt.Sprintf("level=info n=%d", i), labels: map[string]string{"app": app},
			metadata: map[string]string{"trace": strconv.Itoa(i)},
		})
	}
	s.push(entries, time.Second)
	at := s.entries[20].nanos
	const buffer = int64(2 * time.Hour)
	ask := func(query, direction string, from, to int64) []string {
		t.Helper()
		status, got := s.query("query_range", "query", query, "direction", direction, "limit", "3", "start", nanos(from),
			"end", nanos(to), "step", "28800ms")
		if status != http.StatusOK {
			t.Fatalf("%s: %d %s", query, status, got.Message)
		}
		var list []string
		for _, text := range linesWithTimes(got) {
			list = append(list, text[strings.Index(text, "n="):])
		}
		return list
	}
	for _, query := range []string{
		`{app="web",service_name="web",table="loki_logs"}`, `{app="web"} | logfmt`, `{app="web"} | logfmt | level="info"`,
	} {
		before, after := ask(query, "backward", at-buffer, at), ask(query, "forward", at, at+buffer)
		if got := fmt.Sprint(before, after); got != "[n=18 n=16 n=14] [n=20 n=22 n=24]" {
			t.Errorf("%s: %s", query, got)
		}
	}
}

// TestFilters sends the filters that Explore and dashboards add to a query: on labels in the selector, on structured
// metadata and on parsed labels in the pipeline. The query has each filter in the form in which Grafana writes it.
func TestFilters(t *testing.T) {
	t.Parallel()
	s := start(t)
	var entries []sent
	for i := range 12 {
		entries = append(entries, sent{
			line:     fmt.Sprintf(`{"status":%d,"path":"/a\\b \"%d\"","nested":{"id":%d}}`, 200+i%3, i%2, i),
			labels:   map[string]string{"app": "web", "env": []string{"prod", "test"}[i%2]},
			metadata: map[string]string{"trace_id": fmt.Sprintf("%016x", i%4)},
		})
	}
	s.push(entries, time.Second)
	for query, want := range map[string]int{
		"{app=\"web\", env=\"prod\"}":                                       6,
		"{app=\"web\", env!=\"prod\"}":                                      6,
		"{app=\"web\", env=~\"prod|test\"}":                                 12,
		"{app=\"web\"} | trace_id=`0000000000000001`":                       3,
		"{app=\"web\"} | trace_id!=`0000000000000001` | trace_id=~`.*2`":    3,
		"{app=\"web\"} | json | status=`200`":                               4,
		"{app=\"web\"} | json | status=`200` | trace_id=`0000000000000000`": 1,
		"{app=\"web\"} | json | status>`200`":                               -1, // Grafana writes numbers without quotes
		"{app=\"web\"} | json | status>200":                                 8,
		"{app=\"web\"} | json | nested_id=`7`":                              1,
		"{app=\"web\"} | json | path=`/a\\b \"1\"`":                         6,
		"{app=\"web\"} | json | path=\"/a\\\\b \\\"1\\\"\"":                 6,
		"{app=\"web\"} | json | line_format `{{.status}}` |= `201`":         4,
		"{app=\"web\"} | drop __error__ | env=`prod`":                       6,
		"{app=\"web\", detected_level=\"unknown\"}":                         12,
		"{app=\"web\"} | detected_level=`unknown` or detected_level=``":     12,
	} {
		status, got := s.query("query_range", "query", query, "start", nanos(s.begin), "end", nanos(s.end), "limit", "100")
		if n := len(linesWithTimes(got)); (status == http.StatusOK) != (want >= 0) || want >= 0 && n != want {
			t.Errorf("%s: %d %s, %d entries, want %d", query, status, got.Message, n, want)
		}
	}
	// A derived field by the name of a label needs the label with each entry.
	_, body := s.get("query_range", http.Header{"X-Loki-Response-Encoding-Flags": {"categorize-labels"}},
		"query", `{app="web"} | trace_id="0000000000000001"`, "start", nanos(s.begin), "end", nanos(s.end))
	if !strings.Contains(string(body), `"structuredMetadata":{"detected_level":"unknown","trace_id":"0000000000000001"}`) {
		t.Errorf("derived field: %s", body)
	}
}

// TestAlerts sends the instant queries of alert rules: the numbers with their labels, no numbers, and an error.
func TestAlerts(t *testing.T) {
	t.Parallel()
	s := start(t)
	var entries []sent
	for i := range 60 {
		entries = append(entries, sent{
			line: fmt.Sprintf("level=%s n=%d", []string{"info", "error"}[i%2], i), labels: map[string]string{"app": "web"},
		})
	}
	s.push(entries, time.Second)
	for _, tt := range []struct {
		query, want string
		status      int
	}{
		{`sum by (app) (count_over_time({app="web"} |= "level=error" [10m])) > 5`, `map[app:web] 30`, 200},
		{`sum by (app) (count_over_time({app="web"} |= "level=error" [10m])) > 500`, ``, 200},
		{`sum(count_over_time({app="web"} |= "level=fatal" [10m])) or vector(0)`, `map[] 0`, 200},
		{`absent_over_time({app="gone"}[10m])`, `map[app:gone] 1`, 200},
		{`absent_over_time({app="web"}[10m])`, ``, 200},
		{`sum(rate({app="web"} | logfmt | unwrap n [60s])) by (app)`, `map[app:web] 29.5`, 200},
		{`max_over_time({app="web"} | logfmt | unwrap n [10m]) by (app)`, `map[app:web] 59`, 200},
		{`sum(count_over_time({app="web"} | logfmt | unwrap level [10m]))`, `parse error`, 400},
	} {
		status, got := s.query("query", "direction", "backward", "query", tt.query, "time", nanos(s.end))
		var list []string
		for _, x := range got.Data.Result {
			list = append(list, fmt.Sprint(x.Metric, " ", x.Value[1]))
		}
		text := strings.Join(list, ";")
		if status != tt.status || status == 200 && (text != tt.want || got.Data.ResultType != "vector") ||
			status != 200 && !strings.Contains(got.Message, tt.want) {
			t.Errorf("%s: %d %s %q %s, want %q", tt.query, status, got.Data.ResultType, text, got.Message, tt.want)
		}
	}
}

// TestOuterLabels checks that labels which only the outer aggregation, comparison or label_replace names count as
// labels of the range, as in Loki: here, the structured metadata host.
func TestOuterLabels(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.sql("CREATE TABLE visits (ts TIMESTAMP(9) TIME INDEX, host STRING, took DOUBLE, message STRING) " +
		"WITH (append_mode='true')")
	s.sql("INSERT INTO visits VALUES ('2026-01-05 10:00:00', 'a', 1, 'took=1'), ('2026-01-05 10:00:01', 'a', 3, " +
		"'took=3'), ('2026-01-05 10:00:02', 'b', 10, 'took=10')")
	end := time.Date(2026, 1, 5, 10, 1, 0, 0, time.UTC)
	const all, count = `avg_over_time({table="visits"} | unwrap took [1h])`, `count_over_time({table="visits"}[1h])`
	for _, tt := range []struct{ query, want string }{
		{`avg by (host) (` + all + `)`, `map[host:a] 2;map[host:b] 10`},
		{`max by (host) (` + all + `)`, `map[host:a] 2;map[host:b] 10`},
		{`avg by (host) (` + count + `)`, `map[host:a] 2;map[host:b] 1`},
		{`count by (host) (` + count + `)`, `map[host:a] 1;map[host:b] 1`},
		{`avg by (host) (avg_over_time({table="visits"} | logfmt x="took" | unwrap x [1h]))`, `map[host:a] 2;map[host:b] 10`},
		{`avg by (host) (avg_over_time({table="visits"} | logfmt | unwrap took [1h]))`, `map[host:a] 2;map[host:b] 10`},
		{`sum by (host) (max by (host, table) (` + count + `))`, `map[host:a] 2;map[host:b] 1`},
		{`max by (host) (topk(5, ` + count + `))`, `map[host:a] 2;map[host:b] 1`},
		{`max without (host, table, service_name) (` + count + `)`, `map[] 2`},
		{`max by (h) (label_replace(` + count + `, "h", "$1", "host", "(.*)"))`, `map[h:a] 2;map[h:b] 1`},
		{
			`sum by (host) (` + count + `) / on (host) count_over_time({table="visits"}[1h])`,
			`map[host:a] 1;map[host:b] 1`,
		},
		{`avg(` + all + `)`, `map[] 4.666666666666667`},
	} {
		_, got := s.query("query", "query", tt.query, "time", nanos(end.UnixNano()))
		var list []string
		for _, x := range got.Data.Result {
			list = append(list, fmt.Sprint(x.Metric, " ", x.Value[1]))
		}
		slices.Sort(list)
		if text := strings.Join(list, ";"); text != tt.want {
			t.Errorf("%s: %q %s, want %q", tt.query, text, got.Message, tt.want)
		}
	}
}

// TestLiveTail opens a tail as Explore does through Grafana's proxy, which drops the origin and adds headers, and
// checks what Explore reads of each message: streams with times in nanoseconds as text, lines, and all labels.
func TestLiveTail(t *testing.T) {
	t.Parallel()
	s := start(t)
	push := func(n string) (line string) {
		line = "level=error n=" + n
		s.push([]sent{{
			line: line, labels: map[string]string{"app": "web"}, metadata: map[string]string{"trace_id": "7"},
		}}, time.Second)
		return line
	}
	line := push("0")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, _, err := s.follow(ctx, http.Header{
		"X-Grafana-Referer": {"http://grafana/explore"}, "X-Forwarded-For": {"192.0.2.1"}, "User-Agent": {"Grafana/12.1.0"},
		"Accept-Encoding": {"gzip, deflate, br"}, "X-Scope-Orgid": {"1"},
	}, "query", `{app="web"} |= "level" | logfmt`)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	for _, n := range []string{"0", "1"} {
		if n == "1" {
			line = push(n)
		}
		_, text, err := conn.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var m message
		if err := json.Unmarshal(text, &m); err != nil || len(m.Streams) != 1 || len(m.Streams[0].Values) != 1 {
			t.Fatalf("%s: %v", text, err)
		}
		st := m.Streams[0]
		at, ok := st.Values[0][0].(string)
		if n, err := strconv.ParseInt(at, 10, 64); !ok || err != nil || n != s.entries[len(s.entries)-1].nanos {
			t.Errorf("the time is %v", st.Values[0][0])
		}
		if want := map[string]string{
			"app": "web", "service_name": "web", "table": "loki_logs", "trace_id": "7", "detected_level": "error",
			"level": "error", "n": n,
		}; !maps.Equal(st.Stream, want) || st.Values[0][1] != line {
			t.Errorf("stream %v with %v, want %v", st.Stream, st.Values[0], want)
		}
	}
}
