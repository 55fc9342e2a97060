package vrl

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// runVRL runs `cordwood vrl` with arguments and input.
func runVRL(t *testing.T, in string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := NewCommand()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	var out, problems bytes.Buffer
	cmd.SetArgs(args)
	cmd.SetIn(strings.NewReader(in))
	cmd.SetOut(&out)
	cmd.SetErr(&problems)
	err = cmd.Execute()
	return out.String(), problems.String(), err
}

func TestVRLRun(t *testing.T) {
	dir := t.TempDir()
	program, events := filepath.Join(dir, "p.vrl"), filepath.Join(dir, "e.ndjson")
	for name, text := range map[string]string{program: ".a = int!(.a) + 1\n.", events: "{\"a\":1}\n\n{\"a\":2}\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, _, err := runVRL(t, "", "run", program, events)
	if err != nil || out != "{\"a\":2}\n{\"a\":3}\n" {
		t.Errorf("got %q, %v", out, err)
	}
	out, problems, err := runVRL(t, "{\"a\":1}\n{\"a\":\"x\"}\n", "run", program)
	if err == nil || out != "{\"a\":2}\n" || !strings.Contains(problems, "line 2: ") {
		t.Errorf("got %q, %q, %v", out, problems, err)
	}
	out, _, err = runVRL(t, `{"a":1}`, "run", "--program", `exists(.a)`, "--result")
	if err != nil || out != "true\n" {
		t.Errorf("got %q, %v", out, err)
	}
	if _, _, err = runVRL(t, "{", "run", program); err == nil || !strings.Contains(err.Error(), "line 1 is not JSON") {
		t.Errorf("got %v", err)
	}
	if _, _, err = runVRL(t, "{}", "run", ".b = 1"); err == nil || !strings.Contains(err.Error(), "by --program") {
		t.Errorf("a program in the place of its file: %v", err)
	}
	if _, _, err = runVRL(t, "", "run"); err == nil {
		t.Error("no program, no error")
	}
}

func TestVRLCheck(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.vrl"), filepath.Join(dir, "bad.vrl")
	for name, text := range map[string]string{good: ".", bad: "x = to_int(.a)\nnil\nz = upcase(.q)"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, _, err := runVRL(t, "", "check", good)
	if err != nil || !strings.Contains(out, "ok, compiled in") || !strings.Contains(out, "results in object") {
		t.Errorf("got %q, %v", out, err)
	}
	_, problems, err := runVRL(t, "", "check", bad)
	if err == nil || !strings.Contains(problems, "error[E103]") || !strings.Contains(problems, "error[E701]") ||
		!strings.Contains(problems, "bad.vrl:2:1") ||
		!strings.Contains(problems, `because the parameter "value" expects string`) || strings.Contains(problems, "since") {
		t.Errorf("got %q, %v", problems, err)
	}
}

func TestVRLTestStream(t *testing.T) {
	in := `{"id":1,"source":".b = 1.0; .a","event":{"a":"x"}}
{"id":"two","source":"abort \"no\"","event":{}}
{"id":3,"source":"1 / 0","event":{}}

{"id":4,"source":"%m","event":{},"metadata":{"m":t}}
`
	in = strings.Replace(in, `"m":t`, `"m":[true]`, 1)
	out, _, err := runVRL(t, in+`{"id":5,"source":".a.b = 1","event":{},"read_only":[{"path":".a","recursive":true}]}`+
		"\n", "test-stream")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for i, want := range []string{
		`{"event":{"a":"x","b":1.0},"id":1,"ok":true,"result":"x"}`,
		`{"error":"no","event":{},"id":"two","ok":false,"stage":"runtime"}`,
		`error[E100]: unhandled error`,
		`{"event":{},"id":4,"ok":true,"result":[true]}`,
		`error[E315]: mutation of read-only value`,
	} {
		if i >= len(lines) || !strings.Contains(lines[i], want) {
			t.Errorf("line %d of\n%s\nwant %s", i+1, out, want)
		}
	}
}

func TestVRLRepl(t *testing.T) {
	in := "x = 1\nx + \\\n2\n.a = x\n.\nto_int!(\"q\")\nnil\nhelp upcase\nquit\nnever"
	out, _, err := runVRL(t, in, "repl", "--event", `{"e":true}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"1\n3\n1\n{\n  \"a\": 1,\n  \"e\": true\n}\n", "failed: function call error", "E701",
		"Converts the string to upper case",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}

// TestVRLReplOverLines checks that an incomplete expression continues on the next lines until it is
// complete, an empty line follows, or the input ends.
func TestVRLReplOverLines(t *testing.T) {
	in := "if .e == true {\n.a = 1\n.b = 2\n} else {\n.a = 3\n}\n.\n[1,\n2]\n1 +\n\n\\xx\n\\help me now\nfoo(\n{\"k\":"
	out, _, err := runVRL(t, in, "repl", "--event", `{"e":true}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"2\n{\n  \"a\": 1,\n  \"b\": 2,\n  \"e\": true\n}\n[\n  1,\n  2\n]\nerror[E204]: unexpected end of program",
		"there is no command \\xx: \\? lists them\nthere is no command \\help: \\? lists them\nerror[E204]",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	for text, want := range map[string]string{
		"if true {\n a = 1\n b = 2\n}\n": "if true { a = 1; b = 2 }", "x = 1 +\n 2": "x = 1 + 2",
		"[1\n, 2]": "[1 , 2]", "if a { 1 }\nelse { 2 }": "if a { 1 } else { 2 }", "1 +\n": "1 +", ".a": ".a",
	} {
		if got := oneLine(text); got != want {
			t.Errorf("%q is %q on one line, want %q", text, got, want)
		}
	}
}

func TestVRLHelp(t *testing.T) {
	out, _, err := runVRL(t, "", "help", "contains")
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(out, "\n")
	if diff := cmp.Diff("contains(value: string, substring: string, case_sensitive: boolean = true)", head); diff != "" {
		t.Error(diff)
	}
	if out, _, _ = runVRL(t, "", "help"); !strings.Contains(out, "upcase") || !strings.Contains(out, "Parse") {
		t.Errorf("got %s", out)
	}
	out, _, err = runVRL(t, "", "help", "--markdown")
	if err != nil || !strings.Contains(out, "### upcase\n") || strings.Count(out, "\n### ") < 200 {
		t.Errorf("got %d functions, %v", strings.Count(out, "\n### "), err)
	}
	if _, _, err = runVRL(t, "", "help", "upcas"); err == nil || !strings.Contains(err.Error(), "did you mean upcase") {
		t.Errorf("got %v", err)
	}
}
