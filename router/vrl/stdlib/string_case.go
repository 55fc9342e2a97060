package stdlib

import (
	"strings"

	"github.com/rivo/uniseg"
	"golang.org/x/text/cases"
	"golang.org/x/text/language"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// boundaries is a set of places where an identifier is split into words.
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
	acronym // before the last capital of several that a small letter follows: HTTPServer

	atDigits  = upperDigit | digitUpper | lowerDigit | digitLower
	inCamel   = lowerUpper | acronym | atDigits
	byDefault = atSpace | atHyphen | atUnderscore | inCamel
)

// originalCases are the cases that an identifier may be said to be in.
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

// namedBoundaries are those that snakecase can be told to disregard.
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
	screamingSnakeCase = changesCase("screamingsnakecase", "SCREAMING_SNAKE_CASE", "_", false, allUpper, `"SOME_INPUT_TEXT"`)
	snakeCase          = changesCase("snakecase", "snake_case", "_", true, allLower, `"some_input_text"`)
)

// changesCase makes a function that splits a string into words and joins them in another
// case. change changes a word, which is the first or not.
func changesCase(name, shown, separator string, excludes bool, change func(b []byte, word string, first bool) []byte, example string) *fn.Function {
	params := []fn.Param{
		{Name: "value", Doc: "The identifier.", Kind: kind.String},
		{
			Name: "original_case", Kind: kind.String, Optional: true, Constant: true, Enum: originalCases,
			Doc: "The case that the string is in, so that it is split only where that case splits; else it is split at blanks, " +
				"underscores and hyphens and where capitals, small letters and digits meet.",
		},
	}
	examples := []fn.Example{
		{Title: "any case", Source: name + `("SomeInput-text")`, Result: example},
		{Title: "from a certain case", Source: name + `("some-input-text", original_case: "kebab-case")`, Result: example},
	}
	if excludes {
		params = append(params, fn.Param{
			Name: "excluded_boundaries", Kind: kind.Array, Optional: true, Constant: true,
			Doc: "Where not to split: lower_upper, upper_lower, acronym, lower_digit, upper_digit, digit_lower, digit_upper.",
		})
		examples = append(examples, fn.Example{
			Title: "not before digits", Source: name + `("s3Bucket", excluded_boundaries: ["lower_digit"])`, Result: `"s3_bucket"`,
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
func joinWords(f *fn.Frame, s string, at boundaries, separator string, change func([]byte, string, bool) []byte) (value.Value, bool) {
	if !f.Spend(len(s) / 4) {
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
	start := 0
	for i := 0; i < len(s); {
		left := cluster(s, i)
		end := i + len(left)
		if splitsAt(left)&at != 0 {
			add(s[start:i])
			start = end
		} else if end < len(s) {
			middle := cluster(s, end)
			right := ""
			if next := end + len(middle); next < len(s) {
				right = cluster(s, next)
			}
			if meet(left, middle, right)&at != 0 {
				add(s[start:end])
				start = end
			}
		}
		i = end
	}
	add(s[start:])
	return f.Keep(b)
}

// cluster returns the character, as people see it, that is at i.
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

// class is what a character is.
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
	low, up := strings.ToLower(c), strings.ToUpper(c)
	switch {
	case low == up:
		return other
	case c == up:
		return upperLetter
	case c == low:
		return lowerLetter
	}
	return other
}

// meet returns the boundaries that are between left and middle.
func meet(left, middle, right string) boundaries {
	l, m := classOf(left), classOf(middle)
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
	case l == upperLetter && m == upperLetter && classOf(right) == lowerLetter:
		return acronym
	}
	return 0
}

func allLower(b []byte, word string, _ bool) []byte { return append(b, lower(word)...) }

func allUpper(b []byte, word string, _ bool) []byte { return append(b, upper(word)...) }

func capital(b []byte, word string, _ bool) []byte {
	first := cluster(word, 0)
	b = append(b, upper(first)...)
	return append(b, lower(word[len(first):])...)
}

func capitalAfterFirst(b []byte, word string, first bool) []byte {
	if first {
		return allLower(b, word, first)
	}
	return capital(b, word, first)
}

// upper returns s, valid UTF-8, in upper case by the full rules of Unicode.
func upper(s string) string {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return cases.Upper(language.Und).String(s)
		}
	}
	return strings.ToUpper(s)
}
