package parse

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"cordwood/router/vrl/ascii"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// rubyReader parses the text that Ruby's inspect writes for a hash.
type rubyReader struct {
	src   string
	pos   int
	depth int
}

func (r *rubyReader) fail(want string) error {
	return fmt.Errorf("expected %s at byte %d", want, r.pos)
}

func (r *rubyReader) space() {
	for r.pos < len(r.src) && ascii.IsSpace(r.src[r.pos]) {
		r.pos++
	}
}

// accept skips white space, and skips s if it follows.
func (r *rubyReader) accept(s string) bool {
	r.space()
	if strings.HasPrefix(r.src[r.pos:], s) {
		r.pos += len(s)
		return true
	}
	return false
}

func (r *rubyReader) hash() (value.Value, error) {
	if r.depth++; r.depth > value.MaxJSONDepth {
		return value.Value{}, fmt.Errorf("containers are nested more than %d deep", value.MaxJSONDepth)
	}
	defer func() { r.depth-- }()
	if !r.accept("{") {
		return value.Value{}, r.fail("{")
	}
	o := newFields(8)
	for !r.accept("}") {
		key, err := r.key()
		if err != nil {
			return value.Value{}, err
		}
		if !r.accept("=>") && !r.accept(":") {
			return value.Value{}, r.fail("=>")
		}
		v, err := r.value()
		if err != nil {
			return v, err
		}
		o.add(key, v)
		if !r.accept(",") {
			if r.accept("}") {
				break
			}
			return v, r.fail(", or }")
		}
	}
	return o.value(), nil
}

// key reads a string, a symbol, a number or the name of a keyword.
func (r *rubyReader) key() (string, error) {
	r.space()
	if r.pos == len(r.src) {
		return "", r.fail("a key")
	}
	switch r.src[r.pos] {
	case '"', '\'':
		return r.text()
	case ':':
		r.pos++
		if r.pos < len(r.src) && r.src[r.pos] == '"' {
			return r.text()
		}
	}
	start := r.pos
	for r.pos < len(r.src) && (ascii.IsWord(r.src[r.pos]) || strings.IndexByte("?!.-", r.src[r.pos]) >= 0 ||
		r.src[r.pos] >= 0x80) {
		r.pos++
	}
	if r.pos == start {
		return "", r.fail("a key")
	}
	return r.src[start:r.pos], nil
}

// text reads a quoted string.
func (r *rubyReader) text() (string, error) {
	s := r.src[r.pos:]
	end := ascii.Closing(s, s[0])
	if end < 0 {
		return "", r.fail("the end of a string")
	}
	r.pos += end + 1
	body := s[1:end]
	if strings.IndexByte(body, '\\') < 0 {
		return body, nil
	}
	return unescapeRuby(body, s[0] == '\''), nil
}

// unescapeRuby replaces the escapes in a string. Between single quotes, only quotes and backslashes are escaped.
func unescapeRuby(body string, single bool) string {
	b := make([]byte, 0, len(body))
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' || i+1 == len(body) {
			b = append(b, body[i])
			continue
		}
		i++
		switch c := body[i]; {
		case single && c != '\'' && c != '\\':
			b = append(b, '\\', c)
		case c == 'n':
			b = append(b, '\n')
		case c == 't':
			b = append(b, '\t')
		case c == 'r':
			b = append(b, '\r')
		case c == 'e':
			b = append(b, 0x1b)
		case c == 'u' && i+4 < len(body):
			n, err := strconv.ParseUint(body[i+1:i+5], 16, 32)
			if err != nil {
				b = append(b, c)
				continue
			}
			b = utf8.AppendRune(b, rune(n))
			i += 4
		default:
			b = append(b, c)
		}
	}
	return fn.Unsafe(b)
}

func (r *rubyReader) value() (value.Value, error) {
	r.space()
	if r.pos == len(r.src) {
		return value.Value{}, r.fail("a value")
	}
	switch r.src[r.pos] {
	case '{':
		return r.hash()
	case '[':
		return r.array()
	case '"', '\'':
		s, err := r.text()
		return value.NewString(s), err
	case ':':
		s, err := r.key()
		return value.NewString(s), err
	}
	start := r.pos
	for r.pos < len(r.src) && (ascii.IsWord(r.src[r.pos]) || strings.IndexByte("+-.", r.src[r.pos]) >= 0) {
		r.pos++
	}
	switch w := r.src[start:r.pos]; w {
	case "true", "false":
		return value.NewBool(w == "true"), nil
	case "nil", "null":
		return value.Value{}, nil
	default:
		x, err := strconv.ParseFloat(strings.ReplaceAll(w, "_", ""), 64)
		if err != nil || w == "" || ascii.IsWord(w[0]) && !ascii.IsDigit(w[0]) {
			r.pos = start
			return value.Value{}, r.fail("a value")
		}
		return value.NewFloat(x), nil
	}
}

func (r *rubyReader) array() (value.Value, error) {
	if r.depth++; r.depth > value.MaxJSONDepth {
		return value.Value{}, fmt.Errorf("containers are nested more than %d deep", value.MaxJSONDepth)
	}
	defer func() { r.depth-- }()
	r.pos++
	var list []value.Value
	for !r.accept("]") {
		v, err := r.value()
		if err != nil {
			return v, err
		}
		list = append(list, v)
		if !r.accept(",") {
			if r.accept("]") {
				break
			}
			return v, r.fail(", or ]")
		}
	}
	return value.NewArray(list), nil
}

// parseRuby parses a text that is one hash.
func parseRuby(s string) (value.Value, error) {
	r := rubyReader{src: s}
	v, err := r.hash()
	if err != nil {
		return v, err
	}
	if r.space(); r.pos < len(s) {
		return v, r.fail("the end")
	}
	return v, nil
}

var parseRubyHash = &fn.Function{
	Name:  "parse_ruby_hash",
	Group: fn.Parse,
	Doc: "Parses a hash in the format of Ruby's `inspect`. Keys and symbols become strings, all numbers floats, and nil " +
		"null.",
	Params:   []fn.Param{fn.ValueParam("The hash.")},
	Returns:  kind.ObjectAll(kind.JSON),
	Fallible: true,
	Errors:   []string{"the text is not a hash", "containers are nested more than 128 deep"},
	Examples: []fn.Example{
		{
			Title:  "a hash",
			Source: `parse_ruby_hash!(s'{ "a" => 1, :b => [true, nil], "c" => { "d" => :e } }')`,
			Result: `{"a":1.0,"b":[true,null],"c":{"d":"e"}}`,
		},
		{Title: "no hash", Source: `parse_ruby_hash!("[1]")`, Fails: `unable to parse ruby hash`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		s := v.Text()
		if !f.Reserve(12*len(s)) || !f.Spend(len(s)/4) {
			return value.Value{}, false
		}
		out, err := parseRuby(s)
		if err != nil {
			return f.FailErr("unable to parse ruby hash: ", err)
		}
		return out, true
	}},
}
