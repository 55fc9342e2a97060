package engine

import (
	"math/rand/v2"
	"strings"
	"testing"

	"cordwood/shard/query"
)

// TestRepeatedExpressions checks that a statement is not split if the expressions of its inner queries would be copied
// too often: each level of the second statement doubles its expression.
func TestRepeatedExpressions(t *testing.T) {
	e := openEngine(t, t.TempDir())
	p := place(t, rand.New(rand.NewPCG(1, 2)), 10, 2)
	nested := func(depth int, item string) string {
		return strings.Repeat("SELECT "+item+" AS n FROM (", depth) + "SELECT bytes AS n FROM logs" +
			strings.Repeat(")", depth)
	}
	for sql, reason := range map[string]string{
		nested(3, "n + n"):  "",
		nested(30, "n"):     "",
		nested(30, "n + n"): "the expressions of its inner query are used too often",
	} {
		s, err := e.Split(t.Context(), &query.Request{
			SQL: sql, Database: "public", Tables: []query.Table{{Database: "public", Name: "logs", Schema: p.all.Schema}},
		})
		if err != nil {
			t.Errorf("%.60s: %v", sql, err)
		} else if s.Reason != reason {
			t.Errorf("%.60s: the reason is %q, want %q", sql, s.Reason, reason)
		}
	}
}
