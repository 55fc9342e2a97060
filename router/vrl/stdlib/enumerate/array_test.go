package enumerate_test

import (
	"testing"

	"cordwood/router/vrl/vrltest"
)

func TestAppend(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `append([], [1])`, Want: `[1]`},
		{Source: `append([1], [])`, Want: `[1]`},
		{
			Name: "arguments stay", Source: `a = array!(.a); b = append(a, [2]); b[0] = 9; [a, b]`, Event: `{"a":[1]}`,
			Want: `[[1],[9,2]]`,
		},
		{Name: "elements are known", Source: `a = append(["x"], [1]); upcase(a[0]) + to_string(a[1])`, Want: `"X1"`},
		{
			Name: "unknown elements", Source: `type_def(append([1], array!(.a)))`, Event: `{"a":[]}`,
			Want: `{"array":{"0":{"integer":true}},"array_unknown_infinite":{"any":true}}`,
		},
		{Source: `append!(.a, [1])`, RunError: "expected array, got null"},
	})
}

func TestPush(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `push([], null)`, Want: `[null]`},
		{Source: `push([1], .none)`, Want: `[1,null]`},
		{Name: "arguments stay", Source: `o = {"a": 1}; l = push([], o); o.a = 2; [l, o]`, Want: `[[{"a":1}],{"a":2}]`},
		{
			Name:   "in a loop",
			Source: `l = []; for_each(split("a b c", " ")) -> |_i, v| { l = push(l, v) }; l`,
			Want:   `["a","b","c"]`,
		},
		{Name: "elements are known", Source: `upcase(push([1], "x")[1])`, Want: `"X"`},
	})
}

func TestPop(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `pop([1])`, Want: `[]`},
		{Name: "arguments stay", Source: `a = [1, 2]; b = pop(a); [a, b]`, Want: `[[1,2],[1]]`},
		{Source: `pop!(.a)`, Event: `{"a":"x"}`, RunError: "expected array, got string"},
		{Name: "what is known", Source: `type_def(pop([1, "x"]))`, Want: `{"array":{"0":{"integer":true}}}`},
	})
}

func TestChunks(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `chunks("", 3)`, Want: `[]`},
		{Source: `chunks("abc", 3)`, Want: `["abc"]`},
		{Source: `chunks("abc", 9223372036854775807)`, Want: `["abc"]`},
		{Source: `chunks("abc", 0)`, CompileError: "E403"},
		{Source: `chunks("abc", int!(.n))`, CompileError: "E100"},
		{Source: `chunks!("abc", int!(.n))`, Event: `{"n":-1}`, RunError: `"chunk_size" must be at least 1 byte`},
		{Source: `chunks!("abc", int!(.n))`, Event: `{"n":2}`, Want: `["ab","c"]`},
	})
}

func TestZip(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `zip([])`, Want: `[]`},
		{Source: `zip([], [1])`, Want: `[]`},
		{Source: `zip([[1, 2], []])`, Want: `[]`},
		{Source: `zip([[1, 2]])`, Want: `[[1],[2]]`},
		{Source: `zip([1, [2]])`, RunError: "expected array, got integer"},
		{Name: "elements are shared", Source: `o = {"a": 1}; z = zip([o], [o]); o.a = 2; z`, Want: `[[{"a":1},{"a":1}]]`},
	})
}
