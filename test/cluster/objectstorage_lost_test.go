package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/bucket/buckettest"
	"cordwood/shard/cold/states"
)

// TestRecoverThreeNodesFromBucket has a cluster lose the disks of its three nodes. A first node is made from an S3
// server, two empty ones join, and the cluster makes replicas on them. Then the first node is lost as well: the other
// two have all rows, also those that were written since.
func TestRecoverThreeNodesFromBucket(t *testing.T) {
	endpoint, name := buckettest.Serve(t)
	url := "s3://" + name + "/prod"
	args := []string{"--object-storage-url", url, "--object-storage-endpoint", endpoint}
	old, want := coldCluster(t, args...)
	place := states.Place{Cluster: mustIdentity(t, old.Nodes[0]).ClusterID}
	var err error
	place.Bucket, err = bucket.Open(url, bucket.Config{S3: bucket.S3Config{Endpoint: endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	awaitStates(t, place)
	secret, err := os.ReadFile(old.Secret())
	if err != nil {
		t.Fatal(err)
	}
	old.Kill()
	for _, n := range old.Nodes {
		if err := os.RemoveAll(n.Dir); err != nil {
			t.Fatal(err)
		}
	}

	c := newColdCluster(t, args...)
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, secret, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, n := range c.Nodes {
		n.set(secretFlag, file)
	}
	first := c.Nodes[0]
	out, err := exec.Command(first.bin, "recover", "--from-bucket", url, "--endpoint", endpoint, "--data-dir", first.Dir,
		"--others-are-gone", "--accept-data-loss", "--cluster-secret-file", file).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "table app: 600 rows in ") {
		t.Fatalf("%v\n%s", err, out)
	}
	first.Start()
	compareCold(t, first, want, "the first node")
	for _, n := range c.Nodes[1:] {
		n.Start()
	}
	rows := func(n *Node) (got string, err error) {
		list, err := n.Query("SELECT count(*), sum(n) FROM app WHERE level = 'late'")
		return fmt.Sprint(list), err
	}
	for i := range 10 {
		if err := c.Nodes[i%3].Ingest("app", fmt.Appendf(nil, `{"n":%d,"level":"late","text":"after"}`, 1000+i)); err != nil {
			t.Fatal(err)
		}
	}
	// Each shard, and the metadata, have three voters.
	Eventually(t, 3*time.Minute, func() error {
		out, err := exec.Command(first.bin, "cluster", "status", "--server", first.HTTP).CombinedOutput()
		if err == nil && !strings.Contains(string(out), "any 1 node may fail") {
			err = fmt.Errorf("status:\n%s", out)
		}
		return err
	})
	for _, n := range c.Nodes {
		compareCold(t, n, want, "node "+n.Name)
	}
	first.Kill()
	if err := os.RemoveAll(first.Dir); err != nil {
		t.Fatal(err)
	}
	for _, n := range c.Nodes[1:] {
		compareCold(t, n, want, "without the first node, node "+n.Name)
		Eventually(t, time.Minute, func() error {
			got, err := rows(n)
			if err == nil && got != "[[10 10045]]" {
				err = fmt.Errorf("new rows of node %s: %s", n.Name, got)
			}
			return err
		})
	}
}
