package codec

import (
	"encoding/base64"
	"fmt"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/text/cases"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/language"
	"golang.org/x/text/transform"

	"cordwood/router/vrl/ascii"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// This file has the functions for character sets, encoded words in mail headers, and domain names.

// charsetOf returns the encoding for a label of the WHATWG Encoding Standard.
func charsetOf(label string) (encoding.Encoding, string, bool) {
	if len(label) > 100 { // the longest label has 19 characters
		return nil, "", false
	}
	e, err := htmlindex.Get(label)
	if err != nil {
		return nil, "", false
	}
	name, err := htmlindex.Name(e)
	if err != nil {
		return nil, "", false
	}
	return e, name, true
}

// recoded returns s after a transformation. The result is at most as many times as long as s as the argument times
// says.
func recoded(f *fn.Frame, s string, t transform.Transformer, times int, problem string) (value.Value, bool) {
	if !f.Reserve(times * len(s)) {
		return value.Value{}, false
	}
	b, _, err := transform.Bytes(t, fn.Octets(s))
	if err != nil {
		return f.FailErr(problem, err)
	}
	return value.NewBytes(b), true
}

var decodeCharset = &fn.Function{
	Name:  "decode_charset",
	Group: fn.Codec,
	Doc: "Converts text of a character set to UTF-8. Invalid bytes become U+FFFD. A byte order " +
		"mark takes precedence over the given character set.",
	Params: []fn.Param{
		fn.ValueParam("The text."),
		{Name: "from_charset", Doc: "The character set, by any label that browsers know.", Kind: kind.String},
	},
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{"the label is not a known character set"},
	Examples: []fn.Example{
		{Title: "Latin 1", Source: `decode_charset!(decode_base16!("63e96e"), "iso-8859-1")`, Result: `"cén"`},
		{Title: "Japanese", Source: `decode_charset!(decode_base64!("k/qWew=="), "shift_jis")`, Result: `"日本"`},
		{Title: "no character set", Source: `decode_charset!("a", "latin99")`, Fails: `Unknown charset: latin99`},
	},
	Impl: fn.Impl{F2: func(f *fn.Frame, v, label value.Value) (value.Value, bool) {
		e, name, ok := charsetOf(label.Text())
		if !ok {
			return f.Failf("Unknown charset: %s", label.Text())
		}
		if name == "utf-8" {
			return value.NewString(value.Lossy(strings.TrimPrefix(v.Str(), "\ufeff"))), f.Reserve(3 * v.Len())
		}
		return recoded(f, v.Str(), unicode.BOMOverride(e.NewDecoder()), 4, "unable to decode value: ")
	}},
}

var encodeCharset = &fn.Function{
	Name:  "encode_charset",
	Group: fn.Codec,
	Doc: "Converts the string to another character set. Characters that it lacks become HTML references " +
		"such as `&#8364;`. For UTF-16, which is supported only for decoding, the result is UTF-8.",
	Params: []fn.Param{
		fn.ValueParam("The string to convert."),
		{Name: "to_charset", Doc: "The character set, by any label that browsers know.", Kind: kind.String},
	},
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{"the label is not a known character set"},
	Examples: []fn.Example{
		{Title: "Latin 1", Source: `encode_base16(encode_charset!("cén", "iso-8859-1"))`, Result: `"63e96e"`},
		{Title: "a character that is missing", Source: `encode_charset!("日", "iso-8859-1")`, Result: `"&#26085;"`},
	},
	Impl: fn.Impl{F2: func(f *fn.Frame, v, label value.Value) (value.Value, bool) {
		e, name, ok := charsetOf(label.Text())
		if !ok {
			return f.Failf("Unknown charset: %s", label.Text())
		}
		switch name {
		case "utf-8", "utf-16le", "utf-16be", "replacement":
			return value.NewString(v.Text()), f.Reserve(3 * v.Len())
		}
		return recoded(f, v.Text(), encoding.HTMLEscapeUnsupported(e.NewEncoder()), 8, "unable to encode value: ")
	}},
}

var decodeMimeQ = &fn.Function{
	Name:  "decode_mime_q",
	Group: fn.Codec,
	Doc: "Decodes the encoded words of a mail header, such as `=?utf-8?q?=C3=BC?=`, and does not change the text around " +
		"them as it " +
		" A single word may lack its delimiters `=?` and `?=` and its character set, which is then UTF-8.",
	Params:   []fn.Param{fn.ValueParam("The text of the header.")},
	Returns:  kind.String,
	Fallible: true,
	Errors: []string{
		"the encoding of a word is neither b nor q", "the character set of a word is not known",
		"a word is invalid in its encoding",
	},
	Examples: []fn.Example{
		{
			Title:  "two words",
			Source: `decode_mime_q!("To: =?utf-8?q?J=C3=BCrgen?= <=?utf-8?b?akBleGFtcGxlLm9yZw==?=>")`,
			Result: `"To: Jürgen <j@example.org>"`,
		},
		{Title: "without marks", Source: `decode_mime_q!("?q?a=20b_c")`, Result: `"a b c"`},
		{Title: "no encoding", Source: `decode_mime_q!("=?utf-8?z?abc?=")`, Fails: `Invalid encoding: "z"`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		s := v.Text()
		if !strings.Contains(s, "?") {
			return value.NewString(s), true
		}
		if !f.Reserve(4 * len(s)) {
			return value.Value{}, false
		}
		if w, ok := bareWord(s); ok {
			text, err := w.decode()
			if err != nil {
				return f.FailErr("", err)
			}
			return value.NewString(text), true
		}
		var b []byte
		for {
			w, start, end := nextWord(s)
			if end == 0 {
				break
			}
			text, err := w.decode()
			if err != nil {
				return f.FailErr("", err)
			}
			b = append(append(b, s[:start]...), text...)
			s = s[end:]
		}
		if b == nil {
			return value.NewString(s), true
		}
		return value.NewBytes(append(b, s...)), true
	}},
}

// An encodedWord is a word in a mail header that is not in ASCII.
type encodedWord struct{ charset, encoding, text string }

// nextWord finds the first encoded word in s. The end is 0 if there is none.
func nextWord(s string) (w encodedWord, start, end int) {
	for at := 0; ; {
		i := strings.Index(s[at:], "=?")
		if i < 0 {
			return w, 0, 0
		}
		start = at + i
		rest := s[start+2:]
		parts := strings.SplitN(rest, "?", 4)
		if len(parts) < 4 {
			return w, 0, 0 // and too few for any later start
		}
		if strings.HasPrefix(parts[3], "=") {
			n := len(parts[0]) + len(parts[1]) + len(parts[2]) + 3
			return encodedWord{parts[0], parts[1], parts[2]}, start, start + 2 + n + 1
		}
		at = start + 2
	}
}

// bareWord parses an encoded word without its delimiters.
func bareWord(s string) (encodedWord, bool) {
	parts := strings.SplitN(s, "?", 4)
	if len(parts) != 3 || len(parts[1]) != 1 || strings.ContainsAny(s, " \t\r\n") {
		return encodedWord{}, false
	}
	switch parts[1] {
	case "b", "B", "q", "Q":
		return encodedWord{parts[0], parts[1], parts[2]}, true
	}
	return encodedWord{}, false
}

// decode returns the text of the word as UTF-8.
func (w encodedWord) decode() (string, error) {
	var b []byte
	var err error
	switch w.encoding {
	case "b", "B":
		b, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(w.text, "="))
	case "q", "Q":
		b, err = decodeQ(w.text)
	default:
		return "", fmt.Errorf("Invalid encoding: %q", w.encoding) //nolint:staticcheck,revive // programs look for this text
	}
	if err != nil {
		return "", fmt.Errorf("Unable to decode %q value: %w", w.charset, err) //nolint:staticcheck,revive // likewise
	}
	charset := w.charset
	if i := strings.IndexByte(charset, '*'); i >= 0 { // a language tag follows
		charset = charset[:i]
	}
	if charset == "" {
		return value.Lossy(fn.Unsafe(b)), nil
	}
	e, _, ok := charsetOf(charset)
	if !ok {
		//nolint:staticcheck,revive // likewise
		return "", fmt.Errorf("Unable to decode %q value: the character set is not known", w.charset)
	}
	b, err = e.NewDecoder().Bytes(b)
	if err != nil {
		return "", fmt.Errorf("Unable to decode %q value: %w", w.charset, err) //nolint:staticcheck,revive // likewise
	}
	return fn.Unsafe(b), nil
}

// decodeQ decodes the encoding Q, which is similar to quoted-printable.
func decodeQ(s string) ([]byte, error) {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '_':
			b = append(b, ' ')
		case c != '=':
			b = append(b, c)
		case i+2 < len(s) && ascii.HexDigit(s[i+1]) >= 0 && ascii.HexDigit(s[i+2]) >= 0:
			b = append(b, byte(ascii.HexDigit(s[i+1])<<4|ascii.HexDigit(s[i+2])))
			i += 2
		default:
			return nil, fmt.Errorf("two hexadecimal digits must follow %q", "=")
		}
	}
	return b, nil
}

// domainNames are the rules for checking domain names. Browsers use the same rules.
var domainNames = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false),
	idna.ValidateLabels(true),
	idna.CheckHyphens(false), idna.CheckJoiners(true), idna.BidiRule())

// validateNames is the parameter of the functions of domain names.
var validateNames = fn.Param{
	Name: "validate", Doc: "Whether the name is checked and its letters are mapped " +
		"by the rules of internationalized domain names.",
	Kind: kind.Boolean, Optional: true, Default: value.NewBool(true),
}

const namePrefix = "xn--"

var decodePunycode = &fn.Function{
	Name:  "decode_punycode",
	Group: fn.Codec,
	Doc:   "Decodes the labels of a domain name that start with `xn--`.",
	Params: []fn.Param{
		fn.ValueParam("The domain name."),
		validateNames,
	},
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{"the name is checked and is not a domain name"},
	Examples: []fn.Example{
		{Title: "one label", Source: `decode_punycode!("www.xn--bcher-kva.example")`, Result: `"www.bücher.example"`},
		{Title: "nothing to decode", Source: `decode_punycode!("www.example.org")`, Result: `"www.example.org"`},
	},
	Impl: fn.Impl{F2: func(f *fn.Frame, v, validate value.Value) (value.Value, bool) {
		s := v.Text()
		if !strings.Contains(s, namePrefix) {
			return value.NewString(s), true
		}
		if !spendOnName(f, s) {
			return value.Value{}, false
		}
		if validate.Bool() {
			name, err := domainNames.ToUnicode(s)
			if err != nil {
				return f.FailErr("unable to decode punycode: ", err)
			}
			return value.NewString(name), true
		}
		labels := strings.Split(s, ".")
		for i, label := range labels {
			if !strings.HasPrefix(label, namePrefix) {
				continue
			}
			if text, err := idna.Punycode.ToUnicode(label); err == nil {
				labels[i] = text
			}
		}
		return value.NewString(strings.Join(labels, ".")), true
	}},
}

var encodePunycode = &fn.Function{
	Name:  "encode_punycode",
	Group: fn.Codec,
	Doc:   "Converts the labels of a domain name that are not ASCII to their ASCII form, which starts with `xn--`.",
	Params: []fn.Param{
		fn.ValueParam("The domain name."),
		validateNames,
	},
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{"the name is checked and is not a domain name"},
	Examples: []fn.Example{
		{Title: "one label", Source: `encode_punycode!("www.Bücher.example")`, Result: `"www.xn--bcher-kva.example"`},
		{Title: "nothing to encode", Source: `encode_punycode!("www.example.org")`, Result: `"www.example.org"`},
	},
	Impl: fn.Impl{F2: func(f *fn.Frame, v, validate value.Value) (value.Value, bool) {
		s := v.Text()
		if !spendOnName(f, s) {
			return value.Value{}, false
		}
		if validate.Bool() {
			name, err := domainNames.ToASCII(s)
			if err != nil {
				return f.FailErr("unable to encode to punycode: ", err)
			}
			return value.NewString(name), true
		}
		labels := strings.Split(s, ".")
		for i, label := range labels {
			if label = lowerLabel(label); ascii.Only(label) {
				labels[i] = label
				continue
			}
			text, err := idna.Punycode.ToASCII(label)
			if err != nil {
				return f.FailErr("unable to encode to punycode: ", err)
			}
			labels[i] = text
		}
		return value.NewString(strings.Join(labels, ".")), true
	}},
}

// lowerLabel returns a label in lower case by the full rules of Unicode.
func lowerLabel(s string) string {
	if ascii.Only(s) {
		return strings.ToLower(s)
	}
	return cases.Lower(language.Und).String(s)
}

// maxLabel limits the length of the labels of names to convert, because the time grows with the square of the length.
// DNS allows 63 bytes.
const maxLabel = 4096

// spendOnName takes the cost of converting a domain name from the budget.
func spendOnName(f *fn.Frame, s string) bool {
	longest, start := 0, 0
	for i := range len(s) + 1 {
		if i == len(s) || s[i] == '.' {
			longest, start = max(longest, i-start), i+1
		}
	}
	if longest > maxLabel {
		f.Failf("a label of the domain name is %d bytes long, more than %d", longest, maxLabel)
		return false
	}
	return f.Reserve(8*len(s)) && f.Spend(len(s)*(longest+64)/64)
}
