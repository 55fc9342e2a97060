package processor

import (
	"unicode"
	"unicode/utf8"

	"cordwood/router/vrl/value"
)

// compileLetter: letter changes the case of strings.
//
//	method: upper, lower (default) or capital, which raises the first letter only
func compileLetter(o *Options) Apply {
	fields := o.Fields()
	convert := lower
	switch o.Choice("method", "lower", "upper", "capital") {
	case "upper":
		convert = upper
	case "capital":
		convert = capital
	}
	return fields.MapStrings(func(rec *Record, s string) (value.Value, error) {
		b, changed := convert(rec.Scratch[:0], s)
		if !changed {
			return value.NewString(s), nil
		}
		rec.Scratch = b
		return rec.Text(b), nil
	})
}

// lower appends s in lower case to dst. If s is already in lower case, it appends nothing and returns false.
func lower(dst []byte, s string) ([]byte, bool) {
	for i := range len(s) {
		if c := s[i]; c >= 'A' && c <= 'Z' {
			return mapLetters(dst, s, i, unicode.ToLower), true
		} else if c >= utf8.RuneSelf {
			return mapLetters(dst, s, i, unicode.ToLower), true
		}
	}
	return nil, false
}

func upper(dst []byte, s string) ([]byte, bool) {
	for i := range len(s) {
		if c := s[i]; c >= 'a' && c <= 'z' || c >= utf8.RuneSelf {
			return mapLetters(dst, s, i, unicode.ToUpper), true
		}
	}
	return nil, false
}

func capital(dst []byte, s string) ([]byte, bool) {
	r, n := utf8.DecodeRuneInString(s)
	up := unicode.ToUpper(r)
	if n == 0 || up == r {
		return nil, false
	}
	return append(utf8.AppendRune(dst, up), s[n:]...), true
}

// mapLetters appends s to dst. From byte from on, it replaces each character by the result of f. Bytes that are not
// UTF-8 stay unchanged.
func mapLetters(dst []byte, s string, from int, f func(rune) rune) []byte {
	dst = append(dst, s[:from]...)
	for i := from; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			dst = append(dst, s[i])
		} else {
			dst = utf8.AppendRune(dst, f(r))
		}
		i += n
	}
	return dst
}
