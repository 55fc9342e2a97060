package engine

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestFirstOfUnion checks which ORDER BY and LIMIT the operands of a UNION ALL get in the statements for nodes, and
// compares the answers.
func TestFirstOfUnion(t *testing.T) {
	e := openEngine(t, t.TempDir())
	p := place(t, rand.New(rand.NewPCG(3, 2)), 2000, 3)
	for _, c := range []struct {
		sql   string
		rest  []string // what follows FROM in the statements for nodes
		order bool     // the order decides about all rows
	}{
		{
			"SELECT ts, n FROM logs UNION ALL SELECT ts, bytes FROM logs ORDER BY ts DESC LIMIT 7 OFFSET 3",
			[]string{` ORDER BY "ts" DESC LIMIT 10`, ` ORDER BY "ts" DESC LIMIT 10`},
			false,
		},
		{
			"SELECT * FROM logs UNION ALL SELECT * FROM logs ORDER BY TS DESC, bytes, path, host LIMIT 7",
			slices.Repeat([]string{` ORDER BY "ts" DESC, "bytes", "path", "host" LIMIT 7`}, 2), true,
		},
		{
			"SELECT n AS a, path FROM logs UNION ALL (SELECT bytes, path AS a1 FROM logs) ORDER BY 1 NULLS " +
				"FIRST, 2 DESC LIMIT 7",
			[]string{` ORDER BY "n" NULLS FIRST, "path" DESC LIMIT 7`, ` ORDER BY "bytes" NULLS FIRST, "path" DESC LIMIT 7`},
			true,
		},
		{ // without an order
			"SELECT n, path FROM logs UNION ALL SELECT bytes, path FROM logs LIMIT 5",
			[]string{" LIMIT 5", " LIMIT 5"},
			false,
		},
		{
			"SELECT DISTINCT host, n FROM logs UNION ALL SELECT host, n FROM logs UNION ALL " +
				"SELECT host, count(*) FROM logs GROUP BY host ORDER BY n DESC, host LIMIT 5",
			[]string{
				` ORDER BY "n" DESC, "host" LIMIT 5`, ` ORDER BY "n" DESC, "host" LIMIT 5`, " GROUP BY 1",
			},
			true,
		},
		{ // the union has columns by name
			"SELECT ts, host FROM logs UNION ALL BY NAME SELECT host, n, ts FROM logs ORDER BY ts, n, host " +
				"LIMIT 4",
			[]string{` ORDER BY "ts", "host" LIMIT 4`, ` ORDER BY "ts", "n", "host" LIMIT 4`},
			true,
		},
		{ // names that differ in the case of a letter that is not ASCII
			`SELECT host AS "é", path AS "É" FROM logs UNION ALL BY NAME SELECT path AS "É", host AS "é" FROM logs ` +
				"ORDER BY 2, 1 LIMIT 5",
			[]string{` ORDER BY "path", "host" LIMIT 5`, ` ORDER BY "path", "host" LIMIT 5`},
			true,
		},
		// Not the first rows of an operand: a UNION that drops rows, values in another order, an expression, and
		// an operand with its own LIMIT.
		{
			"SELECT host, n FROM logs UNION SELECT DISTINCT path, n FROM logs ORDER BY 2, 1 LIMIT 5",
			[]string{"", ""},
			true,
		},
		{
			"SELECT host FROM logs UNION ALL SELECT path FROM logs UNION SELECT path FROM logs " +
				"ORDER BY 1 LIMIT 5",
			[]string{"", "", ""},
			true,
		},
		{
			"SELECT n::VARCHAR AS v FROM logs UNION ALL SELECT n FROM logs ORDER BY v LIMIT 5",
			[]string{` ORDER BY CAST("n" AS VARCHAR) LIMIT 5`, ""},
			true,
		},
		{
			"SELECT host, n FROM logs UNION ALL SELECT path, n FROM logs ORDER BY 1, 2",
			[]string{"", ""},
			true,
		},
		{
			"SELECT host, n FROM logs UNION ALL (SELECT path, n FROM logs ORDER BY 2, 1 LIMIT 3) " +
				"ORDER BY 1, 2 LIMIT 5",
			[]string{` ORDER BY "host", "n" LIMIT 5`, ` ORDER BY "n", "path" LIMIT 3`},
			true,
		},
		{
			"SELECT host, n FROM logs EXCEPT ALL SELECT path, n FROM logs ORDER BY 1, 2 LIMIT 5",
			[]string{"", ""},
			true,
		},
	} {
		s := splitOfLogs(t, e, p, c.sql)
		if s.Reason != "" {
			t.Errorf("%s: not split: %s", c.sql, s.Reason)
			continue
		}
		var rest []string
		for _, b := range s.Blocks {
			_, after, _ := strings.Cut(b.Worker, `FROM "public"."logs"`)
			rest = append(rest, after)
		}
		if !slices.Equal(rest, c.rest) {
			t.Errorf("%s\n%q, want\n%q", c.sql, rest, c.rest)
		}
		want, err := ask(e, c.sql, p.all)
		if err != nil {
			t.Fatal(c.sql, err)
		}
		got, _, err := p.splitAnswer(t, e, c.sql)
		if err != nil {
			t.Fatal(c.sql, err)
		}
		switch diff := same(got, want, true); {
		case c.order && diff != "":
			t.Errorf("%s: %s", c.sql, diff)
		case len(got.rows) != len(want.rows) || !sameFields(got.schema, want.schema):
			t.Errorf("%s: %d rows %v, one node %d %v", c.sql, len(got.rows), got.schema, len(want.rows), want.schema)
		}
	}
}
