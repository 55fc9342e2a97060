package pgwire

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"cordwood/proto/errs"
	"cordwood/router/pgwire/rewrite"
)

// TestPlaces checks the positions in errors of the engine and of other packages, and that the texts lose them.
func TestPlaces(t *testing.T) {
	for _, tt := range []struct {
		statement, text, hint string
		at                    int
		wantText, wantHint    string
	}{
		{"SELECT nope", `there is no column "nope" (position 7)`, "", 7, `there is no column "nope"`, ""},
		{
			"DELETE FROM app WHERE nope = 1", `there is no column "nope"`,
			`the nearest names are "app" (position 0 of the condition)`, 22, `there is no column "nope"`,
			`the nearest names are "app"`,
		},
		{"SELECT 1", `there is no column "nope" (position 3 of the condition)`, "", -1, `there is no column "nope"`, ""},
		{"DELETE FROM app WHERE a", `no (position 900 of the condition)`, "", -1, "no", ""},
		{
			`INSERT INTO app (ts, "no""col") VALUES (1, 2)`, `INSERT INTO public.app: table public.app has no column "no""col"`,
			"", 21, `INSERT INTO public.app: table public.app has no column "no""col"`, "",
		},
		{
			"ALTER TABLE app DROP COLUMN nope", `table public.app has no column "nope"`, "", 28,
			`table public.app has no column "nope"`, "",
		},
		{"SELECT 1", "no (position 99999999999999999999)", "", -1, "no", ""},
	} {
		e := failure("42703", "%s", tt.text)
		e.Hint = tt.hint
		if at := e.placeOf(tt.statement); at != tt.at || e.Text != tt.wantText || e.Hint != tt.wantHint {
			t.Errorf("%s: %s: at %d, %q, %q", tt.statement, tt.text, at, e.Text, e.Hint)
		}
	}
}

// TestStatesOfPlans checks the SQLSTATEs of errors that the engine has one code for.
func TestStatesOfPlans(t *testing.T) {
	for text, want := range map[string]string{
		`column "host" must appear in the GROUP BY clause or must be part of an aggregate function.`: "42803",
		`Referenced table "a" not found!`:                              "42P01",
		`the function nofunc does not exist`:                           "42883",
		`No function matches the given name and argument types '+(x)'`: "42883",
		`aggregate function calls cannot be nested`:                    "42883",
	} {
		if e := asError(errs.New(errs.PlanQuery, "%s", text), nil); e.State != want {
			t.Errorf("%s: %s, want %s", text, e.State, want)
		}
	}
	for text, want := range map[string]string{
		"'2026-13-45' is neither an integer nor a time: there is no such day or time of day": "22008",
		"'x' is neither an integer nor a time":                                               "22007",
	} {
		if e := asError(errs.New(errs.InvalidArguments, "%s", text), nil); e.State != want {
			t.Errorf("%s: %s, want %s", text, e.State, want)
		}
	}
}

// TestPositionWithin checks the position of an error in a statement that is a part of another one.
func TestPositionWithin(t *testing.T) {
	c := start(t).connect(t, "")
	for sql, want := range map[string]int32{
		"SELECT 1; SELECT 'ü', 'nosuch'::regclass":   23,
		"SELECT 'a'::regtype":                        8,
		"PREPARE p AS SELECT 'ü', nope":              26,
		"DECLARE ü CURSOR WITH HOLD FOR SELECT nope": 39,
		"COPY (SELECT nope) TO STDOUT":               14,
		"COPY shop.logs (nope) TO STDOUT":            0,
	} {
		_, _, err := exec(t, c, sql)
		var e *pgconn.PgError
		if !errors.As(err, &e) || e.Position != want {
			t.Errorf("%s: %+v, want position %d", sql, e, want)
		}
	}
}

// TestPositionWithParameters checks the position of an error that is found when a statement with parameters runs.
func TestPositionWithParameters(t *testing.T) {
	c := start(t).connect(t, "")
	for _, tt := range []struct {
		sql    string
		values []string
		want   int32
	}{
		{"SELECT $1::text, 'é', $2::text", []string{"a value that is longer than its parameter", "nope"}, 23},
		{"SELECT $1::text, $1::text, x FROM late", []string{"'"}, 35},
		{"SELECT $1::text FROM late WHERE a = $2", []string{"", "1"}, 22},
	} {
		values := make([][]byte, len(tt.values))
		for i, v := range tt.values {
			values[i] = []byte(v)
		}
		_, err := c.ExecParams(t.Context(), tt.sql, values, []uint32{25, 25}[:len(values)], nil, nil).Close()
		var e *pgconn.PgError
		if !errors.As(err, &e) || e.Position != tt.want {
			t.Errorf("%s: %+v, want position %d", tt.sql, e, tt.want)
		}
	}
	if _, _, err := exec(t, c, "PREPARE p AS SELECT $1::text"); err != nil {
		t.Fatal(err)
	}
	var e *pgconn.PgError
	if _, _, err := exec(t, c, "EXECUTE p('nope')"); !errors.As(err, &e) || e.Code != "42703" || e.Position != 0 {
		t.Errorf("EXECUTE: %+v", e)
	}
}

// TestBinding checks the offsets of texts with values.
func TestBinding(t *testing.T) {
	source := "a $1 b $2 c $1 d"
	places, _, err := rewrite.Places(source)
	if err != nil {
		t.Fatal(err)
	}
	for _, values := range [][]string{{"", "12345678"}, {"x", "y"}, {"long one", ""}} {
		text, _ := rewrite.Substitute(source, places, values, 100)
		b := bindingOf(source, places, values)
		for _, letter := range []string{"a ", " b ", " c ", " d"} {
			if got, want := b.origin(strings.Index(text, letter)), strings.Index(source, letter); got != want {
				t.Errorf("%q: %q is at %d, want %d", text, letter, got, want)
			}
		}
		if n := strings.Index(text, values[1]); values[1] != "" && b.origin(n+len(values[1])-1) != 7 {
			t.Errorf("%q: the value is at %d", text, b.origin(n))
		}
	}
}
