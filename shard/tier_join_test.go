package shard

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/bucket/buckettest"
	"cordwood/shard/cold/tier"
	"cordwood/shard/rules"
	"cordwood/shard/vfs"
)

// joinWorld is a shard whose table 1 has an object in each of several sets.
type joinWorld struct {
	*opened
	bucket bucket.Bucket
	want   map[uint64][]string
	seq    uint64
	mono   hand
}

// joining adds what joins objects to a configuration: rows need not stay on local disks.
func joining(cfg Config, b bucket.Bucket) Config {
	cfg = tiered(cfg, b)
	cfg.Tier.LocalFor, cfg.Tier.CutBytes = time.Hour, 1
	return cfg
}

// put appends rows of a table, on a day.
func (w *joinWorld) put(table, day uint64, rows int) {
	w.t.Helper()
	for range rows {
		w.seq++
		text := fmt.Sprintf("row%04d of table %d", w.seq, table)
		w.mustPut(batch(head(table, 9+day, day*86400+w.seq), text))
		w.want[table] = append(w.want[table], text)
	}
}

// moveEach moves rows of table 1 in several cuts.
func (w *joinWorld) moveEach(day uint64, cuts int) {
	w.t.Helper()
	for range cuts {
		w.put(1, day, 3)
		w.move()
	}
}

// check compares all rows with those that were written, and the numbers of the objects of table 1 and of the dead ones.
func (w *joinWorld) check(what string, objects, dead int) {
	w.t.Helper()
	for id, want := range w.want {
		rows, _ := w.allRows(w.bucket, id)
		if d := cmp.Diff(slices.Sorted(slices.Values(want)), rows); d != "" {
			w.t.Errorf("%s: table %d: %s", what, id, d)
		}
	}
	c, _ := w.coldState()
	if _, n := w.rowsInSets(w.bucket, 1); n != objects || len(c.Dead) != dead || c.Open != nil {
		w.t.Errorf("%s: %d objects of table 1, %d dead ones, want %d and %d; open: %+v", what, n, len(c.Dead), objects, dead,
			c.Open)
	}
}

func (w *joinWorld) again() {
	w.opened = w.reopen()
	w.stopCompactor()
}

// TestJoinObjects joins the objects of a day, and later those of the next day. Objects of a table with few sets, and of
// days that have not ended, stay as they are.
func TestJoinObjects(t *testing.T) {
	t.Parallel()
	b := tierBucket(t)
	cfg := joining(testConfig(t), b)
	var now hand
	now.add(12 * time.Hour)
	cfg.Now = func() time.Time { return time.Unix(0, 0).Add(now.get()) }
	var version atomic.Uint32
	version.Store(23)
	cfg.ClusterVersion = version.Load
	w := &joinWorld{opened: openShard(t, cfg), bucket: b, want: map[uint64][]string{}}
	w.stopCompactor()
	w.moveEach(0, 5)
	w.put(2, 0, 1)
	w.move()
	w.move()
	w.check("the day has not ended", 5, 0)
	now.add(13*time.Hour + 59*time.Minute)
	w.move()
	w.check("it ended two hours ago, almost", 5, 0)
	now.add(time.Minute)
	w.move()
	w.check("not all nodes know joins", 5, 0)
	version.Store(24)
	w.move()
	w.check("joined", 1, 5)
	w.move()
	w.check("nothing is left to do", 1, 5)
	w.again()
	w.check("restarted", 1, 5)
	w.moveEach(1, 3)
	w.put(1, 0, 2) // a late row of the first day
	w.moveEach(1, 2)
	w.check("the next day", 7, 5)
	now.add(24 * time.Hour)
	w.move()
	w.check("the next day was joined", 3, 11) // late rows keep an object of their own
	w.again()
	w.check("restarted again", 3, 11)
	w.flush()
	w.move()
	if n := len(w.files("segments")); n > 0 {
		t.Errorf("%d segments were left", n)
	}
	_, sets := w.coldState()
	if last := sets[len(sets)-1]; len(last.Joined) != 1 || len(last.Joined[0].Cuts) != 5 {
		t.Errorf("the last set has joined %+v", last.Joined)
	}
	if files := w.files(tier.DirName); len(files) > 0 {
		t.Errorf("files that were being built were left: %q", files)
	}
}

// joinSteps are the steps at which the tests end a process or a leadership.
var joinSteps = []string{"join", "fetch", "build", "put", "stored", "replace"}

// TestJoinFutureRows joins sets of which each has a row of a year that has not come.
func TestJoinFutureRows(t *testing.T) {
	t.Parallel()
	b := tierBucket(t)
	cfg := joining(testConfig(t), b)
	var now hand
	now.add(12 * time.Hour)
	cfg.Now = func() time.Time { return time.Unix(0, 0).Add(now.get()) }
	w := &joinWorld{opened: openShard(t, cfg), bucket: b, want: map[uint64][]string{}}
	w.stopCompactor()
	for range 5 {
		w.put(1, 0, 3)
		w.put(1, 3650, 1)
		w.move()
	}
	w.move()
	before, _ := w.rowsInSets(b, 1)
	now.add(14 * time.Hour)
	w.move()
	after, objects := w.rowsInSets(b, 1)
	if objects != 2 { // one for each day
		t.Errorf("%d objects after the join", objects)
	}
	if !slices.Equal(before, after) {
		t.Errorf("rows %q, want %q", after, before)
	}
}

// TestJoinCrashes ends the process at each step of a join. After the restart each row is there once, and a later step
// joins the objects.
func TestJoinCrashes(t *testing.T) {
	t.Parallel()
	for _, power := range []bool{false, true} {
		for _, when := range append(slices.Clone(joinSteps), "applied") {
			what := fmt.Sprintf("%s, power loss %t", when, power)
			disk := vfs.NewMem()
			dir := bucket.NewDir(t.TempDir())
			var end func()
			at := func(step string) {
				if step == when && end != nil {
					end()
				}
			}
			cfg := joining(testConfig(t), watched{dir, func() error { at("stored"); return nil }})
			cfg.Tier.OrphanAge = time.Nanosecond
			w := &joinWorld{bucket: dir, want: map[uint64][]string{}}
			cfg.Monotonic = w.mono.get
			cfg.Tier.JoinAfter = 100_000 * 24 * time.Hour // not yet
			cfg.FS, cfg.atStep = disk, at
			w.opened = openShard(t, cfg)
			w.stopCompactor()
			w.moveEach(0, 5)
			w.crash()
			cfg.Tier.JoinAfter = time.Hour
			w.opened = openShard(t, cfg)
			w.stopCompactor()
			ctx, cancel := context.WithCancel(wait(t))
			end = cancel
			_ = w.mover.Step(ctx)
			if when == "applied" {
				cancel()
			} else if ctx.Err() == nil {
				t.Errorf("%s: the step did not come", what)
			}
			w.crash()
			if power {
				disk.Crash(50)
			}
			end = nil
			w.opened = openShard(t, cfg)
			w.stopCompactor()
			if names, err := disk.ReadDir(filepath.Join(cfg.Dir, tier.DirName)); err == nil && len(names) > 0 {
				t.Errorf("%s: files that were being built were left: %q", what, names)
			}
			w.move()
			w.check(what, 1, 5)
			w.mono.add(3 * time.Hour) // orphans are deleted
			w.move()
			if keys := keysIn(t, dir); len(keys) != 6 {
				t.Errorf("%s: the bucket has %q", what, keys)
			}
			w.again()
			w.check(what+", restarted", 1, 5)
			w.close()
		}
	}
}

// TestJoinFollowers joins objects while a follower has the rows of some cuts in segments, and another one, which was
// down, reads the log and gets them into memory. Both have dropped the rows of the first cuts. No replica has a row
// twice or lacks one.
func TestJoinFollowers(t *testing.T) {
	t.Parallel()
	dir := bucket.NewDir(t.TempDir())
	g := newGroup(t, func(_ string, cfg *Config) { *cfg = joining(*cfg, dir) }, "n1", "n2", "n3")
	want := []string{}
	one := g.leader()
	one.stopCompactor()
	put := func(n int) {
		for range n {
			text := fmt.Sprintf("row%04d", len(want))
			g.put(batch(head(1, 9, uint64(len(want)+1)), text))
			want = append(want, text)
		}
	}
	step := func(o *opened) {
		t.Helper()
		if err := o.mover.Step(wait(t)); err != nil {
			t.Fatal(err)
		}
	}
	others := g.followers(one)
	segments, memory := others[0], others[1]
	segments.stopCompactor()
	for i := range 5 {
		put(3)
		one.flush()
		step(one)
		if i > 1 {
			continue
		}
		for _, o := range others {
			g.caughtUp(o)
			o.flush()
			step(o)
		}
		if i == 1 {
			g.stop(memory.cfg.NodeID)
		}
	}
	put(2) // hot
	g.caughtUp(segments)
	segments.flush()
	step(one)
	c, sets := one.coldState()
	if len(sets) != 1 || len(c.Dead) != 5 {
		t.Fatalf("%d sets, %d dead objects: %+v", len(sets), len(c.Dead), c)
	}
	memory = g.open(memory.cfg.NodeID, nil)
	memory.stopCompactor()
	list := []*opened{one, segments, memory}
	check := func(what string) {
		t.Helper()
		for _, o := range list {
			g.caughtUp(o)
			rows, cold := o.allRows(dir, 1)
			if d := cmp.Diff(want, rows); d != "" || cold != 15 {
				t.Errorf("%s: %s: %d rows are from objects; %s", what, o.cfg.NodeID, cold, d)
			}
		}
	}
	check("joined")
	v := memory.ReadView(1)
	if len(v.Segments(1)) > 0 || len(v.Batches(1)) != 2 {
		t.Errorf("%d segments, %d batches, want none and those that are in no cut", len(v.Segments(1)), len(v.Batches(1)))
	}
	v.Close()
	for _, o := range list {
		o.flush()
	}
	check("flushed")
	for _, o := range list[1:] {
		step(o)
		if n := len(o.files("segments")); n != 1 {
			t.Errorf("%s: %d segments were left", o.cfg.NodeID, n)
		}
	}
	put(1)
	check("stepped")
}

// TestJoinRefused proposes joins and offloads that the state does not allow, and lets objects die during a join.
func TestJoinRefused(t *testing.T) {
	t.Parallel()
	b := tierBucket(t)
	for _, when := range []string{"join", "fetch", "replace"} {
		cfg := joining(testConfig(t), b)
		cfg.Tier.Cluster = "cluster" + when
		w := &joinWorld{bucket: b, want: map[uint64][]string{}}
		done := false
		cfg.Monotonic = w.mono.get
		cfg.atStep = func(step string) {
			if step != when || done {
				return
			}
			done = true
			e := rules.Entry{Kind: rules.KindExpire, Cutoffs: []rules.Cutoff{{TableID: 1, Before: 4000}}} // the first set
			if err := w.propose(&e); err != nil {
				t.Error(err)
			}
		}
		w.opened = openShard(t, cfg)
		w.stopCompactor()
		w.moveEach(0, 5)
		w.move()
		w.want[1] = w.want[1][3:]
		w.check(when, 4, 1) // the join was refused
		w.mono.add(2 * time.Hour)
		w.move()
		w.check(when+", tried again", 1, 5)
		w.close()
	}
}

// TestJoinFaults joins objects on an S3 server behind a proxy that injects faults, also into what is read, and
// compares all rows.
func TestJoinFaults(t *testing.T) {
	endpoint, name := buckettest.Serve(t)
	for seed := range uint64(3) {
		proxy := buckettest.NewProxy(t, endpoint, nil)
		s3, err := bucket.Open(fmt.Sprintf("s3://%s/seed%d", name, seed), bucket.Config{
			S3: bucket.S3Config{Endpoint: proxy.URL, PathStyle: true},
		})
		if err != nil {
			t.Fatal(err)
		}
		again := bucket.Policy{Tries: bucket.Forever, Pause: time.Millisecond, MaxPause: 5 * time.Millisecond}
		guard := bucket.NewGuard(s3, bucket.GuardConfig{Read: again, Write: again, NoCircuit: true})
		cfg := joining(testConfig(t), guard)
		w := &joinWorld{bucket: guard, want: map[uint64][]string{}}
		cfg.Monotonic = w.mono.get
		cfg.Tier.Grace, cfg.Tier.OrphanAge = time.Nanosecond, time.Nanosecond
		w.opened = openShard(t, cfg)
		w.stopCompactor()
		proxy.SetPlan(buckettest.Random(seed, 0.2, buckettest.SlowDown, buckettest.Internal, buckettest.Reset,
			buckettest.LostAnswer, buckettest.Unchecked, buckettest.Unconditional, buckettest.Flip, buckettest.Cut,
			buckettest.Short, buckettest.Foreign, buckettest.IgnoreRange))
		w.moveEach(0, 5)
		w.put(2, 0, 3)
		w.moveEach(1, 5)
		for range 20 { // a join whose bytes were wrong too often is tried again
			w.mono.add(2 * time.Hour)
			w.move()
		}
		proxy.SetPlan(nil)
		w.check(fmt.Sprint("seed ", seed), 2, 0)
		if keys := keysIn(t, s3); len(keys) != 3 {
			t.Errorf("seed %d: the bucket has %q", seed, keys)
		}
		w.close()
	}
}

// TestJoinLeaderEnds ends the leadership at each step of a join. The next leader gives the join up and joins the
// objects itself, and all replicas agree.
func TestJoinLeaderEnds(t *testing.T) {
	t.Parallel()
	for _, when := range joinSteps {
		dir := bucket.NewDir(t.TempDir())
		var end atomic.Pointer[func()]
		at := func(step string) {
			if f := end.Load(); step == when && f != nil && end.CompareAndSwap(f, nil) {
				(*f)()
			}
		}
		g := newGroup(t, func(_ string, cfg *Config) {
			*cfg = joining(*cfg, watched{dir, func() error { at("stored"); return nil }})
			cfg.atStep = at
		}, "n1", "n2", "n3")
		one := g.leader()
		var want []string
		for i := range uint64(4) {
			text := fmt.Sprint("row", i)
			g.put(batch(head(1, 9, i+1), text))
			want = append(want, text)
			one.flush()
			if err := one.mover.Step(wait(t)); err != nil {
				t.Fatal(err)
			}
		}
		handOver := func() {
			for one.Leads() {
				_ = one.StepDown(context.Background())
			}
		}
		end.Store(&handOver)
		_ = one.mover.Step(wait(t))
		if end.Load() != nil {
			t.Errorf("%s did not come", when)
		}
		g.move()
		two := g.move()
		c, sets := two.coldState()
		if c.Open != nil || len(sets) != 1 || len(c.Dead) != 4 {
			t.Errorf("%s: %d sets, %+v", when, len(sets), c)
		}
		for _, o := range append(g.followers(two), two) {
			g.caughtUp(o)
			rows, _ := o.allRows(dir, 1)
			if d := cmp.Diff(want, rows); d != "" {
				t.Errorf("%s: %s: %s", when, o.cfg.NodeID, d)
			}
		}
	}
}
