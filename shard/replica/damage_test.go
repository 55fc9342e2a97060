package replica

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/hashicorp/raft-wal/metadb"
)

// entriesOf opens a log and returns its entries as text.
func entriesOf(dir string, kind LogKind) (entries []string, err error) {
	g := newGuard(time.Minute, nil, nil, func(error) {})
	b, _, err := openBackend(Config{Dir: dir, Log: kind, SegmentBytes: 64 << 10}, g, newHCLogger(Config{}.withDefaults().Logger))
	if err != nil {
		return nil, err
	}
	s := newLogStore(b, g, newMetrics(nil, "g"), kind)
	defer func() { err = errors.Join(err, b.Close()) }()
	if _, err := s.GetUint64([]byte("CurrentTerm")); err != nil {
		return nil, err
	}
	first, err := s.FirstIndex()
	if err != nil {
		return nil, err
	}
	last, err := s.LastIndex()
	if err != nil {
		return nil, err
	}
	for i := first; i <= last; i++ {
		var l raft.Log
		if err := s.GetLog(i, &l); err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
		entries = append(entries, fmt.Sprintf("%d/%d/%d %x", l.Index, l.Term, l.Type, l.Data))
	}
	return entries, nil
}

// makeLog writes a log of some files and returns its entries.
func makeLog(t *testing.T, dir string, kind LogKind) []string {
	t.Helper()
	if err := makeDirs(filepath.Join(dir, "log")); err != nil {
		t.Fatal(err)
	}
	g := newGuard(time.Minute, nil, nil, func(err error) { t.Error(err) })
	b, _, err := openBackend(Config{Dir: dir, Log: kind, SegmentBytes: 64 << 10}, g, newHCLogger(Config{}.withDefaults().Logger))
	if err != nil {
		t.Fatal(err)
	}
	s := newLogStore(b, g, newMetrics(nil, "g"), kind)
	if err := s.SetUint64([]byte("CurrentTerm"), 3); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for i := uint64(1); i <= 40; {
		var logs []*raft.Log
		for range 1 + rng.IntN(3) {
			data := make([]byte, 1+rng.IntN(8<<10))
			for j := range data {
				data[j] = byte(rng.Uint32())
			}
			logs = append(logs, &raft.Log{Index: i, Term: 3, Type: raft.LogCommand, Data: data, AppendedAt: time.Unix(1, 0)})
			i++
		}
		if err := s.StoreLogs(logs); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	entries, err := entriesOf(dir, kind)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

func copyDir(t *testing.T, to, from string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedLog damages single bytes of every file of both kinds of log. The log
// does not open then, or every entry is as it was.
func TestDamagedLog(t *testing.T) {
	for _, kind := range []LogKind{WAL, Bolt} {
		t.Run(kind.String(), func(t *testing.T) {
			master := t.TempDir()
			want := makeLog(t, master, kind)
			names, err := filepath.Glob(filepath.Join(master, "log", "*"))
			if err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(2, uint64(kind)))
			dir, detected, harmless := t.TempDir(), 0, 0
			copyDir(t, filepath.Join(dir, "log"), filepath.Join(master, "log"))
			for _, name := range names {
				b, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				target := filepath.Join(dir, "log", filepath.Base(name))
				for _, at := range damageOffsets(rng, b) {
					bad := bytes.Clone(b)
					bad[at] ^= byte(1 + rng.IntN(255))
					if err := os.WriteFile(target, bad, 0o600); err != nil {
						t.Fatal(err)
					}
					got, err := entriesOf(dir, kind)
					switch {
					case err != nil:
						detected++
					case strings.Join(got, "\n") != strings.Join(want, "\n"):
						t.Errorf("%s: byte %d of %d changed from %02x to %02x: the log opens with %d entries of %d, or others",
							filepath.Base(name), at, len(b), b[at], bad[at], len(got), len(want))
					default:
						harmless++
					}
					// Whatever was made of it, begin anew.
					if err := os.RemoveAll(filepath.Join(dir, "log")); err != nil {
						t.Fatal(err)
					}
					copyDir(t, filepath.Join(dir, "log"), filepath.Join(master, "log"))
				}
			}
			t.Logf("%d damages: %d found, %d of unused bytes", detected+harmless, detected, harmless)
			if detected < harmless {
				t.Errorf("only %d damages were found, and %d meant nothing", detected, harmless)
			}
		})
	}
}

// damageOffsets are some offsets of a file: most where there is something.
func damageOffsets(rng *rand.Rand, b []byte) []int {
	var used []int
	for at := 0; at < len(b); at += 8 {
		if !allZero(b[at:min(at+8, len(b))]) {
			used = append(used, at)
		}
	}
	var out []int
	for i := range used {
		if i < 24 || i >= len(used)-4 || rng.IntN(len(used)) < 60 {
			out = append(out, used[i]+rng.IntN(min(8, len(b)-used[i])))
		}
	}
	return append(out, rng.IntN(len(b)))
}

// TestTruncatedLog cuts every file of a log at some lengths.
func TestTruncatedLog(t *testing.T) {
	for _, kind := range []LogKind{WAL, Bolt} {
		master := t.TempDir()
		want := makeLog(t, master, kind)
		names, err := filepath.Glob(filepath.Join(master, "log", "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 20 {
				dir := t.TempDir()
				copyDir(t, filepath.Join(dir, "log"), filepath.Join(master, "log"))
				size := len(b) * i / 20
				if err := os.Truncate(filepath.Join(dir, "log", filepath.Base(name)), int64(size)); err != nil {
					t.Fatal(err)
				}
				if got, err := entriesOf(dir, kind); err == nil && strings.Join(got, "\n") != strings.Join(want, "\n") {
					t.Errorf("%s: %s cut to %d of %d bytes: the log opens with %d entries of %d", kind, filepath.Base(name), size, len(b), len(got), len(want))
				}
			}
			dir := t.TempDir()
			copyDir(t, filepath.Join(dir, "log"), filepath.Join(master, "log"))
			if err := os.Remove(filepath.Join(dir, "log", filepath.Base(name))); err != nil {
				t.Fatal(err)
			}
			if got, err := entriesOf(dir, kind); err == nil && len(got) != len(want) {
				t.Errorf("%s: without %s the log opens with %d entries of %d", kind, filepath.Base(name), len(got), len(want))
			}
		}
	}
}

// TestTornAppend leaves of the last append what a power cut may leave: any of its
// sectors. The entries before it are there, it is there as a whole or not at all, and
// the log takes appends.
func TestTornAppend(t *testing.T) {
	master := t.TempDir()
	want := makeLog(t, master, WAL)
	names, err := filepath.Glob(filepath.Join(master, "log", "*"+walSuffix))
	if err != nil {
		t.Fatal(err)
	}
	name := names[len(names)-1]
	var starts []int64
	s, err := scanWAL(name, func(_ uint64, off int64, _ []byte) error { starts = append(starts, off); return nil })
	if err != nil || s.entries < 4 {
		t.Fatalf("%d entries in the last file: %v", s.entries, err)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lastCommit := int64(0) // where the last append begins
	for at := int64(walHeader); at < s.end-walFrame; {
		typ, size, why := walFrameAt(b, int(at))
		if why != "" {
			t.Fatal(why)
		}
		at += int64(size)
		if typ == walCommit {
			lastCommit = at
		}
	}
	kept := len(want)
	for _, off := range starts {
		if off >= lastCommit {
			kept--
		}
	}
	rng := rand.New(rand.NewPCG(3, 3))
	for i := range 200 {
		torn := bytes.Clone(b)
		lost := 0
		for from := lastCommit; from < s.end; {
			to := min((from/walSector+1)*walSector, s.end)
			if i == 0 || rng.IntN(2) == 0 || i%3 == 0 && from > lastCommit+int64(rng.IntN(int(s.end-lastCommit))) {
				clear(torn[from:to])
				lost++
			}
			from = to
		}
		dir := t.TempDir()
		copyDir(t, filepath.Join(dir, "log"), filepath.Join(master, "log"))
		if err := os.WriteFile(filepath.Join(dir, "log", filepath.Base(name)), torn, 0o600); err != nil {
			t.Fatal(err)
		}
		n := kept
		if lost == 0 {
			n = len(want)
		}
		got, err := entriesOf(dir, WAL)
		if err != nil || strings.Join(got, "\n") != strings.Join(want[:n], "\n") {
			t.Fatalf("%d sectors lost: %d entries, want %d: %v", lost, len(got), n, err)
		}
		appendTo(t, dir, uint64(n+1))
		if got, err = entriesOf(dir, WAL); err != nil || len(got) != n+1 {
			t.Fatalf("%d sectors lost, one appended: %d entries, want %d: %v", lost, len(got), n+1, err)
		}
	}
}

func appendTo(t *testing.T, dir string, index uint64) {
	t.Helper()
	g := newGuard(time.Minute, nil, nil, func(err error) { t.Error(err) })
	b, _, err := openBackend(Config{Dir: dir, SegmentBytes: 64 << 10}, g, newHCLogger(Config{}.withDefaults().Logger))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.StoreLogs([]*raft.Log{{Index: index, Term: 3, Data: []byte("x"), AppendedAt: time.Unix(1, 0)}}); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestCrashBetweenSealAndRotation ends the process when the newest file was ended
// and the next one is not in the list yet.
func TestCrashBetweenSealAndRotation(t *testing.T) {
	dir := t.TempDir()
	want := makeLog(t, dir, WAL)
	var db metadb.BoltMetaDB
	logDir := filepath.Join(dir, "log")
	state, err := db.Load(logDir)
	if err != nil {
		t.Fatal(err)
	}
	dropped := state.Segments[len(state.Segments)-1]
	state.Segments = state.Segments[:len(state.Segments)-1]
	tail := &state.Segments[len(state.Segments)-1]
	n := int(dropped.BaseIndex - 1)
	tail.SealTime, tail.MaxIndex, tail.IndexStart = time.Time{}, 0, 0
	state.NextSegmentID--
	if err := errors.Join(db.CommitState(state), db.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(logDir, fmt.Sprintf("%020d-%016x.wal", dropped.BaseIndex, dropped.ID))); err != nil {
		t.Fatal(err)
	}
	appendTo(t, dir, uint64(n+1))
	got, err := entriesOf(dir, WAL)
	if err != nil || len(got) != n+1 || strings.Join(got[:n], "\n") != strings.Join(want[:n], "\n") {
		t.Errorf("%d entries, want %d: %v", len(got), n+1, err)
	}
}

// TestNewerLog has log files of a version that does not exist yet.
func TestNewerLog(t *testing.T) {
	dir := t.TempDir()
	makeLog(t, dir, WAL)
	names, err := filepath.Glob(filepath.Join(dir, "log", "*"+walSuffix))
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	b[7] = 9
	if err := os.WriteFile(names[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := entriesOf(dir, WAL); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "written by a newer version") {
		t.Errorf("got %v", err)
	}

	dir = t.TempDir()
	makeLog(t, dir, Bolt)
	name := filepath.Join(dir, "log", boltFile)
	if b, err = os.ReadFile(name); err != nil {
		t.Fatal(err)
	}
	for page := range 2 {
		m := b[page*os.Getpagesize()+boltPageHead:]
		binary.LittleEndian.PutUint32(m[4:], 3)
		putBoltSum(m)
	}
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := entriesOf(dir, Bolt); !errors.Is(err, ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}

// TestFullDisk has no room for a while: nothing fails, nothing is latched, and the
// log goes on when there is room.
func TestFullDisk(t *testing.T) {
	told := make(chan error, 100)
	g := newGuard(20*time.Millisecond, nil, func(err error) { told <- err }, func(err error) { t.Errorf("the log failed: %v", err) })
	full := &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	tries := 0
	err := g.write("append", func() error {
		return g.whileFull("append", writeFull, func() error {
			if tries++; tries < 3 {
				return full
			}
			return nil
		})
	})
	if err != nil || tries != 3 || len(told) != 2 {
		t.Errorf("got %v after %d tries, told %d times", err, tries, len(told))
	}
	// The same error of an fsync is one that nothing can be known after.
	if sync := (&fs.PathError{Op: "sync", Path: "x", Err: syscall.ENOSPC}); writeFull(sync) {
		t.Error("an fsync was taken for a write")
	}
	done := make(chan error)
	go func() {
		done <- g.write("append", func() error { return g.whileFull("append", writeFull, func() error { return full }) })
	}()
	for range 3 {
		if err := <-told; !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("told of %v", err)
		}
	}
	g.close()
	if err := <-done; !errors.Is(err, errWaitEnded) {
		t.Errorf("a wait that was ended gives %v", err)
	}
}

// TestHoles opens logs that do not continue the state.
func TestHoles(t *testing.T) {
	for _, test := range []struct {
		name    string
		applied uint64
		want    string
	}{
		{"the log ends before the state", 1000, "its end is lost"},
	} {
		dir := t.TempDir()
		r := mustOpen(t, config(dir, WAL, &list{}))
		mustPropose(t, r, "a")
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		cfg := config(dir, WAL, &durableList{applied: test.applied})
		if _, err := Open(cfg); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v", test.name, err)
		}
	}
}

type durableList struct {
	list
	applied uint64
}

func (d *durableList) AppliedIndex() uint64 { return d.applied }

func putBoltSum(m []byte) {
	h := fnv.New64a()
	_, _ = h.Write(m[:boltMetaSum])
	binary.LittleEndian.PutUint64(m[boltMetaSum:], h.Sum64())
}
