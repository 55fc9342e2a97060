package shard

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cordwood/shard/store"
)

// TestIsDamaged damages the files that a shard needs to open. Damage must be distinguished from
// temporary faults, and a quarantined segment must be reported with its rows.
func TestIsDamaged(t *testing.T) {
	t.Parallel()
	flip := func(t *testing.T, path string, at int) {
		t.Helper()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b[at] ^= 1
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name   string
		breaks func(t *testing.T, dir string)
		want   bool
	}{
		{"manifest", func(t *testing.T, dir string) { flip(t, filepath.Join(dir, "MANIFEST"), 20) }, true},
		{"log", func(t *testing.T, dir string) {
			wals, err := filepath.Glob(filepath.Join(dir, store.RaftDirName, "*", "*.wal"))
			if more, _ := filepath.Glob(filepath.Join(dir, store.RaftDirName, "*.wal")); len(more) > 0 {
				wals = more
			}
			if err != nil || len(wals) == 0 {
				t.Fatalf("no log below %s: %v", dir, err)
			}
			// Damage the first entry after the flush, which is not the last one. The entries before
			// the flush are not needed.
			log, err := os.ReadFile(wals[0])
			first := bytes.Index(log, []byte("CWCB"))
			second := bytes.Index(log[first+1:], []byte("CWCB"))
			if err != nil || first < 0 || second < 0 {
				t.Fatalf("two batches in %s: %d, %d, %v", wals[0], first, second, err)
			}
			flip(t, wals[0], first+1+second+20)
		}, true},
		{"folder in the way", func(t *testing.T, dir string) {
			path := filepath.Join(dir, store.SegmentDirName)
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := testConfig(t)
			s := openShard(t, cfg)
			s.mustPut(batch(head(1, 9, 1), "a"))
			s.flush()
			s.mustPut(batch(head(1, 9, 2), "b"))
			s.mustPut(batch(head(1, 9, 3), "c"))
			s.crash()
			test.breaks(t, cfg.Dir)
			again, err := tryOpen(t, cfg)
			if err == nil {
				again.close()
				t.Fatal("it opened")
			}
			if IsDamaged(err) != test.want {
				t.Errorf("IsDamaged(%v) is %v", err, !test.want)
			}
		})
	}
	if IsDamaged(fs.ErrPermission) {
		t.Error("a file without read permission counts as damaged")
	}

	s := openShard(t, testConfig(t))
	s.mustPut(batch(head(1, 9, 1), "a", "b"))
	s.flush()
	path := s.store.Status.SegmentsOf(1)[0].Path
	if r := s.Report(); r.DamagedSegments != 0 || len(r.Damaged) != 0 {
		t.Errorf("a sound shard reports %v", r)
	}
	flip(t, path, 10)
	if _, err := s.Verify(nil, nil); err != nil {
		t.Fatal(err)
	}
	r := s.Report()
	if r.DamagedSegments != 1 || len(r.Damaged) != 1 || r.Damaged[0].File != path || r.Damaged[0].Rows != 2 ||
		!strings.Contains(r.Damaged[0].Reason, "checksum") {
		t.Errorf("report: %v", r)
	}
}
