package column

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/klauspost/compress/s2"

	"cordwood/proto/schema"
)

// Decode inflates an encoded batch into mem and returns views of it.
//
// mem needs a capacity of InflatedSize(src) and must begin at a multiple of 8; it may be outside
// the Go heap, and must then stay as long as the batch is used. With mem nil, Decode allocates. src
// is not used after Decode returns.
//
// Decode never panics. It returns a *ErrCorrupt for bytes that no Encode wrote, and a *ErrUnsupported for a newer
// format. When Decode returns no error, every access through the views is in bounds, every number is in the range
// of its column's type, booleans are 0 or 1, and String and JSON values are the valid UTF-8 that Encode wrote, unless
// damage went undetected by the checksum.
func Decode(src, mem []byte) (*Batch, error) {
	if err := checkEnvelope(src); err != nil {
		return nil, err
	}
	f, err := parseHeader(src)
	if err != nil {
		return nil, err
	}
	body, err := inflate(f, mem)
	if err != nil {
		return nil, err
	}
	return openBody(f.Header, f.columns, body, false)
}

// Reopen returns the batch with the given header and number of columns, whose memory, as inflated
// by Decode, is mem. The process may differ from the one that called Decode, if it maps the memory.
// mem must start at a multiple of 8.
//
// It reads and checks only the directory in mem. The contents of the sections (offsets, codes,
// numbers) are trusted, since Decode has checked them.
func Reopen(h Header, columns int, mem []byte) (*Batch, error) {
	if uintptr(unsafe.Pointer(unsafe.SliceData(mem)))%8 != 0 {
		return nil, errors.New("column batch: reopen: memory does not begin at a multiple of 8")
	}
	if h.Rows < 0 || h.Rows > MaxRows || columns < 0 || columns > MaxColumns || len(mem) < columns*entrySize+tailSize {
		return nil, corrupt("memory", 0, "a batch", fmt.Sprintf("%d bytes for %d columns of %d rows", len(mem), columns,
			h.Rows))
	}
	return openBody(h, columns, mem[:len(mem):len(mem)], true)
}

// Directory returns the part of an inflated batch that Reopen reads, or nil if mem is too short.
// columns is the number of its columns. For equal headers and directories Reopen returns equal
// views.
func Directory(columns int, mem []byte) []byte {
	if columns < 0 || columns > MaxColumns || len(mem) < columns*entrySize {
		return nil
	}
	return mem[:columns*entrySize]
}

// openBody checks an inflated body and returns views of it. trusted is set if the sections have been checked before.
func openBody(h Header, columns int, body []byte, trusted bool) (*Batch, error) {
	d := decoder{body: body, rows: h.Rows, at: columns * entrySize, trusted: trusted}
	b := &Batch{Header: h, Mem: body, Cols: make([]View, columns)}
	lastID := int64(0)
	for i := range b.Cols {
		line := body[i*entrySize : (i+1)*entrySize]
		d.entry, d.line = getEntry(line), i*entrySize
		if spare := uint32(line[7]) | binary.LittleEndian.Uint32(line[44:]); spare != 0 {
			return nil, d.corrupt("directory spare", 0, spare)
		}
		if int64(d.id) <= lastID {
			return nil, d.corrupt("column id", fmt.Sprintf("more than %d", lastID), d.id)
		}
		lastID = int64(d.id)
		if err := d.view(&b.Cols[i]); err != nil {
			return nil, err
		}
	}
	if want := len(body) - tailSize; d.at != want {
		return nil, corrupt("sections", d.at, fmt.Sprintf("an end at %d", want), d.at)
	}
	return b, nil
}

// inflate returns the body of the batch, in mem if that is not nil.
func inflate(f frame, mem []byte) ([]byte, error) {
	if mem == nil {
		// Allocate words, so that the memory is aligned for them.
		words := make([]uint64, f.body/8)
		mem = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), f.body)
	}
	if cap(mem) < f.body {
		return nil, fmt.Errorf("column batch: decode table %d: memory of %d bytes for %d inflated bytes; ask "+
			"InflatedSize", f.TableID, cap(mem), f.body)
	}
	if uintptr(unsafe.Pointer(unsafe.SliceData(mem)))%8 != 0 {
		return nil, errors.New("column batch: decode: memory does not begin at a multiple of 8")
	}
	if f.packed > 0 {
		return mem[:f.body:f.body], inflatePacked(f, mem[:f.body:f.body])
	}
	body, err := s2.Decode(mem[:f.body:f.body], f.block)
	if err != nil || len(body) != f.body {
		return nil, corrupt("block", headerSize, fmt.Sprintf("%d inflated bytes", f.body),
			fmt.Sprintf("%d (%v)", len(body), err))
	}
	return body, nil
}

// inflatePacked writes a body that is packed in the block.
func inflatePacked(f frame, body []byte) error {
	scratch := packedScratch.Get().(*[]byte)
	defer func() {
		if cap(*scratch) <= maxScratch {
			packedScratch.Put(scratch)
		}
	}()
	*scratch = slices.Grow((*scratch)[:0], f.packed)
	packed, err := s2.Decode((*scratch)[:f.packed], f.block)
	if err != nil || len(packed) != f.packed {
		return corrupt("block", headerSize, fmt.Sprintf("%d packed bytes", f.packed),
			fmt.Sprintf("%d (%v)", len(packed), err))
	}
	return unpack(body, packed, f.columns, f.newest)
}

// decoder checks the columns one by one. Sections follow each other without gaps or overlaps, so
// the time is proportional to the size of the body.
type decoder struct {
	body []byte
	rows int
	// trusted is set if only the directory is checked.
	trusted bool
	// at is where the next section must start.
	at int
	// nullSection is the common section of columns that have only nulls; nil before the first such
	// column.
	nullSection []byte
	nullAt      int

	// The current column, and the position of its directory entry.
	entry
	line int
}

func (d *decoder) corrupt(part string, want, got any) error {
	return corrupt(fmt.Sprintf("column %d: %s", d.id, part), d.line, want, got)
}

// section returns the next section. An empty one has offset 0 and takes no space.
func (d *decoder) section(part string, offset, size int) ([]byte, error) {
	if size == 0 {
		if offset != 0 {
			return nil, d.corrupt(part+" offset", 0, offset)
		}
		return nil, nil
	}
	if offset != d.at {
		return nil, d.corrupt(part+" offset", d.at, offset)
	}
	if room := len(d.body) - tailSize - offset; align(size) > room {
		return nil, d.corrupt(part, fmt.Sprintf("at most %d bytes", room), size)
	}
	d.at += align(size)
	return d.body[offset : offset+size : offset+size], nil
}

// view checks the current column and returns its view.
func (d *decoder) view(v *View) (err error) {
	if !d.typ.Valid() {
		return d.corrupt("type", "a column type", uint8(d.typ))
	}
	*v = View{
		ID: d.id, Type: d.typ, Rows: d.rows, Nulls: d.nulls, Encoding: d.encoding, Width: d.width, Base: d.base,
		DictLen: d.dictLen,
	}
	switch {
	case d.nulls > d.rows:
		return d.corrupt("null count", fmt.Sprintf("at most %d", d.rows), d.nulls)
	case d.rows > 0 && d.nulls == d.rows:
		return d.allNull(v)
	}
	size := 0
	if d.nulls > 0 {
		size = validitySize(d.rows)
	}
	if v.Validity, err = d.section("validity", d.validity, size); err != nil {
		return err
	}
	if size > 0 && !d.trusted {
		if err := d.checkValidity(v.Validity); err != nil {
			return err
		}
	}
	switch {
	case d.encoding == Fixed && !d.typ.IsBytes():
		return d.fixed(v)
	case d.encoding == Plain && d.typ.IsBytes():
		return d.plain(v)
	case d.encoding == Dict && d.typ.IsBytes():
		return d.dict(v)
	}
	return d.corrupt("encoding", "one for type "+d.typ.String(), uint8(d.encoding))
}

// allNull returns the view of a column that has only nulls. All such columns share one section of
// zeros, which is at the start of the first of them.
func (d *decoder) allNull(v *View) error {
	if d.nullSection == nil {
		d.nullAt = d.at
		section, err := d.section("validity", d.validity, validitySize(d.rows))
		if err != nil {
			return err
		}
		for i, b := range section {
			if d.trusted {
				break
			}
			if b != 0 {
				return corrupt(fmt.Sprintf("column %d: validity", d.id), d.nullAt+i, 0, b)
			}
		}
		d.nullSection = section
	}
	want := entry{id: d.id, typ: d.typ, nulls: d.rows}
	allNull(&want, d.nullAt)
	if d.entry != want {
		return d.corrupt("column of nulls", fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", d.entry))
	}
	v.Validity = d.nullSection
	if d.typ.IsBytes() {
		// One empty entry: offsets 0 and 0.
		v.Offsets = d.nullSection[:8:8]
	}
	return nil
}

func (d *decoder) checkValidity(section []byte) error {
	set, last := 0, uint64(0)
	for w := section; len(w) > 0; w = w[8:] {
		last = binary.LittleEndian.Uint64(w)
		set += bits.OnesCount64(last)
	}
	if want := d.rows - d.nulls; set != want {
		return d.corrupt("validity", fmt.Sprintf("%d bits set", want), set)
	}
	if d.rows&63 != 0 && last>>(d.rows&63) != 0 {
		return d.corrupt("validity", "no bit set past the last row", fmt.Sprintf("last word %#x", last))
	}
	return nil
}

func (d *decoder) fixed(v *View) (err error) {
	if d.dictLen != 0 || d.offsets != 0 || d.codes != 0 {
		return d.corrupt("directory entry", "no dictionary, offsets or codes", fmt.Sprintf("%+v", d.entry))
	}
	most, lo, hi := numberLimits(d.typ)
	switch {
	case d.width != 0 && d.width != 1 && d.width != 2 && d.width != 4 && d.width != 8 || d.width > most:
		return d.corrupt("width", fmt.Sprintf("0, 1, 2, 4 or 8, at most %d", most), d.width)
	case d.typ.IsFloat() && d.width != 0 && d.width != most:
		return d.corrupt("width", fmt.Sprintf("0 or %d", most), d.width)
	case d.base < lo || d.base > hi:
		return d.corrupt("base", fmt.Sprintf("%d to %d", lo, hi), d.base)
	case d.dataLen != d.rows*int(d.width):
		return d.corrupt("data length", d.rows*int(d.width), d.dataLen)
	}
	if v.Data, err = d.section("data", d.data, d.dataLen); err != nil {
		return err
	}
	// Only types of less than 64 bits have limits that a number can exceed.
	if d.trusted || d.width == 0 || d.typ.IsFloat() || hi == math.MaxInt64 {
		return nil
	}
	if limit := uint64(hi - d.base); limit < 1<<(8*d.width)-1 {
		if got := largest(v.Data, int(d.width)); got > limit {
			return d.corrupt("data", fmt.Sprintf("numbers of at most %d", limit), got)
		}
	}
	return nil
}

// numberLimits returns the maximum width of a type's values, and their range as int64. For UInt64
// all bit patterns are values.
func numberLimits(t schema.Type) (width uint8, lo, hi int64) {
	switch t {
	case schema.Boolean:
		return 1, 0, 1
	case schema.Int8:
		return 1, math.MinInt8, math.MaxInt8
	case schema.Int16:
		return 2, math.MinInt16, math.MaxInt16
	case schema.Int32:
		return 4, math.MinInt32, math.MaxInt32
	case schema.Uint8:
		return 1, 0, math.MaxUint8
	case schema.Uint16:
		return 2, 0, math.MaxUint16
	case schema.Uint32:
		return 4, 0, math.MaxUint32
	case schema.Float32:
		return 4, 0, 0
	case schema.Float64:
		return 8, 0, 0
	}
	return 8, math.MinInt64, math.MaxInt64
}

// largest returns the largest number of a section of numbers of 1, 2 or 4 bytes.
func largest(section []byte, width int) uint64 {
	most := uint64(0)
	switch width {
	case 1:
		for _, b := range section {
			most = max(most, uint64(b))
		}
	case 2:
		for ; len(section) >= 2; section = section[2:] {
			most = max(most, uint64(binary.LittleEndian.Uint16(section)))
		}
	default:
		for ; len(section) >= 4; section = section[4:] {
			most = max(most, uint64(binary.LittleEndian.Uint32(section)))
		}
	}
	return most
}

func (d *decoder) plain(v *View) (err error) {
	if d.base != 0 || d.width != 0 || d.dictLen != 0 || d.codes != 0 {
		return d.corrupt("directory entry", "no base, width, dictionary or codes", fmt.Sprintf("%+v", d.entry))
	}
	if v.Offsets, err = d.section("offsets", d.offsets, 4*(d.rows+1)); err != nil {
		return err
	}
	if v.Data, err = d.section("data", d.data, d.dataLen); err != nil {
		return err
	}
	return d.checkOffsets(v.Offsets)
}

func (d *decoder) dict(v *View) (err error) {
	most := 1
	switch d.width {
	case 0:
	case 1:
		most = 1 << 8
	case 2:
		most = maxDictLen
	default:
		return d.corrupt("code width", "0, 1 or 2", d.width)
	}
	if d.base != 0 {
		return d.corrupt("base", 0, d.base)
	}
	if d.dictLen < 1 || d.dictLen > most {
		return d.corrupt("dictionary", fmt.Sprintf("1 to %d entries", most), d.dictLen)
	}
	if v.Offsets, err = d.section("offsets", d.offsets, 4*(d.dictLen+1)); err != nil {
		return err
	}
	if v.Codes, err = d.section("codes", d.codes, d.rows*int(d.width)); err != nil {
		return err
	}
	if d.width != 0 && d.dictLen < most && !d.trusted {
		if code := largest(v.Codes, int(d.width)); code >= uint64(d.dictLen) && d.rows > 0 {
			return d.corrupt("codes", fmt.Sprintf("codes below %d", d.dictLen), code)
		}
	}
	if v.Data, err = d.section("data", d.data, d.dataLen); err != nil {
		return err
	}
	return d.checkOffsets(v.Offsets)
}

// checkOffsets checks that offsets start at 0, never decrease, and end at the end of the data.
func (d *decoder) checkOffsets(offsets []byte) error {
	if d.trusted {
		return nil
	}
	last := binary.LittleEndian.Uint32(offsets)
	if last != 0 {
		return d.corrupt("offsets", "a first offset of 0", last)
	}
	for o := offsets[4:]; len(o) >= 4; o = o[4:] {
		next := binary.LittleEndian.Uint32(o)
		if next < last {
			return d.corrupt("offsets", fmt.Sprintf("at least %d", last), next)
		}
		last = next
	}
	if int64(last) != int64(d.dataLen) {
		return d.corrupt("offsets", fmt.Sprintf("a last offset of %d", d.dataLen), last)
	}
	return nil
}
