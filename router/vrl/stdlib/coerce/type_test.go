package coerce_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/vrltest"
)

func TestExpect(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Name: "known to be right", Source: `string("a")`, Want: `"a"`},
		{Name: "must be handled", Source: `string(.a)`, CompileError: "E100"},
		{Name: "narrows", Source: `a = string!(.a); upcase(a)`, Event: `{"a":"x"}`, Want: `"X"`},
		{Name: "keeps fields", Source: `.a = {"b": "x"}; o = object(.a); upcase(o.b)`, Want: `"X"`},
		{Name: "an integer is not a float", Source: `float!(.a)`, Event: `{"a":1}`, RunError: "expected float, got integer"},
		{Name: "nor the other way", Source: `int!(.a)`, Event: `{"a":1.0}`, RunError: "expected integer, got float"},
		{Source: `bool!(.a)`, Event: `{"a":"true"}`, RunError: "expected boolean, got string"},
		{Source: `array!(.a)`, RunError: "expected array, got null"},
		{Source: `timestamp(t'2020-01-01T00:00:00Z')`, Want: `"2020-01-01T00:00:00Z"`},
		{Source: `object(.a) ?? {}`, Event: `{"a":[1]}`, Want: `{}`},
	})
}

func TestIs(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{
			Source: `[is_array(.a), is_boolean(.a), is_float(.a), is_integer(.a), is_null(.a), is_object(.a), is_string(.a)]`,
			Event:  `{"a":1}`,
			Want:   `[false,false,false,true,false,false,false]`,
		},
		{Source: `[is_null(.none), is_null(null), is_null(false)]`, Want: `[true,true,false]`},
		{Source: `[is_regex(r'x'), is_timestamp(t'2020-01-01T00:00:00Z')]`, Want: `[true,true]`},
	})
}

func TestIsEmpty(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{
			Source: `[is_empty(""), is_empty({}), is_empty([]), is_empty([null]), is_empty("\u{200b}")]`,
			Want:   `[true,true,true,false,false]`,
		},
		{Source: `is_empty(5)`, CompileError: "E110"},
		{Source: `is_empty!(.a)`, Event: `{"a":5}`, RunError: "expected string, array or object, got integer"},
	})
}

func TestIsJSON(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `is_json("")`, Want: `false`},
		{Source: `is_json(" [1, 2.5e3, null] ")`, Want: `true`},
		{Source: `is_json("[1,]")`, Want: `false`},
		{Source: `is_json("01")`, Want: `false`},
		{Source: `is_json("-1", variant: "number")`, Want: `true`},
		{Source: `is_json("false", variant: "bool")`, Want: `true`},
		{Source: `is_json("nul", variant: "null")`, Want: `false`},
		{Source: `is_json(" \"x\"", variant: "string")`, Want: `true`},
		{Source: `is_json("1", variant: "integer")`, CompileError: "E401"},
	})
}

func TestIsNullish(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{
			Source: `[is_nullish("\u{3000}\u{85}\t"), is_nullish("--"), is_nullish(" - "), is_nullish(false), is_nullish([]), ` +
				`is_nullish(.none)]`,
			Want: `[true,false,false,false,false,true]`,
		},
	})
}

func TestTagTypes(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{
			Source: `tag_types_externally([1.0, t'2020-01-01T00:00:00Z', r'a', true, {}])`,
			Want:   `[{"float":1.0},{"timestamp":"2020-01-01T00:00:00Z"},{"regex":"a"},{"boolean":true},{}]`,
		},
		{Source: `tag_types_externally(.none)`, Want: `null`},
		{
			Name: "the argument stays", Source: `_x = tag_types_externally(.); .`, Event: `{"a":{"b":1}}`,
			Want: `{"a":{"b":1}}`,
		},
	})
}

func TestTypeDef(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `type_def(.a)`, Want: `{"any":true}`},
		{Source: `type_def({"a": [1, "x"]})`, Want: `{"object":{"a":{"array":{"0":{"integer":true},"1":{"bytes":true}}}}}`},
		{Source: `type_def(split("a", "b"))`, Want: `{"array":{},"array_unknown_infinite":{"bytes":true,"undefined":true}}`},
		{Name: "is not evaluated", Source: `type_def(int!(.a))`, Want: `{"integer":true}`},
	})
}

func TestValidateJSONSchema(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return strconv.Quote(path)
	}
	mail := file("mail.json", `{"type":"object","properties":{"to":{"type":"string","format":"email"},"n":{"minimum":1}}}`)
	odd := file("odd.json", `{"properties":{"to":{"format":"pigeon"}}}`)
	refers := file("refers.json", `{"$ref":"file:///etc/passwd"}`)
	broken := file("broken.json", `{"type":`)
	vrltest.Run(t, []vrltest.Case{
		{
			Name: "conforms", Source: `validate_json_schema!(s'{"to":"a@b.c","n":1}', ` + mail + `)`, Want: `true`,
			Grants: fn.Files,
		},
		{
			Name: "does not", Source: `validate_json_schema!(s'{"to":"nobody"}', ` + mail + `)`, RunError: "at /to",
			Grants: fn.Files,
		},
		{Name: "nor here", Source: `validate_json_schema!(s'{"n":0}', ` + mail + `)`, RunError: "at /n", Grants: fn.Files},
		{Name: "no JSON", Source: `validate_json_schema!("{", ` + mail + `)`, RunError: "Invalid JSON", Grants: fn.Files},
		{Name: "nothing", Source: `validate_json_schema!("", ` + mail + `)`, RunError: "Empty JSON value", Grants: fn.Files},
		{
			Name: "unknown format", Source: `validate_json_schema!("{}", ` + odd + `)`,
			RunError: "Unknown format: 'pigeon'", Grants: fn.Files,
		},
		{
			Name:   "unknown format let pass",
			Source: `validate_json_schema!("{}", ` + odd + `, ignore_unknown_formats: true)`, Want: `true`,
			Grants: fn.Files,
		},
		{Name: "other files", Source: `validate_json_schema!("{}", ` + refers + `)`, CompileError: "E403", Grants: fn.Files},
		{
			Name: "broken schema", Source: `validate_json_schema!("{}", ` + broken + `)`, CompileError: "E403",
			Grants: fn.Files,
		},
		{Name: "no file", Source: `validate_json_schema!("{}", "/nowhere/x.json")`, CompileError: "E403", Grants: fn.Files},
		{Name: "not granted", Source: `validate_json_schema!("{}", "/nowhere/x.json")`, RunError: "files"},
		{Name: "not constant", Source: `validate_json_schema!("{}", string!(.f))`, CompileError: "E402", Grants: fn.Files},
	})
}
