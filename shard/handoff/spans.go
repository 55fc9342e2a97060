package handoff

import (
	"cmp"
	"math"
	"slices"

	"cordwood/shard/compaction"
	"cordwood/shard/segment"
	"cordwood/shard/store"
)

// This file divides the rows that have to be merged before they are sent by their times, so that few objects are in
// files at a time. Rows of one identity have the same time.

// mergedBytes is about how many bytes of objects are fetched to be merged. It is more if objects whose times overlap
// have more.
const mergedBytes = 1 << 30

// span is a range of times, both ends included, in the unit of the time index.
type span struct{ from, to int64 }

// always has all times.
var always = span{math.MinInt64, math.MaxInt64}

// overlaps reports whether rows of t may be in the span.
func (s span) overlaps(t segment.TableSpan) bool {
	return t.Rows > 0 && t.MinTime <= s.to && t.MaxTime >= s.from
}

// divide returns spans, in order, that have all times. The objects that overlap with a span have about limit bytes, or
// twice as many as overlap at one time if that is more. So an object is fetched twice on the average at most.
func divide(objects []store.ColdObject, limit int64) (list []span) {
	var ends []int64 // where the objects that overlap change
	sum := int64(0)
	for i := range objects {
		s := objects[i].Span
		sum += objects[i].Meta.Bytes
		if ends = append(ends, s.MaxTime); s.MinTime > math.MinInt64 {
			ends = append(ends, s.MinTime-1)
		}
	}
	if sum <= limit {
		return []span{always}
	}
	slices.Sort(ends)
	ends = slices.Compact(ends)
	byBegin := slices.SortedFunc(slices.Values(objects), func(a, b store.ColdObject) int {
		return cmp.Compare(a.Span.MinTime, b.Span.MinTime)
	})
	limit = max(limit, 2*peak(byBegin))
	from := int64(math.MinInt64)
	for {
		to, bytes, n := int64(math.MaxInt64), int64(0), 0
		for i, end := range ends {
			for ; n < len(byBegin) && byBegin[n].Span.MinTime <= end; n++ {
				if byBegin[n].Span.MaxTime >= from {
					bytes += byBegin[n].Meta.Bytes
				}
			}
			if bytes > limit && i > 0 && ends[i-1] >= from {
				to = ends[i-1]
				break
			}
		}
		list = append(list, span{from, to})
		if to == math.MaxInt64 {
			return list
		}
		from = to + 1
	}
}

// peak returns the maximum of the bytes of objects that overlap at a time. The objects are in the order of their
// first rows.
func peak(objects []store.ColdObject) (most int64) {
	byEnd := slices.SortedFunc(slices.Values(objects), func(a, b store.ColdObject) int {
		return cmp.Compare(a.Span.MaxTime, b.Span.MaxTime)
	})
	bytes, ended := int64(0), 0
	for i := range objects {
		for byEnd[ended].Span.MaxTime < objects[i].Span.MinTime {
			bytes -= byEnd[ended].Meta.Bytes
			ended++
		}
		bytes += objects[i].Meta.Bytes
		most = max(most, bytes)
	}
	return most
}

// within returns the objects and the inputs that have rows of a table in a span.
func (s span) within(table uint64, objects []store.ColdObject, inputs []compaction.Input) step {
	part := step{span: s}
	for i := range objects {
		if s.overlaps(objects[i].Span) {
			part.objects = append(part.objects, objects[i])
		}
	}
	for _, in := range inputs {
		if s == always || s.overlaps(spanOf(in.Meta, table)) {
			part.inputs = append(part.inputs, in)
		}
	}
	return part
}

// spanOf describes the rows of a table in a segment.
func spanOf(m *segment.Meta, table uint64) segment.TableSpan {
	for _, t := range m.Tables {
		if t.TableID == table {
			return t
		}
	}
	return segment.TableSpan{TableID: table, Rows: m.Rows, MinTime: m.MinTime, MaxTime: m.MaxTime}
}
