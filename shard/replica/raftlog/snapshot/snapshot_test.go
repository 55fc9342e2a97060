package snapshot

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"cordwood/shard/replica/raftlog/damage"
)

// add writes a snapshot with an index.
func add(s *Store, index uint64) error {
	node := raft.Server{ID: "n1", Address: "n1"}
	_, trans := raft.NewInmemTransport("n1")
	sink, err := s.Create(raft.SnapshotVersionMax, index, 1, raft.Configuration{Servers: []raft.Server{node}}, 1, trans)
	if err != nil {
		return err
	}
	summed, ok := sink.(*Sink)
	if !ok {
		return errors.New("no checksum of the metadata")
	}
	if _, err := sink.Write(Header{Index: index, Term: 1, Sum: summed.Sum}.Encode()); err != nil {
		return err
	}
	return sink.Close()
}

// TestKilledDuringRemoval ends a process after each file that it removes of an old snapshot. The remaining files do
// not count as a snapshot, and the next start removes them.
func TestKilledDuringRemoval(t *testing.T) {
	killed := errors.New("killed")
	for removed := range 3 {
		dir := t.TempDir()
		s, err := Open(dir, hclog.NewNullLogger())
		if err != nil {
			t.Fatal(err)
		}
		s.remove = func(dir string) error {
			for _, name := range []string{notesFile, stateFile}[:removed] {
				if err := os.Remove(filepath.Join(dir, name)); err != nil {
					t.Error(err)
				}
			}
			return killed
		}
		for index := range uint64(Kept) {
			if err := add(s, index+1); err != nil {
				t.Fatal(err)
			}
		}
		if err := add(s, Kept+1); !errors.Is(err, killed) {
			t.Errorf("the removal was not interrupted: %v", err)
		}
		newest, err := VerifyAll(dir)
		if err != nil || newest == nil || newest.Index != Kept+1 || newest.Command != Kept+1 {
			t.Errorf("after %d files were removed: the newest snapshot is %+v, %v", removed, newest, err)
		}
		if err := Sweep(dir); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(Dir(dir)); err != nil || len(left) != Kept {
			t.Errorf("there are %v, want %d snapshots: %v", left, Kept, err)
		}
	}
}

func TestSnapshotHeader(t *testing.T) {
	h := Header{Index: 7, Term: 3}
	got, err := ReadHeader(strings.NewReader(string(h.Encode())))
	if err != nil || got != h {
		t.Errorf("read %+v, %v", got, err)
	}
	// golden is a header of version 1, which must stay readable.
	const golden = "CWSN\x01\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00"
	if string(h.Encode()) != golden {
		t.Errorf("the header is % x", h.Encode())
	}
	newer := h.Encode()
	newer[4] = 9
	if _, err := ReadHeader(strings.NewReader(string(newer))); !errors.Is(err, damage.ErrUnsupported) {
		t.Errorf("a newer version gives %v", err)
	}
	for _, bad := range []string{"", "CWSN", "XXXX" + string(h.Encode()[4:])} {
		if _, err := ReadHeader(strings.NewReader(bad)); err == nil || errors.Is(err, damage.ErrUnsupported) {
			t.Errorf("%q gives %v", bad, err)
		}
	}
}
