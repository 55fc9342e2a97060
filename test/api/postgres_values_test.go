package api

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"
)

var updateValues = flag.Bool("update-values", false,
	"ask PostgreSQL again for the answers in values.txt and parameters.txt")

// TestValuesAsPostgreSQL compares values with those of PostgreSQL 15.
func TestValuesAsPostgreSQL(t *testing.T) {
	t.Parallel()
	compareAnswers(t, "testdata/postgres/values.txt", "", func(c *pgconn.PgConn, sql string) string {
		return answerText(c.Exec(t.Context(), sql).ReadAll())
	})
}

// TestParametersAsPostgreSQL compares the types of the parameters and columns of prepared statements with those of
// PostgreSQL 15.
func TestParametersAsPostgreSQL(t *testing.T) {
	t.Parallel()
	const table = "CREATE TABLE p (ts timestamptz, n bigint, f double precision, s text, b boolean, j json)"
	compareAnswers(t, "testdata/postgres/parameters.txt", table, func(c *pgconn.PgConn, sql string) string {
		d, err := c.Prepare(t.Context(), "", sql, nil)
		if err != nil {
			return answerText(nil, err)
		}
		text := fmt.Sprint(d.ParamOIDs)
		for _, f := range d.Fields {
			text += fmt.Sprintf(" %s:%d", f.Name, f.DataTypeOID)
		}
		return text
	})
}

// compareAnswers compares the answers to the statements in a file with those of PostgreSQL 15, which are in the file. A
// block of the file is a statement, PostgreSQL's answer after "=", and the answer of this server after "!" if it
// differs, with the reason after "#".
func compareAnswers(t *testing.T, file, setUp string, ask func(c *pgconn.PgConn, sql string) string) {
	t.Helper()
	prepare := func(c *pgconn.PgConn) *pgconn.PgConn {
		if _, err := c.Exec(t.Context(), setUp).ReadAll(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	ours := prepare(postgres(t).PgConn())
	theirs := func(_, recorded string) string { return recorded }
	if *updateValues {
		c := prepare(original(t).PgConn())
		theirs = func(sql, _ string) string { return ask(c, sql) }
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		sql, rest, _ := strings.Cut(block, "\n= ")
		recorded, differs, _ := strings.Cut(rest, "\n! ")
		differs, reason, _ := strings.Cut(differs, "\n# ")
		want := theirs(sql, recorded)
		got := ask(ours, sql)
		fmt.Fprintf(&out, "%s\n= %s\n", sql, want)
		if got != want {
			fmt.Fprintf(&out, "! %s\n", got)
		}
		if reason != "" {
			fmt.Fprintf(&out, "# %s\n", reason)
		}
		out.WriteByte('\n')
		if differs != "" {
			want = differs
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: -want +got:\n%s", sql, d)
		}
		if (differs == "") != (reason == "") {
			t.Errorf("%s: a difference needs a reason, and a reason a difference", sql)
		}
	}
	if *updateValues {
		if err := os.WriteFile(file, []byte(strings.TrimSpace(out.String())+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// answerText returns the types and values of the last answer, or the SQLSTATE and position of the error.
func answerText(results []*pgconn.Result, err error) string {
	var failed *pgconn.PgError
	if errors.As(err, &failed) {
		if failed.Position == 0 {
			return "error " + failed.Code
		}
		return fmt.Sprintf("error %s at %d", failed.Code, failed.Position)
	}
	if err != nil || len(results) == 0 {
		return fmt.Sprint(err)
	}
	r := results[len(results)-1]
	var parts []string
	for _, f := range r.FieldDescriptions {
		parts = append(parts, fmt.Sprintf("%s:%d", f.Name, f.DataTypeOID))
	}
	for _, row := range r.Rows {
		var cells []string
		for _, v := range row {
			if v == nil {
				cells = append(cells, "NULL")
				continue
			}
			cells = append(cells, string(v))
		}
		parts = append(parts, strings.Join(cells, " | "))
	}
	return strings.Join(parts, "; ")
}
