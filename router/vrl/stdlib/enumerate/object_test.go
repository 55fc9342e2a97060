package enumerate_test

import (
	"strings"
	"testing"

	"cordwood/router/vrl/vrltest"
)

func TestMerge(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `merge({"a": 1, "c": 3}, {"b": 2, "c": 4, "d": 5})`, Want: `{"a":1,"b":2,"c":4,"d":5}`},
		{Source: `merge({}, {"a": 1})`, Want: `{"a":1}`},
		{Source: `merge({"a": {"b": [1], "c": 1}}, {"a": {"b": [2]}}, deep: true)`, Want: `{"a":{"b":[2],"c":1}}`},
		{Source: `merge({"a": {"b": 1}}, {"a": null}, deep: true)`, Want: `{"a":null}`},
		{
			Name: "arguments stay", Source: `x = merge(object!(.a), {"b": {"d": 2}}, deep: true); [x, .a]`,
			Event: `{"a":{"b":{"c":1}}}`, Want: `[{"b":{"c":1,"d":2}},{"b":{"c":1}}]`,
		},
		{Name: "fields are known", Source: `x = merge({"a": 1}, {"b": "x"}); upcase(x.b)`, Want: `"X"`},
		{
			Name:   "deeply too",
			Source: `x = merge({"a": {"b": "x", "c": 1}}, {"a": {"c": "y"}}, deep: true); upcase(x.a.b) + upcase(x.a.c)`,
			Want:   `"XY"`,
		},
		{
			Name:         "unknown fields may hide known ones",
			Source:       `x = merge({"a": {"b": "x"}}, object!(.o), deep: true); upcase(x.a.b)`,
			CompileError: "E110",
		},
	})
}

func TestEntries(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{
			Source: `from_entries([{"key": "a"}, {"Name": "b", "Value": 2}, {"key": false, "name": "c", "value": ` +
				`3, "Value": 4}])`,
			Want: `{"a":null,"b":2,"c":3}`,
		},
		{
			Name:   "the later of two counts",
			Source: `from_entries([{"key": "a", "value": 1}, {"key": "a", "value": 2}])`,
			Want:   `{"a":2}`,
		},
		{Source: `from_entries([{}])`, RunError: "object keys must be strings"},
		{Source: `from_entries([1])`, RunError: "expected object, got integer"},
		{Source: `to_entries({"b": {"x": 1}, "a": null})`, Want: `[{"key":"a","value":null},{"key":"b","value":{"x":1}}]`},
		{Name: "what is known", Source: `e = to_entries({"a": "x"}); upcase(e[0].value) ?? ""`, Want: `"X"`},
	})
}

func TestObjectFromArray(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `object_from_array([["a", 1], ["a", 2, 3], ["b"]])`, Want: `{"a":2,"b":null}`},
		{Source: `object_from_array([1, 2, 3], ["a"])`, Want: `{"a":1}`},
		{Source: `object_from_array([1], ["a", "b"])`, Want: `{"a":1}`},
		{Source: `object_from_array([[]])`, RunError: "array value too short"},
		{Source: `object_from_array([5])`, RunError: "expected array, got integer"},
		{Source: `object_from_array([1], [2])`, RunError: "expected string, got integer"},
	})
}

func TestUnnest(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{
			Source: `unnest!(.a.b)`,
			Event:  `{"a":{"b":[1,{"c":2}],"d":3},"e":4}`,
			Want:   `[{"a":{"b":1,"d":3},"e":4},{"a":{"b":{"c":2},"d":3},"e":4}]`,
		},
		{Source: `unnest!(.a)`, Event: `{"a":[]}`, Want: `[]`},
		{Name: "the event stays", Source: `x = unnest!(.a); x[0].a = 9; .`, Event: `{"a":[1]}`, WantEvent: `{"a":[1]}`},
		{Name: "a variable", Source: `v = {"l": [1, 2], "k": "x"}; unnest(v.l)`, Want: `[{"l":1,"k":"x"},{"l":2,"k":"x"}]`},
		{Name: "metadata", Source: `unnest!(%l)`, Meta: `{"l":[1]}`, Want: `[{"l":1}]`},
		{
			Name: "an element of an array", Source: `unnest!(.a[-1])`, Event: `{"a":[0,[1,2]]}`,
			Want: `[{"a":[0,1]},{"a":[0,2]}]`,
		},
		{Name: "a value that is nowhere kept", Source: `unnest({"a": [1, 2]}.a)`, Want: `[{"a":1},{"a":2}]`},
		{Name: "elements are known", Source: `v = {"l": ["x"]}; upcase(unnest(v.l)[0].l)`, Want: `"X"`},
		{Source: `unnest(.a)`, CompileError: "E1"},
		{Source: `unnest!(.a)`, Event: `{"a":{}}`, RunError: "expected array, got object"},
		{Source: `unnest!("a")`, CompileError: "E"},
	})
}

func TestMatchDatadogQuery(t *testing.T) {
	event := `{"message":"User Logged in at 10:42","host":"web-1","status":404,"a":{"b-c":[3,"x"],"q":"v ` +
		`w"},"tags":["env:prod","beta","v:1.2"]}`
	var cases []vrltest.Case
	for query, want := range map[string]string{
		``:                                `true`,
		`*`:                               `true`,
		`*:*`:                             `true`,
		`logged`:                          `true`,
		`log`:                             `false`,
		`log*`:                            `true`,
		`l?gged`:                          `true`,
		`"logged in"`:                     `true`,
		`"logged * in"`:                   `false`,
		`host:web-1`:                      `true`,
		`host:WEB-1`:                      `false`,
		`host:web-*`:                      `true`,
		`host:*-1`:                        `true`,
		`host:web*x`:                      `false`,
		`@a.b-c:3`:                        `true`,
		`@a.b-c:[3 TO 4]`:                 `true`,
		`@a.b-c:>3`:                       `true`, // "x" is compared as text
		`@status:<400`:                    `false`,
		`@status:>=404`:                   `true`,
		`@status:{404 TO 500]`:            `false`,
		`@status:[404 TO 500}`:            `true`,
		`@a.q:"v w"`:                      `true`,
		`@a.q:v\ w`:                       `true`,
		`env:prod`:                        `true`,
		`env:(staging OR prod)`:           `true`,
		`env:(staging prod)`:              `false`,
		`env:p*d`:                         `true`,
		`v:[1.0 TO 2]`:                    `true`,
		`beta:x`:                          `false`,
		`tags:beta`:                       `true`,
		`_exists_:beta`:                   `true`,
		`_exists_:bet`:                    `false`,
		`_missing_:@a.z`:                  `true`,
		`env:*`:                           `true`,
		`logged AND NOT in`:               `false`,
		`nothing OR logged in`:            `true`,
		`nothing || logged && !missing`:   `true`,
		`-(nothing OR missing) +logged`:   `true`,
		`NOT (logged OR missing)`:         `false`,
		`--logged`:                        `true`,
		`nothing OR logged AND something`: `false`,
		`10\:42`:                          `true`,
	} {
		cases = append(cases, vrltest.Case{
			Name: query, Source: `match_datadog_query(., s'` + query + `')`, Event: event, Want: want,
		})
	}
	for _, query := range []string{
		`(a`, `a)`, `a OR`, `@a:[1 TO`, `@a:[1 3]`, `"a`, `@a..b:1`, `@:1`, `_exists_:`, `a:`, `NOT`, `@a[x]:1`,
		strings.Repeat("(", 100),
	} {
		cases = append(cases, vrltest.Case{
			Name:         "invalid " + query,
			Source:       `match_datadog_query(., s'` + query + `')`,
			CompileError: "E403",
		})
	}
	cases = append(cases, vrltest.Case{
		Name:         "a backslash at the end",
		Source:       `match_datadog_query(., "a\\")`,
		CompileError: "E403",
	})
	vrltest.Run(t, cases)
}
