package shard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/errs"
	"cordwood/shard/store"
	"cordwood/shard/vfs"
)

// TestOrderOfFlush records the file operations of flushes. Files are synced under their final names
// before they are committed, and removed only when they are no longer live.
func TestOrderOfFlush(t *testing.T) {
	t.Parallel()
	var rec vfs.Recorder
	cfg := testConfig(t)
	cfg.FS = vfs.Hook(vfs.OS, rec.Record)
	s := openShard(t, cfg)
	rec.Transcript()
	step := func(name string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, rec.Transcript()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	segment := func(n int) []string {
		name := fmt.Sprintf("%016d.parquet", n)
		return []string{
			"create " + name + ".tmp", "write " + name + ".tmp", "sync " + name + ".tmp",
			"rename " + name + ".tmp -> " + name,
		}
	}
	s.mustPut(batch(head(1, 9, 1), "a"), batch(head(2, 9, 2), "b", "c", "d"))
	step("a write touches no file but the log")
	s.flush()
	step("first flush", slices.Concat(segment(1), []string{
		"sync-dir segments",
		"create MANIFEST.tmp", "write MANIFEST.tmp", "sync MANIFEST.tmp", "rename MANIFEST.tmp -> MANIFEST",
		"sync-dir " + filepath.Base(cfg.Dir),
	})...)
	s.flush()
	step("a flush of nothing")
	s.mustPut(batch(head(1, 9, 3), "c"))
	s.flush()
	step("second flush", slices.Concat(segment(2), []string{
		"sync-dir segments", "write MANIFEST.tmp", "sync MANIFEST.tmp",
	})...)
	s.crash()
	s = openShard(t, cfg)
	rec.Transcript()
	// The drop flushes by itself. Wait for this flush instead of requesting another one.
	if err := s.DropTable(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
	s.flush()
	step("drop", "create MANIFEST.tmp", "write MANIFEST.tmp", "sync MANIFEST.tmp", "rename MANIFEST.tmp -> MANIFEST",
		"sync-dir "+filepath.Base(cfg.Dir),
		"remove 0000000000000002.parquet")
	if err := s.DropTable(context.Background(), 2); err != nil {
		t.Fatal(err)
	}
	s.flush()
	step("drop of the other table of a shared segment", "write MANIFEST.tmp", "sync MANIFEST.tmp",
		"remove 0000000000000001.parquet")
}

// TestFaults runs a history of writes and flushes and makes each file operation fail once. Then it
// continues, or simulates a power loss. Afterwards every acknowledged row is there once.
func TestFaults(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for _, power := range []bool{true, false} {
		for n := 1; ; n++ {
			if n > 200 {
				t.Fatal("the test does not end")
			}
			disk := vfs.NewMem()
			fail := vfs.FailNth{N: n, Err: boom}
			cfg := testConfig(t)
			cfg.FS = vfs.Hook(disk, fail.Fail)
			// After a failed sync of the manifest, a real process would end. Continuing here is the
			// harder case.
			cfg.FailStop = func(err error) {
				if !errors.Is(err, boom) {
					t.Error(err)
				}
			}
			s := openShard(t, cfg)
			var want []string
			for i := range uint64(3) {
				text := fmt.Sprint("row", i)
				s.mustPut(batch(head(1, 9, 2*i+1), text), batch(head(2, 9, 2*i+2), text))
				want = append(want, text)
				if err := s.Flush(wait(t)); err != nil && !errors.Is(err, boom) {
					t.Fatalf("operation %d: %v", n, err)
				}
				if diff := cmp.Diff(want, s.rows(1)); diff != "" {
					t.Fatalf("operation %d: while it runs: %s", n, diff)
				}
			}
			if !power {
				s.flush() // the disk works again, so the flush must succeed
			}
			s.crash()
			if power {
				disk.Crash(n % 100)
			}
			cfg.FS = disk
			s = openShard(t, cfg)
			for _, id := range []uint64{1, 2} {
				if diff := cmp.Diff(want, s.rows(id)); diff != "" {
					t.Errorf("operation %d, power cut %t: table %d: %s", n, power, id, diff)
				}
			}
			s.mustPut(batch(head(1, 9, 1), "row0")) // a late retry
			s.flush()
			if diff := cmp.Diff(want, s.rows(1)); diff != "" {
				t.Errorf("operation %d, power cut %t: after a flush: %s", n, power, diff)
			}
			for _, name := range s.files("segments") {
				if strings.HasSuffix(name, ".tmp") {
					t.Errorf("operation %d, power cut %t: the file %s was left", n, power, name)
				}
			}
			s.crash()
			if !fail.Hit() {
				break
			}
		}
	}
}

// TestDiskFull fills the disk of the segments for a while.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	var full atomic.Bool
	cfg := testConfig(t)
	cfg.FlushBytes, cfg.MemoryLimit = 100<<10, 300<<10
	cfg.FS = vfs.Hook(vfs.OS, func(op vfs.Op) error {
		if full.Load() && op.Kind == vfs.OpWrite {
			return syscall.ENOSPC
		}
		return nil
	})
	s := openShard(t, cfg)
	s.mustPut(batch(head(1, 9, 1), "row-00000"))
	full.Store(true)
	var want []string
	want = append(want, "row-00000")
	busy := false
	for i := uint64(1); i < 100 && !busy; i++ {
		text := fmt.Sprintf("row-%05d", i) + strings.Repeat(fmt.Sprint(i), 10_000)
		_, err := s.put(batch(head(1, 9, i+1), text))
		switch {
		case err == nil:
			want = append(want, text)
		case errs.ReasonOf(err) == errs.Busy && errs.From(err).RetryAfter > 0 && errs.From(err).Status() == 503:
			busy = true
		default:
			t.Fatal(err)
		}
	}
	if !busy {
		t.Fatal("memory is never exhausted")
	}
	err := s.Flush(wait(t))
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "shard 7") ||
		!strings.Contains(err.Error(), ".parquet") {
		t.Errorf("flush: %v", err)
	}
	if st := s.Stats(false); !strings.Contains(st.State, "no space left") {
		t.Errorf("state %q", st.State)
	}
	_, err = s.put(batch(head(1, 9, 500), strings.Repeat("x", 200_000)))
	if errs.ReasonOf(err) != errs.Busy || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("write: %v", err)
	}
	if diff := cmp.Diff(len(want), len(s.rows(1))); diff != "" {
		t.Error(diff)
	}
	full.Store(false)
	s.flush()
	if st := s.Stats(false); st.State != "leader" || st.MemtableBytes != 0 {
		t.Errorf("state %q, %d bytes in memory", st.State, st.MemtableBytes)
	}
	s.mustPut(batch(head(1, 9, 501), "row-last"))
	want = append(want, "row-last")
	slices.Sort(want)
	s = s.reopen()
	if diff := cmp.Diff(want, s.rows(1)); diff != "" {
		t.Errorf("%d rows, want %d", len(s.rows(1)), len(want))
	}
}

// TestRecovery opens a shard in each state that a crash or damage may leave.
func TestRecovery(t *testing.T) {
	t.Parallel()
	at := func(parts ...string) func(dir string) string {
		return func(dir string) string { return filepath.Join(append([]string{dir}, parts...)...) }
	}
	seg := func(n int) string { return fmt.Sprintf("%016d.parquet", n) }
	flip := func(name func(string) string, offset int) func(string) error {
		return func(dir string) error {
			b, err := os.ReadFile(name(dir))
			if err != nil {
				return err
			}
			if offset < 0 {
				offset += len(b)
			}
			b[offset] ^= 1
			return os.WriteFile(name(dir), b, 0o644)
		}
	}
	add := func(name func(string) string) func(string) error {
		return func(dir string) error { return os.WriteFile(name(dir), []byte("rest of a flush"), 0o644) }
	}
	tests := []struct {
		name   string
		change func(dir string) error
		err    string   // if empty, the shard opens with all rows
		gone   []string // files that are removed
		lost   []string // files that are moved to lost+found
	}{
		{name: "as it was left", change: func(string) error { return nil }},
		{name: "a temporary segment", change: add(at("segments", seg(9)+".tmp")), gone: []string{seg(9) + ".tmp"}},
		{name: "a temporary manifest", change: add(at("MANIFEST.tmp"))},
		{name: "a segment of an unfinished flush", change: add(at("segments", seg(3))), gone: []string{seg(3)}},
		{
			name:   "an unknown segment of old",
			change: func(dir string) error { return os.WriteFile(at("segments", "0.parquet")(dir), nil, 0o644) },
			lost:   []string{"0.parquet"},
		},
		{name: "a parquet file of another name", change: add(at("segments", "mine.parquet")), lost: []string{"mine.parquet"}},
		{name: "some other file", change: add(at("segments", "notes.txt"))},
		{
			name:   "the manifest is damaged in the middle",
			change: flip(at("MANIFEST"), 40),
			err:    "manifest DIR/MANIFEST is damaged at offset 16",
		},
		{
			name:   "the manifest's last edit is damaged",
			change: flip(at("MANIFEST"), -5),
			err:    "the manifest is damaged or was replaced by an older one",
		},
		{
			name:   "the manifest is gone",
			change: func(dir string) error { return os.Remove(at("MANIFEST")(dir)) },
			err:    "the manifest is damaged or was replaced by an older one",
		},
		{name: "the manifest is another shard's", change: func(dir string) error {
			b, err := os.ReadFile(filepath.Join("manifest", "testdata", "v1.manifest"))
			if err != nil {
				return err
			}
			return os.WriteFile(at("MANIFEST")(dir), b, 0o644)
		}, err: "belongs to shard 17, not to shard 7"},
		{name: "the manifest is of a newer version", change: func(dir string) error {
			b, err := os.ReadFile(filepath.Join("manifest", "testdata", "future.manifest"))
			if err != nil {
				return err
			}
			return os.WriteFile(at("MANIFEST")(dir), b, 0o644)
		}, err: "format version is 3"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := openShard(t, testConfig(t))
			s.mustPut(batch(head(1, 9, 1), "a"))
			s.flush()
			s.mustPut(batch(head(1, 9, 2), "b"))
			s.flush()
			s.mustPut(batch(head(1, 9, 3), "c"))
			s.crash()
			if err := test.change(s.cfg.Dir); err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadDir(filepath.Join(s.cfg.Dir, "segments"))
			again, err := tryOpen(t, s.cfg)
			if test.err != "" {
				if want := strings.ReplaceAll(test.err, "DIR", s.cfg.Dir); err == nil || !strings.Contains(err.Error(), want) ||
					!strings.Contains(err.Error(), "shard 7: open ") {
					t.Fatalf("got %v, want %q", err, want)
				}
				// A shard that does not open must not change any file.
				if after, _ := os.ReadDir(filepath.Join(s.cfg.Dir, "segments")); len(after) != len(before) {
					t.Errorf("%d files, %d before", len(after), len(before))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"a", "b", "c"}, again.rows(1)); diff != "" {
				t.Error(diff)
			}
			for _, name := range slices.Concat(test.gone, test.lost) {
				if _, err := os.Stat(filepath.Join(s.cfg.Dir, "segments", name)); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s is still there", name)
				}
			}
			for _, name := range test.lost {
				if found, err := filepath.Glob(filepath.Join(s.cfg.Dir, "lost+found", name+".lost-*")); err != nil ||
					len(found) != 1 {
					t.Errorf("set aside: %v, %v", found, err)
				}
			}
			again.flush()
			if diff := cmp.Diff([]string{"a", "b", "c"}, again.reopen().rows(1)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestFlushReasons checks each reason for which a shard flushes without a request.
func TestFlushReasons(t *testing.T) {
	t.Parallel()
	s := openShard(t, testConfig(t))
	if got := s.store.Memory.FlushReason(s.replica.LogBytesAfter(s.store.Tables.Flushed.Load()), false); got != "" {
		t.Errorf("empty: %q", got)
	}
	s.mustPut(batch(head(1, 9, 1), "a"))
	if got := s.store.Memory.FlushReason(s.replica.LogBytesAfter(s.store.Tables.Flushed.Load()), false); got != "" {
		t.Errorf("one row: %q", got)
	}
	tests := []struct {
		want   string
		change func(c *Config)
	}{
		{"bytes", func(c *Config) { c.FlushBytes = 10 }},
		{"log", func(c *Config) { c.FlushLogBytes = 10 }},
		{"age", func(c *Config) { c.FlushAge = time.Nanosecond }},
		{"idle", func(c *Config) { c.FlushIdle, c.FlushBytes = time.Nanosecond, 8*s.store.Memory.Size() }},
		{"", func(c *Config) { c.FlushIdle = time.Nanosecond }}, // too little for a segment
		{"budget", func(c *Config) {
			c.Budget = store.NewBudget(10)
			c.Budget.Join(1)
			c.Budget.Add(s.store.Memory.Size())
		}},
		{"", func(c *Config) { c.Budget = store.NewBudget(1 << 30) }},
	}
	s.crash() // the flush loop must not run first
	kept := s.Shard.cfg
	for _, test := range tests {
		s.Shard.cfg = kept
		test.change(&s.Shard.cfg)
		logBytes := s.replica.LogBytesAfter(s.store.Tables.Flushed.Load())
		if got := s.store.Memory.FlushReason(logBytes, false); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

// TestFlushesByItself waits for a flush that was not requested.
func TestFlushesByItself(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	cfg.FlushBytes, cfg.MemoryLimit = 1000, 16<<20
	s := openShard(t, cfg)
	deadline := time.Now().Add(10 * time.Second)
	for i := uint64(1); s.store.Tables.Flushed.Load() == 0; i++ {
		if time.Now().After(deadline) {
			t.Fatal("no flush")
		}
		s.mustPut(batch(head(1, 9, i), "a row"))
	}
}

// TestBudget opens two shards with a common budget.
func TestBudget(t *testing.T) {
	t.Parallel()
	budget := store.NewBudget(40 << 10)
	var shards []*opened
	var blocked atomic.Bool
	for id := range uint32(2) {
		cfg := testConfig(t)
		cfg.ID, cfg.Budget = id+testShard, budget
		cfg.FS = vfs.Hook(vfs.OS, func(op vfs.Op) error {
			if blocked.Load() && op.Kind == vfs.OpCreate {
				return errors.New("blocked")
			}
			return nil
		})
		shards = append(shards, openShard(t, cfg))
	}
	blocked.Store(true)
	var err error
	for i := uint64(1); i < 100 && err == nil; i++ {
		_, err = shards[0].put(batch(head(1, 9, i), strings.Repeat("x", 2000)))
	}
	if errs.ReasonOf(err) != errs.Busy || budget.Used() == 0 {
		t.Fatalf("used %d: %v", budget.Used(), err)
	}
	blocked.Store(false)
	for _, s := range shards {
		s.close()
	}
	if budget.Used() != 0 || budget.Shards() != 0 {
		t.Errorf("%d bytes, %d shards left in the budget", budget.Used(), budget.Shards())
	}
}

// TestWriteWaitsForFlush starts flushes only when memory is full. A write must then wait for the
// memory that a flush frees, and not be refused.
func TestWriteWaitsForFlush(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	cfg.FlushBytes, cfg.MemoryLimit, cfg.roomWait = 100<<10, 300<<10, time.Minute
	var s *opened
	var ended atomic.Bool
	var flushes atomic.Int64
	cfg.FS = vfs.Hook(vfs.OS, func(op vfs.Op) error {
		if op.Kind == vfs.OpCreate && strings.Contains(op.Path, ".parquet") {
			// Hold the flush while there is room for a write of a little over 20,000 bytes.
			for !ended.Load() && s.writes.checkRoom("", 21_000) == nil {
				runtime.Gosched()
			}
			flushes.Add(1)
		}
		return nil
	})
	s = openShard(t, cfg)
	t.Cleanup(func() { ended.Store(true) }) // before it is closed
	const writes = 100
	for i := uint64(1); i <= writes; i++ {
		if _, err := s.put(batch(head(1, 9, i), strings.Repeat(fmt.Sprint(i%10), 20_000))); err != nil {
			t.Fatalf("write %d: %v", i, err)
		}
	}
	ended.Store(true)
	if n := len(s.rows(1)); n != writes || flushes.Load() == 0 {
		t.Errorf("%d rows of %d, %d flushes", n, writes, flushes.Load())
	}
}
