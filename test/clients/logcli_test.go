package clients

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// logcli is Loki's client for the command line, with the address of a server.
type logcli struct {
	s       *server
	program string
	env     []string
}

// findLogcli returns the path of logcli. Without logcli the test is skipped: its module is under the AGPL, so the tests
// do not build it.
func findLogcli(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("logcli")
	if err != nil {
		t.Skipf("logcli, Loki's client for the command line, is not installed: %v", err)
	}
	return program
}

func newLogcli(t *testing.T, program string, s *server, env ...string) *logcli {
	t.Helper()
	env = append([]string{"LOKI_ADDR=http://" + s.users + "/v1", "HOME=" + t.TempDir(), "TZ=UTC"}, env...)
	return &logcli{s, program, env}
}

// run runs a command, and returns its standard output.
func (l *logcli) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := l.command(t.Context(), args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%q: %w\n%s", args, err, said.Bytes())
	}
	return string(out), nil
}

func (l *logcli) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, l.program, append([]string{"--quiet"}, args...)...)
	cmd.Env = l.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// lokiLines is the number of lines that pushLines pushes for each of two apps.
const lokiLines = 120

// pushLines pushes a line each second until now, in turn for two apps. The line has its number.
func pushLines(t *testing.T, url string, from, n int) {
	t.Helper()
	now := time.Now().Add(-time.Second)
	values := map[string][][]any{}
	for i := range n {
		at := strconv.FormatInt(now.Add(time.Duration(i-n+1)*time.Second).UnixNano(), 10)
		number := from + i
		values["web"] = append(values["web"], []any{
			at, fmt.Sprintf(`{"n":%d,"status":%d}`, number, 200+number%2*300), map[string]string{"trace": strconv.Itoa(number)},
		})
		values["api"] = append(values["api"], []any{at, fmt.Sprintf("level=info n=%d took=%dms", number, number%50)})
	}
	var streams []map[string]any
	for app, list := range values {
		streams = append(streams, map[string]any{"stream": map[string]string{"app": app, "host": "h1"}, "values": list})
	}
	body, err := json.Marshal(map[string]any{"streams": streams})
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(url+"/v1/loki/api/v1/push", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if answer, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusNoContent {
		t.Fatalf("%d %s", res.StatusCode, answer)
	}
}

// numbers returns the numbers of lines in an output.
func numbers(out string) (list []int) {
	for _, m := range regexp.MustCompile(`"n":(\d+)|\bn=(\d+)`).FindAllStringSubmatch(out, -1) {
		n, _ := strconv.Atoi(m[1] + m[2])
		list = append(list, n)
	}
	return list
}

// sequence returns n numbers that begin with first.
func sequence(first, step, n int) (list []int) {
	for i := range n {
		list = append(list, first+i*step)
	}
	return list
}

// TestLogcli reads with logcli: each of its commands for Loki's API, and what they print.
func TestLogcli(t *testing.T) {
	program := findLogcli(t)
	s := start(t)
	l := newLogcli(t, program, s)
	pushLines(t, s.url, 0, lokiLines)
	for _, tt := range []struct {
		args []string
		want []int
	}{
		{[]string{"query", `{app="web"}`, "--limit=5"}, sequence(lokiLines-1, -1, 5)},
		{[]string{"query", `{app="web"}`, "--limit=5", "--forward"}, sequence(0, 1, 5)},
		{[]string{"query", `{app="web"}`, "--limit=100", "--batch=7"}, sequence(lokiLines-1, -1, 100)},
		{[]string{"query", `{app="api"}`, "--limit=200", "--batch=30", "--forward"}, sequence(0, 1, lokiLines)},
		{[]string{"query", `{app="web"} | json | status="500"`, "--limit=3"}, sequence(lokiLines-1, -2, 3)},
		{[]string{"query", `{app="api"} | logfmt | took >= 48ms`, "-o", "raw", "--limit=4"}, []int{99, 98, 49, 48}},
		{[]string{"query", `{app="web"} | trace=~"7|8"`, "-o", "raw"}, []int{8, 7}},
	} {
		out, err := l.run(t, tt.args...)
		if err != nil {
			t.Error(err)
		}
		if fmt.Sprint(numbers(out)) != fmt.Sprint(tt.want) {
			t.Errorf("%q: %v, want %v\n%.2000s", tt.args, numbers(out), tt.want, out)
		}
	}
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{
			[]string{"query", `{app="web"} | trace=~"7|8"`, "-o", "jsonl"}, // it leaves out labels that all lines have
			[]string{`"trace":"7"},"line":"{\"n\":7,`, `"trace":"8"},"line":"{\"n\":8,`},
		},
		{
			[]string{"query", `{app="web"} | json`, "--limit=2"},
			[]string{`status="500", trace="119"`, `status="200", trace="118"`},
		},
		{[]string{"query", `{app="web"}`, "--limit=1", "--stats"}, nil},
		{[]string{"query", `sum(count_over_time({app="web"}[1h]))`, "--step=30m"}, []string{`"values"`}},
		{
			[]string{"instant-query", `sum by (app) (count_over_time({app=~".+"}[1h]))`},
			[]string{`"app": "api"`, `"app": "web"`, `"120"`},
		},
		{[]string{"labels"}, []string{"app\nhost\nservice_name\ntable\n"}},
		{[]string{"labels", "app"}, []string{"api\nweb\n"}},
		{[]string{"series", `{app="web"}`}, []string{`{app="web", host="h1", service_name="web", table="loki_logs"}`}},
		{[]string{"series", `{app=~".+"}`, "--analyze-labels"}, []string{"Total Streams:  2", "Unique Labels:  4"}},
		{[]string{"stats", `{app="web"}`}, []string{"streams: 1", "entries: 120"}},
		{[]string{"volume", `{app=~".+"}`}, []string{`"app": "api"`, `"app": "web"`}},
		{[]string{"volume", `{app=~".+"}`, "--targetLabels=host"}, []string{`"host": "h1"`}},
		{[]string{"volume", `{app=~".+"}`, "--aggregateByLabels"}, []string{`"host": ""`}},
		{[]string{"volume_range", `{app=~".+"}`, "--step=10m"}, []string{`"app": "api"`, `"values"`}},
		{[]string{"detected-fields", `{app="api"}`}, []string{"label: took", "type: duration", "cardinality: 50"}},
		{[]string{"detected-fields", `{app="web"}`, "status"}, []string{"200", "500"}},
	} {
		out, err := l.run(t, tt.args...)
		if err != nil {
			t.Error(err)
		}
		for _, want := range tt.want {
			if !strings.Contains(out, want) {
				t.Errorf("%q: no %q in\n%.2000s", tt.args, want, out)
			}
		}
	}
	for query, want := range map[string]string{
		`{app="web"`: "parse error at line 1, col", `rate({app="web"}[5m:1m])`: "not supported: subqueries",
	} {
		if _, err := l.run(t, "query", query); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", query, err, want)
		}
	}
}

// TestLogcliTail follows new lines with logcli, while they are pushed.
func TestLogcliTail(t *testing.T) {
	program := findLogcli(t)
	s := start(t)
	l := newLogcli(t, program, s)
	pushLines(t, s.url, 0, 3)
	cmd := l.command(t.Context(), "query", `{app="web"} | json | n != 4`, "--tail", "-o", "raw")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var got []int
	for want := range 6 {
		if want == 3 { // the stored ones have arrived
			pushLines(t, s.url, 3, 4)
		}
		if !lines.Scan() {
			t.Fatalf("after %v: %v", got, lines.Err())
		}
		got = append(got, numbers(lines.Text())...)
	}
	if fmt.Sprint(got) != fmt.Sprint([]int{0, 1, 2, 3, 5, 6}) {
		t.Errorf("lines %v", got)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // it says that it was interrupted
}

// TestLogcliUsers reads with a user, and in another database.
func TestLogcliUsers(t *testing.T) {
	program := findLogcli(t)
	users := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(users, []byte("ann:ro=secret\nwriter:wo=secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := prepare(t)
	s.args = append(slices.Clone(s.args[:9]), "--user-file", users) // without the ports that need more settings
	s.run()
	for name, want := range map[string]string{
		"ann": "", "writer": "may only ingest", "nobody": "User not found",
	} {
		l := newLogcli(t, program, s, "LOKI_USERNAME="+name, "LOKI_PASSWORD=secret")
		_, err := l.run(t, "labels")
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}
