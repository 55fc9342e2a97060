package sql

import (
	"slices"
	"testing"
)

// TestQueries checks which parts of a text are queries in parentheses, and which are operands of set operators.
func TestQueries(t *testing.T) {
	for _, c := range []struct {
		sql               string
		queries, operands []string
	}{
		{"SELECT 1", nil, nil},
		{"SELECT (1), '(SELECT 2)', \"(SELECT 3)\" FROM t ORDER BY 1 LIMIT 2", nil, nil},
		{
			"SELECT x IN (SELECT a FROM (select b) y) FROM t", []string{"SELECT a FROM (select b) y", "select b"}, nil,
		},
		{
			"WITH c AS (SELECT 1 UNION SELECT 2) SELECT a FROM c WHERE e = 'union' UNION ALL BY NAME SELECT (SELECT 3) " +
				"EXCEPT (SELECT 4 LIMIT 1) ORDER BY 1 LIMIT 3",
			[]string{"SELECT 1 UNION SELECT 2", "SELECT 3", "SELECT 4 LIMIT 1"},
			[]string{"SELECT a FROM c WHERE e = 'union' ", "SELECT (SELECT 3) ", "SELECT 4 LIMIT 1"},
		},
		{
			"(SELECT a FROM (SELECT b)) UNION DISTINCT SELECT 2 FROM (SELECT 3) WHERE (SELECT 4) UNION ALL ((SELECT 5))",
			[]string{"SELECT a FROM (SELECT b)", "SELECT b", "SELECT 3", "SELECT 4", "SELECT 5"},
			[]string{"SELECT a FROM (SELECT b)", "SELECT 2 FROM (SELECT 3) WHERE (SELECT 4) "},
		},
		{"SELECT a)", nil, nil},
		{"SELECT a LIMIT 1 UNION SELECT b OFFSET 2", nil, []string{"SELECT a ", "SELECT b "}},
	} {
		of := func(spans []Span) (out []string) {
			for _, s := range spans {
				out = append(out, c.sql[s.From:s.To])
			}
			return out
		}
		if got := of(Queries(c.sql)); !slices.Equal(got, c.queries) {
			t.Errorf("%s: queries %q, want %q", c.sql, got, c.queries)
		}
		if got := of(Operands(c.sql)); !slices.Equal(got, c.operands) {
			t.Errorf("%s: operands %q, want %q", c.sql, got, c.operands)
		}
	}
}
