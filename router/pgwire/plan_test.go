package pgwire

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPlans checks the forms of the engine's plans in PostgreSQL's JSON.
func TestPlans(t *testing.T) {
	for name, tt := range map[string]struct{ engine, want string }{
		"EXPLAIN": {
			`[{"name": "HASH_JOIN", "extra_info": {"Join Type": "LEFT", "Conditions": "a = b", "Estimated Cardinality": "12"},
			"children": [{"name": "SEQ_SCAN ", "children": [], "extra_info": {"Projections": ["a", "c"]}},
			{"name": "FILTER", "extra_info": {"Projections": "b"}}]}]`,
			`[{"Plan": {"Node Type": "Hash Join", "Join Type": "Left", "Conditions": "a = b", "Plan Rows": 12, "Output": ["x"],
			"Plans": [{"Node Type": "Seq Scan", "Parent Relationship": "Outer", "Output": ["a", "c"]},
			{"Node Type": "Filter", "Parent Relationship": "Inner", "Output": ["b"]}]}}]`,
		},
		"EXPLAIN ANALYZE": {
			`{"latency": 0.5, "query_name": "", "children": [{"operator_name": "EXPLAIN_ANALYZE", "children": [
			{"operator_name": "PROJECTION", "operator_timing": 0.25, "operator_cardinality": 3, "extra_info": {}}]}]}`,
			`[{"Execution Time": 500, "Plan": {"Node Type": "Projection", "Actual Rows": 3, "Actual Total Time": 250,
			"Output": ["x"]}}]`,
		},
	} {
		answer := textCursor([]string{"k", "v"}, [][]any{{"segments", "none"}, {"plan", tt.engine}})
		c, err := explainedJSON(answer, []string{"x"})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		c.next()
		text, _, err := c.appendValue(nil, 0)
		var got, want any
		if err != nil || json.Unmarshal(text, &got) != nil || json.Unmarshal([]byte(tt.want), &want) != nil {
			t.Fatalf("%s: %s %v", name, text, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: -want +got:\n%s", name, d)
		}
		if c.columns[0].typ.OID != 114 || c.next() {
			t.Errorf("%s: columns %+v, or more than one row", name, c.columns)
		}
	}
	for _, text := range []string{"", "[]", "{", `[{"children": 1}]`} {
		if _, err := explainedJSON(textCursor([]string{"v"}, [][]any{{text}}), nil); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}
