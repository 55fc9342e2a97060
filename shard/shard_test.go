package shard

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/errs"
	"cordwood/shard/shardtest"
)

func TestWriteReadFlushRestart(t *testing.T) {
	t.Parallel()
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

// TestDuplicates sends the same batches again: at once, in the same write, and after a restart with
// and without a flush.
func TestDuplicates(t *testing.T) {
	t.Parallel()
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
	if got := shardtest.Metric(t, reg, "cordwood_shard_duplicate_batches_total"); got != 2 {
		t.Errorf("%v duplicates counted since the restart", got)
	}
	s.close()
	if left, err := reg.Gather(); err != nil || len(left) > 0 {
		t.Errorf("%d metrics left after Close, %v", len(left), err)
	}
}

// TestConcurrentWriters runs writers that append to two tables at once and repeat some batches, and
// readers that must never see half of a write.
func TestConcurrentWriters(t *testing.T) {
	t.Parallel()
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
				a, b := batch(head(1, w+1, 2*i), text, strings.Repeat(text, 20)),
					batch(head(2, w+1, 2*i+1), text, strings.Repeat(text, 20))
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

func TestStats(t *testing.T) {
	t.Parallel()
	s := openShard(t, testConfig(t))
	s.mustPut(batch(head(1, 9, 1), "a", "b"), batch(head(2, 9, 2), "c"))
	s.flush()
	s.mustPut(batch(head(1, 9, 3), "d"))
	st := s.Stats(true)
	if st.ShardId != testShard || st.State != "leader" || st.Leader != "node-1" || st.Term == 0 ||
		st.FlushedIndex >= st.AppliedIndex || st.LogBytes == 0 {
		t.Errorf("stats %v", st)
	}
	if st.MemtableRows != 1 || st.MemtableBytes == 0 || len(st.Tables) != 2 || len(st.Segments) != 2 {
		t.Fatalf("stats %v", st)
	}
	if one := st.Tables[0]; one.TableId != 1 || one.Rows != 3 || one.SegmentBytes == 0 || one.MemtableBytes == 0 {
		t.Errorf("table 1: %v", one)
	}
	if seg := st.Segments[0]; seg.TableId != 1 || seg.Rows != 2 || seg.File != "0000000000000001.parquet" ||
		seg.MinTime != 1000 || seg.MaxTime != 1001 {
		t.Errorf("segment: %v", seg)
	}
	if got := s.Stats(false); got.Segments != nil {
		t.Error("segments were not asked for")
	}
}

func TestLayout(t *testing.T) {
	t.Parallel()
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

// TestDefineTable gives the shard a definition with new options.
func TestDefineTable(t *testing.T) {
	t.Parallel()
	s := openShard(t, testConfig(t))
	s.mustPut(batch(head(1, 9, 1), "a"))
	d := def(1)
	d.Version, d.Name, d.Options = 2, "renamed", map[string]string{"append_mode": "true", "ttl": "instant"}
	if err := s.DefineTable(context.Background(), d, def(2)); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if version, epoch, ok := s.store.Definitions.Table(1); version != 2 || epoch != 3 || !ok {
			t.Errorf("version %d, epoch %d, known %t", version, epoch, ok)
		}
		if got := s.store.Tables.State.Tables[1]; got.Name != "renamed" || !got.Instant ||
			len(s.store.Definitions.TableIDs()) != 2 {
			t.Errorf("definition %+v, tables %v", got, s.store.Definitions.TableIDs())
		}
		s.flush()
		s = s.reopen()
	}
	s.mustPut(batch(head(1, 9, 2), "b")) // it is discarded
	if diff := cmp.Diff([]string{"a"}, s.rows(1)); diff != "" {
		t.Error(diff)
	}
	if err := s.DefineTable(context.Background(), def(1)); err != nil {
		t.Fatal(err)
	}
	if version, _, _ := s.store.Definitions.Table(1); version != 2 {
		t.Errorf("an older definition brought version %d back", version)
	}
}
