package processor

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"cordwood/proto/nearest"
	"cordwood/router/pipeline/document"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/value"
)

// compileDigest: digest removes the variable parts of a message, so that messages of one kind become equal. The result
// goes to <field>_digest, even if the field list gives a new name. The field itself stays.
//
//	presets: list of parts to remove:
//	         numbers    runs of digits
//	         quoted     the text between two quotation marks of any kind, with them
//	         bracketed  the text between two brackets of any kind, with them; of
//	                    brackets inside each other the innermost
//	         uuid       8-4-4-4-12 hexadecimal digits, as a word
//	         ip         IPv4 addresses and IPv6 addresses in brackets, with their port
//	regex:   list of patterns to remove
//
// At least one of presets and regex must be given. They are applied in the order in which they are written, each to the
// result of the previous one.
func compileDigest(o *Options) Apply {
	fields := o.Fields()
	for i := range fields.List {
		f := &fields.List[i]
		f.Out = o.Name(f.In.Text + "_digest")
	}
	var steps []remover
	presets, patterns := o.Get("presets"), o.Get("regex")
	for _, e := range o.Entries() {
		switch {
		case e.Key == "presets" && presets != nil:
			steps = append(steps, digestPresets(presets)...)
		case e.Key == "regex" && patterns != nil:
			steps = append(steps, digestPatterns(patterns)...)
		}
	}
	if len(steps) == 0 {
		o.Fault(`give "presets" or "regex", a list of at least one`)
	}
	if len(steps) > maxDigestSteps {
		o.Fault("%d presets and patterns, at most %d are allowed", len(steps), maxDigestSteps)
	}
	return fields.EachString(func(rec *Record, fl *Field, s string) error {
		b := append(rec.Scratch[:0], s...)
		rec.Scratch = b
		for i := range steps {
			if m := steps[i].match; m != nil {
				if err := m.spendOnMatches(rec, fn.Unsafe(b)); err != nil {
					return err
				}
			}
			b = steps[i].remove(b)
		}
		if len(b) == len(s) {
			rec.Set(fl.Out, value.NewString(s))
			return nil
		}
		rec.Set(fl.Out, rec.Text(b))
		return nil
	})
}

// digestPatterns compiles the list of patterns.
func digestPatterns(list *document.Node) (steps []remover) {
	for _, n := range list.List() {
		text, ok := n.String()
		if ok && text == "" {
			n.Fault("the pattern is empty")
		} else if ok {
			steps = append(steps, removeRegex(CompileRegex(n, text)))
		}
	}
	return steps
}

const maxDigestSteps = 64

// remover removes parts of b in place and returns what is left.
type remover struct {
	remove func(b []byte) []byte
	match  *matcher // for a pattern, whose cost must be charged first; otherwise nil
}

// presetRemovers has the presets in the order in which messages list them.
var presetRemovers = []struct {
	name   string
	remove func(b []byte) []byte
}{
	{"numbers", removeNumbers},
	{"quoted", removeQuoted},
	{"bracketed", removeBracketed},
	{"uuid", removeUUIDs},
	{"ip", removeIPs},
}

func digestPresets(list *document.Node) []remover {
	var steps []remover
	var names []string
	for _, p := range presetRemovers {
		names = append(names, p.name)
	}
next:
	for _, n := range list.List() {
		text, ok := n.String()
		if !ok {
			continue
		}
		for _, p := range presetRemovers {
			if strings.EqualFold(p.name, text) {
				steps = append(steps, remover{remove: p.remove})
				continue next
			}
		}
		n.Fault("unknown preset %q, expected one of %s%s", Cut(text), strings.Join(names, ", "),
			nearest.DidYouMean(", ", text, names))
	}
	return steps
}

func removeRegex(re *regexp.Regexp) remover {
	if re == nil {
		return remover{} // the pipeline does not compile
	}
	m := newMatcher(re)
	m.wide = nil
	return remover{match: &m, remove: func(b []byte) []byte {
		return re.ReplaceAllLiteral(b, nil)
	}}
}

// removeNumbers removes digits of all scripts.
func removeNumbers(b []byte) []byte {
	to := 0
	for i := 0; i < len(b); {
		c := b[i]
		if c < utf8.RuneSelf {
			if c < '0' || c > '9' {
				b[to] = c
				to++
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		if !unicode.IsDigit(r) {
			to += copy(b[to:], b[i:i+n])
		}
		i += n
	}
	return b[:to]
}

// removeQuoted removes the text between any two quotation marks.
func removeQuoted(b []byte) []byte {
	return removeBetween(b, func(r rune) mark {
		switch r {
		case '"', '\'', '“', '”', '‘', '’':
			return opens | closes
		}
		return 0
	})
}

// removeBracketed removes the text between an opening bracket and the next closing one of any kind, if there is no
// other bracket between them.
func removeBracketed(b []byte) []byte {
	return removeBetween(b, func(r rune) mark {
		switch r {
		case '(', '{', '[', '<':
			return opens
		case ')', '}', ']', '>':
			return closes
		}
		if r < utf8.RuneSelf {
			return 0
		}
		switch r {
		case '「', '『', '【', '〔', '〖', '〘', '〈', '《', '（', '［', '｛', '＜', '｢':
			return opens
		case '」', '』', '】', '〕', '〗', '〙', '〉', '》', '）', '］', '｝', '＞', '｣':
			return closes
		}
		return 0
	})
}

// mark is the role of a character for removeBetween.
type mark uint8

const (
	opens mark = 1 << iota
	closes
)

func removeBetween(b []byte, kind func(rune) mark) []byte {
	to := 0
	start := -1 // in the result: the position of the last opening mark
	for i := 0; i < len(b); {
		r, n := rune(b[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(b[i:])
		}
		k := kind(r)
		if k&closes != 0 && start >= 0 {
			to, start = start, -1
			i += n
			continue
		}
		if k&opens != 0 {
			start = to
		} else if k&closes != 0 {
			start = -1
		}
		to += copy(b[to:], b[i:i+n])
		i += n
	}
	return b[:to]
}

// removeUUIDs removes UUIDs. It finds each one by its first hyphen.
func removeUUIDs(b []byte) []byte {
	to, done := 0, 0 // b[done:] has not been read yet
	for i := 8; i+28 <= len(b); i++ {
		if b[i] != '-' {
			continue
		}
		from := i - 8
		if from < done || !isUUID(b[from:from+36]) || endsInWord(b[done:from]) || beginsWord(b[from+36:]) {
			continue
		}
		to += copy(b[to:], b[done:from])
		done = from + 36
		i = done + 7
	}
	to += copy(b[to:], b[done:])
	return b[:to]
}

func isUUID(b []byte) bool {
	for i, c := range b {
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if !isHex(c) {
				return false
			}
		}
	}
	return true
}

func endsInWord(b []byte) bool {
	r, _ := utf8.DecodeLastRune(b)
	return isWord(r)
}

func beginsWord(b []byte) bool {
	r, _ := utf8.DecodeRune(b)
	return isWord(r)
}

func isWord(r rune) bool {
	return r == '_' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

func removeIPs(b []byte) []byte {
	to := 0
	for i := 0; i < len(b); {
		n := 0
		if c := b[i]; c >= '0' && c <= '9' {
			n = ipv4Length(b[i:])
		} else if c == '[' {
			n = ipv6Length(b[i:])
		}
		if n > 0 {
			i += n + portLength(b[i+n:])
			continue
		}
		b[to] = b[i]
		to++
		i++
	}
	return b[:to]
}

// ipv4Length returns the length of an IPv4 address at the start of b, or 0. Each of its four numbers has up to
// three digits.
func ipv4Length(b []byte) int {
	i := 0
	for part := range 4 {
		if part > 0 {
			if i >= len(b) || b[i] != '.' {
				return 0
			}
			i++
		}
		n := min(digitsLength(b[i:]), 3)
		if n == 0 {
			return 0
		}
		i += n
	}
	return i
}

// maxIPv6 limits the search for the closing bracket of an address.
const maxIPv6 = 64

func ipv6Length(b []byte) int {
	colons := 0
	for i := 1; i < len(b) && i < maxIPv6; i++ {
		switch c := b[i]; {
		case c == ':':
			colons++
		case c == ']' && colons >= 2:
			return i + 1
		case !isHex(c) && c != '.':
			return 0
		}
	}
	return 0
}

func portLength(b []byte) int {
	if len(b) == 0 || b[0] != ':' {
		return 0
	}
	if n := digitsLength(b[1:]); n > 0 {
		return 1 + n
	}
	return 0
}

func digitsLength(b []byte) int {
	i := 0
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	return i
}
