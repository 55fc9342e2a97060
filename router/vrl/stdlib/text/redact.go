package text

import (
	"crypto/sha256"
	"crypto/sha3"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/pattern"
	"cordwood/router/vrl/value"
)

var redact = &fn.Function{
	Name:  "redact",
	Group: fn.String,
	Doc: "Replaces secret text in a string, or in all strings of an object or array. The filters determine " +
		"which text is replaced. A filter is a regular expression, the name us_social_security_number, or an object with a " +
		"type, which is this name or " +
		"pattern; for pattern, it has a list patterns of regular expressions or strings. The redactor is full (the text is " +
		"replaced by [REDACTED]), sha2 or sha3 (by a hash), or an object whose type is one of these or text. An " +
		"object of type text has a replacement. For sha2 and sha3 it may have a variant, such as SHA-256, and an encoding, " +
		"base64 or base16.",
	Params: []fn.Param{
		{Name: "value", Doc: "The value to redact.", Kind: kind.Or(kind.String, kind.Object, kind.Array)},
		{Name: "filters", Doc: "The filters.", Kind: kind.Array, Constant: true},
		{
			Name: "redactor", Doc: "The redactor.", Kind: kind.Or(kind.String, kind.Object), Optional: true,
			Default: value.NewString("full"), Constant: true,
		},
	},
	Deep: true,
	Examples: []fn.Example{
		{Title: "by a pattern", Source: `redact("my id is 123456", filters: [r'\d+'])`, Result: `"my id is [REDACTED]"`},
		{
			Title:  "in an object",
			Source: `redact({"ssn": "123-12-1234"}, filters: ["us_social_security_number"])`,
			Result: `{"ssn":"[REDACTED]"}`,
		},
		{
			Title:  "by a text",
			Source: `redact("my id is 123456", filters: [r'\d+'], redactor: {"type": "text", "replacement": "***"})`,
			Result: `"my id is ***"`,
		},
		{
			Title:  "by a hash",
			Source: `redact("id 7", filters: [r'\d+'], redactor: {"type": "sha2", "variant": "SHA-256", "encoding": "base16"})`,
			Result: `"id 7902699be42c8a8e46fbbb4501726517e86b22c56a189f7625a6da49081b2451"`,
		},
	},
	Type: func(c *fn.Call) fn.TypeDef {
		return fn.TypeDef{Kind: c.Kind(0).Only(kind.StringBit | kind.ObjectBit | kind.ArrayBit)}
	},
	Compile: func(c *fn.Call) (fn.Impl, error) {
		list, _ := c.Const(1)
		var filters []redactFilter
		for _, x := range list.Array().Peek() {
			more, err := filtersOf(x)
			if err != nil {
				return fn.Impl{}, c.BadArgument(1, "%s", err)
			}
			filters = append(filters, more...)
		}
		how, _ := c.Const(2)
		r, err := redactorOf(how)
		if err != nil {
			return fn.Impl{}, c.BadArgument(2, "%s", err)
		}
		return fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
			return redactValue(f, v, filters, r)
		}}, nil
	},
}

// redactFilter finds what redact replaces: matches of a pattern, or a text.
type redactFilter struct {
	re   *pattern.Regex
	text string
}

// redactor appends the replacement for a text to b.
type redactor func(b []byte, found string) []byte

// socialSecurity matches numbers that may be assigned: no part is all zeros, and the first part is neither 666 nor
// above 899.
const socialSecurity = `(?:00[1-9]|0[1-9][0-9]|[1-578][0-9]{2}|6[0-57-9][0-9]|66[0-57-9])` +
	`-(?:0[1-9]|[1-9][0-9])-(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})`

func filtersOf(v value.Value) ([]redactFilter, error) {
	name := v.Str()
	switch v.Kind() {
	case value.Regex:
		return []redactFilter{{re: v.Regex()}}, nil
	case value.Object:
		t, _ := v.Object().PeekGet("type")
		if !t.IsString() {
			return nil, errors.New("a filter that is an object needs a type, which is a string")
		}
		name = t.Str()
	case value.String:
	default:
		return nil, fmt.Errorf("a filter must be a string, a regex or an object, not %v", v.Kind())
	}
	switch name {
	case "us_social_security_number":
		re, err := pattern.Compile(socialSecurity)
		return []redactFilter{{re: re}}, err
	case "pattern":
		list, _ := value.Value{}, false
		if o := v.Object(); o != nil {
			list, _ = o.PeekGet("patterns")
		}
		if list.Array() == nil {
			return nil, errors.New("a filter of type pattern needs patterns, which is an array")
		}
		var out []redactFilter
		for _, x := range list.Array().Peek() {
			switch {
			case x.Regex() != nil:
				out = append(out, redactFilter{re: x.Regex()})
			case x.Len() > 0 && x.IsString():
				out = append(out, redactFilter{text: x.Text()})
			default:
				return nil, fmt.Errorf("a pattern must be a regex or a string that is not empty, not %v", x)
			}
		}
		return out, nil
	}
	return nil, fmt.Errorf("unknown filter %q", name)
}

func redactorOf(v value.Value) (redactor, error) {
	name := v.Str()
	if v.Object() != nil {
		var err error
		if name, err = redactorField(v, "type", ""); err != nil {
			return nil, err
		}
	}
	switch name {
	case "full":
		return func(b []byte, _ string) []byte { return append(b, "[REDACTED]"...) }, nil
	case "text":
		with, err := redactorField(v, "replacement", "")
		return func(b []byte, _ string) []byte { return append(b, with...) }, err
	case "sha2", "sha3":
		return hashRedactor(v, name)
	}
	return nil, fmt.Errorf("unknown redactor %q", name)
}

// hashRedactor returns the redactor that writes the hash of a text, sha2 or sha3, in place of the text.
func hashRedactor(v value.Value, name string) (redactor, error) {
	other := "SHA-512/256"
	if name == "sha3" {
		other = "SHA3-512"
	}
	variant, err := redactorField(v, "variant", other)
	if err != nil {
		return nil, err
	}
	hash := hashOf(name, variant)
	if hash == nil {
		return nil, fmt.Errorf("unknown variant %q of %s", variant, name)
	}
	encoding, err := redactorField(v, "encoding", "base64")
	if err != nil {
		return nil, err
	}
	switch encoding {
	case "base64":
		return func(b []byte, found string) []byte { return base64.StdEncoding.AppendEncode(b, hash([]byte(found))) }, nil
	case "base16":
		return func(b []byte, found string) []byte { return hex.AppendEncode(b, hash([]byte(found))) }, nil
	}
	return nil, fmt.Errorf("unknown encoding %q", encoding)
}

// redactorField returns a field of the object that describes a redactor. A missing field has the value other. If
// other is empty, the field must be there.
func redactorField(v value.Value, key, other string) (string, error) {
	x, ok := value.Value{}, false
	if o := v.Object(); o != nil {
		x, ok = o.PeekGet(key)
	}
	switch {
	case !ok && other != "":
		return other, nil
	case !x.IsString():
		return "", fmt.Errorf("the redactor needs a %s, which is a string", key)
	}
	return x.Text(), nil
}

// hashOf returns the hash function of a family; nil if the name is unknown.
func hashOf(family, variant string) func([]byte) []byte {
	if family == "sha3" {
		switch variant {
		case "SHA3-224":
			return func(b []byte) []byte { h := sha3.Sum224(b); return h[:] }
		case "SHA3-256":
			return func(b []byte) []byte { h := sha3.Sum256(b); return h[:] }
		case "SHA3-384":
			return func(b []byte) []byte { h := sha3.Sum384(b); return h[:] }
		case "SHA3-512":
			return func(b []byte) []byte { h := sha3.Sum512(b); return h[:] }
		}
		return nil
	}
	switch variant {
	case "SHA-224":
		return func(b []byte) []byte { h := sha256.Sum224(b); return h[:] }
	case "SHA-256":
		return func(b []byte) []byte { h := sha256.Sum256(b); return h[:] }
	case "SHA-384":
		return func(b []byte) []byte { h := sha512.Sum384(b); return h[:] }
	case "SHA-512":
		return func(b []byte) []byte { h := sha512.Sum512(b); return h[:] }
	case "SHA-512/224":
		return func(b []byte) []byte { h := sha512.Sum512_224(b); return h[:] }
	case "SHA-512/256":
		return func(b []byte) []byte { h := sha512.Sum512_256(b); return h[:] }
	}
	return nil
}

func redactValue(f *fn.Frame, v value.Value, filters []redactFilter, r redactor) (value.Value, bool) {
	switch v.Kind() {
	case value.Array, value.Object:
		return value.Map(v, func(x value.Value) (value.Value, bool) { return redactValue(f, x, filters, r) })
	case value.String:
	default:
		return v, true
	}
	for _, x := range filters {
		s, ok := v.Text(), true
		if x.re != nil {
			v, ok = replaceRegex(f, s, x.re, -1, func(b []byte, loc []int) ([]byte, bool) {
				return r(b, s[loc[0]:loc[1]]), true
			})
		} else if strings.Contains(s, x.text) {
			v, ok = replaceText(f, s, x.text, string(r(nil, x.text)), -1)
		}
		if !ok {
			return v, false
		}
	}
	return v, true
}
