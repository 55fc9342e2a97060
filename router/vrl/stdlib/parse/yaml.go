package parse

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"cordwood/router/vrl/ascii"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// maxYAML limits the length of YAML texts, because the parser needs many times as much memory.
const maxYAML = 1 << 20

// yamlNodeCharge is the memory charged for each node before parsing. A node takes about 250 bytes, and one byte of
// the budget stands for up to 6.
const yamlNodeCharge = 48

// maxYAMLNodes returns an upper bound on the nodes of a text: each node except the first follows a character that
// separates nodes.
func maxYAMLNodes(s string) int {
	n := 1
	for i := range len(s) {
		switch s[i] {
		case ',', ':', '-', '?', '[', '{', '\n', '\r':
			n++
		}
	}
	return n
}

var errBudget = errors.New("the budget is used up")

// yamlReader converts nodes to values. Following an alias has a cost, so that a few aliases cannot produce an
// endless value.
type yamlReader struct {
	f     *fn.Frame
	depth int
}

func (r *yamlReader) value(n *yaml.Node) (value.Value, error) {
	if r.depth++; r.depth > value.MaxJSONDepth {
		return value.Value{}, fmt.Errorf("containers are nested more than %d deep at line %d", value.MaxJSONDepth, n.Line)
	}
	defer func() { r.depth-- }()
	if !r.f.Spend(1) || !r.f.Reserve(32+len(n.Value)) {
		return value.Value{}, errBudget
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return r.value(n.Content[0])
	case yaml.AliasNode:
		return r.value(n.Alias)
	case yaml.SequenceNode:
		list := make([]value.Value, 0, len(n.Content))
		for _, c := range n.Content {
			v, err := r.value(c)
			if err != nil {
				return v, err
			}
			list = append(list, v)
		}
		return value.NewArray(list), nil
	case yaml.MappingNode:
		return r.mapping(n)
	}
	return yamlScalar(n), nil
}

func (r *yamlReader) mapping(n *yaml.Node) (value.Value, error) {
	o := newFields(len(n.Content) / 2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, err := r.value(n.Content[i])
		if err != nil {
			return key, err
		}
		v, err := r.value(n.Content[i+1])
		if err != nil {
			return v, err
		}
		switch key.Kind() {
		case value.Array, value.Object:
			return v, fmt.Errorf("a key is not a scalar at line %d", n.Content[i].Line)
		case value.String:
			o.add(key.Text(), v)
		default:
			o.add(n.Content[i].Value, v)
		}
	}
	return o.value(), nil
}

// yamlScalar returns the value of a scalar according to the core schema of YAML 1.2.
func yamlScalar(n *yaml.Node) value.Value {
	s := n.Value
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 ||
		n.Style&yaml.TaggedStyle != 0 && n.Tag == "!!str" {
		return value.NewString(s)
	}
	switch s {
	case "", "~", "null", "Null", "NULL":
		return value.Value{}
	case "true", "True", "TRUE":
		return value.NewBool(true)
	case "false", "False", "FALSE":
		return value.NewBool(false)
	case ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF":
		return value.NewFloat(math.Inf(1))
	case "-.inf", "-.Inf", "-.INF":
		return value.NewFloat(math.Inf(-1))
	}
	if v, ok := yamlNumber(s); ok {
		return v
	}
	return value.NewString(s)
}

// yamlNumber parses s as a number.
func yamlNumber(s string) (value.Value, bool) {
	t := strings.TrimLeft(s[:1], "+-") + s[1:]
	if t == "" || !ascii.IsDigit(t[0]) && t[0] != '.' || len(s) > 400 {
		return value.Value{}, false
	}
	for prefix, base := range map[string]int{"0o": 8, "0x": 16, "0b": 2} {
		if rest, ok := strings.CutPrefix(t, prefix); ok {
			if s[0] == '-' {
				rest = "-" + rest
			}
			i, err := strconv.ParseInt(rest, base, 64)
			return value.NewInt(i), err == nil
		}
	}
	if len(t) > 1 && t[0] == '0' && ascii.Digits(t) == len(t) {
		return value.Value{}, false // leading zeros mean a text such as a postal code
	}
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return value.NewInt(i), true
	}
	for i := range len(t) {
		if !ascii.IsDigit(t[i]) && strings.IndexByte(".eE+-", t[i]) < 0 {
			return value.Value{}, false
		}
	}
	x, err := strconv.ParseFloat(s, 64)
	return value.NewFloat(x), err == nil
}

// readYAML parses a text. Panics of the parser on malformed texts become errors.
func readYAML(f *fn.Frame, s string) (v value.Value, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the text is not YAML: %v", p)
		}
	}()
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(s), &n); err != nil {
		return v, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if n.Kind == 0 {
		return v, nil
	}
	r := yamlReader{f: f}
	return r.value(&n)
}

var parseYAML = &fn.Function{
	Name:  "parse_yaml",
	Group: fn.Parse,
	Doc: "Parses a YAML document by the core schema of YAML 1.2, which includes JSON. " +
		"Keys that are not strings become " +
		"strings.",
	Params:   []fn.Param{fn.ValueParam("The document.")},
	Returns:  kind.JSON,
	Fallible: true,
	Errors: []string{
		"the text is not YAML", "containers are nested more than 128 deep, or the text is longer than 1 MiB",
	},
	Examples: []fn.Example{
		{Title: "a document", Source: `parse_yaml!("a: 1\nb: [x, true]\n")`, Result: `{"a":1,"b":["x",true]}`},
		{Title: "not YAML", Source: `parse_yaml!("[1")`, Fails: `unable to parse yaml`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		s := v.Text()
		if len(s) > maxYAML {
			return f.Fail("unable to parse yaml: the text is longer than 1 MiB")
		}
		if !f.Reserve(4*len(s)+yamlNodeCharge*maxYAMLNodes(s)) || !f.Spend(len(s)/2) {
			return value.Value{}, false
		}
		out, err := readYAML(f, s)
		switch {
		case errors.Is(err, errBudget):
			return out, false
		case err != nil:
			return f.FailErr("unable to parse yaml: ", err)
		}
		return out, true
	}},
}
