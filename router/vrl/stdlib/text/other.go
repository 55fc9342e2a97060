package text

import (
	"math"
	"slices"

	"github.com/rivo/uniseg"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

var shannonEntropy = &fn.Function{
	Name:  "shannon_entropy",
	Group: fn.String,
	Doc: "Returns the entropy of the string in bits per symbol. It is 0 if all symbols are the same, and higher " +
		"if they differ more. Random names have a higher entropy than names that people choose.",
	Params: []fn.Param{
		{Name: "value", Doc: "The string.", Kind: kind.String},
		{
			Name: "segmentation", Doc: "The symbols.", Kind: kind.String, Optional: true,
			Default: value.NewString("byte"), Constant: true,
			Enum: []fn.Enum{
				{Value: "byte", Doc: "bytes"},
				{Value: "codepoint", Doc: "Unicode code points"},
				{Value: "grapheme", Doc: "grapheme clusters"},
			},
		},
	},
	Returns: kind.Float,
	Examples: []fn.Example{
		{Title: "bytes", Source: `shannon_entropy("abcd")`, Result: `2.0`},
		{Title: "characters", Source: `shannon_entropy("éé", segmentation: "codepoint")`, Result: `0.0`},
	},
	Compile: func(c *fn.Call) (fn.Impl, error) {
		how, _ := c.Const(1)
		count := countBytes
		switch how.Str() {
		case "codepoint":
			count = countCodePoints
		case "grapheme":
			count = countGraphemes
		}
		return fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
			if !f.Spend(v.Len() / 8) {
				return value.Value{}, false
			}
			return value.NewFloat(entropy(count(v))), true
		}}, nil
	},
}

// entropy returns the entropy of symbols with the given counts.
func entropy(counts []int) float64 {
	total := 0
	for _, n := range counts {
		total += n
	}
	e := 0.0
	for _, n := range counts {
		if n > 0 && n < total {
			p := float64(n) / float64(total)
			e -= p * math.Log2(p)
		}
	}
	return e
}

func countBytes(v value.Value) []int {
	var n [256]int
	s := v.Str()
	for i := range len(s) {
		n[s[i]]++
	}
	return n[:]
}

func countCodePoints(v value.Value) []int {
	n := make(map[rune]int)
	for _, r := range v.Text() {
		n[r]++
	}
	return sortedCounts(n)
}

func countGraphemes(v value.Value) []int {
	n := make(map[string]int)
	state := -1
	for s := v.Text(); s != ""; {
		var c string
		c, s, _, state = uniseg.FirstGraphemeClusterInString(s, state)
		n[c]++
	}
	return sortedCounts(n)
}

// sortedCounts returns the counts in a fixed order, so that sums of floats are always equal.
func sortedCounts[K comparable](n map[K]int) []int {
	counts := make([]int, 0, len(n))
	for _, c := range n {
		counts = append(counts, c)
	}
	slices.Sort(counts)
	return counts
}

var stripANSI = &fn.Function{
	Name:  "strip_ansi_escape_codes",
	Group: fn.String,
	Doc: "Removes escape sequences, such as sequences for colours, and control characters except line ends and " +
		"tabs.",
	Params:  []fn.Param{{Name: "value", Doc: "The string.", Kind: kind.String}},
	Returns: kind.String,
	Examples: []fn.Example{
		{Title: "a colour", Source: `strip_ansi_escape_codes("\u{1b}[46mfoo\u{1b}[0m bar")`, Result: `"foo bar"`},
		{Title: "a window title", Source: `strip_ansi_escape_codes("\u{1b}]0;title\u{7}foo")`, Result: `"foo"`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		s := v.Text()
		first := 0
		for first < len(s) && !isControl(s[first]) && s[first] != 0xC2 {
			first++
		}
		if first == len(s) {
			return value.NewString(s), true
		}
		if !f.Reserve(len(s)) {
			return value.Value{}, false
		}
		b := f.Bytes(len(s))
		n := copy(b, s[:first])
		for i := first; i < len(s); {
			switch c := s[i]; {
			case c == esc:
				i = skipSequence(s, i+1)
			case isControl(c):
				i++
			case c == 0xC2 && i+1 < len(s) && s[i+1] < 0xA0: // U+0080 to U+009F
				i += 2
			default:
				b[n] = c
				n++
				i++
			}
		}
		return value.NewBytes(b[:n]), true
	}},
}

const (
	bel = 0x07
	can = 0x18
	sub = 0x1A
	esc = 0x1B
)

// isControl reports whether c is an invisible control character. Line ends and tabs are not.
func isControl(c byte) bool { return c < 0x20 && c != '\n' && c != '\r' && c != '\t' }

// skipSequence returns the end of the escape sequence whose ESC is just before i.
func skipSequence(s string, i int) int {
	if i == len(s) {
		return i
	}
	switch s[i] {
	case '[': // CSI: parameters, intermediate bytes, and one final byte
		return skipCSI(s, i+1)
	case ']', 'P', 'X', '^', '_': // OSC, DCS, SOS, PM, APC
		return skipControlString(s, i+1, s[i] == ']')
	}
	for i < len(s) && s[i] >= 0x20 && s[i] <= 0x2F { // intermediate bytes
		i++
	}
	if i < len(s) && s[i] >= 0x30 && s[i] <= 0x7E {
		i++
	}
	return i
}

// skipCSI returns the end of a control sequence from i on, which is after its introducer.
func skipCSI(s string, i int) int {
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c >= 0x40 && c <= 0x7E, c == can, c == sub:
			return i + 1
		case c == esc:
			return i // another sequence starts
		case c >= 0x80:
			return i
		}
	}
	return i
}

// skipControlString returns the end of a control string from i on, which is after its introducer. It is a text up to
// ST, or up to BEL for an OSC.
func skipControlString(s string, i int, osc bool) int {
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c == can, c == sub, c == bel && osc:
			return i + 1
		case c == esc:
			if i+1 < len(s) && s[i+1] == '\\' {
				return i + 2
			}
			return i
		}
	}
	return i
}
