package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cordwood/proto/errs"
	"cordwood/shard/query"
)

func describe(e *Engine, sql string, types ...string) (string, error) {
	d, err := e.Describe(context.Background(), &query.Request{
		SQL: sql, Database: "public", Tables: []query.Table{table("logs", placedColumns)}, Parameters: types,
	})
	if err != nil {
		return "", err
	}
	var columns []string
	for _, c := range d.Columns {
		columns = append(columns, c.Name+" "+c.Type)
	}
	return strings.Join(columns, ", ") + " <- " + strings.Join(d.Parameters, ", "), nil
}

// TestDescribeParameters checks that the types of parameters come from the client, or from the
// expressions next to them.
func TestDescribeParameters(t *testing.T) {
	e := openEngine(t, t.TempDir())
	for _, c := range []struct {
		sql   string
		given []string
		want  string
	}{
		{"SELECT host FROM logs", nil, "host VARCHAR <- "},
		{"SELECT host, n FROM logs WHERE n > $1 AND host = $2", nil, "host VARCHAR, n INTEGER <- INTEGER, VARCHAR"},
		{"SELECT n FROM logs WHERE ts >= $1 AND ts < $2 LIMIT $3", nil, "n INTEGER <- TIMESTAMP_MS, TIMESTAMP_MS, BIGINT"},
		{"SELECT $1 AS x", nil, "x VARCHAR <- "},
		{"SELECT $1 AS x", []string{"BIGINT"}, "x BIGINT <- BIGINT"},
		{"SELECT $2::DOUBLE AS x, $1", []string{"DECIMAL(9,3)[]"}, "x DOUBLE, $1 DECIMAL(9,3)[] <- DECIMAL(9,3)[], DOUBLE"},
		{"SELECT n + $1 AS x FROM logs WHERE took < $1", nil, "x DOUBLE <- DOUBLE"},
		{
			"SELECT count(*) FROM logs WHERE path LIKE $1 OR status IN ($2, $3)", nil,
			"count_star() BIGINT <- VARCHAR, BIGINT, BIGINT",
		},
		{"SELECT '$1', \"host\" /* $2 */ FROM logs -- $3", nil, "'$1' VARCHAR, host VARCHAR <- "},
		{"SELECT $$ $1 $$ AS a, $1::INT AS b", nil, "a VARCHAR, b INTEGER <- INTEGER"},
		{"SELECT host FROM logs WHERE path ~ $1", nil, "host VARCHAR <- VARCHAR"},
		{"SELECT n FROM logs WHERE path ~ $1 LIMIT $2", []string{"", "INTEGER"}, "n INTEGER <- VARCHAR, INTEGER"},
		{"SELECT host || $1 AS x FROM logs", []string{"VARCHAR"}, "x VARCHAR <- VARCHAR"},
		{"SELECT 'a' || replace($1::INTEGER::VARCHAR, 'a', '') AS x", []string{"INTEGER"}, "x VARCHAR <- INTEGER"},
		{"EXPLAIN SELECT n FROM logs WHERE n = $1", nil, "explain_key VARCHAR, explain_value VARCHAR <- "},
		{
			"SELECT a.host FROM logs a JOIN logs b ON a.n = b.n WHERE b.bytes BETWEEN $1 AND $2", nil,
			"host VARCHAR <- BIGINT, BIGINT",
		},
	} {
		got, err := describe(e, c.sql, c.given...)
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", c.sql, got, err, c.want)
		}
		if a, err := e.Analyze(t.Context(), c.sql, "public"); err != nil {
			t.Errorf("%s: %v %v", c.sql, a, err)
		}
	}
}

// TestDescribeParametersWrong checks that faults elsewhere in a statement are reported, and that a
// statement with parameters cannot be run.
func TestDescribeParametersWrong(t *testing.T) {
	e := openEngine(t, t.TempDir())
	for _, c := range []struct {
		sql   string
		given []string
		code  errs.Code
	}{
		{"SELECT nope FROM logs WHERE n = $1", nil, errs.ColumnNotFound},
		{"SELECT n FROM nothing WHERE n = $1", nil, errs.TableNotFound},
		{"SELECT $0", nil, errs.InvalidSyntax},
		{"SELECT $65536", nil, errs.InvalidSyntax},
		{"SELECT $1", []string{"INT); DROP TABLE logs"}, errs.InvalidArguments},
		{"SELECT ? FROM logs", nil, errs.Unsupported},
		{"SELECT $name FROM logs", nil, errs.Unsupported},
		{"SELECT read_text($1)", nil, errs.PlanQuery},
	} {
		if got, err := describe(e, c.sql, c.given...); errs.CodeOf(err) != c.code {
			t.Errorf("%s: %q, %v, want code %d", c.sql, got, err, c.code)
		}
	}
	for text, at := range map[string]int{
		"SELECT $1::INT, 'é', nope, $1::INT FROM logs":           22,
		"SELECT $2::INT, n FROM logs WHERE n = $1 AND nope = $2": 45,
		"SELECT nope, $1::INT FROM logs":                         7,
		"SELECT n, $1 FROM nothing":                              -1,
		"SELECT $1, FROM FROM logs":                              16,
	} {
		_, err := describe(e, text)
		if said := fmt.Sprintf("(position %d)", at); err == nil || strings.HasSuffix(err.Error(), said) != (at >= 0) {
			t.Errorf("%s: %v, want %s", text, err, said)
		}
	}
	_, err := ask(e, "SELECT n FROM logs WHERE n = $1", table("logs", placedColumns))
	if errs.CodeOf(err) != errs.Unsupported || !strings.Contains(fmt.Sprint(err), "parameters") {
		t.Error(err)
	}
}
