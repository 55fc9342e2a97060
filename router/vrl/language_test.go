package vrl_test

import (
	"strings"
	"testing"

	"cordwood/router/vrl/vrltest"
)

func TestLiterals(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Name: "empty program", Source: ``, Want: `null`},
		{Name: "comments only", Source: "# one\n  # two\n", Want: `null`},
		{Name: "integer", Source: `1_000`, Want: `1000`},
		{Name: "leading zeros", Source: `007`, Want: `7`},
		{Name: "smallest integer", Source: `-9223372036854775808`, Want: `-9223372036854775808`},
		{Name: "integer out of range", Source: `9223372036854775808`, CompileError: "E206"},
		{Name: "float", Source: `1.5`, Want: `1.5`},
		{Name: "float without digits after the point", Source: `1.`, Want: `1.0`},
		{Name: "no float without digits before it", Source: `.5`, Want: `null`},
		{Name: "exponent", Source: `1e3`, CompileError: "E206"},
		{Name: "other base", Source: `0x10`, CompileError: "E206"},
		{Name: "booleans and null", Source: `[true, false, null]`, Want: `[true,false,null]`},
		{Name: "escapes", Source: `"a\t\n\"\\\'\u{e9}\0"`, Want: `"a\t\n\"\\'é\u0000"`},
		{Name: "escaped line break", Source: "\"a \\\n    b\"", Want: `"a b"`},
		{Name: "line break", Source: "\"a\nb\"", Want: `"a\nb"`},
		{Name: "bad escape", Source: `"\q"`, CompileError: "E209"},
		{Name: "bad code point", Source: `"\u{110000}"`, CompileError: "E211"},
		{Name: "unclosed string", Source: `"abc`, CompileError: "E207"},
		{Name: "raw string", Source: `s'a\n{{ b }}"'`, Want: `"a\\n{{ b }}\""`},
		{Name: "quote in a raw string keeps its backslash", Source: `s'a\'b'`, Want: `"a\\'b"`},
		{Name: "unclosed raw string", Source: `s'abc`, CompileError: "E208"},
		{Name: "regex", Source: `r'a\'b'`, Want: `"a'b"`},
		{Name: "bad regex", Source: `r'('`, CompileError: "E101"},
		{Name: "timestamp", Source: `t'2021-02-03 04:05:06.5+01:00'`, Want: `"2021-02-03T03:05:06.500Z"`},
		{Name: "bad timestamp", Source: `t'2021-02-03'`, CompileError: "E601"},
		{Name: "object", Source: `{"b": 1, "a": [1, {}],}`, Want: `{"a":[1,{}],"b":1}`},
		{Name: "last of equal keys", Source: `{"a": 1, "a": 2}`, Want: `{"a":2}`},
		{Name: "key of another kind", Source: `{a: 1}`, CompileError: "E203"},
		{Name: "unknown character", Source: "1\n~", CompileError: "E200"},
		{Name: "ten diagnostics at once, first", Source: "~\n\"\\q\"\n1e3", CompileError: "E200"},
		{Name: "ten diagnostics at once, last", Source: "~\n\"\\q\"\n1e3", CompileError: "E206"},
	})
}

func TestTemplates(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Name: "variables", Source: `a = "x"; b = "y"; "<{{ a }}-{{b}}>"`, Want: `"<x-y>"`},
		{Name: "null is nothing", Source: `a = null; "<{{ a }}>"`, Want: `"<>"`},
		{Name: "alone it is the variable", Source: `n = 5; "{{ n }}"`, Want: `5`},
		{Name: "escaped", Source: `"\{{ a \}} }}"`, Want: `"{{ a }} }}"`},
		{Name: "not a variable", Source: `"{{ .a }}"`, CompileError: "E701"},
		{Name: "maybe no string", Source: `a = .x; "<{{ a }}>"`, CompileError: "E100"},
		{Name: "handled", Source: `a = .x; "<{{ a }}>" ?? "other"`, Event: `{"x":1}`, Want: `"other"`},
	})
}

func TestSyntax(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Name: "separators", Source: "a = 1; b = 2;; c = 3\n\n a + b + c", Want: `6`},
		{Name: "none between expressions", Source: `1 2`, CompileError: "E203"},
		{Name: "minus belongs to the digit", Source: `a = 3; a -1`, CompileError: "E203"},
		{Name: "minus of a negative", Source: `1 - -1`, Want: `2`},
		{Name: "no unary minus", Source: `-(5)`, CompileError: "E203"},
		{Name: "and and or are of one level", Source: `true || false && false`, Want: `false`},
		{Name: "precedence", Source: `1 + 2 * 3 == 7 && 2 > 1`, Want: `true`},
		{Name: "left to right", Source: `10 - 4 - 3`, Want: `3`},
		{Name: "break after an operator", Source: "1 +\n\n 2", Want: `3`},
		{Name: "no break before one", Source: "1\n+ 2", CompileError: "E203"},
		{Name: "chained comparison", Source: `1 < 2 < 3`, CompileError: "E650"},
		{Name: "chained equality", Source: `true == false == true`, CompileError: "E650"},
		{Name: "groups unchain", Source: `(1 < 2) == true`, Want: `true`},
		{Name: "block as operand", Source: `{ x = 1; x } + 1`, Want: `2`},
		{Name: "empty braces are an object", Source: `x = {}; x`, Want: `{}`},
		{Name: "nested blocks", Source: "{\n{\n1\n}\n}", Want: `1`},
		{Name: "comma at the end", Source: "[\n1,\n2,\n]", Want: `[1,2]`},
		{Name: "call over lines", Source: "contains(\n  \"abc\",\n  substring: \"b\",\n)", Want: `true`},
		{Name: "keyword as argument name", Source: `contains("a", null: 1)`, CompileError: "E108"},
		{Name: "if as argument", Source: `upcase(if true { "a" })`, CompileError: "E203"},
		{Name: "if in a block as argument", Source: `upcase({ if true { "a" } else { "b" } })`, Want: `"A"`},
		{Name: "reserved word", Source: `array = 1`, CompileError: "E205"},
		{Name: "keyword as a field", Source: `.if.null`, Event: `{"if":{"null":1}}`, Want: `1`},
		{Name: "unexpected end", Source: `[1,`, CompileError: "E204"},
		{Name: "errors of several lines, one", Source: "1 +* 2\nok = 1\n)", CompileError: ":1:4"},
		{Name: "errors of several lines, two", Source: "1 +* 2\nok = 1\n)", CompileError: ":3:1"},
		{Name: "at sign in a variable", Source: `@a = 1`, CompileError: "E203"},
		{Name: "no-op alone", Source: `_`, CompileError: "expected = after _"},
		{Name: "no percent operator", Source: `a = 4; a % 2`, CompileError: "mod(a, b)"},
	})
}

func TestPaths(t *testing.T) {
	const event = `{"a":{"b":[10,20,{"c":"x"}]},"@t":1,"a b":{"c":2},"1a":3}`
	vrltest.Run(t, []vrltest.Case{
		{Source: `.`, Event: event, Want: event},
		{Source: `.a.b[1]`, Event: event, Want: `20`},
		{Source: `.a.b[-1].c`, Event: event, Want: `"x"`},
		{Source: `.a.b[9]`, Event: event, Want: `null`},
		{Source: `.a[0]`, Event: event, Want: `null`},
		{Source: `.@t`, Event: event, Want: `1`},
		{Source: `."a b".c`, Event: event, Want: `2`},
		{Source: `.1a`, Event: event, Want: `3`},
		{Source: `%m.x`, Meta: `{"m":{"x":1}}`, Want: `1`},
		{Source: `%`, Meta: `{"m":1}`, Want: `{"m":1}`},
		{Source: `{"a": [1, 2]}.a[0]`, Want: `1`},
		{Source: `[1, [2]][1][0]`, Want: `2`},
		{Source: `parse_json!("{\"a\":5}").a`, Want: `5`},
		{Source: `v = {"a": {"b": 1}}; v.a.b`, Want: `1`},
		{Source: `.a.`, CompileError: "E203"},
		{Source: `.a .b`, CompileError: "E203"},
		{Source: `.a[x]`, CompileError: "E203"},
		{Source: `.(a|b)`, CompileError: "E203"},
		{Name: "write", Source: `.a.b = 1`, WantEvent: `{"a":{"b":1}}`},
		{Name: "write makes parents", Source: `.x.y[2].z = true`, WantEvent: `{"x":{"y":[null,null,{"z":true}]}}`},
		{Name: "write replaces what is in the way", Source: `.a.b = 1`, Event: `{"a":"text"}`, WantEvent: `{"a":{"b":1}}`},
		{Name: "write before the start", Source: `x = [1, 2, 3]; x[-5] = 9; x`, Want: `[9,null,1,2,3]`},
		{Name: "write from the end", Source: `x = [1, 2, 3]; x[-1] = 9; x`, Want: `[1,2,9]`},
		{Name: "write far beyond", Source: `.a[9999999] = 1`, RunError: "out of bounds"},
		{Name: "replace the event", Source: `. = {"b": 1}`, Event: event, WantEvent: `{"b":1}`},
		{Name: "metadata", Source: `%a = 1; %`, Want: `{"a":1}`},
	})
}

func TestOperators(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `9223372036854775807 + 1`, Want: `-9223372036854775808`},
		{Source: `1 + 1.5`, Want: `2.5`},
		{Source: `"a" + "b" + null`, Want: `"ab"`},
		{Source: `null + "b"`, Want: `"b"`},
		{Source: `3 * "ab"`, Want: `"ababab"`},
		{Source: `"ab" * -1`, Want: `""`},
		{Source: `2 * 2.5`, Want: `5.0`},
		{Source: `7 / 2`, Want: `3.5`},
		{Source: `4 / 2`, Want: `2.0`},
		{Source: `1 / 0`, CompileError: "E100"},
		{Source: `(1 / .a) ?? "zero"`, Event: `{"a":0}`, Want: `"zero"`},
		{Source: `x, err = 1 / .a; err`, Event: `{"a":0}`, Want: `"can't divide by zero"`},
		{Source: `x, err = .a + .b; err`, Event: `{"a":1,"b":"s"}`, Want: `"can't add type string to integer"`},
		{Source: `x, err = .a - .b; err`, Event: `{"a":true,"b":[1]}`, Want: `"can't subtract type [integer] from boolean"`},
		{Source: `x, err = .a > .b; err`, Event: `{"a":1,"b":"s"}`, Want: `"can't compare integer > string"`},
		{Source: `1 == 1.0`, Want: `true`},
		{Source: `[1] == [1.0]`, Want: `false`},
		{Source: `"a" == null`, Want: `false`},
		{Source: `.a == "x"`, Event: `{"a":"x"}`, Want: `true`},
		{Source: `"x" != .a`, Event: `{"a":"x"}`, Want: `false`},
		{Source: `1 < 1.5`, Want: `true`},
		{Source: `"a" < "b"`, Want: `true`},
		{Source: `t'2020-01-01T00:00:00Z' < t'2021-01-01T00:00:00Z'`, Want: `true`},
		{Source: `int!(.a) >= 3`, Event: `{"a":3}`, Want: `true`},
		{Source: `"a" < 1`, CompileError: "E100"},
		{Source: `null || "x"`, Want: `"x"`},
		{Source: `0 || "x"`, Want: `0`},
		{Source: `false && true`, Want: `false`},
		{Source: `true && null`, Want: `false`},
		{Source: `true && 5`, RunError: "can't apply an AND to types boolean and integer"},
		{Source: `.a && true`, CompileError: "E100"},
		{Source: `!true`, Want: `false`},
		{Source: `!!true`, Want: `true`},
		{Source: `!.a`, CompileError: "E660"},
		{Source: `{"a": {"x": 1}, "b": 1} | {"a": {"y": 1}}`, Want: `{"a":{"y":1},"b":1}`},
		{Source: `{"a": 1} | 5`, CompileError: "E652"},
		{Source: `"a" ?? "b"`, CompileError: "E651"},
		{Source: `to_int("x") ?? to_int("y") ?? 3`, Want: `3`},
		{Name: "?? catches an abort", Source: `{ if .x == null { abort }; to_int("x") } ?? 1`, Want: `1`},
		{Name: "the right side does not run", Source: `true || { .a = 1; true }; .`, Want: `{}`},
		{Name: "repeat is bounded", Source: `"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" * 9999999999`, RunError: "memory"},
	})
}

func TestAssignments(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Name: "value of an assignment", Source: `a = b = 3; [a, b]`, Want: `[3,3]`},
		{Name: "fallible", Source: `a = to_int(.x)`, CompileError: "E103"},
		{Name: "ok", Source: `a, err = to_int(.x); [a, err]`, Event: `{"x":"5"}`, Want: `[5,null]`},
		{Name: "err", Source: `a, err = to_int(.x); [a, err != null]`, Event: `{"x":"q"}`, Want: `[0,true]`},
		{
			Name: "value of a caught error", Source: `a, err = .x + 1`, Event: `{"x":true}`,
			Want: `"can't add type integer to boolean"`,
		},
		{Name: "nothing can fail", Source: `a, err = 1`, CompileError: "E104"},
		{
			Name: "abort is caught", Source: `a, err = { if .x == 1 { abort "why" }; to_int(.x) }; err`, Event: `{"x":1}`,
			Want: `"why"`,
		},
		{Name: "to nothing", Source: `_ = 1`, CompileError: "E640"},
		{Name: "to nothing twice", Source: `_, _ = to_int(.x)`, CompileError: "E640"},
		{Name: "error dropped", Source: `a, _ = to_int(.x); a`, Want: `0`},
		{Name: "only the error", Source: `_, err = to_int("x"); err == null`, Want: `false`},
		{Name: "to a literal", Source: `1 = 2`, CompileError: "E203"},
		{Name: "to a call", Source: `upcase("a") = 2`, CompileError: "E203"},
		{Name: "merge", Source: `. |= {"b": 2}; .`, Event: `{"a":1}`, Want: `{"a":1,"b":2}`},
		{Name: "merge into an unknown", Source: `.x |= {}`, CompileError: "E652"},
		{Name: "merge into a known", Source: `.x = {"a": 1}; .x |= {"b": 2}; .x`, Want: `{"a":1,"b":2}`},
		{Name: "merge of a fallible", Source: `. |= parse_json("1")`, CompileError: "E103"},
		{
			Name:   "merging what may fail",
			Source: `. = {"a": 1}; ., err |= object(.x); [., err == null]`,
			Want:   `[{"a":1},false]`,
		},
		{Name: "a field of no object", Source: `a = "x"; a.b = 1`, CompileError: "E642"},
		{Name: "an index of no array", Source: `a = {}; a[0] = 1`, CompileError: "E642"},
		{Name: "a field of a missing field", Source: `. = {}; .a[0].b = 1; .`, Want: `{"a":[{"b":1}]}`},
		{Name: "a field of a missing field of a variable", Source: `a = {}; a.b.c = 1`, CompileError: "E642"},
		{Name: "a field of an unknown", Source: `.a = .b; .a.c = 1; .a`, Event: `{"b":1}`, Want: `{"c":1}`},
		{Name: "a new variable by its field", Source: `a.b.c = 1; a`, Want: `{"b":{"c":1}}`},
		{
			Name:   "copies are apart",
			Source: `a = {"x": {"y": 1}}; b = a; b.x.y = 2; [a, b]`,
			Want:   `[{"x":{"y":1}},{"x":{"y":2}}]`,
		},
		{
			Name: "a copy of the event is apart", Source: `a = .; .x.y = 2; a.z = 3; [., a]`, Event: `{"x":{"y":1}}`,
			Want: `[{"x":{"y":2}},{"x":{"y":1},"z":3}]`,
		},
		{
			Name: "parts are apart", Source: `.b = .a; .b.c = 2; .a.d = 3; .`, Event: `{"a":{"c":1}}`,
			Want: `{"a":{"c":1,"d":3},"b":{"c":2}}`,
		},
		{
			Name:   "literals are made anew",
			Source: `a = []; for_each([1, 2]) -> |_i, v| { x = {"n": []}; x.n[0] = v; a = push(a, x) }; a`,
			Want:   `[{"n":[1]},{"n":[2]}]`,
		},
		{
			Name:   "the value of an assignment is apart",
			Source: `b = (.a = {"x": 1}); b.x = 2; [.a, b]`,
			Want:   `[{"x":1},{"x":2}]`,
		},
	})
}

func TestControlFlow(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `if true { 1 } else { 2 }`, Want: `1`},
		{Source: `if false { 1 }`, Want: `null`},
		{
			Name: "else if", Source: "if .a == 1 { \"one\" }\n# comment\nelse if .a == 2 {\n\"two\" } else { \"many\" }",
			Event: `{"a":2}`, Want: `"two"`,
		},
		{Name: "predicate of several", Source: `if (x = 1; x == 1) { x } else { 0 }`, Want: `1`},
		{Name: "predicate over lines", Source: "if (\n  true &&\n  .a == 1\n) { \"y\" }", Event: `{"a":1}`, Want: `"y"`},
		{
			Name: "predicate that continues after a group", Source: `if (1 == 2) || .a == 1 { "y" }`, Event: `{"a":1}`,
			Want: `"y"`,
		},
		{Name: "no boolean", Source: `if "x" { 1 }`, CompileError: "E102"},
		{Name: "unknown", Source: `if .x { 1 }`, CompileError: "E102"},
		{Name: "fallible predicate", Source: `if contains(.x, "a") { 1 }`, CompileError: "E110"},
		{Name: "scope of a block", Source: `{ x = 1; x }; x`, CompileError: "E701"},
		{Name: "outer variables stay changed", Source: `x = 1; if true { x = 2 }; x`, Want: `2`},
		{Name: "abort", Source: `abort`, RunError: "aborted"},
		{Name: "abort with a message", Source: `.a = 1; abort "no " + "good"`, RunError: "no good"},
		{Name: "abort with no string", Source: `abort 1`, CompileError: "E113"},
		{Name: "abort with a fallible", Source: `abort to_string(.x)`, CompileError: "E631"},
		{Name: "return", Source: `if .a == 1 { return "early" }; "late"`, Event: `{"a":1}`, Want: `"early"`},
		{Name: "return null", Source: `return null`, Want: `null`},
		{
			Name:   "return in a closure",
			Source: `map_values([1, 2]) -> |v| { if v == 1 { return "one" }; "more" }`,
			Want:   `["one","more"]`,
		},
		{Name: "failure", Source: `to_int!("x")`, RunError: `function call error for "to_int" at line 1, column 1: `},
		{
			Name:   "nested failure",
			Source: `upcase(to_string!(to_int!("x")))`,
			RunError: `function call error for "upcase" at line 1, column 1: function call error for "to_string" at line 1, ` +
				`column 8: function call error for "to_int" at line 1, column 19: `,
		},
	})
}

func TestKinds(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Name: "branches unite", Source: `x = if .a == 1 { "s" } else { null }; x + "t"`, Event: `{"a":2}`, Want: `"t"`},
		{Name: "branches that do not fit", Source: `x = if .a == 1 { "s" } else { 1 }; upcase(x)`, CompileError: "E110"},
		{Name: "assignments refine", Source: `.a = "x"; upcase(.a)`, Want: `"X"`},
		{Name: "in all branches", Source: `if .q == 1 { .a = "x" } else { .a = "y" }; upcase(.a)`, Want: `"Y"`},
		{Name: "not in all branches", Source: `if .q == 1 { .a = "x" }; upcase(.a)`, CompileError: "E110"},
		{Name: "removal is forgotten", Source: `.a = "x"; del(.a); upcase(.a)`, CompileError: "E110"},
		{Name: "elements of literals", Source: `upcase(["a"][0]) + upcase({"k": "b"}.k)`, Want: `"AB"`},
		{Name: "missing elements", Source: `upcase(["a"][1])`, CompileError: "E110"},
		{Name: "wrong for sure", Source: `upcase(1)`, CompileError: "E110"},
		{Name: "maybe wrong", Source: `upcase(.a)`, CompileError: "E110"},
		{Name: "maybe wrong, assigned", Source: `.b = upcase(.a)`, CompileError: "E103"},
		{
			Name: "maybe wrong, ending the run", Source: `upcase!(.a)`, Event: `{"a":1}`,
			RunError: "expected string, got integer",
		},
		{Name: "fallible argument", Source: `upcase(to_string(.a))`, CompileError: "E630"},
		{Name: "constants through variables", Source: `n = 2; 10 / n`, Want: `5.0`},
		{Name: "constants of one branch only", Source: `n = 2; if .a == 1 { n = 0 }; 10 / n`, CompileError: "E100"},
		{Name: "short circuit", Source: `x = false && 1 / 0; x`, Want: `false`},
		{Name: "undefined function", Source: `upcas("a")`, CompileError: `did you mean "upcase"?`},
		{Name: "undefined variable", Source: `known = 1; knwon`, CompileError: `did you mean "known"?`},
		{Name: "too many arguments", Source: `upcase("a", "b")`, CompileError: "E106"},
		{Name: "argument missing", Source: `upcase()`, CompileError: "E107"},
		{Name: "keyword unknown", Source: `upcase(foo: "b")`, CompileError: "E108"},
		{Name: "closure not taken", Source: `upcase("a") -> |x| { x }`, CompileError: "E109"},
		{Name: "closure missing", Source: `map_values({})`, CompileError: "E111"},
		{Name: "closure of other arity", Source: `map_values({}) -> |a, b| { [a, b] }`, CompileError: "E120"},
		{Name: "closure on an unknown", Source: `map_values(.a) -> |v| { v }`, CompileError: "E121"},
		{Name: "closure fails", Source: `map_values({"a": 1}) -> |v| { v / 0 }`, CompileError: "E100"},
		{Name: "closure shadows", Source: `v = 1; x = map_values([5]) -> |v| { v + 1 }; [v, x]`, Want: `[1,[6]]`},
		{Name: "closure changes outer variables", Source: `n = 0; map_values([1, 2]) -> |v| { n = n + v; v }; n`, Want: `3`},
		{Name: "no path for del", Source: `del("a")`, CompileError: "E400"},
		{Name: "needless !", Source: `upcase!("a")`, Want: `"A"`, Warning: "E620"},
		{Name: "unused literal", Source: `"foo"; 1`, Warning: "unused literal"},
		{Name: "unused variable", Source: `x = 1; 2`, Warning: "unused variable `x`"},
		{Name: "unused result", Source: `upcase("x"); 2`, Warning: "unused result"},
	})
}

// The second run of a closure may get values of other kinds than the first.
func TestKindsChangeInClosures(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{
			Source:   `x = 1; y = null; for_each([1, 2]) -> |_i, _v| { y = x + 1; x = "s" }; y`,
			RunError: "can't add type integer to string",
		},
		{
			Source:   `x = "a"; y = null; for_each([1, 2]) -> |_i, _v| { y = upcase(x); x = 5 }; y`,
			RunError: "expected string, got integer",
		},
	})
}

func TestBudget(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{
			Name: "time",
			Source: `a = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
				n = 0
				for_each(a) -> |_i, _v| { for_each(a) -> |_i, _v| { for_each(a) -> |_i, _v| { for_each(a) -> |_i, _v| {
				for_each(a) -> |_i, _v| { for_each(a) -> |_i, _v| { for_each(a) -> |_i, _v| { n = n + 1 } } } } } } }
				n`,
			RunError: "budget of steps",
		},
		{
			Name: "building an array of thousands",
			Source: `a = split("x" * 3000, "")
				b = []
				for_each(a) -> |_i, v| { b = push(b, v) }
				length(b)`,
			Want: "3002",
		},
		{
			Name: "memory",
			Source: `s = "0123456789abcdef"
				for_each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]) -> |_i, _v| { for_each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]) -> |_i, _v| ` +
				`{ s = s + s } }
				s`,
			RunError: "budget of bytes",
		},
		{
			Name: "a value that holds itself many times",
			Source: `x = [1]
				for_each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]) -> |_i, _v| { for_each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]) -> |_i, _v| ` +
				`{ x = [x, x] } }
				x`,
			RunError: "too",
		},
		{
			Name:         "no handling of exhaustion",
			Source:       `x = ("aaaaaaaaaaaaaaaaaaaaaaaa" * 100000000) ?? "fine"; x`,
			CompileError: "E651",
		},
		{
			Name:     "exhaustion passes ??",
			Source:   `{ y = "aaaaaaaaaaaaaaaaaaaaaaaa" * 100000000; to_int(y) } ?? "fine"`,
			RunError: "budget of bytes",
		},
	})
}

// Programs whose values share parts without end are compiled and refused quickly.
func TestSharedForever(t *testing.T) {
	lines := func(line string) string { return strings.Repeat(line+"\n", 60) }
	vrltest.Run(t, []vrltest.Case{
		{Name: "constants", Source: "x = 1\n" + lines("x = [x, x]") + "x", RunError: "too large"},
		{Name: "objects", Source: "x = .a\n" + lines(`x = {"a": x, "b": x}`) + ".x = x; true", RunError: "too large"},
		{
			Name:     "branches",
			Source:   "x = .a\n" + lines(`if .q == 1 { x = [x, x] } else { x = {"a": x, "b": [x, x]} }`) + "x",
			RunError: "too large",
		},
		{
			Name:     "compared",
			Source:   "x = .a\n" + lines("x = [x, x]") + "y = x\n" + lines("y = [y, y]") + "x == y",
			RunError: "budget",
		},
		{Name: "given to a function", Source: "x = .a\n" + lines("x = [x, x]") + "length(x)", RunError: "budget"},
		{
			Name:   "shown",
			Source: "x = .a\n" + lines("x = [x, x]") + `y, err = .a + x; err`,
			Want:   `"can't add type array to null"`,
		},
		{Name: "nested deep", Source: `a = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
			for_each(a) -> |_i, _v| { for_each(a) -> |_i, _v| { for_each(a) -> |_i, _v| { for_each(a) -> |_i, _v| ` +
			`{ .x = [.x] } } } }`, RunError: "too large"},
		{Name: "nested deep and written", Source: `a = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]; x = .a
			for_each(a) -> |_i, _v| { for_each(a) -> |_i, _v| { for_each(a) -> |_i, _v| { for_each(a) -> |_i, _v| { x = {"k": ` +
			`x} } } } }
			encode_json(x)`, RunError: "budget"},
		{Name: "left by a failed run", Source: ".x = .a\n" + lines(".x = [.x, .x]") + `abort`, RunError: "too large"},
	})
}
