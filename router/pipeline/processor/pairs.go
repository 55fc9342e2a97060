package processor

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"cordwood/router/vrl/value"
)

// pairSyntax is the syntax of a text with pairs of keys and values.
type pairSyntax struct {
	fieldSplit string // separates pairs; "" means any white space
	valueSplit string
	// closing has, for each byte that may open a quoted key or value, the byte that closes it. It is 0 for all others.
	closing [256]byte
	// unescape appends a quoted text with backslashes to dst, without the escapes.
	unescape func(dst []byte, s string) []byte
}

// pair is one pair in a text. It may have only a key.
type pair struct {
	key, value             quotable
	given                  bool
	keyQuoted, valueQuoted bool
}

// quotable is a key or value without its quotation marks.
type quotable struct {
	text    string
	escaped bool // whether it has escapes
}

// pairScanner reads the pairs of a text in one pass.
type pairScanner struct {
	*pairSyntax
	rest     string
	unclosed [4]uint64 // set of the quotation marks that are not closed in rest
}

// next returns the next pair. At the end it returns false. It skips parts without a key.
func (p *pairScanner) next() (found pair, ok bool) {
	for {
		if p.fieldSplit == "" {
			p.rest = trimSpaceLeft(p.rest)
		}
		if p.rest == "" {
			return pair{}, false
		}
		found = pair{}
		n := 0
		found.key, n, found.keyQuoted = p.quoted(p.valueSplit)
		if !found.keyQuoted {
			n += p.untilSplit(n)
			found.key.text = p.rest[:n]
		}
		p.rest = p.rest[n:]
		if found.given = strings.HasPrefix(p.rest, p.valueSplit); found.given {
			p.rest = p.rest[len(p.valueSplit):]
			found.value, n, found.valueQuoted = p.quoted("")
			if !found.valueQuoted {
				n += p.untilField(n)
				found.value = quotable{text: p.rest[:n]}
			}
			p.rest = p.rest[n:]
		}
		p.rest = strings.TrimPrefix(p.rest, p.fieldSplit)
		if found.key.text != "" {
			return found, true
		}
	}
}

// quoted reads a quoted text at the start of rest, if the end of the pair or the text after follows it. If there is no
// such text, n is the end of a quoted text that other text follows directly, or 0.
func (p *pairScanner) quoted(after string) (q quotable, n int, ok bool) {
	if p.rest == "" {
		return q, 0, false
	}
	open := p.rest[0]
	closing := p.closing[open]
	if closing == 0 || p.unclosed[open>>6]&(1<<(open&63)) != 0 {
		return q, 0, false
	}
	for i := 1; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == '\\' && p.unescape != nil && i+1 < len(p.rest):
			q.escaped = true
			i++
		case c == closing:
			q.text, n = p.rest[1:i], i+1
			rest := p.rest[n:]
			if rest == "" || p.atField(rest) || after != "" && strings.HasPrefix(rest, after) {
				return q, n, true
			}
			return quotable{}, n, false
		}
	}
	p.unclosed[open>>6] |= 1 << (open & 63)
	return quotable{}, 0, false
}

func (p *pairScanner) atField(s string) bool {
	if p.fieldSplit == "" {
		return isSpace(s[0])
	}
	return strings.HasPrefix(s, p.fieldSplit)
}

// untilField returns the number of bytes from rest[from] to the end of the pair.
func (p *pairScanner) untilField(from int) int {
	s := p.rest[from:]
	if p.fieldSplit == "" {
		for i := range len(s) {
			if isSpace(s[i]) {
				return i
			}
		}
		return len(s)
	}
	if i := strings.Index(s, p.fieldSplit); i >= 0 {
		return i
	}
	return len(s)
}

// untilSplit returns the number of bytes from rest[from] to the end of the key.
func (p *pairScanner) untilSplit(from int) int {
	n := p.untilField(from)
	if i := strings.Index(p.rest[from:from+n], p.valueSplit); i >= 0 {
		return i
	}
	return n
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f'
}

func trimSpaceLeft(s string) string {
	for s != "" && isSpace(s[0]) {
		s = s[1:]
	}
	return s
}

// pairOptions has the common options of the processors for pairs.
type pairOptions struct {
	fields             Fields
	prefix             string
	standalone         bool
	include, exclude   map[string]bool
	trimKey, trimValue string
}

func readPairOptions(o *Options, standalone bool) pairOptions {
	return pairOptions{
		fields:     o.Fields(),
		prefix:     o.String("prefix", ""),
		standalone: o.Bool("standalone_keys", standalone),
		include:    nameSet(o, "include_keys"),
		exclude:    nameSet(o, "exclude_keys"),
	}
}

// nameSet returns a list of names; nil if it is absent.
func nameSet(o *Options, key string) map[string]bool {
	n := o.Get(key)
	if n == nil {
		return nil
	}
	set := map[string]bool{}
	for _, s := range n.Strings() {
		set[s] = true
	}
	if n.IsList() && len(n.List()) == 0 {
		n.Fault("the list is empty")
	}
	return set
}

// apply returns a processor that parses pairs in the syntax.
func (p pairOptions) apply(syntax *pairSyntax) Apply {
	return p.fields.EachString(func(rec *Record, fl *Field, s string) error {
		out := rec.spread(fl, p.prefix)
		scanner := pairScanner{pairSyntax: syntax, rest: s}
		for {
			found, ok := scanner.next()
			if !ok {
				break
			}
			if !found.given && !p.standalone {
				continue
			}
			if err := rec.Reserve(fieldSize); err != nil {
				out.done()
				return err
			}
			key := p.text(rec, syntax, found.key, p.trimKey)
			if key == "" || p.include != nil && !p.include[key] || p.exclude[key] {
				continue
			}
			if found.given {
				out.add(key, value.NewString(p.text(rec, syntax, found.value, p.trimValue)))
			} else {
				out.add(key, value.NewBool(true))
			}
		}
		out.done()
		return nil
	})
}

func (p pairOptions) text(rec *Record, syntax *pairSyntax, q quotable, trim string) string {
	text := q.text
	if q.escaped {
		rec.Scratch = syntax.unescape(rec.Scratch[:0], text)
		text = rec.TextOf(rec.Scratch)
	}
	if trim != "" {
		text = strings.Trim(text, trim)
	}
	return text
}

// unescapeMarks removes the backslash before quotation marks, brackets and backslashes.
func unescapeMarks(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("\\\"'`()[]{}<>", s[i+1]) >= 0 {
			i++
		}
		dst = append(dst, s[i])
	}
	return dst
}

// unescapeAll decodes escapes of JSON and Go.
func unescapeAll(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '\\' || i+1 == len(s) {
			dst = append(dst, c)
			continue
		}
		i++
		switch s[i] {
		case 'n':
			dst = append(dst, '\n')
		case 't':
			dst = append(dst, '\t')
		case 'r':
			dst = append(dst, '\r')
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case '"', '\'', '\\', '/':
			dst = append(dst, s[i])
		case 'u':
			r, n := unescapeUnicode(s[i+1:])
			if n == 0 {
				dst = append(dst, '\\', 'u')
				continue
			}
			dst = utf8.AppendRune(dst, r)
			i += n
		default:
			dst = append(dst, '\\', s[i])
		}
	}
	return dst
}

// unescapeUnicode decodes the four hexadecimal digits after \u, and the second half of a surrogate pair. It returns
// the number of bytes read; 0 if the digits are missing.
func unescapeUnicode(s string) (rune, int) {
	hex := func(s string) (rune, bool) {
		if len(s) < 4 {
			return 0, false
		}
		n, err := strconv.ParseUint(s[:4], 16, 16)
		return rune(n), err == nil
	}
	r, ok := hex(s)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(r) {
		if len(s) >= 10 && s[4:6] == `\u` {
			if low, ok := hex(s[6:]); ok {
				if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
					return pair, 10
				}
			}
		}
		r = utf8.RuneError
	}
	return r, 4
}
