package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func open(t *testing.T, path string) *dataDir {
	t.Helper()
	d, err := openDataDir(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.close() })
	return d
}

func TestIdentityStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b")
	d := open(t, path)
	first := d.id.NodeID
	if err := d.SetCluster("c1", nil); err != nil {
		t.Fatal(err)
	}
	if err := d.addShards([]uint32{1, 2}); err != nil {
		t.Fatal(err)
	}
	if err := d.close(); err != nil {
		t.Fatal(err)
	}
	d = open(t, path)
	if d.id.NodeID != first || d.id.ClusterID != "c1" || !d.hasShard(2) || d.hasShard(3) {
		t.Errorf("opened again: %+v, want node %s, cluster c1, shards 1 and 2", d.id, first)
	}
	if err := d.SetCluster("c2", nil); err == nil || !strings.Contains(err.Error(), "c1") {
		t.Errorf("another cluster: %v, want an error with c1", err)
	}
}

func TestDataDirRefused(t *testing.T) {
	for name, c := range map[string]struct{ file, content, want string }{
		"something else":  {"notes.txt", "x", `holds "notes.txt"`},
		"a newer format":  {"IDENTITY", `{"format":99,"node_id":"x"}`, "format 99"},
		"a broken file":   {"IDENTITY", `{"form`, "read identity"},
		"an empty object": {"IDENTITY", `{}`, "contains no node id"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, c.file), []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			d, err := openDataDir(dir)
			if err == nil {
				_ = d.close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// TestFirstStartWasEnded starts a node in a folder in which the first start was killed while it wrote the identity.
func TestFirstStartWasEnded(t *testing.T) {
	for _, part := range []string{"", `{"node_id":"01`} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "IDENTITY.tmp"), []byte(part), 0o600); err != nil {
			t.Fatal(err)
		}
		if d := open(t, dir); d.nodeID == "" {
			t.Error("the node has no id")
		}
		if _, err := os.Stat(filepath.Join(dir, "IDENTITY.tmp")); err == nil {
			t.Error("the partial identity still exists")
		}
	}
}

func TestDataDirIsLocked(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	if _, err := openDataDir(dir); err == nil || !strings.Contains(err.Error(), "another cordwood") {
		t.Errorf("a second process: %v", err)
	}
}

// TestFutureIdentity checks that the identity of an invented future version is refused as such,
// whatever its content, and not changed.
func TestFutureIdentity(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("testdata", "future-IDENTITY"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "IDENTITY"), want, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openDataDir(dir); err == nil || !strings.Contains(err.Error(), "written by a newer version") {
		t.Errorf("opening it gives %v", err)
	}
	if _, err := OpenOffline(dir); err == nil || !strings.Contains(err.Error(), "written by a newer version") {
		t.Errorf("the doctor gets %v", err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "IDENTITY")); err != nil || string(got) != string(want) {
		t.Errorf("the identity was changed: %v", err)
	}
}

// TestOldIdentity checks that an identity of version 2 with a cluster implies a member of the
// metadata group.
func TestOldIdentity(t *testing.T) {
	dir := t.TempDir()
	old, err := os.ReadFile(filepath.Join("testdata", "v2-IDENTITY"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "IDENTITY"), old, 0o600); err != nil {
		t.Fatal(err)
	}
	d := open(t, dir)
	if cluster, founders := d.Cluster(); d.nodeID != "01ARZ3NDEKTSV4RRFFQ69G5FAV" ||
		cluster != "01ARZ3NDEKTSV4RRFFQ69G5FAW" || founders != nil || !d.hasMeta() || !d.hasShard(2) {
		t.Errorf("read: %+v", d.id)
	}
	if err := d.addShards([]uint32{3}); err != nil {
		t.Fatal(err)
	}
	if id, err := readIdentity(dir); err != nil || id.Format != formatVersion || !id.Meta || len(id.Shards) != 3 {
		t.Errorf("written: %+v, %v", id, err)
	}
}

// TestPromises checks that promises are on disk when they are given, and end with the cluster.
func TestPromises(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	if err := d.SetPromise("c", []string{"a", "b"}); err != nil {
		t.Fatal(err)
	}
	if id, err := readIdentity(dir); err != nil || id.Promised != "c" || len(id.PromisedFounders) != 2 {
		t.Errorf("on disk: %+v, %v", id, err)
	}
	if err := d.SetCluster("c", []string{"a", "b"}); err != nil {
		t.Fatal(err)
	}
	id, err := readIdentity(dir)
	if err != nil || id.Promised != "" || id.ClusterID != "c" || len(id.Founders) != 2 {
		t.Errorf("on disk: %+v, %v", id, err)
	}
	if err := d.dropShard(1); err != nil {
		t.Fatal(err)
	}
}
