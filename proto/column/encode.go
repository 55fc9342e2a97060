package column

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/klauspost/compress/s2"

	"cordwood/proto/metapb"
	"cordwood/proto/schema"
)

// Encode appends the encoded form of all rows to dst and returns the extended
// slice. Columns are identified by their ID, which must be set and unique. Rows, MinTime and MaxTime of h
// are ignored. The times come from the column of semantic Timestamp, and are 0 if there is none.
//
// String and JSON values leave Encode as valid UTF-8, wherever they come from: a byte
// that belongs to no character is replaced by '?'.
//
// Encode panics if the rows exceed MaxRows, MaxColumns or MaxInflated; a caller that may have that
// many uses Chunks.
func (b *Builder) Encode(dst []byte, h Header) []byte {
	return b.EncodeRange(dst, h, 0, b.rows)
}

// EncodeRange is like Encode, for the rows from ≤ i < to. After Finish, and until the next change of b, ranges may be
// encoded concurrently.
func (b *Builder) EncodeRange(dst []byte, h Header, from, to int) []byte {
	b.encodeRange(&dst, h, from, to).release()
	return dst
}

// encodeRange is like EncodeRange, and also returns the encoder with the body. The caller must release it.
func (b *Builder) encodeRange(dst *[]byte, h Header, from, to int) *encoder {
	if from < 0 || from > to || to > b.rows {
		panic(fmt.Sprintf("column: encode rows %d to %d of a builder of %d rows", from, to, b.rows))
	}
	b.Finish()
	e := encoders.Get().(*encoder)
	*dst = e.encode(*dst, b.cols, h, from, to)
	return e
}

// encoder is the scratch memory of one Encode.
type encoder struct {
	body  []byte
	block []byte
	// packed is the body for compression if candidates could be packed.
	packed     []byte
	lines      []byte
	candidates []candidate
	order      []*Col
	valid      []uint64 // validity of the current column, from bit 0
	codes      []uint16
	slots      []uint64 // hash table of the dictionary
	words      []span   // entries of the dictionary
	wide       []uint64 // values of the section that is being packed
	older      bool     // whether the methods of packing that need flagBits are excluded
	protocol   uint32   // of the header
	// inserts are texts that belong into packed, in order.
	inserts []insert
	// cut is the column whose section is stored as cuts of a client's text; nil: none. The offsets
	// of its values are at cutOffsets in the body.
	cut        *Col
	cutOffsets int
}

var encoders = sync.Pool{New: func() any { return new(encoder) }}

// maxScratch is the maximum size of a body whose scratch memory is kept for the next Encode.
const maxScratch = 8 << 20

func (e *encoder) release() {
	if cap(e.body) > maxScratch || cap(e.block) > maxScratch || cap(e.packed) > maxScratch {
		return
	}
	clear(e.order)
	clear(e.inserts)
	e.cut = nil
	encoders.Put(e)
}

func (e *encoder) encode(dst []byte, cols []*Col, h Header, from, to int) []byte {
	rows := to - from
	bound := sizeBound(cols, from, to)
	if rows > MaxRows || len(cols) > MaxColumns || bound > MaxInflated {
		panic(fmt.Sprintf("column: encode %d rows of %d columns, %d bytes: a batch holds at most %d rows, %d columns "+
			"and %d bytes",
			rows, len(cols), bound, MaxRows, MaxColumns, MaxInflated))
	}
	e.order, e.candidates, e.cut, e.protocol = append(e.order[:0], cols...), e.candidates[:0], nil, h.Protocol
	e.older = h.Protocol > 0 && h.Protocol < metapb.ProtocolPacking
	slices.SortStableFunc(e.order, func(a, b *Col) int { return cmp.Compare(a.ID, b.ID) })
	h.Rows, h.MinTime, h.MaxTime = rows, 0, 0
	if cap(e.body) < bound {
		e.body = make([]byte, 0, withSlack(bound, maxScratch))
	}
	e.body = e.body[:len(cols)*entrySize]
	nullSection := 0
	for i, c := range e.order {
		d := entry{id: c.ID, typ: c.Type}
		d.nulls = e.scanValidity(c, from, rows)
		if rows > 0 && d.nulls == rows {
			if nullSection == 0 {
				nullSection = e.section(validitySize(rows))
			}
			allNull(&d, nullSection)
		} else {
			if d.nulls > 0 {
				d.validity = len(e.body)
				for _, w := range e.valid {
					e.body = binary.LittleEndian.AppendUint64(e.body, w)
				}
			}
			if c.Type.IsBytes() {
				e.bytes(&d, c, from, to)
			} else {
				lo, hi := e.numbers(&d, c, from, to)
				if c.Semantic == schema.Timestamp {
					h.MinTime, h.MaxTime = lo, hi
				}
			}
		}
		d.put(e.body[i*entrySize:])
	}
	e.section(tailSize)
	return e.seal(dst, h, len(cols))
}

// seal appends header and compressed body to dst.
func (e *encoder) seal(dst []byte, h Header, columns int) []byte {
	start := len(dst)
	flags, content := uint16(0), e.body
	if packed := e.pack(h.Rows); packed != nil {
		flags, content = flagPacked, packed
		if !e.older {
			flags |= flagBits
		}
	}
	if e.cut != nil {
		flags |= flagCuts
	}
	if len(e.inserts) > 0 {
		dst = e.appendBlocks(slices.Grow(dst, headerSize)[:start+headerSize], content)
		putHeader(dst[start:], h, flags, columns, len(e.body))
		return dst
	}
	if most := s2.MaxEncodedLen(len(content)); cap(dst)-start >= headerSize+most {
		block := s2.Encode(dst[start+headerSize:start+headerSize+most], content)
		dst = dst[:start+headerSize+len(block)]
	} else {
		// Compress into a separate buffer, so that dst grows only by what it needs.
		e.block = slices.Grow(e.block[:0], most)[:most]
		block := s2.Encode(e.block, content)
		dst = slices.Grow(dst, headerSize+len(block))[:start+headerSize]
		dst = append(dst, block...)
	}
	putHeader(dst[start:], h, flags, columns, len(e.body))
	return dst
}

// section appends n zero bytes, rounded up to a multiple of 8, and returns where they start.
func (e *encoder) section(n int) int {
	at := len(e.body)
	e.body = e.body[:at+align(n)]
	clear(e.body[at:])
	return at
}

// endSection pads the last section.
func (e *encoder) endSection() {
	for len(e.body)&7 != 0 {
		e.body = append(e.body, 0)
	}
}

// scanValidity stores the validity of the range in e.valid and returns the number of nulls. If
// there are no nulls, e.valid is not set.
func (e *encoder) scanValidity(c *Col, from, rows int) int {
	if c.nulls == 0 {
		return 0
	}
	words := (rows + 63) / 64
	e.valid = slices.Grow(e.valid[:0], words)[:words]
	at, shift := from>>6, from&63
	set := 0
	for i := range e.valid {
		w := c.valid[at+i] >> shift
		if shift != 0 && at+i+1 < len(c.valid) {
			w |= c.valid[at+i+1] << (64 - shift)
		}
		if i == words-1 && rows&63 != 0 {
			w &= 1<<(rows&63) - 1
		}
		e.valid[i] = w
		set += bits.OnesCount64(w)
	}
	return rows - set
}

// allNull makes d a column that has only nulls, without its own section.
func allNull(d *entry, nullSection int) {
	d.validity = nullSection
	d.encoding = Fixed
	if d.typ.IsBytes() {
		d.encoding, d.dictLen, d.offsets = Dict, 1, nullSection
	}
}

// numbers encodes a column of numbers, and returns its smallest and largest non-null value. The column must have a
// value in the range, or no rows.
func (e *encoder) numbers(d *entry, c *Col, from, to int) (lo, hi int64) {
	vals := c.fixed[from:to]
	d.encoding = Fixed
	if len(vals) == 0 {
		return 0, 0
	}
	if c.Type.IsFloat() {
		e.floats(d, vals)
		return 0, 0
	}
	lo, hi = int64(math.MaxInt64), int64(math.MinInt64)
	if d.nulls == 0 {
		for _, v := range vals {
			lo, hi = min(lo, int64(v)), max(hi, int64(v))
		}
	} else {
		for i, w := range e.valid {
			for ; w != 0; w &= w - 1 {
				v := int64(vals[i<<6+bits.TrailingZeros64(w)])
				lo, hi = min(lo, v), max(hi, v)
			}
		}
	}
	d.base = lo
	if c.Type == schema.Boolean && lo != hi {
		d.base = 0
	}
	d.width = widthOf(uint64(hi - lo))
	d.data, d.dataLen = len(e.body), len(vals)*int(d.width)
	if d.width == 0 {
		d.data = 0
		return lo, hi
	}
	out := e.body[d.data : d.data+d.dataLen]
	e.body = e.body[:d.data+d.dataLen]
	narrow(out, vals, uint64(d.base), d.width)
	if d.nulls > 0 {
		e.zeroNulls(out, len(vals), int(d.width))
	}
	e.offer(candidate{kind: numberSection, width: d.width, at: d.data, size: d.dataLen, validity: d.validity})
	e.endSection()
	return lo, hi
}

func widthOf(spread uint64) uint8 {
	switch {
	case spread == 0:
		return 0
	case spread <= math.MaxUint8:
		return 1
	case spread <= math.MaxUint16:
		return 2
	case spread <= math.MaxUint32:
		return 4
	}
	return 8
}

// narrow writes vals minus base as numbers of the given width.
func narrow(out []byte, vals []uint64, base uint64, width uint8) {
	le := binary.LittleEndian
	switch width {
	case 1:
		out = out[:len(vals)]
		for i, v := range vals {
			out[i] = byte(v - base)
		}
	case 2:
		for _, v := range vals {
			le.PutUint16(out, uint16(v-base))
			out = out[2:]
		}
	case 4:
		for _, v := range vals {
			le.PutUint32(out, uint32(v-base))
			out = out[4:]
		}
	default:
		for _, v := range vals {
			le.PutUint64(out, v-base)
			out = out[8:]
		}
	}
}

// zeroNulls sets the stored numbers of null rows to 0.
func (e *encoder) zeroNulls(out []byte, rows, width int) {
	for i, w := range e.valid {
		for w = ^w; w != 0; w &= w - 1 {
			row := i<<6 + bits.TrailingZeros64(w)
			if row >= rows {
				break
			}
			clear(out[row*width : (row+1)*width])
		}
	}
}

// floats stores the bits of floats. Null rows hold +0 in the builder already.
func (e *encoder) floats(d *entry, vals []uint64) {
	some := uint64(0)
	for _, v := range vals {
		some |= v
	}
	if some == 0 {
		return
	}
	d.width, d.data = 8, len(e.body)
	if d.typ == schema.Float32 {
		d.width = 4
		for _, v := range vals {
			e.body = binary.LittleEndian.AppendUint32(e.body, math.Float32bits(float32(math.Float64frombits(v))))
		}
	} else {
		e.body = e.body[:d.data+8*len(vals)]
		narrow(e.body[d.data:], vals, 0, 8)
		e.offer(candidate{kind: floatSection, width: 8, at: d.data, size: 8 * len(vals), validity: d.validity})
	}
	d.dataLen = len(e.body) - d.data
	e.endSection()
}

// bytes encodes a column of byte strings, with a dictionary if that is smaller.
func (e *encoder) bytes(d *entry, c *Col, from, to int) {
	start := uint32(0)
	if from > 0 {
		start = c.ends[from-1]
	}
	if to > from && e.dictionary(d, c, start, from, to) {
		return
	}
	ends := c.ends[from:to]
	d.encoding, d.width, d.offsets = Plain, 0, len(e.body)
	at := len(e.body) + 4
	e.body = e.body[:at+4*len(ends)]
	binary.LittleEndian.PutUint32(e.body[d.offsets:], 0)
	out := e.body[at:]
	end := start
	for _, v := range ends {
		binary.LittleEndian.PutUint32(out, v-start)
		out = out[4:]
		end = v
	}
	e.offer(candidate{kind: offsetSection, at: d.offsets, size: len(e.body) - d.offsets})
	e.endSection()
	repaired := e.values(d, c.bytes[start:end], c.validUTF8(end))
	if !e.offerCuts(d, c, from, to, repaired) {
		e.offer(candidate{kind: textSection, at: d.data, size: d.dataLen})
	}
}

// values appends the byte section of a Plain column. valid is set if the values are known to be valid UTF-8. It
// reports whether the section differs from chunk.
func (e *encoder) values(d *entry, chunk []byte, valid bool) (repaired bool) {
	d.data = len(e.body)
	e.body = append(e.body, chunk...)
	return e.endValues(d, valid)
}

// endValues ends the byte section that starts at d.data, and reports whether it had to be repaired, which it is not if
// valid is set. Its offsets must be set.
func (e *encoder) endValues(d *entry, valid bool) (repaired bool) {
	d.dataLen = len(e.body) - d.data
	if d.typ != schema.Binary && (!valid || checkBodies) {
		repaired = repairUTF8(e.body[d.data:], e.body[d.offsets:])
		if valid && repaired {
			panic(fmt.Sprintf("column: a text of column %d that was marked as valid UTF-8 is not", d.id))
		}
	}
	if d.dataLen == 0 {
		d.data = 0
	}
	e.endSection()
	return repaired
}

// sizeBound returns an upper bound of the inflated size of the rows.
func sizeBound(cols []*Col, from, to int) int {
	rows := to - from
	n := tailSize + len(cols)*entrySize + validitySize(rows)
	for _, c := range cols {
		n += c.sizeBound(from, rows)
	}
	return n
}

func (c *Col) sizeBound(from, rows int) int {
	if rows == 0 {
		return 16
	}
	n := 0
	if c.nulls > 0 {
		n = validitySize(rows)
	}
	if !c.Type.IsBytes() {
		return n + 8*rows
	}
	start := uint32(0)
	if from > 0 {
		start = c.ends[from-1]
	}
	// Offsets, values, and codes with the padding of all three.
	return n + 4*(rows+1) + int(c.ends[from+rows-1]-start) + 24
}
