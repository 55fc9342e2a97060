package shard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/bucket/buckettest"
	"cordwood/shard/cold/tier"
	"cordwood/shard/manifest"
	"cordwood/shard/vfs"
)

// moveSteps are the steps at which the tests end a process or a leadership: those of the mover, and "stored", when an
// object is in the bucket and the answer has not arrived.
var moveSteps = []string{"cut", "flush", "build", "put", "stored", "offload"}

// watched is a bucket that calls stored when it has stored an object.
type watched struct {
	bucket.Bucket
	stored func() error
}

func (w watched) Put(ctx context.Context, key string, c bucket.Content) error {
	if err := w.Bucket.Put(ctx, key, c); err != nil || strings.Contains(key, "/state/") {
		return err
	}
	return w.stored()
}

// wantMoved checks that each row is in one object of the sets, and in the local segments. It returns the keys of the
// objects in the bucket that no set has.
func (o *opened) wantMoved(b bucket.Bucket, what string, want map[uint64][]string) (orphans []string) {
	o.t.Helper()
	for id, rows := range want {
		rows = slices.Sorted(slices.Values(rows))
		if d := cmp.Diff(rows, o.rows(id)); d != "" {
			o.t.Errorf("%s: local rows of table %d: %s", what, id, d)
		}
		got, _ := o.rowsInSets(b, id)
		if d := cmp.Diff(rows, got); d != "" {
			o.t.Errorf("%s: rows of table %d in objects: %s", what, id, d)
		}
	}
	named := map[string]bool{}
	_, sets := o.coldState()
	for i := range sets {
		for k := range sets[i].Objects {
			named[sets[i].Objects[k].Key] = true
		}
	}
	for _, key := range keysIn(o.t, b) {
		if !named[key] {
			orphans = append(orphans, key)
		}
		delete(named, key)
	}
	if len(named) > 0 {
		o.t.Errorf("%s: objects of sets are missing: %v", what, named)
	}
	return orphans
}

// TestMoveCrashes ends the process at each step of moving rows, with and without a loss of what was not synced. After
// the restart, the next step moves the rows. Each line of *Crashes* in cold/DESIGN.md is one of the cases.
func TestMoveCrashes(t *testing.T) {
	t.Parallel()
	for _, power := range []bool{false, true} {
		for _, when := range append(slices.Clone(moveSteps), "applied") {
			what := fmt.Sprintf("%s, power loss %t", when, power)
			disk := vfs.NewMem()
			dir := bucket.NewDir(t.TempDir())
			var end func()
			at := func(step string) {
				if step == when && end != nil {
					end()
				}
			}
			cfg := tiered(testConfig(t), watched{dir, func() error { at("stored"); return nil }})
			cfg.FS, cfg.atStep = disk, at
			s := openShard(t, cfg)
			s.stopCompactor()
			want := map[uint64][]string{}
			for i := range uint64(6) {
				for id := range uint64(2) {
					text := fmt.Sprint("row", i, id)
					s.mustPut(batch(head(id+1, 9+id, i+1), text))
					want[id+1] = append(want[id+1], text)
				}
				if i == 2 {
					s.move()
				}
				if i == 3 {
					s.flush()
				}
			}
			ctx, cancel := context.WithCancel(wait(t))
			end = cancel
			err := s.mover.Step(ctx)
			if when == "applied" {
				cancel()
			} else if err == nil {
				t.Errorf("%s: the step did not end", what)
			}
			s.crash()
			if power {
				disk.Crash(50)
			}
			end = nil
			s = openShard(t, cfg)
			s.stopCompactor()
			if names, err := disk.ReadDir(filepath.Join(cfg.Dir, tier.DirName)); err == nil && len(names) > 0 {
				t.Errorf("%s: files that were being built were left: %q", what, names)
			}
			s.move()
			s.move()
			orphans := s.wantMoved(dir, what, want)
			if n := len(orphans); n > 1 || n > 0 != (when == "stored" || when == "offload") {
				t.Errorf("%s: %d objects are in no set", what, n)
			}
			s = s.reopen()
			s.wantMoved(dir, what+", restarted", want)
			s.crash()
		}
	}
}

// move moves rows at the leader, also if the leader changes meanwhile, and returns the leader.
func (g *group) move() *opened {
	g.t.Helper()
	for ctx := wait(g.t); ; {
		o := g.leader()
		err := o.Flush(ctx)
		if err == nil {
			err = o.mover.Step(ctx)
		}
		switch {
		case err == nil && o.Leads():
			return o
		case ctx.Err() != nil:
			g.t.Fatal(err)
		}
	}
}

// TestMoveLeaderEndsAtEveryStep ends the leadership at each step of moving rows: the leader hands over, is killed, or
// is cut off from the others. The next leader moves the rows, and all replicas agree.
func TestMoveLeaderEndsAtEveryStep(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"hands over", "is killed", "is cut off"} {
		for _, when := range moveSteps {
			what := fmt.Sprintf("the leader %s at %s", how, when)
			dir := bucket.NewDir(t.TempDir())
			var mu sync.Mutex
			var end func()
			at := func(step string) {
				mu.Lock()
				f := end
				if step == when {
					end = nil
				}
				mu.Unlock()
				if step == when && f != nil {
					f()
				}
			}
			g := newGroup(t, func(_ string, cfg *Config) {
				*cfg = tiered(*cfg, watched{dir, func() error { at("stored"); return nil }})
				cfg.atStep = at
				cfg.heartbeat = 200 * time.Millisecond
			}, "n1", "n2", "n3")
			one := g.leader()
			want := map[uint64][]string{}
			put := func(i uint64) {
				for id := range uint64(2) {
					text := fmt.Sprint("row", i, id)
					g.put(batch(head(id+1, 9+id, i+1), text))
					want[id+1] = append(want[id+1], text)
				}
			}
			put(1)
			put(2)
			one.flush()
			ctx, cancel := context.WithCancel(wait(t))
			mu.Lock()
			end = map[string]func(){
				"hands over": func() {
					for one.Leads() {
						if err := one.StepDown(wait(t)); err != nil {
							t.Logf("%s: %v", what, err)
						}
					}
				},
				"is killed": cancel,
				"is cut off": func() {
					g.node(one.cfg.NodeID).setCut(true)
					<-one.LeadsChanged()
				},
			}[how]
			mu.Unlock()
			if err := one.mover.Step(ctx); err == nil && when != "stored" && when != "put" {
				t.Errorf("%s: the step did not end", what)
			}
			cancel()
			if how == "is killed" {
				g.stop(one.cfg.NodeID)
			}
			put(3)
			g.move()
			for _, o := range g.followers(nil) {
				if n := g.node(o.cfg.NodeID); n.isCut() {
					n.setCut(false)
				}
			}
			g.move()
			put(4)
			two := g.move()
			if how == "is killed" {
				g.open(one.cfg.NodeID, nil)
			}
			wantCold, wantSets := two.coldState()
			for _, o := range g.followers(nil) {
				g.caughtUp(o)
				gotCold, gotSets := o.coldState()
				if d := cmp.Diff(wantCold, gotCold); d != "" {
					t.Errorf("%s: node %s: %s", what, o.cfg.NodeID, d)
				}
				if d := cmp.Diff(wantSets, gotSets); d != "" {
					t.Errorf("%s: node %s: sets: %s", what, o.cfg.NodeID, d)
				}
				o.wantMoved(dir, what+": "+o.cfg.NodeID, want)
			}
			for _, id := range []string{"n1", "n2", "n3"} {
				g.stop(id)
			}
		}
	}
}

// TestMoveToFailingBucket moves rows while a bucket fails for a while. In the same term, the objects that are in the
// bucket are not stored again.
func TestMoveToFailingBucket(t *testing.T) {
	t.Parallel()
	dir := bucket.NewDir(t.TempDir())
	var puts atomic.Int64
	boom := errors.New("boom")
	cfg := tiered(testConfig(t), watched{dir, func() error {
		if puts.Add(1) > 1 {
			return boom
		}
		return nil
	}})
	s := openShard(t, cfg)
	s.stopCompactor()
	want := map[uint64][]string{}
	for i := range uint64(2) { // two days, so two objects
		text := fmt.Sprint("row", i)
		s.mustPut(batch(head(1, 9+i, 1+i*86400), text))
		want[1] = append(want[1], text)
	}
	s.flush()
	if err := s.mover.Step(wait(t)); !errors.Is(err, boom) {
		t.Fatal(err)
	}
	if c, sets := s.coldState(); c.Open == nil || len(sets) > 0 {
		t.Errorf("the state is %+v, with %d sets", c, len(sets))
	}
	stored := keysIn(t, dir)
	puts.Store(-10)
	s.move()
	if orphans := s.wantMoved(dir, "moved", want); len(orphans) != 1 || !slices.Contains(stored, orphans[0]) {
		t.Errorf("the objects %q are in no set; at first there were %q", orphans, stored)
	}
	if n := puts.Load() + 10; n != 1 {
		t.Errorf("%d objects were stored at last, want 1", n)
	}
}

// TestMoveToBucketThatLies stores other bytes under the first key. The object is stored again under another one.
func TestMoveToBucketThatLies(t *testing.T) {
	t.Parallel()
	dir := bucket.NewDir(t.TempDir())
	cfg := tiered(testConfig(t), bucket.NewGuard(&liar{Bucket: dir}, bucket.GuardConfig{}))
	s := openShard(t, cfg)
	s.stopCompactor()
	s.mustPut(batch(head(1, 9, 1), "row"))
	s.move()
	if orphans := s.wantMoved(dir, "moved", map[uint64][]string{1: {"row"}}); len(orphans) != 1 {
		t.Errorf("the objects %q are in no set", orphans)
	}
}

// liar is a bucket that stores the first object with rows wrongly.
type liar struct {
	bucket.Bucket
	once sync.Once
}

func (l *liar) Put(ctx context.Context, key string, c bucket.Content) (err error) {
	if !strings.Contains(key, "/data/") {
		return l.Bucket.Put(ctx, key, c)
	}
	l.once.Do(func() {
		b := make([]byte, c.Size)
		if _, err = c.Body.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
			return
		}
		b[len(b)/2] ^= 1
		err = l.Bucket.Put(ctx, key, bucket.Content{Body: strings.NewReader(string(b)), Size: c.Size})
		c.Size = 0
	})
	if c.Size == 0 {
		return err
	}
	return l.Bucket.Put(ctx, key, c)
}

// TestMoveToDeadBucket moves rows to a bucket that does not answer. Writes, reads, flushes and compactions go on, and
// the shard closes at once.
func TestMoveToDeadBucket(t *testing.T) {
	t.Parallel()
	waiting := make(chan struct{})
	cfg := tiered(testConfig(t), dead{bucket.NewDir(t.TempDir()), waiting})
	cfg.Tier.Every = time.Millisecond
	s := openShard(t, cfg)
	var want []string
	for i := range uint64(40) {
		text := fmt.Sprintf("row%02d", i)
		s.mustPut(batch(head(1, 9, i+1), text))
		want = append(want, text)
		s.flush()
		if i == 10 {
			<-waiting
		}
	}
	if err := s.Compact(wait(t)); err != nil {
		t.Error(err)
	}
	if n := len(s.store.Status.SegmentsOf(1)); n > 20 {
		t.Errorf("%d segments were not merged", n)
	}
	if d := cmp.Diff(want, s.rows(1)); d != "" {
		t.Error(d)
	}
	s.close()
}

// dead is a bucket that never stores anything.
type dead struct {
	bucket.Bucket
	waiting chan struct{}
}

func (d dead) Put(ctx context.Context, _ string, _ bucket.Content) error {
	select {
	case d.waiting <- struct{}{}:
	case <-ctx.Done():
	}
	<-ctx.Done()
	return ctx.Err()
}

// TestMoveDamaged damages a segment of the rows that are to be moved. None are moved until the file is restored.
func TestMoveDamaged(t *testing.T) {
	t.Parallel()
	dir := bucket.NewDir(t.TempDir())
	s := openShard(t, tiered(testConfig(t), dir))
	s.stopCompactor()
	s.mustPut(batch(head(1, 9, 1), "row"))
	s.flush()
	path := s.store.Status.SegmentsOf(1)[0].Path
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := slices.Clone(sound)
	damaged[len(damaged)/3] ^= 1
	if err := os.WriteFile(path, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.mover.Step(wait(t)); err == nil || !strings.Contains(err.Error(), filepath.Base(path)) {
			t.Errorf("moving a damaged segment: %v", err)
		}
	}
	if keys := keysIn(t, dir); len(keys) > 0 {
		t.Errorf("the bucket has %q", keys)
	}
	if err := os.WriteFile(path, sound, 0o600); err != nil {
		t.Fatal(err)
	}
	s = s.reopen()
	s.stopCompactor()
	s.move()
	s.wantMoved(dir, "restored", map[uint64][]string{1: {"row"}})
}

// TestMoveMismatch moves rows after an operator gave up others of the same cut that were damaged. The difference is
// found, and nothing changes.
func TestMoveMismatch(t *testing.T) {
	t.Parallel()
	dir := bucket.NewDir(t.TempDir())
	s := openShard(t, tiered(testConfig(t), dir))
	s.stopCompactor()
	s.mustPut(batch(head(1, 9, 1), "before"))
	s.move() // the rows of the first cut of a table are not counted
	s.mustPut(batch(head(1, 9, 2), "lost"))
	s.flush()
	s.mustPut(batch(head(1, 9, 3), "kept"))
	s.flush()
	segments := s.store.Status.SegmentsOf(1)
	if err := os.Remove(segments[1].Path); err != nil {
		t.Fatal(err)
	}
	s = s.reopen()
	s.stopCompactor()
	if err := s.mover.Step(wait(t)); err == nil {
		t.Error("rows of a missing file were moved")
	}
	s.crash()
	m, err := manifest.Open(manifest.Config{FS: vfs.OS, Dir: s.cfg.Dir, ShardID: testShard})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(m.Commit(&manifest.Edit{Remove: []uint64{segments[1].ID}}), m.Close()); err != nil {
		t.Fatal(err)
	}
	s = openShard(t, s.cfg)
	s.stopCompactor()
	err = s.mover.Step(wait(t))
	if err == nil || !strings.Contains(err.Error(), "2 were appended") {
		t.Errorf("the step returned %v", err)
	}
	c, sets := s.coldState()
	if c.Open == nil || len(sets) != 1 || len(sets[0].Objects) != 1 {
		t.Errorf("the state is %+v, with %d sets", c, len(sets))
	}
	if d := cmp.Diff([]string{"before", "kept"}, s.rows(1)); d != "" {
		t.Error(d)
	}
}

// TestMoveFaults moves rows to an S3 server behind a proxy that injects faults, and compares all rows.
func TestMoveFaults(t *testing.T) {
	endpoint, name := buckettest.Serve(t)
	for seed := range uint64(4) {
		proxy := buckettest.NewProxy(t, endpoint, nil)
		s3, err := bucket.Open(fmt.Sprintf("s3://%s/seed%d", name, seed), bucket.Config{
			S3: bucket.S3Config{Endpoint: proxy.URL, PathStyle: true},
		})
		if err != nil {
			t.Fatal(err)
		}
		guard := bucket.NewGuard(s3, bucket.GuardConfig{
			Write:     bucket.Policy{Tries: bucket.Forever, Pause: time.Millisecond, MaxPause: 5 * time.Millisecond},
			NoCircuit: true,
		})
		s := openShard(t, tiered(testConfig(t), guard))
		s.stopCompactor()
		proxy.SetPlan(buckettest.Random(seed, 0.3, buckettest.SlowDown, buckettest.Internal, buckettest.Reset,
			buckettest.LostAnswer, buckettest.Unchecked, buckettest.Unconditional))
		want := map[uint64][]string{}
		for i := range uint64(24) {
			for id := range uint64(3) {
				text := fmt.Sprint("row", i, id)
				s.mustPut(batch(head(id+1, 100+3*i+id, i%4*86400+i), text))
				want[id+1] = append(want[id+1], text)
			}
			if i%4 == 3 {
				s.move()
			}
		}
		proxy.SetPlan(nil)
		if orphans := s.wantMoved(s3, fmt.Sprint("seed ", seed), want); len(orphans) > 0 {
			t.Errorf("seed %d: the objects %q are in no set", seed, orphans)
		}
		s.crash()
	}
}
