package host

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"testing"
	"time"
)

// TestRetiredShard checks that the replica of a retired shard is deleted, but not the replica of a
// shard that the metadata merely do not list.
func TestRetiredShard(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cat, made := &catalog{changed: make(chan struct{})}, &created{}
	cat.set(1, 2, 3)
	h := newHost(t, t.TempDir(), cat, made)
	if err := start(ctx, h); err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- h.Run(running) }()
	cat.set(1, 2) // shard 3 is neither listed nor retired
	cat.retire(2)
	for len(cat.RetiredShards()) > 0 {
		select {
		case <-ctx.Done():
			t.Fatal("the replica of a retired shard is not deleted")
		case <-time.After(5 * time.Millisecond):
		}
	}
	if _, err := os.Stat(h.dir(2)); !errors.Is(err, fs.ErrNotExist) || made.has(2) {
		t.Errorf("its folder: %v; it is recorded as created: %t", err, made.has(2))
	}
	if _, err := os.Stat(h.dir(3)); err != nil || !made.has(3) {
		t.Errorf("the folder of an unlisted shard: %v; it is recorded as created: %t", err, made.has(3))
	}
	if got := ids(h); !slices.Contains(got, 1) || slices.Contains(got, 2) {
		t.Errorf("open: %v", got)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := h.Close(ctx); err != nil {
		t.Error(err)
	}
}
