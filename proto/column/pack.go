package column

import (
	"encoding/binary"
	"fmt"
	"sync"
)

// packing is the method by which a section is packed. The numbers are part of the format.
type packing uint8

const (
	packHex         packing = 1 // lower-case hexadecimal digits, two to a byte
	packLengths     packing = 2 // offsets as lengths
	packDecimal     packing = 3 // Float64 that are decimal fractions, as integers
	packBits        packing = 4 // numbers, and codes, in as few bits as the largest needs
	packLetters     packing = 5 // at most 16 different bytes, two to a byte
	packTimes       packing = 6 // times as text, as differences in bits
	packDecimalBits packing = 7 // like packDecimal, in bits
	packLengthBits  packing = 8 // like packLengths, in bits
	packCuts        packing = 9 // byte strings as cuts of a text, which the block of a client contains
)

// packSize is the size of an entry in the list of packed sections.
const packSize = 16

// minPacked is the minimum size of a section that is packed.
const minPacked = 128

// candidate is a section that may be packed.
type candidate struct {
	kind     sectionKind
	width    uint8 // size of a number
	at, size int   // in the body
	validity int   // offset of the column's validity; 0 if all rows have a value
}

// sectionKind is the kind of a section's contents, which determines how it can be packed.
type sectionKind uint8

const (
	textSection sectionKind = iota
	offsetSection
	numberSection
	floatSection
	cutSection
)

// packedLine is an entry in the list of packed sections.
type packedLine struct {
	how packing
	// param and extra depend on the method. sparse means that rows without a value are left out.
	param, extra byte
	sparse       bool
}

// offer adds a section that may be packed.
func (e *encoder) offer(c candidate) {
	if c.size >= minPacked && (!e.older || c.kind == textSection) {
		e.candidates = append(e.candidates, c)
	}
}

// minInsert is the minimum size of an unchanged part of the body that is compressed in place, as a block of its own,
// and not copied into the packed body. Matches between blocks are not found, but parts of this size rarely have them.
const minInsert = 128 << 10

// insert is a text that belongs after the first at bytes of packed.
type insert struct {
	at   int
	text []byte
	// block is the text as its client compressed it; nil: the text is not compressed yet.
	block []byte
}

// pack returns the body with its candidates packed, without the texts in e.inserts, followed by the list of the packed
// ones. It returns nil if none can be packed.
func (e *encoder) pack(rows int) []byte {
	e.inserts = e.inserts[:0]
	if len(e.candidates) == 0 {
		return nil
	}
	out := e.packed[:0]
	if most := e.packedBound(); cap(out) < most {
		out = make([]byte, 0, withSlack(most, maxScratch))
	}
	lines := e.lines[:0]
	done := 0
	for _, c := range e.candidates {
		out, done = e.keep(out, e.body[done:c.at]), c.at
		start := len(out)
		var validity []byte
		if c.validity > 0 {
			validity = e.body[c.validity : c.validity+validitySize(rows)]
		}
		packed, line, ok := e.packSection(out, e.body[c.at:c.at+c.size], c, validity)
		if !ok {
			continue
		}
		out, done = packed, c.at+c.size
		size := len(out) - start
		if c.kind == cutSection {
			size += len(e.cut.origin.Text)
			e.inserts = append(e.inserts, insert{len(out), e.cut.origin.Text, e.cut.origin.Block})
		}
		lines = binary.LittleEndian.AppendUint32(lines, uint32(c.at))
		lines = binary.LittleEndian.AppendUint32(lines, uint32(c.size))
		lines = binary.LittleEndian.AppendUint32(lines, uint32(size))
		lines = append(lines, byte(line.how), line.param, line.extra, flagOf(line.sparse))
	}
	e.lines = lines
	if len(lines) == 0 {
		e.inserts = e.inserts[:0]
		return nil
	}
	out = append(e.keep(out, e.body[done:]), lines...)
	e.packed = binary.LittleEndian.AppendUint32(out, uint32(len(lines)/packSize))
	return e.packed
}

// keep appends an unchanged part of the body, or makes it an insert.
func (e *encoder) keep(out, part []byte) []byte {
	if len(part) < minInsert {
		return append(out, part...)
	}
	e.inserts = append(e.inserts, insert{at: len(out), text: part})
	return out
}

// packedBound returns the maximum size of the packed body, except for long texts, which are usually inserts.
func (e *encoder) packedBound() int {
	n := len(e.body) + len(e.candidates)*packSize + 4
	for _, c := range e.candidates {
		if c.size >= minInsert && (c.kind == textSection || c.kind == cutSection) {
			n -= c.size
		}
	}
	return n
}

func flagOf(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// packSection appends the form of a section that is probably the shortest. ok is false if the
// section should stay unchanged.
func (e *encoder) packSection(out, section []byte, c candidate, validity []byte) (_ []byte, line packedLine, ok bool) {
	switch c.kind {
	case textSection:
		return e.packText(out, section)
	case offsetSection:
		return e.packOffsets(out, section)
	case numberSection:
		return e.packNumbers(out, section, c, validity)
	case floatSection:
		return e.packFloats(out, section, c, validity)
	case cutSection:
		out, width := e.appendCuts(out)
		return out, packedLine{how: packCuts, param: width}, true
	}
	return out, line, false
}

// unpack writes the unpacked body to body. newest is the highest method that may have been used.
func unpack(body, packed []byte, columns int, newest packing) error {
	fault := func(what string, at int, want, got any) error { return corrupt("packed "+what, at, want, got) }
	if len(packed) < 4 {
		return fault("list", 0, "4 bytes", len(packed))
	}
	end := len(packed) - 4
	n := int(binary.LittleEndian.Uint32(packed[end:]))
	// No column has more than three sections that can be packed.
	if n < 1 || n > 3*columns || end < n*packSize {
		return fault("list", end, "1 to 3 sections a column", n)
	}
	list := end - n*packSize
	src := packed[:list]
	done := 0
	numbers := numbersScratch.Get().(*[]uint64)
	defer func() {
		if 8*cap(*numbers) <= maxScratch {
			numbersScratch.Put(numbers)
		}
	}()
	for i := range n {
		at := list + i*packSize
		line := packed[at : at+packSize]
		from, size := int(binary.LittleEndian.Uint32(line)), int(binary.LittleEndian.Uint32(line[4:]))
		length := int(binary.LittleEndian.Uint32(line[8:]))
		switch {
		case from < done || size > len(body) || from > len(body)-size:
			return fault("section", at, "one after the last, within the body", [2]int{from, size})
		case from-done > len(src) || length > len(src)-(from-done):
			return fault("section", at, "bytes that exist", length)
		case packing(line[12]) > newest:
			return fault("method", at+12, fmt.Sprintf("at most %d", newest), line[12])
		case line[15] > 1 || packing(line[12]) < packBits && (line[14] != 0 || line[15] != 0):
			return fault("spare", at+14, 0, line[14:16])
		}
		copy(body[done:from], src)
		src = src[from-done:]
		u := unpacker{
			body: body[:from], section: body[from : from+size], src: src[:length], numbers: numbers,
			packedLine: packedLine{packing(line[12]), line[13], line[14], line[15] == 1},
		}
		if !u.unpack() {
			return fault("section", at, "contents of its kind", line)
		}
		src, done = src[length:], from+size
	}
	if len(src) != len(body)-done {
		return fault("rest", list-len(src), len(body)-done, len(src))
	}
	copy(body[done:], src)
	return nil
}

// unpacker writes one section. src is its packed form, body the body before the section, numbers
// scratch memory.
type unpacker struct {
	body, section, src []byte
	numbers            *[]uint64
	packedLine
}

// unpack reports whether src is valid.
func (u *unpacker) unpack() bool {
	if u.sparse && u.how != packBits && u.how != packDecimalBits {
		return false
	}
	switch u.how {
	case packHex:
		return u.param == 0 && expandHex(u.section, u.src)
	case packLengths:
		return expandLengths(u.section, u.src, u.param)
	case packDecimal:
		return expandDecimals(u.section, u.src, u.param)
	case packBits:
		return u.expandNumbers()
	case packLetters:
		return u.extra == 0 && expandLetters(u.section, u.src, int(u.param))
	case packTimes:
		return u.expandTimes()
	case packDecimalBits:
		return u.expandFloats()
	case packLengthBits:
		return u.extra == 0 && u.expandOffsets()
	case packCuts:
		return u.extra == 0 && u.expandCuts()
	}
	return false
}

// packedScratch is a pool for packed bodies, numbersScratch a pool for the numbers of a section.
var (
	packedScratch  = sync.Pool{New: func() any { return new([]byte) }}
	numbersScratch = sync.Pool{New: func() any { return new([]uint64) }}
)
