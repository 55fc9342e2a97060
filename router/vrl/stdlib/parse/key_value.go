package parse

import (
	"strings"
	"unicode"

	"cordwood/router/vrl/ascii"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// keyValue parses lines of keys and values.
type keyValue struct {
	pair, field string
	lenient     bool // spaces around the delimiter of a pair are ignored
	standalone  bool // a key may have no value
}

var errKeyValue = "could not parse whole line successfully"

var keyValueKind = kind.ObjectAll(kind.Or(kind.String, kind.Boolean, kind.ArrayAll(kind.String)))

// ahead finds the next delimiter, for callers that search ever shorter suffixes of one text. It reads each byte of
// the text once.
type ahead struct {
	delimiter string
	left      int // length of the text from the delimiter on, or -1 if there is none
	known     bool
}

// index returns the index of the first delimiter in s, or -1.
func (a *ahead) index(s string) int {
	if a.known && a.left <= len(s) {
		if a.left < 0 {
			return -1
		}
		return len(s) - a.left
	}
	i := strings.Index(s, a.delimiter)
	if a.known, a.left = true, -1; i >= 0 {
		a.left = len(s) - i
	}
	return i
}

// keyValueReader reads one line.
type keyValueReader struct {
	*keyValue
	pairs, fields ahead
}

// parse returns the pairs of a line. It returns false if a part is not a pair, or if the budget is too small.
func (p *keyValueReader) parse(f *fn.Frame, s string, list []value.Field) ([]value.Field, bool) {
	left := s
	for {
		if !f.Reserve(roomOfField) {
			return nil, false
		}
		key, rest, ok := p.key(f, s)
		if !ok {
			// The pairs so far are valid if only spaces are left.
			return list, len(list) > 0 && isBlankText(left)
		}
		v := value.NewBool(true)
		if after, found := p.pairDelimiter(rest); found {
			v, rest = p.value(f, after)
		} else if !p.standalone {
			return list, false
		}
		list = append(list, value.Field{Key: key, Value: v})
		next, found := p.fieldDelimiter(rest)
		if !found {
			return list, isBlankText(rest)
		}
		left, s = rest, next
	}
}

// pairDelimiter skips the delimiter between a key and its value.
func (p *keyValueReader) pairDelimiter(s string) (string, bool) {
	if p.lenient {
		s = ascii.SkipBlanks(s)
	}
	if !strings.HasPrefix(s, p.pair) {
		return s, false
	}
	s = s[len(p.pair):]
	if p.lenient {
		s = ascii.SkipBlanks(s)
	}
	return s, true
}

// fieldDelimiter skips the delimiter between two pairs.
func (p *keyValueReader) fieldDelimiter(s string) (string, bool) {
	if p.field == " " {
		t := ascii.SkipBlanks(s)
		return t, len(t) < len(s)
	}
	if t := ascii.SkipBlanks(s); strings.HasPrefix(t, p.field) {
		return t[len(p.field):], true
	}
	if strings.HasPrefix(s, p.field) {
		return s[len(p.field):], true
	}
	return s, false
}

// key parses a key at the start of s.
func (p *keyValueReader) key(f *fn.Frame, s string) (key, rest string, ok bool) {
	s = ascii.SkipBlanks(s)
	if s == "" {
		return "", s, false
	}
	if s[0] == '"' || s[0] == '\'' {
		if key, rest, ok = quoted(f, s); ok {
			_, pair := p.pairDelimiter(rest)
			if pair || p.standalone && p.ends(rest) {
				return key, rest, key != ""
			}
		}
	}
	end := p.pairs.index(s)
	if p.standalone {
		if i := p.fieldIndex(s); i >= 0 && (end < 0 || i < end) {
			end = i
		} else if end == 0 || end < 0 && i < 0 {
			// The key consists only of delimiters, or is the last word.
			if end = i; end < 0 {
				end = len(s)
			}
		}
	}
	if end <= 0 {
		return "", s, false
	}
	key = strings.TrimSpace(s[:end])
	return key, s[end:], key != ""
}

// fieldIndex returns the index of the next delimiter between fields, or -1.
func (p *keyValueReader) fieldIndex(s string) int {
	if p.field == " " {
		for i := range len(s) {
			if ascii.IsBlank(s[i]) {
				return i
			}
		}
		return -1
	}
	return p.fields.index(s)
}

// ends reports whether a field may end before s.
func (p *keyValueReader) ends(s string) bool {
	if _, ok := p.fieldDelimiter(s); ok {
		return true
	}
	return isBlankText(s)
}

// isBlankText reports whether s is all white space. Unlike TrimSpace, it reads s only up to the first other
// character.
func isBlankText(s string) bool { return strings.TrimLeftFunc(s, unicode.IsSpace) == "" }

// value parses a value at the start of s.
func (p *keyValueReader) value(f *fn.Frame, s string) (v value.Value, rest string) {
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		if text, rest, ok := quoted(f, s); ok && p.ends(rest) {
			return value.NewString(text), rest
		}
	}
	end := p.fieldIndex(s)
	if end < 0 {
		end = len(s)
	}
	return value.NewString(strings.TrimSpace(s[:end])), s[end:]
}

// quoted parses the quoted text at the start of s. A backslash escapes a quote, a backslash, and n for a newline.
// Before other characters it is ordinary text.
func quoted(f *fn.Frame, s string) (text, rest string, ok bool) {
	q := s[0]
	i := 1
	for i < len(s) && s[i] != q && s[i] != '\\' {
		i++
	}
	if i == len(s) {
		return "", s, false
	}
	if s[i] == q {
		return s[1:i], s[i+1:], true
	}
	end := i
	for end < len(s) && s[end] != q {
		if s[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(s) {
		return "", s, false
	}
	b := f.Bytes(end - 1)[:0]
	b = append(b, s[1:i]...)
	for ; i < end; i++ {
		if c := s[i]; c == '\\' {
			switch n := s[i+1]; n {
			case q, '\\', '"':
				b = append(b, n)
				i++
				continue
			case 'n':
				b = append(b, '\n')
				i++
				continue
			}
		}
		b = append(b, s[i])
	}
	return fn.Unsafe(b), s[end+1:], true
}

// run parses a line.
func (p *keyValue) run(f *fn.Frame, v value.Value) (value.Value, bool) {
	s := v.Text()
	if p.pair == "" || p.field == "" {
		return f.Fail("the delimiters must not be empty")
	}
	// Pairs take more memory than their text.
	if !f.Reserve(2 * len(s)) {
		return value.Value{}, false
	}
	var room [24]value.Field
	r := keyValueReader{keyValue: p, pairs: ahead{delimiter: p.pair}, fields: ahead{delimiter: p.field}}
	list, ok := r.parse(f, s, room[:0])
	if !ok {
		return f.Fail(errKeyValue)
	}
	return gather(list, mergeKeys), true
}

// mergeKeys combines the values of a repeated key. A missing value is replaced by a later one, and adds nothing to
// an earlier one.
func mergeKeys(a, b value.Value) value.Value {
	switch {
	case b.Kind() == value.Bool:
		return a
	case a.Kind() == value.Bool:
		return b
	}
	return appendTo(a, b)
}

var parseKeyValue = &fn.Function{
	Name:  "parse_key_value",
	Group: fn.Parse,
	Doc: "Parses a line of keys and values, such as `level=info msg=\"all is well\"`. Keys and values may be in quotes. " +
		"The values of a key that occurs several times are put into an array.",
	Params: []fn.Param{
		fn.ValueParam("The line."),
		{
			Name: "key_value_delimiter", Doc: "The separator between a key and its value.", Kind: kind.String, Optional: true,
			Default: value.NewString("="),
		},
		{
			Name: "field_delimiter", Doc: "The separator between two pairs. One blank matches any number of blanks.",
			Kind: kind.String, Optional: true, Default: value.NewString(" "),
		},
		{
			Name: "whitespace", Doc: "Whether blanks around the delimiter of a pair are " +
				"significant.", Kind: kind.String, Optional: true,
			Default: value.NewString("lenient"), Constant: true,
			Enum: []fn.Enum{
				{Value: "lenient", Doc: "Blanks before and after the delimiter are skipped."},
				{Value: "strict", Doc: "A blank after the delimiter makes the value empty."},
			},
		},
		{
			Name: "accept_standalone_key", Doc: "Whether a key may have no delimiter and no value. Its value is then true.",
			Kind: kind.Boolean, Optional: true, Default: value.NewBool(true),
		},
	},
	Returns:  keyValueKind,
	Fallible: true,
	Errors:   []string{"a part of the line is not a pair", "a delimiter is empty"},
	Examples: []fn.Example{
		{
			Title:  "a line",
			Source: `parse_key_value!("level=info msg=\"all is well\" dry")`,
			Result: `{"dry":true,"level":"info","msg":"all is well"}`,
		},
		{
			Title:  "other delimiters",
			Source: `parse_key_value!("tag: a, tag: b", key_value_delimiter: ":", field_delimiter: ",")`,
			Result: `{"tag":["a","b"]}`,
		},
		{
			Title:  "an empty value",
			Source: `parse_key_value!("user= id=7", whitespace: "strict")`,
			Result: `{"id":"7","user":""}`,
		},
		{
			Title:  "no pair",
			Source: `parse_key_value!("nothing", accept_standalone_key: false)`,
			Fails:  `could not parse whole line`,
		},
	},
	Compile: func(c *fn.Call) (fn.Impl, error) {
		if p := constKeyValue(c); p != nil {
			return fn.Impl{F1: p.run}, nil
		}
		return fn.Impl{N: func(f *fn.Frame, a []value.Value) (value.Value, bool) {
			p := keyValue{pair: a[1].Str(), field: a[2].Str(), lenient: a[3].Str() != "strict", standalone: a[4].Bool()}
			return p.run(f, a[0])
		}}, nil
	},
}

// constKeyValue returns the parser of a call if all its options are known, otherwise nil.
func constKeyValue(c *fn.Call) *keyValue {
	var v [5]value.Value
	for i := 1; i < len(v); i++ {
		var ok bool
		if v[i], ok = c.Const(i); !ok {
			return nil
		}
	}
	return &keyValue{pair: v[1].Str(), field: v[2].Str(), lenient: v[3].Str() != "strict", standalone: v[4].Bool()}
}

var logfmt = &keyValue{pair: "=", field: " ", lenient: true, standalone: true}

var parseLogfmt = &fn.Function{
	Name:     "parse_logfmt",
	Group:    fn.Parse,
	Doc:      "Parses a line in logfmt, as parse_key_value does without options.",
	Params:   []fn.Param{fn.ValueParam("The line.")},
	Returns:  keyValueKind,
	Fallible: true,
	Errors:   []string{"a part of the line is not a pair"},
	Examples: []fn.Example{
		{
			Title:  "a line",
			Source: `parse_logfmt!("at=info dry path=\"/a b\"")`,
			Result: `{"at":"info","dry":true,"path":"/a b"}`,
		},
	},
	Impl: fn.Impl{F1: logfmt.run},
}
