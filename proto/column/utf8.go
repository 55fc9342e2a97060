package column

import (
	"encoding/binary"
	"unicode/utf8"
)

// MarkValid announces that the last value, which was set in the given row, is valid UTF-8, so that Encode need not
// check it again. It has an effect only if all values before it were marked, too.
func (c *Col) MarkValid(row int) {
	start := uint32(0)
	if row > 0 {
		start = c.ends[row-1]
	}
	if c.marked == start {
		c.marked = c.ends[row]
	}
}

// validUTF8 reports whether all values that end before or at the given end in c.bytes were marked as valid UTF-8.
func (c *Col) validUTF8(end uint32) bool { return end <= c.marked }

// repairUTF8 makes every value of a byte section valid UTF-8, in place: a byte that belongs to no
// character becomes '?'. Offsets are the offsets of the values; the last one is len(data). It reports whether
// a value may have changed.
func repairUTF8(data, offsets []byte) bool {
	if utf8.Valid(data) && startsAtRunes(data, offsets) {
		return false
	}
	from := 0
	for from < len(data) {
		offsets = offsets[4:]
		to := int(binary.LittleEndian.Uint32(offsets))
		for v := data[from:to]; len(v) > 0; {
			r, n := utf8.DecodeRune(v)
			if r == utf8.RuneError && n == 1 {
				v[0] = '?'
			}
			v = v[n:]
		}
		from = to
	}
	return true
}

// startsAtRunes reports whether every value starts at a character of the concatenated text, which
// must be valid.
func startsAtRunes(data, offsets []byte) bool {
	for at := 0; at < len(data); offsets = offsets[4:] {
		at = int(binary.LittleEndian.Uint32(offsets))
		if at < len(data) && !utf8.RuneStart(data[at]) {
			return false
		}
	}
	return true
}
