package cluster

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestRestart checks that tables and rows are still there after a clean stop and after a kill, and that a start takes
// at most two seconds.
func TestRestart(t *testing.T) {
	t.Parallel()
	n := New(t)
	fastest := n.Start()
	rows := 0
	ingest := func() {
		t.Helper()
		for i := range 20 {
			if err := n.Ingest(fmt.Sprintf("r%d", i%7), []byte(fmt.Sprintf(`{"i":%d,"s":"row %d"}`, rows, rows))); err != nil {
				t.Fatal(err)
			}
			rows++
		}
	}
	total := func() string {
		t.Helper()
		var parts []string
		for i := range 7 {
			parts = append(parts, fmt.Sprintf("(SELECT count(DISTINCT i) FROM r%d)", i))
		}
		return fmt.Sprint(n.Rows(t, "SELECT "+strings.Join(parts, " + "))[0][0])
	}
	for round, end := range []func(){n.Stop, n.Kill, n.Kill, n.Stop, n.Kill} {
		ingest()
		end()
		fastest = min(fastest, n.Start())
		if got := total(); got != fmt.Sprint(rows) {
			t.Errorf("after end %d there are %s rows, want %d", round, got, rows)
		}
	}
	// Tests that run in parallel can only make a start slower.
	if fastest > Generous(2*time.Second) {
		t.Errorf("the fastest of six starts took %s, want at most 2 s on an idle machine", fastest)
	}
	if err := n.Ingest("r0", []byte(`{"i":"text"}`)); err == nil {
		t.Error("a type conflict with a table from before the restart was accepted")
	}
}

// TestReadYourWrites queries each batch right after its answer.
func TestReadYourWrites(t *testing.T) {
	t.Parallel()
	n := New(t, "--shard-flush-bytes", "1MiB")
	n.Start()
	pad := strings.Repeat("x", 400)
	for i := range 60 {
		var body strings.Builder
		for j := range 100 {
			fmt.Fprintf(&body, `{"i":%d,"pad":"%s%d"}`+"\n", i*100+j, pad, i*j)
		}
		if err := n.Ingest("ryw", []byte(body.String())); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("[[%d %d]]", (i+1)*100, (i+1)*100-1)
		if got := fmt.Sprint(n.Rows(t, "SELECT count(*), max(i) FROM ryw")); got != want {
			t.Fatalf("after batch %d: %s, want %s", i, got, want)
		}
	}
}

// TestOneProcess checks that a second process cannot use a data folder.
func TestOneProcess(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	out, err := exec.Command(Binary(t), "serve", "--data-dir", n.Dir, "--http-addr", freeAddr(t), "--rpc-addr",
		freeAddr(t)).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "another cordwood") {
		t.Errorf("a second process: %v, %s", err, out)
	}
}

// TestUsers checks the three modes of users, and that SIGHUP loads new users.
func TestUsers(t *testing.T) {
	t.Parallel()
	users := filepath.Join(t.TempDir(), "users")
	write := func(s string) {
		t.Helper()
		if err := os.WriteFile(users, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("# staff\nann=a:b\nreader:ro=r\nwriter:wo=w\n")
	n := New(t, "--user-file", users)
	n.Start()
	ingest := func(user, password string) int {
		return n.as(t, user, password, "POST", "/v1/ingest?pipeline_name=svc_identity&table=u", `{"a":1}`)
	}
	query := func(user, password string) int { return n.as(t, user, password, "POST", "/v1/sql?sql=SELECT+1", "") }
	for _, c := range []struct {
		what string
		got  int
		want int
	}{
		{"no user ingests", ingest("", ""), 401},
		{"a wrong password", ingest("ann", "x"), 401},
		{"everything: ingest", ingest("ann", "a:b"), 200},
		{"everything: query", query("ann", "a:b"), 200},
		{"reader ingests", ingest("reader", "r"), 403},
		{"reader queries", query("reader", "r"), 200},
		{"writer ingests", ingest("writer", "w"), 200},
		{"writer queries", query("writer", "w"), 403},
		{"health is open", n.as(t, "", "", "GET", "/v1/health", ""), 200},
		{"a new user, not yet", query("bob", "b"), 401},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", c.what, c.got, c.want)
		}
	}
	write("bob=b\n")
	if err := n.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(Generous(10 * time.Second)); query("bob", "b") != 200; {
		if time.Now().After(deadline) {
			t.Fatal("bob is still refused, long after SIGHUP")
		}
		<-time.After(10 * time.Millisecond)
	}
}

func (n *Node) as(t *testing.T, user, password, method, path, body string) int {
	t.Helper()
	req, err := http.NewRequest(method, n.HTTP+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if user != "" {
		req.SetBasicAuth(user, password)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// TestWrongUse checks that wrong settings end the program with status 2 and a message that contains
// them.
func TestWrongUse(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte("http:\n  adr: 127.0.0.1:1\nshards: 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"serve", "--nope"}, "--nope"},
		{[]string{"serve", "--shards", "0"}, "--shards 0"},
		{[]string{"serve", "--http-addr", "4000"}, "HOST:PORT"},
		{[]string{"serve", "--config", file}, `did you mean "http.addr"`},
		{[]string{"serve", "extra"}, "extra"},
		{[]string{"sreve"}, "sreve"},
	} {
		out, err := exec.Command(Binary(t), c.args...).CombinedOutput()
		exit := (*exec.ExitError)(nil)
		if e, ok := err.(*exec.ExitError); ok { //nolint:errorlint // Run returns it unwrapped.
			exit = e
		}
		if exit == nil || exit.ExitCode() != 2 || !strings.Contains(string(out), c.want) {
			t.Errorf("%v: %v, %s; want status 2 and %q", c.args, err, out, c.want)
		}
	}
}

// TestPages reads the pages for operators.
func TestPages(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	if err := n.Ingest("p", []byte(`{"a":1}`)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/health": "{}", "/ready": "{}", "/v1/health": "{}", "/status": `"version"`, "/config": "body-limit",
		"/metrics": "cordwood_", "/": "cordwood", "/no/such": `"code"`,
	} {
		a, err := n.Do("GET", path, nil)
		if err != nil {
			t.Fatal(err)
		}
		status := 200
		if path == "/no/such" {
			status = 404
		}
		if a.Status != status || !strings.Contains(string(a.Body), want) {
			t.Errorf("%s: %d %.200s, want %d and %q", path, a.Status, a.Body, status, want)
		}
	}
	if a, err := n.Do("GET", "/v1/ingest", nil); err != nil || a.Status != 405 {
		t.Errorf("GET /v1/ingest: %v %d, want 405", err, a.Status)
	}
}
