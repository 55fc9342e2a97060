package processor

import (
	"errors"
	"strings"
	"unicode/utf8"

	"cordwood/router/vrl/value"
)

// compileURLEncoding: urlencoding decodes or encodes percent escapes.
//
//	method: decode (default) or encode
//
// encode keeps ASCII letters, digits and - _ . ~ and writes every other byte as %XX, a space as %20. decode keeps a
// +, and a % that is not followed by two hexadecimal digits.
func compileURLEncoding(o *Options) Apply {
	fields := o.Fields()
	if o.Choice("method", "decode", "encode") == "encode" {
		return fields.MapStrings(func(rec *Record, s string) (value.Value, error) {
			b, changed := appendEscaped(rec.Scratch[:0], s)
			if !changed {
				return value.NewString(s), nil
			}
			rec.Scratch = b
			return rec.Text(b), nil
		})
	}
	return fields.MapStrings(func(rec *Record, s string) (value.Value, error) {
		b, changed := appendUnescaped(rec.Scratch[:0], s)
		if !changed {
			if !utf8.ValidString(s) {
				return value.None, errNotUTF8
			}
			return value.NewString(s), nil
		}
		rec.Scratch = b
		if !utf8.Valid(b) {
			return value.None, errNotUTF8
		}
		return rec.Text(b), nil
	})
}

var errNotUTF8 = errors.New("the decoded text is not UTF-8")

// appendEscaped appends s to dst with percent escapes. If s needs none, it appends nothing and returns false.
func appendEscaped(dst []byte, s string) ([]byte, bool) {
	i := 0
	for i < len(s) && isUnreserved(s[i]) {
		i++
	}
	if i == len(s) {
		return dst, false
	}
	const digits = "0123456789ABCDEF"
	dst = append(dst, s[:i]...)
	for ; i < len(s); i++ {
		if c := s[i]; isUnreserved(c) {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', digits[c>>4], digits[c&15])
		}
	}
	return dst, true
}

func isUnreserved(c byte) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return true
	}
	return c == '-' || c == '_' || c == '.' || c == '~'
}

// appendUnescaped appends s to dst with its percent escapes decoded. If s has none, it appends nothing and returns
// true.
func appendUnescaped(dst []byte, s string) ([]byte, bool) {
	changed := false
	for {
		i := strings.IndexByte(s, '%')
		if i < 0 {
			if !changed {
				return dst, false
			}
			return append(dst, s...), true
		}
		dst = append(dst, s[:i]...)
		s = s[i:]
		if len(s) >= 3 && isHex(s[1]) && isHex(s[2]) {
			dst = append(dst, unhex(s[1])<<4|unhex(s[2]))
			s, changed = s[3:], true
			continue
		}
		dst = append(dst, '%')
		s = s[1:]
	}
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// unhex returns the value of a hexadecimal digit.
func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c&^0x20 - 'A' + 10
}
