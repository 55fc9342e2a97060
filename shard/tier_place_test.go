package shard

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cordwood/shard/cold/bucket"
	"cordwood/shard/store"
)

// day has the seconds of a day. Rows of two days are in two objects.
const day = 86400

// TestMissingObjectKeepsTwins: local segments stay while an object with their rows is missing or damaged in the bucket.
// It is built from them and stored again, and then they go.
func TestMissingObjectKeepsTwins(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := tiered(testConfig(t), bucket.NewGuard(bucket.NewDir(dir), bucket.GuardConfig{}))
	var mono hand
	cfg.Monotonic = mono.get
	cfg.Tier.LocalFor, cfg.Tier.CutBytes = time.Hour, 1
	s := openShard(t, cfg)
	s.stopCompactor()
	s.mustPut(batch(head(1, 9, 1), "one"))
	s.mustPut(batch(head(2, day+100, day+2), "another day"))
	s.move()
	s.mustPut(batch(head(1, 9, 2), "two")) // so that the set is on disk
	s.flush()
	_, sets := s.coldState()
	key := sets[0].Objects[0].Key
	path := filepath.Join(dir, key)
	object, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cold := func(what string, want bool) {
		t.Helper()
		mono.add(time.Hour)
		s.step()
		v := s.ReadView(1)
		defer v.Close()
		got := slices.ContainsFunc(v.Cold(1), func(x store.ColdObject) bool { return x.Object.Key == key })
		if got != want {
			t.Errorf("%s: rows are read from the object: %t, want %t", what, got, want)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	again := func(what string) {
		t.Helper()
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, object) {
			t.Errorf("%s: the object is not there again: %d bytes, %v", what, len(got), err)
		}
	}
	cold("without the object", false)
	again("without the object")
	if err := os.WriteFile(path, object[1:], 0o600); err != nil {
		t.Fatal(err)
	}
	cold("with a part of the object", false)
	again("with a part of the object")
	cold("with the object", true)
}

// TestOtherLocation: a shard whose objects are in one place does nothing in another one, which lacks them, and says so.
func TestOtherLocation(t *testing.T) {
	t.Parallel()
	first, second := tierBucket(t), tierBucket(t)
	cfg := tiered(testConfig(t), first)
	cfg.Tier.LocalFor, cfg.Tier.Grace, cfg.Tier.CutBytes = time.Hour, time.Nanosecond, 1
	s := openShard(t, cfg)
	s.stopCompactor()
	s.mustPut(batch(head(1, 9, 1), "one"))
	s.mustPut(batch(head(2, day+100, day+2), "two"))
	s.move()
	if err := s.DropTable(wait(t), 2); err != nil {
		t.Fatal(err)
	}
	s.mustPut(batch(head(1, 9, 3), "three"))
	s.flush()
	before := keysIn(t, first)

	s.cfg.Tier.Bucket = second
	s = s.reopen()
	s.stopCompactor()
	for range 2 {
		err := s.mover.Step(wait(t))
		if kind, _ := bucket.KindOf(err); kind != bucket.NotFound || !strings.Contains(err.Error(), "--object-storage-url") {
			t.Fatal(err)
		}
	}
	if w := s.Warnings(); len(w) != 1 || !strings.Contains(w[0], "--object-storage-url") {
		t.Errorf("warnings: %q", w)
	}
	if keys := allKeysIn(t, second); len(keys) > 0 {
		t.Errorf("stored in the other place: %q", keys)
	}
	if rows, cold := s.allRows(first, 1); !slices.Equal(rows, []string{"one", "three"}) || cold > 0 {
		t.Errorf("rows %q, %d of them from objects", rows, cold)
	}

	s.cfg.Tier.Bucket = first
	s = s.reopen()
	s.stopCompactor()
	s.step()
	s.flush()
	s.step()
	if w := s.Warnings(); len(w) > 0 {
		t.Errorf("warnings: %q", w)
	}
	if rows, cold := s.allRows(first, 1); !slices.Equal(rows, []string{"one", "three"}) || cold != 2 {
		t.Errorf("rows %q, %d of them from objects", rows, cold)
	}
	if dead := before[len(before)-1]; slices.Contains(keysIn(t, first), dead) {
		t.Errorf("the object of the dropped table is still there: %s", dead)
	}

	s.cfg.Tier = nil
	s = s.reopen()
	if w := s.Warnings(); len(w) != 1 || !strings.Contains(w[0], "this node has none") {
		t.Errorf("without object storage: warnings: %q", w)
	}
}

// refusingData refuses to store objects with rows, as a policy of a bucket may.
type refusingData struct {
	bucket.Bucket
	refuse bool
}

func (r *refusingData) Put(ctx context.Context, key string, c bucket.Content) error {
	if r.refuse && strings.Contains(key, "/data/") {
		return &bucket.Error{Kind: bucket.Forbidden, Op: "write", At: key, Err: errors.New("AccessDenied")}
	}
	return r.Bucket.Put(ctx, key, c)
}

// TestRefusedPuts: while the bucket refuses objects, the shard deletes dead objects, drops local segments whose rows
// are in the bucket, and says what is wrong.
func TestRefusedPuts(t *testing.T) {
	t.Parallel()
	policy := &refusingData{Bucket: bucket.NewDir(t.TempDir())}
	b := bucket.NewGuard(policy, bucket.GuardConfig{Write: bucket.Policy{Tries: 2, Pause: time.Nanosecond}})
	cfg := tiered(testConfig(t), b)
	var mono hand
	cfg.Monotonic = mono.get
	cfg.Tier.LocalFor, cfg.Tier.Grace, cfg.Tier.CutBytes = time.Hour, time.Nanosecond, 1
	s := openShard(t, cfg)
	s.stopCompactor()
	s.mustPut(batch(head(1, 9, 1), "one"))
	s.mustPut(batch(head(2, day+100, day+2), "two"))
	s.move()
	if err := s.DropTable(wait(t), 2); err != nil {
		t.Fatal(err)
	}
	s.mustPut(batch(head(1, 9, 3), "three"))
	s.flush()
	policy.refuse = true
	for range 2 { // the first step stores a state that does not name the dead object
		mono.add(2 * time.Hour)
		if err := s.mover.Step(wait(t)); err == nil {
			t.Fatal("the bucket refused an object, and the step succeeded")
		}
		s.flush()
	}
	if keys := keysIn(t, b); len(keys) != 1 {
		t.Errorf("the bucket has %q, want the object of table 1", keys)
	}
	if rows, cold := s.allRows(b, 1); !slices.Equal(rows, []string{"one", "three"}) || cold != 1 {
		t.Errorf("rows %q, %d of them from objects", rows, cold)
	}
	if w := s.Warnings(); len(w) != 1 || !strings.Contains(w[0], "AccessDenied") {
		t.Errorf("warnings: %q", w)
	}
	if b.State().Forbidden == nil {
		t.Error("after other requests the guard no longer knows that writes are refused")
	}
	policy.refuse = false
	mono.add(time.Hour)
	s.step()
	if w := s.Warnings(); len(w) > 0 {
		t.Errorf("warnings: %q", w)
	}
}

// TestTwoServers copies the folder of a shard, and runs both copies. They find each other in the bucket, and neither
// stores or deletes anything then, until one is stopped for good.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	b := bucket.NewDir(t.TempDir())
	var mono hand
	mono.add(time.Hour)
	config := func(node string) Config {
		cfg := tiered(testConfig(t), b)
		cfg.Monotonic = mono.get
		cfg.Tier.Node, cfg.Tier.Grace, cfg.Tier.OrphanAge, cfg.Tier.CutBytes = node, time.Nanosecond, time.Nanosecond, 1
		return cfg
	}
	cfg, copied := config("alpha"), config("beta")
	one := openShard(t, cfg)
	one.stopCompactor()
	one.mustPut(batch(head(1, 9, 1), "one"))
	one.mustPut(batch(head(2, 9, 2), "two"))
	one.move()
	one.close()
	if err := os.CopyFS(copied.Dir, os.DirFS(cfg.Dir)); err != nil {
		t.Fatal(err)
	}
	one, two := openShard(t, cfg), openShard(t, copied)
	one.stopCompactor()
	two.stopCompactor()
	one.mustPut(batch(head(1, 9, 3), "of the first"))
	two.mustPut(batch(head(1, 9, 3), "of the second"))
	step := func(s *opened) error {
		s.flush()
		return s.mover.Step(wait(t))
	}
	if err := step(one); err != nil {
		t.Fatal(err)
	}
	mono.add(30 * time.Minute)
	_ = step(two) // it may still take the first one for an earlier leader
	for range 3 {
		mono.add(30 * time.Minute)
		for s, names := range map[*opened][]string{one: {"alpha", "beta"}, two: {"beta", "alpha"}} {
			err := step(s)
			if err == nil || !strings.Contains(err.Error(), "this one, node "+names[0]) ||
				!strings.Contains(err.Error(), "and node "+names[1]) {
				t.Fatalf("%s: %v", names[0], err)
			}
			if w := strings.Join(s.Warnings(), " "); !strings.Contains(w, "two servers lead shard 7") {
				t.Errorf("%s warns %q", names[0], w)
			}
		}
	}
	before := keysIn(t, b)
	if err := two.DropTable(wait(t), 1); err != nil {
		t.Fatal(err)
	}
	two.mustPut(batch(head(2, 9, 4), "more of the second"))
	for range 3 {
		mono.add(30 * time.Minute)
		if step(one) == nil || step(two) == nil {
			t.Fatal("one of them goes on")
		}
	}
	if after := keysIn(t, b); !slices.Equal(before, after) {
		t.Errorf("objects were stored or deleted: %q, before %q", after, before)
	}
	two.close()
	for range 4 {
		mono.add(30 * time.Minute)
		_ = step(one)
	}
	if err := step(one); err != nil {
		t.Errorf("after the other one was stopped: %v", err)
	}
	if rows, _ := one.allRows(b, 1); !slices.Equal(rows, []string{"of the first", "one"}) {
		t.Errorf("rows %q", rows)
	}
}
