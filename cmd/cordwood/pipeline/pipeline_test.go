package pipeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/cmd/cordwood/cli/clitest"
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

// TestDryRunTellsTheRest checks that the output reports if a file has more records than are tried.
func TestDryRunTellsTheRest(t *testing.T) {
	server, _ := pipelineServer(t)
	lines, broken := clitest.WriteFile(t, "lines.txt", []byte(strings.Repeat("x\n\n", 3001))),
		clitest.WriteFile(t, "broken.json", []byte(`[{"a":1},{"a":2},}`))
	for _, tt := range []struct {
		file, n string
		want    string
	}{
		{lines, "100", "tried the first 100 of 3001 records; the maximum of a dry run\n"},
		{lines, "10", "tried the first 10 of 3001 records; -n tries up to 100\n"},
		{lines, "3", "tried the first 3 of 3001 records; -n tries up to 100\n"},
		{broken, "1", "tried the first of more than 2 records; -n tries up to 100\n"},
		{clitest.WriteFile(t, "two", []byte("x\ny\n\n")), "2", ""},
		{
			clitest.WriteFile(t, "long", bytes.Repeat([]byte(strings.Repeat("x", 1<<20)+"\n"), 70)), "1",
			"tried the first of more than 65 records; -n tries up to 100\n",
		},
	} {
		_, stderr, err := execute(t, "", "pipeline", "dryrun", "edge", tt.file, "-n", tt.n, "--server", server)
		if err != nil && !cli.IsSilent(err) || stderr != tt.want {
			t.Errorf("%s, %s: %q, %v, want %q", tt.file, tt.n, stderr, err, tt.want)
		}
	}
}

// TestDryRunShowsTwoWhole checks that the first two successful records and all failed ones are shown
// in full, and that -n shows more.
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

// TestDryRunOfManyRecords checks that the command sends as many records as a server accepts, and
// requests the steps of each.
func TestDryRunOfManyRecords(t *testing.T) {
	for _, tt := range []struct {
		args          []string
		lines, traced int // traced: the last record whose steps are requested; 0 if there is none
		sent          int
	}{
		{args: []string{"-n", "100"}, lines: 120, sent: 100, traced: 99},
		{args: []string{"-n", "100"}, lines: 12, sent: 12, traced: 11},
		{args: []string{"-n", "10"}, lines: 120, sent: 10},
		{lines: 120, sent: 10},
	} {
		var query url.Values
		var form struct{ Data string }
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			query = r.URL.Query()
			if err := json.NewDecoder(r.Body).Decode(&form); err != nil {
				t.Error(err)
			}
			_, _ = w.Write([]byte(`{"tables":[],"records":[],"cut":true}`))
		}))
		t.Cleanup(s.Close)
		_, stderr, err := execute(t, strings.Repeat("x\n", tt.lines),
			append([]string{"pipeline", "dryrun", "edge", "--server", s.URL}, tt.args...)...)
		if err != nil || !strings.Contains(stderr, "the server left out some steps or rows") {
			t.Errorf("%v, %d lines: %v %q", tt.args, tt.lines, err, stderr)
		}
		var traced []string
		for i := range tt.traced + 1 {
			traced = append(traced, strconv.Itoa(i))
		}
		want := strings.Join(traced, ",")
		if tt.traced == 0 {
			want = ""
		}
		if n := strings.Count(form.Data, "x\n"); n != tt.sent || query.Get("trace_records") != want {
			t.Errorf("%v, %d lines: %d were sent, and %q asked for", tt.args, tt.lines, n, query)
		}
	}
}

// TestDryRunPrintsWarnings checks that a warning is printed for each value that would be changed when
// it is stored.
func TestDryRunPrintsWarnings(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("X-Svc-Warnings", "2 numbers lost their fraction")
		w.Header().Add("X-Svc-Warnings", "1 key occurred more than once")
		_, _ = w.Write([]byte(tracedAnswer))
	}))
	t.Cleanup(s.Close)
	_, stderr, err := execute(t, "x\n", "pipeline", "dryrun", "edge", "--server", s.URL)
	if want := "warning: 2 numbers lost their fraction\nwarning: 1 key occurred more than once\n"; stderr != want {
		t.Errorf("%q, %v, want %q", stderr, err, want)
	}
}

// TestDryRunOfFile checks that the error suggests the flag if a file is given in place of a pipeline's
// name.
func TestDryRunOfFile(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"code":1004,"error":"Pipeline not found, name: p.yaml, version: latest"}`))
	}))
	t.Cleanup(s.Close)
	file := clitest.WriteFile(t, "p.yaml", []byte("version: 2\n"))
	_, _, err := execute(t, "x\n", "pipeline", "dryrun", file, "--server", s.URL)
	if want := file + " is a file: for a pipeline in a file write --file " + file; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
	if _, _, err := execute(t, "x\n", "pipeline", "dryrun", "edge", "--server", s.URL); err == nil ||
		strings.Contains(err.Error(), "--file") {
		t.Errorf("a name that is not a file: %v", err)
	}
}

// pipelineServer starts a server that has the pipeline edge, and records the requests.
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

// against runs a command line in this process, with the given server and standard input.
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
		{args: "delete edge", fails: "give VERSION or --all"},
		{args: "delete edge", fails: "give VERSION or --all; edge has 2 versions, the newest is v2"},
		{args: "delete nope", fails: "there is no pipeline nope: 'cordwood pipeline list'"},
		{args: "delete egde", fails: "there is no pipeline egde: did you mean \"edge\"?"},
		{args: "delete edge --all --version v1", fails: "exclude each other"},
		{args: "delete edge v1 --version v2", fails: "give it once"},
		{args: "rollback edge v1", want: "-"},
		{args: "rollback edge v1 --version v1", fails: "give it once"},
		{args: "put edge " + clitest.WriteFile(t, "empty.yaml", []byte(" \n")), fails: "empty.yaml is empty: a pipeline is"},
		{args: "put edge -", fails: "standard input is empty"},
		{args: "diff edge", want: "--- edge, version v1\n+++ edge, version v2\n@@ -1,2 +1,2 @@\n a: 1\n-b: 2\n+b: 3\n"},
		{args: "diff edge v2", want: ""},
		{args: "diff nope", fails: "there is no pipeline nope"},
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
  dropped, because the transform does not list them: text

record 1: failed at processors[0] dissect
  {"message":"y"}
  ! processors[0] dissect: no match; field message; value "y"

record 2: dropped
  processors[0] vrl (edge)
    the program's result is null, so the record is dropped

table dry_run_web: 1 row, exists (append_mode=true, ttl=1day)
  t  TIMESTAMP_NANOSECOND  TIMESTAMP  
  m  STRING                FIELD      fulltext, new
  option ttl: 1day was requested, but the table has ""

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
		{args: "dryrun", fails: "give the pipeline to try"},
		{args: "dryrun edge -n 101", in: "x", fails: "1 to 100"},
		{args: "dryrun edge --format xml", in: "x", fails: "use auto, json, ndjson or text"},
		{args: "dryrun edge", in: "", fails: "has no records"},
		{args: "replay-rejects --since soon", fails: "is not a time"},
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

func TestPipelineHelp(t *testing.T) {
	for _, sub := range NewCommand().Commands() {
		if sub.Short == "" || sub.Example == "" {
			t.Errorf("%s has no help", sub.Name())
		}
	}
}
