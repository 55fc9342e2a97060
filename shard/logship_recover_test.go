package shard_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"cordwood/meta"
	"cordwood/node"
	"cordwood/node/recovery"
	"cordwood/proto/metapb"
	"cordwood/shard"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/states"
)

func init() { shard.RecoverFromBucket = recoverFromBucket }

// recoverFromBucket makes a cluster anew. The metadata know none of its tables.
func recoverFromBucket(t testing.TB, dir string) (folder, nodeID, out string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	b := bucket.NewDir(dir)
	m, err := meta.Open(meta.Config{Dir: t.TempDir(), NodeID: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := m.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	_, err = m.Propose(ctx, &metapb.ProposeRequest{Command: &metapb.Command{Op: &metapb.Command_Bootstrap{
		Bootstrap: &metapb.Bootstrap{ClusterId: "cluster", Shards: 7, NodeId: "n1", ClusterVersion: metapb.MaxProtocol},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := m.Export()
	if err != nil {
		t.Fatal(err)
	}
	place := states.Place{Bucket: b, Cluster: "cluster"}
	h := states.Header{Index: e.Index, Term: e.Term, Written: time.Now()}
	if err := place.Put(ctx, h, (&states.Metadata{Plain: e.Plain}).Encode()); err != nil {
		t.Fatal(err)
	}
	folder = filepath.Join(t.TempDir(), "data")
	var text bytes.Buffer
	err = recovery.FromBucket(ctx, recovery.BucketConfig{
		Bucket: b, DataDir: folder, Accept: true, OthersGone: true, Now: time.Now,
	}, &text)
	if err != nil {
		t.Fatal(err, text.String())
	}
	data, err := node.OpenOffline(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := data.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "shards", "7")); err != nil {
		t.Fatal(err, text.String())
	}
	return folder, data.NodeID, text.String()
}
