package docs

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"cordwood/test/cluster"
)

// pages lists the pages for readers who need only a machine. The pages of deploy need more.
func pages(t *testing.T) []*page {
	t.Helper()
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var out []*page
	for _, file := range append([]string{"../../README.md"}, files...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := parse(filepath.Base(file), string(text))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

// TestShown fails if the pages contain commands or pipelines that no test runs.
func TestShown(t *testing.T) {
	for _, p := range pages(t) {
		for _, fault := range p.check() {
			t.Error(fault)
		}
	}
}

// TestPages runs the commands of every page.
func TestPages(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: no processes")
	}
	bin := cluster.Binary(t)
	for i, p := range pages(t) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			ip := fmt.Sprintf("127.%d.%d.%d", 64+rand.IntN(64), rand.IntN(256), i+2)
			run(t, p, bin, ip)
		})
	}
}

// pageTime is the time limit of a page.
const pageTime = 2 * time.Minute

// run runs the blocks of a page in one shell.
func run(t *testing.T, p *page, bin, ip string) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(bin, filepath.Join(dir, "bin/cordwood")); err != nil {
		t.Fatal(err)
	}
	here := func(text string) string {
		return strings.NewReplacer("127.0.0.1", ip, "http://localhost:", "http://"+ip+":").Replace(text)
	}
	script, some := p.script(here)
	if !some {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), pageTime)
	defer cancel()
	sh := exec.CommandContext(ctx, "bash", "-c", script)
	sh.Dir = dir
	sh.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"), "HOME="+dir,
		"CORDWOOD_HTTP_ADDR="+ip+":4000", "CORDWOOD_RPC_ADDR="+ip+":4001", "CORDWOOD_SERVER=http://"+ip+":4000")
	// Use files, because servers in the background would keep pipes open.
	var files [2]*os.File
	for i, name := range []string{"stdout", "stderr"} {
		f, err := os.Create(filepath.Join(t.TempDir(), name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files[i] = f
	}
	sh.Stdout, sh.Stderr = files[0], files[1]
	printed := func(f *os.File) string {
		text, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(text), ip, "127.0.0.1")
	}
	// Servers that the page starts belong to the process group, and end with it.
	sh.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	sh.Cancel = func() error { return syscall.Kill(-sh.Process.Pid, syscall.SIGKILL) }
	err := sh.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(-sh.Process.Pid, syscall.SIGKILL) }() // no process may be left
	err = sh.Wait()
	stdout, stderr := printed(files[0]), tailOf(printed(files[1]))
	outputs := map[string]string{}
	last := ""
	for _, part := range strings.Split(stdout, mark)[1:] {
		line, text, _ := strings.Cut(part, "\n")
		outputs[line] = text
		last = line
	}
	if err != nil {
		t.Fatalf("%s:%s: %v\nit printed:\n%s\nand\n%s", p.name, last, err, outputs[last], stderr)
	}
	for i, b := range p.blocks {
		if b.directive != "output" {
			continue
		}
		j := i - 1
		for j >= 0 && !p.runs(p.blocks[j]) {
			j--
		}
		if j < 0 {
			t.Fatalf("%s:%d: an output block without commands before it", p.name, b.line)
		}
		if got := outputs[fmt.Sprint(p.blocks[j].line)]; !matches(b.text, got) {
			t.Errorf("%s:%d: the page shows\n%s\nand the commands print\n%s\n%s", p.name, b.line, b.text, got, stderr)
		}
	}
}

// link is a link to one of our pages, with or without a heading.
var link = regexp.MustCompile(`\]\(([^)\s:]*?)(#[^)\s]*)?\)`)

// notInHeading matches the characters that an anchor leaves out.
var notInHeading = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)

// TestLinks checks the links between pages, including their headings.
func TestLinks(t *testing.T) {
	anchors := func(file string) map[string]bool {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]bool{}
		for line := range strings.Lines(string(text)) {
			if title := strings.TrimLeft(line, "#"); title != line && strings.HasPrefix(title, " ") {
				out["#"+strings.ReplaceAll(notInHeading.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), ""),
					" ", "-")] = true
			}
		}
		return out
	}
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(files) < 15 {
		t.Fatal(files, err)
	}
	for _, file := range append(files, "../../README.md", "../../CHANGELOG.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			to := file
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(file), m[1])
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: the link %s leads to no file", filepath.Base(file), m[1])
			} else if m[2] != "" && strings.HasSuffix(to, ".md") && !anchors(to)[m[2]] {
				t.Errorf("%s: %s has no heading %s", filepath.Base(file), m[1], m[2])
			}
		}
	}
}

// tailOf returns the end of a text that may be long.
func tailOf(text string) string { return text[max(0, len(text)-4000):] }

// mark separates the outputs of blocks.
const mark = "@@block "

// ready waits for the server of the page.
const ready = "for _ in $(seq 600); do curl -sf \"$CORDWOOD_SERVER/ready\" >/dev/null && break; sleep 0.1; done; " +
	"curl -sf \"$CORDWOOD_SERVER/ready\" >/dev/null\n"

// script returns all commands of a page for bash. some reports whether there are any. here inserts the address of the
// page into a text.
func (p *page) script(here func(string) string) (script string, some bool) {
	var s strings.Builder
	s.WriteString("set -euo pipefail\nprintf '" + mark + "start\\n'\n")
	server := "cordwood serve %s >server.log 2>&1 &\n" + ready
	if p.server != nil {
		fmt.Fprintf(&s, server, here(*p.server))
	}
	for _, b := range p.blocks {
		switch {
		case b.directive == "skip" || b.directive == "output":
		case b.directive == "file":
			fmt.Fprintf(&s, "mkdir -p \"$(dirname '%s')\"; cat >'%s' <<'@@end'\n%s@@end\n", b.argument, b.argument, here(b.text))
		case !p.runs(b):
		default:
			some = true
			fmt.Fprintf(&s, "printf '"+mark+"%d\\n'\n", b.line)
			switch {
			case b.lang == "sql":
				s.WriteString(b.statement(b.text))
			case b.directive == "may-fail":
				fmt.Fprintf(&s, "(\nset +e\n%s) || true\n", here(b.text))
			case b.directive == "background":
				fmt.Fprintf(&s, "{\n%s} >background.log 2>&1 &\n%s", here(b.text), ready)
			default:
				s.WriteString(here(b.text))
			}
		}
	}
	return s.String(), some
}

// TestMatches compares outputs with the shown ones.
func TestMatches(t *testing.T) {
	for _, c := range []struct {
		shown, got string
		want       bool
	}{
		{"a\nb", "a\nb\n", true},
		{"a\nb", "a\nc\n", false},
		{"a … c", "a bb c", true},
		{"a … c", "a b\nb c", false},
		{"a\n…\nd", "a\nb\nc\nd\n", true},
		{"a\n…\nd", "a\nb\nc\n", false},
		{`{"n":1,"execution_time_ms":5}`, `{"n":1,"execution_time_ms":77}`, true},
		{`{"n":1,"execution_time_ms":5}`, `{"n":2,"execution_time_ms":5}`, false},
	} {
		if got := matches(c.shown, c.got); got != c.want {
			t.Errorf("%q shown, %q printed: %v, want %v", c.shown, c.got, got, c.want)
		}
	}
}

// TestParse parses directives. Invalid ones must be refused, because they would have no effect.
func TestParse(t *testing.T) {
	p, err := parse("p.md",
		"<!-- test: server --a b -->\n\n<!-- test: file x.yaml -->\n```yaml\na: 1\n```\ntext\n\n  ```sh\n  ls\n  ```\n")
	if err != nil {
		t.Fatal(err)
	}
	if p.server == nil || *p.server != "--a b" || len(p.blocks) != 2 || p.blocks[0].argument != "x.yaml" ||
		p.blocks[1].text != "ls\n" || p.blocks[1].line != 10 {
		t.Errorf("parsed: %+v", p)
	}
	for text, want := range map[string]string{
		"<!-- test: fiel x -->\n```\n```\n":       "not a directive",
		"<!-- test: skip -->\n```sh\n```\n":       "an argument",
		"<!-- test: output -->\ntext\n```\n```\n": "no block",
		"```sh\nls\n": "not closed",
		"```sh\nls\n```\n<!-- test: server -->\n": "before all blocks",
	} {
		if _, err := parse("p.md", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
	p, err = parse("p.md", "<!-- test: sql -->\n```sql error: text\nSELECT x\n```\n")
	if err != nil {
		t.Fatal(err)
	}
	if b := p.blocks[0]; !p.sql || !p.runs(b) || !strings.Contains(b.statement(b.text), "it does not fail") {
		t.Errorf("parsed: %+v", p)
	}
	p, err = parse("p.md", "```sql\nSELECT x\n```\n")
	if err != nil {
		t.Fatal(err)
	}
	if faults := p.check(); len(faults) != 1 || !strings.Contains(faults[0], "a block of SQL") {
		t.Errorf("faults: %q", faults)
	}
	p, err = parse("p.md", "<!-- test: may-fail it depends -->\n```sh\nfalse\n```\n")
	if err != nil {
		t.Fatal(err)
	}
	if script, some := p.script(func(s string) string { return s }); !some ||
		!strings.Contains(script, "false\n) || true") {
		t.Errorf("script: %s", script)
	}
	p, err = parse("p.md", "```\ncurl x\n```\n```yaml\na: 1\n```\n```\nplain\n```\n")
	if err != nil {
		t.Fatal(err)
	}
	if faults := p.check(); len(faults) != 2 || !strings.Contains(faults[0], "curl") {
		t.Errorf("faults: %q", faults)
	}
}
