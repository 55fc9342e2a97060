package codec

import (
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"cordwood/router/vrl/ascii"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// This file has encoders of whole values: JSON, CSV and key-value pairs.

// scratch has buffers for building text of unknown length.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

// maxScratch is the size at which a buffer is no longer reused, in bytes.
const maxScratch = 1 << 20

// build returns the text that write appends, as a string of the run.
func build(f *fn.Frame, write func(b []byte) []byte) (value.Value, bool) {
	p := scratch.Get().(*[]byte)
	b := write((*p)[:0])
	v, ok := f.Keep(b)
	if cap(b) <= maxScratch {
		*p = b
		scratch.Put(p)
	}
	return v, ok
}

// jsonSize estimates the length of v in JSON. If it is more than limit, the result is only known to be more than
// limit, because a value may contain one long string many times. Each level is indented by indent bytes.
func jsonSize(v value.Value, indent, depth, limit int) int {
	n := 8
	switch v.Kind() {
	case value.String:
		n += v.Len()
	case value.Regex:
		n += len(v.Regex().String())
	case value.Array:
		for _, x := range v.Array().Peek() {
			if n += indent * depth; n > limit {
				break
			}
			n += jsonSize(x, indent, depth+1, limit-n)
		}
	case value.Object:
		for _, x := range v.Object().Peek() {
			if n += indent*depth + len(x.Key); n > limit {
				break
			}
			n += jsonSize(x.Value, indent, depth+1, limit-n)
		}
	}
	return n
}

// fits makes the run fail if a text of n bytes exceeds its budget.
func fits(f *fn.Frame, n int) bool { return n <= f.Left().Bytes || f.Reserve(n) }

var encodeJSON = &fn.Function{
	Name:  "encode_json",
	Group: fn.Codec,
	Doc: "Encodes the value as JSON with sorted keys. Timestamps become RFC 3339 texts, regular " +
		"expressions their patterns, and infinite numbers null.",
	Params: []fn.Param{
		{Name: "value", Doc: "The value to encode.", Kind: kind.Any, Borrow: true},
		{
			Name: "pretty", Doc: "Whether each element is on a separate line, indented by two spaces for each level.",
			Kind: kind.Boolean, Optional: true, Default: value.NewBool(false),
		},
	},
	Returns: kind.String,
	Deep:    true,
	Examples: []fn.Example{
		{Title: "compact", Source: `encode_json({"b": [1, 2.0], "a": null})`, Result: `"{\"a\":null,\"b\":[1,2.0]}"`},
		{Title: "pretty", Source: `encode_json([1, {}], pretty: true)`, Result: `"[\n  1,\n  {}\n]"`},
	},
	Impl: fn.Impl{F2: func(f *fn.Frame, v, pretty value.Value) (value.Value, bool) {
		indent := 0
		if pretty.Bool() {
			indent = 2
		}
		if !fits(f, jsonSize(v, indent, 1, f.Left().Bytes)) {
			return value.Value{}, false
		}
		if pretty.Bool() {
			return build(f, func(b []byte) []byte { return value.AppendPrettyJSON(b, v) })
		}
		return build(f, func(b []byte) []byte { return value.AppendJSON(b, v) })
	}},
}

var encodeCSV = &fn.Function{
	Name:  "encode_csv",
	Group: fn.Codec,
	Doc: "Encodes an array of strings as a CSV record without a line end. Fields that contain a quote, a line end or " +
		"the delimiter are quoted.",
	Params: []fn.Param{
		{Name: "value", Doc: "The fields, an array.", Kind: kind.Any, Borrow: true},
		{
			Name: "delimiter", Doc: "The separator of fields, one byte.", Kind: kind.String, Optional: true,
			Default: value.NewString(","),
		},
	},
	Returns:  kind.String,
	Fallible: true,
	Errors: []string{
		"the value is not an array", "the delimiter is not one byte", "an element of the array is not a string",
	},
	Examples: []fn.Example{
		{Title: "quotes", Source: `encode_csv!(["a", "b \"c\"", "d, e"])`, Result: `"a,\"b \"\"c\"\"\",\"d, e\""`},
		{Title: "a delimiter", Source: `encode_csv!(["a", "b,c"], delimiter: ";")`, Result: `"a;b,c"`},
		{Title: "a number", Source: `encode_csv!(["a", 1])`, Fails: `expected string, got integer`},
	},
	Impl: fn.Impl{F2: func(f *fn.Frame, v, delimiter value.Value) (value.Value, bool) {
		if v.Kind() != value.Array {
			return f.FailKind("array", v)
		}
		if delimiter.Len() != 1 {
			return f.Fail("delimiter must be a single character")
		}
		list, size := v.Array().Peek(), 0
		for _, x := range list {
			if !x.IsString() {
				return f.FailKind("string", x)
			}
			size += x.Len() + 1
		}
		if !fits(f, size) {
			return value.Value{}, false
		}
		if len(list) == 1 && list[0].Len() == 0 {
			return value.NewString(`""`), true // otherwise the record would be empty
		}
		special := delimiter.Str() + "\"\r\n"
		return build(f, func(b []byte) []byte {
			for i, x := range list {
				if i > 0 {
					b = append(b, delimiter.Str()...)
				}
				s := x.Str()
				if !strings.ContainsAny(s, special) {
					b = append(b, s...)
					continue
				}
				b = append(b, '"')
				for j := range len(s) {
					if s[j] == '"' {
						b = append(b, '"')
					}
					b = append(b, s[j])
				}
				b = append(b, '"')
			}
			return b
		})
	}},
}

// fieldsOrdering is the parameter of encode_key_value and encode_logfmt.
var fieldsOrdering = fn.Param{
	Name: "fields_ordering", Doc: "The keys to write first, in this order. The others follow in the order of their names.",
	Kind:     kind.Array,
	Optional: true, Default: value.NewArray(nil), Borrow: true,
}

// orderingType makes a call infallible if no order is given.
func orderingType(c *fn.Call) fn.TypeDef {
	return fn.TypeDef{Kind: kind.String, Fallible: c.Given(1)}
}

var encodeKeyValue = &fn.Function{
	Name:  "encode_key_value",
	Group: fn.Codec,
	Doc: "Encodes an object as pairs of keys and values. Fields of nested objects and elements of arrays have " +
		"keys such as " +
		"`a.b` and `a.0`. Keys and values that contain white space, a quote or `=` are quoted.",
	Params: []fn.Param{
		{Name: "value", Doc: "The object.", Kind: kind.Object, Borrow: true},
		fieldsOrdering,
		{
			Name: "key_value_delimiter", Doc: "The separator of a key and its value.", Kind: kind.String,
			Optional: true, Default: value.NewString("="),
		},
		{
			Name: "field_delimiter", Doc: "The separator of pairs.", Kind: kind.String, Optional: true,
			Default: value.NewString(" "),
		},
		{
			Name: "flatten_boolean", Doc: "Whether true is written as the key alone and false is left out.", Kind: kind.Boolean,
			Optional: true, Default: value.NewBool(false),
		},
	},
	Returns:  kind.String,
	Fallible: true,
	Deep:     true,
	Errors:   []string{"an element of fields_ordering is not a string"},
	Examples: []fn.Example{
		{
			Title:  "nested",
			Source: `encode_key_value({"msg": "it works", "http": {"code": 200, "ok": true}})`,
			Result: `"http.code=200 http.ok=true msg=\"it works\""`,
		},
		{Title: "in order", Source: `encode_key_value!({"a": 1, "b": 2, "c": 3}, ["c"])`, Result: `"c=3 a=1 b=2"`},
		{
			Title: "other delimiters",
			Source: `encode_key_value({"a": 1, "b": true, "c": false}, key_value_delimiter: ":", field_delimiter: ` +
				`",", flatten_boolean: true)`,
			Result: `"a:1,b"`,
		},
	},
	Type: orderingType,
	Impl: fn.Impl{N: func(f *fn.Frame, a []value.Value) (value.Value, bool) {
		p := pairWriter{between: a[2].Text(), after: a[3].Text(), bare: a[4].Bool()}
		return p.write(f, a[0], a[1])
	}},
}

var encodeLogfmt = &fn.Function{
	Name:  "encode_logfmt",
	Group: fn.Codec,
	Doc: "Encodes an object as logfmt, like encode_key_value. A field that is true is written as its key alone, " +
		"and a field that is false is left out.",
	Params: []fn.Param{
		{Name: "value", Doc: "The object.", Kind: kind.Object, Borrow: true},
		fieldsOrdering,
	},
	Returns:  kind.String,
	Fallible: true,
	Deep:     true,
	Errors:   []string{"an element of fields_ordering is not a string"},
	Examples: []fn.Example{
		{
			Title:  "a record",
			Source: `encode_logfmt({"level": "warn", "msg": "disk full", "retry": true})`,
			Result: `"level=warn msg=\"disk full\" retry"`,
		},
		{Title: "in order", Source: `encode_logfmt!({"a": 1, "msg": "x"}, ["msg"])`, Result: `"msg=x a=1"`},
	},
	Type: orderingType,
	Impl: fn.Impl{F2: func(f *fn.Frame, v, order value.Value) (value.Value, bool) {
		p := pairWriter{between: "=", after: " ", bare: true}
		return p.write(f, v, order)
	}},
}

// A pairWriter writes an object as pairs.
type pairWriter struct {
	between, after string
	bare           bool
	pairs          []value.Field
}

// write writes an object, the keys of order first.
func (p *pairWriter) write(f *fn.Frame, v, order value.Value) (value.Value, bool) {
	for _, x := range order.Array().Peek() {
		if !x.IsString() {
			return f.FailKind("string", x)
		}
	}
	if !p.flatten(f, "", v) {
		return value.Value{}, false
	}
	pairs := value.MakeFields(len(p.pairs))
	for _, x := range p.pairs {
		pairs.Add(x.Key, x.Value)
	}
	pairs.Sort() // a key of a nested object may sort before a prefix of it
	list := pairs.Peek()
	done := make([]bool, len(list))
	return build(f, func(b []byte) []byte {
		for _, key := range order.Array().Peek() {
			if i, ok := pairs.Find(key.Text()); ok && !done[i] {
				done[i] = true
				b = p.pair(b, list[i])
			}
		}
		for i, x := range list {
			if !done[i] {
				b = p.pair(b, x)
			}
		}
		return b
	})
}

// flatten collects the scalars inside a container. Their keys start with the prefix.
func (p *pairWriter) flatten(f *fn.Frame, prefix string, v value.Value) bool {
	add := func(name string, x value.Value) bool {
		if !f.Reserve(len(prefix) + len(name) + x.Len() + len(p.between) + len(p.after)) {
			return false
		}
		key := prefix + name
		if k := x.Kind(); k == value.Object || k == value.Array {
			return p.flatten(f, key+".", x)
		}
		p.pairs = append(p.pairs, value.Field{Key: key, Value: x})
		return true
	}
	if o := v.Object(); o != nil {
		for _, x := range o.Peek() {
			if !add(value.Lossy(x.Key), x.Value) {
				return false
			}
		}
		return true
	}
	for i, x := range v.Array().Peek() {
		if !add(strconv.Itoa(i), x) {
			return false
		}
	}
	return true
}

// pair appends a pair to b.
func (p *pairWriter) pair(b []byte, x value.Field) []byte {
	if p.bare && x.Value.Kind() == value.Bool {
		if !x.Value.Bool() {
			return b
		}
		return appendQuoted(p.delimit(b), x.Key)
	}
	b = append(appendQuoted(p.delimit(b), x.Key), p.between...)
	switch x.Value.Kind() {
	case value.String:
		return appendQuoted(b, x.Value.Text())
	case value.Float:
		return value.AppendPlainFloat(b, x.Value.Float())
	case value.Timestamp:
		return value.AppendTime(b, x.Value.Time())
	case value.Regex:
		return appendQuoted(b, x.Value.Regex().String())
	}
	return value.AppendJSON(b, x.Value)
}

// delimit appends the delimiter of pairs unless b is empty.
func (p *pairWriter) delimit(b []byte) []byte {
	if len(b) == 0 {
		return b
	}
	return append(b, p.after...)
}

// appendQuoted appends s, in quotes if it needs them.
func appendQuoted(b []byte, s string) []byte {
	quote, plain := false, true
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if ascii.IsSpace(c) || c == '"' || c == '=' {
				quote = true
			}
			if c == '"' || c == '\\' || c == '\n' {
				plain = false
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if unicode.IsSpace(r) {
			quote = true
		}
		i += n
	}
	if quote {
		b = append(b, '"')
	}
	if plain {
		b = append(b, s...)
	} else {
		for i := range len(s) {
			switch c := s[i]; c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\n':
				b = append(b, `\\n`...)
			default:
				b = append(b, c)
			}
		}
	}
	if quote {
		b = append(b, '"')
	}
	return b
}
