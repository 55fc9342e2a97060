package shard

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schemapb"
	"cordwood/shard/memtable"
	"cordwood/shard/replica"
	"cordwood/shard/vfs"
)

// noise returns n bytes of text that does not compress.
func noise(n int) string {
	text := make([]byte, n)
	for i := range text {
		text[i] = byte('a' + rand.IntN(26))
	}
	return string(text)
}

// noSegments returns a file system on which creating segments fails while broken is set.
func noSegments(broken *atomic.Bool) vfs.FS {
	return vfs.Hook(vfs.OS, func(op vfs.Op) error {
		if broken.Load() && op.Kind == vfs.OpCreate && strings.Contains(op.Path, "segments") {
			return errors.New("no segment for you")
		}
		return nil
	})
}

func (o *opened) memory() int64 {
	return o.store.Memory.Size()
}

// TestFollowerThatCannotFlush makes the flushes of a follower fail while its log can be written.
// The follower takes no more rows, so that its memory stays bounded, even after a restart. It gets
// the rows once the disk works.
func TestFollowerThatCannotFlush(t *testing.T) {
	t.Parallel()
	const limit = 4 << 20
	var broken atomic.Bool
	broken.Store(true)
	g := newGroup(t, func(node string, cfg *Config) {
		cfg.FlushBytes, cfg.MemoryLimit, cfg.roomWait = 1<<20, limit, 30*time.Second
		if node == "c" {
			cfg.FS = noSegments(&broken)
		}
	}, "a", "b", "c")
	if l := g.leader(); l.cfg.NodeID == "c" {
		g.change(l, replica.Lead, "a")
	}
	text := noise(400 << 10)
	seq := uint64(0)
	put := func(n int) {
		t.Helper()
		for range n {
			seq++
			g.put(batch(head(1, 9, seq), text))
			if m := g.node("c").open.memory(); m >= 2*limit {
				t.Fatalf("%d bytes are in the memory of a follower, the limit is %d", m, limit)
			}
		}
	}
	put(40)
	until(t, "a report that says that flushes fail", func() bool {
		r := g.node("c").open.Report()
		return strings.Contains(r.FlushError, "no segment for you") && r.FlushFailingNanos > 0 && r.MemtableBytes >= limit
	})
	if r := g.node("a").open.Report(); r.FlushError != "" || r.FlushFailingNanos != 0 {
		t.Errorf("a: %v", r)
	}
	g.stop("c")
	g.open("c", nil)
	put(20)
	broken.Store(false)
	l, c := g.leader(), g.node("c").open
	g.barrier(l, c)
	if got := len(c.rows(1)); got != int(seq) {
		t.Errorf("%d rows after the disk works, want %d", got, seq)
	}
	c.flush()
	if r := c.Report(); r.FlushError != "" {
		t.Errorf("c: %v", r)
	}
}

// TestMajorityThatCannotFlush makes the flushes of two replicas of three fail. Writes are refused
// or wait, no row is lost, and writes continue once one of the disks works.
func TestMajorityThatCannotFlush(t *testing.T) {
	t.Parallel()
	const limit = 4 << 20
	var broken atomic.Bool
	broken.Store(true)
	g := newGroup(t, func(node string, cfg *Config) {
		cfg.FlushBytes, cfg.MemoryLimit, cfg.roomWait = 1<<20, limit, time.Millisecond
		if node != "a" {
			cfg.FS = noSegments(&broken)
		}
	}, "a", "b", "c")
	text := noise(400 << 10)
	acked := 0
	for seq := uint64(1); seq <= 40; seq++ {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		_, need, err := g.leader().Write(ctx, [][]byte{batch(head(1, 9, seq), text)}, []*schemapb.Table{def(1)})
		cancel()
		if err == nil && len(need) == 0 {
			acked++
		}
		for _, id := range []string{"a", "b", "c"} {
			if m := g.node(id).open.memory(); m >= 2*limit {
				t.Fatalf("%d bytes are in the memory of %s, the limit is %d", m, id, limit)
			}
		}
	}
	if acked == 40 {
		t.Error("all writes were acknowledged")
	}
	broken.Store(false)
	g.put(batch(head(1, 9, 100), "after"))
	for _, o := range g.followers(nil) {
		g.caughtUp(o)
		if got := len(o.rows(1)); got <= acked {
			t.Errorf("%d rows on %s, %d were acknowledged", got, o.cfg.NodeID, acked+1)
		}
	}
}

// longLog creates a shard that was killed with n rows of 400 KiB in its log, and returns its
// configuration.
func longLog(t *testing.T, n uint64) Config {
	cfg := testConfig(t)
	cfg.FlushBytes, cfg.FlushLogBytes = 256<<20, 256<<20
	s := openShard(t, cfg)
	for seq := uint64(1); seq <= n; seq++ {
		s.mustPut(batch(head(1, 9, seq), noise(400<<10)))
	}
	s.crash()
	return cfg
}

// TestReplayWithoutFlush opens a shard with a log that is larger than its memory, on a disk where
// every flush fails. The shard waits, and continues once flushes work.
func TestReplayWithoutFlush(t *testing.T) {
	t.Parallel()
	const limit = 4 << 20
	cfg := longLog(t, 60)
	var broken atomic.Bool
	broken.Store(true)
	cfg.FS = noSegments(&broken)
	cfg.FlushBytes, cfg.MemoryLimit = 1<<20, limit
	cfg.FailStop = func(err error) { t.Errorf("replica failed: %v", err) }
	open := func() *opened {
		t.Helper()
		s, err := Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		o := &opened{s, t, cfg}
		t.Cleanup(o.crash)
		until(t, "Apply to wait", s.applier.waits.Load)
		if m := o.memory(); m >= 2*limit || m < limit {
			t.Fatalf("%d bytes are in memory, the limit is %d", m, limit)
		}
		if s.Ready() {
			t.Error("the shard is ready without its rows")
		}
		return o
	}
	s := open()
	if err := s.Close(wait(t)); err == nil || !strings.Contains(err.Error(), "in the log, not in segments") {
		t.Errorf("Close = %v", err)
	}
	open().crash()
	s = open()
	broken.Store(false)
	if err := s.WaitReady(wait(t)); err != nil {
		t.Fatal(err)
	}
	if got := len(s.rows(1)); got != 60 {
		t.Errorf("%d rows, want 60", got)
	}
	if s.applier.waits.Load() {
		t.Error("Apply still waits")
	}
	s.close()
	if got := len(openShard(t, cfg).rows(1)); got != 60 {
		t.Errorf("%d rows after a restart, want 60", got)
	}
}

// TestReplayFlushes replays a log that is larger than the memory, and checks that it is flushed
// during the replay.
func TestReplayFlushes(t *testing.T) {
	t.Parallel()
	cfg := longLog(t, 60)
	cfg.FlushBytes, cfg.MemoryLimit = 1<<20, 2<<20
	cfg.FS = vfs.Hook(vfs.OS, func(op vfs.Op) error {
		if op.Kind == vfs.OpCreate && strings.Contains(op.Path, "segments") {
			<-time.After(10 * time.Millisecond) // flush more slowly than the log is read
		}
		return nil
	})
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	o := &opened{s, t, cfg}
	t.Cleanup(o.crash)
	most := int64(0)
	until(t, "the shard to be ready", func() bool { most = max(most, o.memory()); return s.Ready() })
	if most >= 4<<20 {
		t.Errorf("%d bytes were in memory, the limit is %d", most, 2<<20)
	}
	if got := len(o.rows(1)); got != 60 {
		t.Errorf("%d rows, want 60", got)
	}
}

// TestNoMemoryForRows simulates a system without free memory. Writes are refused as Busy; a replay
// flushes and continues. The replica does not fail.
func TestNoMemoryForRows(t *testing.T) {
	t.Parallel()
	cfg := longLog(t, 30)
	cfg.Pool = &memtable.Pool{Retain: -1, Limit: 6 << 20}
	s := openShard(t, cfg)
	if got := len(s.rows(1)); got != 30 {
		t.Errorf("%d rows, want 30", got)
	}
	large := noise(7 << 20)
	_, _, err := s.Write(wait(t), [][]byte{batch(head(1, 9, 1000), large)}, nil)
	if errs.ReasonOf(err) != errs.Busy {
		t.Errorf("a write without memory = %v, want Busy", err)
	}
	s.mustPut(batch(head(1, 9, 1001), "small"))
}

// TestNoMemoryAtAll closes a shard that waits for memory which never becomes free.
func TestNoMemoryAtAll(t *testing.T) {
	t.Parallel()
	cfg := longLog(t, 3)
	cfg.Pool = &memtable.Pool{Limit: 1}
	cfg.FailStop = func(err error) { t.Errorf("replica failed: %v", err) }
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "Apply to wait", s.applier.waits.Load)
	_ = s.Close(wait(t))
	cfg.Pool = nil
	if got := fmt.Sprint(len(openShard(t, cfg).rows(1))); got != "3" {
		t.Errorf("%s rows, want 3", got)
	}
}
