package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// must sends a request that must be answered with 200.
func must(t *testing.T, n *Node, method, path, body string, header ...string) *Answer {
	t.Helper()
	a, err := n.Do(method, path, strings.NewReader(body), header...)
	if err != nil {
		t.Fatal(err)
	}
	if a.Status != http.StatusOK {
		t.Fatalf("%s %s: %d %s", method, path, a.Status, a.Body)
	}
	return a
}

// refuse sends a request that must be answered with an error, and returns its text.
func refuse(t *testing.T, n *Node, status int, method, path, body string, header ...string) string {
	t.Helper()
	a, err := n.Do(method, path, strings.NewReader(body), header...)
	if err != nil {
		t.Fatal(err)
	}
	var e struct {
		Code  int
		Error string
	}
	if err := json.Unmarshal(a.Body, &e); err != nil || a.Status != status || e.Code != 1004 {
		t.Fatalf("%s %s: %d %s, want %d and code 1004", method, path, a.Status, a.Body, status)
	}
	return e.Error
}

// upload stores a pipeline and returns its version.
func upload(t *testing.T, n *Node, name, text string) string {
	t.Helper()
	a := must(t, n, "POST", "/v1/pipelines/"+name, text, "Content-Type", "application/x-yaml")
	var answer struct {
		Pipelines []struct{ Name, Version string }
	}
	if err := json.Unmarshal(a.Body, &answer); err != nil || len(answer.Pipelines) != 1 ||
		answer.Pipelines[0].Name != name {
		t.Fatalf("answer %s: %v", a.Body, err)
	}
	return answer.Pipelines[0].Version
}

func get(t *testing.T, n *Node, path string) string {
	t.Helper()
	var answer struct {
		Pipelines []struct{ Pipeline string }
	}
	if err := json.Unmarshal(must(t, n, "GET", path, "").Body, &answer); err != nil || len(answer.Pipelines) != 1 {
		t.Fatal(err)
	}
	return answer.Pipelines[0].Pipeline
}

func sameRows(t *testing.T, n *Node, sql, want string) {
	t.Helper()
	got, err := json.Marshal(n.Rows(t, sql))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(decode(t, want), decode(t, string(got))); diff != "" {
		t.Errorf("%s: rows differ (-want +got):\n%s", sql, diff)
	}
}

const (
	dateOnly = "processors: [{date: {field: t}}]\n"
	edgeText = `version: 2
description: edge proxy lines
processors:
  - dissect: {fields: [message], patterns: ['%{peer} %{when} %{code} %{rest}'], ignore_missing: false}
  - epoch: {field: when, resolution: s}
  - select: {type: exclude, fields: [message]}
transform:
  - field: "when, at"
    type: epoch, s
    index: timestamp
  - field: code
    type: int32
    on_failure: ignore
table_suffix: _${peer}
`
)

func TestPipelinesLiveOn(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	first := upload(t, n, "edge", "# one\n"+dateOnly)
	second := upload(t, n, "edge", "# two\n"+dateOnly)
	if first == second {
		t.Fatalf("both versions are %s", first)
	}
	upload(t, n, "app", edgeText)
	at := "/v1/pipelines/edge?version=" + url.QueryEscape(first)
	check := func() {
		t.Helper()
		if got := get(t, n, "/v1/pipelines/edge"); got != "# two\n"+dateOnly {
			t.Errorf("newest is %q", got)
		}
		if got := get(t, n, at); got != "# one\n"+dateOnly {
			t.Errorf("first is %q", got)
		}
		sameRows(t, n, "SELECT name, schema, content_type, pipeline FROM svc_private.pipelines ORDER BY name, created_at",
			fmt.Sprintf(`[["app","","yaml",%q],["edge","","yaml",%q],["edge","","yaml",%q]]`, edgeText,
				"# one\n"+dateOnly, "# two\n"+dateOnly))
		sameRows(t, n, "SELECT count(*) FROM svc_private.pipelines WHERE created_at = TIMESTAMP_NS '"+second+"'", `[[1]]`)
	}
	check()
	n.Kill()
	n.Start()
	check()
	n.Stop()
	n.Start()
	must(t, n, "DELETE", "/v1/pipelines/edge?version="+url.QueryEscape(second), "")
	if got := get(t, n, "/v1/pipelines/edge"); got != "# one\n"+dateOnly {
		t.Errorf("after the newest was deleted: %q", got)
	}
	if a := must(t, n, "DELETE", "/v1/pipelines/edge?version="+url.QueryEscape(second),
		""); !strings.Contains(string(a.Body), `"pipelines":[]`) {
		t.Errorf("deleted twice: %s", a.Body)
	}
	if text := refuse(t, n, 400, "GET", "/v1/pipelines/nope", ""); text != "Pipeline not found, name: nope, version: "+
		"latest" {
		t.Error(text)
	}
}

func TestIngestThroughPipelines(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	ingest := func(query, ctype, body string) *Answer {
		t.Helper()
		return must(t, n, "POST", "/v1/ingest?"+query, body, "Content-Type", ctype)
	}
	upload(t, n, "px", edgeText)
	ingest("table=px&pipeline_name=px", "text/plain",
		"10.0.0.9 1700000000 x00 hello there\n10.0.0.9 1700000001 200 ok\n10.0.0.8 1700000002 404 no\n")
	sameRows(t, n, `SELECT * FROM "px_10.0.0.9" ORDER BY at`,
		`[[1700000000,null,"10.0.0.9","hello there"],[1700000001,200,"10.0.0.9","ok"]]`)
	sameRows(t, n, `SELECT code FROM "px_10.0.0.8"`, `[[404]]`)

	// The newest version is used at once, or an older one if it is specified.
	old := upload(t, n, "cut", "processors: [{date: {field: t}}, {select: {fields: [t, a]}}]\n")
	ingest("table=cut&pipeline_name=cut", "application/json", `{"t":"2024-01-01T00:00:00","a":1,"b":2}`)
	upload(t, n, "cut", "processors: [{date: {field: t}}, {select: {fields: [t, b]}}]\n")
	ingest("table=cut&pipeline_name=cut", "application/json", `{"t":"2024-01-01T00:00:01","a":3,"b":4}`)
	ingest("table=cut&pipeline_name=cut&version="+url.QueryEscape(old), "application/json",
		`{"t":"2024-01-01T00:00:02","a":5,"b":6}`)
	sameRows(t, n, `SELECT a, b FROM cut ORDER BY t`, `[[1,null],[null,4],[5,null]]`)

	// A dispatcher finds other stored pipelines and the built-in one.
	upload(t, n, "fork", `
dispatcher:
  field: kind
  rules:
    - {value: cut, table_suffix: _cut, pipeline: cut}
    - {value: raw, table_suffix: _raw}
    - {value: gone, table_suffix: _gone, pipeline: gone}
`)
	ingest("table=fork&pipeline_name=fork", "application/json",
		`[{"kind":"cut","t":"2024-01-01T00:00:00","b":1},{"kind":"raw","n":2},{"kind":"other","n":3}]`)
	sameRows(t, n, `SELECT (SELECT b FROM fork_cut), (SELECT n FROM fork_raw), (SELECT n FROM fork)`, `[[1,2,3]]`)
	text := refuse(t, n, 400, "POST", "/v1/ingest?table=fork&pipeline_name=fork&skip_error=true", `{"kind":"gone"}`,
		"Content-Type", "application/json")
	if !strings.Contains(text, "Pipeline not found, name: gone, version: latest") {
		t.Error(text)
	}

	// The statement in a pipeline's ddl creates the table that it writes to.
	upload(t, n, "made", `
transform:
  - {field: t, type: "epoch, ms", index: timestamp}
  - {field: host, type: string, tag: true}
  - {field: msg, type: string, index: fulltext}
  - {field: n, type: int32}
`)
	var ddl struct {
		SQL struct{ SQL, Message string }
	}
	if err := json.Unmarshal(must(t, n, "GET", "/v1/pipelines/made/ddl?table=made", "").Body, &ddl); err != nil ||
		ddl.SQL.Message != "" {
		t.Fatalf("%+v, %v", ddl, err)
	}
	must(t, n, "POST", "/v1/sql", ddl.SQL.SQL, "Content-Type", "application/sql")
	ingest("table=made&pipeline_name=made", "application/json", `{"t":1700000000000,"host":"a","msg":"hi","n":7}`)
	sameRows(t, n, `SELECT t, host, msg, n FROM made`, `[[1700000000000,"a","hi",7]]`)
	if err := json.Unmarshal(must(t, n, "GET", "/v1/pipelines/made/ddl?table=made", "").Body, &ddl); err != nil ||
		!strings.Contains(ddl.SQL.Message, "already exists") {
		t.Errorf("%+v, %v", ddl, err)
	}

	// A dry run stores no rows.
	must(t, n, "POST", "/v1/pipelines/_dryrun?trace=true&table=dry",
		`{"pipeline_name":"px","data_type":"text/plain","data":"h 1700000000 1 x"}`, "Content-Type", "application/json")
	sameRows(t, n, `SELECT count(*) FROM information_schema.tables WHERE table_name LIKE 'dry%'`, `[[0]]`)
}

// TestRejectsAndReplay keeps records that fail, repairs the pipeline and sends them again.
func TestRejectsAndReplay(t *testing.T) {
	t.Parallel()
	n := New(t, "--on-reject", "store")
	n.Start()
	upload(t, n, "edge", edgeText)
	a := must(t, n, "POST", "/v1/ingest?table=px&pipeline_name=edge&skip_error=true",
		"10.0.0.9 1700000000 200 ok\nh soon 1 x\nshort\n", "Content-Type", "text/plain")
	var answer struct {
		Output []struct {
			AffectedRows int `json:"affectedrows"`
		}
		Skipped struct {
			Count    int
			StoredIn string `json:"stored_in"`
			Reasons  []struct {
				Index int
				Error string
			}
		}
	}
	if err := json.Unmarshal(a.Body, &answer); err != nil {
		t.Fatal(err)
	}
	if len(answer.Output) != 1 || answer.Output[0].AffectedRows != 1 || answer.Skipped.Count != 2 ||
		answer.Skipped.StoredIn != "svc_private.rejects" ||
		len(answer.Skipped.Reasons) != 2 || answer.Skipped.Reasons[0].Index != 1 || a.Header.Get("x-svc-skipped") != "2" {
		t.Errorf("answer %s", a.Body)
	}
	kept :=
		`SELECT record_index, kind, table_schema, table_name, pipeline, format, record FROM svc_private.rejects ` +
			`ORDER BY rejected_at`
	want := `[[1,"processor","public","px","edge","text","h soon 1 x"],` +
		`[2,"processor","public","px","edge","text","short"]]`
	sameRows(t, n, kept, want)
	sameRows(t, n,
		`SELECT ttl FROM information_schema.tables WHERE table_schema = 'svc_private' AND table_name = 'rejects'`,
		`[["7days"]]`)
	if text := refuse(t, n, 400, "POST", "/v1/ingest?db=svc_private&table=rejects&pipeline_name=svc_identity", "{}",
		"Content-Type", "application/json"); !strings.Contains(text, "svc_private") {
		t.Error(text)
	}
	for _, sql := range []string{
		"DROP TABLE svc_private.rejects", "INSERT INTO svc_private.rejects (rejected_at) VALUES (1)",
		"CREATE TABLE svc_private.x (t TIMESTAMP TIME INDEX)",
	} {
		if _, err := n.Query(sql); err == nil {
			t.Errorf("%s was done", sql)
		}
	}
	n.Kill()
	n.Start()
	sameRows(t, n, kept, want)

	upload(t, n, "edge",
		"processors: [{dissect: {field: message, patterns: ['%{peer} %{when} %{code} %{rest}', '%{rest}']}}]\n")
	out := cli(t, n, "", "pipeline", "replay-rejects", "--pipeline", "edge", "--to-table", "again")
	if !strings.HasPrefix(out, "2 records sent again: 2 rows written, 0 failed again; next time: --since '") {
		t.Error(out)
	}
	for range 2 {
		if out := cli(t, n, "", "pipeline", "replay-rejects", "--pipeline", "edge", "--to-table",
			"again"); !strings.HasPrefix(out,
			"0 records sent again: 0 rows written, 0 failed again; 2 were stored by an earlier run") {
			t.Error(out)
		}
	}
	sameRows(t, n, `SELECT "when", rest FROM again ORDER BY rest`, `[[null,"short"],["soon","x"]]`)
	_, since, _ := strings.Cut(out, "--since '")
	since, _, _ = strings.Cut(since, "'")
	if since == "" {
		t.Errorf("no start time for the next replay in %q", out)
	}
	must(t, n, "POST", "/v1/ingest?table=px&pipeline_name=svc_identity&skip_error=true&on_reject=drop", "[7]",
		"Content-Type", "application/json")
	sameRows(t, n, kept, want)
}

// TestReplaysAtOnce runs several replays at the same time, while records are rejected, and kills some of them. Every
// record must be stored once. A record that fails again must not be stored in part.
func TestReplaysAtOnce(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	upload(t, n, "edge", "processors: [{vrl: {source: '.n = int!(.zzz); .'}}]\n")
	const kept = "&skip_error=true&on_reject=store"
	sent := 0
	feed := func() {
		var body strings.Builder
		for range 20 {
			fmt.Fprintf(&body, "{\"n\":%d}\n", sent)
			sent++
		}
		must(t, n, "POST", "/v1/ingest?table=ce&pipeline_name=edge"+kept, body.String(), "Content-Type",
			"application/x-ndjson")
	}
	feed()
	start := func() *exec.Cmd {
		cmd := exec.Command(n.bin, "pipeline", "replay-rejects", "--to", "svc_identity", "--server", n.HTTP)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	for round := range 4 {
		var replays []*exec.Cmd
		for range 3 {
			replays = append(replays, start())
			for range 10 {
				feed()
			}
		}
		if round%2 == 1 {
			_ = replays[0].Process.Kill()
		}
		for i, cmd := range replays {
			if err := cmd.Wait(); err != nil && (i > 0 || round%2 == 0) {
				t.Errorf("replay %d of round %d: %v", i, round, err)
			}
		}
	}
	cli(t, n, "", "pipeline", "replay-rejects", "--to", "svc_identity")
	sameRows(t, n, "SELECT count(*), count(DISTINCT n) FROM ce", fmt.Sprintf("[[%d,%d]]", sent, sent))

	upload(t, n, "many", fmt.Sprintf(manyRows, "x"))
	must(t, n, "POST", "/v1/ingest?table=rp&pipeline_name=many"+kept, `{"items":[1,2]}`+"\n"+`{"items":[40,"y",60]}`+
		"\n", "Content-Type", "application/x-ndjson")
	cliStatus(t, n, 1, "", "pipeline", "replay-rejects", "--table", "rp")
	sameRows(t, n, "SELECT v FROM rp ORDER BY v", "[[1],[2]]")
	cliStatus(t, n, 1, "", "pipeline", "replay-rejects", "--table", "rp", "--on-reject", "store")
	upload(t, n, "many", fmt.Sprintf(manyRows, "to_int(x) ?? 50"))
	cli(t, n, "", "pipeline", "replay-rejects", "--table", "rp")
	sameRows(t, n, "SELECT v FROM rp ORDER BY v", "[[1],[2],[40],[50],[60]]")
}

// manyRows is a pipeline that creates a row for each item.
const manyRows = `processors:
- vrl:
    source: |
      rows = []
      for_each(array!(.items)) -> |_i, x| { rows = push(rows, {"v": %s}) }
      rows
transform:
- {field: v, type: int64}
`

// cli runs a command of the program against the node.
func cli(t *testing.T, n *Node, stdin string, args ...string) string {
	t.Helper()
	return cliStatus(t, n, 0, stdin, args...)
}

// cliStatus runs a command that must end with a status.
func cliStatus(t *testing.T, n *Node, status int, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.Command(n.bin, append(args, "--server", n.HTTP)...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != status {
		t.Fatalf("%s: %v, want status %d: %s", strings.Join(args, " "), err, status, errOut.String())
	}
	return out.String()
}

// TestPipelineCommands uses the commands as users do.
func TestPipelineCommands(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	edge := file("edge.yaml", edgeText)
	logs := file("access.log", strings.Repeat("10.0.0.9 1700000000 200 ok\n", 20)+"bad\n")
	if out := cli(t, n, "", "pipeline", "dryrun", "--file", edge, logs); strings.Count(out,
		": stored in dry_run_10.0.0.9\n") != 2 || !strings.Contains(out, "processors[1] epoch") ||
		!strings.Contains(out, "\nnot shown: 8 records stored; -n 10 shows them\n") {
		t.Errorf("dry run:\n%s", out)
	}
	if out := cliStatus(t, n, 1, "bad\n", "pipeline", "dryrun", "--file", edge); !strings.Contains(out,
		"record 0: failed at processors[0] dissect") {
		t.Errorf("dry run of a bad line:\n%s", out)
	}
	out := cli(t, n, "", "pipeline", "put", "edge", edge)
	version := strings.TrimSpace(strings.TrimPrefix(out, "edge, version "))
	cli(t, n, dateOnly, "pipeline", "put", "edge", "-")
	if out := cli(t, n, "", "pipeline", "get", "edge", "--version", version); out != edgeText {
		t.Errorf("get: %q", out)
	}
	if out := cli(t, n, "", "pipeline", "list"); !strings.Contains(out, "edge") || strings.Count(out, "\n") != 2 {
		t.Errorf("list: %s", out)
	}
	if out := cli(t, n, "", "pipeline", "versions", "edge"); strings.Count(out, "\n") != 3 ||
		!strings.Contains(out, version) {
		t.Errorf("versions: %s", out)
	}
	if out := cli(t, n, "", "pipeline", "diff", "edge", version, "latest"); !strings.Contains(out, "\n-version: 2\n") ||
		!strings.Contains(out, "\n+processors: ") {
		t.Errorf("diff: %s", out)
	}
	cli(t, n, "", "pipeline", "delete", "edge", "--all")
	if out := cli(t, n, "", "pipeline", "list", "-o", "json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("after all were deleted: %s", out)
	}
}

// TestUploadsRace stores versions of one name from many clients at the same time.
func TestUploadsRace(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	const clients, each = 8, 5
	type result struct {
		version string
		err     error
	}
	results := make(chan result)
	for c := range clients {
		go func() {
			for i := range each {
				text := fmt.Sprintf("# %d %d\n%s", c, i, dateOnly)
				a, err := n.Do("POST", "/v1/pipelines/race", strings.NewReader(text), "Content-Type", "application/x-yaml")
				if err == nil && a.Status != 200 {
					err = fmt.Errorf("status %d: %s", a.Status, a.Body)
				}
				if err != nil {
					results <- result{err: err}
					continue
				}
				var answer struct {
					Pipelines []struct{ Version string }
				}
				if err = json.Unmarshal(a.Body, &answer); err != nil || len(answer.Pipelines) != 1 {
					results <- result{err: fmt.Errorf("%s: %w", a.Body, err)}
					continue
				}
				results <- result{version: answer.Pipelines[0].Version}
			}
		}()
	}
	versions := map[string]bool{}
	for range clients * each {
		r := <-results
		if r.err != nil {
			t.Fatal(r.err)
		}
		versions[r.version] = true
	}
	if len(versions) != clients*each {
		t.Errorf("%d versions of %d uploads", len(versions), clients*each)
	}
	sameRows(t, n, `SELECT count(*), count(DISTINCT created_at), count(DISTINCT pipeline) FROM svc_private.pipelines`,
		`[[40,40,40]]`)
}

// TestNewVersionIsUsedAtOnce uploads a pipeline while others ingest. No request that starts after the answer to an
// upload may use an older version.
func TestNewVersionIsUsedAtOnce(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	var took []time.Duration
	for i := range 20 {
		upload(t, n, "step", fmt.Sprintf("processors: [{date: {field: t}}, {select: {fields: [t, c%d]}}]\n", i))
		begin := time.Now()
		must(t, n, "POST", "/v1/ingest?table=step&pipeline_name=step",
			fmt.Sprintf(`{"t":"2024-01-01T00:00:%02d","c%d":1,"old":1}`, i, i), "Content-Type", "application/json")
		took = append(took, time.Since(begin))
	}
	// A systematic delay would affect every version.
	if slices.Sort(took); took[len(took)/2] > Generous(time.Second) {
		t.Errorf("half of the first requests after an upload took longer than %s", took[len(took)/2])
	}
	for i := range 20 {
		sameRows(t, n, fmt.Sprintf(`SELECT count(c%d) FROM step`, i), `[[1]]`)
	}
}
