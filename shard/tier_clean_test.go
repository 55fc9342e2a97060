package shard

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"cordwood/shard/cold/bucket"
	"cordwood/shard/rules"
)

// TestDeleteObjects deletes dead objects after the grace time, and orphans of closed cuts, and nothing else. The
// process ends during a deletion, and the bucket refuses some deletions.
func TestDeleteObjects(t *testing.T) {
	t.Parallel()
	dir := bucket.NewDir(t.TempDir())
	var at func(step string)
	var lost error // what happens to the answer of a put
	refuses := &refusing{Bucket: watched{dir, func() error { return lost }}}
	cfg := tiered(testConfig(t), refuses)
	var now hand
	cfg.Monotonic = now.get
	cfg.Tier.UploadAfter, cfg.Tier.CutBytes = time.Hour, 1
	cfg.Tier.OrphanAge, cfg.Tier.Grace = time.Nanosecond, 2*time.Hour
	cfg.atStep = func(step string) { at(step) }
	at = func(string) {}
	s := openShard(t, cfg)
	s.stopCompactor()
	texts := func(prefix string) (keys []string) {
		for _, key := range keysIn(t, dir) {
			if strings.HasPrefix(key, prefix) {
				keys = append(keys, key)
			}
		}
		return keys
	}
	const mine = "cluster/data/7/"

	// Tables 1 and 2 are in sets of their own. The first attempt for table 2 leaves an orphan.
	s.mustPut(batch(head(1, 9, 1), "one"))
	s.move()
	s.mustPut(batch(head(2, 9, 2), "two"))
	s.flush()
	lost = errors.New("the answer is lost")
	if err := s.mover.Step(wait(t)); !errors.Is(err, lost) {
		t.Errorf("the step returned %v", err)
	}
	lost = nil
	orphan := slices.DeleteFunc(texts(mine), func(key string) bool { return strings.Contains(key, "1-1-") })
	s.move()
	if len(orphan) != 1 || len(texts(mine)) != 3 {
		t.Fatalf("the orphan is %q, the objects are %q", orphan, texts(mine))
	}
	others := []string{
		mine + "1/0/1-9-2-00000000000000aa.parquet",     // of a later cut
		mine + "1/0/2-1-2-00000000000000aa.parquet",     // of a later incarnation
		mine + "1/0/1-1-2-00000000000000aa.parquet.bak", // not ours
		mine + "1/0/1-1-2-aa.parquet",
		"cluster/data/77/1/0/1-1-2-00000000000000aa.parquet",
		"other/data/7/1/0/1-1-2-00000000000000aa.parquet",
	}
	for _, key := range append(others, mine+"1/-3/0-9-2-00000000000000aa.parquet") { // the last is of an earlier one
		if err := dir.Put(wait(t), key, bucket.Content{Body: strings.NewReader("x"), Size: 1}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(what string, dead int, objects ...string) {
		t.Helper()
		if err := s.mover.Step(wait(t)); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		for _, key := range others {
			if !slices.Contains(keysIn(t, dir), key) {
				t.Errorf("%s: %s was deleted", what, key)
			}
		}
		got := slices.DeleteFunc(texts(mine), func(key string) bool { return slices.Contains(others, key) })
		if slices.Sort(objects); !slices.Equal(got, objects) {
			t.Errorf("%s: the objects are %q, want %q", what, got, objects)
		}
		if c, _ := s.coldState(); len(c.Dead) != dead {
			t.Errorf("%s: %d dead objects, want %d", what, len(c.Dead), dead)
		}
	}
	_, sets := s.coldState()
	one, two := sets[0].Objects[0].Key, sets[1].Objects[0].Key
	want("too early", 0, one, two, orphan[0], mine+"1/-3/0-9-2-00000000000000aa.parquet")
	now.add(2 * time.Hour)
	want("two hours later", 0, one, two)
	if err := s.DropTable(wait(t), 1); err != nil {
		t.Fatal(err)
	}
	expire := rules.Entry{Kind: rules.KindExpire, Cutoffs: []rules.Cutoff{{TableID: 2, Before: 1 << 40}}}
	if err := s.propose(&expire); err != nil {
		t.Fatal(err)
	}
	want("dead", 2, one, two)
	now.add(2*time.Hour - time.Minute)
	want("before the grace time has ended", 2, one, two)
	now.add(2 * time.Minute)

	// The process ends before the second object is deleted, and before the first one is forgotten.
	ctx, cancel := context.WithCancel(wait(t))
	deletes := 0
	at = func(step string) {
		if step == "delete" {
			if deletes++; deletes == 2 {
				cancel()
			}
		}
	}
	refuses.err = errors.New("refused")
	refuses.after = 1
	_ = s.mover.Step(ctx)
	at = func(string) {}
	if len(texts(one)) > 0 || len(texts(two)) == 0 {
		t.Errorf("the objects are %q", texts(mine))
	}
	s = s.reopen()
	s.stopCompactor()
	refuses.after = 0
	want("refused", 2, two)
	refuses.err = nil
	now.add(time.Minute)
	want("soon", 2, two)
	now.add(2 * time.Hour) // the replicated clock stands still while no process runs
	want("later", 0)
	s.flush()
	s = s.reopen()
	if c, _ := s.coldState(); len(c.Dead) != 0 {
		t.Errorf("after a restart: %d dead objects", len(c.Dead))
	}
}

// refusing is a bucket that refuses deletions after some of them, if err is set.
type refusing struct {
	bucket.Bucket
	err   error
	after int
}

func (r *refusing) Delete(ctx context.Context, key string) error {
	if r.err != nil && r.after == 0 {
		return r.err
	}
	r.after--
	return r.Bucket.Delete(ctx, key)
}
