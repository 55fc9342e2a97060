package tail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cordwood/cmd/cordwood/cli"
	"cordwood/cmd/cordwood/client"
)

// tailServer answers successive connections with the texts. It breaks the connection after a text that
// ends with ….
func tailServer(t *testing.T, texts ...string) (*follower, *bytes.Buffer, *bytes.Buffer, *[]url.Values) {
	t.Helper()
	var asked []url.Values
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query())
		text := texts[min(len(asked), len(texts))-1]
		if code, rest, refused := strings.Cut(text, "!"); refused {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"code":%s,"error":"%s"}`, code, rest)
			return
		}
		body, cut := strings.CutSuffix(text, "…")
		_, _ = io.WriteString(w, body)
		if cut {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(s.Close)
	c, err := client.New(client.Config{Servers: []string{s.URL}, Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	at := time.Unix(1_700_000_000, 0)
	return &follower{
		client: c, query: url.Values{"table": {"app"}}, out: newPrinter(&out, "ndjson", false), errOut: &errOut,
		now: func() time.Time { at = at.Add(time.Second); return at }, silence: time.Minute,
	}, &out, &errOut, &asked
}

func TestTailFollowsAgain(t *testing.T) {
	const dropped = `{"error":"table was dropped","code":4001}` + "\n"
	f, out, errOut, asked := tailServer(t,
		"{\"a\":1}\n\n{\"a\":2}\n{\"a\":2}\n{\"half…",
		"{\"a\":1}\n{\"a\":2}\n{\"a\":2}\n{\"a\":2}\n{\"a\":3}\n\n{\"a\":3}\n{\"error\":\"slow\",\"code\":6001}\n",
		"{\"a\":3}\n{\"a\":4}\n\n{\"error\":\"x\",\"code\":\"a row\"}\n{\"error\":\"x\",\"code\":5,\"more\":1}\n"+dropped)
	err := f.run(context.Background())
	if final := (*finalError)(nil); !errors.As(err, &final) || final.Code != 4001 {
		t.Fatalf("it ended with %v, want the last error of the server", err)
	}
	want := "{\"a\":1}\n{\"a\":2}\n{\"a\":2}\n{\"a\":2}\n{\"a\":3}\n{\"a\":3}\n{\"a\":4}\n" +
		"{\"error\":\"x\",\"code\":\"a row\"}\n{\"error\":\"x\",\"code\":5,\"more\":1}\n"
	if out.String() != want {
		t.Errorf("printed\n%swant\n%s", out, want)
	}
	if n := strings.Count(errOut.String(), "following again"); n != 2 {
		t.Errorf("%d reconnections reported, want 2:\n%s", n, errOut)
	}
	if since := (*asked)[0].Get("since"); since != "" {
		t.Errorf("the first since is %q", since)
	}
	if since, err := time.ParseDuration((*asked)[1].Get("since")); err != nil || since < overlap ||
		since > overlap+10*time.Second {
		t.Errorf("the second since is %q, want a little more than %s", (*asked)[1].Get("since"), overlap)
	}
}

func TestTailRefused(t *testing.T) {
	f, _, _, asked := tailServer(t, "4002!no such column")
	err := f.run(context.Background())
	if err == nil || !strings.Contains(err.Error(), "no such column") || len(*asked) != 1 {
		t.Errorf("error is %v after %d tries, want the server's after one", err, len(*asked))
	}
}

func TestTailInterrupted(t *testing.T) {
	f, _, _, _ := tailServer(t, "{\"a\":1}\n…")
	ctx, cancel := context.WithCancel(context.Background())
	f.pause = time.Hour
	f.errOut = writerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil })
	if err := f.run(ctx); err != nil {
		t.Errorf("an interrupt is the error %v", err)
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestTailTable(t *testing.T) {
	var out bytes.Buffer
	p := newPrinter(&out, "table", false)
	for _, line := range []string{
		`{"ts":"2026-01-01T00:00:00Z","level":"info","msg":"a\nb\u001b[31m"}`,
		`{"ts":"2026-01-01T00:00:01Z","level":"error","msg":null}`,
		`{"ts":"2026-01-01T00:00:02Z","level":"ok","msg":"日本","n":12345678901234567890}`,
	} {
		if err := p.row([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.flush(); err != nil {
		t.Fatal(err)
	}
	const want = `ts                    level  msg
2026-01-01T00:00:00Z  info   a b [31m
2026-01-01T00:00:01Z  error  
ts                    level  msg   n
2026-01-01T00:00:02Z  ok     日本  12345678901234567890
`
	if out.String() != want {
		t.Errorf("printed\n%swant\n%s", out.String(), want)
	}
	if err := p.row([]byte(`nonsense`)); err == nil {
		t.Error("a line that is not a row is printed")
	}
}

// TestTailTableOnTerminal checks that columns grow with their values under a new heading, and that
// levels are coloured only on request.
func TestTailTableOnTerminal(t *testing.T) {
	var out bytes.Buffer
	p := newPrinter(&out, "table", true)
	for _, row := range []string{
		`{"level":"info","who":"a","n":1}`, `{"level":"ERROR","who":"a longer name","n":2}`,
		`{"level":"odd","who":"error","n":100}`,
	} {
		if err := p.row([]byte(row)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.flush(); err != nil {
		t.Fatal(err)
	}
	want := "level  who  n\n\x1b[32minfo\x1b[0m   a    1\n" +
		"level  who               n\n\x1b[31mERROR\x1b[0m  a longer name     2\nodd    error             100\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	cmd := NewCommand()
	// the test's output is not a terminal
	for when, want := range map[string]bool{"always": true, "never": false, "auto": false} {
		if err := cmd.Flags().Set("color", when); err != nil {
			t.Fatal(err)
		}
		if got, err := cli.WantsColor(cmd); err != nil || got != want {
			t.Errorf("--color %s: %v, %v", when, got, err)
		}
	}
	if err := cmd.Flags().Set("color", "sometimes"); err != nil {
		t.Fatal(err)
	}
	if _, err := cli.WantsColor(cmd); err == nil {
		t.Error("--color sometimes is accepted")
	}
}
