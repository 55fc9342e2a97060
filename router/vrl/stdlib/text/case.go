package text

import (
	"errors"
	"slices"
	"sync"
	"unicode"
	"unicode/utf8"
	"unsafe"

	"github.com/rivo/uniseg"
	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"golang.org/x/text/transform"

	"cordwood/router/vrl/ascii"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// boundaries is a set of the kinds of places where an identifier is split into words.
type boundaries uint16

const (
	atSpace boundaries = 1 << iota
	atHyphen
	atUnderscore
	lowerUpper
	upperLower
	upperDigit
	digitUpper
	lowerDigit
	digitLower
	acronym // before the last of several capitals if a small letter follows: HTTPServer

	atDigits  = upperDigit | digitUpper | lowerDigit | digitLower
	inCamel   = lowerUpper | acronym | atDigits
	byDefault = atSpace | atHyphen | atUnderscore | inCamel
)

// originalCases are the possible cases of the original identifier.
var originalCases = []fn.Enum{
	{Value: "camelCase", Doc: "words start at capitals and digits"},
	{Value: "PascalCase", Doc: "words start at capitals and digits"},
	{Value: "SCREAMING_SNAKE", Doc: "words are split by underscores"},
	{Value: "snake_case", Doc: "words are split by underscores"},
	{Value: "kebab-case", Doc: "words are split by hyphens"},
}

func boundariesOf(originalCase string) boundaries {
	switch originalCase {
	case "camelCase", "PascalCase":
		return inCamel
	case "SCREAMING_SNAKE", "snake_case":
		return atUnderscore
	case "kebab-case":
		return atHyphen
	}
	return byDefault
}

// namedBoundaries are the boundaries that snakecase can ignore.
var namedBoundaries = map[string]boundaries{
	"lower_upper": lowerUpper,
	"upper_lower": upperLower,
	"acronym":     acronym,
	"lower_digit": lowerDigit,
	"upper_digit": upperDigit,
	"digit_lower": digitLower,
	"digit_upper": digitUpper,
}

var (
	camelCase          = changesCase("camelcase", "camelCase", "", false, capitalAfterFirst, `"someInputText"`)
	kebabCase          = changesCase("kebabcase", "kebab-case", "-", false, allLower, `"some-input-text"`)
	pascalCase         = changesCase("pascalcase", "PascalCase", "", false, capital, `"SomeInputText"`)
	screamingSnakeCase = changesCase("screamingsnakecase", "SCREAMING_SNAKE_CASE", "_", false, allUpper,
		`"SOME_INPUT_TEXT"`)
	snakeCase = changesCase("snakecase", "snake_case", "_", true, allLower, `"some_input_text"`)
)

// changesCase returns a function that splits a string into words and joins them in another case. change converts a
// word. Its second argument says whether it is the first word.
func changesCase(name, shown, separator string, excludes bool, change func(b []byte, word string, first bool) []byte,
	example string,
) *fn.Function {
	params := []fn.Param{
		{Name: "value", Doc: "The identifier.", Kind: kind.String},
		{
			Name: "original_case", Kind: kind.String, Optional: true, Constant: true, Enum: originalCases,
			Doc: "The original case of the string. The string is then split only at the boundaries of that case. " +
				"Otherwise it is split at blanks, " +
				"underscores and hyphens, and where capitals, lower-case letters and digits meet.",
		},
	}
	examples := []fn.Example{
		{Title: "any case", Source: name + `("SomeInput-text")`, Result: example},
		{Title: "from a certain case", Source: name + `("some-input-text", original_case: "kebab-case")`, Result: example},
	}
	if excludes {
		params = append(params, fn.Param{
			Name: "excluded_boundaries", Kind: kind.Array, Optional: true, Constant: true,
			Doc: "Boundaries at which the string is not split: lower_upper, upper_lower, acronym, lower_digit, " +
				"upper_digit, digit_lower, digit_upper.",
		})
		examples = append(examples, fn.Example{
			Title: "not before digits", Source: name + `("s3Bucket", excluded_boundaries: ["lower_digit"])`,
			Result: `"s3_bucket"`,
		})
	}
	return &fn.Function{
		Name:     name,
		Group:    fn.String,
		Doc:      "Converts an identifier to " + shown + ".",
		Params:   params,
		Returns:  kind.String,
		Examples: examples,
		Compile: func(c *fn.Call) (fn.Impl, error) {
			from, _ := c.Const(1)
			at := boundariesOf(from.Str())
			if excludes && c.Given(2) {
				list, _ := c.Const(2)
				for _, x := range list.Array().Peek() {
					b, ok := namedBoundaries[x.Str()]
					if !ok {
						return fn.Impl{}, c.BadArgument(2, "unknown boundary %v", x)
					}
					at &^= b
				}
			}
			return fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
				return joinWords(f, v.Text(), at, separator, change)
			}}, nil
		},
	}
}

// joinWords changes the words of s and joins them.
func joinWords(f *fn.Frame, s string, at boundaries, separator string,
	change func([]byte, string, bool) []byte,
) (value.Value, bool) {
	// Non-ASCII characters need table look-ups to find their end and their case.
	steps := len(s)
	if !ascii.Only(s) {
		steps = 8 * len(s)
	}
	if !f.Spend(steps) {
		return value.Value{}, false
	}
	var room [128]byte
	b := room[:0]
	first := true
	add := func(word string) {
		if word == "" {
			return
		}
		if !first {
			b = append(b, separator...)
		}
		b = change(b, word, first)
		first = false
	}
	// left, middle and right are three consecutive characters. Each is classified once.
	start, pos, next := 0, 0, 0
	var left, middle, right character
	step := func() {
		left, middle, right = middle, right, character{}
		if next < len(s) {
			c := cluster(s, next)
			right = character{len(c), splitsAt(c), classOf(c)}
			next += len(c)
		}
	}
	step()
	step()
	for step(); left.bytes > 0; step() {
		end := pos + left.bytes
		if left.splits&at != 0 {
			add(s[start:pos])
			start = end
		} else if middle.bytes > 0 && meet(left.class, middle.class, right.class)&at != 0 {
			add(s[start:end])
			start = end
		}
		pos = end
	}
	add(s[start:])
	return f.Keep(b)
}

// character is a classified character.
type character struct {
	bytes  int // 0 if there is none
	splits boundaries
	class  class
}

// cluster returns the grapheme cluster at i.
func cluster(s string, i int) string {
	if s[i] < 0x80 && (i+1 == len(s) || s[i+1] < 0x80) {
		return s[i : i+1]
	}
	c, _, _, _ := uniseg.FirstGraphemeClusterInString(s[i:], -1)
	return c
}

func splitsAt(c string) boundaries {
	switch c {
	case " ":
		return atSpace
	case "-":
		return atHyphen
	case "_":
		return atUnderscore
	}
	return 0
}

// class is the class of a character.
type class uint8

const (
	other class = iota
	lowerLetter
	upperLetter
	digit
)

func classOf(c string) class {
	switch {
	case c == "":
		return other
	case len(c) == 1 && c[0] < 0x80:
		switch b := c[0]; {
		case b >= 'a' && b <= 'z':
			return lowerLetter
		case b >= 'A' && b <= 'Z':
			return upperLetter
		case b >= '0' && b <= '9':
			return digit
		}
		return other
	}
	isLower, isUpper := true, true // nothing changes in that case
	for _, r := range c {
		isLower = isLower && unicode.ToLower(r) == r
		isUpper = isUpper && unicode.ToUpper(r) == r
	}
	switch {
	case isLower == isUpper:
		return other
	case isUpper:
		return upperLetter
	}
	return lowerLetter
}

// meet returns the boundaries between l and m.
func meet(l, m, right class) boundaries {
	switch {
	case l == lowerLetter && m == upperLetter:
		return lowerUpper
	case l == upperLetter && m == lowerLetter:
		return upperLower
	case l == upperLetter && m == digit:
		return upperDigit
	case l == digit && m == upperLetter:
		return digitUpper
	case l == lowerLetter && m == digit:
		return lowerDigit
	case l == digit && m == lowerLetter:
		return digitLower
	case l == upperLetter && m == upperLetter && right == lowerLetter:
		return acronym
	}
	return 0
}

func allLower(b []byte, word string, _ bool) []byte { return appendCase(b, word, &lowers) }

func allUpper(b []byte, word string, _ bool) []byte { return appendCase(b, word, &uppers) }

func capital(b []byte, word string, _ bool) []byte {
	first := cluster(word, 0)
	b = appendCase(b, first, &uppers)
	return appendCase(b, word[len(first):], &lowers)
}

func capitalAfterFirst(b []byte, word string, first bool) []byte {
	if first {
		return allLower(b, word, first)
	}
	return capital(b, word, first)
}

// Casers have state, so only one run may use one at a time, and they are expensive to create.
var (
	lowers = sync.Pool{New: func() any { c := cases.Lower(language.Und); return &c }}
	uppers = sync.Pool{New: func() any { c := cases.Upper(language.Und); return &c }}
)

// appendCase appends s, valid UTF-8, in another case by the full rules of Unicode.
func appendCase(b []byte, s string, casers *sync.Pool) []byte {
	if ascii.Only(s) {
		from := len(b)
		b = append(b, s...)
		for i, c := range b[from:] {
			switch {
			case casers == &lowers && c >= 'A' && c <= 'Z':
				b[from+i] = c + 'a' - 'A'
			case casers == &uppers && c >= 'a' && c <= 'z':
				b[from+i] = c - ('a' - 'A')
			}
		}
		return b
	}
	caser := casers.Get().(*cases.Caser)
	defer casers.Put(caser)
	caser.Reset()
	src := unsafe.Slice(unsafe.StringData(s), len(s)) // the caser only reads it
	for {
		b = slices.Grow(b, len(src)+utf8.UTFMax)
		n, used, err := caser.Transform(b[len(b):cap(b)], src, true)
		b, src = b[:len(b)+n], src[used:]
		if !errors.Is(err, transform.ErrShortDst) {
			return b
		}
	}
}
