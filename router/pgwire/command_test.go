package pgwire

import (
	"regexp"
	"testing"

	"cordwood/router/query/statement"
)

// TestShowStatements checks that every SHOW statement that the parser knows is executed as a query, and not as SHOW of
// a PostgreSQL setting.
func TestShowStatements(t *testing.T) {
	_, err := statement.Parse("SHOW nonsense")
	if err == nil {
		t.Fatal("there is no error")
	}
	words := regexp.MustCompile(`\b[A-Z]{4,}\b`).FindAllString(err.Error(), -1)
	if len(words) < 8 {
		t.Fatalf("the error does not list the statements: %v", err)
	}
	for _, w := range words {
		if w != "SHOW" && w != "TABLE" && w != "DATABASE" && newCommand("SHOW "+w).session != nil {
			t.Errorf("SHOW %s is not executed as a query", w)
		}
	}
}
