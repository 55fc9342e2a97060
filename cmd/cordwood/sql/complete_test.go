package sql

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cordwood/cmd/cordwood/client"
	"cordwood/router/query/statement"
)

// fixedNames has the names of a server with two databases.
type fixedNames struct{}

func (fixedNames) databases() []string { return []string{"public", "shop"} }

func (fixedNames) tables(db string) []string {
	return map[string][]string{"public": {"access", "app", "Größe", "order"}, "shop": {"carts"}}[db]
}

func (fixedNames) columns(db, table string) []string {
	return map[string][]string{
		"public.access": {"at", "status", "Status Text"},
		"public.app":    {"level", "at"},
		"shop.carts":    {"items"},
	}[db+"."+strings.ToLower(table)]
}

func TestCompletion(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"one.sql", "other.sql", ".hidden"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "olds"), 0o700); err != nil {
		t.Fatal(err)
	}
	pending := ""
	c := &completer{names: fixedNames{}, db: func() string { return "public" }, pending: func() string { return pending }}
	for _, tt := range []struct {
		line string // | is the cursor
		want string // the completed lines, or a part of them
	}{
		{"SEL|", "SELECT"},
		{"sel|", "select"},
		{"SELECT * FROM acc|", "SELECT * FROM access"},
		{"SELECT * FROM ACC|", "SELECT * FROM access"},
		{"SELECT * FROM a|", "SELECT * FROM access,SELECT * FROM app"},
		{"SELECT * FROM o|", `SELECT * FROM "order"`},
		{`SELECT * FROM "gr|`, `SELECT * FROM "Größe"`},
		{`SELECT 'größe' FROM acc| WHERE x`, `SELECT 'größe' FROM access WHERE x`},
		{"SELECT * FROM sh|", "SELECT * FROM shop."},
		{"SELECT * FROM shop.|", "SELECT * FROM shop.carts"},
		{"SELECT * FROM app, acc|", "SELECT * FROM app, access"},
		{"SELECT a.s| FROM access AS a", ""}, // the text after the cursor is ignored
		{"SELECT * FROM access AS a WHERE a.sta|", "SELECT * FROM access AS a WHERE a.status"},
		{"SELECT * FROM access x JOIN app y ON y.l|", "SELECT * FROM access x JOIN app y ON y.level"},
		{"SELECT * FROM shop.carts WHERE it|", "SELECT * FROM shop.carts WHERE items"},
		{`SELECT * FROM access WHERE "Sta|`, `SELECT * FROM access WHERE "Status Text"`},
		{"SELECT * FROM access WHERE approx_q|", "SELECT * FROM access WHERE approx_quantile("},
		{"SELECT * FROM access WHERE matches_|", "SELECT * FROM access WHERE matches_term("},
		{"SET t|", "SET time zone"},
		{"ALTER TABLE access RE|", "ALTER TABLE access RENAME"},
		{"ALTER TABLE access DROP COLUMN s|", "ALTER TABLE access DROP COLUMN status"},
		{"ALTER TABLE access DROP COLUMN IF EXISTS s|", "ALTER TABLE access DROP COLUMN IF EXISTS status"},
		{"ALTER TABLE shop.carts MODIFY COLUMN |", "ALTER TABLE shop.carts MODIFY COLUMN items"},
		{"ALTER TABLE access MODIFY COLUMN status BIG|", "ALTER TABLE access MODIFY COLUMN status BIGINT"},
		{"ALTER TABLE access MODIFY COLUMN status UN|", "ALTER TABLE access MODIFY COLUMN status UNSET"},
		{"ALTER TABLE access MODIFY COLUMN status UNSET i|", "ALTER TABLE access MODIFY COLUMN status UNSET inverted index"},
		{"ALTER TABLE access SET 'tt|", "ALTER TABLE access SET 'ttl' = "},
		{"ALTER TABLE access SET tt|", "ALTER TABLE access SET 'ttl' = "},
		{"ALTER TABLE access UNSET 'ttl', 'skip|", "ALTER TABLE access UNSET 'ttl', 'skip_wal'"},
		{"ALTER TABLE app SET 'ttl' = '1d', 'append_mode' = |", "ALTER TABLE app SET 'ttl' = '1d', 'append_mode' = 'false'"},
		{"ALTER TABLE access SET 'append_mode' = 't|", "ALTER TABLE access SET 'append_mode' = 'true'"},
		{"ALTER TABLE access SET 'ttl' = '1|", ""},
		{"ALTER DATABASE shop SET 't|", "ALTER DATABASE shop SET 'ttl' = "},
		{"CREATE TABLE a (t DATE TIME INDEX) WITH ('merge|", "CREATE TABLE a (t DATE TIME INDEX) WITH ('merge_mode' = "},
		{"SELECT 'tt|", ""},
		{"ALTER TABLE access RENAME COLUMN st|", "ALTER TABLE access RENAME COLUMN status"},
		{"ALTER TABLE access RENAME COLUMN status |", "ALTER TABLE access RENAME COLUMN status TO"},
		{"SELECT * FROM access ORDER |", "SELECT * FROM access ORDER BY"},
		{"SELECT * FROM access GROUP b|", "SELECT * FROM access GROUP by"},
		{"SHOW CREATE TABLE ac|", "SHOW CREATE TABLE access"},
		{"DROP DATABASE s|", "DROP DATABASE shop"},
		{"SELECT 'sel|", ""},
		{"SELECT 1 -- sel|", ""},
		{"SELECT 1; DESC|", "SELECT 1; DESCRIBE"},
		{"SELECT no| FROM t", "SELECT not FROM t,SELECT now( FROM t"},
		{`\ti|`, `\timing`},
		{`\x |`, `\x auto,\x off,\x on`},
		{`\d ap|`, `\d app`},
		{`\d shop.|`, `\d shop.carts`},
		{`\c s|`, `\c shop`},
		{`\o c|`, `\o csv`},
		{`\pset pager al|`, `\pset pager always`},
		{`\h CREATE T|`, `\h CREATE TABLE`},
		{`\o ` + dir + `/on|`, `\o ` + dir + `/one.sql`},
		{`\h CR|`, `\h CREATE DATABASE,\h CREATE TABLE`},
		{`\i ` + dir + `/o|`, `\i ` + dir + `/olds/,\i ` + dir + `/one.sql,\i ` + dir + `/other.sql`},
		{`\i ` + dir + `/on|`, `\i ` + dir + `/one.sql`},
		{`\q |`, ""},
		{`\nope |`, ""},
	} {
		before, after, _ := strings.Cut(tt.line, "|")
		head, list, tail := c.complete(before+after, len([]rune(before)))
		var got []string
		for _, name := range list {
			got = append(got, head+name+tail)
		}
		for _, want := range strings.Split(tt.want, ",SELECT") {
			if strings.Contains(tt.want, ",SELECT") && !strings.HasPrefix(want, "SELECT") {
				want = "SELECT" + want
			}
			if tt.want == "" && got != nil || !strings.HasPrefix(tt.line, `\`) && tt.want != "" && !slices.Contains(got, want) {
				t.Errorf("%s: %q, want %s", tt.line, got, want)
			}
		}
		if strings.HasPrefix(tt.line, `\`) && strings.Join(got, ",") != tt.want {
			t.Errorf("%s: %q, want %s", tt.line, got, tt.want)
		}
	}
	pending = "SELECT * FROM access\n"
	if _, list, _ := c.complete("WHERE statu", 11); !slices.Contains(list, "status") {
		t.Errorf("on a second line: %q", list)
	}
}

// TestCompletionKeepsWhatWasTyped checks that the common prefix of all completions, which replaces the
// typed word, begins with that word in any case.
func TestCompletionKeepsWhatWasTyped(t *testing.T) {
	c := &completer{names: fixedNames{}, db: func() string { return "public" }, pending: func() string { return "" }}
	for _, line := range []string{
		"SELECT * FR", "SELECT * fr", "SELECT * Fr", "SELECT * LI", "SELECT 1 FROM access GR", "SELECT 1 FROM access ORD",
		"SELECT 1 FROM access WHERE ST", "SELECT 1 FROM access WHERE s",
		"ALTER TABLE access RE", "SELECT * FROM O", "SELECT * FROM g", "SELECT CA", "SELECT AR", "SELECT ISN", "DESC",
	} {
		head, list, _ := c.complete(line, len([]rune(line)))
		if len(list) == 0 {
			continue
		}
		if got := head + commonPrefix(list, false); len(got) < len(line) ||
			!strings.EqualFold(strings.ReplaceAll(got, `"`, "")[:len(line)], line) {
			t.Errorf("%q becomes %q, of %.200q", line, got, list)
		}
	}
	for _, tt := range []struct {
		typed, list string
		want        string // the new line, and the listed completions
	}{
		{"FR", "FROM from_hex(", "FROM: FROM from_hex("},
		{"Or", "ORDER order_id", "OrDER: ORDER order_id"},
		{"or", "Order OrDeR_id", "Or: Order OrDeR_id"},
		{"orD", "OrDer OrdEr_id", "orDer: orDer orDer_id"},
		{"x", "x_a X_B", "x_: x_a X_B"},
		{"s", `status "Status`, `s: status "Status`},
		{"Gr", "größe GRÖSSE", "Grö: größe GRÖSSE"},
		{"", "a b", ": a b"},
		{"ac", "access", "access: access"},
	} {
		head, list := keepTyped("", tt.typed, strings.Fields(tt.list))
		if got := head + commonPrefix(list, false) + ": " + strings.Join(list, " "); got != tt.want {
			t.Errorf("%s of %s: %q, want %q", tt.typed, tt.list, got, tt.want)
		}
	}
}

// TestSyntaxIsTaken checks that the server parses the statements that \h ALTER TABLE shows.
func TestSyntaxIsTaken(t *testing.T) {
	i := slices.IndexFunc(syntaxes, func(s struct{ name, text string }) bool { return s.name == "ALTER TABLE" })
	for line := range strings.Lines(syntaxes[i].text) {
		text := strings.NewReplacer("TYPE", "BIGINT", "{FULLTEXT | INVERTED | SKIPPING}", "SKIPPING", "[IF EXISTS]",
			"IF EXISTS", "[IF NOT EXISTS]", "IF NOT EXISTS",
			"[WITH ('option'='value', …)]", "", "[DEFAULT literal]", "DEFAULT 1", "ALTER TABLE table", "ALTER TABLE app",
			"COLUMN column", "COLUMN a").Replace(strings.TrimSpace(line))
		if _, err := statement.Parse(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, want := range []string{"RENAME COLUMN", "MODIFY COLUMN column TYPE", "UNSET {FULLTEXT"} {
		if !strings.Contains(syntaxes[i].text, want) {
			t.Errorf(`no %s in \h ALTER TABLE`, want)
		}
	}
}

// TestCompletionDoesNotWait checks that a server that hangs delays the prompt only shortly, and only
// once.
func TestCompletionDoesNotWait(t *testing.T) {
	var asked atomic.Int64
	hang := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1); <-hang }))
	defer s.Close()
	defer close(hang)
	c, err := client.New(client.Config{Servers: []string{s.URL}, Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	names := &serverNames{ctx: context.Background(), client: c, now: time.Now}
	start := time.Now()
	for range 10 {
		if got := names.tables("public"); got != nil {
			t.Errorf("got %q", got)
		}
	}
	if took := time.Since(start); took > 10*namesWait || asked.Load() != 1 {
		t.Errorf("asked %d times in %v", asked.Load(), took)
	}
}

func TestHistoryEntry(t *testing.T) {
	for _, tt := range []struct{ typed, want string }{
		{"SELECT 1;\n", "SELECT 1;"},
		{"SELECT a,\n       b  -- the second\nFROM t\n;\n", "SELECT a, b  /* the second */ FROM t ;"},
		{"SELECT 1 /* a\nb */;\n", "SELECT 1 /* a b */;"},
		{"SELECT 1 -- */ x\n;\n", "SELECT 1  ;"},
		{"SELECT 1; -- last\n", "SELECT 1; -- last"},
		{"SELECT 'a\nb''c\\n';\n", `SELECT e'a\nb''c\\n';`},
		{"SELECT $$a\nb$$;\n", `SELECT e'a\nb';`},
		{"SELECT \"a\nb\";\n", ""},
		{" SELECT 1;\n", ""},
		{"ALTER USER x PASSWORD 'y';\n", ""},
		{"SELECT * FROM t WHERE client_secret = 'y';\n", ""},
		{"SELECT '\x1b[2J';\n", ""},
		{"SELECT 'cw_0123456789_abc';\n", ""},
		{"SELECT cw_rows FROM t;\n", "SELECT cw_rows FROM t;"},
		{"SELECT '" + strings.Repeat("x", maxEntry) + "';\n", ""},
		{"\\watch 5\n", `\watch 5`},
		{"\n", ""},
	} {
		got, keep := historyEntry(tt.typed)
		if keep != (tt.want != "") || keep && got != tt.want {
			t.Errorf("%q: %q, %v, want %q", tt.typed, got, keep, tt.want)
		}
	}
}

// TestHistoryIsBounded checks that a history file that has grown too large is rewritten with the last
// statements.
func TestHistoryIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	if err := os.WriteFile(path, []byte(strings.Repeat("SELECT 1;\n", 3*maxHistory)+"SELECT 2;\n\xff\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	h := &history{path: path}
	var got []string
	if err := h.load(func(entry string) { got = append(got, entry) }); err != nil || len(got) != maxHistory ||
		got[maxHistory-1] != "SELECT 2;" {
		t.Errorf("%d entries, %v", len(got), err)
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), "\n") != maxHistory {
		t.Errorf("%d lines, %v", strings.Count(string(text), "\n"), err)
	}
	if err := h.save("SELECT 2;"); err != nil { // once
		t.Error(err)
	}
	if err := h.save("SELECT 3;"); err != nil {
		t.Error(err)
	}
	if text, err = os.ReadFile(path); err != nil || !strings.HasSuffix(string(text), "\nSELECT 2;\nSELECT 3;\n") ||
		strings.HasSuffix(string(text), "SELECT 2;\nSELECT 2;\nSELECT 3;\n") {
		t.Errorf("the end: %q, %v", text[len(text)-40:], err)
	}
}

// TestPromptRefusesDatabases checks that the prompt keeps its database if the new one does not exist.
func TestPromptRefusesDatabases(t *testing.T) {
	s, asked := sqlServer(t)
	p, _, _, errOut := newPrompt(t, s.URL, `\c shp`, "SELECT 1;", `\c fail`, "SELECT 2;", "USE shp;",
		"use shop;", "SELECT 3;")
	if err := p.loop(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`error: there is no database "shp"; did you mean "shop"? still in public`,
		"error: no such table (server answered 400, code 4001); still in public",
	} {
		if !strings.Contains(errOut.String(), want) {
			t.Errorf("no %q in %q", want, errOut)
		}
	}
	if all := strings.Join(asked(), "\n"); !strings.Contains(all, "SELECT 1 [public table]") ||
		!strings.Contains(all, "SELECT 2 [public table]") || !strings.Contains(all, "SELECT 3 [shop table]") ||
		strings.Contains(strings.ToLower(all), "use ") {
		t.Errorf("asked %s", all)
	}
}

func TestPromptWritesFiles(t *testing.T) {
	s, asked := sqlServer(t)
	file := filepath.Join(t.TempDir(), "rows.txt")
	p, _, _, errOut := newPrompt(t, s.URL, `\watch`, `\o `+file, "SELECT 1;", "SELECT 2 \\g", `\g`,
		"SELECT 'a\\b' \\p", `\r`,
		`\o /no/such/folder/x`, `\watch 0`, `\h nope`, `\h drop`, `\x maybe`, `\q now`, "INSERT INTO t VALUES (1) \\watch")
	if err := p.loop(context.Background()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	want := "<SELECT 1>\n<SELECT 2>\n<SELECT 2>\n"
	if diff := cmp.Diff(want, string(text)); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, want := range []string{
		"there is no statement to watch yet", "no such file", "want a number of seconds", "there is no help on NOPE",
		"use on, off or auto", `\q takes no argument`,
		"only statements that read can be watched",
	} {
		if !strings.Contains(errOut.String(), want) {
			t.Errorf("no %q in %q", want, errOut)
		}
	}
	if len(asked()) != 3 {
		t.Errorf("asked %q", asked())
	}
}
