package engine

import (
	"fmt"
	"strings"
	"testing"

	"cordwood/proto/errs"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/duck"
)

// TestDepth calls the functions that descend into JSON level by level. The texts have few levels or
// many, and are literals or values of a column.
func TestDepth(t *testing.T) {
	e := openEngine(t, t.TempDir())
	nested := func(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }
	columns := cols("ts:TimestampSecond", "m:String")
	tables := map[bool]query.Table{}
	for _, deep := range []bool{false, true} {
		depth := duck.MaxJSONDepth
		if deep {
			depth = 200_000
		}
		tables[deep] = table("t", columns,
			batch(t, columns, []any{0, nested(depth)}, []any{1, nil}, []any{2, `{"a":"[[[\"{{{"}`}))
	}
	for _, expression := range []string{
		"json_contains(m, '1')", "main.json_contains('[]', m)", "json_structure(m)", "json_structure(m::JSON)",
		"m.json_structure()", "json_pretty(m)",
		"json_merge_patch(m, m)", "json_merge_patch('{}', m, m)", "json_merge_patch('{}', '{}', m, m)",
		"json_group_structure(m::JSON)",
	} {
		sql := "SELECT " + expression + " FROM t"
		if _, err := ask(e, sql, tables[false]); err != nil {
			t.Errorf("%s: %d levels: %v", sql, duck.MaxJSONDepth, err)
		}
		_, err := ask(e, sql, tables[true])
		if errs.CodeOf(err) != errs.InvalidArguments || !strings.Contains(err.Error(), "nested more than 100") {
			t.Errorf("%s: deep: %v", sql, err)
		}
	}
	for _, name := range []string{"from_json", "from_json_strict", "json_transform", "json_transform_strict"} {
		for depth, want := range map[int]errs.Code{
			duck.MaxStructureDepth:     errs.Success,
			duck.MaxStructureDepth + 1: errs.InvalidArguments,
			20_000:                     errs.InvalidArguments,
		} {
			structure := strings.Repeat("[", depth) + `"INT"` + strings.Repeat("]", depth)
			if _, err := ask(e, fmt.Sprintf("SELECT %s('[]', '%s')", name, structure)); errs.CodeOf(err) != want {
				t.Errorf("%s: structure of %d levels: %v", name, depth, err)
			}
		}
	}
	_, err := ask(e, "SELECT json_structure(ts) FROM t", tables[false])
	if errs.CodeOf(err) != errs.PlanQuery || strings.Contains(err.Error(), "cordwood_") {
		t.Errorf("of a time: %v", err)
	}
	// The bounded functions return what DuckDB's own functions return.
	for expression, want := range map[string]string{
		`json_contains('{"a":[1,2]}', '2')`: "true", `json_contains('[1]', '3')`: "false",
		`json_structure('{"a":[1]}')`:                        `{"a":["UBIGINT"]}`,
		`json_merge_patch('{"a":1}', '{"a":null,"b":"[["}')`: `{"b":"[["}`, `from_json('{"a":"1"}', '{"a":"INT"}').a`: "1",
		`json_structure(NULL) IS NULL`:  "true",
		`json_contains('"[[[\""', '1')`: "false",
	} {
		if got := mustQuery(t, e, "SELECT "+expression)[0]; got != want {
			t.Errorf("%s: %s, want %s", expression, got, want)
		}
	}
}
