package store

import "sync/atomic"

// ingested counts the encoded bytes of batches that were appended since the process started. Apply
// adds to it with Tables.mu held; tables is read under this lock.
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
