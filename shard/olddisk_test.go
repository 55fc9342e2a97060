package shard

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cordwood/shard/replica"
	"cordwood/shard/replica/raftlog"
	"cordwood/shard/store"
)

// snapshotDisk copies the folder of a closed replica.
func (g *group) snapshotDisk(id string) (copied string) {
	g.t.Helper()
	copied = filepath.Join(g.t.TempDir(), "old")
	if err := os.CopyFS(copied, os.DirFS(g.node(id).cfg.Dir)); err != nil {
		g.t.Fatal(err)
	}
	return copied
}

// setBack replaces a replica's folder by a copy.
func (g *group) setBack(id, copied string) {
	g.t.Helper()
	dir := g.node(id).cfg.Dir
	if err := os.RemoveAll(dir); err != nil {
		g.t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS(copied)); err != nil {
		g.t.Fatal(err)
	}
}

// TestOldDisk restores an old copy of one replica's disk. This replica then elects a leader that
// lacks entries which another replica acknowledged. The other replica must not discard them
// silently: it stops, and does not open again until it is created again.
func TestOldDisk(t *testing.T) {
	t.Parallel()
	for _, flushed := range []bool{false, true} {
		t.Run(fmt.Sprint("flushed ", flushed), func(t *testing.T) {
			failed := make(chan error, 10)
			g := newGroup(t, func(_ string, cfg *Config) { cfg.FailStop = func(err error) { failed <- err } }, "a", "b", "c")
			g.leader()
			g.put(batch(head(1, 9, 1), "one"))
			g.wantRows(g.node("c").open, 1, "one")
			g.stop("c")
			old := g.snapshotDisk("c")
			g.open("c", nil)
			g.stop("b")
			g.put(batch(head(1, 9, 2), "two")) // acknowledged by a and c
			g.wantRows(g.node("a").open, 1, "one", "two")
			g.wantRows(g.node("c").open, 1, "one", "two")
			a := g.node("a").open
			if flushed {
				a.flush()
				g.stop("a")
			} else {
				g.part(1, "a") // only a running process knows that entries which are only in its log are committed
			}
			g.stop("c")
			g.setBack("c", old)
			g.open("c", nil)
			g.open("b", nil)
			for i := uint64(3); i < 8; i++ {
				g.put(batch(head(1, 9, i), fmt.Sprint("new", i)))
			}
			if flushed {
				a = g.open("a", nil)
			} else {
				g.part(0, "a")
			}
			var err error
			select {
			case err = <-failed:
			case <-wait(t).Done():
				t.Fatal("the replica did not stop")
			}
			if !strings.Contains(err.Error(), "went back in time") {
				t.Errorf("the replica stopped because of %v", err)
			}
			if rows := a.rows(1); len(rows) != 2 || rows[1] != "two" {
				t.Errorf("a shows %v", rows)
			}
			g.stop("a")
			if _, err := Open(g.joined(g.node("a"))); !IsDamaged(err) {
				t.Errorf("the replica opens again: %v", err)
			}
			if why, err := raftlog.Diverged(filepath.Join(a.cfg.Dir, store.RaftDirName)); err != nil || why == "" {
				t.Errorf("the folder has the reason %q, %v", why, err)
			}
			if diff := g.leader().rows(1); len(diff) != 6 {
				t.Errorf("the other replicas differ: %v", diff)
			}
			// A new replica in its place becomes a member again.
			if err := os.RemoveAll(a.cfg.Dir); err != nil {
				t.Fatal(err)
			}
			l := g.leader()
			g.change(l, replica.Remove, "a")
			g.node("a").cfg.Bootstrap = false
			again := g.open("a", nil)
			g.change(l, replica.AddLearner, "a")
			g.wantRows(again, 1, l.rows(1)...)
		})
	}
}

// TestRecoverCutShort interrupts 'recover' after each of its steps. The folder must not open until
// 'recover' has been run again, so that there is never a second leader. Then it is the only replica
// of the next incarnation.
func TestRecoverCutShort(t *testing.T) {
	t.Parallel()
	g := newGroup(t, nil, "a", "b", "c")
	g.put(batch(head(1, 9, 1), "one"))
	g.wantRows(g.node("a").open, 1, "one")
	for _, id := range []string{"a", "b", "c"} {
		g.stop(id)
	}
	a := g.node("a")
	before := g.snapshotDisk("a")
	for steps := range recoverSteps {
		g.setBack("a", before)
		r, err := PeekCopy(a.cfg.Dir, testShard)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.run(a.cfg.Dir, testShard, "a", steps); err != nil {
			t.Fatal(err)
		}
		for _, incarnation := range []uint32{1, 2} {
			g.incarnation = incarnation
			s, err := Open(g.joined(a))
			switch {
			case steps == 0 && incarnation == 1: // nothing was done yet
				if err != nil {
					t.Fatal(err)
				}
				(&opened{s, t, a.cfg}).crash()
			case steps > 0 && err == nil:
				t.Fatalf("after %d steps it opens as incarnation %d", steps, incarnation)
			case steps > 0 && !strings.Contains(err.Error(), "interrupted"):
				t.Errorf("after %d steps: %v", steps, err)
			}
			if steps == 0 {
				break
			}
		}
		got, err := Recover(a.cfg.Dir, testShard, "a")
		if err != nil || got.Before != 1 || got.Incarnation != 2 {
			t.Fatalf("after %d steps, run again: %+v, %v", steps, got, err)
		}
		if have, recovered, err := FolderIncarnation(a.cfg.Dir); have != 2 || !recovered || err != nil {
			t.Errorf("after %d steps, run again: incarnation %d, recovered %v, %v", steps, have, recovered, err)
		}
		g.incarnation = 2
		o := g.open("a", nil)
		g.put(batch(head(1, 9, uint64(2+steps)), "more")) //nolint:gosec // a small number
		if rows := o.rows(1); len(rows) != 2 {
			t.Errorf("after %d steps, run again: rows %v", steps, rows)
		}
		g.stop("a")
	}
	// The same with an older version, which wrote the log first and was interrupted after that.
	g.setBack("a", before)
	if _, err := replica.Recover(replica.RecoverConfig{
		Dir:    filepath.Join(a.cfg.Dir, store.RaftDirName),
		NodeID: "a",
	}); err != nil {
		t.Fatal(err)
	}
	g.incarnation = 1
	if _, err := Open(g.joined(a)); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("a folder whose recovery was interrupted opens: %v", err)
	}
}
