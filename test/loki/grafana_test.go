package loki

import (
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// recorded are requests of Grafana's data source and of Logs Drilldown, each with a part of the expected response.
// START, END and ISO are replaced by times.
var recorded = []request{
	{
		"query", "direction=backward&query=vector(1)+vector(1)&time=4000000000",
		`"result":[{"metric":{},"value":[4000000000,"2"]}]`,
	},
	{"status/buildinfo", "", `"version":"3.3.0"`},
	{"drilldown-limits", "", `"pattern_ingester_enabled":true`},
	{"labels", "start=START&end=END", `["app","service_name","table"]`},
	{"labels", `start=START&end=END&query={app="web"}`, `["app","service_name","table"]`},
	{"label/app/values", "start=START&end=END", `["api","web"]`},
	{"label/service_name/values", `start=START&end=END&query={app="web"}`, `["web"]`},
	{"label/nothing/values", "start=START&end=END", `{"status":"success"}`},
	{"series", `match[]={app="web"}&start=START&end=END`, `[{"app":"web","service_name":"web","table":"loki_logs"}]`},
	{"index/stats", `query={app="web"}&start=START&end=END`, `"entries":60,"streams":1}`},
	{"index/volume", "query={service_name=~`.+`}&start=ISO_START&end=ISO_END&limit=5000", `{"metric":{"service_name":"`},
	{"index/volume", "query={}&start=ISO_START&end=ISO_END&aggregateBy=labels", `{"metric":{"app":""},"value":[`},
	{
		"index/volume_range", "query={service_name=`web`}&start=START&end=END&step=10s&targetLabels=app",
		`{"metric":{"app":"web"},"values":[[`,
	},
	{"detected_labels", "start=ISO_START&end=ISO_END", `{"detectedLabels":[{"label":"app","cardinality":2}`},
	{"detected_labels", "start=ISO_START&end=ISO_END&query={service_name=`web`}", `"label":"app","cardinality":1`},
	{
		"detected_fields", "query={service_name=`web`}&start=START&end=END&line_limit=1000",
		`{"label":"status","type":"int","cardinality":3,"parsers":["json"],"jsonPath":["status"]}`,
	},
	{"detected_fields", "query={service_name=`api`} |= `` | json | logfmt | drop __error__, __error_details__" +
		"&start=START&end=END", `{"label":"took","type":"duration","cardinality":4,"parsers":["logfmt"]}`},
	{"detected_field/status/values", "query={service_name=`web`}&start=START&end=END", `"values":["`},
	{"patterns", "query={service_name=`api`}&start=START&end=END&step=60s", `user=u<_>`},
	{"format_query", `query={app="web"}|="x"`, `"{app=\"web\"} |= \"x\""`},
	{
		"query_range", "direction=backward&query=sum by (level, detected_level) (count_over_time({service_name=`web`} " +
			"| drop __error__ [10s]))&start=START&end=END&step=10000ms", `"metric":{"detected_level":"error"}`,
	},
	{
		"query_range", "direction=backward&limit=1000&query={service_name=`web`} | json | logfmt | drop __error__, " +
			"__error_details__&start=START&end=END&step=2000ms", `"structuredMetadata":{"detected_level":"`,
	},
	{
		"query_range", "direction=backward&limit=100&query={service_name=`web`} | detected_level=`error` |~ `(?i)REQUEST`" +
			"&start=START&end=END", `"encodingFlags":["categorize-labels"],"result":[{"stream":{"app":"web"`,
	},
	{
		"query_range", "query={service_name=`api`} |> `<_>took=<_>`&start=START&end=END&limit=10", `took=`,
	},
	{
		"query_range", "query=avg_over_time({service_name=`api`} | logfmt | drop __error__, __error_details__ | took!=`` " +
			"| unwrap duration(took) | __error__=`` [10s]) by ()&start=START&end=END&step=10000ms", `{"metric":{},"values":[[`,
	},
	{
		"query_range", "query=sum by (status) (count_over_time({service_name=`web`} | json " +
			"| drop __error__, __error_details__ | status!=`` [10s]))&start=START&end=END&step=10000ms",
		`{"metric":{"status":"200"},"values":[[`,
	},
	{
		"query", "query=topk(10, sum(rate({app=~`.+`}[5m])) by (app))&time=END",
		`"resultType":"vector","result":[{"metric":{"app":"a`,
	},
	{"query", "query=1%2B1", `"resultType":"scalar","result":[`},
	// An alert, a variable of a dashboard, and the tabs of Logs Drilldown.
	{
		"query", "query=sum(count_over_time({app=`web`} |= `\"level\":\"error\"` [5m])) > 5&time=END",
		`"resultType":"vector","result":[{"metric":{},"value":[`,
	},
	{"label/app/values", "start=START&end=END&query={table=`loki_logs`, app=~`w.*`}", `["web"]`},
	{
		"query_range", "query=sum(count_over_time({service_name=`web`, app != ``} | detected_level != `` [10s])) by (app)" +
			"&start=START&end=END&step=10000ms", `{"metric":{"app":"web"},"values":[[`,
	},
	{
		"query_range", "query=sum by (took) (count_over_time({service_name=`api`} | json | logfmt | drop __error__, " +
			"__error_details__ | took!=`` [10s]))&start=START&end=END&step=10000ms", `{"metric":{"took":"3.5ms"},"values":[[`,
	},
	{
		"query_range", "query={service_name=`web`} | json status=\"status\", level=\"level\" | drop __error__, " +
			"__error_details__ | status=`500`&start=START&end=END&limit=2", `"parsed":{"level":"`,
	},
	// Logs Drilldown with filters of each kind: on a value of a field, of metadata, of a level, of the line.
	{
		"query_range", "direction=backward&limit=1000&query={service_name=\"web\"}  | detected_level=\"error\" or " +
			"detected_level=\"info\"     | json  | logfmt | drop __error__, __error_details__ | status=\"500\" or " +
			"status=\"404\" | msg!=\"x\" | msg!=\"y\" &start=START&end=END&step=2000ms", `"parsed":{"level":"`,
	},
	{
		"query_range", "direction=backward&limit=1000&query={service_name=\"web\"} | json status=\"[\\\"status\\\"]\"" +
			"| json | logfmt | drop __error__, __error_details__ | status>=404 | status<501&start=START&end=END",
		`"status":"404"`,
	},
	{
		"query_range", "direction=backward&limit=1000&query={service_name=\"api\"} |= \"took\" != \"nothing\" " +
			"|~ \"(?i)LEVEL=info\" !~ \"(?i)debug\" | json  | logfmt | drop __error__, __error_details__ | took<=1s " +
			"| took>1ms&start=START&end=END", `"took":"3.5ms"`,
	},
	{
		"query_range", "direction=backward&limit=10&query={app=~\"we\\\\w|nothing\\\\.x\", service_name!=\"api\"} | json " +
			"| line_format \"{{.msg}}\"&start=START&end=END", `"request done"`,
	},
	{
		"query_range", "query=sum by (detected_level) (count_over_time({service_name=\"web\"}  | detected_level != " +
			"\"\" [10s]))&start=START&end=END&step=10000ms", `{"metric":{"detected_level":"info"},"values":[[`,
	},
	{
		"query", "direction=backward&query=sum(count_over_time({service_name=\"web\"} | json | logfmt | drop __error__, " +
			"__error_details__ | status=\"200\" [3600s]))&time=END", `"result":[{"metric":{},"value":[`,
	},
	{
		"detected_field/status/values", "start=START&end=END&limit=1000&query={service_name=\"web\"} " +
			"| detected_level=\"error\" | json  | logfmt | drop __error__, __error_details__ | level=\"error\"",
		`{"limit":1000,"values":["200","404","500"]}`,
	},
	{
		"detected_field/detected_level/values", "start=START&end=END&limit=1000&query={service_name=\"web\"}",
		`["error","info"]`,
	},
	{"detected_fields", "start=START&end=END&limit=1000&query={service_name=\"web\"}", `"limit":1000`},
	{"label/__stream_shard__/values", "start=START&end=END&query={service_name=\"web\"}", `{"status":"success"}`},
	{"series", `match[]={service_name="web",app=~".+"}&start=START&end=END`, `[{"app":"web"`},
	{"patterns", "query={service_name=\"api\"}&start=ISO_START&end=ISO_END&step=10s", `"level":"info"`},
	// Explore: the functions of its builder of queries, and the context of a line.
	{
		"query_range", "direction=forward&limit=100&query={app=\"web\",service_name=\"web\",table=\"loki_logs\"}" +
			"&start=START&end=END&step=2000ms", `"encodingFlags":["categorize-labels"]`,
	},
	{
		"query_range", "query=quantile_over_time(0.95, {app=`api`} | logfmt | unwrap duration_seconds(took) | __error__=`` " +
			"[10s]) by (app)&start=START&end=END&step=10000ms", `{"metric":{"app":"api"},"values":[[`,
	},
	{
		"query_range", "query=sum by(user) (rate({app=`api`} | logfmt | __error__=`` | user =~ `u.*` [10s])) " +
			"/ on() group_left sum(rate({app=`api`}[10s]))&start=START&end=END&step=10000ms",
		`{"metric":{"user":"u200"},"values":[[`,
	},
	{
		"query_range", "query=topk(1, sum by(app) (bytes_rate({app=~`.%2B`} [10s])))&start=START&end=END&step=10000ms",
		`"values":[[`,
	},
	{"query", "query=count(sum by (app) (count_over_time({app=~`.%2B`}[1h])))&time=END", `"value":[`},
	{"query_range", "query={__aggregated_metric__=`web`}&start=START&end=END", `"result":[]`},
	{
		"query_range", "query=sum by (service_name) (sum_over_time({__aggregated_metric__=~`.%2B`} | logfmt " +
			"| unwrap bytes(bytes) | __error__=`` [10s]))&start=START&end=END&step=10000ms", `"result":[]`,
	},
	{"index/volume", "query={service_name=~`(?i).*we.*`}&start=START&end=END&targetLabels=service_name", `"web"`},
	{
		"detected_fields", "query={service_name=`web`} | json | logfmt | drop __error__, __error_details__&start=START" +
			"&end=END&limit=2", `"limit":2`,
	},
}

// TestGrafana sends Grafana's requests with Grafana's headers.
func TestGrafana(t *testing.T) {
	t.Parallel()
	s := start(t)
	var entries []sent
	statuses, levels, took := []string{"200", "404", "500"}, []string{"info", "error"}, []string{
		"1ms", "2ms", "3.5ms",
		"1s",
	}
	for i := range 60 {
		entries = append(entries, sent{
			line:   `{"level":"` + levels[i%2] + `","status":` + statuses[i%3] + `,"msg":"request done"}`,
			labels: map[string]string{"app": "web"},
		}, sent{line: "level=info took=" + took[i%4] + " user=u" + statuses[i%3], labels: map[string]string{"app": "api"}})
	}
	s.push(entries, time.Second)
	iso := func(n int64) string { return time.Unix(0, n).UTC().Format(time.RFC3339Nano) }
	places := strings.NewReplacer("ISO_START", iso(s.begin), "ISO_END", iso(s.end), "START", nanos(s.begin), "END",
		nanos(s.end))
	header := http.Header{
		"X-Loki-Response-Encoding-Flags": {"categorize-labels"}, "X-Query-Tags": {"Source=logvolhist"},
		"X-Scope-OrgID": {"1"},
	}
	for _, tt := range slices.Concat(recorded, builder, traces, drilldown) {
		var params []string
		for _, part := range strings.Split(places.Replace(tt.params), "&") {
			if name, value, ok := strings.Cut(part, "="); ok {
				if name != "query" {
					value = strings.ReplaceAll(value, "%2B", "+")
				}
				params = append(params, name, strings.ReplaceAll(value, "%2B", "+"))
			}
		}
		status, body := s.get(tt.path, header, params...)
		if status != 200 || !strings.Contains(string(body), tt.want) || !json.Valid(body) {
			t.Errorf("%s %v: %d %.1500s\nwant %s", tt.path, params, status, body, tt.want)
		}
	}
}

// TestErrors checks that requests beyond the limits, and unsupported requests, get errors that Grafana can show.
func TestErrors(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.push([]sent{{line: "a=x", labels: map[string]string{"app": "web"}}}, time.Second)
	for _, tt := range []struct {
		path, want string
		status     int
		params     []string
	}{
		{
			"query_range", "max entries limit per query exceeded, limit > max_entries_limit_per_query (9000 > 5000)", 400,
			[]string{"query", `{app="web"}`, "limit", "9000"},
		},
		{"query_range", "it must be a positive number", 400, []string{"query", `{app="web"}`, "limit", "0"}},
		{"index/volume", "targetLabels has 51 labels, and at most 50 are allowed", 400, []string{
			"query", `{app="web"}`, "targetLabels", strings.Repeat("a,", 50) + "b",
		}},
		{"query_range", "exceeded maximum resolution of 11,000 points", 400, []string{
			"query", `rate({app="web"}[1m])`,
			"start", "0", "end", "100000", "step", "1",
		}},
		{"query_range", "it must be longer than 0", 400, []string{"query", `rate({app="web"}[1m])`, "step", "-1"}},
		{"query_range", "longer than 100 years", 400, []string{
			"query", `vector(1)`, "start", "-9000000000000000000", "end", "9000000000000000000",
		}},
		{"index/volume", "longer than 100 years", 400, []string{
			"query", `{app="web"}`, "start", "-9000000000000000000", "end", "9000000000000000000",
		}},
		{"query_range", "end timestamp must not be before", 400, []string{
			"query", `{app="web"}`, "start", "20", "end",
			"10",
		}},
		{"query_range", "could not parse", 400, []string{"query", `{app="web"}`, "start", "1e300"}},
		{"query_range", "could not parse", 400, []string{"query", `{app="web"}`, "start", "NaN"}},
		{"query_range", "invalid direction", 400, []string{"query", `{app="web"}`, "direction", "up"}},
		{"query_range", "parse error at line 1, col 6: syntax error: unexpected", 400, []string{"query", `{app="web`}},
		{"query_range", "not supported: ip(…)", 400, []string{"query", `{app="web"} |= ip("1.2.3.4")`}},
		{"query_range", "parameter query is required", 400, nil},
		{"query", "log queries are not supported as an instant query type", 400, []string{"query", `{app="web"}`}},
		{"query", "pipeline error: 'SampleExtractionErr'", 400, []string{
			"query",
			`sum(sum_over_time({app="web"} | logfmt | unwrap a [1h]))`,
		}},
		{"query", "database", 400, []string{"query", `vector(1) + rate({app="web"}[1m])`, "db", "nowhere"}},
		{"series", "at most 16", 400, strings.Split(strings.Repeat(`match[];{a="b"};`, 17)+"x;y", ";")},
		{"index/shards", "not supported", 404, nil},
		{"rules", "not supported", 404, nil},
	} {
		status, body := s.get(tt.path, nil, tt.params...)
		var e struct {
			Status, ErrorType, Message, Error string
			Code                              int
		}
		if err := json.Unmarshal(body, &e); err != nil {
			t.Errorf("%s: %s: %v", tt.path, body, err)
			continue
		}
		if status != tt.status || e.Status != "error" || !strings.Contains(e.Message, tt.want) || e.Error != e.Message ||
			e.ErrorType == "" || e.Code == 0 {
			t.Errorf("%s %.200q: %d %s\nwant %d %s", tt.path, tt.params, status, body, tt.status, tt.want)
		}
	}
}

// TestTimesBeyondNanoseconds checks that rows whose time does not fit into 64 bits of nanoseconds are left out, and not
// returned with another time.
func TestTimesBeyondNanoseconds(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.sql("CREATE TABLE old (ts TIMESTAMP(0) TIME INDEX, message STRING) WITH (append_mode = 'true')")
	s.sql("INSERT INTO old VALUES ('1600-01-01 00:00:00', 'a'), ('1969-12-31 23:59:59', 'b'), " +
		"('3000-01-01 00:00:00', 'c')")
	for _, direction := range []string{"forward", "backward"} {
		status, body := s.get("query_range", nil, "query", `{table="old"}`, "start", nanos(math.MinInt64),
			"end", nanos(math.MaxInt64), "direction", direction)
		if want := `"values":[["-1000000000","b"]]`; status != http.StatusOK || !strings.Contains(string(body), want) ||
			strings.Count(string(body), `"stream":`) != 1 {
			t.Errorf("%s: %d %.400s\nwant %s", direction, status, body, want)
		}
	}
}

// TestWarnings checks that a time in milliseconds, which Loki's API reads as nanoseconds, is answered with a warning.
func TestWarnings(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.push([]sent{{line: "a", labels: map[string]string{"app": "web"}}}, time.Second)
	for query, data := range map[string]string{
		`{app="web"}`:                      `{"resultType":"streams",`,
		`count_over_time({app="web"}[1m])`: `{"resultType":"matrix",`,
	} {
		millis := nanos(s.end / 1e6)
		status, body := s.get("query_range", nil, "query", query, "start", nanos(s.begin/1e6-1000), "end", millis)
		want := `{"status":"success","warnings":["parameter end is read as nanoseconds, which is 1970-01-01T`
		if status != http.StatusOK || !strings.HasPrefix(string(body), want) || !json.Valid(body) ||
			!strings.Contains(string(body), `,"data":`+data) {
			t.Errorf("%s: %d %.600s", query, status, body)
		}
	}
	if status, body := s.get("labels", nil, "end", nanos(s.end/1e6)); status != http.StatusOK || !json.Valid(body) {
		t.Errorf("labels: %d %s", status, body)
	}
}

// TestVolumesOfManyLabels checks that volumes by label of a table with many labels take few statements, and that they
// are right.
func TestVolumesOfManyLabels(t *testing.T) {
	t.Parallel()
	s := start(t)
	const labels = 250
	want := map[string]float64{"table": 0, "service_name": 0}
	var columns, names, rows []string
	for k := range labels {
		names = append(names, "l"+strconv.Itoa(k))
		columns = append(columns, names[k]+" STRING")
	}
	now := time.Now().UnixMilli()
	for i := range 100 {
		values := []string{strconv.FormatInt(now-int64(100-i)*1000, 10), "'" + strings.Repeat("x", i) + "'"}
		for k, name := range names {
			if i%(k+1) != 0 && i != 99 {
				values = append(values, "NULL")
				continue
			}
			values = append(values, "'v"+strconv.Itoa(i%7)+"'")
			want[name] += float64(i)
		}
		want["table"] += float64(i)
		want["service_name"] += float64(i)
		rows = append(rows, "("+strings.Join(values, ", ")+")")
	}
	s.sql("CREATE TABLE wide (ts TIMESTAMP(3) TIME INDEX, message STRING, " + strings.Join(columns, ", ") +
		", PRIMARY KEY (" + strings.Join(names, ", ") + "))")
	s.sql("INSERT INTO wide VALUES " + strings.Join(rows, ", "))
	s.begin, s.end = (now-100_000)*1e6, now*1e6
	span := []string{"start", nanos(s.begin), "end", nanos(s.end + 1), "aggregateBy", "labels", "limit", "1000"}
	status, body := s.get("index/volume", nil, append(span, "query", `{table="wide"}`)...)
	var out struct {
		Data struct {
			Result []item
			Stats  struct{ Summary struct{ Subqueries int } }
		}
	}
	if err := json.Unmarshal(body, &out); err != nil || status != http.StatusOK || len(out.Data.Result) != len(want) {
		t.Fatalf("%d labels, want %d: %v %d %.300s", len(out.Data.Result), len(want), err, status, body)
	}
	for _, r := range out.Data.Result {
		for name := range r.Metric {
			if got := r.Value[1]; got != strconv.FormatFloat(want[name], 'f', -1, 64) {
				t.Errorf("%s: %v, want %v", name, got, want[name])
			}
		}
	}
	if n := out.Data.Stats.Summary.Subqueries; n > 5 {
		t.Errorf("%d statements", n)
	}
	status, got := s.query("index/volume_range", append(span, "query", `{l0="v1"}`, "targetLabels", "l0,none,l1", "step",
		"10s")...)
	sums := map[string]float64{}
	for _, r := range got.Data.Result {
		for name := range r.Metric {
			for _, v := range r.Values {
				n, err := strconv.ParseFloat(v[1].(string), 64)
				if err != nil {
					t.Fatal(err)
				}
				sums[name] += n
			}
		}
	}
	all := map[string]float64{}
	for i := range 100 {
		if i%7 == 1 {
			all["l0"] += float64(i)
			if i%2 == 0 || i == 99 {
				all["l1"] += float64(i)
			}
		}
	}
	if status != http.StatusOK || !maps.Equal(sums, all) {
		t.Errorf("steps: %d %v, want %v", status, sums, all)
	}
}

// TestLargeLines checks that a response with large lines is refused before it takes much memory.
func TestLargeLines(t *testing.T) {
	t.Parallel()
	s := start(t)
	var entries []sent
	for range 40 {
		entries = append(entries, sent{line: strings.Repeat("x", 1<<20), labels: map[string]string{"app": "web"}})
	}
	s.push(entries, time.Second)
	status, got := s.query("query_range", "query", `{app="web"}`)
	if status != 400 || !strings.Contains(got.Message, "have more than 32 MiB") {
		t.Errorf("%d %.200s", status, got.Message)
	}
	status, got = s.query("query_range", "query", `{app="web"} | line_format "{{__line__ | trunc 5}}"`)
	if status != 200 || len(got.Data.Result) != 1 || len(got.Data.Result[0].Values) != 40 {
		t.Errorf("short lines: %d %.200s", status, got.Message)
	}
}
