package jsonscan

import "encoding/binary"

// Guess is a key in its most probable form: in quotes, without escapes, and directly followed by a colon. Comparing
// it with the text is faster than finding the end of the key and looking the key up. The zero Guess never matches.
type Guess struct {
	// The key with its closing quote and the colon. The first 16 bytes are two words with masks, and quoted has all of
	// it.
	word1, mask1 uint64
	word2, mask2 uint64
	quoted       []byte
}

// IsPlain reports whether a key needs no escapes in a text, so that it can be guessed.
func IsPlain(key []byte) bool {
	for _, c := range key {
		if c < ' ' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// Set sets the guess of a key. quoted is the plain key with its closing quote and the colon. g keeps quoted.
func (g *Guess) Set(quoted []byte) {
	var pad [16]byte
	n := copy(pad[:], quoted)
	g.quoted = quoted
	g.word1, g.word2 = binary.LittleEndian.Uint64(pad[:]), binary.LittleEndian.Uint64(pad[8:])
	g.mask1, g.mask2 = lowBytes(n), lowBytes(n-8)
}

// At reports whether the key is at pos, which is just after its opening quote. src is Text.Bytes. Len is then the
// length of the key in the text.
func (g *Guess) At(src []byte, pos int) bool {
	return (binary.LittleEndian.Uint64(src[pos:pos+8])^g.word1)&g.mask1 == 0 && g.continues(src, pos)
}

// Len returns the length of the key with its closing quote and the colon; 0 for the zero Guess.
func (g *Guess) Len() int { return len(g.quoted) }

// continues reports whether the rest of the key, after word1, is at pos.
func (g *Guess) continues(src []byte, pos int) bool {
	if (binary.LittleEndian.Uint64(src[pos+8:pos+16])^g.word2)&g.mask2 != 0 {
		return false
	}
	n := len(g.quoted)
	return n <= 16 && n > 0 || n > 16 && n <= len(src)-pos && string(src[pos+16:pos+n]) == string(g.quoted[16:])
}

// lowBytes returns a mask of the n lowest bytes of a word.
func lowBytes(n int) uint64 {
	if n <= 0 {
		return 0
	}
	if n >= 8 {
		return ^uint64(0)
	}
	return 1<<(8*n) - 1
}
