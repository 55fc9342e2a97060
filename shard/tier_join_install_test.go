package shard

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/shard/cold/bucket"
	"cordwood/shard/replica"
)

// TestJoinInstall gives new replicas the state of a shard: before a join, while one is open, and after it. Each has all
// rows, and the same sets.
func TestJoinInstall(t *testing.T) {
	t.Parallel()
	dir := bucket.NewDir(t.TempDir())
	var at func(step string)
	g := newGroup(t, func(_ string, cfg *Config) {
		*cfg = joining(*cfg, dir)
		cfg.TrailingBytes, cfg.trailing = 1, 1
		cfg.atStep = func(step string) {
			if at != nil {
				at(step)
			}
		}
	}, "n1")
	one := g.leader()
	one.stopCompactor()
	var want []string
	put := func() {
		text := fmt.Sprintf("row%04d", len(want))
		g.put(batch(head(1, 9, uint64(len(want)+1)), text))
		want = append(want, text)
	}
	list := []*opened{one}
	add := func(id string) {
		one.flush() // the log is cut off
		g.addNode(id)
		o := g.open(id, nil)
		o.stopCompactor()
		g.change(one, replica.AddLearner, id)
		list = append(list, o)
	}
	check := func(what string) {
		t.Helper()
		wantCold, wantSets := one.coldState()
		for _, o := range list {
			g.caughtUp(o)
			rows, _ := o.allRows(dir, 1)
			if d := cmp.Diff(want, rows); d != "" {
				t.Errorf("%s: %s: %s", what, o.cfg.NodeID, d)
			}
			gotCold, gotSets := o.coldState()
			if d := cmp.Diff(wantCold, gotCold); d != "" {
				t.Errorf("%s: %s: %s", what, o.cfg.NodeID, d)
			}
			if d := cmp.Diff(wantSets, gotSets); d != "" {
				t.Errorf("%s: %s: %s", what, o.cfg.NodeID, d)
			}
		}
	}
	for range 5 {
		put()
		one.move()
	}
	add("n2")
	check("before")
	at = func(step string) {
		if step == "fetch" && len(list) == 2 {
			put()
			add("n3")
		}
	}
	if err := one.mover.Step(wait(t)); err != nil {
		t.Fatal(err)
	}
	at = nil
	if len(list) != 3 {
		t.Fatal("no join was open")
	}
	if _, sets := one.coldState(); len(sets) != 1 || len(sets[0].Joined) != 1 {
		t.Fatalf("not joined: %+v", sets)
	}
	check("during the join")
	put()
	add("n4")
	check("after")
	for _, o := range list {
		o.flush()
		if err := o.mover.Step(wait(t)); err != nil {
			t.Error(err)
		}
	}
	put()
	check("all stepped")
}
