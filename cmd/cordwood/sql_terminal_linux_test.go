package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"cordwood/router/query/format"
)

// arrowServer answers "… n=3" with three rows, changes with a count, and requests for names with a
// fixed list.
func arrowServer(t *testing.T) (url string, asked func() []string) {
	t.Helper()
	var mu sync.Mutex
	var all []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sql := string(body)
		if f, err := format.Parse(r.URL.Query().Get("format")); err != nil || f != format.Arrow {
			switch {
			case strings.Contains(sql, "schemata"):
				_, _ = io.WriteString(w, `{"n":"public"}`+"\n"+`{"n":"shop"}`+"\n")
			case strings.Contains(sql, "information_schema.tables"):
				_, _ = io.WriteString(w, `{"n":"access"}`+"\n"+`{"n":"Odd Name"}`+"\n")
			case strings.Contains(sql, "information_schema.columns"):
				_, _ = io.WriteString(w, `{"n":"status"}`+"\n"+`{"n":"path"}`+"\n"+`{"n":"größe"}`+"\n")
			case strings.HasPrefix(sql, "EXPLAIN"):
				_, _ = io.WriteString(w, `{"k":"segments","v":"one segment"}`+"\n"+
					`{"k":"physical_plan","v":"a plan\nof two lines\n"}`+"\n")
			}
			return
		}
		mu.Lock()
		all = append(all, sql)
		mu.Unlock()
		n, name, value := 0, "level", "x"
		if _, err := fmt.Sscanf(sql[strings.Index(sql, "n=")+2:], "%d", &n); err != nil && !strings.HasPrefix(sql, "SELECT") {
			n, name = 1, "affectedrows"
		}
		if strings.Contains(sql, "wide") {
			value = strings.Repeat("x", 100)
		}
		var rows []string
		for i := range n {
			rows = append(rows, fmt.Sprintf(`{"a":%d,%q:%q}`, i, name, value))
		}
		fields := []arrow.Field{
			{Name: "a", Type: arrow.PrimitiveTypes.Int64}, {Name: name, Type: arrow.BinaryTypes.String, Nullable: true},
		}
		if name == "affectedrows" {
			fields, rows = []arrow.Field{{Name: name, Type: arrow.PrimitiveTypes.Int64}}, []string{`{"affectedrows":2}`}
		}
		schema := arrow.NewSchema(fields, nil)
		batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema,
			strings.NewReader("["+strings.Join(rows, ",")+"]"))
		if err != nil {
			t.Error(err)
			return
		}
		reader, err := array.NewRecordReader(schema, []arrow.RecordBatch{batch})
		if err == nil {
			_, err = format.Write(w, format.Arrow, reader)
		}
		if err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), all...)
	}
}

// TestPromptOnTerminal is an interactive session.
func TestPromptOnTerminal(t *testing.T) {
	url, asked := arrowServer(t)
	dir := t.TempDir()
	history, editor := filepath.Join(dir, "history"), filepath.Join(dir, "editor")
	if err := os.WriteFile(history, []byte("SELECT 'of yesterday';\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(editor, []byte("#!/bin/sh\nprintf 'SELECT\\n n=4 -- by the editor\\n;\\n' > \"$1\"\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	term := onTerminal(t, []string{"CORDWOOD_HISTORY=" + history, "EDITOR=" + editor, "PAGER=sed s/^/PAGER:/"}, "sql",
		"--server", url)
	term.wait("public> ")

	// Tab completes a keyword, a table, and columns of that table.
	term.press("SEL\t")
	term.wait("SELECT")
	term.press(" n=3 FROM acc\t")
	term.wait("access")
	term.press(" WHERE statu\t")
	term.wait("status")
	term.press(" IS NULL\r;\r")
	if got := term.wait("(3 rows)"); !strings.Contains(got, "| a | level |") {
		t.Errorf("the table: %q", got)
	}
	term.wait("public> ")
	if got := strings.Join(asked(), ""); got != "SELECT n=3 FROM access WHERE status IS NULL\n" {
		t.Errorf("asked %q", got)
	}

	// Tab does not delete what was typed.
	term.press("SELECT n=3 FR\t")
	term.wait("SELECT n=3 FROM")
	term.press(" access LI\t\tMIT 3;\r")
	term.wait("(3 rows)")
	term.wait("public> ")
	if got := strings.Join(asked()[1:], ""); got != "SELECT n=3 FROM access LIMIT 3" {
		t.Errorf("asked %q", got)
	}
	term.press("\x1b[A")
	term.wait("LIMIT 3;")

	// The key Up restores the whole statement, not only its last line.
	term.press("\x1b[A")
	term.wait("SELECT n=3 FROM access WHERE status IS NULL ;")
	term.press("\r")
	term.wait("(3 rows)")
	term.wait("public> ")

	// Long output goes through the pager, and short output does not.
	term.press("SELECT n=100;\r")
	if got := term.wait("(100 rows)"); strings.Count(got, "PAGER:") != 105 {
		t.Errorf("%d lines from the pager", strings.Count(got, "PAGER:"))
	}
	term.wait("public> ")
	term.press("\\pset pager off\rSELECT n=101;\r")
	if got := term.wait("(101 rows)"); strings.Contains(got, "PAGER:") {
		t.Error("the pager was switched off")
	}
	term.wait("public> ")

	// A row that is wider than the screen is printed as a line for each column.
	term.press("\\x auto\rSELECT n=1 AS wide;\r")
	if got := term.wait("(1 row)"); !strings.Contains(got, "-[ RECORD 1 ]") || !strings.Contains(got, "a     | 0\r\n") ||
		strings.Contains(got, "+--") {
		t.Errorf("expanded: %q", got)
	}
	term.press("SELECT n=1;\r")
	if got := term.wait("(1 row)"); !strings.Contains(got, "| a | level |") {
		t.Errorf("not expanded: %q", got)
	}
	term.press("SELECT 0;\r")
	term.wait("(0 rows)")
	term.press("INSERT INTO t VALUES (1);\r")
	term.wait("OK, 2 rows")
	term.press("EXPLAIN SELECT 1;\r")
	if got := term.wait("of two lines"); !strings.HasSuffix(got, "one segment\r\na plan\r\nof two lines") {
		t.Errorf("EXPLAIN: %q", got)
	}
	term.wait("public> ")

	// The prompt refuses an unknown database. This server has every database except the one called none.
	term.press("\\timing off\r\\c shop\r")
	term.wait("shop> ")

	// The editor changes the last statement.
	term.press("\\e\r")
	term.wait("(4 rows)")
	term.wait("shop> ")
	term.press("CREATE USER x WITH PASSWORD 'y';\r")
	term.wait("OK")
	term.wait("shop> ")

	// Ctrl-C discards the typed text, Ctrl-D ends the session.
	term.press("SELECT 2\r")
	term.wait("-> ")
	term.interrupt()
	term.wait("shop> ")
	term.press("\x04")
	term.end()

	text, err := os.ReadFile(history)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(history); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the history: %v, %v", info.Mode(), err)
	}
	for _, want := range []string{
		"SELECT 'of yesterday';\n", "\nSELECT n=3 FROM access WHERE status IS NULL ;\n",
		"\nSELECT n=4 /* by the editor */ ;\n", "\nSELECT 2\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in the history:\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "PASSWORD") {
		t.Errorf("the history:\n%s", text)
	}
}

// TestPromptWatches checks that \watch repeats a statement until Ctrl-C, and that \i runs files.
func TestPromptWatches(t *testing.T) {
	url, _ := arrowServer(t)
	file := filepath.Join(t.TempDir(), "two statements.sql")
	if err := os.WriteFile(file, []byte("SELECT n=5;\nSELECT n=6"), 0o600); err != nil {
		t.Fatal(err)
	}
	term := onTerminal(t, []string{"CORDWOOD_HISTORY="}, "sql", "--server", url)
	term.wait("public> ")
	term.press("SELECT n=2 \\watch 0.1\r")
	for range 3 {
		term.wait("(every 100ms, Ctrl-C ends)")
		term.wait("(2 rows)")
	}
	term.press("\x03")
	term.wait("public> ")
	// File names with spaces are completed.
	term.press("\\i " + file[:len(file)-len(" statements.sql")] + "\t\r")
	term.wait("(5 rows)")
	term.wait("(6 rows)")
	term.wait("public> ")
	term.press("\\q\r")
	term.end()
}
