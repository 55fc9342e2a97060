package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cordwood/proto/schema"
	"cordwood/shard/cold/bucket"
)

// TestCacheBytes looks at the default size of the cache of object storage on some disks.
func TestCacheBytes(t *testing.T) {
	for disk, want := range map[int64]int64{8 << 30: 4 << 30, 30 << 30: 10 << 30, 1000 << 30: 200 << 30} {
		if got := cacheBytes(disk); got != want {
			t.Errorf("on a disk of %d bytes the cache has %d, want %d", disk, got, want)
		}
	}
}

// TestObjectStorageIsCheckedFirst starts a node whose object storage does not exist yet. Nothing is stored before a
// check succeeds, and the node warns.
func TestObjectStorageIsCheckedFirst(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not mounted")
	n := startNode(t, "--object-storage-url", "file://"+dir)
	tier := n.tier()
	if tier == nil || tier.Validate() != nil || tier.Cluster == "" || tier.LocalFor != 24*time.Hour {
		t.Fatalf("the place for old rows is %+v", tier)
	}
	table := &schema.Table{Options: map[string]string{}}
	if !tier.Tables(table) {
		t.Error("a table without options stays on local disks")
	}
	if table.Options["cold"] = "false"; tier.Tables(table) {
		t.Error("a table with cold=false does not stay on local disks")
	}
	o := n.objects
	if err := o.check(t.Context()); err == nil || !strings.Contains(err.Error(), "create the directory first") {
		t.Errorf("a directory that does not exist: %v", err)
	}
	awaitText(t, func() string { return strings.Join(n.warnings(), " ") }, "failed its check, so no rows are stored there")
	if use := n.newReport().Objects; use.Location != dir || use.State != "failing" || use.StoredUnixNano != 0 {
		t.Errorf("the node reports %v", use)
	}
	put := func(limit time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		return tier.Bucket.Put(ctx, "data/x", bucket.Content{Body: bytes.NewReader([]byte("x")), Size: 1})
	}
	if err := put(10 * time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an object was stored before the check: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory was made: %v", err)
	}
	if err := os.Mkdir(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := o.check(t.Context()); err != nil {
		t.Errorf("a directory that exists: %v", err)
	}
	o.pass() // as after a check that succeeds
	if err := put(time.Minute); err != nil {
		t.Errorf("after the check: %v", err)
	}
	o.fault.Store(nil) // as after a check that succeeds
	if use := n.newReport().Objects; use.State != "ok" || use.StoredUnixNano == 0 {
		t.Errorf("after the check, the node reports %v", use)
	}
}

// TestAskAgain: a node notices that object storage answers again although nobody reads.
func TestAskAgain(t *testing.T) {
	fails := &failingHeads{Bucket: bucket.NewDir(t.TempDir())}
	fails.on.Store(true)
	guard := bucket.NewGuard(fails, bucket.GuardConfig{Read: bucket.Policy{Tries: 10, Pause: time.Nanosecond}})
	o := &objectStorage{once: fails, guard: guard}
	if _, err := guard.Head(t.Context(), "x"); err == nil || !guard.State().Open {
		t.Fatalf("object storage answers: %v, %+v", err, guard.State())
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- o.askAgain(ctx) }()
	fails.on.Store(false)
	awaitText(t, func() string { return fmt.Sprint(guard.State().Open) }, "false")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// failingHeads is a bucket that describes no objects while on is set.
type failingHeads struct {
	bucket.Bucket
	on atomic.Bool
}

func (f *failingHeads) Head(ctx context.Context, key string) (bucket.Info, error) {
	if f.on.Load() {
		return bucket.Info{}, &bucket.Error{Kind: bucket.Unavailable, Op: "describe", At: key, Err: errors.New("no route")}
	}
	return f.Bucket.Head(ctx, key)
}

// awaitText waits until a text contains another one.
func awaitText(t *testing.T, text func() string, want string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !strings.Contains(text(), want) {
		if time.Now().After(deadline) {
			t.Fatalf("it says %q, want %q", text(), want)
		}
		<-time.After(10 * time.Millisecond)
	}
}

// TestMarkDirectory: a node that has used a directory does not take an empty one at the same place for it, also after a
// restart, and takes any other directory.
func TestMarkDirectory(t *testing.T) {
	note, root := filepath.Join(t.TempDir(), StorageFile), filepath.Join(t.TempDir(), "mount")
	mark := func(root string) error { return markDirectory(note, bucket.NewDir(root)) }
	if err := CheckDirectory(note, bucket.NewDir(root)); err == nil {
		t.Error("a directory that does not exist is right")
	}
	for _, dir := range []string{root, root + "2"} {
		if err := os.Mkdir(dir, 0o750); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := mark(root); err != nil {
			t.Fatal(err)
		}
	}
	marker := filepath.Join(root, bucket.MarkerName)
	if err := os.Rename(marker, marker+"-away"); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{mark(root), CheckDirectory(note, bucket.NewDir(root))} {
		if !errors.Is(err, bucket.ErrOtherDirectory) {
			t.Errorf("without the marker: %v", err)
		}
	}
	if err := mark(root); err == nil || !strings.Contains(err.Error(), "remove "+note) {
		t.Errorf("it does not say how to go on: %v", err)
	}
	if _, err := os.Stat(marker); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it was marked again: %v", err)
	}
	if err := os.Rename(marker+"-away", marker); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(mark(root), CheckDirectory(note, bucket.NewDir(root)), mark(root+"2")); err != nil {
		t.Error(err)
	}
}
