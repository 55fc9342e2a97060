package segment

import (
	"encoding/binary"
	"math/bits"

	"cordwood/proto/column"
)

// bitmap creates the bitmap for the rows so far.
func (g *gathered) bitmap() {
	if len(g.Valid) > 0 {
		return
	}
	g.grow()
	if len(g.Valid) == 0 {
		g.Valid = append(g.Valid, 0)
	}
	setBits(g.Valid, 0, g.Rows)
}

// validity records which of n rows have a value, and reports whether any row has none.
func (g *gathered) validity(v *column.View, row, n int) bool {
	if v.Validity == nil || allSet(v.Validity, row, n) {
		from := g.Rows
		g.Rows += n
		if len(g.Valid) > 0 {
			g.grow()
			setBits(g.Valid, from, g.Rows)
		}
		return false
	}
	g.bitmap()
	from := g.Rows
	g.Rows += n
	g.grow()
	copyBits(g.Valid, from, v.Validity, row, n)
	return true
}

// setBits sets the bits [from, to).
func setBits(bitmap []uint64, from, to int) {
	for from < to {
		n := min(64-from&63, to-from)
		bitmap[from>>6] |= ^uint64(0) >> (64 - n) << (from & 63)
		from += n
	}
}

// loadBits returns up to 64 bits of a validity section, starting at bit at.
func loadBits(validity []byte, at, n int) uint64 {
	i := at >> 6 << 3
	w := binary.LittleEndian.Uint64(validity[i:]) >> (at & 63)
	if at&63 > 0 && i+8 < len(validity) {
		w |= binary.LittleEndian.Uint64(validity[i+8:]) << (64 - at&63)
	}
	if n < 64 {
		w &= 1<<n - 1
	}
	return w
}

func allSet(validity []byte, row, n int) bool {
	for i := 0; i < n; i += 64 {
		if k := min(64, n-i); bits.OnesCount64(loadBits(validity, row+i, k)) != k {
			return false
		}
	}
	return true
}

func copyBits(bitmap []uint64, to int, validity []byte, row, n int) {
	for i := 0; i < n; i += 64 {
		w := loadBits(validity, row+i, min(64, n-i))
		at := to + i
		bitmap[at>>6] |= w << (at & 63)
		if rest := w >> 1 >> (63 - at&63); rest != 0 {
			bitmap[at>>6+1] |= rest
		}
	}
}
