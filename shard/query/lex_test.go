package query

import (
	"slices"
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
		sql  string
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
		got, ends := namePath(c.sql, 0, c.max)
		end := 0
		if len(ends) > 0 {
			end = ends[len(ends)-1]
		}
		if !slices.Equal(got, c.want) || end != c.end {
			t.Errorf("%s: got %q to %d, want %q to %d", c.sql, got, end, c.want, c.end)
		}
	}
}
