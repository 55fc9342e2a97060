package marks

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cordwood/proto/metapb"
)

// metadata contains the mark of a node that the metadata group stores.
type metadata struct{ known *metapb.FolderMark }

// register registers a folder and reports whether it was accepted. answered is whether the folder receives the answer.
func (m *metadata) register(t *testing.T, dir string, answered bool) bool {
	t.Helper()
	f := open(t, dir)
	if err := f.Draw(); err != nil {
		t.Fatal(err)
	}
	mark, earlier := f.Current()
	if m.known.Refuses(mark, earlier) {
		return false
	}
	m.known = mark
	if answered {
		if err := f.Registered(mark); err != nil {
			t.Fatal(err)
		}
	}
	return true
}

func open(t *testing.T, dir string) *Folder {
	t.Helper()
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// copyOf returns a copy of a folder.
func copyOf(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	b, err := os.ReadFile(filepath.Join(dir, FileName))
	if err == nil {
		err = os.WriteFile(filepath.Join(to, FileName), b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// TestChain checks that only one of several copies of a folder may continue, however often each one is started, and
// whether or not it received the answers to its registrations.
func TestChain(t *testing.T) {
	var m metadata
	dir, never := t.TempDir(), t.TempDir()
	for i := range 3 {
		if !m.register(t, dir, i%2 == 0) {
			t.Fatalf("start %d is refused", i)
		}
	}
	old := copyOf(t, dir)
	if !m.register(t, dir, false) || !m.register(t, dir, true) {
		t.Fatal("the folder is refused")
	}
	for i := range 2 * maxKept { // each start adds a mark
		if m.register(t, old, true) {
			t.Fatalf("the earlier copy is accepted at start %d", i)
		}
	}
	if m.register(t, never, true) {
		t.Error("a folder without marks is accepted")
	}
	// This folder was started more often than it keeps marks, without an answer.
	for range 2 * maxKept {
		if !m.register(t, dir, false) {
			t.Fatal("the folder is refused")
		}
	}
	// Of two running copies, the first one is accepted and the other is refused.
	clone := copyOf(t, dir)
	if !m.register(t, clone, true) {
		t.Fatal("the clone is refused")
	}
	if mark, earlier := open(t, dir).Current(); len(earlier) < maxKept-1 && !m.known.Refuses(mark, earlier) {
		t.Error("the original folder is accepted without an answer")
	}
	// Earlier metadata have fewer marks than the folder.
	before := &metadata{known: m.known}
	for range 2 {
		if !m.register(t, clone, true) {
			t.Fatal("the clone is refused")
		}
	}
	if !before.register(t, clone, true) {
		t.Error("a folder is refused by metadata that are older")
	}
}

func TestReadmit(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	if err := f.Draw(); err != nil {
		t.Fatal(err)
	}
	if err := f.SetReadmit(true); err != nil {
		t.Fatal(err)
	}
	if f = open(t, dir); !f.Readmit() {
		t.Error("readmit was not stored")
	}
	if err := f.SetReadmit(false); err != nil {
		t.Fatal(err)
	}
	if open(t, dir).Readmit() {
		t.Error("readmit was not removed")
	}
}

// TestDamagedFile checks that a file with a flipped bit or without its end cannot be read as marks.
func TestDamagedFile(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	for range 2 {
		if err := f.Draw(); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, FileName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bad := func(b []byte, how string, at int) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir); err == nil {
			t.Errorf("a damaged file opens: %s at %d", how, at)
		}
	}
	for i := range whole {
		for bit := range 8 {
			b := bytes.Clone(whole)
			b[i] ^= 1 << bit
			bad(b, "a flipped bit", i)
		}
		bad(whole[:i], "a torn end", i)
	}
	bad(append(bytes.Clone(whole), '\n'), "more", len(whole))
	bad([]byte("cordwood marks 2\n"), "a newer version", 0)
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "newer version") {
		t.Errorf("a newer file is refused with %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(list{}.encode())
	f.Add(list{marks: []*metapb.FolderMark{{Number: 1, Tag: 2}, {Number: 2, Tag: 1 << 63}}, readmit: true}.encode())
	f.Add([]byte(head + "mark 1 x\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := decode(b)
		if err == nil && !bytes.Equal(l.encode(), b) {
			t.Errorf("%q is read as %q", b, l.encode())
		}
	})
}
