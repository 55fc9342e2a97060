package sql

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/peterh/liner"

	"cordwood/cmd/cordwood/cli"
	"cordwood/cmd/cordwood/client"
)

// sqlServer answers each statement with its own text in the requested format, and a statement that
// contains "fail" with an error.
func sqlServer(t *testing.T) (*httptest.Server, func() []string) {
	t.Helper()
	var mu sync.Mutex
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		statement := strings.TrimSpace(string(body))
		mu.Lock()
		zone := r.Header.Get("x-svc-timezone")
		if zone != "" {
			zone = " in " + zone
		}
		asked = append(asked, fmt.Sprintf("%s [%s %s%s%s]", statement, r.URL.Query().Get("db"), r.URL.Query().Get("format"),
			r.Header.Get("x-svc-timeout"), zone))
		mu.Unlock()
		switch {
		case r.Header.Get("Content-Type") != "application/sql" || r.URL.Path != "/v1/sql":
			t.Errorf("%s as %s", r.URL, r.Header.Get("Content-Type"))
		case strings.Contains(statement, "fail"):
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"code":4001,"error":"no\nsuch table"}`)
		case strings.Contains(statement, "cut"):
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{\"a\":1}\n")
		case strings.Contains(statement, "none"):
		case strings.Contains(statement, "schemata"):
			if strings.Contains(statement, "shop") || !strings.Contains(statement, "WHERE") {
				_, _ = io.WriteString(w, `{"schema_name":"shop"}`+"\n")
			}
		case r.URL.Query().Get("format") == "ndjson":
			_, _ = io.WriteString(w, "{\"b\":1,\"a\":\"x: y\\nz\",\"t\":true,\"f\":1.50,\"n\":null,\"yes\":\"yes\"}"+
				"\n{\"b\":-9223372036854775808,\"a\":[1,{\"k\":\"😀\"}]}\n")
		default:
			fmt.Fprintf(w, "<%s>\n", statement)
		}
	}))
	t.Cleanup(s.Close)
	return s, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return asked
	}
}

func TestSQLOutput(t *testing.T) {
	s, asked := sqlServer(t)
	for _, tt := range []struct {
		output, statement, want string
	}{
		{"table", "SELECT 1", "<SELECT 1>\n"},
		{"csv", "SELECT 1", "<SELECT 1>\n"},
		{"ndjson", "none", ""},
		{"json", "none", "[]\n"},
		{"yaml", "none", "[]\n"},
		{
			"json", "SELECT 1",
			"[\n  {\"b\":1,\"a\":\"x: y\\nz\",\"t\":true,\"f\":1.50,\"n\":null,\"yes\":\"yes\"},\n  " +
				"{\"b\":-9223372036854775808,\"a\":[1,{\"k\":\"😀\"}]}\n]\n",
		},
		{
			"yaml", "SELECT 1",
			"- b: 1\n  a: |-\n    x: y\n    z\n  t: true\n  f: 1.50\n  \"n\": null\n  \"yes\": \"yes\"\n- b: " +
				"-9223372036854775808\n  a:\n    - 1\n    - k: \"\\U0001F600\"\n",
		},
	} {
		stdout, stderr, err := execute(t, "", "sql", tt.statement, "--server", s.URL, "--output", tt.output)
		if err != nil || stderr != "" {
			t.Errorf("%s: %q, %v", tt.output, stderr, err)
		}
		if diff := cmp.Diff(tt.want, stdout); diff != "" {
			t.Errorf("%s: %s", tt.output, diff)
		}
	}
	want := []string{"SELECT 1 [ table]", "SELECT 1 [ csvWithNames]", "none [ ndjson]"}
	if diff := cmp.Diff(want, asked()[:3]); diff != "" {
		t.Error(diff)
	}
}

func TestSQLScript(t *testing.T) {
	s, asked := sqlServer(t)
	stdout, _, err := execute(t, "SELECT ';' ; -- one; two\n;;SELECT 2;\nfail; SELECT 3", "sql", "--server", s.URL, "--db",
		"shop", "--timeout", "5m")
	if err == nil || err.Error() != "statement 3, from line 3: no\nsuch table (server answered 400, code 4001)" {
		t.Errorf("got %v", err)
	}
	if stdout != "<SELECT ';'>\n<SELECT 2>\n" {
		t.Errorf("printed %q", stdout)
	}
	if diff := cmp.Diff([]string{"SELECT ';' [shop table5m0s]", "SELECT 2 [shop table5m0s]", "fail [shop table5m0s]"},
		asked()); diff != "" {
		t.Error(diff)
	}
	if _, _, err := execute(t, "", "sql", "cut", "--server", s.URL, "-o", "json"); err == nil ||
		!strings.Contains(err.Error(), "the answer was cut off") {
		t.Errorf("a broken answer: %v", err)
	}
	for _, args := range [][]string{
		{"sql", " ; -- nothing"}, {"sql", "SELECT 1", "-o", "xml"}, {"sql", "SELECT 1", "--server", "ftp://x"},
	} {
		_, _, err := execute(t, "", args...)
		if cli.ExitStatus(err) != cli.ExitUsage {
			t.Errorf("%v: %v", args, err)
		}
	}
	if code := run([]string{"sql", "a", "b"}, io.Discard); code != cli.ExitUsage {
		t.Errorf("two arguments: status %d", code)
	}
}

// typed is a user who types these lines; "^C" is Ctrl-C.
type typed struct {
	lines   []string
	prompts []string
	history []string
}

func (p *typed) Prompt(text string) (string, error) {
	p.prompts = append(p.prompts, text)
	if len(p.lines) == 0 {
		return "", io.EOF
	}
	line := p.lines[0]
	p.lines = p.lines[1:]
	if line == "^C" {
		return "", liner.ErrPromptAborted
	}
	return line, nil
}

func (p *typed) AppendHistory(line string) { p.history = append(p.history, line) }

func newPrompt(t *testing.T, server string, lines ...string) (p *prompt, person *typed, out, errOut *bytes.Buffer) {
	t.Helper()
	c, err := client.New(client.Config{Servers: []string{server}, Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	out, errOut, person = &bytes.Buffer{}, &bytes.Buffer{}, &typed{lines: lines}
	return &prompt{
		session: &sqlSession{client: c, db: "public", output: "table", out: out, errOut: errOut},
		in:      person,
	}, person, out, errOut
}

// TestSQLScriptNamesTheStatement checks that errors contain the number and the line of the statement
// in the script: the server counts lines from the start of the statement.
func TestSQLScriptNamesTheStatement(t *testing.T) {
	s, asked := sqlServer(t)
	const answer = "no\nsuch table (server answered 400, code 4001)"
	for script, want := range map[string]string{
		"\n\nfail":                             answer,
		"\n\nfail;\n":                          answer,
		"fail; SELECT 2":                       "statement 1, from line 1: " + answer,
		"SELECT 1; SELECT 2; fail 3":           "statement 3, from line 1: " + answer,
		"SELECT 1;\n\n-- two\nfail\n2;\n;":     "statement 2, from line 3: " + answer,
		"SELECT\n1\n;;\n\n \tfail 2; SELECT 3": "statement 2, from line 5: " + answer,
	} {
		if _, _, err := execute(t, script, "sql", "--server", s.URL); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", script, err, want)
		}
	}
	if len(asked()) == 0 {
		t.Error("nothing was asked")
	}
}

func TestPromptCommandsElsewhere(t *testing.T) {
	s, asked := sqlServer(t)
	_, _, err := execute(t, "", "sql", "--server", s.URL, `\d app`)
	if cli.ExitStatus(err) != cli.ExitUsage || !strings.Contains(err.Error(), `\d is a command of the prompt`) ||
		len(asked()) > 0 {
		t.Errorf("%v, asked %q", err, asked())
	}
}

func TestPrompt(t *testing.T) {
	s, asked := sqlServer(t)
	p, person, out, errOut := newPrompt(t, s.URL,
		"SELECT", "1; SELECT 2;", "SELECT 3", "^C", "", "fail;", `\d`, `\d app;`, `\l`, "use shop;", "SELECT 4; -- done",
		`\o csv`, "SELECT 5;",
		`\o xml`, `\xx`, `\c`, `\timng`, `\?`, "exit", "SELECT 6;")
	if err := p.loop(context.Background()); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"SELECT\n1 [public table]", "SELECT 2 [public table]", "fail [public table]", "SHOW TABLES [public table]",
		"DESCRIBE app [public table]",
		"SHOW DATABASES [public table]",
		"SELECT schema_name FROM information_schema.schemata WHERE schema_name = 'shop' [ ndjson]",
		"SELECT 4 [shop table]", "SELECT 5 [shop csvWithNames]",
	}
	if diff := cmp.Diff(want, asked()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"public> ", "     -> ", "public> ", "     -> ", "public> "},
		person.prompts[:5]); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(out.String(), "<SELECT 2>\n") || !strings.Contains(out.String(), `  \watch [SECONDS] `) {
		t.Errorf("printed %q", out)
	}
	for _, text := range []string{
		"error: no such table (server answered 400, code 4001)\n", "error: output xml: use table",
		`error: there is no command \xx: did you mean \x?`,
		`error: there is no command \timng: did you mean \timing?`, "error: give the database", " ms\n",
	} {
		if !strings.Contains(errOut.String(), text) {
			t.Errorf("no %q in %q", text, errOut)
		}
	}
	// A statement is one entry, even if it was typed on several lines.
	wantHistory := []string{
		"SELECT 1; SELECT 2;", "SELECT 3", "fail;", `\d`, `\d app;`, `\l`, "use shop;", "SELECT 4; -- done", `\o csv`,
		"SELECT 5;", `\o xml`, `\xx`, `\c`, `\timng`, `\?`, "exit",
	}
	if diff := cmp.Diff(wantHistory, person.history); diff != "" {
		t.Error(diff)
	}
}

// TestTimeZoneHolds checks that SET TIME ZONE is sent again with later statements: the server forgets
// it when the request ends.
func TestTimeZoneHolds(t *testing.T) {
	s, asked := sqlServer(t)
	script := "SELECT 1; set local time zone 'Europe/Berlin'; SELECT 2; SET TIME ZONE 'fail'; SELECT 3"
	if _, _, err := execute(t, "", "sql", "--server", s.URL, "--timezone", "+01:00", script); err == nil {
		t.Error("a zone that the server refuses was accepted")
	}
	file := filepath.Join(t.TempDir(), "two.sql")
	if err := os.WriteFile(file, []byte("SET time_zone = 'Asia/Tokyo'; SELECT 4"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, _, out, _ := newPrompt(t, s.URL, `\conninfo`, `\i `+file, "SELECT 5;", "SET TIME ZONE 'fail';",
		"SELECT 'SET TIME ZONE ''x''';", `\conninfo`, "SET TIME ZONE DEFAULT;", "SELECT 6;")
	if err := p.loop(context.Background()); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"SELECT 1 [ table in +01:00]", "set local time zone 'Europe/Berlin' [ table in +01:00]",
		"SELECT 2 [ table in Europe/Berlin]",
		"SET TIME ZONE 'fail' [ table in Europe/Berlin]",
		"SET time_zone = 'Asia/Tokyo' [public table]", "SELECT 4 [public table in Asia/Tokyo]",
		"SELECT 5 [public table in Asia/Tokyo]",
		"SET TIME ZONE 'fail' [public table in Asia/Tokyo]", "SELECT 'SET TIME ZONE ''x''' [public table in Asia/Tokyo]",
		"SET TIME ZONE DEFAULT [public table in Asia/Tokyo]", "SELECT 6 [public table]",
	}
	if diff := cmp.Diff(want, asked()); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{
		"database public. Times without a zone are in UTC.\n", "Times without a zone are in Asia/Tokyo.\n",
	} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("no %q in %q", text, out)
		}
	}
}

// TestPromptDropsTheRest checks that the rest of a line is not run after a statement that fails: it
// may be a part of that statement.
func TestPromptDropsTheRest(t *testing.T) {
	s, asked := sqlServer(t)
	p, _, _, errOut := newPrompt(t, s.URL, `fail; DROP TABLE app;`,
		`INSERT INTO t VALUES (e'don\'t run; DROP TABLE app; --');`, "SELECT 1;", "exit")
	if err := p.loop(context.Background()); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"fail [public table]", `INSERT INTO t VALUES (e'don\'t run; DROP TABLE app; --') [public table]`,
		"SELECT 1 [public table]",
	}
	if diff := cmp.Diff(want, asked()); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(errOut.String(), "the rest of the line was not run") {
		t.Errorf("%q", errOut)
	}
}

func TestPromptEnds(t *testing.T) {
	s, asked := sqlServer(t)
	p, _, _, _ := newPrompt(t, s.URL, "SELECT 1")
	if err := p.loop(context.Background()); err != nil || len(asked()) != 0 {
		t.Errorf("%v, asked %q", err, asked())
	}
}
