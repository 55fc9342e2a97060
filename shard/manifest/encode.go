package manifest

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"

	"cordwood/shard/segment"
)

// writer encodes a message.
type writer struct {
	b []byte
	// full, if set, is called when a record has at least most bytes. It returns the buffer for the
	// rest of the edit.
	most int
	full func(b []byte) []byte
}

// next is called before each field of an edit; the field may start another record.
func (w *writer) next() {
	if w.full != nil && len(w.b) >= w.most {
		w.b = w.full(w.b)
	}
}

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

// append appends the payload of a record that contains all of e.
func (e *Edit) append(dst []byte) []byte {
	w := writer{b: dst}
	e.write(&w)
	return w.b
}

func (e *Edit) write(w *writer) {
	w.uint(fieldApplied, e.AppliedIndex)
	w.uint(fieldTerm, e.AppliedTerm)
	w.uint(fieldNext, e.NextSegmentID)
	w.int(fieldClock, e.Clock)
	for i := range e.Add {
		w.next()
		w.bytes(fieldAdd, appendSegment(&e.Add[i]))
	}
	for _, id := range e.Remove {
		w.next()
		w.b = protowire.AppendVarint(protowire.AppendTag(w.b, fieldRemove, protowire.VarintType), id)
	}
	for _, t := range e.Tables {
		w.next()
		w.bytes(fieldTable, t.Def)
	}
	for _, id := range e.Drop {
		w.next()
		w.b = protowire.AppendVarint(protowire.AppendTag(w.b, fieldDrop, protowire.VarintType), id)
	}
	for _, s := range e.Sessions {
		w.next()
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
		w.next()
		var dw writer
		dw.uint(stoneTable, d.TableID)
		dw.int(stoneAt, d.At)
		w.bytes(fieldTombstone, dw.b)
	}
	for _, x := range e.Expire {
		w.next()
		var xw writer
		xw.uint(expTable, x.TableID)
		xw.int(expBefore, x.Before)
		xw.uint(expOrder, x.Order)
		xw.uint(expIndex, x.Index)
		w.bytes(fieldExpire, xw.b)
	}
	for _, m := range e.Merging {
		w.next()
		w.bytes(fieldMerging, appendMerging(m))
	}
	for _, id := range e.Reserved {
		w.next()
		w.b = protowire.AppendVarint(protowire.AppendTag(w.b, fieldReserved, protowire.VarintType), id)
	}
	if e.Swept {
		w.uint(fieldSwept, 1)
	}
	for _, id := range e.Garbage {
		w.next()
		w.b = protowire.AppendVarint(protowire.AppendTag(w.b, fieldGarbage, protowire.VarintType), id)
	}
	if len(e.Keys) > 0 {
		w.next()
		w.bytes(fieldKeys, appendKeys(nil, e.Keys))
	}
	w.cold(e)
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
	if m.Raw {
		w.uint(segRaw, 1)
	}
	return w.b
}

// appendSpans encodes the spans of a shared segment compactly, because there may be tens of
// thousands.
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

func appendMerging(m Merging) []byte {
	var w writer
	w.uint(mergingTable, m.TableID)
	for _, era := range m.Eras {
		var ew writer
		ew.uint(eraBefore, era.Before)
		ew.uint(eraMerge, uint64(era.Merge))
		w.bytes(mergingEra, ew.b)
	}
	return w.b
}
