package replica

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
)

// TestRenamedField changes a name in what raft noted of a snapshot: what was noted
// under it would be missing, and the group without its members.
func TestRenamedField(t *testing.T) {
	dir := t.TempDir()
	r := mustOpen(t, config(dir, WAL, &list{}))
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
	changed := strings.Replace(string(text), `"Configuration"`, `"Configulation"`, 1)
	if changed == string(text) {
		t.Fatalf("no such name in %s", text)
	}
	if err := os.WriteFile(metas[0], []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(config(dir, WAL, &list{})); err == nil || !strings.Contains(err.Error(), "Configulation") {
		t.Errorf("opened with %v", err)
	}
}

// TestLogWithoutBuckets opens what a process leaves that is killed right after it made the
// file of the log.
func TestLogWithoutBuckets(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "log"), 0o750); err != nil {
		t.Fatal(err)
	}
	db, err := bbolt.Open(filepath.Join(dir, "log", boltFile), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	r := mustOpen(t, config(dir, Bolt, &list{}))
	mustPropose(t, r, "a1")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}
