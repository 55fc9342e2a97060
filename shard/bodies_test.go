package shard

import (
	"fmt"
	"slices"
	"testing"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
)

// TestBodiesAreNotKept overwrites the bodies of batches after each Write. The shard's rows must be
// correct in memory, after a crash that leaves only the log, and in a segment.
func TestBodiesAreNotKept(t *testing.T) {
	t.Parallel()
	s := openShard(t, testConfig(t))
	write := func(seq uint64, texts int) {
		bodies := &column.Bodies{}
		var b column.Builder
		table := schema.FromProto(def(1))
		ts, m := b.Add(table.Columns[0]), b.Add(table.Columns[2])
		for i := range texts {
			ts.SetInt(i, int64(seq)*1000+int64(i))
			m.SetString(i, fmt.Sprintf("%d: message %d of several", seq, i))
			b.EndRow()
		}
		data := bodies.EncodeRange(&b, nil, head(1, 9, seq), 0, texts)
		_, need, err := s.Write(column.WithBodies(wait(t), bodies), [][]byte{data}, []*schemapb.Table{def(1)})
		if err != nil || len(need) > 0 {
			t.Fatal(need, err)
		}
		bodies.Release()
	}
	for seq := range uint64(20) { // each write overwrites the memory of the previous one
		write(seq+1, 50+int(seq))
	}
	want := s.rows(1)
	if len(want) != 20*50+190 || !slices.ContainsFunc(want, func(r string) bool { return len(r) > 20 }) {
		t.Fatalf("%d rows: %q", len(want), want[:min(3, len(want))])
	}
	s = s.reopen()
	if got := s.rows(1); !slices.Equal(got, want) {
		t.Errorf("%d rows after a crash, want %d; the first are %q, want %q", len(got), len(want), got[:3], want[:3])
	}
	s.flush()
	if got := s.rows(1); !slices.Equal(got, want) {
		t.Errorf("%d rows in segments, want %d; the first are %q, want %q", len(got), len(want), got[:3], want[:3])
	}
	s.close()
}
