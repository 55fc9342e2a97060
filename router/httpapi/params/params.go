// Package params parses the parameters of requests that are not in the body: the query string, the pipeline
// parameters header and the table hint headers.
//
// The query string is parsed more leniently than by net/url, because clients send time formats in it without
// escaping them. Only '&' separates pairs, ';' is ordinary text, and an invalid escape stays unchanged. A form body
// has the same syntax.
//
// The package only parses. The caller checks the names and interprets the values. All errors are *errs.Error of code
// InvalidArguments. Values may be read by any number of goroutines.
package params

import (
	"strconv"
	"strings"

	"cordwood/proto/errs"
)

// MaxPairs limits the number of pairs of one query string or form.
const MaxPairs = 1000

// usualPairs is the number of pairs for which memory is allocated at once.
const usualPairs = 8

// Values has the pairs of a query string, in order.
type Values struct {
	pairs []pair
}

type pair struct{ name, value string }

// Parse parses a raw query string or a form body. It fails only if there are more than MaxPairs pairs. After
// decoding, bytes that are not UTF-8 become U+FFFD.
func Parse(raw string) (Values, error) {
	var v Values
	for raw != "" {
		part, rest, _ := strings.Cut(raw, "&")
		raw = rest
		if part == "" {
			continue
		}
		if len(v.pairs) == MaxPairs {
			return Values{}, errs.New(errs.InvalidArguments, "reading the query string: more than %d parameters", MaxPairs)
		}
		if v.pairs == nil {
			v.pairs = make([]pair, 0, min(strings.Count(raw, "&")+2, usualPairs))
		}
		name, value, _ := strings.Cut(part, "=")
		v.pairs = append(v.pairs, pair{name: Unescape(name), value: Unescape(value)})
	}
	return v, nil
}

// ParseOnce parses a raw query string in which each of the named parameters may appear once.
func ParseOnce(raw string, names ...string) (Values, error) {
	v, err := Parse(raw)
	if err != nil {
		return Values{}, err
	}
	return v, v.Once(names...)
}

// Unescape decodes '+' as a space, and each valid %XX. Invalid escapes stay unchanged.
func Unescape(s string) string {
	if strings.IndexByte(s, '%') < 0 && strings.IndexByte(s, '+') < 0 {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '+':
			b = append(b, ' ')
		case c == '%' && i+2 < len(s) && hex(s[i+1]) >= 0 && hex(s[i+2]) >= 0:
			b = append(b, byte(hex(s[i+1])<<4|hex(s[i+2])))
			i += 2
		default:
			b = append(b, c)
		}
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// hex returns the value of a hexadecimal digit, or -1.
func hex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// Get returns the first value of a parameter, or "".
func (v Values) Get(name string) string {
	s, _ := v.Lookup(name)
	return s
}

// Lookup returns the first value of a parameter, and whether there is one.
func (v Values) Lookup(name string) (value string, found bool) {
	for i := range v.pairs {
		if v.pairs[i].name == name {
			return v.pairs[i].value, true
		}
	}
	return "", false
}

// All returns all values of a parameter, in order.
func (v Values) All(name string) []string {
	var out []string
	for i := range v.pairs {
		if v.pairs[i].name == name {
			out = append(out, v.pairs[i].value)
		}
	}
	return out
}

// Once returns an error if one of the named parameters is given more than once.
func (v Values) Once(names ...string) error {
	for _, name := range names {
		n := 0
		for i := range v.pairs {
			if v.pairs[i].name == name {
				n++
			}
		}
		if n > 1 {
			return errs.New(errs.InvalidArguments, "parameter %s is given %d times: give it once", name, n)
		}
	}
	return nil
}

// String returns the value of a parameter, "" if it is absent, and an error if it is
// given more than once.
func (v Values) String(name string) (string, error) {
	if err := v.Once(name); err != nil {
		return "", err
	}
	return v.Get(name), nil
}

// Bool returns the value of a parameter, which must be exactly "true" or "false". If the parameter is missing, it
// returns absent.
func (v Values) Bool(name string, absent bool) (bool, error) {
	if err := v.Once(name); err != nil {
		return false, err
	}
	switch s, found := v.Lookup(name); {
	case !found:
		return absent, nil
	case s == "true":
		return true, nil
	case s == "false":
		return false, nil
	default:
		return false, errs.New(errs.InvalidArguments, "parameter %s is %s: it must be true or false", name, Quote(s))
	}
}

// Quote shortens a client's text and puts it in quotes, for an error.
func Quote(s string) string {
	if len(s) > 64 {
		s = strings.ToValidUTF8(s[:64], "") + "…"
	}
	return strconv.Quote(s)
}
