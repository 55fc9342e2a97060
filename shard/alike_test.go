package shard

import (
	"testing"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/schema"
)

// TestRowsAllAlike flushes a large number of rows that need almost no memory each. Sorting needs
// some memory for each row nevertheless.
func TestRowsAllAlike(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	cfg.FlushBytes = 1 << 20
	s := openShard(t, cfg)
	var b column.Builder
	ts := b.Add(schema.FromProto(def(1)).Columns[0])
	const rows = 100_000
	for i := range rows {
		ts.SetInt(i, 1000)
		b.EndRow()
	}
	data := b.Encode(nil, head(1, 1, 1))
	if size, err := column.InflatedSize(data); err != nil || size > 1000 {
		t.Fatalf("%d equal rows have %d bytes: %v", rows, size, err)
	}
	index := s.mustPut(data)
	for deadline := time.Now().Add(30 * time.Second); s.store.Tables.Flushed.Load() < index; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d rows are not flushed", rows)
		}
	}
	s.close()
}
