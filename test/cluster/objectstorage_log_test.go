package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/states"
)

// shippedArgs are the settings of a server that ships its log to a directory each second.
func shippedArgs(dir string) []string {
	return []string{
		"--shards", "2", "--object-storage-url", "file://" + dir, "--object-storage-log", "1s",
		"--object-storage-upload-after", "5s", "--object-storage-local-for", "1s", "--object-storage-cache-bytes", "64MiB",
		"--shard-flush-age", "1s",
	}
}

// TestRecoverShippedLog has a server lose its disk while rows are in objects, in segments, in memory, and only in the
// log. The one that is made from the bucket has all rows that were acknowledged before the log was shipped.
func TestRecoverShippedLog(t *testing.T) {
	dir := t.TempDir()
	old := New(t, shippedArgs(dir)...)
	old.Start()
	for _, table := range []string{"app", "small"} {
		old.mustQuery(t, "CREATE TABLE "+table+" (svc_timestamp TIMESTAMP(9) TIME INDEX, n BIGINT, level STRING, "+
			"text STRING) WITH (append_mode='true', physical_table='x')")
	}
	old.mustQuery(t, "CREATE TABLE merged (id STRING PRIMARY KEY, svc_timestamp TIMESTAMP(9) TIME INDEX, n BIGINT)")
	n := 0
	load := func(rows int) {
		t.Helper()
		for range rows {
			for _, table := range []string{"app", "small"} {
				if err := old.Ingest(table, fmt.Appendf(nil, `{"n":%d,"level":"x","text":"row %d"}`, n, n)); err != nil {
					t.Fatal(err)
				}
			}
			old.mustQuery(t, fmt.Sprintf("INSERT INTO merged VALUES ('k%d', %d, %d)", n%50, 1_700_000_000+n%50, n))
			n++
		}
	}
	load(200)
	place := states.Place{Bucket: bucket.NewDir(dir), Cluster: mustIdentity(t, old).ClusterID}
	awaitCovered(t, place, 1, 2)
	load(200)
	old.mustQuery(t, "ALTER TABLE app DROP COLUMN level")
	old.mustQuery(t, "CREATE TABLE late (svc_timestamp TIMESTAMP(9) TIME INDEX, n BIGINT) WITH (append_mode='true')")
	if err := old.Ingest("late", []byte(`{"n":7}`)); err != nil {
		t.Fatal(err)
	}
	load(100)
	statements := []string{
		"SELECT count(*), sum(n), min(n), max(n), count(DISTINCT n), min(text), max(text) FROM app",
		"SELECT count(*), sum(n), min(n), max(n), count(DISTINCT n), count(level) FROM small",
		"SELECT count(*), sum(n), min(n), max(n) FROM merged",
		"SELECT count(*), sum(n) FROM late",
	}
	want := map[string]string{}
	for _, sql := range statements {
		want[sql] = fmt.Sprint(old.Rows(t, sql))
	}
	awaitShipped(t, old, place, 2)
	old.Kill()
	if err := os.RemoveAll(old.Dir); err != nil {
		t.Fatal(err)
	}

	again := New(t, shippedArgs(dir)...)
	run := func(more ...string) (string, error) {
		out, err := exec.Command(again.bin, append([]string{
			"recover", "--from-bucket", "file://" + dir, "--data-dir", again.Dir, "--others-are-gone",
		}, more...)...).CombinedOutput()
		return string(out), err
	}
	out, err := run()
	t.Log(out)
	if err == nil || !strings.Contains(out, "log of shard 1: entries ") || strings.Contains(out, "gap") {
		t.Errorf("without --accept-data-loss: %v\n%s", err, out)
	}
	if out, err := run("--accept-data-loss"); err != nil {
		t.Fatal(err, out)
	}
	again.Start()
	for _, sql := range statements {
		if got := fmt.Sprint(again.Rows(t, sql)); got != want[sql] {
			t.Errorf("%s: %s, want %s\n%s", sql, got, want[sql], out)
		}
	}
	again.Stop()
}

// awaitCovered waits until the newest states of some shards have objects, and need less than the whole log.
func awaitCovered(t *testing.T, place states.Place, shards ...uint32) {
	t.Helper()
	ctx := context.Background()
	Eventually(t, 2*time.Minute, func() error {
		groups, err := place.List(ctx)
		if err != nil {
			return err
		}
		for _, id := range shards {
			if len(groups[id]) == 0 {
				return fmt.Errorf("shard %d has no state", id)
			}
			h, _, err := place.Read(ctx, &groups[id][0])
			if err != nil || h.LogFrom < 20 {
				return fmt.Errorf("shard %d needs the log from %d on: %w", id, h.LogFrom, err)
			}
		}
		return nil
	})
}

// awaitShipped waits until a bucket has all entries that the shards of a node had applied at the call.
func awaitShipped(t *testing.T, n *Node, place states.Place, shards int) {
	t.Helper()
	want := map[uint32]uint64{}
	for id := range uint32(shards) {
		want[id+1] = uint64(n.metric(t, fmt.Sprintf(`cordwood_raft_applied_index{group="shard-%d"}`, id+1)))
	}
	Eventually(t, time.Minute, func() error {
		list, err := place.Log(context.Background(), 0)
		if err != nil {
			return err
		}
		for id, index := range want {
			if !slices.ContainsFunc(list, func(p states.Piece) bool { return p.Shard == id && p.Last >= index }) {
				return fmt.Errorf("entry %d of shard %d is not in the bucket", index, id)
			}
		}
		return nil
	})
}

// TestShippedLogSurvivesLeaders has three nodes, of which one after the other is killed while rows are written, so that
// the leaders change. Then all disks are lost: no row that was acknowledged before the log was shipped is lost, and
// none is there twice.
func TestShippedLogSurvivesLeaders(t *testing.T) {
	dir := t.TempDir()
	c := NewCluster(t, Spec{All: 3, Shards: 2, Args: shippedArgs(dir)[2:]})
	c.Start()
	first := c.Nodes[0]
	first.mustQuery(t, "CREATE TABLE app (svc_timestamp TIMESTAMP(9) TIME INDEX, n BIGINT, text STRING) "+
		"WITH (append_mode='true')")
	n := 0
	load := func(rows int) {
		t.Helper()
		for range rows {
			body := fmt.Appendf(nil, `{"n":%d,"text":"row %d"}`, n, n)
			Eventually(t, time.Minute, func() error {
				var err error
				for _, node := range c.Nodes {
					if !node.Running() {
						continue
					}
					if err = node.Ingest("app", body); err == nil {
						return nil
					}
				}
				return err
			})
			n++
		}
	}
	load(60)
	place := states.Place{Bucket: bucket.NewDir(dir), Cluster: mustIdentity(t, first).ClusterID}
	for i := range 4 {
		killed := c.Nodes[i%3]
		killed.Kill()
		load(60)
		killed.Start()
		load(30)
	}
	want := c.Nodes[0].Rows(t, "SELECT count(DISTINCT n) FROM app")
	if got := fmt.Sprint(want); got != fmt.Sprintf("[[%d]]", n) {
		t.Fatalf("before the disks are lost: %s of %d rows", got, n)
	}
	awaitShipped(t, c.Nodes[0], place, 2)
	total := fmt.Sprint(c.Nodes[0].Rows(t, "SELECT count(*), count(DISTINCT n), sum(n) FROM app"))
	c.Kill()
	for _, node := range c.Nodes {
		if err := os.RemoveAll(node.Dir); err != nil {
			t.Fatal(err)
		}
	}
	again := New(t, shippedArgs(dir)...)
	out, err := exec.Command(again.bin, "recover", "--from-bucket", "file://"+dir, "--data-dir", again.Dir,
		"--others-are-gone", "--accept-data-loss").CombinedOutput()
	if err != nil || strings.Contains(string(out), "gap") {
		t.Fatalf("%v\n%s", err, out)
	}
	again.Start()
	if got := fmt.Sprint(again.Rows(t, "SELECT count(*), count(DISTINCT n), sum(n) FROM app")); got != total {
		t.Errorf("recovered %s, want %s\n%s", got, total, out)
	}
	again.Stop()
}
