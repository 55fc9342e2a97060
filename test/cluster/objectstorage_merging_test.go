package cluster

import (
	"path/filepath"
	"testing"
	"time"

	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/states"
)

// TestObjectStorageMerging has a server move tables whose rows merge, and whose merge mode changes, to object storage
// after each round of writes and deletions, and kills it after each. They have the rows that they have on a server
// without object storage: as objects, restored from a backup, and recovered from the bucket.
func TestObjectStorageMerging(t *testing.T) {
	at := time.Now().UnixMilli()
	local := New(t, "--shards", "2")
	local.Start()
	fillMerging(t, local, at, func() {})

	url := "file://" + t.TempDir()
	args := []string{
		"--shards", "2", "--object-storage-url", url, "--object-storage-upload-after", "1s",
		"--object-storage-local-for", "1s", "--object-storage-cache-bytes", "64MiB", "--shard-flush-age", "1s",
	}
	n := New(t, args...)
	n.Start()
	// The merge mode of the other tables changes while they have rows that are not in the bucket.
	names := []string{"row", "fields", "unheard", "memory"}
	rounds, moved := 0, 0
	repository, last := fillMerging(t, n, at, func() {
		rounds++
		defer func() { // in the middle of a move, or between two of them
			n.Kill()
			n.Start()
		}()
		if rounds == 1 || rounds == 3 { // the rows of two rounds are in one object
			return
		}
		Eventually(t, 2*time.Minute, func() error { return n.onlyObjects(names...) })
		moved++
	})
	if moved < 3 {
		t.Errorf("rows were moved %d times", moved)
	}
	sameMerging(t, "in object storage", local, n)
	Eventually(t, 2*time.Minute, func() error { return n.onlyObjects(names...) })
	sameMerging(t, "in object storage only", local, n)
	n.Stop()
	n.Start()
	sameMerging(t, "started again", local, n)

	target := New(t, "--shards", "3")
	target.Start()
	mustCommand(t, "restore", repository, "--server", target.HTTP, "--backup", last.ID)
	sameMerging(t, "restored", local, target)
	again := filepath.Join(t.TempDir(), "again")
	backUp(t, n, again)
	target = New(t, "--shards", "1")
	target.Start()
	mustCommand(t, "restore", again, "--server", target.HTTP)
	sameMerging(t, "restored from a backup of objects", local, target)

	place := states.Place{Cluster: mustIdentity(t, n).ClusterID}
	var err error
	if place.Bucket, err = bucket.Open(url, bucket.Config{}); err != nil {
		t.Fatal(err)
	}
	awaitStates(t, place)
	n.Kill()
	n = New(t, args...)
	mustCommand(t, "recover", "--from-bucket", url, "--data-dir", n.Dir, "--others-are-gone", "--accept-data-loss")
	n.Start()
	sameMerging(t, "recovered", local, n)
}
