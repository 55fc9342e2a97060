package sql

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestNormalize(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT 1":                       "SELECT 1",
		"a -- b\nc":                      "a     \nc",
		"a -- b":                         "a     ",
		"a/*b*/c":                        "a     c",
		"a/* /* b */ */c":                "a             c",
		"a/* b":                          "a/* b",
		"a/*/ b":                         "a/*/ b",
		"'-- /* ''' /**/ '":              "'-- /* '''      '",
		"E'\\' -- ' --":                  "E'\\' -- '   ",
		"name'\\' -- '":                  "name'\\'     ",
		"e'\\' -- ":                      "e'\\' -- ",
		`"--" "a""--" --`:                `"--" "a""--"   `,
		"$$--$$ $a$--$$--$a$--":          "$$--$$ $a$--$$--$a$  ",
		"$1 --":                          "$1   ",
		"`--` `a``--` '`' --":            "`--` `a``--` '`'   ",
		"a$$ --":                         "a$$   ",
		"'\u00a0'\u00a0\u2003\"\u3000\"": "'\u00a0'     \"\u3000\"",
		"a\ufeffb":                       "a   b",
	} {
		if got := normalize(sql); got != want {
			t.Errorf("%q: got %q, want %q", sql, got, want)
		}
	}
}

func TestNamePath(t *testing.T) {
	for _, c := range []struct {
		SQL  string
		max  int
		want []string
		end  int
	}{
		{"a", 1, []string{"a"}, 1},
		{"a.b", 1, []string{"a"}, 1},
		{"a.b c", 3, []string{"a", "b"}, 3},
		{`"a b" . /* . */ "c""d".e`, 3, []string{"a b", `c"d`, "e"}, 24},
		{"é_1$.x", 2, []string{"é_1$", "x"}, 7},
		{"'a'", 2, nil, 0},
		{`"a`, 2, nil, 0},
		{"a.", 2, []string{"a"}, 1},
		{"", 2, nil, 0},
	} {
		got, ends := namePath(c.SQL, 0, c.max)
		end := 0
		if len(ends) > 0 {
			end = ends[len(ends)-1]
		}
		if !slices.Equal(got, c.want) || end != c.end {
			t.Errorf("%s: got %q to %d, want %q to %d", c.SQL, got, end, c.want, c.end)
		}
	}
}

func TestQuoteAt(t *testing.T) {
	for sql, want := range map[string]string{
		`SELECT at, "at", 'at', t.at, cat, at1 FROM t`:         `SELECT "at", "at", 'at', t."at", cat, at1 FROM t`,
		`SELECT At FROM t WHERE at>1 ORDER BY at`:              `SELECT "At" FROM t WHERE "at">1 ORDER BY "at"`,
		`SELECT ts AT TIME ZONE 'UTC', ts at  time zone 'UTC'`: `SELECT ts AT TIME ZONE 'UTC', ts at  time zone 'UTC'`,
		`SELECT 1`: `SELECT 1`,
	} {
		got, edits := quoteAt(sql)
		if got != want {
			t.Errorf("%s: got %s, want %s", sql, got, want)
		}
		for k := range got {
			if at := PositionBefore(edits, k); got[k] != '"' && got[k] != sql[at] {
				t.Errorf("%s: position %d comes from %d of %s", got, k, at, sql)
			}
		}
	}
}

// TestBoundText checks that long operators are refused, and that texts which only look like them
// are not.
func TestBoundText(t *testing.T) {
	run := strings.Repeat("-+", maxOperatorRun)
	for _, sql := range []string{
		"SELECT '" + run + "'", `SELECT "` + run + `"`, "SELECT $$" + run + "$$", "SELECT 1 --" + run,
		"SELECT 1 /* " + run + " */",
		"SELECT E'\\'" + run + "'", "SELECT 1 " + strings.Repeat("+ - ", 1000) + "1", "SELECT 1 /* /* */ */", "SELECT '/*'",
		"SELECT 1 -- /*", "SELECT a->>'b' !~~* c OR d<=-1",
		"SELECT 1" + strings.Repeat("+", maxOperatorRun) + "1",
		"SELECT [1" + strings.Repeat(",1", maxGroupBy+1) + "] GROUP BY 1",
		"SELECT 1 GROUP BY 1 ORDER BY 1" + strings.Repeat(",1", maxGroupBy+1),
		"SELECT (SELECT 1 GROUP BY 1)" + strings.Repeat(",1", maxGroupBy+1),
	} {
		if err := boundText(normalize(sql)); err != nil {
			t.Errorf("%.60s: %v", sql, err)
		}
	}
	for sql, want := range map[string]string{
		"SELECT 1 +" + strings.Repeat("+", maxOperatorRun): "position 9",
		"SELECT 'é' /* " + run + " */ " + strings.Repeat("=", maxOperatorRun+1): "position " +
			fmt.Sprint(len("SELECT 'é' /* "+run+" */ ")),
		"SELECT 1 /* /* */": "position 9",
		"SELECT 1 /*/":      "position 9",
		"SELECT 1 group /* */\nBy f(1" + strings.Repeat(",1", maxGroupBy+1) + ")": "GROUP BY",
	} {
		if err := boundText(normalize(sql)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %s", sql, err, want)
		}
	}
}
