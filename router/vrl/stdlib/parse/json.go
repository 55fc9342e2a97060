package parse

import (
	"strings"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

var parseJSON = &fn.Function{
	Name:  "parse_json",
	Group: fn.Parse,
	Doc: "Parses the string as JSON. Integers that do not fit 64 bits become floats. Containers may be " +
		"nested 128 deep.",
	Params: []fn.Param{
		{Name: "value", Doc: "The JSON text.", Kind: kind.String},
		{
			Name: "max_depth", Doc: "How many levels of containers are parsed, from 1 to 128. Deeper containers stay text.",
			Kind: kind.Integer, Optional: true,
		},
		{
			Name: "lossy", Doc: "Whether ill-formed UTF-8 becomes U+FFFD. Otherwise it is an error.", Kind: kind.Boolean,
			Optional: true, Default: value.NewBool(true),
		},
	},
	Returns:  kind.JSON,
	Fallible: true,
	Errors:   []string{"the string is not JSON", "max_depth is not from 1 to 128"},
	Examples: []fn.Example{
		{Title: "an object", Source: `parse_json!(s'{"a": [1, 2.5, null]}')`, Result: `{"a":[1,2.5,null]}`},
		{
			Title:  "to a depth",
			Source: `parse_json!(s'{"a": {"b": {"c": 1}}}', max_depth: 1)`,
			Result: `{"a":"{\"b\": {\"c\": 1}}"}`,
		},
		{Title: "not JSON", Source: `parse_json!("{")`, Fails: `unable to parse json`},
	},
	Impl: fn.Impl{F3: func(f *fn.Frame, text, depth, lossy value.Value) (value.Value, bool) {
		var o value.JSONOptions
		if depth.IsDefined() {
			if d := depth.Int(); d < 1 || d > value.MaxJSONDepth {
				return f.Failf("max_depth value should be greater than 0 and less than 128, got %d", d)
			}
			o.MaxDepth = int(depth.Int())
		}
		s := strings.TrimPrefix(text.Str(), "\ufeff")
		if lossy.Bool() {
			s = value.Lossy(s)
		} else {
			o.Strict = true
		}
		// A value takes more memory than its text.
		if !f.Reserve(2 * len(s)) {
			return value.Value{}, false
		}
		o.Rounded, o.Vanished = f.Rounded(), f.Vanished()
		v, err := value.ParseJSON(s, o)
		if err != nil {
			if depth.IsDefined() {
				return f.FailErr("unable to read json: ", err)
			}
			return f.FailErr("unable to parse json: ", err)
		}
		return v, true
	}},
}
