package backup

import (
	"errors"
	"strings"
	"testing"
)

// TestTableMoves moves a table while the shards are pinned, and checks that the backup has each table
// on the shards that have its rows.
func TestTableMoves(t *testing.T) {
	for _, c := range []struct {
		name string
		// times is the number of moves while shards are pinned. If lost is set, the first move happens after a pin
		// was lost.
		times int
		lost  bool
		want  string
	}{
		{name: "once", times: 1},
		{name: "some times", times: 5},
		{name: "when a pin was lost", times: 1, lost: true},
		{name: "always", times: 1 << 30, want: "in each of 10 tries"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, _ := dirRepository(t)
			f := newFakeCluster(3)
			// pinned is the number of moves before the last pin of each shard.
			pinned := map[uint32]uint64{}
			armed := !c.lost
			f.move = func(shard uint32) {
				if armed && shard == 2 && f.moved < uint64(c.times) {
					f.moved++
				}
				pinned[shard] = f.moved
			}
			if c.lost {
				f.cut = func(read int) error {
					if read == 3 {
						f.mu.Lock()
						armed = true
						f.mu.Unlock()
						f.lose()
						return errors.New("the connection was lost")
					}
					return nil
				}
			}
			_, err := r.Create(wait(t), CreateConfig{Source: f, Version: "test"})
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("got %v, want %q", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.moved != uint64(c.times) {
				t.Errorf("the table moved %d times, want %d: the test has no effect", f.moved, c.times)
			}
			for shard, n := range pinned {
				if n != f.moved {
					t.Errorf("shard %d was pinned after %d of %d moves of the table", shard, n, f.moved)
				}
			}
		})
	}
}
