package codec

import (
	"encoding/base64"
	"encoding/hex"
	"strings"

	"cordwood/router/vrl/ascii"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

var encodeBase16 = &fn.Function{
	Name:    "encode_base16",
	Group:   fn.Codec,
	Doc:     "Encodes the bytes of the string as hexadecimal digits in lower case.",
	Params:  []fn.Param{fn.ValueParam("The bytes to encode.")},
	Returns: kind.String,
	Examples: []fn.Example{
		{Title: "three bytes", Source: `encode_base16("log")`, Result: `"6c6f67"`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		s := v.Str()
		if !f.Reserve(2 * len(s)) {
			return value.Value{}, false
		}
		return value.NewBytes(hex.AppendEncode(f.Bytes(2 * len(s))[:0], fn.Octets(s))), true
	}},
}

var decodeBase16 = &fn.Function{
	Name:     "decode_base16",
	Group:    fn.Codec,
	Doc:      "Decodes bytes from hexadecimal digits in upper or lower case.",
	Params:   []fn.Param{fn.ValueParam("The digits.")},
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{"the string has characters other than hexadecimal digits, or an odd number of digits"},
	Examples: []fn.Example{
		{Title: "three bytes", Source: `decode_base16!("6C6f67")`, Result: `"log"`},
		{Title: "no digits", Source: `decode_base16!("log")`, Fails: `unable to decode value from base16`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		s := v.Str()
		if !f.Reserve(len(s) / 2) {
			return value.Value{}, false
		}
		b, err := hex.AppendDecode(f.Bytes(len(s) / 2)[:0], fn.Octets(s))
		if err != nil {
			return f.FailErr("unable to decode value from base16: ", err)
		}
		return value.NewBytes(b), true
	}},
}

// base64Charset is the parameter that names an alphabet of Base64.
var base64Charset = fn.Param{
	Name: "charset", Doc: "The alphabet.", Kind: kind.String, Optional: true, Default: value.NewString("standard"),
	Enum: []fn.Enum{
		{Value: "standard", Doc: "with `+` and `/`"},
		{Value: "url_safe", Doc: "with `-` and `_`"},
	},
}

// base64Of returns the encoding of an alphabet, without padding; nil if the name is unknown.
func base64Of(charset string) *base64.Encoding {
	switch charset {
	case "standard":
		return rawStd
	case "url_safe":
		return rawURL
	}
	return nil
}

var (
	rawStd = base64.RawStdEncoding.Strict()
	rawURL = base64.RawURLEncoding.Strict()
)

const unknownCharset = "unknown charset"

var encodeBase64 = &fn.Function{
	Name:  "encode_base64",
	Group: fn.Codec,
	Doc:   "Encodes the bytes of the string as Base64.",
	Params: []fn.Param{
		fn.ValueParam("The bytes to encode."),
		{
			Name: "padding", Doc: "Whether the result is padded with `=` to a multiple of four characters.",
			Kind: kind.Boolean, Optional: true, Default: value.NewBool(true),
		},
		base64Charset,
	},
	Returns: kind.String,
	Errors:  []string{"charset is not an alphabet"},
	Examples: []fn.Example{
		{Title: "padded", Source: `encode_base64("cord")`, Result: `"Y29yZA=="`},
		{Title: "not padded", Source: `encode_base64("cord", padding: false)`, Result: `"Y29yZA"`},
		{Title: "for a URL", Source: `encode_base64("a?>b?>", charset: "url_safe")`, Result: `"YT8-Yj8-"`},
	},
	Impl: fn.Impl{F3: func(f *fn.Frame, v, padding, charset value.Value) (value.Value, bool) {
		e := base64Of(charset.Str())
		if e == nil {
			return f.Fail(unknownCharset)
		}
		s := v.Str()
		n := base64.StdEncoding.EncodedLen(len(s))
		if !f.Reserve(n) {
			return value.Value{}, false
		}
		b := e.AppendEncode(f.Bytes(n)[:0], fn.Octets(s))
		for padding.Bool() && len(b) < n {
			b = append(b, '=')
		}
		return value.NewBytes(b), true
	}},
}

var decodeBase64 = &fn.Function{
	Name:  "decode_base64",
	Group: fn.Codec,
	Doc:   "Decodes Base64 to bytes. Padding at the end is optional.",
	Params: []fn.Param{
		fn.ValueParam("The Base64 text."),
		base64Charset,
	},
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{"the string is not Base64 in the alphabet", "charset is not an alphabet"},
	Examples: []fn.Example{
		{Title: "padded", Source: `decode_base64!("Y29yZA==")`, Result: `"cord"`},
		{Title: "not padded, from a URL", Source: `decode_base64!("YT8-Yj8-", charset: "url_safe")`, Result: `"a?>b?>"`},
		{Title: "not Base64", Source: `decode_base64!("a b")`, Fails: `unable to decode value from base64`},
	},
	Impl: fn.Impl{F2: func(f *fn.Frame, v, charset value.Value) (value.Value, bool) {
		e := base64Of(charset.Str())
		if e == nil {
			return f.Fail(unknownCharset)
		}
		s := strings.TrimRight(v.Str(), "=")
		n := e.DecodedLen(len(s))
		if !f.Reserve(n) {
			return value.Value{}, false
		}
		// The package skips line ends, but they are not part of the alphabet.
		if strings.ContainsAny(s, "\r\n") {
			return f.Fail("unable to decode value from base64")
		}
		b, err := e.AppendDecode(f.Bytes(n)[:0], fn.Octets(s))
		if err != nil {
			return f.Fail("unable to decode value from base64")
		}
		return value.NewBytes(b), true
	}},
}

// A byteSet is a set of ASCII characters.
type byteSet [2]uint64

func (s byteSet) has(c byte) bool { return s[c>>6&1]&(1<<(c&63)) != 0 }

// with returns a copy of the set with more characters added.
func (s byteSet) with(chars string) byteSet {
	for i := range len(chars) {
		s[chars[i]>>6&1] |= 1 << (chars[i] & 63)
	}
	return s
}

// The sets of characters that the URL standard requires to be encoded in parts of a URL. Each extends an earlier
// one.
var (
	controlSet   = byteSet{1<<32 - 1, 1 << 63}
	fragmentSet  = controlSet.with(" \"<>`")
	querySet     = controlSet.with(" \"#<>")
	specialSet   = querySet.with("'")
	pathSet      = querySet.with("?`{}")
	userinfoSet  = pathSet.with("/:;=@[\\]^|")
	componentSet = userinfoSet.with("$%&+,")
	formSet      = componentSet.with("!'()~")
	nonAlnumSet  = byteSet{^uint64(0x3ff << 48), ^uint64(0x7fffffe07fffffe)}
)

// percentSets are the names of the sets.
var percentSets = []struct {
	name, doc string
	set       byteSet
}{
	{"NON_ALPHANUMERIC", "all but letters and digits", nonAlnumSet},
	{"CONTROLS", "control characters", controlSet},
	{"FRAGMENT", "characters that a fragment must not contain", fragmentSet},
	{"QUERY", "characters that a query must not contain", querySet},
	{"SPECIAL", "characters that the query of an HTTP URL must not contain", specialSet},
	{"PATH", "characters that a path must not contain", pathSet},
	{"USERINFO", "characters that a user name or password must not contain", userinfoSet},
	{"COMPONENT", "the same as JavaScript's encodeURIComponent", componentSet},
	{"WWW_FORM_URLENCODED", "characters that the fields of a form must not contain", formSet},
}

func percentEnum() []fn.Enum {
	list := make([]fn.Enum, len(percentSets))
	for i, s := range percentSets {
		list[i] = fn.Enum{Value: s.name, Doc: s.doc}
	}
	return list
}

var encodePercent = &fn.Function{
	Name:  "encode_percent",
	Group: fn.Codec,
	Doc: "Replaces characters by a percent sign and two hexadecimal digits for each of their bytes. " +
		"Characters beyond ASCII are always replaced.",
	Params: []fn.Param{
		fn.ValueParam("The string to encode."),
		{
			Name: "ascii_set", Doc: "Which ASCII characters are replaced.", Kind: kind.String, Optional: true,
			Default: value.NewString("NON_ALPHANUMERIC"), Constant: true, Enum: percentEnum(),
		},
	},
	Returns: kind.String,
	Examples: []fn.Example{
		{Title: "all but letters and digits", Source: `encode_percent("a b/ü")`, Result: `"a%20b%2F%C3%BC"`},
		{Title: "a path", Source: `encode_percent("/a b?", ascii_set: "PATH")`, Result: `"/a%20b%3F"`},
	},
	Compile: func(c *fn.Call) (fn.Impl, error) {
		set := nonAlnumSet
		name, _ := c.Const(1)
		for _, s := range percentSets {
			if s.name == name.Str() {
				set = s.set
			}
		}
		return fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
			return percent(f, v.Text(), set)
		}}, nil
	},
}

// percent encodes the characters in the set, and all non-ASCII characters.
func percent(f *fn.Frame, s string, set byteSet) (value.Value, bool) {
	n := 0
	for i := range len(s) {
		if c := s[i]; c >= 0x80 || set.has(c) {
			n++
		}
	}
	if n == 0 {
		return value.NewString(s), true
	}
	if !f.Reserve(len(s) + 2*n) {
		return value.Value{}, false
	}
	const digits = "0123456789ABCDEF"
	b := f.Bytes(len(s) + 2*n)[:0]
	for i := range len(s) {
		if c := s[i]; c >= 0x80 || set.has(c) {
			b = append(b, '%', digits[c>>4], digits[c&15])
		} else {
			b = append(b, c)
		}
	}
	return value.NewBytes(b), true
}

var decodePercent = &fn.Function{
	Name:  "decode_percent",
	Group: fn.Codec,
	Doc: "Replaces each percent sign and the two hexadecimal digits after it with the byte that they encode. " +
		"Bytes that are not valid UTF-8 then become U+FFFD.",
	Params:  []fn.Param{fn.ValueParam("The string to decode.")},
	Returns: kind.String,
	Examples: []fn.Example{
		{Title: "a path", Source: `decode_percent("/a%20b%3f")`, Result: `"/a b?"`},
		{Title: "no digits", Source: `decode_percent("100% + x")`, Result: `"100% + x"`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		s := v.Str()
		at := strings.IndexByte(s, '%')
		if at < 0 {
			return value.NewString(v.Text()), true
		}
		// Invalid UTF-8 may need three times its memory as U+FFFD.
		if !f.Reserve(3 * len(s)) {
			return value.Value{}, false
		}
		b := append(f.Bytes(len(s))[:0], s[:at]...)
		for i := at; i < len(s); i++ {
			if s[i] == '%' && i+2 < len(s) && ascii.HexDigit(s[i+1]) >= 0 && ascii.HexDigit(s[i+2]) >= 0 {
				b = append(b, byte(ascii.HexDigit(s[i+1])<<4|ascii.HexDigit(s[i+2])))
				i += 2
			} else {
				b = append(b, s[i])
			}
		}
		return value.NewString(value.Lossy(fn.Unsafe(b))), true
	}},
}
