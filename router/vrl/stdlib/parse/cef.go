package parse

import (
	"strings"

	"cordwood/router/vrl/ascii"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

var cefHeader = [...]string{
	"cefVersion", "deviceVendor", "deviceProduct", "deviceVersion", "deviceEventClassId", "name", "severity",
}

// parseCEFLine parses a message. The second result describes a fault.
func parseCEFLine(f *fn.Frame, s string, translate, strict bool) (value.Value, string) {
	i := strings.Index(s, "CEF:")
	if i < 0 {
		return value.Value{}, "the header does not start with CEF:"
	}
	s = s[i+4:]
	list := make([]value.Field, 0, 16)
	for _, key := range cefHeader {
		end := ascii.Unescaped(s, '|')
		if end < 0 {
			return value.Value{}, "the header ends before " + key + ", which a | must follow"
		}
		list = append(list, value.Field{Key: key, Value: value.NewString(unescapeCEF(f, s[:end], "|"))})
		s = s[end+1:]
	}
	s = strings.TrimSpace(s)
	header := len(list)
	for s != "" {
		eq := ascii.Unescaped(s, '=')
		if eq <= 0 || !cefKey(s[:eq]) {
			return value.Value{}, "Could not parse whole line successfully"
		}
		key := s[:eq]
		text, rest, ok := cefValue(s[eq+1:], strict)
		if !ok {
			return value.Value{}, "Could not parse whole line successfully"
		}
		list = append(list, value.Field{Key: key, Value: value.NewString(unescapeCEF(f, text, "="))})
		s = rest
	}
	if translate {
		custom, problem := translateCEF(list[header:])
		if problem != "" {
			return value.Value{}, problem
		}
		list = append(list[:header], custom...)
	}
	return gather(list, func(_, b value.Value) value.Value { return b }), ""
}

func cefKey(s string) bool {
	for i := range len(s) {
		if !ascii.IsWord(s[i]) && s[i] != '.' && s[i] != '-' && s[i] != '[' && s[i] != ']' && s[i] < 0x80 {
			return false
		}
	}
	return s != ""
}

// cefValue parses a value at the start of s: the text up to the space before the next key. If strict is set, a
// value must not contain an unescaped equals sign.
func cefValue(s string, strict bool) (text, rest string, ok bool) {
	from := 0
	for {
		n := ascii.Unescaped(s[from:], '=')
		if n < 0 {
			return strings.TrimRight(s, " "), "", true
		}
		// Keys are short. Searching further back would make long values slow.
		if i := strings.LastIndexByte(s[from:from+n], ' '); i >= 0 && cefKey(s[from+i+1:from+n]) {
			return strings.TrimRight(s[:from+i], " "), s[from+i+1:], true
		}
		if strict {
			return "", s, false
		}
		from += n + 1
	}
}

// unescapeCEF removes the backslashes before backslashes, sep and the letters for line ends.
func unescapeCEF(f *fn.Frame, s, sep string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	b := f.Bytes(len(s))[:0]
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			switch c := s[i+1]; {
			case c == '\\' || c == sep[0]:
				b = append(b, c)
				i++
				continue
			case sep == "=" && c == 'n':
				b = append(b, '\n')
				i++
				continue
			case sep == "=" && c == 'r':
				b = append(b, '\r')
				i++
				continue
			}
		}
		b = append(b, s[i])
	}
	return fn.Unsafe(b)
}

// cefCustom reports whether fields with the name have a label.
func cefCustom(name string) bool {
	for _, p := range [...]string{"c6a", "cfp", "cn", "cs", "deviceCustomDate", "flexDate", "flexNumber", "flexString"} {
		if n, ok := strings.CutPrefix(name, p); ok && len(n) == 1 && ascii.IsDigit(n[0]) {
			return true
		}
	}
	return false
}

// translateCEF names the custom fields by their labels.
func translateCEF(list []value.Field) (out []value.Field, problem string) {
	type custom struct {
		label, value value.Value
		labeled, set bool
	}
	customs := map[string]*custom{}
	order := []string{}
	for _, x := range list {
		name, isLabel := strings.CutSuffix(x.Key, "Label")
		if !cefCustom(name) {
			out = append(out, x)
			continue
		}
		c := customs[name]
		if c == nil {
			c = &custom{}
			customs[name] = c
			order = append(order, name)
		}
		switch {
		case isLabel && c.labeled:
			return nil, "Custom field with duplicate label"
		case isLabel:
			c.label, c.labeled = x.Value, true
		case c.set:
			return nil, "Custom field with duplicate value"
		default:
			c.value, c.set = x.Value, true
		}
	}
	for _, name := range order {
		c := customs[name]
		if !c.labeled || !c.set {
			return nil, "Custom field with missing label or value"
		}
		out = append(out, value.Field{Key: c.label.Str(), Value: c.value})
	}
	return out, ""
}

var parseCEF = &fn.Function{
	Name:  "parse_cef",
	Group: fn.Parse,
	Doc: "Parses a message in ArcSight's Common Event Format: the seven parts of its header, and the keys and values of " +
		"its extension, all strings. Text before the header is ignored.",
	Params: []fn.Param{
		fn.ValueParam("The message."),
		{
			Name: "translate_custom_fields",
			Doc:  "Whether custom fields such as `cs1` are named by their labels such as `cs1Label`.", Kind: kind.Boolean,
			Optional: true, Default: value.NewBool(false),
		},
		{
			Name: "strict", Doc: "Whether an equals sign without a backslash in a value is an error.", Kind: kind.Boolean,
			Optional: true, Default: value.NewBool(true),
		},
	},
	Returns: kind.ObjectOf(
		kind.Field{Name: "cefVersion", Kind: kind.String}, kind.Field{Name: "deviceVendor", Kind: kind.String},
		kind.Field{Name: "deviceProduct", Kind: kind.String}, kind.Field{Name: "deviceVersion", Kind: kind.String},
		kind.Field{Name: "deviceEventClassId", Kind: kind.String}, kind.Field{Name: "name", Kind: kind.String},
		kind.Field{Name: "severity", Kind: kind.String},
	).WithOthers(kind.String),
	Fallible: true,
	Errors: []string{
		"the header is not complete", "the extension does not consist of keys and values",
		"a custom field has no label, or several",
	},
	Examples: []fn.Example{
		{
			Title: "a message", Source: `parse_cef!("CEF:0|Acme|wall|2.2|1|denied|5|src=10.0.0.1 msg=port closed")`,
			Result: `{"cefVersion":"0","deviceEventClassId":"1","deviceProduct":"wall","deviceVendor":"Acme",` +
				`"deviceVersion":"2.2","msg":"port closed","name":"denied","severity":"5","src":"10.0.0.1"}`,
		},
		{
			Title:  "labels",
			Source: `parse_cef!("CEF:0|Acme|wall|2.2|1|denied|5|cs1=7 cs1Label=rule", translate_custom_fields: true).rule`,
			Result: `"7"`,
		},
		{Title: "an incomplete header", Source: `parse_cef!("CEF:0|Acme")`, Fails: `header`},
	},
	Impl: fn.Impl{F3: func(f *fn.Frame, v, translate, strict value.Value) (value.Value, bool) {
		s := v.Text()
		if !f.Reserve(512 + 2*len(s)) {
			return value.Value{}, false
		}
		o, problem := parseCEFLine(f, s, translate.Bool(), strict.Bool())
		if problem != "" {
			return f.Fail(problem)
		}
		return o, true
	}},
}
