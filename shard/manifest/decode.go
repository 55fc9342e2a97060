package manifest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/segment"
)

// reader reads the fields of a record whose checksum has been verified.
type reader struct {
	name string
	at   int64 // offset of the record's payload, for errors
	err  error
}

func (r *reader) corrupt(want string) {
	if r.err == nil {
		r.err = &ErrCorrupt{File: r.name, Offset: r.at, Want: want, Got: "something else, although the checksum is correct"}
	}
}

// field is a field's value: v for a number, b for bytes.
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
			r.corrupt(fmt.Sprintf("a value for field %d", num))
			return
		}
		b = b[n:]
		if !do(num, f) && r.err == nil {
			r.err = &ErrUnsupported{File: r.name, Version: version, Supported: version, Field: int(num)}
		}
	}
}

func (f field) int() int64 { return protowire.DecodeZigZag(f.v) }

// edit adds the contents of a record to an edit, and reports whether the edit continues in the next
// record.
func (r *reader) edit(b []byte, e *Edit) (more bool) {
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
			e.Tombstones = append(e.Tombstones, r.tombstone(f.b))
		case fieldExpire:
			e.Expire = append(e.Expire, r.expiry(f.b))
		case fieldMerging:
			e.Merging = append(e.Merging, r.merging(f.b))
		case fieldReserved:
			e.Reserved = append(e.Reserved, f.v)
		case fieldSwept:
			e.Swept = f.v != 0
		case fieldGarbage:
			e.Garbage = append(e.Garbage, f.v)
		case fieldKeys:
			e.Keys = append(e.Keys, r.keys(f.b)...)
		case fieldCold:
			r.coldState(f.b, e.coldState())
		case fieldColdSet:
			e.Sets = append(e.Sets, r.coldSet(f.b))
		case fieldColdDead:
			c := e.coldState()
			c.Dead = append(c.Dead, r.deadObject(f.b))
		case fieldColdCounted:
			c := e.coldState()
			c.Counted = append(c.Counted, r.counted(f.b))
		case fieldCutOrder:
			e.CutOrders = append(e.CutOrders, r.cutOrder(f.b))
		case fieldMore:
			more = f.v != 0
		default:
			return false
		}
		return true
	})
	return more
}

// table decodes only the id of a definition, because a shard has tens of thousands of definitions.
// The checksum protects the rest.
func (r *reader) table(b []byte) Table {
	t := Table{Def: bytes.Clone(b)} // a slice of b would keep the whole file in memory
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
		case segRaw:
			m.Raw = f.v != 0
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

func (r *reader) tombstone(b []byte) (d Tombstone) {
	r.fields(b, func(num protowire.Number, f field) bool {
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
	return d
}

func (r *reader) expiry(b []byte) (x Expiry) {
	r.fields(b, func(num protowire.Number, f field) bool {
		switch num {
		case expTable:
			x.TableID = f.v
		case expBefore:
			x.Before = f.int()
		case expOrder:
			x.Order = f.v
		case expIndex:
			x.Index = f.v
		default:
			return false
		}
		return true
	})
	return x
}

func (r *reader) merging(b []byte) (m Merging) {
	r.fields(b, func(num protowire.Number, f field) bool {
		switch num {
		case mergingTable:
			m.TableID = f.v
		case mergingEra:
			m.Eras = append(m.Eras, r.era(f.b))
		default:
			return false
		}
		return true
	})
	return m
}

func (r *reader) era(b []byte) (era Era) {
	r.fields(b, func(num protowire.Number, f field) bool {
		switch num {
		case eraBefore:
			era.Before = f.v
		case eraMerge:
			if f.v > uint64(query.LastNonNull) {
				r.corrupt("a merge mode")
			}
			era.Merge = query.Merge(f.v)
		default:
			return false
		}
		return true
	})
	return era
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
		spans = append(spans, segment.TableSpan{
			TableID: last,
			Rows:    int64(v[1]),
			MinTime: lo,
			MaxTime: int64(uint64(lo) + v[3]),
		})
	}
	return spans
}
