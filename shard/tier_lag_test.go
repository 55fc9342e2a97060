package shard

import (
	"testing"
	"time"

	"cordwood/shard/cold/bucket"
)

// TestTierLags tells for how long rows, and the state of the shard, have not been stored although they should be.
func TestTierLags(t *testing.T) {
	t.Parallel()
	full := &unwritable{Bucket: bucket.NewDir(t.TempDir())}
	cfg := tiered(testConfig(t), full)
	var now hand
	cfg.Monotonic = now.get
	cfg.Tier.UploadAfter = time.Hour
	s := openShard(t, cfg)
	s.stopCompactor()
	now.add(time.Second)
	want := func(what string, upload, state time.Duration) {
		t.Helper()
		if u, s := s.mover.UploadLag(), s.mover.StateLag(); u != upload || s != state {
			t.Errorf("%s: rows have waited for %s and the state for %s, want %s and %s", what, u, s, upload, state)
		}
	}
	s.mustPut(batch(head(1, 9, 1), "one"))
	s.flush()
	s.step()
	want("young rows", 0, 0)
	full.puts = true
	now.add(3 * time.Hour)
	if err := s.mover.Step(wait(t)); err == nil {
		t.Fatal("rows were stored in a bucket that is full")
	}
	want("a full bucket", 2*time.Hour, 0)
	now.add(time.Hour)
	_ = s.mover.Step(wait(t)) // the state now has the cut
	want("still full", 3*time.Hour, 0)
	s.flush()
	_ = s.mover.Step(wait(t))
	now.add(time.Minute)
	want("a state that cannot be stored", 3*time.Hour+time.Minute, time.Minute)
	full.puts = false
	now.add(time.Hour)
	s.step()
	s.step()
	want("all stored", 0, 0)
	s.crash()
}
