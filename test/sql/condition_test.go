package sql

import (
	"math/rand/v2"
	"testing"

	"cordwood/router/query/statement"
)

// inParentheses returns a condition as DELETE and tails use it.
func inParentheses(cond string) string { return "SELECT ts FROM t WHERE (" + cond + "\n)" }

// parts are the parts of conditions that try to escape from their parentheses.
var parts = []string{
	"true", "a = 1", "host = 'x'", "(", ")", "(", ")", "[", "]", ", ", " -- x", " -- x\r", "\n", "\r", "/*", "*/", "'",
	`"`, "$$", "e'\\'", " AND ", " OR ", "NOT ",
	" UNION ALL SELECT ts FROM t WHERE ", " LIMIT ", " ORDER BY ", " GROUP BY ", "1", " FROM t", "SELECT 1", "FROM t",
	";", " AS b", " IN ", " x FOR x IN ", ":", "{", "}", " END", "CASE WHEN ", " THEN ", "j->>'a' = 'x'", "->", "->>",
}

// TestConditionsAlone checks that a condition does not escape from the parentheses of a WHERE if the engine can parse
// it both alone and in these parentheses, whatever our own lexer makes of it.
func TestConditionsAlone(t *testing.T) {
	count := engine(t)
	for _, cond := range []string{
		"true", "a = 1 AND (b OR NOT c) -- end", "host IN ('a', 'b')",
		"ts BETWEEN '2023-01-01' AND now() - INTERVAL 1 HOUR", "matches(m, 'a b')", "m LIKE '%]%' AND n[1] = 2", "x -> x > 1",
		"j->>'$.a' = 'x' AND j->'n'->>'m' IN ('1')",
	} {
		if count(statement.Alone(cond)) != 1 {
			t.Errorf("the engine does not parse %q", statement.Alone(cond))
		}
	}
	for _, cond := range []string{
		"", "true) LIMIT (1", "true) ORDER BY (ts", "true) UNION ALL SELECT ts FROM t WHERE (true", "true) OR (true",
		"true -- \r) UNION ALL SELECT ts FROM t WHERE (true", "SELECT 1", "FROM t", "true; DELETE FROM t",
		"true] FROM t WHERE [true",
	} {
		if count(statement.Alone(cond)) == 1 && count(inParentheses(cond)) == 1 {
			t.Errorf("the engine parses %q", statement.Alone(cond))
		}
	}
	r := rand.New(rand.NewPCG(seed(t), 1)) //nolint:gosec // choices of a test
	both, out := 0, 0
	for range 60_000 {
		cond, end := "", ""
		if r.IntN(2) == 0 {
			cond, end = "true)", []string{"(1", "(true", "(ts", " -- \r(true"}[r.IntN(4)]
		}
		for range 1 + r.IntN(5) {
			cond += parts[r.IntN(len(parts))]
		}
		cond += end
		if !alike(cond) || count(inParentheses(cond)) != 1 {
			continue
		}
		// A further bracket after the condition fits only if the condition closes none of ours.
		leaves := count("SELECT ts FROM t WHERE ((("+cond+"\n) = [("+cond+"\n)]))") != 1
		if leaves {
			out++
		}
		if count(statement.Alone(cond)) != 1 {
			continue
		}
		if both++; leaves {
			t.Errorf("%q escapes from its parentheses", cond)
		}
	}
	if both < 100 || out < 20 {
		t.Errorf("%d conditions that stay and %d that escape are too few", both, out)
	}
}
