package shard

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/shard/compaction"
	"cordwood/shard/vfs"
)

// TestOrderOfCompaction records the file operations of a compaction. The output must be durable
// before the manifest lists it. Inputs are removed after that, and not while they are read.
func TestOrderOfCompaction(t *testing.T) {
	t.Parallel()
	var rec vfs.Recorder
	cfg := testConfig(t)
	cfg.FS = vfs.Hook(vfs.OS, rec.Record)
	s := openShard(t, cfg)
	s.stopCompactor()
	var want []string
	for i := range uint64(3) {
		s.mustPut(batch(head(1, 9, i+1), fmt.Sprint(i)))
		s.flush()
		want = append(want, fmt.Sprint(i))
	}
	rec.Transcript()
	v := s.ReadView(1)
	if err := s.compactNow(); err != nil {
		t.Fatal(err)
	}
	name := "0000000000000004.parquet"
	if diff := cmp.Diff([]string{
		"create " + name + ".tmp", "write " + name + ".tmp", "sync " + name + ".tmp", "rename " + name + ".tmp -> " + name,
		"sync-dir segments", "write MANIFEST.tmp", "sync MANIFEST.tmp",
	}, rec.Transcript()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, viewRows(t, s.Shard.cfg.FS, v, 1)); diff != "" {
		t.Error(diff)
	}
	v.Close()
	got := rec.Transcript()
	slices.Sort(got)
	if diff := cmp.Diff([]string{
		"remove 0000000000000001.parquet", "remove 0000000000000002.parquet", "remove 0000000000000003.parquet",
	}, got); diff != "" {
		t.Error(diff)
	}
	for range 2 {
		if diff := cmp.Diff(want, s.rows(1)); diff != "" {
			t.Error(diff)
		}
		s = s.reopen()
	}
}

// TestFaultsOfCompaction runs a history of flushes, a drop and compactions, and makes each file
// operation fail once. Then it continues, or simulates a power loss.
func TestFaultsOfCompaction(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for _, power := range []bool{true, false} {
		for n := 1; ; n++ {
			if n > 300 {
				t.Fatal("the test does not end")
			}
			disk := vfs.NewMem()
			fail := vfs.FailNth{N: n, Err: boom}
			cfg := testConfig(t)
			cfg.FS = vfs.Hook(disk, fail.Fail)
			cfg.FailStop = func(error) {} // a real process would end here; continuing shows that nothing depends on it
			s := openShard(t, cfg)
			s.stopCompactor()
			var want []string
			try := func(err error) {
				t.Helper()
				if err != nil && !errors.Is(err, boom) {
					t.Fatalf("operation %d: %v", n, err)
				}
			}
			for i := range uint64(4) {
				text := fmt.Sprint("row", i)
				s.mustPut(batch(head(1, 9, 3*i+1), text), batch(head(2, 9, 3*i+2), text), batch(head(3, 9, 3*i+3), text))
				want = append(want, text)
				try(s.Flush(wait(t)))
				if i == 1 {
					if err := s.DropTable(context.Background(), 3); err != nil {
						t.Fatal(err)
					}
				}
				if i > 0 {
					try(s.compactNow())
					s.store.Compactor.TryAgain()
				}
				for _, id := range []uint64{1, 2} {
					if diff := cmp.Diff(want, s.rows(id)); diff != "" {
						t.Fatalf("operation %d: while it runs: table %d: %s", n, id, diff)
					}
				}
				if i == 1 {
					break // a table that was dropped takes no more writes
				}
			}
			if !power {
				s.flush() // the disk works again, so the flush must succeed
				if err := s.compactNow(); err != nil {
					t.Fatalf("operation %d: %v", n, err)
				}
			}
			s.crash()
			if power {
				disk.Crash(n % 100)
			}
			cfg.FS = disk
			s = openShard(t, cfg)
			s.stopCompactor()
			for range 2 {
				for _, id := range []uint64{1, 2} {
					if diff := cmp.Diff(want, s.rows(id)); diff != "" {
						t.Errorf("operation %d, power cut %t: table %d: %s", n, power, id, diff)
					}
				}
				if got := s.rows(3); len(got) > 0 {
					t.Errorf("operation %d, power cut %t: a dropped table has %v", n, power, got)
				}
				s.flush()
				if err := s.compactNow(); err != nil {
					t.Fatal(err)
				}
			}
			files := s.files("segments")
			if len(files) != len(s.store.Status.Segments()) {
				t.Errorf("operation %d, power cut %t: files %v for %d segments", n, power, files, len(s.store.Status.Segments()))
			}
			if lost, err := disk.ReadDir(filepath.Join(cfg.Dir, "lost+found")); err == nil && len(lost) > 0 {
				t.Errorf("operation %d, power cut %t: set aside: %v", n, power, lost)
			}
			s.crash()
			if !fail.Hit() {
				break
			}
		}
	}
}

// TestExpire lets rows expire in memory, in segments, some of them shared, and finally in the
// files.
func TestExpire(t *testing.T) {
	t.Parallel()
	s := openShard(t, testConfig(t))
	s.stopCompactor()
	now := time.UnixMilli(100_000)
	s.ttlFor(map[uint64]time.Duration{1: 50 * time.Second, 2: 0})
	s.mustPut(batch(head(1, 9, 10), "10"), batch(head(2, 9, 11), "11"))
	s.flush()
	s.mustPut(batch(head(1, 9, 20), "20"))
	s.flush()
	s.mustPut(batch(head(1, 9, 30), "30"), batch(head(1, 9, 60), "60"))
	step := func(want1 []string, files int) {
		t.Helper()
		if err := s.expireAt(now); err != nil {
			t.Fatal(err)
		}
		s.flush()
		if err := s.compactNow(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want1, s.rows(1)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"11"}, s.rows(2)); diff != "" {
			t.Error(diff)
		}
		if got := s.files("segments"); len(got) != files {
			t.Errorf("files %v, want %d", got, files)
		}
	}
	now = time.UnixMilli(60_500)
	if err := s.expireAt(now); err != nil { // the row at 10 expires
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"20", "30", "60"}, s.rows(1)); diff != "" {
		t.Error(diff)
	}
	now = time.UnixMilli(80_500) // the rows at 20 and 30 expire
	if err := s.expireAt(now); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"60"}, s.rows(1)); diff != "" {
		t.Error(diff)
	}
	step([]string{"60"}, 2)
	// With a longer ttl, rows that are written now stay, however old they are.
	s.ttlFor(map[uint64]time.Duration{})
	s.mustPut(batch(head(1, 9, 1), "1"))
	step([]string{"1", "60"}, 3-1)
	s = s.reopen()
	s.stopCompactor()
	step([]string{"1", "60"}, 2)
	s.ttlFor(map[uint64]time.Duration{1: 50 * time.Second})
	now = time.UnixMilli(300_000)
	step([]string{}, 1)
}

// TestClockLeaps checks how a clock that jumps ahead is handled.
func TestClockLeaps(t *testing.T) {
	t.Parallel()
	start := time.Now()
	var c expiryClock
	for _, step := range []struct {
		mono, wall time.Duration // since the start
		want       time.Duration
		sound      bool
	}{
		{0, 0, 0, true},
		{time.Minute, time.Minute, time.Minute, true},
		{2 * time.Minute, 6 * time.Minute, 6 * time.Minute, true}, // set forward by a little
		{3 * time.Minute, time.Hour, 7 * time.Minute, false},
		{4 * time.Minute, 2 * time.Hour, 8 * time.Minute, true}, // it was reported already
		{5 * time.Minute, 9 * time.Minute, 9 * time.Minute, true},
		{6 * time.Minute, -time.Hour, -time.Hour, true}, // set back: nothing expires
		{7 * time.Minute, 11 * time.Minute, 11 * time.Minute, true},
	} {
		use, sound := c.at(start.Add(step.mono), start.Round(0).Add(step.wall))
		if got := use.Sub(start.Round(0)); got.Round(time.Second) != step.want || sound != step.sound {
			t.Errorf("after %s the clock shows %s: use %s, sound %t; want %s, %t", step.mono, step.wall, got, sound,
				step.want, step.sound)
		}
	}
}

// TestSplit checks that a table gets its own segments when it is large enough.
func TestSplit(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	cfg.SplitBytes = 1 << 10
	s := openShard(t, cfg)
	s.stopCompactor()
	for i := range uint64(3) {
		s.mustPut(batch(head(1, 9, 3*i+1), "small"), batch(head(2, 9, 3*i+2), strings.Repeat(fmt.Sprint("large", i), 500)),
			batch(head(3, 9, 3*i+3), "also"))
		for j := range uint64(20) {
			s.mustPut(batch(head(2, 10, 20*i+j+1), fmt.Sprint("row", i, j)))
		}
		s.flush()
	}
	if err := s.compactNow(); err != nil {
		t.Fatal(err)
	}
	if l := s.store.Status.SegmentsOf(2); len(l) != 1 || l[0].Shared() {
		t.Errorf("table 2 has %d segments", len(l))
	}
	if l := s.store.Status.SegmentsOf(1); len(l) != 1 || !l[0].Shared() || len(l[0].Tables) != 2 {
		t.Errorf("table 1 has %d segments", len(l))
	}
	for range 2 {
		if a, b := len(s.rows(1)), len(s.rows(2)); a != 3 || b != 63 {
			t.Errorf("%d and %d rows", a, b)
		}
		s = s.reopen()
	}
}

// TestSparseColumns writes a table with a thousand columns, of which each row uses three, together
// with small tables.
func TestSparseColumns(t *testing.T) {
	t.Parallel()
	s := openShard(t, testConfig(t))
	s.stopCompactor()
	d := def(1)
	for i := range 1000 {
		d.Columns = append(d.Columns, &schemapb.Column{
			Id: uint32(4 + i), Name: fmt.Sprint("c", i), Type: schemapb.Type_TYPE_INT64,
			Semantic: schemapb.Semantic_SEMANTIC_FIELD,
		})
	}
	d.NextColumnId = 1004
	table := schema.FromProto(d)
	want := 0
	for n := range uint64(4) {
		var b column.Builder
		for row := range 500 {
			set := func(c schema.Column, v int64) {
				at := slices.IndexFunc(b.Cols(), func(have *column.Col) bool { return have.ID == c.ID })
				if at < 0 {
					at = len(b.Cols())
					b.Add(c)
				}
				b.Cols()[at].SetInt(row, v)
			}
			set(table.Columns[0], int64(n)*1000+int64(row))
			for i := range 3 {
				set(table.Columns[3+(row*3+i+int(n)*7)%1000], int64(row))
			}
			b.EndRow()
			want++
		}
		data := b.Encode(nil, head(1, 9, 2*n+1))
		if _, need, err := s.Write(context.Background(), [][]byte{data, batch(head(2, 9, 2*n+2), "small")},
			[]*schemapb.Table{d, def(2)}); err != nil || len(need) > 0 {
			t.Fatalf("needs %v: %v", need, err)
		}
		s.flush()
	}
	if err := s.compactNow(); err != nil {
		t.Fatal(err)
	}
	l := s.store.Status.SegmentsOf(1)
	if len(l) != 1 || l[0].Shared() || l[0].Rows != int64(want) || len(l[0].Columns) != 1001 {
		t.Errorf("%d segments, the first of %d rows and %d columns", len(l), l[0].Rows, len(l[0].Columns))
	}
	if got := len(s.rows(2)); got != 4 {
		t.Errorf("%d rows of the small table", got)
	}
}

// compactNow compacts although the limiter of the tests allows no compaction.
func (o *opened) compactNow() error {
	o.t.Helper()
	kept := o.Shard.cfg.Compaction
	o.Shard.cfg.Compaction = compaction.NewLimiter(0, 0)
	defer func() { o.Shard.cfg.Compaction = kept }()
	return o.Compact(wait(o.t))
}

// expireAt expires rows.
func (o *opened) expireAt(now time.Time) error {
	_, err := o.clock.expireBy(wait(o.t), now)
	return err
}

// stopCompactor ends the compaction loop, so that only the test compacts.
func (o *opened) stopCompactor() { o.store.Compactor.StopLoop() }

// ttls returns a function that returns the ttls of tables; rows of other tables never expire.
func ttls(of map[uint64]time.Duration) func(t *schema.Table) schema.TTL {
	return func(t *schema.Table) schema.TTL {
		if d := of[t.ID]; d > 0 {
			return schema.TTL{D: d}
		}
		return schema.TTL{Forever: true}
	}
}

// ttlFor sets the ttls of an open shard's tables.
func (o *opened) ttlFor(of map[uint64]time.Duration) {
	o.cfg.TTL = ttls(of)
	o.Shard.cfg.TTL = o.cfg.TTL
}
