package shard

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// openFiles lists the files below a folder that this process has open.
func openFiles(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("the files that are open cannot be listed here: %v", err)
	}
	var open []string
	for _, e := range entries {
		if path, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name())); err == nil && strings.HasPrefix(path, dir) {
			open = append(open, path)
		}
	}
	slices.Sort(open)
	return open
}

// TestDamagedShardIsTriedAgain opens a shard with a damaged file twice, as a node does that waits
// for the replica to be replaced. Each time the damage is reported and nothing stays open or
// locked. The shard opens once the file is repaired.
func TestDamagedShardIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"raft/log/*.wal", "raft/log/wal-meta.db", "raft/snapshots/*/state.bin", "MANIFEST"} {
		t.Run(filepath.Base(kind), func(t *testing.T) {
			cfg := testConfig(t)
			cfg.Registerer = prometheus.NewRegistry()
			s := openShard(t, cfg)
			s.mustPut(batch(head(1, 9, 1), "a"))
			s.flush()
			s.mustPut(batch(head(1, 9, 2), "b"))
			s.crash()
			_ = s.store.Close() // the simulated crash leaves it open
			paths, err := filepath.Glob(filepath.Join(cfg.Dir, kind))
			if err != nil || len(paths) == 0 {
				t.Fatalf("%v, %v", paths, err)
			}
			sound, err := os.ReadFile(paths[0])
			if err != nil {
				t.Fatal(err)
			}
			bad := slices.Clone(sound)
			at := 25
			if strings.HasSuffix(kind, ".wal") { // the last entry, which is in no segment
				at = len(bytes.TrimRight(bad, "\x00")) - 16
			}
			bad[at] ^= 1
			if err := os.WriteFile(paths[0], bad, 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				failed := make(chan error, 1)
				go func() {
					_, err := Open(cfg)
					failed <- err
				}()
				select {
				case err = <-failed:
				case <-time.After(time.Minute):
					t.Fatal("the second attempt waits for a lock of the first")
				}
				if !IsDamaged(err) {
					t.Fatalf("opened with %v", err)
				}
				if left := openFiles(t, cfg.Dir); len(left) > 0 {
					t.Errorf("the shard is not open, but these files are: %q", left)
				}
			}
			if err := os.WriteFile(paths[0], sound, 0o600); err != nil {
				t.Fatal(err)
			}
			again := openShard(t, cfg)
			if got := again.rows(1); !slices.Equal(got, []string{"a", "b"}) {
				t.Errorf("rows are %q", got)
			}
		})
	}
}

// TestDamageInFlushedEntries damages log entries whose rows are in segments, in the log of a
// shard's only replica. The shard opens without them and has all rows, also when it is opened
// again.
func TestDamageInFlushedEntries(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	s := openShard(t, cfg)
	s.mustPut(batch(head(1, 9, 1), "a"))
	s.flush()
	s.mustPut(batch(head(1, 9, 2), "b"))
	s.crash()
	paths, err := filepath.Glob(filepath.Join(cfg.Dir, "raft/log/*.wal"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%v, %v", paths, err)
	}
	sound, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	bad := slices.Clone(sound)
	bad[60] ^= 1
	if err := os.WriteFile(paths[0], bad, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s = openShard(t, cfg)
		if got := s.rows(1); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("rows are %q", got)
		}
		s.crash()
	}
	s = openShard(t, cfg)
	s.mustPut(batch(head(1, 9, 3), "c"))
	s.flush()
	if got := s.reopen().rows(1); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("rows are %q", got)
	}
}
