package column

import (
	"encoding/binary"
	"math"
	"slices"
	"unsafe"

	"github.com/klauspost/compress/s2"

	"cordwood/proto/metapb"
)

// Origin is a text that a client compressed. If the byte strings of a column are cuts of the text,
// a batch of all rows contains the client's block, so that the strings are not compressed again.
// Both slices must stay unchanged until the rows have been encoded.
type Origin struct {
	// Block is a block in the format of snappy or s2, and Text its decompressed content.
	Block, Text []byte
}

const (
	// minCuts is the minimum size of a column's byte strings from which a batch contains the client's block.
	minCuts = 1 << 10
	// spareNum / spareDen is the maximum ratio of the text to the strings that are cut from it.
	spareNum, spareDen = 3, 2
	// tightNum / tightDen is the maximum ratio of the block to the text. If the client's block is
	// larger, the strings are compressed with s2 instead.
	tightNum, tightDen = 3, 4
)

// useful reports whether strings of n bytes in total may be stored as cuts of the text.
func (o *Origin) useful(n int) bool {
	return n >= minCuts && len(o.Text)/spareNum <= n/spareDen && len(o.Block)/tightNum <= len(o.Text)/tightDen
}

// CutFrom announces that the byte strings of the column, from its first row on, are cuts of a text,
// which SetCut writes.
func (c *Col) CutFrom(o *Origin) {
	if c.n == 0 && len(o.Text) <= math.MaxUint32 {
		c.origin, c.starts = o, c.starts[:0]
	}
}

// SetCut does what SetBytes does, for a value that may be a part of the text of CutFrom. If a value
// is not a part of it, or comes before the part of the previous row, the column forgets the text.
func (c *Col) SetCut(row int, v []byte) {
	c.SetBytes(row, v)
	if c.origin == nil {
		return
	}
	last := uint32(0)
	if row > 0 && row == len(c.starts) {
		last = c.starts[row-1] + uint32(len(c.Bytes(row-1)))
	}
	at, ok := last, true
	if len(v) > 0 {
		at, ok = c.origin.place(v)
	}
	if !ok || at < last || row != len(c.starts) {
		c.origin = nil
		return
	}
	c.starts = append(c.starts, at)
}

// place returns the offset of v, which is not empty, in the text. ok is false if v is not a part of
// its memory.
func (o *Origin) place(v []byte) (at uint32, ok bool) {
	from := uintptr(unsafe.Pointer(unsafe.SliceData(v))) - uintptr(unsafe.Pointer(unsafe.SliceData(o.Text)))
	n := uintptr(len(o.Text))
	return uint32(from), from < n && uintptr(len(v)) <= n-from
}

// offerCuts offers the byte section at d.data as cuts. repaired means that the section differs from
// the column's values.
func (e *encoder) offerCuts(d *entry, c *Col, from, to int, repaired bool) bool {
	switch {
	case c.origin == nil || e.protocol < metapb.ProtocolCuts || e.cut != nil || repaired:
		return false
	case from > 0 || to != c.n || to != len(c.starts) || !c.origin.useful(d.dataLen):
		return false // the other rows would have the whole text, too
	}
	e.cut, e.cutOffsets = c, d.offsets
	e.offer(candidate{kind: cutSection, at: d.data, size: d.dataLen})
	return true
}

// appendCuts appends the packed form of cuts, without the text, which follows it.
func (e *encoder) appendCuts(out []byte) (_ []byte, width byte) {
	c := e.cut
	widest, end := uint32(0), uint32(0)
	last := uint32(0) // end of the previous value in c.bytes
	for i, at := range c.starts {
		widest = max(widest, at-end)
		end, last = at+c.ends[i]-last, c.ends[i]
	}
	width = max(widthOf(uint64(widest)), 1)
	le := binary.LittleEndian
	out = le.AppendUint32(out, uint32(e.cutOffsets))
	out = le.AppendUint32(out, uint32(len(c.starts)))
	end, last = 0, 0
	for i, at := range c.starts {
		out = le.AppendUint32(out, at-end)[:len(out)+int(width)]
		end, last = at+c.ends[i]-last, c.ends[i]
	}
	return out, width
}

// expandCuts is the inverse of appendCuts. It copies the strings from the text.
func (u *unpacker) expandCuts() bool {
	le := binary.LittleEndian
	width, src := int(u.param), u.src
	if width != 1 && width != 2 && width != 4 || len(src) < 8 {
		return false
	}
	at, n := int(le.Uint32(src)), int(le.Uint32(src[4:]))
	src = src[8:]
	if n > MaxRows || n*width > len(src) || at > len(u.body) || 4*(n+1) > len(u.body)-at {
		return false
	}
	offsets := u.body[at : at+4*(n+1)]
	gaps, text, to := src[:n*width], src[n*width:], u.section
	last := le.Uint32(offsets)
	for ; len(gaps) > 0; gaps = gaps[width:] {
		gap := 0
		switch width {
		case 1:
			gap = int(gaps[0])
		case 2:
			gap = int(le.Uint16(gaps))
		default:
			gap = int(le.Uint32(gaps))
		}
		offsets = offsets[4:]
		next := le.Uint32(offsets)
		size := int(next) - int(last)
		last = next
		if size < 0 || size > len(to) || gap > len(text) || size > len(text)-gap {
			return false
		}
		copy(to, text[gap:gap+size])
		to, text = to[size:], text[gap+size:]
	}
	return len(to) == 0
}

// appendBlocks appends the block of a packed body with inserts. It consists of the elements of several blocks. Their
// offsets are relative, and no element refers to bytes before its own block.
func (e *encoder) appendBlocks(dst, packed []byte) []byte {
	size := len(packed)
	for _, in := range e.inserts {
		size += len(in.text)
	}
	dst = binary.AppendUvarint(dst, uint64(size))
	done := 0
	for _, in := range e.inserts {
		dst, done = e.appendElements(dst, packed[done:in.at]), in.at
		if in.block == nil {
			dst = e.appendElements(dst, in.text)
			continue
		}
		_, n := binary.Uvarint(in.block)
		dst = append(dst, in.block[n:]...)
	}
	return e.appendElements(dst, packed[done:])
}

// appendElements appends the elements of the block of src, without the length before them.
func (e *encoder) appendElements(dst, src []byte) []byte {
	if len(src) == 0 {
		return dst
	}
	most := s2.MaxEncodedLen(len(src))
	e.block = slices.Grow(e.block[:0], most)[:most]
	block := s2.Encode(e.block, src)
	_, n := binary.Uvarint(block)
	return append(dst, block[n:]...)
}
