package datadog_test

import (
	"strings"
	"testing"

	"cordwood/router/vrl"
	"cordwood/router/vrl/value"
)

// TestDatadogQueryIsPaid checks that a match is charged by the lengths of the text and of the query, which is a
// constant.
func TestDatadogQueryIsPaid(t *testing.T) {
	for _, query := range []string{"*" + strings.Repeat("a*", 1000) + "b", "@x:*" + strings.Repeat("a*", 1000) + "b"} {
		p, _, err := vrl.Compile("match_datadog_query(., s'"+query+"')", vrl.Options{})
		if err != nil {
			t.Fatal(err)
		}
		text := value.NewString(strings.Repeat("a", 1<<20))
		event, meta := value.ObjectOf(value.Field{Key: "message", Value: text}, value.Field{Key: "x", Value: text}),
			value.ObjectOf()
		if _, err := p.Run(&event, &meta); err == nil || !strings.Contains(err.Error(), "steps") {
			t.Errorf("%.20s…: error %v, want that the budget of steps is used up", query, err)
		}
	}
}
