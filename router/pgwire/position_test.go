package pgwire

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"cordwood/proto/errs"
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
		`No function matches the given name and argument types '+(x)'`: "42804",
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
