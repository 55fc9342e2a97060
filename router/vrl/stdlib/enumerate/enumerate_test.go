package enumerate_test

import (
	"fmt"
	"strings"
	"testing"

	"cordwood/router/vrl/vrltest"
)

func TestFilter(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `filter({"b": 1, "a": "x"}) -> |_k, v| { is_string(v) }`, Want: `{"a":"x"}`},
		{Source: `filter([5, 6, 7]) -> |i, _v| { i != 1 }`, Want: `[5,7]`},
		{Source: `filter([]) -> |_i, _v| { true }`, Want: `[]`},
		{Source: `filter([1]) -> |_i, v| { v }`, CompileError: "E122"},
		{Source: `filter([1]) -> |v| { true }`, CompileError: "E120"},
		{Source: `filter([1])`, CompileError: "E111"},
		{Name: "elements are known", Source: `filter(["a"]) -> |_i, v| { upcase(v) == "A" }`, Want: `["a"]`},
		{Name: "a failing closure", Source: `filter(["x"]) -> |_i, v| { to_int(v) == 1 }`, CompileError: "E"},
	})
}

func TestForEach(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `for_each([1]) -> |_i, v| { v }`, Want: `null`},
		{
			Name:   "in the order of keys",
			Source: `s = ""; for_each({"b": 1, "a": 2}) -> |k, _v| { s = s + k }; s`,
			Want:   `"ab"`,
		},
		{
			Name: "over what it was", Source: `for_each(array!(.a)) -> |_i, v| { .a = push!(.a, v) }; .a`,
			Event: `{"a":[1,2]}`, Want: `[1,2,1,2]`,
		},
		{
			Name: "an element changed is a copy", Source: `for_each(array!(.a)) -> |_i, v| { v.x = 9 }; .a`,
			Event: `{"a":[{"x":1}]}`, Want: `[{"x":1}]`,
		},
		{
			Name:     "a failure ends it",
			Source:   `n = 0; for_each!([1, 2]) -> |_i, v| { n = v; assert!(v > 5, "too few") }`,
			RunError: "too few",
		},
	})
}

func TestMapKeysAndValues(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Name: "the later of two counts", Source: `map_keys({"a": 1, "b": 2}) -> |_k| { "x" }`, Want: `{"x":2}`},
		{Source: `map_keys({"b": 1, "a": 2}) -> |k| { if k == "a" { "z" } else { k } }`, Want: `{"b":1,"z":2}`},
		{Source: `map_keys({}) -> |k| { 5 }`, CompileError: "E122"},
		{Source: `map_keys([1]) -> |k| { k }`, CompileError: "E110"},
		{Source: `map_keys([[{"a": 1}]][0][0], recursive: true) -> |k| { k + k }`, Want: `{"aa":1}`},
		{
			Name:   "containers before what they hold",
			Source: `map_values([[1], 2], recursive: true) -> |v| { if is_array(v) { push!(v, 5) } else { to_string!(v) } }`,
			Want:   `[["1","5"],"2"]`,
		},
		{
			Name: "the argument stays", Source: `x = map_values(object!(.a)) -> |_v| { 0 }; [x, .a]`,
			Event: `{"a":{"b":1}}`, Want: `[{"b":0},{"b":1}]`,
		},
	})
}

func TestCompact(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `compact([[[null]], {"a": {"b": ""}}, 0, false])`, Want: `[0,false]`},
		{Source: `compact({"a": {"b": null}}, recursive: false)`, Want: `{"a":{"b":null}}`},
		{
			Source: `compact([null, "", {}, []], null: false, string: false, object: false, array: false)`,
			Want:   `[null,"",{},[]]`,
		},
		{Source: `compact({"a": "-", "b": [" "]}, nullish: true, string: false)`, Want: `{}`},
		{Source: `compact({})`, Want: `{}`},
		{
			Name: "the argument stays", Source: `x = compact(object!(.a)); [x, .a]`, Event: `{"a":{"b":[null]}}`,
			Want: `[{},{"b":[null]}]`,
		},
	})
}

func TestFlatten(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `flatten({"a": {}, "b": []})`, Want: `{"b":[]}`},
		{Source: `flatten({"a": {"b": [{"c": 1}]}})`, Want: `{"a.b":[{"c":1}]}`},
		{Name: "keys stay in order", Source: `keys(flatten({"a": {"x": 1}, "a!": 2}))`, Want: `["a!","a.x"]`},
		{Name: "the later of two counts", Source: `flatten({"a": {"b": 1}, "a.b": 2})`, Want: `{"a.b":2}`},
		{Source: `flatten({"a": {"b": 1}}, separator: "")`, Want: `{"ab":1}`},
		{Source: `flatten([[], [[{"a": [1]}]]])`, Want: `[{"a":[1]}]`},
		{Source: `flatten({}, except: [1])`, RunError: "expected string, got integer"},
	})
}

func TestUnflatten(t *testing.T) {
	deep := strings.Repeat("a.", 2000) + "a"
	vrltest.Run(t, []vrltest.Case{
		{Source: `unflatten({"a.b": 1, "a!": 2, "a": 3})`, Want: `{"a":{"b":1},"a!":2}`},
		{Source: `unflatten({".": 1})`, Want: `{"":{"":1}}`},
		{Source: `unflatten({"a": {"b.c": 1}, "d": [{"e.f": 1}]})`, Want: `{"a":{"b":{"c":1}},"d":[{"e.f":1}]}`},
		{Source: `unflatten({"a": {"b.c": 1}}, recursive: false)`, Want: `{"a":{"b.c":1}}`},
		{Source: `unflatten({"a::b": 1}, separator: "::")`, Want: `{"a":{"b":1}}`},
		{Source: `unflatten({"a.b": 1}, separator: "")`, Want: `{"a.b":1}`},
		{
			Name: "too deep stays unsplit", Source: `length(flatten(unflatten(.)))`, Event: fmt.Sprintf(`{%q:1}`, deep),
			Want: `1`,
		},
	})
}

func TestCounting(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `[length("é"), strlen("é"), strlen(""), length({"a": 1}), length([])]`, Want: `[2,1,0,1,0]`},
		{Name: "ill-formed text", Source: `strlen(slice!("éa", 1))`, Want: `2`},
		{Source: `keys({})`, Want: `[]`},
		{Source: `values({"b": {"x": 1}, "a": null})`, Want: `[null,{"x":1}]`},
		{
			Source: `[includes([1], 1.0), includes([[1]], [1]), includes([null], .none), includes([], null)]`,
			Want:   `[false,true,true,false]`,
		},
		{Source: `[tally_value([1, 1.0, "1", 1], 1), tally_value([null], .none)]`, Want: `[2,1]`},
		{Source: `tally!([])`, Want: `{}`},
		{Source: `tally!([null])`, RunError: "all values must be strings, found: null"},
	})
}

func TestUnique(t *testing.T) {
	var many []string
	for i := range 40 {
		many = append(many, fmt.Sprint(i%20), fmt.Sprintf("%d.0", i%20), fmt.Sprintf(`[%d]`, i%20),
			fmt.Sprintf(`{"a":"%d"}`, i%20))
	}
	list := "[" + strings.Join(many, ",") + "]"
	vrltest.Run(t, []vrltest.Case{
		{Source: `unique([1, 1.0, "1", [1], [1], {"a": 1}, {"a": 1}, null, null])`, Want: `[1,1.0,"1",[1],{"a":1},null]`},
		{Source: `unique([0.0, -0.0])`, Want: `[0.0]`},
		{Name: "many", Source: `length(unique(array!(.a)))`, Event: `{"a":` + list + `}`, Want: `80`},
		{
			Name: "many, in order", Source: `unique(array!(.a)) == slice!(.a, 0, 80)`, Event: `{"a":` + list + `}`,
			Want: `true`,
		},
	})
}

func TestMatchArray(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `[match_array([], r'a'), match_array([], r'a', all: true)]`, Want: `[false,true]`},
		{Source: `[match_array(["a", 1], r'a'), match_array(["a", 1], r'a', all: true)]`, Want: `[true,false]`},
	})
}
