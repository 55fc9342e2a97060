package store

import (
	"cmp"
	"maps"
	"slices"

	"cordwood/proto/shardpb"
)

// maxSizeParts is the maximum number of parts of a table in an answer about sizes. If there are more, neighbours are
// joined.
const maxSizeParts = 1000

// Sizes returns how large tables are in files and objects, by the newest time of each. Rows in both are counted once.
// No ids mean all tables.
func (st *Status) Sizes(ids []uint64) (out []*shardpb.TableSize) {
	tb := st.tables
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	if len(ids) == 0 {
		ids = slices.Sorted(maps.Keys(tb.State.Tables))
	}
	for _, id := range ids {
		var parts []*shardpb.SizePart
		for _, l := range tb.segs.byTable[id] {
			parts = append(parts, &shardpb.SizePart{Newest: l.Span(id).MaxTime, Bytes: l.BytesOf(id)})
		}
		for _, o := range tb.coldOf(id) {
			parts = append(parts, &shardpb.SizePart{Newest: o.Span.MaxTime, Bytes: o.bytes()})
		}
		if len(parts) > 0 {
			out = append(out, &shardpb.TableSize{TableId: id, Parts: joinSizes(parts, maxSizeParts)})
		}
	}
	return out
}

// joinSizes sorts parts, and joins neighbours until there are at most so many.
func joinSizes(parts []*shardpb.SizePart, most int) []*shardpb.SizePart {
	slices.SortFunc(parts, func(a, b *shardpb.SizePart) int { return cmp.Compare(a.Newest, b.Newest) })
	each := (len(parts) + most - 1) / most
	out := parts[:0]
	for group := range slices.Chunk(parts, max(each, 1)) {
		sum := &shardpb.SizePart{Newest: group[len(group)-1].Newest}
		for _, p := range group {
			sum.Bytes += p.Bytes
		}
		out = append(out, sum)
	}
	return out
}

// Cutoff returns the cutoff with which rows of a table expire that are older than before. Cutoffs of a table only rise.
// So if rows with such times have come in since the last one, it is a bit higher than the last one.
func (lt *Expiry) Cutoff(table uint64, before int64) int64 {
	lt.tables.mu.RLock()
	defer lt.tables.mu.RUnlock()
	if x, had := lt.tables.State.Expired[table]; had && before <= x.Before {
		return x.Before + 1
	}
	return before
}
