package pipeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/cmd/cordwood/ingest"
)

func TestUnifiedDiff(t *testing.T) {
	seq := func(from, to int) (out []string) {
		for i := from; i <= to; i++ {
			out = append(out, fmt.Sprint("l", i))
		}
		return out
	}
	for _, tt := range []struct {
		name string
		a, b []string
		want string
	}{
		{"equal", seq(1, 5), seq(1, 5), ""},
		{"both empty", nil, nil, ""},
		{"added", nil, []string{"x"}, "--- a\n+++ b\n@@ -1,0 +1,1 @@\n+x\n"},
		{"removed", []string{"x"}, nil, "--- a\n+++ b\n@@ -1,1 +1,0 @@\n-x\n"},
		{
			"changed in the middle", seq(1, 9), append(append(seq(1, 4), "x"), seq(6, 9)...),
			"--- a\n+++ b\n@@ -2,7 +2,7 @@\n l2\n l3\n l4\n-l5\n+x\n l6\n l7\n l8\n",
		},
		{
			"two hunks", seq(1, 20), append(append([]string{"x"}, seq(2, 19)...), "y"),
			"--- a\n+++ b\n@@ -1,4 +1,4 @@\n-l1\n+x\n l2\n l3\n l4\n@@ -17,4 +17,4 @@\n l17\n l18\n l19\n-l20\n+y\n",
		},
		{
			"near each other", seq(1, 5),
			[]string{"x", "l2", "l3", "l4", "y"},
			"--- a\n+++ b\n@@ -1,5 +1,5 @@\n-l1\n+x\n l2\n l3\n l4\n-l5\n+y\n",
		},
		{"inserted", seq(1, 3), []string{"l1", "x", "l2", "l3"}, "--- a\n+++ b\n@@ -1,3 +1,4 @@\n l1\n+x\n l2\n l3\n"},
	} {
		if diff := cmp.Diff(tt.want, unifiedDiff("a", "b", tt.a, tt.b)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	// Too many lines to compare are shown as replaced.
	long := unifiedDiff("a", "b", seq(1, 3000), seq(3001, 6000))
	if n := strings.Count(long, "\n"); n != 6003 {
		t.Errorf("%d lines", n)
	}
}

func TestReplayWhere(t *testing.T) {
	for _, tt := range []struct {
		o    replayOptions
		want string // "" for a usage error
	}{
		{replayOptions{}, "true"},
		{
			replayOptions{pipeline: "it's", table: "t", db: "d", kind: "type"},
			"true AND pipeline = 'it''s' AND table_schema = 'd' AND table_name = 't' AND kind = 'type'",
		},
		{
			replayOptions{since: "2024-07-04 08:31", until: "2024-07-04T10:31:00.5+02:00"},
			"true AND rejected_at >= TIMESTAMP_NS '2024-07-04 08:31:00.000000000' AND rejected_at < TIMESTAMP_NS '2024-07-04 " +
				"08:31:00.500000000'",
		},
		{replayOptions{since: "yesterday'"}, ""},
	} {
		got, err := tt.o.where()
		if got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%+v: %q, %v, want %q", tt.o, got, err, tt.want)
		}
	}
}

func TestFirstRecords(t *testing.T) {
	for _, tt := range []struct {
		name, in   string
		n          int
		data, kind string
	}{
		{"lines of text", "one\r\n\ntwo\nthree\n", 2, "one\ntwo\n", "text/plain"},
		{"lines of JSON", "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n", 2, "{\"a\":1}\n{\"a\":2}\n", "application/x-ndjson"},
		{"an array", `[{"a":1},{"a":2},{"a":3}]`, 2, "[{\"a\":1}]\n[{\"a\":2}]\n", "application/json"},
		{"one object", "{\n\"a\":1}", 10, "[{\n\"a\":1}]\n", "application/json"},
		{"with a byte order mark", "\xef\xbb\xbfone\n", 10, "one\n", "text/plain"},
		{"nothing", "\n\n", 10, "", ""},
	} {
		cmd := &cobra.Command{}
		cmd.SetIn(strings.NewReader(tt.in))
		got, err := firstRecords(cmd, "-", ingest.FormatAuto, tt.n)
		if err != nil {
			got = &dryRunData{}
		}
		if got.data != tt.data || got.contentType != tt.kind || got.more != "" || (err != nil) != (tt.data == "") {
			t.Errorf("%s: %+v, %v", tt.name, got, err)
		}
	}
}

// TestDryRunTellsTheRest: a file with more records than are tried is not passed over in silence.
func TestDryRunTellsTheRest(t *testing.T) {
	server, _ := pipelineServer(t)
	lines, broken := writeFile(t, "lines.txt", []byte(strings.Repeat("x\n\n", 3001))),
		writeFile(t, "broken.json", []byte(`[{"a":1},{"a":2},}`))
	for _, tt := range []struct {
		file, n string
		want    string
	}{
		{lines, "10", "tried the first 10 of 3001 records; a dry run takes no more\n"},
		{lines, "3", "tried the first 3 of 3001 records; -n tries up to 10\n"},
		{broken, "1", "tried the first of more than 2 records; -n tries up to 10\n"},
		{writeFile(t, "two", []byte("x\ny\n\n")), "2", ""},
		{
			writeFile(t, "long", bytes.Repeat([]byte(strings.Repeat("x", 1<<20)+"\n"), 70)), "1",
			"tried the first of more than 65 records; -n tries up to 10\n",
		},
	} {
		_, stderr, err := execute(t, "", "pipeline", "dryrun", "edge", tt.file, "-n", tt.n, "--server", server)
		if err != nil && !cli.IsSilent(err) || stderr != tt.want {
			t.Errorf("%s, %s: %q, %v, want %q", tt.file, tt.n, stderr, err, tt.want)
		}
	}
}

// TestDryRunShowsTwoWhole: the first two records that pass are shown, and every one that fails; -n shows all.
func TestDryRunShowsTwoWhole(t *testing.T) {
	var answer strings.Builder
	answer.WriteString(`{"tables":[{"table_name":"dry_run","rows":[[]],"schema":[{"name":"host","data_type":"STRING",` +
		`"column_type":"FIELD","fulltext":false,"index":"inverted"}]}],"records":[`)
	for i := range 6 {
		outcome := `"stored"`
		switch i {
		case 3:
			outcome = `"failed","error":{"step":"transform","reason":"no number"}`
		case 5:
			outcome = `"dropped"`
		}
		fmt.Fprintf(&answer, `{"index":%d,"outcome":%s},`, i, outcome)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(strings.TrimSuffix(answer.String(), ",") + "]}"))
	}))
	defer s.Close()
	const end = "table dry_run: 1 row, would be created\n  host  STRING  FIELD  inverted\n\n"
	const two = "record 0: stored\n\nrecord 1: stored\n\n"
	const failed = "record 3: failed at transform\n  ! transform: no number\n\n"
	for _, tt := range []struct{ n, want string }{
		{"", two + failed + "not shown: 1 record dropped, 2 records stored; -n 6 shows them\n\n" + end},
		{"6", two + "record 2: stored\n\n" + failed + "record 4: stored\n\nrecord 5: dropped\n\n" + end},
	} {
		args := []string{"pipeline", "dryrun", "edge", "--server", s.URL}
		if tt.n != "" {
			args = append(args, "-n", tt.n)
		}
		out, _, err := execute(t, strings.Repeat("x\n", 6), args...)
		if !cli.IsSilent(err) || out != tt.want {
			t.Errorf("-n %q: %v\n%s", tt.n, err, cmp.Diff(tt.want, out))
		}
	}
}

// TestDryRunPrintsWarnings: what would be stored otherwise than it came is told beside the rows.
func TestDryRunPrintsWarnings(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("X-Svc-Warnings", "2 numbers lost their fraction")
		w.Header().Add("X-Svc-Warnings", "1 key came more than once")
		_, _ = w.Write([]byte(tracedAnswer))
	}))
	t.Cleanup(s.Close)
	_, stderr, err := execute(t, "x\n", "pipeline", "dryrun", "edge", "--server", s.URL)
	if want := "warning: 2 numbers lost their fraction\nwarning: 1 key came more than once\n"; stderr != want {
		t.Errorf("%q, %v, want %q", stderr, err, want)
	}
}

// TestDryRunOfFile names the flag for whoever gives a file as the name of a pipeline.
func TestDryRunOfFile(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"code":1004,"error":"Pipeline not found, name: p.yaml, version: latest"}`))
	}))
	t.Cleanup(s.Close)
	file := writeFile(t, "p.yaml", []byte("version: 2\n"))
	_, _, err := execute(t, "x\n", "pipeline", "dryrun", file, "--server", s.URL)
	if want := file + " is a file: for a pipeline in a file write --file " + file; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
	if _, _, err := execute(t, "x\n", "pipeline", "dryrun", "edge", "--server", s.URL); err == nil ||
		strings.Contains(err.Error(), "--file") {
		t.Errorf("a name that is no file: %v", err)
	}
}

// pipelineServer answers as a server with the pipeline edge does, and notes requests.
func pipelineServer(t *testing.T) (server string, asked func() []string) {
	t.Helper()
	var log []string
	versions := map[string]string{"v1": "a: 1\nb: 2\n", "v2": "a: 1\nb: 3\n"}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		log = append(log, strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Method, r.URL.RequestURI(), body)))
		version := r.URL.Query().Get("version")
		if version == "" {
			version = "v2"
		}
		answer := map[string]any{}
		switch {
		case r.URL.Path == "/v1/pipelines/_dryrun":
			_, _ = w.Write([]byte(tracedAnswer))
			return
		case r.URL.Path == "/v1/pipelines":
			list := []any{}
			if name := r.URL.Query().Get("name"); name == "" || name == "edge" {
				list = append(list, map[string]any{"name": "edge", "version": "v2", "size": 10, "versions": []any{
					map[string]any{"version": "v2", "size": 10}, map[string]any{"version": "v1", "size": 2048},
				}})
			}
			answer["pipelines"] = list
		case r.Method == "DELETE":
			list := []any{}
			if _, ok := versions[version]; ok {
				list = append(list, map[string]any{"name": "edge", "version": version})
			}
			answer["pipelines"] = list
		case r.Method == "POST":
			answer["pipelines"] = []any{map[string]any{"name": "edge", "version": "v3"}}
			answer["warnings"] = []string{"careful"}
		default:
			text, ok := versions[version]
			if !ok || !strings.HasSuffix(r.URL.Path, "/edge") {
				w.WriteHeader(http.StatusBadRequest)
				answer["code"], answer["error"] = 1004, "Pipeline not found"
				break
			}
			answer["pipelines"] = []any{map[string]any{"name": "edge", "version": version, "pipeline": text}}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []string { return log }
}

const tracedAnswer = `{"tables":[{"table_name":"dry_run_web","database":"public","schema":[
 {"name":"t","data_type":"TIMESTAMP_NANOSECOND","column_type":"TIMESTAMP","fulltext":false},{"name":"m",` +
	`"data_type":"STRING","column_type":"FIELD","fulltext":true}],
 "rows":[[{"key":"t","value":1767225600500000000,"data_type":"TIMESTAMP_NANOSECOND"},{"key":"m","value":"x",` +
	`"data_type":"STRING"},{"key":"n","value":null,"data_type":"INT64"},{"key":"status","value":200,` +
	`"data_type":"INT64"}]],"options":{"ttl":"1day","append_mode":"true"},"exists":true,"new_columns":["m"],` +
	`"different_options":[{"option":"ttl","wanted":"1day","table":""}]}],
"records":[{"index":0,"input":{"message":"x"},"outcome":"stored",
  "steps":[{"pipeline":"edge","step":"processors[0] dissect","record":{"message":"x","m":"x"},"added":["m"],` +
	`"changed":["message"],"removed":["old"]},
           {"pipeline":"edge","step":"processors[1] letter","record":{"message":"x","m":"x"},"added":[],"changed":[],` +
	`"removed":[]}],
  "rows":[{"table":"dry_run_web","row":0,"options":{},"record":{"m":"x","status":"200","text":"y"},` +
	`"dropped":["text"]}]},
 {"index":1,"input":{"message":"y"},"outcome":"failed","steps":[],"rows":[],
  "error":{"pipeline":"edge","step":"processors[0] dissect","position":0,"field":"message","value":"\"y\"",` +
	`"reason":"no match"}},
 {"index":2,"outcome":"dropped","steps":[
  {"pipeline":"edge","step":"processors[0] vrl","record":null,"added":[],"changed":[],"removed":[]}],
  "rows":[]}],"skipped":1,"execution_time_ms":1}`

// against runs a command line in this process, against a server.
func against(t *testing.T, server, in string, args ...string) (out, errOut string, err error) {
	t.Helper()
	return execute(t, in, append(args, "--server", server)...)
}

func TestPipelineCommands(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "p.yaml")
	if err := os.WriteFile(file, []byte("a: 1\nb: 4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args  string
		in    string
		want  string
		fails string // part of the error
		asked string // the last request
	}{
		{args: "put edge " + file, want: "edge, version v3\n", asked: "POST /v1/pipelines/edge a: 1\nb: 4"},
		{args: "put edge -", in: "x: 1", want: "edge, version v3\n", asked: "POST /v1/pipelines/edge x: 1"},
		{args: "put a/b -", in: "x: 1", want: "edge, version v3\n", asked: "POST /v1/pipelines/a%2Fb x: 1"},
		{args: "put edge", fails: "want NAME FILE"},
		{args: "put edge nowhere.yaml", fails: "no such file"},
		{args: "get edge", want: "a: 1\nb: 3\n", asked: "GET /v1/pipelines/edge"},
		{args: "get edge --version v1", want: "a: 1\nb: 2\n", asked: "GET /v1/pipelines/edge?version=v1"},
		{args: "get nope", fails: "Pipeline not found"},
		{args: "list", want: "NAME  NEWEST VERSION  VERSIONS  SIZE\nedge  v2              2         10 B\n"},
		{
			args: "list -o json",
			want: "[\n  {\n    \"name\": \"edge\",\n    \"version\": \"v2\",\n    \"size\": 10,\n    \"versions\": " +
				"[\n      {\n        \"version\": \"v2\",\n        \"size\": 10\n      },\n      {\n        \"version\": " +
				"\"v1\",\n        \"size\": 2048\n      }\n    ]\n  }\n]\n",
		},
		{args: "list -o xml", fails: "use table, json or yaml"},
		{args: "versions edge", want: "VERSION  SIZE\nv2       10 B\nv1       2.0 KiB\n"},
		{args: "versions edge -o yaml", want: "- version: v2\n  size: 10\n- version: v1\n  size: 2048\n"},
		{args: "versions nope", fails: "there is no pipeline nope"},
		{
			args:  "rollback edge",
			want:  "edge, version v3, with the text of version v1\n",
			asked: "POST /v1/pipelines/edge a: 1\nb: 2",
		},
		{
			args:  "rollback edge --version v2",
			want:  "edge, version v3, with the text of version v2\n",
			asked: "POST /v1/pipelines/edge a: 1\nb: 3",
		},
		{args: "rollback edge --version v9", fails: "Pipeline not found"},
		{args: "rollback nope", fails: "there is no pipeline nope"},
		{args: "delete edge --version v1", want: "deleted edge, version v1\n", asked: "DELETE /v1/pipelines/edge?version=v1"},
		{args: "delete edge v1", want: "deleted edge, version v1\n"},
		{args: "delete edge --all", want: "deleted edge, version v1\ndeleted edge, version v2\n"},
		{args: "delete edge --version v9", fails: "no such version"},
		{args: "delete edge", fails: "say what to delete"},
		{args: "delete edge --all --version v1", fails: "say what to delete"},
		{args: "diff edge v1 v2", want: "--- edge, version v1\n+++ edge, version v2\n@@ -1,2 +1,2 @@\n a: 1\n-b: 2\n+b: 3\n"},
		{
			args: "diff edge latest " + file,
			want: "--- edge, version v2\n+++ " + file + "\n@@ -1,2 +1,2 @@\n a: 1\n-b: 3\n+b: 4\n",
		},
		{args: "diff edge v1 v1", want: ""},
		{args: "diff edge v1 v9", fails: "Pipeline not found"},
		{
			args: "dryrun edge", in: "x\ny\n",
			asked: `POST /v1/pipelines/_dryrun?trace=true {"data":"x\ny\n","data_type":"text/plain","pipeline_name":"edge"}`,
			want: `record 0: stored in dry_run_web
  {"message":"x"}
  processors[0] dissect (edge)
    + m = "x"
    ~ message = "x"
    - old
  processors[1] letter (edge)
    no change
  row of dry_run_web: {"t":"2026-01-01T00:00:00.5Z","m":"x","status":200}
  dropped, as the transform does not list them: text

record 1: failed at processors[0] dissect
  {"message":"y"}
  ! processors[0] dissect: no match; field message; value "y"

record 2: dropped
  processors[0] vrl (edge)
    the program's result is null, so the record is dropped

table dry_run_web: 1 row, exists (append_mode=true, ttl=1day)
  t  TIMESTAMP_NANOSECOND  TIMESTAMP  
  m  STRING                FIELD      fulltext, new
  option ttl: 1day is wanted, the table has ""

`,
		},
		{
			args: "dryrun --file " + file + " --table web --db d -n 1", in: "x\ny\n", want: "-",
			asked: `POST /v1/pipelines/_dryrun?db=d&table=web&trace=true ` +
				`{"data":"x\n","data_type":"text/plain","pipeline":"a: 1\nb: 4\n"}`,
		},
		{
			args: "dryrun edge --version v1 --format ndjson", in: "x\n", want: "-",
			asked: `POST /v1/pipelines/_dryrun?trace=true {"data":"x\n","data_type":"application/x-ndjson",` +
				`"pipeline_name":"edge","pipeline_version":"v1"}`,
		},
		{args: "dryrun", fails: "say which pipeline to try"},
		{args: "dryrun edge -n 11", in: "x", fails: "1 to 10"},
		{args: "dryrun edge --format xml", in: "x", fails: "use auto, json, ndjson or text"},
		{args: "dryrun edge", in: "", fails: "holds no records"},
		{args: "replay-rejects --since soon", fails: "is no time"},
		{args: "replay-rejects --kind procesor", fails: "--kind procesor: use other, parse, processor"},
		{args: "replay-rejects --limit -1", fails: "want 0 or more"},
		{args: "replay-rejects --on-reject keep", fails: "use drop or store"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			server, asked := pipelineServer(t)
			out, errOut, err := against(t, server, tt.in, append([]string{"pipeline"}, strings.Fields(tt.args)...)...)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("error %v, want one with %q", err, tt.fails)
				}
				return
			}
			if err != nil && (!cli.IsSilent(err) || !strings.HasPrefix(tt.args, "dryrun")) {
				t.Fatal(err)
			}
			if failed := strings.Contains(out, ": failed at"); failed != (err != nil) {
				t.Errorf("a record failed: %v, and the command ends with %v", failed, err)
			}
			if diff := cmp.Diff(tt.want, out); diff != "" && tt.want != "-" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
			if stores := strings.HasPrefix(tt.args, "put") ||
				strings.HasPrefix(tt.args, "rollback"); stores != strings.Contains(errOut, "warning: careful") {
				t.Errorf("error output %q", errOut)
			}
			if log := asked(); tt.asked != "" && log[len(log)-1] != tt.asked {
				t.Errorf("asked %q, want %q", log[len(log)-1], tt.asked)
			}
		})
	}
}

func TestDryRunOutputs(t *testing.T) {
	server, _ := pipelineServer(t)
	for output, want := range map[string]string{
		"json": "\"table_name\": \"dry_run_web\"",
		"yaml": "table_name: dry_run_web",
	} {
		out, _, err := against(t, server, "x\n", "pipeline", "dryrun", "edge", "--output", output)
		if !cli.IsSilent(err) || !strings.Contains(out, want) {
			t.Errorf("%s: %v, want status 1, as a record fails\n%s", output, err, out)
		}
	}
}

// replayServer keeps rejects as a server does: it notes those that it stored, knows keys,
// and can be told to fail.
type replayServer struct {
	*httptest.Server
	mu      sync.Mutex
	rejects []string // rows of svc_private.rejects
	noted   []string // ids
	keys    map[string]string
	stored  []string // records, as often as they were stored
	posts   []string
	// kill reports whether the command is killed when the records of this post are stored, and
	// not noted yet.
	kill func(post int) bool
	// sent is told of every request.
	sent func(key string, ids []string)
}

func newReplayServer(t *testing.T, rejects ...string) *replayServer {
	s := &replayServer{rejects: rejects, keys: map[string]string{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case r.URL.Path == "/v1/sql" && strings.Contains(string(body), "svc_private.replayed"):
			_, only, some := strings.Cut(string(body), " WHERE id IN ")
			for _, id := range s.noted {
				if !some || strings.Contains(only, "'"+id+"'") {
					fmt.Fprintf(w, "{\"id\":%q}\n", id)
				}
			}
		case r.URL.Path == "/v1/sql":
			for _, row := range s.rejects {
				fmt.Fprintln(w, row)
			}
		default:
			s.ingest(t, w, r, string(body))
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *replayServer) ingest(t *testing.T, w http.ResponseWriter, r *http.Request, body string) {
	s.posts = append(s.posts, fmt.Sprintf("%s %s %q", r.URL.RawQuery, r.Header.Get("Content-Type"), body))
	key, ids := r.Header.Get("Idempotency-Key"), strings.Split(r.Header.Get("X-Svc-Replayed"), ",")
	records := strings.Split(strings.TrimSuffix(body, "\n"), "\n")
	if key == "" || len(ids) != len(records) {
		t.Errorf("key %q, %d ids for %d records", key, len(ids), len(records))
	}
	if s.sent != nil {
		s.sent(key, ids)
	}
	if old, found := s.keys[key]; found && old != body {
		t.Errorf("the key %s was used for another body", key)
	}
	_, again := s.keys[key]
	s.keys[key] = body
	killed := s.kill != nil && s.kill(len(s.posts))
	bad := 0
	for i, record := range records {
		if strings.Contains(record, "oops") {
			bad++
			continue
		}
		if !again {
			s.stored = append(s.stored, record)
		}
		if !killed {
			s.noted = append(s.noted, ids[i])
		}
	}
	if killed {
		w.WriteHeader(http.StatusBadRequest) // as good as a command that is killed
		return
	}
	fmt.Fprintf(w, `{"output":[{"affectedrows":%d}],"skipped":{"count":%d,"reasons":[{"index":0,"error":"bad"}]}}`,
		len(records)-bad, bad)
}

func reject(at, table, format, record string) string {
	return fmt.Sprintf(`{"rejected_at":%q,"table_schema":"public","table_name":%q,"pipeline":"edge",`+
		`"pipeline_version":"v","custom_time_index":null,"record_index":0,"kind":"type","error":"e","format":%q,"record":%q}`,
		at, table, format, record)
}

// TestReplay sends kept records in requests of their own, and each of them once.
func TestReplay(t *testing.T) {
	s := newReplayServer(t,
		// alike, and two
		reject("2024-07-04T08:31:00Z", "a", "json", "{\n \"k\": 1 }"),
		reject("2024-07-04T08:31:00Z", "a", "json", "{\n \"k\": 1 }"),
		reject("2024-07-04T08:31:00.000000001Z", "a", "json", "{oops\n}"),
		reject("2024-07-04T08:31:01Z", "a", "text", "a line"),
		reject("2024-07-04T08:31:02.123456789Z", "b", "text", "x"), reject("2024-07-04T08:31:03Z", "b", "text", " "),
	)
	out, errOut, err := against(t, s.URL, "", "pipeline", "replay-rejects", "--pipeline", "edge", "--to", "new",
		"--to-table", "d.new")
	if !cli.IsSilent(err) || cli.ExitStatus(err) != cli.ExitFailed {
		t.Errorf("two records failed again: %v, want status 1", err)
	}
	const to = `db=d&on_reject=drop&pipeline_name=new&skip_error=true&table=new `
	want := []string{
		to + `application/x-ndjson "{\"k\":1}\n"`, to + `application/x-ndjson "{\"k\":1}\n"`,
		to + `application/x-ndjson "{oops }\n"`,
		to + `text/plain "a line\n"`, to + `text/plain "x\n"`,
	}
	slices.Sort(s.posts)
	if diff := cmp.Diff(want, s.posts); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if out != "6 records sent again: 4 rows written, 2 failed again; next time: --since '2024-07-04 07:31:03'\n" {
		t.Errorf("output %q", out)
	}
	if errOut != "failed again: the record is empty\nfailed again: bad\n" {
		t.Errorf("error output %q", errOut)
	}
	posts := len(s.posts)
	out, _, err = against(t, s.URL, "", "pipeline", "replay-rejects", "--list")
	if lines := strings.Split(strings.TrimSpace(out), "\n"); err != nil || len(lines) != 2 ||
		!strings.Contains(lines[0], "oops") || len(s.posts) != posts {
		t.Errorf("open records: %v\n%s", err, out)
	}
	out, _, _ = against(t, s.URL, "", "pipeline", "replay-rejects", "--list", "--again", "--limit", "5")
	if lines := strings.Split(strings.TrimSpace(out), "\n"); len(lines) != 5 {
		t.Errorf("five of all records: %s", out)
	}
	out, _, _ = against(t, s.URL, "", "pipeline", "replay-rejects", "--to", "new", "--to-table", "d.new")
	if len(s.stored) != 4 || !strings.Contains(out,
		"2 records sent again: 0 rows written, 2 failed again; 4 were stored by an earlier run") {
		t.Errorf("the second time: %q, stored %q", out, s.stored)
	}
	if _, _, err = against(t, s.URL, "", "pipeline", "replay-rejects", "--again", "--to", "new", "--to-table",
		"d.new"); len(s.stored) != 8 {
		t.Errorf("--again: stored %q, %v", s.stored, err)
	}
}

// TestReplayAfterAKill runs the command again after it was killed between what it stored
// and the note of that: the same requests come with the same keys, also if other records
// failed again before, and with --since.
func TestReplayAfterAKill(t *testing.T) {
	var rejects []string
	for i := range 3000 {
		record := fmt.Sprintf(`{"i":%d}`, i)
		if i%50 == 7 {
			record = fmt.Sprintf(`{oops %d`, i)
		}
		rejects = append(rejects, reject(fmt.Sprintf("2024-07-04T08:%02d:%02dZ", i/60, i%60), fmt.Sprint("t", i%2),
			"json", record))
	}
	s := newReplayServer(t, rejects...)
	s.kill = func(post int) bool { return post%40 == 0 }
	kills := 0
	for ; kills < 100; kills++ {
		_, _, err := against(t, s.URL, "", "pipeline", "replay-rejects")
		if cli.IsSilent(err) {
			break
		}
		s.posts = s.posts[:0]
		if kills > 20 {
			s.kill = nil // what fails again comes each time, and would be killed each time
		}
	}
	if len(s.stored) != 2940 || kills < 10 {
		t.Errorf("%d records are stored after %d kills, want 2940", len(s.stored), kills)
	}
}

// TestReplayKeys: a record comes under one key, and a key with one list of records, whichever
// rejects came in since an earlier run, and whichever the runs leave out. No run learns here what
// another one stored, as if all of them ran at once, or were killed.
func TestReplayKeys(t *testing.T) {
	row := func(i int) string {
		return reject(fmt.Sprintf("2024-07-04T08:%02d:%02dZ", i/60, i%60), fmt.Sprint("t", i%2), "json",
			fmt.Sprintf(`{"i":%d}`, i))
	}
	for _, tt := range []struct {
		name string
		runs []int // how many rejects there are at each
		args [][]string
	}{
		{"one more each time", []int{1, 2, 3, 4, 5}, nil},
		{"after a full chunk", []int{replayRecords, replayRecords + 1}, nil},
		{"many more", []int{30, 500, 1300}, nil},
		{"none", []int{700, 700}, nil},
		{"a part of them", []int{900, 901, 902}, [][]string{nil, {"--limit", "17"}, {"--limit", "500"}}},
		{"another pipeline", []int{90, 91}, [][]string{nil, {"--to", "mended"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newReplayServer(t)
			keys, ids := map[string]string{}, map[string]string{} // by id, by key
			s.sent = func(key string, records []string) {
				if old, found := ids[key]; found && old != strings.Join(records, ",") {
					t.Errorf("the key %s stands for %s, and for %s", key, old, records)
				}
				ids[key] = strings.Join(records, ",")
				for _, id := range records {
					if old, found := keys[id]; found && old != key {
						t.Errorf("the record %s comes under two keys", id)
					}
					keys[id] = key
				}
			}
			for i, n := range tt.runs {
				for len(s.rejects) < n {
					s.rejects = append(s.rejects, row(len(s.rejects)))
				}
				args := []string{"pipeline", "replay-rejects"}
				if tt.args != nil {
					args = append(args, tt.args[i]...)
				}
				s.noted = nil
				if _, _, err := against(t, s.URL, "", args...); err != nil {
					t.Fatal(err)
				}
			}
			if most := tt.runs[len(tt.runs)-1]; len(s.stored) != len(keys) || tt.args == nil && len(keys) != most {
				t.Errorf("%d records are stored %d times in all", len(keys), len(s.stored))
			}
		})
	}
}

// TestReplayLooksAgain: what another run noted since this one began is not sent.
func TestReplayLooksAgain(t *testing.T) {
	var rejects []string
	for i := range 2 * replayRecords {
		rejects = append(rejects, reject(fmt.Sprintf("2024-07-04T08:%02d:%02dZ", i/60, i%60), "t", "json",
			fmt.Sprintf(`{"i":%d}`, i)))
	}
	first := newReplayServer(t, rejects...)
	if _, _, err := against(t, first.URL, "", "pipeline", "replay-rejects"); err != nil {
		t.Fatal(err)
	}
	s := newReplayServer(t, rejects...)
	s.sent = func(string, []string) {
		if s.noted == nil {
			s.noted = slices.Clone(first.noted) // and the keys are forgotten long since
		}
	}
	out, _, err := against(t, s.URL, "", "pipeline", "replay-rejects")
	if err != nil || len(s.posts) != replayRecords ||
		!strings.Contains(out, fmt.Sprintf("%d were stored by an earlier run", replayRecords)) {
		t.Errorf("%d records were sent, want the first %d: %s, %v", len(s.posts), replayRecords, out, err)
	}
}

// Without the table there are no rejects.
func TestReplayWithoutTable(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"code":4001,"error":"no such table"}`)
	}))
	defer s.Close()
	if out, _, err := against(t, s.URL, "", "pipeline", "replay-rejects"); err != nil ||
		out != "0 records sent again: 0 rows written, 0 failed again\n" {
		t.Errorf("%q, %v", out, err)
	}
	if out, _, err := against(t, s.URL, "", "pipeline", "replay-rejects", "--count"); err != nil ||
		out != "no rejected records are kept\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestPipelineHelp(t *testing.T) {
	for _, sub := range NewCommand().Commands() {
		if sub.Short == "" || sub.Example == "" {
			t.Errorf("%s has no help", sub.Name())
		}
	}
}
