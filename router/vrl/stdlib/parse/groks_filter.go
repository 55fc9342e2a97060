package parse

import (
	"fmt"
	"math"
	"math/big"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"cordwood/router/vrl/ascii"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/value"
)

// newFilter returns the filter for a name in a rule.
func newFilter(c *call) (groksFilter, error) {
	switch c.name {
	case "integer", "integerExt":
		return toInteger, nil
	case "number", "numberExt":
		return toNumber, nil
	case "boolean":
		yes := c.text(0, "true")
		return textFilter(func(_ *fn.Frame, s string) (value.Value, bool) {
			return value.NewBool(strings.EqualFold(s, yes)), true
		}), nil
	case "nullIf":
		if len(c.args) != 1 {
			return nil, fmt.Errorf("filter nullIf takes one string")
		}
		null := c.args[0].text
		return textFilter(func(_ *fn.Frame, s string) (value.Value, bool) {
			if s == null {
				return value.Value{}, true
			}
			return value.NewString(s), true
		}), nil
	case "json":
		return textFilter(func(f *fn.Frame, s string) (value.Value, bool) {
			if !structured(f, s) {
				return value.Value{}, false
			}
			v, err := value.ParseJSON(s, value.JSONOptions{})
			return v, err == nil
		}), nil
	case "rubyhash":
		return textFilter(func(f *fn.Frame, s string) (value.Value, bool) {
			if !structured(f, s) {
				return value.Value{}, false
			}
			v, err := parseRuby(s)
			return v, err == nil
		}), nil
	case "querystring":
		return textFilter(func(f *fn.Frame, s string) (value.Value, bool) {
			list, ok := queryPairs(f, strings.TrimPrefix(s, "?"))
			if !ok {
				return value.Value{}, false
			}
			return gather(list, appendTo), true
		}), nil
	case "decodeuricomponent":
		return textFilter(func(_ *fn.Frame, s string) (value.Value, bool) {
			if d, err := url.PathUnescape(s); err == nil {
				return value.NewString(value.Lossy(d)), true
			}
			return value.NewString(s), true
		}), nil
	case "lowercase":
		return textFilter(func(_ *fn.Frame, s string) (value.Value, bool) {
			return value.NewString(strings.ToLower(s)),
				true
		}), nil
	case "uppercase":
		return textFilter(func(_ *fn.Frame, s string) (value.Value, bool) {
			return value.NewString(strings.ToUpper(s)),
				true
		}), nil
	case "xml":
		return textFilter(xmlFilter), nil
	case "scale":
		return scaleFilter(c)
	case "array":
		return arrayFilter(c)
	case "keyvalue":
		return keyvalueFilter(c)
	}
	return nil, fmt.Errorf("unknown filter '%s'", c.name)
}

// textFilter returns a filter for strings. Other values are dropped.
func textFilter(filter func(f *fn.Frame, s string) (value.Value, bool)) groksFilter {
	return func(f *fn.Frame, v value.Value) (value.Value, bool) {
		if !v.IsString() || !f.SpendOn(v) {
			return v, false
		}
		return filter(f, v.Str())
	}
}

// structured takes the cost of parsing a value from a text from the budget.
func structured(f *fn.Frame, s string) bool { return f.Reserve(12*len(s)) && f.Spend(len(s)/4) }

// wholeNumber returns x as an integer if x is an integer in the range of int64.
func wholeNumber(x float64) value.Value {
	if x == math.Trunc(x) && math.Abs(x) < 1<<63 {
		return value.NewInt(int64(x))
	}
	return value.NewFloat(x)
}

func toInteger(_ *fn.Frame, v value.Value) (value.Value, bool) {
	switch v.Kind() {
	case value.Int:
		return v, true
	case value.Float:
		return value.NewInt(value.TruncateFloat(v.Float())), true
	case value.String:
		if i, err := strconv.ParseInt(v.Str(), 10, 64); err == nil {
			return value.NewInt(i), true
		}
		x, err := strconv.ParseFloat(v.Str(), 64)
		return value.NewInt(value.TruncateFloat(x)), err == nil && !math.IsNaN(x)
	}
	return v, false
}

func toNumber(_ *fn.Frame, v value.Value) (value.Value, bool) {
	switch v.Kind() {
	case value.Int, value.Float:
		return v, true
	case value.String:
		x, err := strconv.ParseFloat(v.Str(), 64)
		return wholeNumber(x), err == nil && !math.IsNaN(x)
	}
	return v, false
}

// scaleFilter multiplies decimal numbers exactly, so 0.202 times 10 is 2.02.
func scaleFilter(c *call) (groksFilter, error) {
	var factor *big.Rat
	if len(c.text(0, "")) <= maxNumber {
		factor, _ = new(big.Rat).SetString(c.text(0, ""))
	}
	if factor == nil {
		return nil, fmt.Errorf("filter scale takes a number")
	}
	return func(_ *fn.Frame, v value.Value) (value.Value, bool) {
		text := ""
		switch v.Kind() {
		case value.String:
			text = v.Str()
		case value.Int:
			text = strconv.FormatInt(v.Int(), 10)
		case value.Float:
			text = strconv.FormatFloat(v.Float(), 'f', -1, 64)
		}
		if len(text) > maxNumber || strings.ContainsAny(text, "/eEpP_") {
			return v, false
		}
		x, ok := new(big.Rat).SetString(text)
		if !ok {
			return v, false
		}
		y, _ := x.Mul(x, factor).Float64()
		return wholeNumber(y), true
	}, nil
}

// xmlFilter parses a text as parse_xml does, but all scalars stay texts.
func xmlFilter(f *fn.Frame, s string) (value.Value, bool) {
	if !f.Reserve(4*len(s)) || !f.Spend(len(s)/2) {
		return value.Value{}, false
	}
	v, err := newXMLReader(s, xmlReader{trim: true, attributes: true, textKey: "value"}).parse()
	return v, err == nil
}

// arrayFilter splits a text: array([brackets][, separator][, filter]).
func arrayFilter(c *call) (groksFilter, error) {
	var texts []string
	var each groksFilter
	for i := range c.args {
		if c.args[i].quoted {
			texts = append(texts, c.args[i].text)
			continue
		}
		var err error
		if each, err = newFilter(c.args[i].nested); err != nil {
			return nil, err
		}
	}
	brackets, separator := arrayMarks(texts)
	if separator == "" {
		return nil, fmt.Errorf("filter array takes a separator that is not empty")
	}
	return textFilter(func(f *fn.Frame, s string) (value.Value, bool) {
		if isBrackets(brackets) {
			if len(s) < 2 || s[0] != brackets[0] || s[len(s)-1] != brackets[1] {
				return value.Value{}, false
			}
			s = s[1 : len(s)-1]
		}
		return splitArray(f, s, separator, each)
	}), nil
}

// arrayMarks returns the brackets and the separator of an array from the texts that its filter was given.
func arrayMarks(texts []string) (brackets, separator string) {
	switch {
	case len(texts) == 0:
		return "[]", ","
	case len(texts) > 1:
		return texts[0], texts[1]
	case isBrackets(texts[0]):
		return texts[0], ","
	}
	return "[]", texts[0]
}

// splitArray returns the array of the parts of s. It applies the filter each, if it is not nil, to each part.
func splitArray(f *fn.Frame, s, separator string, each groksFilter) (value.Value, bool) {
	var list []value.Value
	for x := range strings.SplitSeq(s, separator) {
		if !f.Spend(1) || !f.Reserve(roomOfValue) {
			return value.Value{}, false
		}
		v := value.NewString(x)
		if each != nil {
			var ok bool
			if v, ok = each(f, v); !ok {
				return v, false
			}
		}
		list = append(list, v)
	}
	return value.NewArray(list), true
}

func isBrackets(s string) bool {
	return s == "[]" || s == "{}" || s == "()" || s == "<>"
}

// keyvalueFilter finds pairs in a text:
// keyvalue([separator[, characters[, quotes[, delimiter]]]]).
func keyvalueFilter(c *call) (groksFilter, error) {
	separator := c.text(0, "=")
	if separator == "" {
		separator = "="
	}
	delimiter := c.text(3, "")
	quotes := []string{`""`, `''`, `<>`}
	if q := c.text(2, ""); len(q) == 2 {
		quotes = []string{q}
	}
	allowed, err := keyvalueChars(c.text(1, ""))
	if err != nil {
		return nil, err
	}
	return textFilter(func(fr *fn.Frame, s string) (value.Value, bool) {
		var list []value.Field
		open := slices.Clone(quotes)
		for s != "" {
			if !fr.Reserve(roomOfField) {
				return value.Value{}, false
			}
			var pair string
			pair, s = cutPair(s, separator, delimiter, open)
			if f, ok := keyvaluePair(pair, separator, quotes, allowed, delimiter != ""); ok {
				list = append(list, f)
			}
		}
		if len(list) == 0 {
			return value.Value{}, false
		}
		return gather(list, appendTo), true
	}), nil
}

// keyvalueChars returns a function that reports whether a character may be in an unquoted key or value: word
// characters, the given list, and .-_@.
func keyvalueChars(list string) (func(r rune) bool, error) {
	list = strings.ReplaceAll(list, `\w`, "")
	list = strings.ReplaceAll(list, `\`, "")
	return func(r rune) bool {
		return r < 0x80 && ascii.IsWord(byte(r)) || r >= 0x80 || strings.ContainsRune(".-_@", r) ||
			strings.ContainsRune(list, r)
	}, nil
}

// cutPair returns the text before the next delimiter outside of quotes. Without a delimiter, white space, commas
// and semicolons separate pairs. Quotes that are never closed are removed from quotes.
func cutPair(s, separator, delimiter string, quotes []string) (pair, rest string) {
	for i := 0; i < len(s); i++ {
		if i == 0 || strings.HasSuffix(s[:i], separator) {
			for k, q := range quotes {
				if q == "" || s[i] != q[0] {
					continue
				}
				if n := strings.IndexByte(s[i+1:], q[1]); n >= 0 {
					i += n + 1
				} else {
					quotes[k] = "" // no such quote follows, so do not search again
				}
				break
			}
		}
		switch {
		case delimiter != "" && strings.HasPrefix(s[i:], delimiter):
			return s[:i], s[i+len(delimiter):]
		case delimiter == "" && (ascii.IsSpace(s[i]) || s[i] == ',' || s[i] == ';'):
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

// unquote returns s without its quotes, if it is between a pair of them, and whether it was.
func unquote(s string, quotes []string) (string, bool) {
	for _, q := range quotes {
		if len(s) >= 2 && s[0] == q[0] && s[len(s)-1] == q[1] {
			return s[1 : len(s)-1], true
		}
	}
	return s, false
}

// keyvaluePair parses a pair. Unless quotes or a delimiter are used, disallowed characters are removed from the
// start of a key and the end of a value.
func keyvaluePair(s, separator string, quotes []string, allowed func(rune) bool, free bool) (value.Field, bool) {
	key, text, ok := strings.Cut(strings.TrimSpace(s), separator)
	if !ok {
		return value.Field{}, false
	}
	key, quotedKey := unquote(strings.TrimSpace(key), quotes)
	if !quotedKey {
		if i := strings.LastIndexFunc(key, func(r rune) bool { return !allowed(r) }); i >= 0 && !free {
			key = key[i+1:]
		}
	}
	text, quotedText := unquote(strings.TrimSpace(text), quotes)
	if !quotedText && !free {
		if i := strings.IndexFunc(text, func(r rune) bool { return !allowed(r) }); i >= 0 {
			return value.Field{}, false
		}
	}
	if key == "" || text == "" {
		return value.Field{}, false
	}
	switch {
	case quotedText:
		return value.Field{Key: key, Value: value.NewString(text)}, true
	case text == "null":
		return value.Field{}, false
	}
	return value.Field{Key: key, Value: bareValue(text)}, true
}

// bareValue returns the value of a text without quotes: a boolean, a number, or else the text itself.
func bareValue(text string) value.Value {
	v := value.NewString(text)
	switch {
	case text == "true" || text == "false":
		return value.NewBool(text == "true")
	case ascii.IsDigit(text[0]) || len(text) > 1 && text[0] == '-' && ascii.IsDigit(text[1]):
		if n, ok := toNumber(nil, v); ok && !strings.ContainsAny(text, "xX_pP") {
			return n
		}
	}
	return v
}
