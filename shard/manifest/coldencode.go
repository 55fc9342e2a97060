package manifest

import (
	"google.golang.org/protobuf/encoding/protowire"

	"cordwood/shard/cold"
)

// This file encodes and decodes what the manifest has about object storage.

// The fields of the messages about object storage.
const (
	coldLastCut = 1
	coldOpen    = 2

	cutNumber = 1
	cutIndex  = 2
	cutAt     = 3
	cutTable  = 4
	cutJoins  = 5
	cutDay    = 6

	countTable   = 1
	countRows    = 2
	countMin     = 3
	countUnknown = 4
	countExpired = 5
	countHidden  = 6
	countReturn  = 7

	setNumber = 1
	setIndex  = 2
	setObject = 3
	setJoined = 4

	joinedTable = 1
	joinedCuts  = 2

	objKey        = 1
	objDay        = 2
	objTailOffset = 3
	objTailCRC    = 4
	objMeta       = 5
	objKind       = 6

	deadKey   = 1
	deadBytes = 2
	deadAt    = 3

	orderCut   = 1
	orderTable = 2
	orderOrder = 3
)

func (w *writer) cold(e *Edit) {
	if e.Cold != nil {
		w.next()
		var cw writer
		cw.uint(coldLastCut, e.Cold.LastCut)
		if c := e.Cold.Open; c != nil {
			cw.bytes(coldOpen, appendCut(c))
		}
		w.bytes(fieldCold, cw.b)
		for i := range e.Cold.Dead {
			d := &e.Cold.Dead[i]
			w.next()
			var dw writer
			dw.bytes(deadKey, []byte(d.Key))
			dw.int(deadBytes, d.Bytes)
			dw.int(deadAt, d.At)
			w.bytes(fieldColdDead, dw.b)
		}
		for i := range e.Cold.Counted {
			w.next()
			w.bytes(fieldColdCounted, appendCounted(&e.Cold.Counted[i]))
		}
	}
	for i := range e.Sets {
		s := &e.Sets[i]
		w.next()
		var sw writer
		sw.uint(setNumber, s.Number)
		sw.uint(setIndex, s.Index)
		for k := range s.Objects {
			sw.bytes(setObject, AppendObject(nil, &s.Objects[k]))
		}
		for k := range s.Joined {
			sw.bytes(setJoined, appendJoined(&s.Joined[k]))
		}
		w.bytes(fieldColdSet, sw.b)
	}
	for _, o := range e.CutOrders {
		w.next()
		var ow writer
		ow.uint(orderCut, o.Number)
		ow.uint(orderTable, o.TableID)
		ow.uint(orderOrder, o.Order)
		w.bytes(fieldCutOrder, ow.b)
	}
}

func appendCut(c *Cut) []byte {
	var w writer
	w.uint(cutNumber, c.Number)
	w.uint(cutIndex, c.Index)
	w.int(cutAt, c.At)
	for i := range c.Tables {
		w.bytes(cutTable, appendCounted(&c.Tables[i]))
	}
	for i := range c.Joins {
		w.bytes(cutJoins, appendJoined(&c.Joins[i]))
	}
	if c.ByDay {
		w.uint(cutDay, protowire.EncodeZigZag(c.Day)+1)
	}
	return w.b
}

func appendJoined(j *Joined) []byte {
	var w writer
	w.uint(joinedTable, j.TableID)
	var cuts []byte
	for _, n := range j.Cuts {
		cuts = protowire.AppendVarint(cuts, n)
	}
	w.bytes(joinedCuts, cuts)
	return w.b
}

func appendCounted(c *Counted) []byte {
	var w writer
	w.uint(countTable, c.TableID)
	w.int(countRows, c.Rows)
	w.int(countMin, c.MinTime)
	if c.Unknown {
		w.uint(countUnknown, 1)
	}
	if c.Expired {
		w.uint(countExpired, 1)
	}
	w.cutRanges(countHidden, c.Hidden)
	w.cutRanges(countReturn, c.Returned)
	return w.b
}

func (w *writer) cutRanges(num protowire.Number, list []CutRange) {
	var b []byte
	for _, r := range list {
		b = protowire.AppendVarint(protowire.AppendVarint(b, r.First), r.Last)
	}
	if len(b) > 0 {
		w.bytes(num, b)
	}
}

// AppendObject appends the encoded form of an object, without the number and the order of its cut.
func AppendObject(dst []byte, o *cold.Object) []byte {
	w := writer{b: dst}
	w.bytes(objKey, []byte(o.Key))
	w.int(objDay, o.Day)
	w.int(objTailOffset, o.TailOffset)
	w.fixed32(objTailCRC, o.TailCRC)
	m := o.Meta
	m.ID, m.Order = 0, 0
	w.bytes(objMeta, appendSegment(&m))
	w.uint(objKind, uint64(o.Kind))
	return w.b
}

// DecodeObject decodes an object that AppendObject encoded. from is the source of b, for errors.
func DecodeObject(from string, b []byte) (cold.Object, error) {
	r := reader{name: from}
	return r.object(b), r.err
}

func (r *reader) coldState(b []byte, c *Cold) {
	r.fields(b, func(num protowire.Number, f field) bool {
		switch num {
		case coldLastCut:
			c.LastCut = f.v
		case coldOpen:
			c.Open = r.cut(f.b)
		default:
			return false
		}
		return true
	})
}

func (r *reader) cut(b []byte) *Cut {
	c := &Cut{}
	r.fields(b, func(num protowire.Number, f field) bool {
		switch num {
		case cutNumber:
			c.Number = f.v
		case cutIndex:
			c.Index = f.v
		case cutAt:
			c.At = f.int()
		case cutTable:
			c.Tables = append(c.Tables, r.counted(f.b))
		case cutJoins:
			c.Joins = append(c.Joins, r.joined(f.b))
		case cutDay:
			c.ByDay, c.Day = true, protowire.DecodeZigZag(f.v-1)
		default:
			return false
		}
		return true
	})
	return c
}

func (r *reader) joined(b []byte) (j Joined) {
	r.fields(b, func(num protowire.Number, f field) bool {
		switch num {
		case joinedTable:
			j.TableID = f.v
		case joinedCuts:
			j.Cuts = r.numbers(f.b)
		default:
			return false
		}
		return true
	})
	return j
}

// numbers reads numbers of cuts.
func (r *reader) numbers(list []byte) (out []uint64) {
	for len(list) > 0 {
		v, n := protowire.ConsumeVarint(list)
		if n < 0 {
			r.corrupt("the number of a cut")
			return nil
		}
		out, list = append(out, v), list[n:]
	}
	return out
}

func (r *reader) counted(b []byte) (c Counted) {
	r.fields(b, func(num protowire.Number, f field) bool {
		switch num {
		case countTable:
			c.TableID = f.v
		case countRows:
			c.Rows = f.int()
		case countMin:
			c.MinTime = f.int()
		case countUnknown:
			c.Unknown = f.v != 0
		case countExpired:
			c.Expired = f.v != 0
		case countHidden:
			c.Hidden = r.cutRanges(f.b)
		case countReturn:
			c.Returned = r.cutRanges(f.b)
		default:
			return false
		}
		return true
	})
	return c
}

func (r *reader) cutRanges(b []byte) (list []CutRange) {
	numbers := r.numbers(b)
	if len(numbers)%2 != 0 {
		r.corrupt("a range of cuts")
		return nil
	}
	for i := 0; i < len(numbers); i += 2 {
		list = append(list, CutRange{numbers[i], numbers[i+1]})
	}
	return list
}

func (r *reader) coldSet(b []byte) (s Set) {
	r.fields(b, func(num protowire.Number, f field) bool {
		switch num {
		case setNumber:
			s.Number = f.v
		case setIndex:
			s.Index = f.v
		case setObject:
			s.Objects = append(s.Objects, r.object(f.b))
		case setJoined:
			s.Joined = append(s.Joined, r.joined(f.b))
		default:
			return false
		}
		return true
	})
	for i := range s.Objects {
		s.Objects[i].Cut = s.Number
	}
	return s
}

func (r *reader) object(b []byte) (o cold.Object) {
	r.fields(b, func(num protowire.Number, f field) bool {
		switch num {
		case objKey:
			o.Key = string(f.b)
		case objDay:
			o.Day = f.int()
		case objTailOffset:
			o.TailOffset = f.int()
		case objTailCRC:
			o.TailCRC = uint32(f.v)
		case objMeta:
			r.segment(f.b, &o.Meta)
		case objKind:
			if o.Kind = cold.Kind(f.v); f.v > uint64(cold.Day) {
				return false
			}
		default:
			return false
		}
		return true
	})
	return o
}

func (r *reader) deadObject(b []byte) (d DeadObject) {
	r.fields(b, func(num protowire.Number, f field) bool {
		switch num {
		case deadKey:
			d.Key = string(f.b)
		case deadBytes:
			d.Bytes = f.int()
		case deadAt:
			d.At = f.int()
		default:
			return false
		}
		return true
	})
	return d
}

func (r *reader) cutOrder(b []byte) (o CutOrder) {
	r.fields(b, func(num protowire.Number, f field) bool {
		switch num {
		case orderCut:
			o.Number = f.v
		case orderTable:
			o.TableID = f.v
		case orderOrder:
			o.Order = f.v
		default:
			return false
		}
		return true
	})
	return o
}
