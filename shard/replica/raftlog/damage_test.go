package raftlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/hashicorp/raft-wal/metadb"

	"cordwood/shard/replica/raftlog/boltfile"
	"cordwood/shard/replica/raftlog/damage"
	"cordwood/shard/replica/raftlog/raftlogtest"
)

// entriesOf opens a log and returns its entries as text.
func entriesOf(dir string, kind Kind) (entries []string, err error) {
	s, err := Open(testConfig(dir, kind, func(error) {}))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
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
func makeLog(t *testing.T, dir string, kind Kind) []string {
	t.Helper()
	if err := MakeDirs(dir); err != nil {
		t.Fatal(err)
	}
	s, err := Open(testConfig(dir, kind, func(err error) { t.Error(err) }))
	if err != nil {
		t.Fatal(err)
	}
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
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	entries, err := entriesOf(dir, kind)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// TestDamagedLog damages single bytes of every file of both kinds of log. Either the log does not
// open, or every entry is intact.
func TestDamagedLog(t *testing.T) {
	for _, kind := range []Kind{WAL, Bolt} {
		t.Run(kind.String(), func(t *testing.T) {
			master := t.TempDir()
			want := makeLog(t, master, kind)
			names, err := filepath.Glob(filepath.Join(master, "log", "*"))
			if err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(2, uint64(kind)))
			dir, detected, harmless := t.TempDir(), 0, 0
			raftlogtest.CopyDir(t, filepath.Join(dir, "log"), filepath.Join(master, "log"))
			for _, name := range names {
				b, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				target := filepath.Join(dir, "log", filepath.Base(name))
				for _, at := range raftlogtest.DamageOffsets(rng, b) {
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
					// Start with intact files again.
					if err := os.RemoveAll(filepath.Join(dir, "log")); err != nil {
						t.Fatal(err)
					}
					raftlogtest.CopyDir(t, filepath.Join(dir, "log"), filepath.Join(master, "log"))
				}
			}
			t.Logf("%d damaged bytes: %d found, %d unused", detected+harmless, detected, harmless)
			if detected < harmless {
				t.Errorf("only %d damaged bytes were found, and %d were harmless", detected, harmless)
			}
		})
	}
}

// TestTruncatedLog cuts every file of a log at some lengths.
func TestTruncatedLog(t *testing.T) {
	for _, kind := range []Kind{WAL, Bolt} {
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
				raftlogtest.CopyDir(t, filepath.Join(dir, "log"), filepath.Join(master, "log"))
				size := len(b) * i / 20
				if err := os.Truncate(filepath.Join(dir, "log", filepath.Base(name)), int64(size)); err != nil {
					t.Fatal(err)
				}
				if got, err := entriesOf(dir, kind); err == nil && strings.Join(got, "\n") != strings.Join(want, "\n") {
					t.Errorf("%s: %s cut to %d of %d bytes: the log opens with %d entries of %d", kind,
						filepath.Base(name), size, len(b), len(got), len(want))
				}
			}
			dir := t.TempDir()
			raftlogtest.CopyDir(t, filepath.Join(dir, "log"), filepath.Join(master, "log"))
			if err := os.Remove(filepath.Join(dir, "log", filepath.Base(name))); err != nil {
				t.Fatal(err)
			}
			if got, err := entriesOf(dir, kind); err == nil && len(got) != len(want) {
				t.Errorf("%s: without %s the log opens with %d entries of %d", kind, filepath.Base(name), len(got), len(want))
			}
		}
	}
}

// TestTornAppend simulates the states of the last append that a power loss may leave: any of its
// sectors may be missing. Earlier entries must be there, the last append must be there as a whole
// or not at all, and the log must accept appends.
func TestTornAppend(t *testing.T) {
	master := t.TempDir()
	want := makeLog(t, master, WAL)
	names, err := filepath.Glob(filepath.Join(master, "log", "*"+".wal"))
	if err != nil {
		t.Fatal(err)
	}
	name := names[len(names)-1]
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	kept, lastCommit, end := len(want), 0, 0 // offsets of the start and the end of the last append
	inLast, inFile := 0, 0
	for at := 32; binary.LittleEndian.Uint64(b[at:]) != 0; {
		size := 8
		switch b[at] { // the kind of the frame
		case 1:
			inLast++
			inFile++
			size += int(binary.LittleEndian.Uint32(b[at+4:])+7) &^ 7
		case 3:
			if next := binary.LittleEndian.Uint64(b[at+8:]); next != 0 {
				lastCommit, inLast = at+8, 0
			}
		default:
			t.Fatalf("the last file has a frame of kind %d at %d", b[at], at)
		}
		at += size
		end = at
	}
	if inFile < 4 || inLast == 0 || inLast == inFile {
		t.Fatalf("the last file has %d entries, %d of them of the last append: the log is too short for this test",
			inFile, inLast)
	}
	kept -= inLast
	rng := rand.New(rand.NewPCG(3, 3))
	for i := range 200 {
		torn := bytes.Clone(b)
		lost := 0
		for from := lastCommit; from < end; {
			to := min((from/512+1)*512, end)
			if i == 0 || rng.IntN(2) == 0 || i%3 == 0 && from > lastCommit+rng.IntN(end-lastCommit) {
				clear(torn[from:to])
				lost++
			}
			from = to
		}
		dir := t.TempDir()
		raftlogtest.CopyDir(t, filepath.Join(dir, "log"), filepath.Join(master, "log"))
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
	b, err := Open(testConfig(dir, WAL, func(err error) { t.Error(err) }))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.StoreLogs([]*raft.Log{{Index: index, Term: 3, Data: []byte("x"), AppendedAt: time.Unix(1, 0)}}); err !=
		nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestCrashBetweenSealAndRotation ends the process after the newest file was completed and before
// the next one is in the list.
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

// TestNewerLog opens log files of an imagined future version.
func TestNewerLog(t *testing.T) {
	dir := t.TempDir()
	makeLog(t, dir, WAL)
	names, err := filepath.Glob(filepath.Join(dir, "log", "*"+".wal"))
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
	if _, err := entriesOf(dir, WAL); !errors.Is(err, damage.ErrUnsupported) ||
		!strings.Contains(err.Error(), "written by a newer version") {
		t.Errorf("got %v", err)
	}

	dir = t.TempDir()
	makeLog(t, dir, Bolt)
	name := filepath.Join(dir, "log", boltfile.LogName)
	if b, err = os.ReadFile(name); err != nil {
		t.Fatal(err)
	}
	for page := range 2 {
		m := b[page*os.Getpagesize()+16:]
		binary.LittleEndian.PutUint32(m[4:], 3)
		putBoltSum(m)
	}
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := entriesOf(dir, Bolt); !errors.Is(err, damage.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}

func putBoltSum(m []byte) {
	h := fnv.New64a()
	_, _ = h.Write(m[:56])
	binary.LittleEndian.PutUint64(m[56:], h.Sum64())
}
