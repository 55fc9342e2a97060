package path_test

import (
	"testing"

	"cordwood/router/vrl/vrltest"
)

func TestGet(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `get!({"a": [1, {"b": 2}]}, ["a", -1, "b"])`, Want: `2`},
		{Name: "the empty path", Source: `get!({"a": 1}, [])`, Want: `{"a":1}`},
		{Source: `get!([1], [5])`, Want: `null`},
		{Source: `get!([1], ["a"])`, Want: `null`},
		{Source: `get!({"a": 1}, [1.0])`, RunError: "path segment must be either string or integer, not float"},
		{Source: `get({}, ["a"])`, CompileError: "E100"},
		{Name: "a known path", Source: `upcase(get!({"a": ["x"]}, ["a", 0]))`, Want: `"X"`},
		{
			Name: "the result is a copy", Source: `x = get!(., ["a"]); x.b = 9; .`, Event: `{"a":{"b":1}}`,
			Want: `{"a":{"b":1}}`,
		},
		{
			Name: "an object from inside", Source: `x = object!(get!(., ["a"])); x.b = 9; [x, .]`, Event: `{"a":{"b":1}}`,
			Want: `[{"b":9},{"a":{"b":1}}]`,
		},
	})
}

func TestSet(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `set!({"a": {"b": 1}}, ["a", "c"], [2])`, Want: `{"a":{"b":1,"c":[2]}}`},
		{Source: `set!([1, 2, 3], [-5], 9)`, Want: `[9,null,1,2,3]`},
		{Name: "of another kind", Source: `set!([1], ["a"], 2)`, Want: `{"a":2}`},
		{
			Name: "the argument stays", Source: `x = set!(., ["a", "b"], 9); [x, .]`, Event: `{"a":{"b":1}}`,
			Want: `[{"a":{"b":9}},{"a":{"b":1}}]`,
		},
		{Source: `set!({}, [], {"a": 1})`, Want: `{"a":1}`},
		{Source: `set!({}, [], 1)`, RunError: "expected object or array, got integer"},
		{Source: `set!([], [9000000000], 1)`, RunError: "array index is out of bounds"},
		{Source: `set!({}, [null], 1)`, RunError: "not null"},
		{Name: "a known path", Source: `upcase(set!({"a": 1}, ["b", 0], "x").b[0])`, Want: `"X"`},
		{
			Name: "a path that starts with a name", Source: `merge(set!({}, [string!(.k)], 1), {"b": 2})`,
			Event: `{"k":"a"}`, Want: `{"a":1,"b":2}`,
		},
		{Name: "any path", Source: `merge(set!({}, array!(.k), 1), {"b": 2})`, CompileError: "E110"},
	})
}

func TestRemove(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `remove!({"a": {"b": 1}}, ["a", "b"])`, Want: `{"a":{}}`},
		{Source: `remove!({"a": {"b": 1}}, ["a", "b"], compact: true)`, Want: `{}`},
		{Source: `remove!([1, 2, 3], [1])`, Want: `[1,3]`},
		{Source: `remove!({"a": 1}, [])`, Want: `{}`},
		{
			Name: "the argument stays", Source: `x = remove!(., ["a", "b"]); [x, .]`, Event: `{"a":{"b":1}}`,
			Want: `[{"a":{}},{"a":{"b":1}}]`,
		},
		{Source: `remove!({}, [true])`, RunError: "not boolean"},
		{Name: "a known path", Source: `upcase(remove!({"a": 1, "b": "x"}, ["a"]).b)`, Want: `"X"`},
	})
}

func TestDel(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `x = del(.a.b); [x, .]`, Event: `{"a":{"b":1}}`, Want: `[1,{"a":{}}]`},
		{Source: `del(.a[0]); .`, Event: `{"a":[1,2]}`, Want: `{"a":[2]}`},
		{Source: `del(.none)`, Want: `null`},
		{Source: `x = {"a": 1}; del(x.a); x`, Want: `{}`},
		{Source: `del(%m); %`, Meta: `{"m":1}`, Want: `{}`},
		{Source: `del("a")`, CompileError: "E400"},
	})
}

func TestExists(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{
			Source: `[exists(.a), exists(.b), exists(.a.c), exists(%m), exists(.l[-1]), exists(.l[2])]`,
			Event:  `{"a":null,"l":[1,2]}`, Meta: `{"m":1}`, Want: `[true,false,false,true,true,false]`,
		},
	})
}
