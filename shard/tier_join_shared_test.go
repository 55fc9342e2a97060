package shard

import (
	"slices"
	"testing"

	"cordwood/proto/schema"
)

// TestJoinSharedSegments joins the objects of a table whose segments have rows of another one too, which stays local.
// The segments stay, and nobody reads the rows that were joined from them, also not a backup.
func TestJoinSharedSegments(t *testing.T) {
	t.Parallel()
	b := tierBucket(t)
	cfg := joining(testConfig(t), b)
	cfg.ShareBytes, cfg.SplitBytes = 3000, 1
	stays := uint64(2)
	cfg.Tier.Tables = func(t *schema.Table) bool { return t.ID != stays }
	w := &joinWorld{opened: openShard(t, cfg), bucket: b, want: map[uint64][]string{}}
	w.stopCompactor()
	for range 5 {
		w.put(1, 0, 2)
		w.put(2, 0, 2)
		w.move()
	}
	w.check("moved", 5, 0)
	w.move()
	check := func(what string) {
		t.Helper()
		w.check(what, 1, 5)
		if _, cold := w.allRows(b, 1); cold != 10 {
			t.Errorf("%s: %d rows of table 1 are from objects", what, cold)
		}
		p, err := w.store.Readers.Pin()
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if len(p.Segments) != 5 || len(p.Objects) != 1 {
			t.Errorf("%s: %d segments and %d objects are pinned", what, len(p.Segments), len(p.Objects))
		}
		for i := range p.Segments {
			if left := p.LeftOut[p.Segments[i].ID]; !slices.Equal(left, []uint64{1}) {
				t.Errorf("%s: the tables %d are left out of a segment", what, left)
			}
		}
	}
	check("joined")
	w.flush()
	w.again()
	check("restarted")
	stays = 0
	w.put(1, 0, 1)
	w.move() // the rows of table 2 go to an object
	w.flush()
	w.move()
	if n := len(w.files("segments")); n > 0 {
		t.Errorf("%d segments were left", n)
	}
	w.check("all rows moved", 2, 5)
}

// TestJoinSharedFormat joins objects of one table that have the form of shared segments, because the table shares
// segments with one that stays local. Objects with rows of two tables stay.
func TestJoinSharedFormat(t *testing.T) {
	t.Parallel()
	b := tierBucket(t)
	cfg := joining(testConfig(t), b)
	cfg.ShareBytes, cfg.SplitBytes = 1<<20, 1<<20
	cfg.Tier.Tables = func(t *schema.Table) bool { return t.ID != 2 }
	w := &joinWorld{opened: openShard(t, cfg), bucket: b, want: map[uint64][]string{}}
	w.stopCompactor()
	for i := range 6 {
		w.put(2, 0, 1)
		if i == 1 {
			w.put(3, 0, 1)
		}
		w.moveEach(0, 1)
	}
	_, sets := w.coldState()
	for i := range sets {
		if m := &sets[i].Objects[0].Meta; !m.Shared() {
			t.Errorf("object %d is not shared", i)
		}
	}
	w.check("moved", 6, 0)
	w.move()
	w.check("joined", 3, 4)
	w.again()
	w.check("restarted", 3, 4)
}
