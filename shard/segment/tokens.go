package segment

import (
	"encoding/binary"
	"slices"
	"unicode"
	"unicode/utf8"
)

// analyzer separates text into tokens: runs of letters and digits, in lower case unless
// caseSensitive is set. If chinese is set, every Han character is a token.
type analyzer struct {
	chinese, caseSensitive bool
}

// The kinds of a byte of text, as bits.
const (
	kindPlain byte = 1 << iota // a letter or digit that goes into a token unchanged
	kindUpper                  // an upper-case ASCII letter
	kindOther                  // a part of a non-ASCII character
)

// byteKinds maps a byte to its kind; 0 is a byte between tokens.
var byteKinds = func() (kinds [256]byte) {
	for i := range kinds {
		switch c := byte(i); {
		case c >= utf8.RuneSelf:
			kinds[i] = kindOther
		case c >= 'A' && c <= 'Z':
			kinds[i] = kindUpper
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			kinds[i] = kindPlain
		}
	}
	return kinds
}()

// each calls f with the tokens of text; f must not keep them. buf is scratch memory, which each
// returns for the next call.
func (a analyzer) each(text, buf []byte, f func(token []byte)) []byte {
	for at := 0; at < len(text); at++ {
		from, seen := at, byte(0)
		for ; at < len(text); at++ {
			kind := byteKinds[text[at]]
			if kind == 0 {
				break
			}
			seen |= kind
		}
		switch run := text[from:at]; {
		case len(run) == 0:
		case seen&kindOther != 0:
			buf = a.eachOf(run, buf, f)
		case seen&kindUpper == 0 || a.caseSensitive:
			f(run)
		default:
			buf = appendLower(buf[:0], run)
			f(buf)
		}
	}
	return buf
}

// lowerBits are the bits that distinguish lower-case letters from upper-case ones. Digits have them, too.
const lowerBits = 0x20 * everyByte

// appendLower appends ASCII letters and digits in lower case.
func appendLower(to, run []byte) []byte {
	at := len(to)
	to = slices.Grow(to, len(run))[:at+len(run)]
	out := to[at:]
	for ; len(run) >= 8 && len(out) >= 8; run, out = run[8:], out[8:] {
		binary.LittleEndian.PutUint64(out, binary.LittleEndian.Uint64(run)|lowerBits)
	}
	for i, c := range run {
		out[i] = c | lowerBits&0xff
	}
	return to
}

// eachOf is like each, for text with non-ASCII characters.
func (a analyzer) eachOf(text, buf []byte, f func(token []byte)) []byte {
	buf = buf[:0]
	flush := func() {
		if len(buf) > 0 {
			f(buf)
			buf = buf[:0]
		}
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		i += size
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
		case a.chinese && unicode.Is(unicode.Han, r):
			flush()
			buf = utf8.AppendRune(buf, r)
			flush()
		case a.caseSensitive:
			buf = utf8.AppendRune(buf, r)
		default:
			buf = utf8.AppendRune(buf, unicode.ToLower(r))
		}
	}
	flush()
	return buf
}

// hashSet is a set of hashes. The zero value is empty.
type hashSet struct {
	slots []uint64 // the length is a power of two, at most half of the slots are used, and 0 marks a free one
	n     int
	zero  bool // whether the hash 0 is in the set
	// recent are hashes that were added recently. Words repeat, so most hashes are found here
	// without a search in slots.
	recent [1 << recentBits]uint64
}

const (
	recentBits   = 11
	minHashSlots = 1 << 10
)

// met reports whether a hash was added recently, and records it.
func (s *hashSet) met(h uint64) bool {
	at := &s.recent[h>>(64-recentBits)]
	if *at == h && h != 0 {
		return true
	}
	*at = h
	return false
}

// add adds a hash.
func (s *hashSet) add(h uint64) {
	if h == 0 {
		if !s.zero {
			s.zero, s.n = true, s.n+1
		}
		return
	}
	if 2*s.n >= len(s.slots) {
		s.grow()
	}
	mask := uint64(len(s.slots) - 1)
	for at := h & mask; ; at = (at + 1) & mask {
		switch s.slots[at] {
		case h:
			return
		case 0:
			s.slots[at] = h
			s.n++
			return
		}
	}
}

// grow doubles the slots.
func (s *hashSet) grow() {
	old := s.slots
	s.slots = make([]uint64, max(2*len(old), minHashSlots))
	mask := uint64(len(s.slots) - 1)
	for _, h := range old {
		if h == 0 {
			continue
		}
		at := h & mask
		for s.slots[at] != 0 {
			at = (at + 1) & mask
		}
		s.slots[at] = h
	}
}

// each calls f with all hashes.
func (s *hashSet) each(f func(h uint64)) {
	if s.zero {
		f(0)
	}
	for _, h := range s.slots {
		if h != 0 {
			f(h)
		}
	}
}

// clear removes all hashes except the recent ones, and keeps the memory.
func (s *hashSet) clear() {
	clear(s.slots)
	s.n, s.zero = 0, false
}
