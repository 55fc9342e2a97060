package segment

import (
	"encoding/binary"
	"math/bits"
)

// This file separates the texts of a column into tokens as analyzer does, but eight bytes at a
// time. It recognises words that occurred recently without examining their letters, because most
// words of a log are the same in every row.

const (
	everyByte = 0x0101010101010101
	highBits  = 0x80 * everyByte
	// gatherBits is a factor that moves the lowest bits of eight bytes to the highest byte of the
	// product.
	gatherBits = 0x0102040810204080
)

// wordMask returns a bit for each of eight bytes, the first in the lowest bit. The bit is set if
// the byte is an ASCII letter or digit. The bits of non-ASCII bytes are undefined.
func wordMask(x uint64) uint64 {
	// No addition below has a carry to the next byte, because all bytes have 7 bits and the sums
	// are less than 0x100.
	low := x &^ highBits
	lower := low | 0x20*everyByte
	letter := (lower + (0x80-'a')*everyByte) &^ (lower + (0x7f-'z')*everyByte)
	digit := (low + (0x80-'0')*everyByte) &^ (low + (0x7f-'9')*everyByte)
	return ((letter | digit) & highBits >> 7) * gatherBits >> 56
}

// wordMask64 is like wordMask, for up to 64 bytes. other reports whether any byte is not
// ASCII.
func wordMask64(text []byte) (mask uint64, other bool) {
	if len(text) >= 64 {
		return wholeMask((*[64]byte)(text))
	}
	at, beyond := 0, uint64(0)
	for ; at+8 <= len(text); at += 8 {
		x := binary.LittleEndian.Uint64(text[at:])
		mask |= wordMask(x) << (at & 63)
		beyond |= x
	}
	for ; at < len(text); at++ {
		c := text[at]
		if byteKinds[c] != 0 {
			mask |= 1 << (at & 63)
		}
		beyond |= uint64(c)
	}
	return mask, beyond&highBits != 0
}

// wholeMask is wordMask64 for 64 bytes.
func wholeMask(text *[64]byte) (mask uint64, other bool) {
	le := binary.LittleEndian
	a, b, c, d := le.Uint64(text[0:]), le.Uint64(text[8:]), le.Uint64(text[16:]), le.Uint64(text[24:])
	e, f, g, h := le.Uint64(text[32:]), le.Uint64(text[40:]), le.Uint64(text[48:]), le.Uint64(text[56:])
	mask = wordMask(a) | wordMask(b)<<8 | wordMask(c)<<16 | wordMask(d)<<24 |
		wordMask(e)<<32 | wordMask(f)<<40 | wordMask(g)<<48 | wordMask(h)<<56
	return mask, (a|b|c|d|e|f|g|h)&highBits != 0
}

// text adds the tokens of the byte string data[from:to].
func (t *fulltext) text(data []byte, from, to int) {
	start, within := from, uint64(0) // start of the current token, if there is one
	for at := from; at < to; at += 64 {
		mask, other := wordMask64(data[at:min(to, at+64)])
		if other {
			if within == 0 {
				start = at
			}
			t.buf = t.analyzer.each(data[start:to], t.buf, t.token)
			return
		}
		// A bit is set where a token begins or has ended.
		edges := mask ^ (mask<<1 | within)
		if within == 1 {
			if edges == 0 {
				continue
			}
			t.word(data, start, at+bits.TrailingZeros64(edges))
			edges &= edges - 1
		}
		within = mask >> 63
		for edges != 0 {
			start = at + bits.TrailingZeros64(edges)
			if edges &= edges - 1; edges == 0 {
				break // the token continues in the next 64 bytes, or to the end
			}
			t.word(data, start, at+bits.TrailingZeros64(edges))
			edges &= edges - 1
		}
	}
	if within == 1 {
		t.word(data, start, to)
	}
}

// word adds the token data[from:to], which consists of ASCII letters and digits.
func (t *fulltext) word(data []byte, from, to int) {
	if n := to - from; n <= 16 && from+16 <= len(data) {
		b, m := (*[16]byte)(data[from:from+16]), &shortMasks[n]
		w := shortWord{binary.LittleEndian.Uint64(b[:8]) & m[0], binary.LittleEndian.Uint64(b[8:]) & m[1]}
		at := &t.known[(w[0]*0x9e3779b97f4a7c15^w[1]*0xc2b2ae3d27d4eb4f)>>(64-recentBits)]
		if at[0] == w[0] && at[1] == w[1] {
			return
		}
		*at = w
	}
	t.newWord(data[from:to])
}

// newWord adds a token that did not occur recently.
func (t *fulltext) newWord(run []byte) {
	if !t.analyzer.caseSensitive {
		t.buf = appendLower(t.buf[:0], run)
		run = t.buf
	}
	t.token(run)
}

// shortWord is a token of at most 16 bytes, padded with zeros.
type shortWord [2]uint64

// knownWords holds short tokens that were added recently, as they are in the text.
type knownWords [1 << recentBits]shortWord

// shortMasks holds, by n, a mask for the first n of sixteen bytes.
var shortMasks = func() (masks [17][2]uint64) {
	for n := range masks {
		for i := range n {
			masks[n][i/8] |= 0xff << (i % 8 * 8)
		}
	}
	return masks
}()
