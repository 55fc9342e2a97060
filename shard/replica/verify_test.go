package replica

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
