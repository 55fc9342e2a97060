package manifest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"cordwood/proto/schema"
	"cordwood/shard/segment"
	"google.golang.org/protobuf/encoding/protowire"
)

// The constants of the format. All of them are part of the format; FORMAT.md has
// the diagram.
const (
	magic   = "CWMF"
	version = 2
	// headerSize bytes begin the file; their layout is the same in every version.
	headerSize = 16

	recordMark = "CWRE"
	// recordHead bytes begin a record: mark, length, checksum.
	recordHead = 12
	maxRecord  = 1 << 30
)

// The field numbers of an edit, a segment, a column and a session.
const (
	fieldApplied  = 1
	fieldTerm     = 2
	fieldNext     = 3
	fieldClock    = 4
	fieldAdd      = 5
	fieldRemove   = 6
	fieldTable    = 7
	fieldDrop     = 8
	fieldSessions = 9

	// Since version 2.
	fieldTombstone = 10
	fieldExpire    = 11
	fieldReserved  = 12
	fieldSwept     = 13
	fieldGarbage   = 14
	fieldKeys      = 16

	segID        = 1
	segTable     = 2
	segVersion   = 3
	segRows      = 4
	segBytes     = 5
	segMin       = 6
	segMax       = 7
	segFooterCRC = 8
	segFileCRC   = 9
	segColumn    = 10
	// Since version 2.
	segOrder = 11
	segSpans = 12

	colID       = 1
	colName     = 2
	colType     = 3
	colSemantic = 4
	// Since version 2.
	colFieldID = 5
	colLogical = 6

	sesID   = 1
	sesHigh = 2
	sesSeen = 3
	sesLast = 4
	// Since version 2.
	sesUnlogged = 5

	stoneTable = 1
	stoneAt    = 2

	expTable  = 1
	expBefore = 2
	expOrder  = 3
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func appendHeader(dst []byte, shardID uint32) []byte {
	at := len(dst)
	dst = append(dst, magic...)
	dst = binary.LittleEndian.AppendUint16(dst, version)
	dst = binary.LittleEndian.AppendUint16(dst, 0)
	dst = binary.LittleEndian.AppendUint32(dst, shardID)
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[at:], castagnoli))
}

func appendRecord(dst []byte, e *Edit) []byte {
	at := len(dst)
	dst = append(dst, recordMark...)
	dst = append(dst, make([]byte, recordHead-len(recordMark))...)
	dst = e.append(dst)
	binary.LittleEndian.PutUint32(dst[at+4:], uint32(len(dst)-at-recordHead))
	binary.LittleEndian.PutUint32(dst[at+8:], recordCRC(dst[at:]))
	return dst
}

// recordCRC is the checksum of a whole record: of its length and its payload.
func recordCRC(rec []byte) uint32 {
	return crc32.Update(crc32.Checksum(rec[4:8], castagnoli), castagnoli, rec[recordHead:])
}

type writer struct{ b []byte }

func (w *writer) uint(f protowire.Number, v uint64) {
	if v != 0 {
		w.b = protowire.AppendVarint(protowire.AppendTag(w.b, f, protowire.VarintType), v)
	}
}

func (w *writer) int(f protowire.Number, v int64) { w.uint(f, protowire.EncodeZigZag(v)) }

func (w *writer) bytes(f protowire.Number, v []byte) {
	w.b = protowire.AppendBytes(protowire.AppendTag(w.b, f, protowire.BytesType), v)
}

func (w *writer) fixed32(f protowire.Number, v uint32) {
	w.b = protowire.AppendFixed32(protowire.AppendTag(w.b, f, protowire.Fixed32Type), v)
}

func (w *writer) fixed64(f protowire.Number, v uint64) {
	w.b = protowire.AppendFixed64(protowire.AppendTag(w.b, f, protowire.Fixed64Type), v)
}

func (e *Edit) append(dst []byte) []byte {
	w := writer{dst}
	w.uint(fieldApplied, e.AppliedIndex)
	w.uint(fieldTerm, e.AppliedTerm)
	w.uint(fieldNext, e.NextSegmentID)
	w.int(fieldClock, e.Clock)
	for i := range e.Add {
		w.bytes(fieldAdd, appendSegment(&e.Add[i]))
	}
	for _, id := range e.Remove {
		w.b = protowire.AppendVarint(protowire.AppendTag(w.b, fieldRemove, protowire.VarintType), id)
	}
	for _, t := range e.Tables {
		w.bytes(fieldTable, t.Def)
	}
	for _, id := range e.Drop {
		w.b = protowire.AppendVarint(protowire.AppendTag(w.b, fieldDrop, protowire.VarintType), id)
	}
	for _, s := range e.Sessions {
		var sw writer
		sw.fixed64(sesID, s.ID)
		sw.uint(sesHigh, s.High)
		seen := make([]byte, 0, 8*len(s.Seen))
		for _, word := range s.Seen {
			seen = binary.LittleEndian.AppendUint64(seen, word)
		}
		sw.bytes(sesSeen, seen)
		sw.int(sesLast, s.LastUnixNano)
		if s.Unlogged {
			sw.uint(sesUnlogged, 1)
		}
		w.bytes(fieldSessions, sw.b)
	}
	for _, d := range e.Tombstones {
		var dw writer
		dw.uint(stoneTable, d.TableID)
		dw.int(stoneAt, d.At)
		w.bytes(fieldTombstone, dw.b)
	}
	for _, x := range e.Expire {
		var xw writer
		xw.uint(expTable, x.TableID)
		xw.int(expBefore, x.Before)
		xw.uint(expOrder, x.Order)
		w.bytes(fieldExpire, xw.b)
	}
	for _, id := range e.Reserved {
		w.b = protowire.AppendVarint(protowire.AppendTag(w.b, fieldReserved, protowire.VarintType), id)
	}
	if e.Swept {
		w.uint(fieldSwept, 1)
	}
	for _, id := range e.Garbage {
		w.b = protowire.AppendVarint(protowire.AppendTag(w.b, fieldGarbage, protowire.VarintType), id)
	}
	if len(e.Keys) > 0 {
		w.bytes(fieldKeys, appendKeys(nil, e.Keys))
	}
	return w.b
}

func appendSegment(m *segment.Meta) []byte {
	var w writer
	w.uint(segID, m.ID)
	w.uint(segTable, m.TableID)
	w.uint(segVersion, uint64(m.SchemaVersion))
	w.int(segRows, m.Rows)
	w.int(segBytes, m.Bytes)
	w.int(segMin, m.MinTime)
	w.int(segMax, m.MaxTime)
	w.fixed32(segFooterCRC, m.FooterCRC)
	w.fixed32(segFileCRC, m.FileCRC)
	for _, c := range m.Columns {
		var cw writer
		cw.uint(colID, uint64(c.ID))
		cw.bytes(colName, []byte(c.Name))
		cw.uint(colType, uint64(c.Type))
		cw.uint(colSemantic, uint64(c.Semantic))
		if c.FieldID != c.ID {
			cw.uint(colFieldID, uint64(c.FieldID))
		}
		if c.Logical != "" {
			cw.bytes(colLogical, []byte(c.Logical))
		}
		w.bytes(segColumn, cw.b)
	}
	if m.Order != m.ID {
		w.uint(segOrder, m.Order)
	}
	if len(m.Tables) > 0 {
		w.bytes(segSpans, appendSpans(nil, m.Tables))
	}
	return w.b
}

// appendSpans packs the spans of a shared segment: there may be tens of thousands.
func appendSpans(b []byte, spans []segment.TableSpan) []byte {
	last := uint64(0)
	for _, t := range spans {
		b = protowire.AppendVarint(b, t.TableID-last)
		b = protowire.AppendVarint(b, uint64(t.Rows))
		b = protowire.AppendVarint(b, protowire.EncodeZigZag(t.MinTime))
		b = protowire.AppendVarint(b, uint64(t.MaxTime)-uint64(t.MinTime))
		last = t.TableID
	}
	return b
}

func (r *reader) spans(b []byte) (spans []segment.TableSpan) {
	last := uint64(0)
	for len(b) > 0 {
		var v [4]uint64
		for i := range v {
			var n int
			if v[i], n = protowire.ConsumeVarint(b); n < 0 {
				r.corrupt("a table's span of a segment")
				return nil
			}
			b = b[n:]
		}
		if v[0] == 0 {
			r.corrupt("spans of ascending tables")
			return nil
		}
		last += v[0]
		lo := protowire.DecodeZigZag(v[2])
		spans = append(spans, segment.TableSpan{TableID: last, Rows: int64(v[1]), MinTime: lo, MaxTime: int64(uint64(lo) + v[3])})
	}
	return spans
}

// file is a parsed manifest.
type file struct {
	shardID uint32
	edits   []placed
	torn    int64 // bytes of an unfinished record at the end
}

type placed struct {
	offset, size int64
	edit         Edit
}

// parse reads a manifest file.
func parse(name string, b []byte) (*file, error) {
	corrupt := func(offset int, want, got any) error {
		return &ErrCorrupt{File: name, Offset: int64(offset), Want: fmt.Sprint(want), Got: fmt.Sprint(got)}
	}
	if len(b) < headerSize {
		return nil, corrupt(0, fmt.Sprintf("a header of %d bytes", headerSize), fmt.Sprintf("a file of %d bytes", len(b)))
	}
	if string(b[:4]) != magic {
		return nil, corrupt(0, fmt.Sprintf("magic %q", magic), fmt.Sprintf("%q", b[:4]))
	}
	if want, got := crc32.Checksum(b[:12], castagnoli), binary.LittleEndian.Uint32(b[12:]); want != got {
		return nil, corrupt(12, fmt.Sprintf("header checksum %08x", want), fmt.Sprintf("%08x", got))
	}
	if v := binary.LittleEndian.Uint16(b[4:]); v == 0 || v > version {
		return nil, &ErrUnsupported{File: name, Version: v, Supported: version}
	}
	f := &file{shardID: binary.LittleEndian.Uint32(b[8:])}
	for at := headerSize; at < len(b); {
		n, want, got := checkRecord(b[at:])
		if n == 0 {
			// Only what was being appended when the machine stopped can be unfinished;
			// it is the last thing in the file, and the first record never is: it was
			// complete before the file got its name.
			next := nextRecord(b, at+1)
			if next >= 0 {
				return nil, corrupt(at, want, fmt.Sprintf("%s, and a sound record at offset %d", got, next))
			}
			if len(f.edits) == 0 {
				return nil, corrupt(at, want, got)
			}
			f.torn = int64(len(b) - at)
			break
		}
		p := placed{offset: int64(at), size: int64(n)}
		r := reader{name: name, at: int64(at + recordHead)}
		r.edit(b[at+recordHead:at+n], &p.edit)
		if r.err != nil {
			return nil, r.err
		}
		f.edits = append(f.edits, p)
		at += n
	}
	if len(f.edits) == 0 {
		return nil, corrupt(headerSize, "a record", "the end of the file")
	}
	return f, nil
}

// checkRecord returns the size of the sound record that b begins with, or 0 and what
// is wrong with it.
func checkRecord(b []byte) (n int, want, got string) {
	if len(b) < recordHead {
		return 0, fmt.Sprintf("a record head of %d bytes", recordHead), fmt.Sprintf("%d bytes", len(b))
	}
	if string(b[:4]) != recordMark {
		return 0, fmt.Sprintf("record mark %q", recordMark), fmt.Sprintf("%q", b[:4])
	}
	size := int64(binary.LittleEndian.Uint32(b[4:]))
	if size > maxRecord || size > int64(len(b)-recordHead) {
		return 0, fmt.Sprintf("a record of %d bytes", size), fmt.Sprintf("%d bytes", len(b)-recordHead)
	}
	n = recordHead + int(size)
	if want, got := recordCRC(b[:n]), binary.LittleEndian.Uint32(b[8:]); want != got {
		return 0, fmt.Sprintf("record checksum %08x", want), fmt.Sprintf("%08x", got)
	}
	return n, "", ""
}

// nextRecord returns where the first sound record at or behind from begins, or -1.
func nextRecord(b []byte, from int) int {
	for from < len(b) {
		i := bytes.Index(b[from:], []byte(recordMark))
		if i < 0 {
			return -1
		}
		if n, _, _ := checkRecord(b[from+i:]); n > 0 {
			return from + i
		}
		from += i + 1
	}
	return -1
}

// reader reads the fields of a record whose checksum is right.
type reader struct {
	name string
	at   int64 // offset of the record's payload, for errors
	err  error
}

func (r *reader) corrupt(want string) {
	if r.err == nil {
		r.err = &ErrCorrupt{File: r.name, Offset: r.at, Want: want, Got: "something else, under a right checksum"}
	}
}

// field is a field's value: v of a number, b of bytes.
type field struct {
	typ protowire.Type
	v   uint64
	b   []byte
}

// fields calls do for each field of a message.
func (r *reader) fields(b []byte, do func(num protowire.Number, f field) bool) {
	for len(b) > 0 && r.err == nil {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			r.corrupt("a field tag")
			return
		}
		b = b[n:]
		f := field{typ: typ}
		switch typ {
		case protowire.VarintType:
			f.v, n = protowire.ConsumeVarint(b)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(b)
			f.v = uint64(v)
		case protowire.Fixed64Type:
			f.v, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			f.b, n = protowire.ConsumeBytes(b)
		default:
			n = -1
		}
		if n < 0 {
			r.corrupt(fmt.Sprintf("a value of field %d", num))
			return
		}
		b = b[n:]
		if !do(num, f) && r.err == nil {
			r.err = &ErrUnsupported{File: r.name, Version: version, Supported: version, Field: int(num)}
		}
	}
}

func (f field) int() int64 { return protowire.DecodeZigZag(f.v) }

func (r *reader) edit(b []byte, e *Edit) {
	r.fields(b, func(num protowire.Number, f field) bool {
		switch num {
		case fieldApplied:
			e.AppliedIndex = f.v
		case fieldTerm:
			e.AppliedTerm = f.v
		case fieldNext:
			e.NextSegmentID = f.v
		case fieldClock:
			e.Clock = f.int()
		case fieldAdd:
			e.Add = append(e.Add, segment.Meta{})
			r.segment(f.b, &e.Add[len(e.Add)-1])
		case fieldRemove:
			e.Remove = append(e.Remove, f.v)
		case fieldTable:
			e.Tables = append(e.Tables, r.table(f.b))
		case fieldDrop:
			e.Drop = append(e.Drop, f.v)
		case fieldSessions:
			e.Sessions = append(e.Sessions, Session{})
			r.session(f.b, &e.Sessions[len(e.Sessions)-1])
		case fieldTombstone:
			var d Tombstone
			r.fields(f.b, func(num protowire.Number, f field) bool {
				switch num {
				case stoneTable:
					d.TableID = f.v
				case stoneAt:
					d.At = f.int()
				default:
					return false
				}
				return true
			})
			e.Tombstones = append(e.Tombstones, d)
		case fieldExpire:
			var x Expiry
			r.fields(f.b, func(num protowire.Number, f field) bool {
				switch num {
				case expTable:
					x.TableID = f.v
				case expBefore:
					x.Before = f.int()
				case expOrder:
					x.Order = f.v
				default:
					return false
				}
				return true
			})
			e.Expire = append(e.Expire, x)
		case fieldReserved:
			e.Reserved = append(e.Reserved, f.v)
		case fieldSwept:
			e.Swept = f.v != 0
		case fieldGarbage:
			e.Garbage = append(e.Garbage, f.v)
		case fieldKeys:
			e.Keys = append(e.Keys, r.keys(f.b)...)
		default:
			return false
		}
		return true
	})
}

// table takes over an encoded definition, of which only the id is looked for: its
// checksum is right, and a shard has tens of thousands.
func (r *reader) table(b []byte) Table {
	t := Table{Def: bytes.Clone(b)} // b keeps the whole file in memory
	for rest := b; len(rest) > 0; {
		num, typ, n := protowire.ConsumeField(rest)
		if n < 0 {
			r.corrupt("a table definition")
			break
		}
		if num == 1 && typ == protowire.VarintType {
			_, _, tag := protowire.ConsumeTag(rest)
			t.ID, _ = protowire.ConsumeVarint(rest[tag:])
			break // fields are written in the order of their numbers
		}
		rest = rest[n:]
	}
	if t.ID == 0 {
		r.corrupt("a table definition with an id")
	}
	return t
}

func (r *reader) segment(b []byte, m *segment.Meta) {
	defer func() {
		if m.Order == 0 {
			m.Order = m.ID
		}
	}()
	r.fields(b, func(num protowire.Number, f field) bool {
		switch num {
		case segID:
			m.ID = f.v
		case segTable:
			m.TableID = f.v
		case segVersion:
			m.SchemaVersion = uint32(f.v)
		case segRows:
			m.Rows = f.int()
		case segBytes:
			m.Bytes = f.int()
		case segMin:
			m.MinTime = f.int()
		case segMax:
			m.MaxTime = f.int()
		case segFooterCRC:
			m.FooterCRC = uint32(f.v)
		case segFileCRC:
			m.FileCRC = uint32(f.v)
		case segColumn:
			m.Columns = append(m.Columns, segment.Column{})
			r.column(f.b, &m.Columns[len(m.Columns)-1])
		case segOrder:
			m.Order = f.v
		case segSpans:
			m.Tables = r.spans(f.b)
		default:
			return false
		}
		return true
	})
}

func (r *reader) column(b []byte, c *segment.Column) {
	defer func() {
		if c.FieldID == 0 {
			c.FieldID = c.ID
		}
	}()
	r.fields(b, func(num protowire.Number, f field) bool {
		switch num {
		case colID:
			c.ID = uint32(f.v)
		case colName:
			c.Name = string(f.b)
		case colType:
			if f.v > math.MaxUint8 || !schema.Type(f.v).Valid() {
				r.corrupt("a column type")
			}
			c.Type = schema.Type(f.v)
		case colSemantic:
			c.Semantic = schema.Semantic(f.v)
		case colFieldID:
			c.FieldID = uint32(f.v)
		case colLogical:
			c.Logical = string(f.b)
		default:
			return false
		}
		return true
	})
}

func (r *reader) session(b []byte, s *Session) {
	r.fields(b, func(num protowire.Number, f field) bool {
		switch num {
		case sesID:
			s.ID = f.v
		case sesHigh:
			s.High = f.v
		case sesSeen:
			if len(f.b)%8 != 0 {
				r.corrupt("a bitmap of whole words")
				return true
			}
			for at := 0; at < len(f.b); at += 8 {
				s.Seen = append(s.Seen, binary.LittleEndian.Uint64(f.b[at:]))
			}
		case sesLast:
			s.LastUnixNano = f.int()
		case sesUnlogged:
			s.Unlogged = f.v != 0
		default:
			return false
		}
		return true
	})
}
