// Package sql compares the router's lexer of SQL with the engine's parser.
package sql

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	bindings "github.com/duckdb/duckdb-go-bindings"
	_ "github.com/duckdb/duckdb-go/v2" // the driver that reads literals

	"cordwood/router/query/statement"
)

// engine returns a function that counts the statements of a text. It returns 0 if the engine cannot parse it.
func engine(t testing.TB) (count func(text string) int) {
	t.Helper()
	var db bindings.Database
	var conn bindings.Connection
	if bindings.Open("", &db) != bindings.StateSuccess || bindings.Connect(db, &conn) != bindings.StateSuccess {
		t.Fatal("the engine does not open")
	}
	t.Cleanup(func() {
		bindings.Disconnect(&conn)
		bindings.Close(&db)
	})
	return func(text string) int {
		var extracted bindings.ExtractedStatements
		defer bindings.DestroyExtracted(&extracted)
		n := bindings.ExtractStatements(conn, text, &extracted)
		if bindings.ExtractStatementsError(extracted) != "" {
			return 0
		}
		return int(n)
	}
}

// statements counts the statements of a text that are not blank.
func statements(text string) (n int) {
	for rest := text; rest != ""; {
		var s string
		if s, rest, _ = statement.Cut(rest); !statement.IsBlank(s) {
			n++
		}
	}
	return n
}

// alike reports whether both sides receive the same text. The engine stops at NUL, and does not count a statement
// that is a single name with non-ASCII letters. Backticks quote names here, and are replaced before the engine gets
// the text.
func alike(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return c == 0 || c == '`' || c >= utf8.RuneSelf })
}

// pieces are parts of SQL texts in which lexers differ.
var pieces = []string{
	"SELECT 1", "SELECT 'a'", "SELECT e'a'", "SELECT \"a\" FROM (SELECT 1 AS \"a\")", "SELECT $$a$$", "SELECT $x$a$x$",
	"SELECT 1 AS a$b",
	";", ";", ";", " ", "\n", "\r", "\r\n", "\t", "\f", "\v", "\u00a0", "\ufeff", "'", "''", "\"", "\\", "\\'", "e'",
	"E'", "b'", "x'", "n'", "U&'", "--", "-", "/*", "*/", "/", "*",
	"$", "$$", "$x$", "$1", "$1$", "1", "1e", "0x1f", "1.", ".5", "a", "'é'", "_", "::", ",", "(", ")", "x41", "101",
	"n", "+", "||", "->", "->>",
}

// seed returns the value of CORDWOOD_SEED, or 1.
func seed(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv("CORDWOOD_SEED")
	if text == "" {
		return 1
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestSameStatements checks that the router and the command line find the same ends of statements as the engine.
// Otherwise a part of a text or of a comment would be run as a statement.
func TestSameStatements(t *testing.T) {
	count := engine(t)
	// The texts are the same each time: FuzzStatements searches for others.
	r := rand.New(rand.NewPCG(seed(t), 0)) //nolint:gosec // choices of a test
	parsed := 0
	for range 20_000 {
		text := "SELECT 1"
		for range 1 + r.IntN(8) {
			text += pieces[r.IntN(len(pieces))]
		}
		if n := count(text); n > 0 {
			parsed++
			if got := statements(text); got != n {
				t.Errorf("seed %d: %q has %d statements, and %d according to the engine", seed(t), text, got, n)
			}
		}
	}
	if parsed < 100 {
		t.Errorf("the engine parsed only %d texts", parsed)
	}
}

func FuzzStatements(f *testing.F) {
	for _, s := range []string{
		"SELECT 1; -- a\rSELECT 2", "SELECT e'\\';'; SELECT 2", "SELECT $$;$$;", "SELECT 1 /* /* ; */ ; */; SELECT 2",
		"SELECT 1$$;$$", "SELECT 1e--;\n;", "SELECT 1_$$;SELECT 2", "SELECT 1e$x$1;SELECT 2", "SELECT 1.e5$$;$$",
		"SELECT 'a'\n';'", "SELECT U&'\\0061;'", "SELECT a$b$;$b$",
	} {
		f.Add(s)
	}
	count := engine(f)
	f.Fuzz(func(t *testing.T, text string) {
		if !alike(text) || len(text) > 256 {
			return
		}
		if n := count(text); n > 0 && n != statements(text) {
			t.Errorf("%q has %d statements, and %d according to the engine", text, statements(text), n)
		}
	})
}

// TestSameTexts checks that SELECT of a literal returns the text that INSERT stores for it.
func TestSameTexts(t *testing.T) {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, literal := range []string{
		`'a'`, `'it''s'`, `'a\n'`, `e'a\nb\tc\rd\be\ff'`, `e'\x41'`, `e'\x4'`, `e'\x'`, `e'\x4z'`, `e'\101'`,
		`e'\1011'`, `e'\60'`, `e'\q'`, `e'\\'`, `e'\''`, `e'it''s'`,
		`$$a'b$$`, `$x$a$$b$x$`, `E'\x41'`, `e'\v'`, `e'\8'`, `e'\"'`,
	} {
		var want string
		if err := conn.QueryRowContext(context.Background(), "SELECT "+literal).Scan(&want); err != nil {
			t.Errorf("%s: the engine: %v", literal, err)
			continue
		}
		if got, err := statement.ParseLiteral(literal); err != nil || got.Text != want {
			t.Errorf("%s is %q (%v), and %q for the engine", literal, got.Text, err, want)
		}
	}
	// A literal that the engine refuses must not be stored.
	for _, literal := range []string{
		`e'\u0041'`, `e'\U00000041'`, `e'\u'`, `e'\400'`, `e'\xff'`, `e'\000'`, `e'\0'`,
		`e'\xc3\xa9'`,
	} {
		var engine string
		eerr := conn.QueryRowContext(context.Background(), "SELECT "+literal).Scan(&engine)
		got, err := statement.ParseLiteral(literal)
		if eerr != nil && err == nil {
			t.Errorf("%s is %q, and refused by the engine: %v", literal, got.Text, eerr)
		}
		if eerr == nil && (err != nil || got.Text != engine) {
			t.Errorf("%s is %q (%v), and %q for the engine", literal, got.Text, err, engine)
		}
	}
}
