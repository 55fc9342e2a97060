package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// post is one request to /v1/ingest and the expected result.
type post struct {
	name   string
	query  string // in addition to table and pipeline_name=svc_identity
	ctype  string // default application/json
	header []string
	body   string

	status int // default 200
	code   int // the error code
	text   string
	rows   int    // the number of affected rows; 0 means no output at all
	sql    string // T stands for the table; by default, every column except svc_timestamp
	want   string // its rows as JSON
}

// TestIngest checks the rules of the ingestion endpoint on a real server.
func TestIngest(t *testing.T) {
	t.Parallel()
	n := New(t, "--http-body-limit", "1MiB")
	n.Start()
	const nd, text = "application/x-ndjson", "text/plain"
	for i, p := range []post{
		{
			name: "objects of different shapes", body: `[{"u":"ann","n":1},{"u":"bob","x":{"y":true}}]`, rows: 2,
			sql: `SELECT n, u, "x.y" FROM T ORDER BY u`, want: `[[1,"ann",null],[null,"bob",true]]`,
		},
		{
			name: "columns come in byte order", body: `{"b":1,"a":2,"B":3}`, rows: 1,
			sql:  `SELECT column_name FROM information_schema.columns WHERE table_name = 'T' ORDER BY ordinal_position`,
			want: `[["svc_timestamp"],["B"],["a"],["b"]]`,
		},
		{name: "a type conflict within the batch", body: `[{"n":1},{"n":"two"}]`, status: 400, code: 1004, text: "n"},
		{name: "a conflict skipped", query: "&skip_error=true", body: `[{"n":1},{"n":"two"}]`, rows: 1, want: `[[1]]`},
		{
			name: "the first one decides", query: "&skip_error=true", body: `[{"a":"x"},{"a":1},{"a":2}]`, rows: 1,
			want: `[["x"]]`,
		},
		{
			name: "integers and fractions", body: `[{"score":1.5},{"score":1}]`, rows: 2,
			sql: `SELECT sum(score), min(typeof(score)) FROM T`, want: `[[2.5,"DOUBLE"]]`,
		},
		{name: "text and number conflict", body: `[{"score":1.5},{"score":"1"}]`, status: 400, code: 1004, text: "Float64"},
		{
			name: "epoch in seconds from text", query: "&custom_time_index=at;epoch;s",
			body: `{"at":"1700000000","m":"hi"}`, rows: 1,
			sql: `SELECT at, m FROM T`, want: `[[1700000000,"hi"]]`,
		},
		{
			name: "epoch in nanoseconds keeps all digits", query: "&custom_time_index=at;epoch;ns",
			body: `{"at":1700000000123456789}`, rows: 1,
			sql: `SELECT at FROM T`, want: `[[1700000000123456789]]`,
		},
		{
			name: "a raw time pattern", query: "&custom_time_index=at;datestr;%Y-%m-%d+%H:%M:%S%:z",
			body: `{"at":"2024-05-06 07:08:09+02:00"}`, rows: 1,
			sql: `SELECT at FROM T`, want: `[[1714972089000000000]]`,
		},
		{
			name: "a nested time field", query: "&custom_time_index=a.b;epoch;ms",
			body: `{"a":{"b":1700000000000,"c":"x"}}`, rows: 1,
			sql: `SELECT * FROM T`, want: `[[1700000000000,"x"]]`,
		},
		{name: "a bad time index", query: "&custom_time_index=at;epoch", body: `{"at":1}`, status: 400, code: 1004},
		{name: "an unknown unit", query: "&custom_time_index=at;epoch;m", body: `{"at":1}`, status: 400, code: 1004},
		{
			name: "a record without its time", query: "&custom_time_index=at;epoch;s", body: `[{"m":1}]`, status: 400,
			code: 1004,
		},
		{
			name: "depth two", header: []string{"x-svc-pipeline-params", "max_nested_levels=2"},
			body: `{"a":{"b":{"c":1}},"e":[1,{"z":0}]}`, rows: 1, sql: `SELECT "a.b", e FROM T`,
			want: `[["{\"c\":1}","[1,{\"z\":0}]"]]`,
		},
		{name: "no JSON", body: `not json`, status: 400, code: 1004, text: "json"},
		{name: "not JSON, with skip_error", query: "&ignore_errors=true", body: `not json`},
		{name: "an empty body", body: ``},
		{name: "an empty array", body: `[]`},
		{name: "an empty record", body: `{}`, rows: 1, sql: `SELECT count(*) FROM T`, want: `[[1]]`},
		{name: "null is nothing", body: `[{"a":null,"b":1}]`, rows: 1, want: `[[1]]`},
		{name: "a stream of values", body: `{"a":1} {"a":2}[{"a":3}]`, rows: 3, sql: `SELECT sum(a) FROM T`, want: `[[6]]`},
		{name: "not an object", body: `[1,2]`, status: 400, code: 1004},
		{name: "not an object, skipped", query: "&skip_error=true", body: `[1,{"a":1}]`, rows: 1, want: `[[1]]`},
		{name: "a key twice", body: `{"a":1,"a":"x"}`, rows: 1, want: `[["x"]]`},
		{name: "lines", ctype: nd, body: "{\"a\":1}\r\n\n{\"a\":2}\n", rows: 2, sql: `SELECT sum(a) FROM T`, want: `[[3]]`},
		{
			name: "a bad line", ctype: nd, body: "{\"a\":1}\n\n{bad\n", status: 400, code: 1004,
			text: "invalid JSON at index: 2",
		},
		{name: "a bad line skipped", ctype: nd, query: "&skip_error=true", body: "{\"a\":1}\n{bad\n", rows: 1, want: `[[1]]`},
		{
			name: "text", ctype: text, body: "one\r\n\ntwo \"x\"\n", rows: 2,
			sql: `SELECT message FROM T ORDER BY message`, want: `[["one"],["two \"x\""]]`,
		},
		{
			name: "text with bad bytes", ctype: text, body: "a\xffb\n", rows: 1, sql: `SELECT message FROM T`,
			want: "[[\"a\uFFFDb\"]]",
		},
		{name: "type parameters and case", ctype: "Application/JSON; charset=utf-8", body: `{"a":1}`, rows: 1, want: `[[1]]`},
		{name: "an unknown type", ctype: "text/html", body: `{}`, status: 400, code: 1004, text: "application/x-ndjson"},
		{
			name: "numbers", body: `{"a":1,"b":1.0,"c":1e3,"d":9223372036854775807,"e":9223372036854775808,"f":-0.5}`, rows: 1,
			want: `[[1,1,1000,9223372036854775807,9223372036854775808,-0.5]]`,
		},
		{name: "an invalid boolean", query: "&skip_error=1", body: `{}`, status: 400, code: 1004},
		{name: "a parameter twice", query: "&table=x", body: `{}`, status: 400, code: 1004},
		{
			name: "an unknown pipeline", header: []string{"x-svc-pipeline-name", "nope"}, body: `{}`, status: 400, code: 1004,
			text: "Pipeline not found, name: nope, version: latest",
		},
		{
			name: "an unknown parameter", query: "&skip_erorr=true", body: `{}`, status: 400, code: 1004,
			text: "did you mean \"skip_error\"?",
		},
		{name: "an unknown database", query: "&db=nowhere", body: `{}`, status: 400, code: 4004},
		{name: "an unknown encoding", header: []string{"Content-Encoding", "rot13"}, body: `{}`, status: 415, code: 1001},
		{name: "a body over the limit", body: `{"a":"` + strings.Repeat("x", 2<<20) + `"}`, status: 413},
		{
			name: "deep nesting", body: strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000), status: 400,
			code: 1004,
		},
		{name: "bad UTF-8", body: "{\"a\":\"\xff\"}", status: 400, code: 1004},
		{name: "too many columns", body: manyColumns(50_000), status: 400, code: 1004},
		{name: "a huge key", body: `{"` + strings.Repeat("k", 100_000) + `":1}`, status: 400, code: 1004},
		{name: "ttl by hint", header: []string{"x-svc-hints", "ttl=7d"}, body: `{"a":1}`, rows: 1, want: `[[1]]`},
		{
			name: "a bad ttl", header: []string{"x-svc-hints", "ttl=soon"}, body: `{"a":1}`, status: 400, code: 1004,
			text: "soon",
		},
		{
			name: "no table, and none is created", header: []string{"x-svc-hints", "auto_create_table=false"}, body: `{"a":1}`,
			status: 400, code: 1004, text: "does not exist",
		},
		{name: "instant", header: []string{"x-svc-hints", "ttl=instant"}, body: `{"a":1}`, rows: -1},
		{
			name: "a variable for the table", body: `[{"a":1,"svc_table_suffix":"_x"},{"a":2}]`, rows: 2,
			sql: `SELECT (SELECT count(*) FROM "T_x"), (SELECT count(*) FROM T)`, want: `[[1,1]]`,
		},
	} {
		t.Run(p.name, func(t *testing.T) {
			table := fmt.Sprintf("t%02d", i)
			check(t, n, table, p)
		})
	}
}

func check(t *testing.T, n *Node, table string, p post) {
	t.Helper()
	ctype := p.ctype
	if ctype == "" {
		ctype = "application/json"
	}
	header := append([]string{"Content-Type", ctype}, p.header...)
	begin := time.Now()
	a, err := n.Do("POST", "/v1/ingest?pipeline_name=svc_identity&table="+table+p.query, strings.NewReader(p.body),
		header...)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took > Generous(10*time.Second) {
		t.Errorf("the answer took %s", took)
	}
	status := p.status
	if status == 0 {
		status = http.StatusOK
	}
	if a.Status != status {
		t.Fatalf("status %d, want %d: %.300s", a.Status, status, a.Body)
	}
	var answer struct {
		Output []struct {
			AffectedRows int `json:"affectedrows"`
		} `json:"output"`
		Code  int    `json:"code"`
		Error string `json:"error"`
		Time  *int   `json:"execution_time_ms"`
	}
	if err := json.Unmarshal(a.Body, &answer); err != nil {
		t.Fatalf("answer %q: %v", a.Body, err)
	}
	if answer.Time == nil {
		t.Errorf("no execution_time_ms in %s", a.Body)
	}
	if status != http.StatusOK {
		if p.code != 0 && (answer.Code != p.code || a.Header.Get("x-svc-err-code") != fmt.Sprint(p.code)) {
			t.Errorf("code %d, header %q, want %d: %s", answer.Code, a.Header.Get("x-svc-err-code"), p.code, a.Body)
		}
		if answer.Error == "" || !strings.Contains(answer.Error, p.text) {
			t.Errorf("error %q, want one with %q", answer.Error, p.text)
		}
		// No row may be written, and no table may be created.
		if rows, err := n.Query("SELECT count(*) FROM information_schema.tables WHERE table_name = '" + table +
			"'"); err != nil || fmt.Sprint(rows) != "[[0]]" {
			t.Errorf("after the error the table exists: %v, %v", rows, err)
		}
		return
	}
	switch {
	case p.rows > 0 && (len(answer.Output) != 1 || answer.Output[0].AffectedRows != p.rows):
		t.Errorf("answer %s, want %d affected rows", a.Body, p.rows)
	case p.rows == 0 && answer.Output != nil:
		t.Errorf("answer %s, want no output", a.Body)
	}
	if p.want == "" {
		return
	}
	sql := p.sql
	if sql == "" {
		sql = `SELECT * EXCLUDE svc_timestamp FROM T`
	}
	rows := n.Rows(t, strings.NewReplacer("FROM T", "FROM "+table, `"T_x"`, `"`+table+`_x"`, "'T'", "'"+table+"'").
		Replace(sql))
	got, err := json.Marshal(rows)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(decode(t, p.want), decode(t, string(got))); diff != "" {
		t.Errorf("%s: rows differ (-want +got):\n%s", sql, diff)
	}
}

func decode(t *testing.T, s string) (v any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader([]byte(s)))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%q: %v", s, err)
	}
	return normal(v)
}

// normal converts equal numbers to equal values, such as 1.0 and 1, or 9.2e18 and its digits.
func normal(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = normal(v[i])
		}
		return v
	case json.Number:
		if _, err := v.Int64(); err == nil {
			return v.String()
		}
		f, err := v.Float64()
		if err != nil {
			return v.String()
		}
		return fmt.Sprintf("%g", f)
	}
	return v
}

func manyColumns(n int) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"c%d":1`, i)
	}
	b.WriteByte('}')
	return b.String()
}
