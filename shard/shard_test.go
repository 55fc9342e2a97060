package shard

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
)

func TestWriteReadFlushRestart(t *testing.T) {
	s := openShard(t, testConfig(t))
	b := batch(head(1, 9, 1), "a", "b")
	index, need, err := s.Write(context.Background(), [][]byte{b}, nil)
	if err != nil || index != 0 || len(need) != 1 || need[0] != 1 {
		t.Fatalf("first write: index %d, need %v, %v", index, need, err)
	}
	if got := s.rows(1); len(got) != 0 {
		t.Errorf("rows after a refused write: %v", got)
	}
	first := s.mustPut(b)
	second := s.mustPut(batch(head(1, 9, 2), "c"), batch(head(2, 9, 3), "x"))
	if second <= first {
		t.Errorf("indexes %d, %d", first, second)
	}
	check := func(s *opened, segments, batches int) {
		t.Helper()
		if diff := cmp.Diff([]string{"a", "b", "c"}, s.rows(1)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"x"}, s.rows(2)); diff != "" {
			t.Error(diff)
		}
		v := s.ReadView(1, 1, 5)
		defer v.Close()
		if len(v.Segments(1)) != segments || len(v.Batches(1)) != batches || v.Segments(5) == nil && len(v.Segments(5)) != 0 {
			t.Errorf("%d segments, %d batches", len(v.Segments(1)), len(v.Batches(1)))
		}
		if v.AppliedIndex() < second {
			t.Errorf("applied index %d", v.AppliedIndex())
		}
	}
	check(s, 0, 2)
	s = s.reopen()
	check(s, 0, 2) // from the log
	s.flush()
	check(s, 1, 0)
	if st := s.Stats(false); st.FlushedIndex != st.AppliedIndex || st.MemtableBytes != 0 {
		t.Errorf("stats after a flush: %v", st)
	}
	s = s.reopen()
	check(s, 1, 0)
	s.mustPut(batch(head(1, 9, 4), "d"))
	s.close()
	if err := s.Close(context.Background()); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if s.ReadView(1) != nil {
		t.Error("a closed shard gives a view")
	}
	if _, err := s.put(batch(head(1, 9, 5), "e")); errs.ReasonOf(err) != errs.NotLeader {
		t.Errorf("write to a closed shard: %v", err)
	}
	if err := s.Flush(context.Background()); err == nil {
		t.Error("flush of a closed shard")
	}
	s = openShard(t, s.cfg)
	if diff := cmp.Diff([]string{"a", "b", "c", "d"}, s.rows(1)); diff != "" {
		t.Error(diff)
	}
	v := s.ReadView(1)
	defer v.Close()
	if len(v.Segments(1)) != 2 || len(v.Batches(1)) != 0 {
		t.Errorf("after Close: %d segments, %d batches", len(v.Segments(1)), len(v.Batches(1)))
	}
}

// TestRefusals lists the writes that are not appended, and why.
func TestRefusals(t *testing.T) {
	with := func(change func(*column.Header)) []byte {
		h := head(1, 9, 100)
		change(&h)
		return batch(h, "bad")
	}
	typed := func(build func(b *column.Builder)) []byte {
		var b column.Builder
		build(&b)
		return b.Encode(nil, head(1, 9, 100))
	}
	ts := schema.FromProto(def(1)).Columns[0]
	corrupt := batch(head(1, 9, 100), "bad")
	corrupt[len(corrupt)-1] ^= 1
	tests := []struct {
		name   string
		batch  []byte
		reason errs.Reason
		code   errs.Code
		need   []uint64
		text   string
	}{
		{name: "unknown table", batch: with(func(h *column.Header) { h.TableID = 5 }), need: []uint64{5}},
		{name: "newer schema", batch: with(func(h *column.Header) { h.SchemaVersion = 3 }), need: []uint64{1}},
		{name: "newer epoch", batch: with(func(h *column.Header) { h.Epoch = 4 }), need: []uint64{1}},
		{name: "older schema", batch: with(func(h *column.Header) { h.SchemaVersion = 1 }), reason: errs.SchemaStale, code: errs.RequestOutdated, text: "at least 2 is needed"},
		{name: "older epoch", batch: with(func(h *column.Header) { h.Epoch = 2 }), reason: errs.WrongEpoch, code: errs.RequestOutdated, text: "go to shard 7 since epoch 3"},
		{name: "dropped table", batch: with(func(h *column.Header) { h.TableID = 3 }), reason: errs.TableGone, code: errs.TableNotFound, text: "table id 3 was dropped"},
		{name: "moved table", batch: with(func(h *column.Header) { h.TableID = 4 }), reason: errs.WrongEpoch, code: errs.RequestOutdated, text: "go to shard 8"},
		{name: "damaged", batch: corrupt, reason: errs.BadBatch, code: errs.InvalidArguments, text: "corrupt"},
		{name: "empty bytes", batch: nil, reason: errs.BadBatch, code: errs.InvalidArguments, text: "batch 1"},
		{
			name: "unknown column", reason: errs.BadBatch, code: errs.InvalidArguments, text: "column id 77 is not in version 2",
			batch: typed(func(b *column.Builder) {
				b.Add(ts).SetInt(0, 1)
				b.Add(schema.Column{ID: 77, Name: "z", Type: schema.Int64}).SetInt(0, 1)
				b.EndRow()
			}),
		},
		{
			name: "other type", reason: errs.BadBatch, code: errs.InvalidArguments, text: `column "m" has type Int64, in the table it has String`,
			batch: typed(func(b *column.Builder) {
				b.Add(ts).SetInt(0, 1)
				b.Add(schema.Column{ID: 3, Name: "m", Type: schema.Int64}).SetInt(0, 1)
				b.EndRow()
			}),
		},
		{
			name: "no time index", reason: errs.BadBatch, code: errs.InvalidArguments, text: "the time index is missing",
			batch: typed(func(b *column.Builder) {
				b.Add(schema.Column{ID: 3, Name: "m", Type: schema.String}).SetString(0, "x")
				b.EndRow()
			}),
		},
		{
			name: "null in the time index", reason: errs.BadBatch, code: errs.InvalidArguments, text: `time index "ts" is null in 1 rows`,
			batch: typed(func(b *column.Builder) {
				c := b.Add(ts)
				c.SetInt(0, 1)
				b.EndRow()
				c.SetNull(1)
				b.EndRow()
			}),
		},
	}
	s := openShard(t, testConfig(t))
	table := def(1)
	table.Version, table.MinWriterVersion = 2, 2
	moved := def(4)
	moved.Placement[0].ShardId = 8
	good := head(1, 9, 1)
	good.SchemaVersion = 2
	ok := batch(good, "good")
	if _, need, err := s.Write(context.Background(), [][]byte{ok, batch(head(2, 9, 2), "good")}, []*schemapb.Table{table, moved, def(2), def(3)}); err != nil || need != nil {
		t.Fatal(need, err)
	}
	if err := s.DropTable(context.Background(), 3); err != nil {
		t.Fatal(err)
	}
	for i := range tests {
		// The tests of columns and types are about version 2 of the schema.
		if strings.Contains(tests[i].text, "column") || strings.Contains(tests[i].text, "time index") {
			tests[i].batch = reversion(t, tests[i].batch)
		}
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			// The good batch of the same write must not be appended either.
			index, need, err := s.Write(context.Background(), [][]byte{batch(head(2, 9, 200), "sibling"), test.batch}, nil)
			if index != 0 || !slices.Equal(need, test.need) {
				t.Errorf("index %d, need %v, want need %v", index, need, test.need)
			}
			if test.need != nil {
				if err != nil {
					t.Errorf("error %v", err)
				}
				return
			}
			if errs.ReasonOf(err) != test.reason || errs.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.text) || !strings.Contains(err.Error(), "shard 7") {
				t.Errorf("reason %q, code %d: %v", errs.ReasonOf(err), errs.CodeOf(err), err)
			}
		})
	}
	if diff := cmp.Diff([]string{"good"}, s.rows(2)); diff != "" {
		t.Error(diff)
	}
}

// reversion encodes a batch again as of schema version 2.
func reversion(t *testing.T, data []byte) []byte {
	t.Helper()
	b, err := column.Decode(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out column.Builder
	for i := range b.Cols {
		v := &b.Cols[i]
		c := out.Add(schema.Column{ID: v.ID, Type: v.Type, Semantic: map[bool]schema.Semantic{true: schema.Timestamp}[v.ID == 1]})
		for row := range v.Rows {
			switch {
			case v.IsNull(row):
				c.SetNull(row)
			case v.Type.IsBytes():
				c.SetBytes(row, v.Bytes(row))
			default:
				c.SetInt(row, v.Int(row))
			}
		}
	}
	for range b.Rows {
		out.EndRow()
	}
	h := b.Header
	h.SchemaVersion = 2
	return out.Encode(nil, h)
}

// TestUnstorableDefinitions sends definitions whose rows could never be flushed.
func TestUnstorableDefinitions(t *testing.T) {
	tests := []struct {
		text   string
		change func(p *schemapb.Table)
	}{
		{"0 time indexes", func(p *schemapb.Table) { p.Columns[0].Semantic = schemapb.Semantic_SEMANTIC_FIELD }},
		{"2 time indexes", func(p *schemapb.Table) {
			p.Columns = append(p.Columns, &schemapb.Column{Id: 9, Name: "t2", Type: p.Columns[0].Type, Semantic: p.Columns[0].Semantic})
		}},
		{`time index "ts" has type Int64`, func(p *schemapb.Table) { p.Columns[0].Type = schemapb.Type_TYPE_INT64 }},
		{`column "m" has id 2, which is not its own`, func(p *schemapb.Table) { p.Columns[2].Id = 2 }},
		{`column "m" has the unknown type 268`, func(p *schemapb.Table) { p.Columns[2].Type = 268 }},
		{"at most 30000 can be stored", func(p *schemapb.Table) {
			for i := range uint32(maxTableColumns) {
				p.Columns = append(p.Columns, &schemapb.Column{Id: 100 + i, Name: fmt.Sprint(i), Type: schemapb.Type_TYPE_INT64, Semantic: schemapb.Semantic_SEMANTIC_FIELD})
			}
		}},
	}
	s := openShard(t, testConfig(t))
	for i, test := range tests {
		p := def(uint64(i + 1))
		test.change(p)
		_, _, err := s.Write(context.Background(), [][]byte{batch(head(p.Id, 9, p.Id), "x")}, []*schemapb.Table{p})
		if errs.ReasonOf(err) != errs.BadBatch || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: got %v", test.text, err)
		}
	}
	s.mustPut(batch(head(100, 9, 100), "good"))
	s.flush()
}

func TestTooLarge(t *testing.T) {
	s := openShard(t, testConfig(t))
	_, _, err := s.Write(context.Background(), [][]byte{make([]byte, MaxWriteBytes)}, nil)
	if errs.ReasonOf(err) != errs.BadBatch || !strings.Contains(err.Error(), "split it") {
		t.Errorf("got %v", err)
	}
}

// TestDuplicates sends the same batches again: at once, in one write, after a
// restart with and without a flush.
func TestDuplicates(t *testing.T) {
	reg := prometheus.NewRegistry()
	cfg := testConfig(t)
	cfg.Registerer = reg
	s := openShard(t, cfg)
	one, two := batch(head(1, 9, 1), "one"), batch(head(1, 9, 2), "two")
	index := s.mustPut(one, one)
	if got := s.mustPut(one); got < index {
		t.Errorf("a duplicate has index %d, the first had %d", got, index)
	}
	s.mustPut(one, two)
	s = s.reopen()
	s.mustPut(two)
	s.flush()
	s.mustPut(one)
	s = s.reopen()
	s.mustPut(one, two)
	s.mustPut(batch(head(1, 9, 5000), "far"))
	if diff := cmp.Diff([]string{"far", "one", "two"}, s.rows(1)); diff != "" {
		t.Error(diff)
	}
	_, err := s.put(one)
	if errs.ReasonOf(err) != errs.OutcomeUnknown || !strings.Contains(err.Error(), "no longer known") {
		t.Errorf("a batch behind the window: %v", err)
	}
	if got := counted(t, reg, "cordwood_shard_duplicate_batches_total"); got != 2 {
		t.Errorf("%v duplicates counted since the restart", got)
	}
	s.close()
	if left, err := reg.Gather(); err != nil || len(left) > 0 {
		t.Errorf("%d metrics left after Close, %v", len(left), err)
	}
}

// TestConcurrentWriters has writers that append to two tables at once, retry some
// batches, and readers that must never see half of a write.
func TestConcurrentWriters(t *testing.T) {
	cfg := testConfig(t)
	cfg.FlushBytes = 200 << 10
	cfg.MemoryLimit = 64 << 20
	s := openShard(t, cfg)
	s.mustPut(batch(head(1, 99, 1), "first"), batch(head(2, 99, 2), "first"))
	const writers, each = 8, 40
	var wg sync.WaitGroup
	done := make(chan struct{})
	for w := range uint64(writers) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range uint64(each) {
				text := fmt.Sprintf("w%d-%03d", w, i)
				a, b := batch(head(1, w+1, 2*i), text, strings.Repeat(text, 20)), batch(head(2, w+1, 2*i+1), text, strings.Repeat(text, 20))
				if _, err := s.put(a, b); err != nil {
					t.Error(err)
					return
				}
				if i%5 == 0 {
					if _, err := s.put(a, b); err != nil {
						t.Error(err)
						return
					}
				}
				v := s.ReadView(1)
				if !slices.Contains(viewRows(t, s.Shard.cfg.FS, v, 1), text) {
					t.Errorf("%s was acknowledged and is not there", text)
				}
				v.Close()
			}
		}()
	}
	var readers sync.WaitGroup
	readers.Add(1)
	go func() {
		defer readers.Done()
		for {
			select {
			case <-done:
				return
			default:
			}
			v := s.ReadView(1, 2)
			count := func(id uint64) (n int64) {
				for _, b := range v.Batches(id) {
					n += int64(b.Rows)
				}
				for _, seg := range v.Segments(id) {
					n += seg.Rows
				}
				return n
			}
			if a, b := count(1), count(2); a != b {
				t.Errorf("a view has %d and %d rows", a, b)
			}
			v.Close()
		}
	}()
	wg.Wait()
	close(done)
	readers.Wait()
	s = s.reopen()
	want := 1 + 2*writers*each
	for _, id := range []uint64{1, 2} {
		rows := s.rows(id)
		if len(rows) != want || len(slices.Compact(rows)) != want {
			t.Errorf("table %d: %d rows, %d of them distinct, want %d", id, len(rows), len(slices.Compact(rows)), want)
		}
	}
}

func TestDropTable(t *testing.T) {
	s := openShard(t, testConfig(t))
	s.mustPut(batch(head(1, 9, 1), "a"))
	s.flush()
	s.mustPut(batch(head(2, 9, 2), "b"))
	s.flush()
	s.mustPut(batch(head(1, 9, 3), "c"))
	v := s.ReadView(1)
	ctx := context.Background()
	for _, id := range []uint64{1, 1, 500} {
		if err := s.DropTable(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.rows(1); len(got) != 0 {
		t.Errorf("rows of a dropped table: %v", got)
	}
	s.flush()
	if got := len(s.files("segments")); got != 2 {
		t.Errorf("%d files while a view is open", got)
	}
	if diff := cmp.Diff([]string{"a", "c"}, viewRows(t, s.Shard.cfg.FS, v, 1)); diff != "" {
		t.Error(diff)
	}
	v.Close()
	v.Close()
	if got := len(s.files("segments")); got != 1 {
		t.Errorf("%d files after the last view", got)
	}
	if _, err := s.put(batch(head(1, 9, 4), "d")); errs.ReasonOf(err) != errs.TableGone {
		t.Errorf("write to a dropped table: %v", err)
	}
	s = s.reopen()
	if _, err := s.put(batch(head(1, 9, 4), "d")); errs.ReasonOf(err) != errs.TableGone {
		t.Errorf("write to a dropped table after a restart: %v", err)
	}
	if diff := cmp.Diff([]string{"b"}, s.rows(2)); diff != "" {
		t.Error(diff)
	}
}

// TestDropReplayed drops a flushed table and crashes before the next flush.
func TestDropReplayed(t *testing.T) {
	s := openShard(t, testConfig(t))
	s.mustPut(batch(head(1, 9, 1), "a"))
	s.flush()
	// The drop asks for a flush by itself; it may or may not have come before the crash.
	if err := s.DropTable(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
	s = s.reopen()
	if got := s.rows(1); len(got) != 0 {
		t.Errorf("rows %v", got)
	}
	s.mustPut(batch(head(2, 9, 2), "b"))
	s.flush()
	if got := s.files("segments"); len(got) != 1 {
		t.Errorf("files %v", got)
	}
}

func TestStats(t *testing.T) {
	s := openShard(t, testConfig(t))
	s.mustPut(batch(head(1, 9, 1), "a", "b"), batch(head(2, 9, 2), "c"))
	s.flush()
	s.mustPut(batch(head(1, 9, 3), "d"))
	st := s.Stats(true)
	if st.ShardId != testShard || st.State != "leader" || st.Leader != "node-1" || st.Term == 0 || st.FlushedIndex >= st.AppliedIndex || st.LogBytes == 0 {
		t.Errorf("stats %v", st)
	}
	if st.MemtableRows != 1 || st.MemtableBytes == 0 || len(st.Tables) != 2 || len(st.Segments) != 2 {
		t.Fatalf("stats %v", st)
	}
	if one := st.Tables[0]; one.TableId != 1 || one.Rows != 3 || one.SegmentBytes == 0 || one.MemtableBytes == 0 {
		t.Errorf("table 1: %v", one)
	}
	if seg := st.Segments[0]; seg.TableId != 1 || seg.Rows != 2 || seg.File != "0000000000000001.parquet" || seg.MinTime != 1000 || seg.MaxTime != 1001 {
		t.Errorf("segment: %v", seg)
	}
	if got := s.Stats(false); got.Segments != nil {
		t.Error("segments were not asked for")
	}
}

func TestConfigFaults(t *testing.T) {
	_, err := Open(Config{ID: 3, FlushLogBytes: -1, MemoryLimit: 5})
	for _, want := range []string{"shard 3: config", "Dir is empty", "NodeID is empty", "FlushLogBytes is -1", "MemoryLimit is 5"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}

func TestCancelledWrite(t *testing.T) {
	s := openShard(t, testConfig(t))
	s.mustPut(batch(head(1, 9, 1), "a"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, _, err := s.Write(ctx, [][]byte{batch(head(1, 9, 2), "b")}, nil)
	if !errors.Is(err, context.Canceled) || errs.ReasonOf(err) != "" || errs.CodeOf(err) != errs.Cancelled {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]string{"a"}, s.rows(1)); diff != "" {
		t.Error(diff)
	}
}

func TestLayout(t *testing.T) {
	s := openShard(t, testConfig(t))
	s.mustPut(batch(head(1, 9, 1), "a"))
	s.flush()
	if diff := cmp.Diff([]string{"INCARNATION", "MANIFEST", "raft", "segments"}, s.files(".")); diff != "" {
		t.Error(diff)
	}
	v := s.ReadView(1)
	defer v.Close()
	if got, want := v.Segments(1)[0].Path, filepath.Join(s.cfg.Dir, "segments", "0000000000000001.parquet"); got != want {
		t.Errorf("path %s, want %s", got, want)
	}
}

// TestDropSharing drops one of two tables that share a segment.
func TestDropSharing(t *testing.T) {
	s := openShard(t, testConfig(t))
	s.mustPut(batch(head(1, 9, 1), "a"), batch(head(2, 9, 2), "b"))
	s.flush()
	if err := s.DropTable(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := s.rows(1); len(got) != 0 {
			t.Errorf("rows of a dropped table: %v", got)
		}
		if diff := cmp.Diff([]string{"b"}, s.rows(2)); diff != "" {
			t.Error(diff)
		}
		if got := s.files("segments"); len(got) != 1 {
			t.Errorf("files %v", got)
		}
		s.flush()
		s = s.reopen()
	}
	if err := s.DropTable(context.Background(), 2); err != nil {
		t.Fatal(err)
	}
	s.flush()
	if got := s.files("segments"); len(got) != 0 {
		t.Errorf("files %v", got)
	}
}

// TestDefineTable tells the shard of new options.
func TestDefineTable(t *testing.T) {
	s := openShard(t, testConfig(t))
	s.mustPut(batch(head(1, 9, 1), "a"))
	d := def(1)
	d.Version, d.Name, d.Options = 2, "renamed", map[string]string{"append_mode": "true", "ttl": "instant"}
	if err := s.DefineTable(context.Background(), d, def(2)); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if version, epoch, ok := s.Table(1); version != 2 || epoch != 3 || !ok {
			t.Errorf("version %d, epoch %d, known %t", version, epoch, ok)
		}
		if got := s.state.tables[1]; got.Name != "renamed" || !got.instant || len(s.Tables()) != 2 {
			t.Errorf("definition %+v, tables %v", got, s.Tables())
		}
		s.flush()
		s = s.reopen()
	}
	s.mustPut(batch(head(1, 9, 2), "b")) // thrown away
	if diff := cmp.Diff([]string{"a"}, s.rows(1)); diff != "" {
		t.Error(diff)
	}
	if err := s.DefineTable(context.Background(), def(1)); err != nil {
		t.Fatal(err)
	}
	if version, _, _ := s.Table(1); version != 2 {
		t.Errorf("an older definition brought version %d back", version)
	}
}
