package statement

import (
	"slices"
	"testing"

	"cordwood/proto/errs"
)

func TestCheckCondition(t *testing.T) {
	for _, good := range []string{
		"a = 1", "(a) OR ((b))", "m = ') ; ('", `")" > 0`, "a -- )\n", "a /* ( */", "a = $$ ) $$", "true --",
	} {
		if err := CheckCondition(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", " -- a\n", "a;", "a; b", "(a", "a)", "a) OR (b", "'a", `"a`, "/* a", "a = '\\' ) --'')",
	} {
		if err := CheckCondition(bad); errs.CodeOf(err) != errs.InvalidSyntax {
			t.Errorf("%s: error is %v, want a syntax error", bad, err)
		}
	}
	if err := CheckCondition(string(make([]byte, maxCondition+1))); errs.CodeOf(err) != errs.InvalidArguments {
		t.Errorf("a long condition: %v", err)
	}
}

func TestInCondition(t *testing.T) {
	for _, test := range []struct{ msg, want string }{
		{"no column (position 36)", "no column (position 6 of the condition)"},
		{"no column (position 12)", "no column (position 12)"},
		{"no column", "no column"},
	} {
		err := InCondition(errs.New(errs.ColumnNotFound, "%s", test.msg), 30)
		if e := errs.From(err); e.Msg != test.want || e.Code != errs.ColumnNotFound {
			t.Errorf("%s becomes %v", test.msg, err)
		}
	}
	if InCondition(nil, 3) != nil {
		t.Error("InCondition changed nil to an error")
	}
}

func TestHasQuery(t *testing.T) {
	for src, want := range map[string]bool{
		"a IN (SELECT 1)": true, "a = (/* x */ from t)": true, "EXISTS(VALUES (1))": true,
		"(with x as (select 1) select 1)": true,
		"a IN (1, 2)":                     false, "extract(day FROM ts) = 1": false, `("select" = 1)`: false,
		"m = '(select'": false,
	} {
		if got := HasQuery(src); got != want {
			t.Errorf("%s: %v", src, got)
		}
	}
}

func TestNames(t *testing.T) {
	got := Names(`lower("A b") = 'c' AND a_b > 3 AND LOWER(x) IS NULL`)
	if want := []string{"lower", "A b", "AND", "a_b", "x", "IS", "NULL"}; !slices.Equal(got, want) {
		t.Errorf("names are %q, want %q", got, want)
	}
}
