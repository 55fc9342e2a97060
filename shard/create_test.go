package shard

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/states"
	"cordwood/shard/manifest"
)

// newestState returns the newest state of the shard of the tests in a bucket, and how many there are.
func newestState(t *testing.T, b bucket.Bucket) (st *manifest.State, h states.Header, stored int) {
	t.Helper()
	place := states.Place{Bucket: b, Cluster: "cluster"}
	groups, err := place.List(wait(t))
	if err != nil {
		t.Fatal(err)
	}
	list := groups[testShard]
	if len(list) == 0 {
		return nil, h, 0
	}
	h, body, err := place.Read(wait(t), &list[0])
	if err != nil {
		t.Fatal(err)
	}
	if st, err = manifest.DecodeState("the state", body); err != nil {
		t.Fatal(err)
	}
	return st, h, len(list)
}

// step does a step of the mover.
func (o *opened) step() {
	o.t.Helper()
	if err := o.mover.Step(wait(o.t)); err != nil {
		o.t.Fatal(err)
	}
}

// TestCreateFromState makes a shard anew from its state in the bucket. It has the rows in objects, takes new rows, also
// those of batches that it forgot, and moves them.
func TestCreateFromState(t *testing.T) {
	t.Parallel()
	b := tierBucket(t)
	cfg := tiered(testConfig(t), b)
	s := openShard(t, cfg)
	s.stopCompactor()
	s.mustPut(batch(head(1, 9, 1), "one"))
	s.step()
	if _, _, n := newestState(t, b); n != 0 {
		t.Fatalf("a shard without objects has %d states", n)
	}
	s.move()
	s.mustPut(batch(head(2, 9, 2), "two"))
	s.move() // also stores the state with the first object
	s.step()
	hot := batch(head(1, 9, 3), "hot")
	s.mustPut(hot)
	st, h, n := newestState(t, b)
	if n != 2 || h.Incarnation != 1 || len(st.Segments) != 0 || len(st.Sets) != 2 || len(st.Keys)+len(st.Sessions) != 0 {
		t.Fatalf("%d states, the newest is %+v: %+v", n, h, st)
	}
	s.step()
	if _, _, again := newestState(t, b); again != n {
		t.Errorf("nothing has changed, and there are %d states instead of %d", again, n)
	}
	s.crash()

	cfg.Dir, cfg.Incarnation, cfg.Bootstrap = filepath.Join(t.TempDir(), "7"), 2, false
	creation := Creation{Dir: cfg.Dir, ID: testShard, Incarnation: 2, NodeID: cfg.NodeID, State: st}
	if err := Create(creation); err != nil {
		t.Fatal(err)
	}
	if err := Create(creation); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("a folder that exists: %v", err)
	}
	s = openShard(t, cfg)
	s.stopCompactor()
	want := map[uint64][]string{1: {"one"}, 2: {"two"}}
	check := func(what string) {
		t.Helper()
		for id, texts := range want {
			if got, _ := s.allRows(b, id); !slices.Equal(got, texts) {
				t.Errorf("%s: table %d has %q, want %q", what, id, got, texts)
			}
		}
	}
	check("created")
	s.mustPut(hot) // its rows were lost, so it is no repetition
	want[1] = []string{"hot", "one"}
	check("with a batch that was lost")
	s.move()
	check("moved again")
	if c, sets := s.coldState(); c.LastCut != 3 || c.Open != nil || len(sets) != 3 {
		t.Errorf("the state is %+v with %d sets", c, len(sets))
	}
	s = s.reopen()
	s.stopCompactor()
	check("opened again")
	s.step()
	if st, h, _ := newestState(t, b); h.Incarnation != 2 || len(st.Sets) != 3 {
		t.Errorf("the newest state is %+v with %d sets", h, len(st.Sets))
	}
}

// TestOwnerOfObjects has another cluster become the owner of the objects: this one stores no states, and deletes
// nothing.
func TestOwnerOfObjects(t *testing.T) {
	t.Parallel()
	b := tierBucket(t)
	cfg := tiered(testConfig(t), b)
	var now hand
	cfg.Monotonic = now.get
	cfg.Tier.Grace, cfg.Tier.OrphanAge = time.Nanosecond, time.Nanosecond
	s := openShard(t, cfg)
	s.stopCompactor()
	s.mustPut(batch(head(1, 9, 1), "one"))
	s.move()
	s.step() // stores the state
	before := allKeysIn(t, b)
	place := states.Place{Bucket: b, Cluster: "cluster"}
	if err := place.TakeOver(wait(t), "other", nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := s.DropTable(wait(t), 1); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		now.add(25 * time.Hour)
		s.flush()
		s.step()
	}
	after := slices.DeleteFunc(allKeysIn(t, b), func(key string) bool { return strings.HasPrefix(key, "cluster/owner/") })
	if !slices.Equal(before, after) {
		t.Errorf("the bucket has %q, want %q", after, before)
	}
}

// unwritable is a bucket that takes no objects while puts is set.
type unwritable struct {
	bucket.Bucket
	puts bool
}

func (u *unwritable) Put(ctx context.Context, key string, c bucket.Content) error {
	if u.puts {
		return errors.New("the bucket is full")
	}
	return u.Bucket.Put(ctx, key, c)
}

// TestObjectsOfStates keeps dead objects as long as the newest state in the bucket names them.
func TestObjectsOfStates(t *testing.T) {
	t.Parallel()
	dir := bucket.NewDir(t.TempDir())
	full := &unwritable{Bucket: dir}
	cfg := tiered(testConfig(t), full)
	var now hand
	cfg.Monotonic = now.get
	cfg.Tier.Grace = time.Nanosecond
	s := openShard(t, cfg)
	s.stopCompactor()
	s.mustPut(batch(head(1, 9, 1), "one"))
	s.mustPut(batch(head(2, 9, 2), "two"))
	s.move()
	s.step()
	objects := func() (keys []string) {
		for _, key := range keysIn(t, dir) {
			if strings.Contains(key, "/data/") {
				keys = append(keys, key)
			}
		}
		return keys
	}
	all := len(objects())
	for _, id := range []uint64{1, 2} {
		if err := s.DropTable(wait(t), id); err != nil {
			t.Fatal(err)
		}
	}
	full.puts = true
	now.add(2 * time.Hour)
	s.flush()
	s.step()
	if got := len(objects()); got != all {
		t.Fatalf("%d of %d objects were deleted, although the newest state names them", all-got, all)
	}
	full.puts = false
	now.add(2 * time.Hour)
	s.step()
	if got := objects(); len(got) != 0 {
		t.Errorf("the objects are %q", got)
	}
}
