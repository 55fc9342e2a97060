package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cordwood/shard/cold"
	"cordwood/shard/manifest"
	"cordwood/shard/vfs"
)

// coldStatements are answered the same by every cluster with the rows of coldCluster.
var coldStatements = []string{
	"SELECT count(*), sum(n), min(n), max(n) FROM app WHERE n < 600",
	"SELECT level, count(*), sum(length(text)) FROM app WHERE n < 600 GROUP BY level ORDER BY level",
	"SELECT n, level, text FROM app WHERE n < 600 ORDER BY n",
	"SELECT n, text FROM small WHERE n < 600 ORDER BY n",
}

// newColdCluster prepares three nodes that move rows to object storage at once. args say where that is.
func newColdCluster(t *testing.T, args ...string) *Cluster {
	t.Helper()
	return NewCluster(t, Spec{All: 3, Shards: 2, Args: append([]string{
		"--object-storage-upload-after", "1s", "--object-storage-local-for", "1s",
		"--object-storage-cache-bytes", "64MiB", "--shard-flush-age", "1s",
	}, args...)})
}

// coldCluster starts three nodes with rows that are only in object storage, and returns the answers about them.
func coldCluster(t *testing.T, args ...string) (c *Cluster, want map[string]string) {
	t.Helper()
	c = newColdCluster(t, args...)
	c.Secret()
	c.Start()
	n := c.Nodes[0]
	// Tables with a physical_table share no files with the server's own tables, which stay on local disks.
	for _, table := range []string{"app", "small"} {
		n.mustQuery(t, "CREATE TABLE "+table+" (svc_timestamp TIMESTAMP(9) TIME INDEX, n BIGINT, level STRING, text STRING) "+
			"WITH (append_mode='true', physical_table='x')")
	}
	for i := range 6 {
		var app, small strings.Builder
		for k := range 100 {
			fmt.Fprintf(&app, `{"n":%d,"level":"%s","text":"row %d of app"}`+"\n", 100*i+k, []string{"info", "error"}[k%2], k)
			if k%10 == 0 {
				fmt.Fprintf(&small, `{"n":%d,"level":"info","text":"row %d of small"}`+"\n", 100*i+k, k)
			}
		}
		for table, body := range map[string]string{"app": app.String(), "small": small.String()} {
			if err := c.Nodes[i%3].Ingest(table, []byte(body)); err != nil {
				t.Fatal(err)
			}
		}
	}
	want = map[string]string{}
	for _, sql := range coldStatements {
		want[sql] = fmt.Sprint(n.Rows(t, sql))
	}
	Eventually(t, 4*time.Minute, func() error {
		for _, n := range c.Nodes {
			if err := n.onlyObjects("app", "small"); err != nil {
				return fmt.Errorf("node %s: %w", n.Name, err)
			}
		}
		return nil
	})
	compareCold(t, n, want, "from the bucket")
	return c, want
}

// mustQuery runs a statement.
func (n *Node) mustQuery(t *testing.T, sql string) {
	t.Helper()
	Eventually(t, time.Minute, func() error { _, err := n.Query(sql); return err })
}

// onlyObjects returns an error unless the node has no local segments with rows of some tables, in two shards.
func (n *Node) onlyObjects(tables ...string) error { return n.onlyObjectsIn(2, tables...) }

// onlyObjectsIn is like onlyObjects, for a number of shards.
func (n *Node) onlyObjectsIn(shards uint32, tables ...string) error {
	for shard := range shards {
		dir := filepath.Join(n.Dir, "shards", fmt.Sprint(shard+1))
		st, _, err := manifest.Read(manifest.Config{FS: vfs.OS, Dir: dir, ShardID: shard + 1})
		if err != nil {
			return err
		}
		ids := map[uint64]bool{}
		for _, t := range st.Tables {
			d, err := t.Decode()
			if err != nil {
				return err
			}
			ids[d.Id] = slices.Contains(tables, d.Name)
		}
		for i := range st.Segments {
			o := cold.Object{Meta: st.Segments[i]}
			for _, span := range o.Spans() {
				if ids[span.TableID] {
					return fmt.Errorf("shard %d has segment %d with rows of table %d", shard+1, o.Meta.ID, span.TableID)
				}
			}
		}
	}
	return nil
}

// joined returns nil if each node has a shard with a table whose objects were joined.
func (c *Cluster) joined(shards uint32) error {
	for _, n := range c.Nodes {
		tables := 0
		for shard := range shards {
			dir := filepath.Join(n.Dir, "shards", fmt.Sprint(shard+1))
			st, _, err := manifest.Read(manifest.Config{FS: vfs.OS, Dir: dir, ShardID: shard + 1})
			if err != nil {
				return err
			}
			tables += len(manifest.JoinedCuts(st.Sets))
		}
		if tables == 0 {
			return fmt.Errorf("node %s knows no objects that were joined", n.Name)
		}
	}
	return nil
}

// joins returns how many joins the logs of a cluster's nodes report. A leader killed after one may not report it.
func joins(c *Cluster) (count int) {
	for _, n := range c.Nodes {
		count += strings.Count(n.Log(), "joined small objects in object storage")
	}
	return count
}

// forgetFailedJoins restarts all nodes, because a leader whose join failed does not try again for an hour.
func forgetFailedJoins(c *Cluster) {
	for _, n := range c.Nodes {
		n.Stop()
	}
	c.Start()
}

// compareCold compares the answers of a node.
func compareCold(t *testing.T, n *Node, want map[string]string, what string) {
	t.Helper()
	for _, sql := range coldStatements {
		var got string
		Eventually(t, 4*time.Minute, func() error {
			rows, err := n.Query(sql)
			got = fmt.Sprint(rows)
			return err
		})
		if got != want[sql] {
			t.Errorf("%s: %s:\n%s\nwant\n%s", what, sql, got, want[sql])
		}
	}
}

// TestObjectStorageCluster has three nodes whose rows are only in object storage. A backup has all rows, and a node
// whose disk was lost gets its replicas again without them.
func TestObjectStorageCluster(t *testing.T) {
	bucket := t.TempDir()
	c, want := coldCluster(t, "--object-storage-url", "file://"+bucket)

	// A backup has the rows, and can be restored into a server without object storage.
	repository := filepath.Join(t.TempDir(), "backups")
	for range 2 { // the second one sends nothing
		mustCommand(t, "backup", "create", repository, "--server", c.Nodes[1].HTTP)
	}
	mustCommand(t, "backup", "verify", repository, "--deep")
	other := New(t)
	other.Start()
	mustCommand(t, "restore", repository, "--server", other.HTTP)
	compareCold(t, other, want, "restored")
	other.Stop()

	// A node is lost with its disk, and another one replaces it.
	lost := c.Nodes[2]
	former, err := lost.Identity()
	if err != nil {
		t.Fatal(err)
	}
	lost.Kill()
	if err = os.RemoveAll(lost.Dir); err != nil {
		t.Fatal(err)
	}
	lost.Start()
	mustCommand(t, "node", "decommission", "--yes", former.NodeID, "--server", c.Nodes[0].HTTP)
	Eventually(t, 3*time.Minute, func() error { return lost.onlyObjects("app", "small") })
	compareCold(t, lost, want, "the node that was lost")
}
