package recovery

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cordwood/meta"
	"cordwood/node"
	"cordwood/proto/metapb"
	"cordwood/proto/schemapb"
	"cordwood/shard/cold"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/states"
	"cordwood/shard/manifest"
	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

// lostCluster has the states of a cluster in a directory.
type lostCluster struct {
	t     *testing.T
	dir   string
	place states.Place
	// state is the newest state of the shard, logFrom from where on it needs the log, logWithout has the tables whose rows
	// it does not take from there.
	state      *manifest.State
	logFrom    uint64
	logWithout []uint64
}

const lostObject = "c1/data/1/1/20000/1-1-2-00000000000000aa.parquet"

// loseCluster stores the states of a cluster with one shard, whose table has an object with three rows. The state
// before has no objects.
func loseCluster(t *testing.T) *lostCluster {
	t.Helper()
	l := &lostCluster{t: t, dir: t.TempDir()}
	l.place = states.Place{Bucket: bucket.NewDir(l.dir), Cluster: "c1"}
	l.storeMetadata(l.place)
	def, err := manifest.EncodeTable(&schemapb.Table{
		Id: 1, Database: "public", Name: "app", Version: 1, NextColumnId: 2,
		Options: map[string]string{"append_mode": "true"},
		Columns: []*schemapb.Column{{
			Id: 1, Name: "ts", Type: schemapb.Type_TYPE_TIMESTAMP_SECOND,
			Semantic: schemapb.Semantic_SEMANTIC_TIMESTAMP,
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	st := &manifest.State{AppliedIndex: 10, AppliedTerm: 2, NextSegmentID: 5, Tables: []manifest.Table{def}}
	l.storeShard(st)
	st.AppliedIndex, st.Cold.LastCut = 20, 1
	st.CutOrders = []manifest.CutOrder{{Number: 1, TableID: 1, Order: 4}}
	st.Sets = []manifest.Set{{Number: 1, Index: 15, Objects: []cold.Object{{
		Key: lostObject, Cut: 1, Day: 20000,
		Meta: segment.Meta{
			TableID: 1, SchemaVersion: 1, Rows: 3, Bytes: 4, MinTime: 20000 * 86400, MaxTime: 20000*86400 + 5,
		},
	}}}}
	l.storeShard(st)
	l.state = st
	rows := bucket.Content{Body: strings.NewReader("rows"), Size: 4}
	if err := l.place.Bucket.Put(t.Context(), lostObject, rows); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *lostCluster) storeMetadata(p states.Place) {
	l.t.Helper()
	m, err := meta.Open(meta.Config{Dir: l.t.TempDir(), NodeID: "n1"})
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Minute)
	defer cancel()
	err = m.WaitReady(ctx)
	if err == nil {
		_, err = m.Propose(ctx, &metapb.ProposeRequest{Command: &metapb.Command{Op: &metapb.Command_Bootstrap{
			Bootstrap: &metapb.Bootstrap{ClusterId: p.Cluster, Shards: 1, NodeId: "n1", ClusterVersion: metapb.MaxProtocol},
		}}})
	}
	if err != nil {
		l.t.Fatal(err)
	}
	e, err := m.Export()
	if err != nil {
		l.t.Fatal(err)
	}
	body := (&states.Metadata{Plain: e.Plain}).Encode()
	h := states.Header{Index: e.Index, Term: e.Term, Written: time.Unix(1_700_000_000, 0)}
	if err := errors.Join(p.Put(ctx, h, body), m.Close()); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lostCluster) storeShard(st *manifest.State) {
	l.t.Helper()
	h := states.Header{
		Shard: 1, Incarnation: 1, Index: st.AppliedIndex, Term: st.AppliedTerm, LogFrom: l.logFrom, LogWithout: l.logWithout,
	}
	if err := l.place.Put(l.t.Context(), h, st.WithoutLocal().Encode()); err != nil {
		l.t.Fatal(err)
	}
}

// newest returns the path of the newest state of the shard.
func (l *lostCluster) newest() string {
	l.t.Helper()
	groups, err := l.place.List(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	return filepath.Join(l.dir, filepath.FromSlash(groups[1][0].Key))
}

// recover runs FromBucket. It returns what was printed, and the folder.
func (l *lostCluster) recover(change func(*BucketConfig)) (out, folder string, err error) {
	folder = filepath.Join(l.t.TempDir(), "data")
	cfg := BucketConfig{
		Bucket: l.place.Bucket, DataDir: folder, Accept: true, Now: func() time.Time { return time.Unix(1_700_000_000, 0) },
	}
	if change != nil {
		change(&cfg)
	}
	var b bytes.Buffer
	err = FromBucket(l.t.Context(), cfg, &b)
	return b.String(), cfg.DataDir, err
}

// sets returns how many sets the shard in a data folder has.
func (l *lostCluster) sets(folder string) int {
	l.t.Helper()
	st, _, err := manifest.Read(manifest.Config{FS: vfs.OS, Dir: filepath.Join(folder, "shards", "1"), ShardID: 1})
	if err != nil {
		l.t.Fatal(err)
	}
	return len(st.Sets)
}

// TestFromBucket makes the folder of a node, and the cluster in it the owner of the objects. A second one is refused.
func TestFromBucket(t *testing.T) {
	t.Parallel()
	l := loseCluster(t)
	out, folder, err := l.recover(func(c *BucketConfig) { c.Accept = false })
	if !errors.Is(err, ErrNotAccepted) ||
		!strings.Contains(out, "table app: 3 rows in 1 object, the newest of 2024-10-04T00:00:05Z") ||
		!strings.Contains(out, "tokens: none; the cluster had no secret") {
		t.Errorf("without --accept-data-loss: %v\n%s", err, out)
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the folder: %v", err)
	}
	if o, err := l.place.Owner(t.Context()); o != nil || err != nil {
		t.Errorf("the owner is %v: %v", o, err)
	}
	out, folder, err = l.recover(nil)
	if err != nil {
		t.Fatal(err, out)
	}
	data, err := node.OpenOffline(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	o, err := l.place.Owner(t.Context())
	if err != nil || o == nil || o.Cluster != data.ClusterID || !data.Meta || len(data.Shards) != 1 {
		t.Errorf("the owner is %+v, the folder %+v: %v", o, data, err)
	}
	if n := l.sets(folder); n != 1 {
		t.Errorf("the shard has %d sets", n)
	}
	if _, shards, err := meta.Check(filepath.Join(folder, "meta", meta.StateFile)); err != nil || len(shards) != 1 {
		t.Errorf("the metadata have the shards %v: %v", shards, err)
	}
	if out, _, err := l.recover(nil); err == nil || !strings.Contains(err.Error(), "--cluster "+data.ClusterID) {
		t.Errorf("once more: %v\n%s", err, out)
	}
	if out, _, err := l.recover(func(c *BucketConfig) { c.OthersGone = true }); err != nil {
		t.Errorf("once more with --others-are-gone: %v\n%s", err, out)
	}
}

// TestFromBucketThatLacks has lost or damaged objects and states, and other conditions that stop a recovery.
func TestFromBucketThatLacks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		damage func(l *lostCluster) error
		change func(*BucketConfig)
		// fault is a part of the error, or empty; printed is a part of the output.
		fault, printed string
		sets           int
	}{
		"an object": {
			damage: func(l *lostCluster) error { return l.place.Bucket.Delete(l.t.Context(), lostObject) },
			fault:  "1 object missing in the bucket", printed: "object " + lostObject + " is missing",
		},
		"a part of an object": {
			damage: func(l *lostCluster) error { return os.Truncate(filepath.Join(l.dir, lostObject), 3) },
			fault:  "1 object missing in the bucket", printed: "has 3 bytes, want 4",
		},
		"an object, which is allowed": {
			damage: func(l *lostCluster) error { return l.place.Bucket.Delete(l.t.Context(), lostObject) },
			change: func(c *BucketConfig) { c.AllowMissing = true }, printed: "table app: no rows in objects",
		},
		"a part of the newest state": {
			damage: func(l *lostCluster) error { return os.Truncate(l.newest(), 50) },
			// The state before has no objects.
			printed: "a state of shard 1 cannot be read, an older one is tried",
		},
		"the metadata": {
			damage: func(l *lostCluster) error { return os.RemoveAll(filepath.Join(l.dir, "c1", "state", "meta")) },
			fault:  "there is no state of the metadata of a cluster",
		},
		"the cluster with the id": {
			change: func(c *BucketConfig) { c.Cluster = "c9" }, fault: "there is no state of the metadata of cluster c9: check",
		},
		"one cluster": {
			damage: func(l *lostCluster) error {
				l.storeMetadata(states.Place{Bucket: l.place.Bucket, Cluster: "c2"})
				return nil
			},
			fault: "say which one with --cluster: c1, c2",
		},
		"one cluster, with the id": {
			damage: func(l *lostCluster) error {
				l.storeMetadata(states.Place{Bucket: l.place.Bucket, Cluster: "c2"})
				return nil
			},
			change: func(c *BucketConfig) { c.Cluster = "c1" }, printed: "table app: 3 rows", sets: 1,
		},
		"a lost cluster": {
			damage: func(l *lostCluster) error {
				return l.place.SetAlive(l.t.Context(), states.Alive{Written: time.Unix(1_699_999_000, 0), Every: 600})
			},
			fault: "that it runs: stop all its nodes, and try again after 2023-11-14T22:17:40Z",
		},
		"a lost cluster, long ago": {
			damage: func(l *lostCluster) error {
				return l.place.SetAlive(l.t.Context(), states.Alive{Written: time.Unix(1_699_998_000, 0), Every: 600})
			},
			printed: "table app: 3 rows", sets: 1,
		},
		"an empty folder": {
			change: func(c *BucketConfig) { c.DataDir = filepath.Dir(filepath.Dir(c.DataDir)) },
			fault:  "choose an empty folder",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := loseCluster(t)
			if c.damage != nil {
				if err := c.damage(l); err != nil {
					t.Fatal(err)
				}
			}
			out, folder, err := l.recover(c.change)
			if !strings.Contains(out, c.printed) {
				t.Errorf("%q is not printed:\n%s", c.printed, out)
			}
			if c.fault == "" {
				if err != nil {
					t.Fatal(err, out)
				}
				if n := l.sets(folder); n != c.sets {
					t.Errorf("the shard has %d sets, want %d", n, c.sets)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("the error is %v, want %q", err, c.fault)
			}
			if o, err := l.place.Owner(t.Context()); o != nil || err != nil {
				t.Errorf("it failed, and the owner is %v: %v", o, err)
			}
		})
	}
}
