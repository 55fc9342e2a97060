package shard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/errs"
	"cordwood/proto/schemapb"
	"cordwood/shard/replica"
)

// TestGrow adds two replicas to a shard with one. They must fetch its segments, because its log was
// cut, and because some rows were never in the log.
func TestGrow(t *testing.T) {
	t.Parallel()
	g := newGroup(t, nil, "n1")
	one := g.leader()
	unlogged := def(3)
	unlogged.Options["skip_wal"] = "true"
	one.mustPut(batch(head(1, 9, 1), "a"), batch(head(2, 9, 2), "b"))
	if _, _, err := one.Write(wait(t), [][]byte{batch(head(3, 9, 3), "u")}, []*schemapb.Table{unlogged}); err != nil {
		t.Fatal(err)
	}
	one.flush()
	one.mustPut(batch(head(3, 9, 4), "v"))
	one.mustPut(batch(head(1, 9, 5), "c"))
	for _, id := range []string{"n2", "n3"} {
		g.addNode(id)
		g.open(id, nil)
		g.change(one, replica.AddLearner, id)
		g.change(one, replica.AddLearner, id)
		g.change(one, replica.Promote, id)
		g.change(one, replica.Promote, id)
	}
	one.mustPut(batch(head(3, 9, 6), "w"))
	for _, o := range g.followers(nil) {
		g.wantRows(o, 1, "a", "c")
		g.wantRows(o, 2, "b")
		g.wantRows(o, 3, "u", "v", "w")
		if names, err := o.Shard.cfg.FS.ReadDir(filepath.Join(o.Shard.cfg.Dir, "incoming")); err != nil &&
			!errors.Is(err, fs.ErrNotExist) || o.Shard != one.Shard && !slices.Equal(names, []string{"AHEAD"}) {
			t.Errorf("node %s: the folder incoming has %v (%v)", o.cfg.NodeID, names, err)
		}
	}
	if err := one.Change(wait(t), replica.Remove, "n1"); errs.CodeOf(err) != errs.IllegalState {
		t.Errorf("the leader removed itself: %v", err)
	}

	// The first replica stops. The others have everything, including the record of duplicates.
	g.stop("n1")
	next := g.leader()
	g.put(batch(head(1, 9, 5), "c"), batch(head(1, 9, 7), "d"))
	if err := next.Change(wait(t), replica.Remove, "n1"); err != nil {
		t.Fatal(err)
	}
	for _, o := range g.followers(nil) {
		g.wantRows(o, 1, "a", "c", "d")
		id := o.cfg.NodeID
		g.stop(id)
		o = g.open(id, nil)
		if err := o.WaitReady(wait(t)); err != nil {
			t.Fatal(err)
		}
		g.wantRows(o, 3, "u", "v", "w")
		if n := o.Shard.store.Files.Lost.Load(); n > 0 {
			t.Errorf("node %s: %d files were set aside", id, n)
		}
	}
}

// TestFarBehind stops a follower until the log no longer has the entries that it needs. Views of
// its old state must stay valid until they are closed.
func TestFarBehind(t *testing.T) {
	t.Parallel()
	g := newGroup(t, func(_ string, cfg *Config) { cfg.TrailingBytes, cfg.trailing = 1, 1 }, "n1", "n2", "n3")
	leader := g.leader()
	var want []string
	seq := uint64(0)
	put := func() {
		seq++
		text := fmt.Sprintf("row-%04d", seq)
		g.put(batch(head(1, 9, seq), text))
		want = append(want, text)
	}
	put()
	away := g.followers(leader)[0]
	g.barrier(leader, away)
	away.flush()
	view := away.ReadView(1)
	defer view.Close()
	for round := range 3 {
		seen := slices.Clone(want)
		g.node(away.cfg.NodeID).setCut(true)
		for range 20 {
			put()
		}
		leader.flush()
		put()
		tail, err := away.Tail(1)
		if err != nil {
			t.Fatal(err)
		}
		g.node(away.cfg.NodeID).setCut(false)
		g.wantRows(away, 1, want...)
		if _, err := tail.Next(wait(t), 1); errs.CodeOf(err) != errs.ShardNotReady {
			t.Errorf("round %d: a tail continues with %v although the replica got the rows in files", round, err)
		}
		tail.Close()
		if round == 0 {
			if diff := cmp.Diff(seen, viewRows(t, away.Shard.cfg.FS, view, 1)); diff != "" {
				t.Errorf("an old view changed: %s", diff)
			}
			view.Close()
		}
		put()
		away.flush()
		if round == 1 {
			id := away.cfg.NodeID
			g.stop(id)
			away = g.open(id, nil)
		}
	}
	g.wantRows(away, 1, want...)
}

// TestFarBehindAndAlone elects a new leader whose only other member needs entries that are no longer
// in the log. The leader cannot commit and is not ready before this member has its state. It must
// send the state nevertheless.
func TestFarBehindAndAlone(t *testing.T) {
	t.Parallel()
	g := newGroup(t, func(_ string, cfg *Config) { cfg.TrailingBytes, cfg.trailing = 1, 1 }, "n1", "n2", "n3")
	leader := g.leader()
	g.put(batch(head(1, 9, 1), "a"))
	away, lost := g.followers(leader)[0].cfg.NodeID, g.followers(leader)[1].cfg.NodeID
	g.stop(away)
	want := []string{"a"}
	for i := range 20 {
		text := fmt.Sprintf("row-%04d", i)
		g.put(batch(head(1, 9, uint64(2+i)), text))
		want = append(want, text)
	}
	leader.flush()
	g.put(batch(head(1, 9, 22), "row-b"))
	want = append(want, "row-b")
	id := leader.cfg.NodeID
	g.stop(lost)
	g.stop(id)
	g.open(id, nil)
	late := g.open(away, nil)
	g.put(batch(head(1, 9, 23), "row-c"))
	g.wantRows(late, 1, append(want, "row-c")...)
}

// TestChangesTakeTurns checks that a change of the members waits for another change only until its
// own deadline.
func TestChangesTakeTurns(t *testing.T) {
	t.Parallel()
	s := openShard(t, testConfig(t))
	s.changing <- struct{}{} // simulate a Change that waits for another node
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := s.Change(ctx, replica.AddLearner, "n2")
	if errs.CodeOf(err) != errs.ShardNotReady || errs.ReasonOf(err) != errs.Busy {
		t.Errorf("a change during another: %v", err)
	}
	<-s.changing
	if err := s.Change(wait(t), replica.Remove, "n2"); err != nil {
		t.Errorf("a change after it: %v", err)
	}
}
