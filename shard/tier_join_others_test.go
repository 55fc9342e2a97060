package shard

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"cordwood/shard/cold/bucket"
)

// objectsOf returns the keys of the objects of a table, in the order of their sets.
func (w *joinWorld) objectsOf(table uint64) (keys []string) {
	_, sets := w.coldState()
	for i := range sets {
		for k := range sets[i].Objects {
			if o := &sets[i].Objects[k]; o.Has(table) {
				keys = append(keys, o.Key)
			}
		}
	}
	return keys
}

// moveDays moves rows of two tables, in several cuts for each day.
func (w *joinWorld) moveDays(cuts int, days ...uint64) {
	w.t.Helper()
	for _, day := range days {
		for range cuts {
			w.put(1, day, 3)
			w.put(2, day, 3)
			w.move()
		}
	}
}

// waiting opens a shard whose objects are not joined before join is called.
func waiting(t *testing.T, b bucket.Bucket) (w *joinWorld, join func()) {
	var now hand
	cfg := joining(testConfig(t), b)
	cfg.SplitBytes = 1
	cfg.Tier.JoinAfter = 500 * time.Hour
	now.add(200 * time.Hour) // nothing stays on the local disk
	cfg.Now = func() time.Time { return time.Unix(0, 0).Add(now.get()) }
	w = &joinWorld{bucket: b, want: map[uint64][]string{}}
	cfg.Monotonic = w.mono.get
	w.opened = openShard(t, cfg)
	w.stopCompactor()
	return w, func() { now.add(1000 * time.Hour) }
}

// TestJoinOthers joins the objects of a table although the objects of another one, which are older, must not be joined.
func TestJoinOthers(t *testing.T) {
	t.Parallel()
	w, join := waiting(t, tierBucket(t))
	w.moveDays(5, 0, 1)
	copied := w.store.Readers.CopySource(1)
	join()
	w.move()
	if one, two := len(w.objectsOf(1)), len(w.objectsOf(2)); one != 10 || two != 2 {
		t.Errorf("tables 1 and 2 have %d and %d objects, want 10 and 2", one, two)
	}
	copied.Close()
	w.move()
	w.check("all joined", 2, 20)
}

// TestJoinLost joins objects although one of the same table is missing, and moves rows meanwhile. When the object is
// back, it is joined too.
func TestJoinLost(t *testing.T) {
	t.Parallel()
	at := t.TempDir()
	w, join := waiting(t, bucket.NewDir(at))
	w.moveDays(5, 0, 1)
	keys := w.objectsOf(1)
	w.move() // the local segments go
	path := filepath.Join(at, filepath.FromSlash(keys[1]))
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	join()
	for range 3 {
		w.put(1, 2, 1)
		w.move()
		w.move()
		w.mono.add(time.Minute)
	}
	if one, two := len(w.objectsOf(1)), len(w.objectsOf(2)); one != 5+1+3 || two != 2 {
		t.Errorf("tables 1 and 2 have %d and %d objects, want 9 and 2", one, two)
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	w.mono.add(2 * time.Hour)
	w.move()
	w.check("all joined", 2+3, 20)
}

// TestJoinBusy joins objects although each step has rows to move.
func TestJoinBusy(t *testing.T) {
	t.Parallel()
	w, join := waiting(t, tierBucket(t))
	w.moveDays(5, 0)
	join()
	w.put(1, 2, 1)
	w.move()
	if one := len(w.objectsOf(1)); one != 6 {
		t.Errorf("table 1 has %d objects, although rows come first", one)
	}
	w.mono.add(2 * time.Hour)
	w.put(1, 2, 1)
	w.move()
	w.check("joined", 1+2, 10)
}

// TestJoinedObjectsGone asks whether objects still have rows, before and after they were joined: the scrub may read
// them for longer than they are kept, and must not say that they are lost.
func TestJoinedObjectsGone(t *testing.T) {
	t.Parallel()
	w, join := waiting(t, tierBucket(t))
	w.moveDays(5, 0)
	status := w.store.Status
	former := status.Objects()
	check := func(what string, has bool) {
		t.Helper()
		for _, o := range former {
			if status.HasObject(o) != has {
				t.Errorf("%s: object %s has rows: %t", what, o.Key, !has)
			}
		}
	}
	check("moved", true)
	join()
	w.move()
	check("joined", false)
	former = status.Objects()
	if len(former) != 2 {
		t.Errorf("%d objects, want 2", len(former))
	}
	check("joined, the new ones", true)
}
