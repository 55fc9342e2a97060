package simulation

import (
	"io/fs"
	"sync/atomic"
	"syscall"
	"time"

	"cordwood/shard/store"
	"cordwood/shard/vfs"
)

// trouble contains the faults of a node's disk, or of the part of it with the log of the metadata.
type trouble struct {
	full atomic.Bool
	slow atomic.Int64 // the additional time of an append, in nanoseconds
}

// write applies the faults to an append, and returns its error.
func (t *trouble) write() error {
	if t == nil {
		return nil
	}
	time.Sleep(time.Duration(t.slow.Load()))
	return t.room("write", "log")
}

// room returns the error of an operation that needs disk space.
func (t *trouble) room(op, path string) error {
	if t.full.Load() {
		return &fs.PathError{Op: op, Path: path, Err: syscall.ENOSPC}
	}
	return nil
}

func (t *trouble) mend() {
	t.full.Store(false)
	t.slow.Store(0)
}

// hook returns the hook of the files of shards.
func (t *trouble) hook(op vfs.Op) error {
	if op.Kind == vfs.OpCreate || op.Kind == vfs.OpWrite {
		return t.room(op.Kind, op.Path)
	}
	return nil
}

// space returns the disk space that a node reports.
func (t *trouble) space() store.Space {
	if t.full.Load() {
		return store.SpaceFull
	}
	return store.SpaceOK
}

// fullDisk fills the disk of a node for a while.
func (w breaker) fullDisk() {
	n := w.anyNode()
	d := 2*time.Second + time.Duration(w.rng.Int64N(int64(40*time.Second)))
	w.event("the disk of %s is full for %s", n.ID, d)
	w.troubled(&n.shards, d, func(t *trouble) { t.full.Store(true) })
	w.troubled(&n.metas, d, func(t *trouble) { t.full.Store(true) })
	time.Sleep(time.Duration(w.rng.Int64N(int64(d))))
}

// slowDisk makes appends to the logs of a node slow for a while.
func (w breaker) slowDisk() {
	n := w.anyNode()
	d := 2*time.Second + time.Duration(w.rng.Int64N(int64(40*time.Second)))
	slow := time.Duration(20+w.rng.IntN(1200)) * time.Millisecond
	w.event("appends on %s are delayed by %s for %s", n.ID, slow, d)
	w.troubled(&n.shards, d, func(t *trouble) { t.slow.Store(int64(slow)) })
	if w.rng.IntN(2) == 0 {
		w.troubled(&n.metas, d, func(t *trouble) { t.slow.Store(int64(slow)) })
	}
	time.Sleep(time.Duration(w.rng.Int64N(int64(d))))
}

// troubledMeta makes the disks of some or all members of the metadata full or slow, but not those
// of shards.
func (w breaker) troubledMeta() {
	all := w.allNodes()
	if w.rng.IntN(2) == 0 {
		all = all[:1+w.rng.IntN(len(all))]
	}
	d := 2*time.Second + time.Duration(w.rng.Int64N(int64(30*time.Second)))
	slow, what := time.Duration(0), "full"
	if w.rng.IntN(2) == 0 {
		slow, what = time.Duration(100+w.rng.IntN(3000))*time.Millisecond, "slow"
	}
	for _, n := range all {
		w.event("the metadata's disk of %s is %s for %s: %s", n.ID, what, d, slow)
		w.troubled(&n.metas, d, func(t *trouble) { t.slow.Store(int64(slow)); t.full.Store(slow == 0) })
	}
	time.Sleep(d / 2)
}

func (w breaker) troubled(t *trouble, d time.Duration, begin func(*trouble)) {
	begin(t)
	go func() {
		time.Sleep(d)
		t.mend()
	}()
}
