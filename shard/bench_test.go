package shard

import (
	"context"
	"fmt"
	"testing"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/shard/rules"
	"cordwood/shard/store"
)

const benchRows = 1000

// benchTable returns the definition of an access log.
func benchTable() *schemapb.Table {
	t := &schemapb.Table{
		Id: 1, Database: "public", Name: "access", Version: 1, Placement: []*schemapb.Placement{{ShardId: testShard}},
	}
	for i, c := range []struct {
		name string
		typ  schemapb.Type
	}{
		{"ts", schemapb.Type_TYPE_TIMESTAMP_NANOSECOND},
		{"status", schemapb.Type_TYPE_INT64},
		{"bytes", schemapb.Type_TYPE_INT64},
		{"duration", schemapb.Type_TYPE_FLOAT64},
		{"method", schemapb.Type_TYPE_STRING},
		{"path", schemapb.Type_TYPE_STRING},
		{"host", schemapb.Type_TYPE_STRING},
		{"agent", schemapb.Type_TYPE_STRING},
		{"trace", schemapb.Type_TYPE_STRING},
		{"tls", schemapb.Type_TYPE_BOOLEAN},
	} {
		t.Columns = append(t.Columns, &schemapb.Column{
			Id: uint32(i + 1), Name: c.name, Type: c.typ, Semantic: schemapb.Semantic_SEMANTIC_FIELD,
		})
	}
	t.Columns[0].Semantic = schemapb.Semantic_SEMANTIC_TIMESTAMP
	return t
}

// benchBatch returns a batch of benchRows rows of benchTable. It has no session, so it can be
// applied several times.
func benchBatch(seq uint64) []byte {
	t := schema.FromProto(benchTable())
	var b column.Builder
	cols := make([]*column.Col, len(t.Columns))
	for i, c := range t.Columns {
		cols[i] = b.Add(c)
	}
	x := seq*2654435761 + 1
	next := func(n uint64) uint64 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		return x % n
	}
	for row := range benchRows {
		cols[0].SetInt(row, 1_700_000_000_000_000_000+int64(seq)*1e9+int64(row)*1e6)
		cols[1].SetInt(row, []int64{200, 200, 200, 304, 404, 500}[next(6)])
		cols[2].SetInt(row, int64(next(100_000)))
		cols[3].SetFloat(row, float64(next(10_000))/1000)
		cols[4].SetString(row, []string{"GET", "POST", "PUT"}[next(3)])
		cols[5].SetString(row, fmt.Sprintf("/api/v1/things/%d", next(2000)))
		cols[6].SetString(row, fmt.Sprintf("10.0.%d.%d", next(4), next(256)))
		cols[7].SetString(row, fmt.Sprintf("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.%d", next(40)))
		cols[8].SetString(row, fmt.Sprintf("%016x%016x", next(1<<63), next(1<<63)))
		cols[9].SetInt(row, int64(next(2)))
		b.EndRow()
	}
	return b.Encode(nil, column.Header{TableID: 1, SchemaVersion: 1})
}

// bare creates a shard without a replica, to measure Apply and flush alone.
func bare(b *testing.B) *Shard {
	cfg := Config{Config: store.Config{ID: testShard, Dir: b.TempDir(), NodeID: "n", FlushBytes: 1 << 40}}.withDefaults()
	s := newShard(cfg)
	s.store.Connect(nil, s.writes.notifyFreed)
	if _, err := s.store.Open(); err != nil {
		b.Fatal(err)
	}
	s.store.Tables.Redefine(0, 0, 0, []*rules.Definition{mustDef(b, benchTable())})
	return s
}

// BenchmarkApply measures Apply of an entry with four batches of 1000 rows.
func BenchmarkApply(b *testing.B) {
	const perEntry = 4
	s := bare(b)
	seq := uint64(0)
	batches := make([][]byte, 64)
	for i := range batches {
		batches[i] = benchBatch(uint64(i))
	}
	index := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		e := &rules.Entry{Kind: rules.KindWrite, Time: int64(index) * 1e6, Writes: make([]rules.Write, perEntry)}
		for i := range e.Writes {
			e.Writes[i].Batches = [][]byte{batches[seq%uint64(len(batches))]}
			seq++
		}
		data := rules.AppendEntry(nil, e)
		if s.store.Memory.Size() > 64<<20 {
			s.store.Tables.Freeze(index)
			if err := s.store.Flusher.Flush(); err != nil {
				b.Fatal(err)
			}
		}
		index++
		b.StartTimer()
		r, ok := s.applier.apply(index, 1, data).(*applied)
		if !ok || r.writes[0].err != nil || r.writes[0].need != nil {
			b.Fatalf("%+v", r)
		}
	}
	b.ReportMetric(float64(b.N)*perEntry*benchRows/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkFlush measures writing a memtable of 128,000 rows to a segment, and the commit.
func BenchmarkFlush(b *testing.B) {
	const perFlush = 128
	s := bare(b)
	batches := make([][]byte, perFlush)
	for i := range batches {
		batches[i] = benchBatch(uint64(i))
	}
	index := uint64(0)
	var written int64
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		for _, data := range batches {
			index++
			s.applier.apply(index, 1, rules.AppendEntry(nil, &rules.Entry{
				Kind:   rules.KindWrite,
				Writes: []rules.Write{{Batches: [][]byte{data}}},
			}))
		}
		s.store.Tables.Freeze(index)
		b.StartTimer()
		if err := s.store.Flusher.Flush(); err != nil {
			b.Fatal(err)
		}
	}
	for _, l := range s.store.Status.SegmentsOf(1) {
		written += l.Bytes
	}
	b.ReportMetric(float64(b.N)*perFlush*benchRows/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(written)/float64(b.N)/perFlush/benchRows, "bytes/row")
}

// BenchmarkWrite measures a write of 1000 rows through the log, including fsync, by eight
// concurrent writers.
func BenchmarkWrite(b *testing.B) {
	cfg := testConfig(b)
	s := openShard(b, cfg)
	data := benchBatch(1)
	if _, _, err := s.Write(context.Background(), [][]byte{data}, []*schemapb.Table{benchTable()}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetParallelism(4)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, _, err := s.Write(context.Background(), [][]byte{data}, nil); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)*benchRows/b.Elapsed().Seconds(), "rows/s")
}
