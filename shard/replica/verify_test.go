package replica

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"cordwood/shard/replica/raftlog"
	"cordwood/shard/replica/raftlog/damage"
)

// TestDamagedHead damages raft's metadata of a snapshot. With a wrong field name, the field would
// be missing: the group would have no members, or a member that does not exist.
func TestDamagedHead(t *testing.T) {
	t.Run("a field", func(t *testing.T) { damageHead(t, `"Configuration"`, `"Configulation"`) })
	t.Run("no text", func(t *testing.T) { damageHead(t, `"ID":"n1"`, "\"ID\":\"n\xb1\"") })
	t.Run("a member", func(t *testing.T) { damageHead(t, `"ID":"n1"`, `"ID":"n3"`) })
	t.Run("a voter", func(t *testing.T) { damageHead(t, `"Suffrage":0`, `"Suffrage":1`) })
	t.Run("whose members", func(t *testing.T) { damageHead(t, `"ConfigurationIndex":1`, `"ConfigurationIndex":3`) })
	t.Run("no JSON", func(t *testing.T) { damageHead(t, `"Index"`, "\"In\x03ex\"") })
}

func damageHead(t *testing.T, was, is string) {
	t.Helper()
	dir := t.TempDir()
	r := mustOpen(t, config(dir, raftlog.WAL, &list{}))
	mustPropose(t, r, "a1")
	if err := r.Snapshot(); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	metas, err := filepath.Glob(filepath.Join(dir, "snapshots", "*", "meta.json"))
	if err != nil || len(metas) != 1 {
		t.Fatalf("%v, %v", metas, err)
	}
	text, err := os.ReadFile(metas[0])
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), was, is, 1)
	if changed == string(text) {
		t.Fatalf("no such name in %s", text)
	}
	if err := os.WriteFile(metas[0], []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(config(dir, raftlog.WAL, &list{})); !errors.Is(err, damage.ErrDamaged) ||
		!strings.Contains(err.Error(), "meta.json") {
		t.Errorf("opened with %v", err)
	}
}

// TestLogWithoutBuckets opens the log of a process that was killed right after it created the file.
func TestLogWithoutBuckets(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "log"), 0o750); err != nil {
		t.Fatal(err)
	}
	db, err := bbolt.Open(filepath.Join(dir, "log", "raft.db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	r := mustOpen(t, config(dir, raftlog.Bolt, &list{}))
	mustPropose(t, r, "a1")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestDamageBehindLookalikes flips a bit in an entry with hundreds of words that look like the
// frame of a commit, and with a sector of zeros. The entry must not be treated as the unfinished
// end of the log.
func TestDamageBehindLookalikes(t *testing.T) {
	for shift := range 8 {
		dir := t.TempDir()
		r := mustOpen(t, config(dir, raftlog.WAL, &list{}))
		var words []byte
		for range 400 {
			words = binary.LittleEndian.AppendUint64(words, 3) // the header of a commit
		}
		mustPropose(t, r, "one"+strings.Repeat("y", 61+shift)+string(words)+string(make([]byte, 2048)), "two", "three")
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "log", "*"+".wal"))
		if err != nil || len(files) != 1 {
			t.Fatalf("files %v, %v", files, err)
		}
		b, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		b[bytes.Index(b, []byte("oneyyy"))+10] ^= 1
		if err := os.WriteFile(files[0], b, 0o600); err != nil {
			t.Fatal(err)
		}
		if again, err := Open(config(dir, raftlog.WAL, &list{})); !errors.Is(err, damage.ErrDamaged) {
			t.Errorf("shift %d: it opens: %v", shift, err)
			if err == nil {
				_ = again.Close()
			}
		}
	}
}

// TestHoles opens logs with a gap between log and state.
func TestHoles(t *testing.T) {
	for _, test := range []struct {
		name    string
		applied uint64
		want    string
	}{
		{"the log ends before the state", 1000, "its end is lost"},
	} {
		dir := t.TempDir()
		r := mustOpen(t, config(dir, raftlog.WAL, &list{}))
		mustPropose(t, r, "a")
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		cfg := config(dir, raftlog.WAL, &durableList{applied: test.applied})
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
