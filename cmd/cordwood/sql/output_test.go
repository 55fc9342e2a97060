package sql

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOutputFileHasRowsOnly checks that \o writes only rows to the file; messages are printed on the
// terminal.
func TestOutputFileHasRowsOnly(t *testing.T) {
	s, _ := sqlServer(t)
	file := filepath.Join(t.TempDir(), "rows")
	p, _, out, errOut := newPrompt(t, s.URL, `\o `+file, "SELECT 1;", `\conninfo`, `\h SELECT`, `\?`, `\d app`, `\l`,
		`\p`, `\o`, "SELECT 2;")
	if err := p.loop(context.Background()); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "<SELECT 1>\n" {
		t.Errorf("the file has %q, %v", text, err)
	}
	for _, text := range []string{"Connected to ", `\watch`, "<DESCRIBE app>", "<SHOW DATABASES>", "<SELECT 2>"} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("no %q in %q", text, out)
		}
	}
	for _, text := range []string{"rows are written to " + file, "rows are printed on the terminal\n"} {
		if !strings.Contains(errOut.String(), text) {
			t.Errorf("no %q in %q", text, errOut)
		}
	}
}

// TestPromptShowsTheOpenQuote checks that the prompt shows which quote is open, and that \r leaves it.
func TestPromptShowsTheOpenQuote(t *testing.T) {
	s, asked := sqlServer(t)
	p, person, _, _ := newPrompt(t, s.URL, "SELECT 'a", `\r`, `SELECT "a`, `\q`, `\r`, "SELECT e'a", "';", "SELECT", "1;")
	if err := p.loop(context.Background()); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"public> ", "     '> ", "public> ", `     "> `, `     "> `, "public> ", "     '> ", "public> ", "     -> ",
		"public> ",
	}
	if diff := cmp.Diff(want, person.prompts); diff != "" {
		t.Error(diff)
	}
	if n := len(asked()); n != 2 {
		t.Errorf("asked %q", asked())
	}
}
