package sqlhttp

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/query"
	"cordwood/router/query/format"
	"cordwood/router/query/statement"
	"cordwood/router/write"
)

// fakeService answers statements that return rows with rows, and others with the count 7.
type fakeService struct {
	got  query.Request
	rows func() format.Rows
	err  error
}

// Table finds only public.app.
func (s *fakeService) Table(_ context.Context, database, name string) (*schema.Table, error) {
	if database != "public" || name != "app" {
		return nil, errs.New(errs.TableNotFound, "table %s.%s does not exist", database, name)
	}
	t := &schema.Table{Database: database, Name: name, Columns: []schema.Column{
		{Name: "ts", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp}, {Name: "level", Type: schema.String},
	}}
	return t.Index(), nil
}

func (s *fakeService) Execute(ctx context.Context, req query.Request,
	each func(context.Context, query.Result) error,
) error {
	s.got = req
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, st := range req.Statements {
		res := query.Result{AffectedRows: 7}
		if st.Rows() {
			res = query.Result{Rows: s.rows()}
		}
		if s.err != nil {
			return s.err
		}
		if err := each(ctx, res); err != nil {
			return err
		}
	}
	return nil
}

// numbers returns n batches of integers, without end if n < 0, and then an error.
type numbers struct {
	n, batch int
	err      error
	rec      arrow.RecordBatch
}

var numberSchema = arrow.NewSchema([]arrow.Field{{Name: "code", Type: arrow.PrimitiveTypes.Int64}}, nil)

func (r *numbers) Schema() *arrow.Schema { return numberSchema }
func (r *numbers) Next() bool {
	if r.n == 0 {
		return false
	}
	n := r.batch
	if r.n > 0 {
		n = min(n, r.n)
		r.n -= n
	}
	b := array.NewInt64Builder(memory.DefaultAllocator)
	for range n {
		b.Append(200)
	}
	r.rec = array.NewRecordBatch(numberSchema, []arrow.Array{b.NewArray()}, int64(n))
	return true
}
func (r *numbers) RecordBatch() arrow.RecordBatch { return r.rec }
func (r *numbers) Err() error {
	if r.n == 0 {
		return r.err
	}
	return nil
}

// writeError answers with the status, code and text of an error.
func writeError(w http.ResponseWriter, _ *http.Request, err error) {
	e := errs.From(err)
	http.Error(w, strings.Join([]string{"error", e.Msg}, ": "), e.Status())
}

func newHandler(t *testing.T, s *fakeService, change ...func(*Config)) *Handler {
	t.Helper()
	cfg := Config{Service: s, WriteError: writeError}
	for _, c := range change {
		c(&cfg)
	}
	h, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func ones(n int) func() format.Rows {
	return func() format.Rows { return &numbers{n: n, batch: 2} }
}

var took = regexp.MustCompile(`"execution_time_ms":\d+`)

func TestRequests(t *testing.T) {
	const form = "application/x-www-form-urlencoded"
	type headers = map[string]string
	tests := []struct {
		name, method, query, body string
		headers                   headers
		status                    int
		want                      string
		check                     func(query.Request) bool
	}{
		{
			name: "query string", query: "sql=SELECT+1", status: 200,
			want: `{"output":[{"records":{"schema":{"column_schemas":[{"name":"code","data_type":"Int64"}]},"rows":[[200]],` +
				`"total_rows":1}}],"execution_time_ms":0}`,
			check: func(r query.Request) bool { return r.Database == "public" && !r.Limited && r.Timeout == 0 },
		},
		{
			name: "several statements", method: "POST", query: "sql=SELECT 1; DROP TABLE a ;SELECT 2", status: 200,
			want: `{"output":[{"records":{"schema":{"column_schemas":[{"name":"code","data_type":"Int64"}]},"rows":[[200]],` +
				`"total_rows":1}},{"affectedrows":7},` +
				`{"records":{"schema":{"column_schemas":[{"name":"code","data_type":"Int64"}]},"rows":[[200]],"total_rows":1}}],` +
				`"execution_time_ms":0}`,
		},
		{
			name: "form", method: "POST", body: "sql=SELECT%20'a%3Bb'&db=shop&limit=5",
			headers: headers{"Content-Type": form}, status: 200,
			check: func(r query.Request) bool {
				q, ok := r.Statements[0].(*statement.Query)
				return ok && q.Text == "SELECT 'a;b'" && r.Database == "shop" && r.Limited && r.Limit == 5
			},
		},
		{
			name: "form without escapes", method: "POST", body: "sql=SELECT strftime(ts,'%Y;%:z')",
			headers: headers{"Content-Type": form + "; charset=utf-8"}, status: 200,
			check: func(r query.Request) bool {
				return r.Statements[0].(*statement.Query).Text == "SELECT strftime(ts,'%Y;%:z')"
			},
		},
		{
			name: "sql body", method: "POST", body: "SELECT 1+1", headers: headers{"Content-Type": "application/sql"},
			status: 200, check: func(r query.Request) bool {
				return r.Statements[0].(*statement.Query).Text == "SELECT 1+1"
			},
		},
		{
			name: "text body and header", method: "POST", query: "db=a&format=svcdb_v1", body: "SELECT 1", status: 200,
			headers: headers{
				"Content-Type": "text/plain", "x-svc-db-name": " svc-b ", "x-svc-timeout": "1m30s", "x-svc-timezone": "UTC",
			}, check: func(r query.Request) bool { return r.Database == "b" && r.Timeout == 90*time.Second },
		},
		{
			name: "timeout in words", query: "sql=SELECT+1", headers: headers{"x-svc-timeout": "2 minutes"}, status: 200,
			check: func(r query.Request) bool { return r.Timeout == 2*time.Minute },
		},
		{
			name: "any replica", query: "sql=SELECT+1&consistency=any", status: 200,
			check: func(r query.Request) bool { return r.MaxStaleness == 10*time.Second },
		},
		{
			name: "any replica, bounded", query: "sql=SELECT+1&consistency=any&max_staleness=1m", status: 200,
			check: func(r query.Request) bool { return r.MaxStaleness == time.Minute },
		},
		{
			name: "all that was acknowledged", query: "sql=SELECT+1&consistency=linear", status: 200,
			check: func(r query.Request) bool { return r.MaxStaleness == 0 },
		},
		{
			name: "a consistency that there is not", query: "sql=SELECT+1&consistency=strong", status: 400,
			want: "must be linear",
		},
		{name: "too fresh", query: "sql=SELECT+1&consistency=any&max_staleness=1s", status: 400, want: "from 2s to 24h"},
		{
			name: "staleness of what is not stale", query: "sql=SELECT+1&max_staleness=1m", status: 400,
			want: "requires consistency=any",
		},
		{
			name: "limit 0", query: "sql=SELECT+1&limit=0", status: 200,
			check: func(r query.Request) bool { return r.Limited && r.Limit == 0 },
		},
		{
			name: "no rows", method: "POST", query: "sql=DROP+TABLE+a", status: 200,
			want: `{"output":[{"affectedrows":7}],"execution_time_ms":0}`,
		},
		{
			name: "no rows, ndjson", method: "POST", query: "sql=DROP+TABLE+a&format=ndjson", status: 200,
			want: `{"affectedrows":7}` + "\n",
		},
		{name: "ndjson", query: "sql=SELECT+1&format=ndjson", status: 200, want: `{"code":200}` + "\n"},
		{
			name: "csv after a change", method: "POST", query: "sql=DROP+TABLE+a;SELECT+1&format=csvWithNames",
			status: 200, want: "code\r\n200\r\n",
		},

		{
			name: "a key", method: "POST", body: "INSERT INTO a VALUES (1)",
			headers: headers{"Idempotency-Key": " k 1 "}, status: 200,
			check: func(r query.Request) bool { return r.Key.Text == "k 1" && r.Key.Body != 0 },
		},
		{
			name: "no key", method: "POST", body: "INSERT INTO a VALUES (1)", status: 200,
			check: func(r query.Request) bool { return r.Key == write.Key{} },
		},
		{
			name: "an empty key", method: "POST", body: "INSERT INTO a VALUES (1)",
			headers: headers{"Idempotency-Key": ""}, status: 400, want: "Idempotency-Key must be given once",
		},

		{name: "no sql", query: "db=public", status: 400, want: "parameter sql is required"},
		{name: "empty sql", query: "sql=+", status: 400, want: "parameter sql is required"},
		{name: "sql twice", query: "sql=SELECT+1&sql=SELECT+2", status: 400, want: "parameter sql is given 2 times"},
		{
			name: "sql in both", method: "POST", query: "sql=SELECT+1", body: "sql=SELECT+2",
			headers: headers{"Content-Type": form}, status: 400, want: "give it once",
		},
		{
			name: "sql beside a body", method: "POST", query: "sql=SELECT+1", body: "SELECT 2",
			headers: headers{"Content-Type": "text/plain"}, status: 400, want: "is given both",
		},
		{
			name: "json body", method: "POST", body: `{"sql":"SELECT 1"}`,
			headers: headers{"Content-Type": "application/json"}, status: 400,
			want: "application/x-www-form-urlencoded; send the statement itself as application/sql, or as parameter sql",
		},
		{
			name: "a statement as a form", method: "POST", body: "SELECT 1 WHERE 'a' LIKE '%x'",
			headers: headers{"Content-Type": form}, status: 400, want: "the body is a statement, but its content type",
		},
		{
			name: "an assignment in a statement as a form", method: "POST", body: "SELECT 1 WHERE 1=1 & 1",
			headers: headers{"Content-Type": form}, status: 400, want: "the body is a statement, but its content type",
		},
		{name: "format of other systems", query: "sql=SELECT+1&format=json", status: 400, want: "ndjson a line of JSON for"},
		{name: "format", query: "sql=SELECT+1&format=xml", status: 400, want: "unknown format"},
		{name: "limit", query: "sql=SELECT+1&limit=-1", status: 400, want: "parameter limit"},
		{
			name: "timeout", query: "sql=SELECT+1", headers: headers{"x-svc-timeout": "soon"}, status: 400,
			want: "x-svc-timeout",
		},
		{
			name: "time zone", query: "sql=SELECT+1", headers: headers{"x-svc-timezone": "Europe/Atlantis"}, status: 400,
			want: "is not known: use a name such as Europe/Berlin",
		},
		{
			name: "known time zone", query: "sql=SELECT+1", headers: headers{"x-svc-timezone": "Europe/Berlin"},
			status: 200, check: func(r query.Request) bool { return r.Timezone == "Europe/Berlin" },
		},
		{name: "syntax", query: "sql=SELEC+1", status: 400, want: "syntax error at line 1, column 1"},
		{name: "two results in csv", query: "sql=SELECT+1;SELECT+2&format=csv", status: 400, want: "one statement"},
		{
			name: "encoding", method: "POST", body: "SELECT 1",
			headers: headers{"Content-Type": "text/plain", "Content-Encoding": "lzma"}, status: 415, want: "lzma",
		},
		{
			name: "too long", method: "POST", body: "SELECT '" + strings.Repeat("x", 2000) + "'",
			headers: headers{"Content-Type": "text/plain"}, status: 413, want: "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &fakeService{rows: ones(1)}
			h := newHandler(t, s, func(c *Config) { c.MaxTextBytes = 1000 })
			if tt.method == "" {
				tt.method = "GET"
			}
			r := httptest.NewRequest(tt.method, "/v1/sql", strings.NewReader(tt.body))
			r.URL.RawQuery = tt.query
			for k, v := range tt.headers {
				r.Header.Set(k, v)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			body := took.ReplaceAllString(w.Body.String(), `"execution_time_ms":0`)
			if w.Code != tt.status {
				t.Fatalf("%d %s", w.Code, body)
			}
			if tt.status == 200 && tt.want != "" && strings.TrimSuffix(body, "\n") != strings.TrimSuffix(tt.want, "\n") ||
				!strings.Contains(body, tt.want) {
				t.Errorf("got %s, want %s", body, tt.want)
			}
			if tt.check != nil && !tt.check(s.got) {
				t.Errorf("executed %+v", s.got)
			}
		})
	}
}

func TestHeaders(t *testing.T) {
	for name, contentType := range map[string]string{
		"svcdb_v1": "application/json", "ndjson": "application/x-ndjson", "csv": "text/csv; charset=utf-8",
		"csvWithNames":         "text/csv; charset=utf-8; header=present",
		"csvWithNamesAndTypes": "text/csv; charset=utf-8; header=present", "table": "text/plain; charset=utf-8",
		"arrow": "application/vnd.apache.arrow.stream", "parquet": "application/vnd.apache.parquet",
	} {
		for _, n := range []int{0, 5} {
			w := httptest.NewRecorder()
			newHandler(t, &fakeService{rows: ones(n)}).ServeHTTP(w,
				httptest.NewRequest("GET", "/v1/sql?sql=SELECT+1&format="+name, nil))
			got := []string{w.Header().Get("Content-Type"), w.Header().Get("x-svc-format")}
			if d := cmp.Diff([]string{contentType, name}, got); d != "" || w.Code != 200 ||
				w.Header().Get("x-svc-execution-time") == "" {
				t.Errorf("%s, %d rows: %d %v\n%s", name, n, w.Code, w.Header(), d)
			}
		}
	}
}

func TestGzipBody(t *testing.T) {
	var body bytes.Buffer
	z := gzip.NewWriter(&body)
	if _, err := z.Write([]byte("SELECT 42")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	s := &fakeService{rows: ones(1)}
	r := httptest.NewRequest("POST", "/v1/sql", &body)
	r.Header.Set("Content-Type", "application/sql")
	r.Header.Set("Content-Encoding", "gzip")
	w := httptest.NewRecorder()
	newHandler(t, s).ServeHTTP(w, r)
	if w.Code != 200 || s.got.Statements[0].(*statement.Query).Text != "SELECT 42" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestGetReads sends every type of statement by GET and HEAD. Those that change something do not reach the
// service, whatever statements come before them and whatever the user's rights are.
func TestGetReads(t *testing.T) {
	for sql, reads := range map[string]bool{
		"SELECT 1": true, "WITH a AS (SELECT 1) SELECT * FROM a": true, "EXPLAIN SELECT 1": true,
		"EXPLAIN ANALYZE SELECT 1": true,
		"SHOW TABLES":              true, "SHOW DATABASES": true, "SHOW CREATE TABLE t": true, "SHOW CREATE DATABASE d": true,
		"DESCRIBE t":        true,
		"CREATE DATABASE d": false, "ALTER DATABASE d SET 'ttl'='1d'": false, "DROP DATABASE d": false,
		"CREATE TABLE t (ts TIMESTAMP TIME INDEX)": false, "ALTER TABLE t ADD COLUMN a STRING": false, "DROP TABLE t": false,
		"TRUNCATE TABLE t": false, "INSERT INTO t VALUES (1)": false, "DELETE FROM t WHERE ts < 1": false,
		"/* harmless */ SELECT 1; -- really\n drop table t": false,
	} {
		for _, method := range []string{"GET", "HEAD", "POST"} {
			s := &fakeService{rows: ones(1)}
			w := httptest.NewRecorder()
			newHandler(t, s).ServeHTTP(w, httptest.NewRequest(method, "/v1/sql?sql="+url.QueryEscape(sql), nil))
			refused := !reads && method != "POST"
			switch {
			case refused && (w.Code != 405 || w.Header().Get("Allow") != "POST" ||
				!strings.Contains(w.Body.String(), "send it by POST") || s.got.Statements != nil):
				t.Errorf("%s %s: %d, Allow %q, %s, executed %v", method, sql, w.Code, w.Header().Get("Allow"), w.Body,
					s.got.Statements)
			case !refused && (w.Code != 200 || s.got.Statements == nil):
				t.Errorf("%s %s: %d %s", method, sql, w.Code, w.Body)
			}
		}
	}
}

// TestErrorsBeforeFirstByte checks that errors before the first byte have their own status in every format.
func TestErrorsBeforeFirstByte(t *testing.T) {
	for _, name := range []string{"svcdb_v1", "ndjson", "csv", "table", "arrow", "parquet"} {
		for what, s := range map[string]*fakeService{
			"statement": {rows: ones(1), err: errs.New(errs.TableNotFound, "no table t")},
			"rows":      {rows: func() format.Rows { return &numbers{err: errs.New(errs.TableNotFound, "no table t")} }},
		} {
			w := httptest.NewRecorder()
			newHandler(t, s).ServeHTTP(w, httptest.NewRequest("GET", "/v1/sql?sql=SELECT+1&format="+name, nil))
			if w.Code != 400 || w.Body.String() != "error: no table t\n" || w.Header().Get("x-svc-format") != "" {
				t.Errorf("%s, %s: %d %s %v", name, what, w.Code, w.Body, w.Header())
			}
		}
	}
	late := &fakeService{
		rows: func() format.Rows { return &numbers{n: 3, batch: 1, err: errs.New(errs.EngineExecuteQuery, "late")} },
	}
	w := httptest.NewRecorder()
	newHandler(t, late).ServeHTTP(w, httptest.NewRequest("GET", "/v1/sql?sql=SELECT+1", nil))
	if w.Code != 500 {
		t.Errorf("svcdb_v1, after some rows: %d %s", w.Code, w.Body)
	}
}

// TestErrorAfterFirstByte checks that an error after the first byte does not look like the end of the rows.
func TestErrorAfterFirstByte(t *testing.T) {
	s := &fakeService{
		rows: func() format.Rows { return &numbers{n: 100_000, batch: 10_000, err: errors.New("shard lost")} },
	}
	srv := httptest.NewServer(newHandler(t, s))
	defer srv.Close()
	for _, name := range []string{"ndjson", "csv", "table", "arrow", "parquet"} {
		resp, err := srv.Client().Get(srv.URL + "/v1/sql?sql=SELECT+1&format=" + name)
		if err != nil {
			if name == "parquet" {
				continue // nothing was sent before the connection broke
			}
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if err == nil {
			t.Errorf("%s: the answer looks complete", name)
		}
	}
}

// TestStreams reads the beginning of an endless result.
func TestStreams(t *testing.T) {
	s := &fakeService{rows: func() format.Rows { return &numbers{n: -1, batch: 1000} }}
	srv := httptest.NewServer(newHandler(t, s))
	defer srv.Close()
	resp, err := srv.Client().Get(srv.URL + "/v1/sql?sql=SELECT+1&format=ndjson")
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(resp.Body)
	for range 50_000 {
		if line, err := lines.ReadString('\n'); err != nil || line != `{"code":200}`+"\n" {
			t.Fatal(line, err)
		}
	}
	_ = resp.Body.Close()
}

// TestTooLarge checks that a result that is too large for svcdb_v1 is refused.
func TestTooLarge(t *testing.T) {
	s := &fakeService{rows: func() format.Rows { return &numbers{n: -1, batch: 1000} }}
	h := newHandler(t, s, func(c *Config) { c.MaxResultBytes = 1 << 20 })
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/v1/sql?sql=SELECT+1", nil))
	if w.Code != 400 || !strings.Contains(w.Body.String(), "format=ndjson") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestNew(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("a handler without a service")
	}
}

// TestClientStalls checks the answer to a client that sends a part of its statement and then nothing.
func TestClientStalls(t *testing.T) {
	for name, header := range map[string]string{"of its own": "x-svc-timeout: 20ms\r\n", "of the server": ""} {
		h := newHandler(t, &fakeService{rows: ones(1)}, func(c *Config) {
			c.Timeout = 20 * time.Millisecond
			if header != "" {
				c.Timeout = time.Hour
			}
		})
		srv := httptest.NewServer(h)
		conn, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, "POST /v1/sql HTTP/1.1\r\nHost: x\r\nContent-Type: application/sql\r\n"+
			"Content-Length: 100\r\n"+header+"\r\nSELECT"); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("time limit %s: no answer: %v", name, err)
		}
		if answer.StatusCode != http.StatusRequestTimeout {
			t.Errorf("time limit %s: status %d, want 408", name, answer.StatusCode)
		}
		_ = answer.Body.Close()
		_ = conn.Close()
		srv.Close()
	}
}

// TestDeadlineIsLifted checks that a statement may run longer than its body may take to arrive.
func TestDeadlineIsLifted(t *testing.T) {
	s := &fakeService{rows: func() format.Rows { return &numbers{n: -1, batch: 10} }}
	srv := httptest.NewServer(newHandler(t, s, func(c *Config) { c.Timeout = 50 * time.Millisecond }))
	defer srv.Close()
	resp, err := http.Post(srv.URL+"/v1/sql?format=csv", "application/sql", strings.NewReader("SELECT 1"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for end := time.Now().Add(200 * time.Millisecond); time.Now().Before(end); {
		if _, err := io.ReadFull(resp.Body, make([]byte, 4096)); err != nil {
			t.Fatalf("the answer broke off: %v", err)
		}
	}
}

// TestServeLogs checks that a structured query becomes a SELECT, with the same parameters and answers as SQL.
func TestServeLogs(t *testing.T) {
	const q = `{"table":{"table_name":"app"},"time_filter":{"start":"2026"},"columns":["level"],"limit":{"fetch":5}}`
	const want = `SELECT "level" FROM "public"."app" WHERE "ts" >= '2026-01-01T00:00:00Z' AND ` +
		`"ts" < '2027-01-01T00:00:00Z' ORDER BY "ts" DESC LIMIT 5`
	for _, c := range []struct {
		name, method, target, body, contentType string
		status                                  int
		text                                    string
	}{
		{"a body", "POST", "/v1/logs?format=csv&limit=3&allow_partial=true", q, "Application/JSON; charset=x", 200, "200"},
		{"a body by GET", "GET", "/v1/logs?format=csv", q, "application/json", 200, "200"},
		{"a parameter", "GET", "/v1/logs?format=csv&query=" + url.QueryEscape(q), "", "", 200, "200"},
		{"both", "POST", "/v1/logs?query={}", q, "", 400, "is given both"},
		{"neither", "GET", "/v1/logs", "", "", 400, "missing"},
		{"no JSON", "POST", "/v1/logs", "SELECT 1", "application/sql", 400, "application/json"},
		{"another table", "POST", "/v1/logs?db=shop", q, "", 400, "shop.app"},
		{"another form", "POST", "/v1/logs", "[]", "", 400, "cannot be read"},
		{"too long", "POST", "/v1/logs", "{" + strings.Repeat(" ", 1<<20) + "}", "", 413, "1048576"},
	} {
		s := &fakeService{rows: ones(1)}
		r := httptest.NewRequest(c.method, c.target, strings.NewReader(c.body))
		r.Header.Set("Content-Type", c.contentType)
		w := httptest.NewRecorder()
		newHandler(t, s).ServeLogs(w, r)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.text) {
			t.Errorf("%s: %d %.200s, want %d %s", c.name, w.Code, w.Body, c.status, c.text)
		}
		if c.status != 200 {
			continue
		}
		if st, ok := s.got.Statements[0].(*statement.Query); !ok || len(s.got.Statements) != 1 || st.Text != want {
			t.Errorf("%s: %+v", c.name, s.got.Statements)
		}
		if c.name == "a body" && (!s.got.Limited || s.got.Limit != 3 || !s.got.AllowPartial) {
			t.Errorf("%s: %+v", c.name, s.got)
		}
	}
}

// TestLinks checks that links use parameters instead of headers.
func TestLinks(t *testing.T) {
	s := &fakeService{rows: ones(1)}
	h := newHandler(t, s)
	get := func(query string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "/v1/sql?sql=SELECT+1&"+query, nil)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	for _, form := range []string{"svcdb_v1", "csv", "parquet"} {
		w := get("format=" + form + "&timeout=5m&filename=a%20%22b%22%20%C3%A4.csv")
		name := w.Header().Get("Content-Disposition")
		_, parts, err := mime.ParseMediaType(name)
		if w.Code != 200 || err != nil || parts["filename"] != `a "b" ä.csv` {
			t.Errorf("%s: %d, %q, %v", form, w.Code, name, err)
		}
		if s.got.Timeout != 5*time.Minute {
			t.Errorf("%s: the time limit is %s", form, s.got.Timeout)
		}
	}
	for _, query := range []string{
		"timeout=soon", "filename=a%2Fb", "filename=..%5Cb", "filename=a%0D%0AX:b", "filename=" + strings.Repeat("x", 201),
		"integers=few", "timeout=1s&timeout=2s", "nulls=some", "nulls=omit", "nulls=omit&format=csv", "formulas=text",
		"formulas=some&format=csv",
	} {
		if w := get(query); w.Code != 400 {
			t.Errorf("%.50s: %d", query, w.Code)
		}
	}
	if w := get("timeout=1s", "x-svc-timeout", "2s"); w.Code != 400 {
		t.Errorf("two time limits: %d", w.Code)
	}
	if w := get(""); w.Header().Get("Content-Disposition") != "" {
		t.Error("an answer without a file name is sent as a file")
	}
}
