package shard

import (
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/schema"
	"cordwood/shard/cold"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/tier"
	"cordwood/shard/compaction"
	"cordwood/shard/rules"
	"cordwood/shard/segment"
	"cordwood/shard/store"
	"cordwood/shard/vfs"
)

// tiered adds object storage to a configuration. Rows are old at once, and move only by Step.
func tiered(cfg Config, b bucket.Bucket) Config {
	cfg.Tier = &tier.Tier{Bucket: b, Cluster: "cluster", UploadAfter: time.Nanosecond, Every: 24 * time.Hour}
	cfg.Compaction = compaction.NewLimiter(0, 0)
	return cfg
}

// tierBucket is a bucket in a folder of the test.
func tierBucket(t testing.TB) bucket.Bucket {
	return bucket.NewGuard(bucket.NewDir(t.TempDir()), bucket.GuardConfig{})
}

// hand is a monotonic clock that tests set.
type hand struct{ n atomic.Int64 }

func (h *hand) get() time.Duration { return time.Duration(h.n.Load()) }

func (h *hand) add(d time.Duration) { h.n.Add(int64(d)) }

// move moves rows to object storage: it opens a cut if rows are in segments, and closes it.
func (o *opened) move() {
	o.t.Helper()
	o.flush()
	if err := o.mover.Step(wait(o.t)); err != nil {
		o.t.Fatal(err)
	}
}

// objectRows returns the rows of a table in an object, in the order of the object. It checks that the bucket has the
// object as it is described.
func objectRows(t testing.TB, b bucket.Bucket, o *cold.Object, table uint64) []string {
	t.Helper()
	r, err := b.Open(wait(t), o.Key, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if crc := crc32.Checksum(data[o.TailOffset:], bucket.Castagnoli); crc != o.TailCRC {
		t.Errorf("object %s: the checksum of the tail is %08x, want %08x", o.Key, crc, o.TailCRC)
	}
	m := o.Meta
	m.ID = 1
	dir := t.TempDir()
	path := filepath.Join(dir, m.FileName())
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := segment.Check(vfs.OS, dir, &m, true); err != nil {
		t.Error(err)
	}
	if u, err := segment.ReadUnits(vfs.OS, path); err != nil || u == nil {
		t.Errorf("object %s: units %v, %v", o.Key, u, err)
	}
	return segmentRows(t, vfs.OS, store.Segment{Meta: m, Path: path}, table)
}

// rowsInSets returns the rows of a table in the objects of all sets, sorted, and the number of the objects.
func (o *opened) rowsInSets(b bucket.Bucket, table uint64) (rows []string, objects int) {
	o.t.Helper()
	_, sets := o.coldState()
	for i := range sets {
		for k := range sets[i].Objects {
			if x := &sets[i].Objects[k]; x.Has(table) {
				rows = append(rows, objectRows(o.t, b, x, table)...)
				objects++
			}
		}
	}
	slices.Sort(rows)
	return rows, objects
}

// keysIn returns the keys of all objects in a bucket, without states.
func keysIn(t testing.TB, b bucket.Bucket) (keys []string) {
	t.Helper()
	return slices.DeleteFunc(allKeysIn(t, b), func(key string) bool { return strings.Contains(key, "/state/") })
}

// allKeysIn returns all keys in a bucket.
func allKeysIn(t testing.TB, b bucket.Bucket) (keys []string) {
	t.Helper()
	if err := b.List(wait(t), "", func(i bucket.Info) error { keys = append(keys, i.Key); return nil }); err != nil {
		t.Fatal(err)
	}
	slices.Sort(keys)
	return keys
}

// TestMoveRows moves the rows of tables with own and with shared segments, over two days, in three cuts. Afterwards
// each row is in one object, and the local segments are unchanged.
func TestMoveRows(t *testing.T) {
	t.Parallel()
	b := tierBucket(t)
	cfg := tiered(testConfig(t), b)
	cfg.ShareBytes = 3000
	cfg.Tier.Tables = func(t *schema.Table) bool { return t.ID != 4 }
	s := openShard(t, cfg)
	s.stopCompactor()
	want := map[uint64][]string{}
	seq := uint64(0)
	put := func(cut string, n int, tables ...uint64) {
		for _, id := range tables {
			for range n {
				seq++
				day := seq % 2 * 86400
				text := fmt.Sprint(cut, " ", seq, strings.Repeat("x", 10))
				s.mustPut(batch(head(id, 100+day, day+seq), text))
				want[id] = append(want[id], text)
			}
		}
	}
	for i, cut := range []string{"a", "b", "c"} {
		put(cut, 3, 1, 2, 4)
		s.flush()
		put(cut, 100, 3)
		put(cut, 2, 1, 2)
		if i == 1 {
			s.flush() // table 1 is in several segments, which a compaction merges
			if err := s.compactNow(); err != nil {
				t.Fatal(err)
			}
		}
		s.move()
		if i == 1 {
			s = s.reopen()
			s.stopCompactor()
		}
	}
	c, sets := s.coldState()
	if c.LastCut != 3 || c.Open != nil || len(sets) != 3 {
		t.Fatalf("the state is %+v, with %d sets", c, len(sets))
	}
	objects := 0
	for i := range sets {
		objects += len(sets[i].Objects)
		for k := range sets[i].Objects {
			o := &sets[i].Objects[k]
			if want := o.Meta.MinTime / 86400_000; !o.Meta.Shared() && o.Day != want {
				t.Errorf("object %s of day %d, want %d", o.Key, o.Day, want)
			}
			for _, span := range o.Spans() {
				for _, row := range objectRows(t, b, o, span.TableID) {
					if cut := string(rune('a' + i)); !strings.HasPrefix(row, cut) {
						t.Errorf("object %s of cut %s has the row %s", o.Key, cut, row)
					}
				}
			}
		}
	}
	if keys := keysIn(t, b); len(keys) != objects {
		t.Errorf("%d objects in sets, the bucket has %q", objects, keys)
	}
	for _, id := range slices.Sorted(maps.Keys(want)) {
		slices.Sort(want[id])
		if d := cmp.Diff(want[id], s.rows(id)); d != "" {
			t.Errorf("local rows of table %d: %s", id, d)
		}
		got, n := s.rowsInSets(b, id)
		if id == 4 {
			if n > 0 {
				t.Error("table 4 was moved, although it is to stay")
			}
			continue
		}
		if d := cmp.Diff(want[id], got); d != "" {
			t.Errorf("rows of table %d in objects: %s", id, d)
		}
	}
	if files := s.files(tier.DirName); len(files) > 0 {
		t.Errorf("files that were being built were left: %q", files)
	}
}

// TestMoveWhenDue moves rows when they are old, and earlier if a table has many. The clock begins with the first rows
// after a cut.
func TestMoveWhenDue(t *testing.T) {
	t.Parallel()
	b := tierBucket(t)
	cfg := tiered(testConfig(t), b)
	var now hand
	cfg.Monotonic = now.get
	cfg.Tier.UploadAfter, cfg.Tier.CutBytes = time.Hour, 20_000
	var version atomic.Uint32
	version.Store(16)
	cfg.ClusterVersion = version.Load
	s := openShard(t, cfg)
	s.stopCompactor()
	seq := uint64(0)
	put := func(id uint64, n int) {
		texts := make([]string, n)
		for i := range texts {
			seq++
			texts[i] = fmt.Sprintf("%d %x", seq, crc32.ChecksumIEEE(fmt.Append(nil, seq)))
		}
		s.mustPut(batch(head(id, 9, seq), texts...))
	}
	step := func(after time.Duration, cuts uint64, tables ...uint64) {
		t.Helper()
		now.add(after)
		s.move()
		c, sets := s.coldState()
		if c.LastCut != cuts || c.Open != nil {
			t.Errorf("at %s: %d cuts, want %d; open: %+v", now.get(), c.LastCut, cuts, c.Open)
		}
		var in []uint64
		if len(sets) > 0 {
			for i := range sets[len(sets)-1].Objects {
				for _, span := range sets[len(sets)-1].Objects[i].Spans() {
					in = append(in, span.TableID)
				}
			}
		}
		if slices.Sort(in); !slices.Equal(in, tables) {
			t.Errorf("at %s: the last set has the tables %d, want %d", now.get(), in, tables)
		}
	}
	put(1, 1)
	step(0, 0)
	step(time.Hour, 0) // not all nodes know the entries
	version.Store(17)
	put(2, 1)
	step(0, 1, 1)
	put(1, 1)
	step(59*time.Minute, 1, 1)
	step(time.Minute, 2, 2)
	step(58*time.Minute, 2, 2)
	put(3, 5000)
	step(0, 3, 3) // it is large
	step(time.Minute, 4, 1)
	step(24*time.Hour, 4, 1) // nothing is left
}

// TestMoveExpired moves tables whose rows expired before the cut, between the cut and the offload, and after it.
func TestMoveExpired(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"before", "flush", "build", "offload", "after"} {
		b := tierBucket(t)
		cfg := tiered(testConfig(t), b)
		at := func(string) {}
		cfg.atStep = func(step string) { at(step) }
		s := openShard(t, cfg)
		s.stopCompactor()
		s.mustPut(batch(head(1, 9, 1), "moved"), batch(head(2, 8, 1), "moved too"))
		s.move()
		for i := range uint64(6) {
			s.mustPut(batch(head(1, 9, 10+i), fmt.Sprint("row", i)), batch(head(2, 8, 10+i), "stays"))
			if i == 2 {
				s.flush()
			}
		}
		expire := func() {
			e := rules.Entry{Kind: rules.KindExpire, Cutoffs: []rules.Cutoff{{TableID: 1, Before: 12_000}}}
			if err := s.propose(&e); err != nil {
				t.Error(err)
			}
		}
		at = func(step string) {
			if step == when {
				expire()
			}
		}
		if when == "before" {
			expire()
		}
		s.move()
		at = func(string) {}
		if when == "after" {
			expire()
		}
		c, _ := s.coldState()
		if c.LastCut != 2 || c.Open != nil {
			t.Errorf("%s: %+v", when, c)
		}
		rows, _ := s.rowsInSets(b, 1)
		rows = slices.DeleteFunc(rows, func(row string) bool { return row == "row0" || row == "row1" || row == "moved" })
		if want := []string{"row2", "row3", "row4", "row5"}; !slices.Equal(rows, want) {
			t.Errorf("%s: the objects have %q, want %q", when, rows, want)
		}
		if rows, _ := s.rowsInSets(b, 2); len(rows) != 7 {
			t.Errorf("%s: the objects have %q of table 2", when, rows)
		}
		s.close()
	}
}

// TestMoveDropped drops a table between the cut and the offload.
func TestMoveDropped(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"cut", "flush", "build", "put", "offload"} {
		b := tierBucket(t)
		cfg := tiered(testConfig(t), b)
		var s *opened
		cfg.atStep = func(step string) {
			if step == when {
				if err := s.DropTable(context.Background(), 1); err != nil {
					t.Error(err)
				}
			}
		}
		s = openShard(t, cfg)
		s.stopCompactor()
		s.mustPut(batch(head(1, 9, 1), "dropped"), batch(head(2, 8, 1), "kept"))
		s.move()
		c, sets := s.coldState()
		if c.LastCut != 1 || c.Open != nil || len(sets) != 1 {
			t.Errorf("%s: %+v, %d sets", when, c, len(sets))
		}
		if rows, _ := s.rowsInSets(b, 2); !slices.Equal(rows, []string{"kept"}) {
			t.Errorf("%s: the objects have %q", when, rows)
		}
		s.close()
	}
}

// TestAgeAfterRestart restarts a shard more often than rows become old. Its rows move when they are old all the same,
// those after the cut when they are. A damaged file begins anew.
func TestAgeAfterRestart(t *testing.T) {
	t.Parallel()
	b := tierBucket(t)
	cfg := tiered(testConfig(t), b)
	cfg.Tier.UploadAfter = time.Hour
	var wall hand
	var mono *hand
	cfg.Now = func() time.Time { return time.Unix(1_700_000_000, 0).Add(wall.get()) }
	cfg.Monotonic = func() time.Duration { return mono.get() }
	seq := uint64(0)
	for _, c := range []struct {
		put     int
		after   time.Duration
		damaged bool
		cuts    uint64
	}{
		{1, 0, false, 0},
		{0, 25 * time.Minute, false, 0},
		{2, 25 * time.Minute, false, 0},
		{0, 15 * time.Minute, false, 1},
		{3, time.Minute, false, 1},
		{0, 59 * time.Minute, false, 1},
		{0, time.Minute, false, 2},
		{4, 0, false, 2},
		{0, 50 * time.Minute, true, 2},
		{0, 50 * time.Minute, false, 2},
		{5, -20 * time.Minute, false, 2}, // the clock is set back
		{0, 90 * time.Minute, false, 3},
	} {
		mono = &hand{} // since the start of the process
		wall.add(c.after)
		s := openShard(t, cfg)
		s.stopCompactor()
		if c.damaged {
			if err := os.WriteFile(filepath.Join(cfg.Dir, tier.HotSinceFile), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for range c.put {
			seq++
			s.mustPut(batch(head(1, 9, seq), fmt.Sprint("row ", seq)))
		}
		s.move()
		if state, _ := s.coldState(); state.LastCut != c.cuts || state.Open != nil {
			t.Errorf("at %s: %d cuts, want %d; open: %+v", wall.get(), state.LastCut, c.cuts, state.Open)
		}
		if err := s.Close(wait(t)); err != nil {
			t.Fatal(err)
		}
	}
}
