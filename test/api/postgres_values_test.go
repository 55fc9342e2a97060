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

var updateValues = flag.Bool("update-values", false, "ask PostgreSQL again for the answers in values.txt")

const valuesFile = "testdata/postgres/values.txt"

// TestValuesAsPostgreSQL compares values with those of PostgreSQL 15, which are in values.txt. A block of the file is a
// statement, PostgreSQL's answer after "=", and the answer of this server after "!" if it differs, with the reason
// after "#".
func TestValuesAsPostgreSQL(t *testing.T) {
	t.Parallel()
	ours := postgres(t).PgConn()
	ask := func(c *pgconn.PgConn, sql string) string { return answerText(c.Exec(t.Context(), sql).ReadAll()) }
	theirs := func(_, recorded string) string { return recorded }
	if *updateValues {
		c := original(t).PgConn()
		theirs = func(sql, _ string) string { return ask(c, sql) }
	}
	text, err := os.ReadFile(valuesFile)
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
		if err := os.WriteFile(valuesFile, []byte(strings.TrimSpace(out.String())+"\n"), 0o644); err != nil {
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
