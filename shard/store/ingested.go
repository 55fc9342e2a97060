package store

import (
	"cmp"
	"slices"
	"sync/atomic"

	"cordwood/proto/metapb"
)

// ingested counts the encoded bytes of batches that were appended since the process
// began. Apply adds, with Tables.mu held; tables is read under it.
type ingested struct {
	Total  atomic.Int64
	tables map[uint64]int64
}

func (n *ingested) add(table uint64, bytes int) {
	n.Total.Add(int64(bytes))
	if n.tables == nil {
		n.tables = map[uint64]int64{}
	}
	n.tables[table] += int64(bytes)
}

// Busiest returns the tables with the most bytes, the first one first.
func (tb *Tables) Busiest(most int) []*metapb.TableIngest {
	tb.mu.RLock()
	out := make([]*metapb.TableIngest, 0, len(tb.Ingested.tables))
	for id, bytes := range tb.Ingested.tables {
		out = append(out, &metapb.TableIngest{TableId: id, Bytes: bytes})
	}
	tb.mu.RUnlock()
	slices.SortFunc(out, func(a, b *metapb.TableIngest) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.TableId, b.TableId))
	})
	return out[:min(len(out), most)]
}
