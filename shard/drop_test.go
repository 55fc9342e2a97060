package shard

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/errs"
	"cordwood/shard/rules"
)

func TestDropTable(t *testing.T) {
	t.Parallel()
	s := openShard(t, testConfig(t))
	s.mustPut(batch(head(1, 9, 1), "a"))
	s.flush()
	s.mustPut(batch(head(2, 9, 2), "b"))
	s.flush()
	s.mustPut(batch(head(1, 9, 3), "c"))
	v := s.ReadView(1)
	ctx := context.Background()
	for _, id := range []uint64{1, 1, 500} {
		if err := s.DropTable(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.rows(1); len(got) != 0 {
		t.Errorf("rows of a dropped table: %v", got)
	}
	s.flush()
	if got := len(s.files("segments")); got != 2 {
		t.Errorf("%d files while a view is open", got)
	}
	if diff := cmp.Diff([]string{"a", "c"}, viewRows(t, s.Shard.cfg.FS, v, 1)); diff != "" {
		t.Error(diff)
	}
	v.Close()
	v.Close()
	if got := len(s.files("segments")); got != 1 {
		t.Errorf("%d files after the last view", got)
	}
	if _, err := s.put(batch(head(1, 9, 4), "d")); errs.ReasonOf(err) != errs.TableGone {
		t.Errorf("write to a dropped table: %v", err)
	}
	s = s.reopen()
	if _, err := s.put(batch(head(1, 9, 4), "d")); errs.ReasonOf(err) != errs.TableGone {
		t.Errorf("write to a dropped table after a restart: %v", err)
	}
	if diff := cmp.Diff([]string{"b"}, s.rows(2)); diff != "" {
		t.Error(diff)
	}
}

// TestDropReplayed drops a flushed table and crashes before the next flush.
func TestDropReplayed(t *testing.T) {
	t.Parallel()
	s := openShard(t, testConfig(t))
	s.mustPut(batch(head(1, 9, 1), "a"))
	s.flush()
	// The drop requests a flush, which may or may not run before the crash.
	if err := s.DropTable(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
	s = s.reopen()
	if got := s.rows(1); len(got) != 0 {
		t.Errorf("rows %v", got)
	}
	s.mustPut(batch(head(2, 9, 2), "b"))
	s.flush()
	if got := s.files("segments"); len(got) != 1 {
		t.Errorf("files %v", got)
	}
}

// TestDropSharing drops one of two tables that share a segment.
func TestDropSharing(t *testing.T) {
	t.Parallel()
	s := openShard(t, testConfig(t))
	s.mustPut(batch(head(1, 9, 1), "a"), batch(head(2, 9, 2), "b"))
	s.flush()
	if err := s.DropTable(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := s.rows(1); len(got) != 0 {
			t.Errorf("rows of a dropped table: %v", got)
		}
		if diff := cmp.Diff([]string{"b"}, s.rows(2)); diff != "" {
			t.Error(diff)
		}
		if got := s.files("segments"); len(got) != 1 {
			t.Errorf("files %v", got)
		}
		s.flush()
		s = s.reopen()
	}
	if err := s.DropTable(context.Background(), 2); err != nil {
		t.Fatal(err)
	}
	s.flush()
	if got := s.files("segments"); len(got) != 0 {
		t.Errorf("files %v", got)
	}
}

// TestTombstonesAfterRestarts drops tables over days and restarts one replica repeatedly. It must
// remember the same drops with the same times as a replica that was not restarted, so that both
// forget each drop at the same entry.
func TestTombstonesAfterRestarts(t *testing.T) {
	t.Parallel()
	wall := clockAt(time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC))
	cfg := testConfig(t)
	cfg.Now = wall.Now
	s := openShard(t, cfg)
	remembered := func() (dropped map[uint64]int64) {
		s.store.Status.Inspect(func(st *rules.State) { dropped = maps.Clone(st.Dropped) })
		return dropped
	}
	seq, most := uint64(0), 0
	put := func() {
		seq++
		s.mustPut(batch(head(1, 9, seq), "x"))
	}
	for i := range 26 {
		put()
		if id := uint64(100 + i); i < 6 { //nolint:gosec // small
			s.mustPut(batch(head(id, 10, id), "y"))
			if err := s.DropTable(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		wall.set(wall.Now().Add(11*time.Hour + 17*time.Second))
		put()
		before := remembered()
		most = max(most, len(before))
		s.flush()
		if i%3 == 0 {
			s = s.reopen()
		}
		// The manifest holds the drops that were known when it was written.
		stored := map[uint64]int64{}
		for _, d := range s.store.Ledger.State().Dropped {
			if !d.Forgotten(s.store.Ledger.State().Clock) {
				stored[d.TableID] = d.At
			}
		}
		for _, have := range []map[uint64]int64{remembered(), stored} {
			if diff := cmp.Diff(before, have); diff != "" {
				t.Fatalf("step %d (-before +after):\n%s", i, diff)
			}
		}
	}
	if left := len(remembered()); most != 6 || left != 0 {
		t.Errorf("%d tables were remembered at most, and %d at the end", most, left)
	}
}
