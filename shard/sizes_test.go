package shard

import (
	"slices"
	"testing"

	"cordwood/proto/shardpb"
	"cordwood/shard/rules"
	"cordwood/shard/segment"
)

// TestExpireBefore makes the oldest rows of tables expire in files and objects, and in one that was written later. The
// sizes count each row once.
func TestExpireBefore(t *testing.T) {
	t.Parallel()
	w := newColdWorld(t)
	const first, ms = 20_000, 86_400_000
	sizes := func(table uint64) (newest []int64, bytes int64) {
		t.Helper()
		for _, s := range w.store.Status.Sizes([]uint64{table}) {
			for _, p := range s.Parts {
				newest, bytes = append(newest, p.Newest/ms-first), bytes+p.Bytes
			}
		}
		return newest, bytes
	}
	want := func(when string, days ...int64) {
		t.Helper()
		if got, _ := sizes(1); !slices.Equal(got, days) {
			t.Errorf("%s: there are rows of the days %v, want %v", when, got, days)
		}
	}
	for day := range 4 {
		w.fill(1, first+day, 1, 300)
		w.fill(2, first+day, 1, 3) // small tables share files
		w.fill(3, first+day, 1, 3)
	}
	w.tier(1, 2, 3)
	want("in files and objects", 0, 1, 2, 3)
	_, both := sizes(1)
	w.dropTwins(func(m *segment.Meta) bool { return m.MaxTime < (first+2)*ms || m.Shared() })
	w.fill(1, first+4, 1, 300)
	w.flush()
	want("in either of them", 0, 1, 2, 3, 4)
	if _, bytes := sizes(1); bytes < both*5/4*8/10 || bytes > both*5/4*12/10 {
		t.Errorf("5 days have %d bytes, and 4 days had %d in files", bytes, both)
	}
	if _, small := sizes(2); small == 0 || small >= both/2 {
		t.Errorf("a small table has %d bytes, a large one %d", small, both)
	}
	if all := w.store.Status.Sizes(nil); len(all) != 3 {
		t.Errorf("the sizes of %d tables, want 3", len(all))
	}
	expire := func(day int64) {
		t.Helper()
		err := w.ExpireBefore(wait(t), []rules.Cutoff{{TableID: 1, Before: (first + day) * ms}, {TableID: 9, Before: 5}})
		if err != nil {
			t.Fatal(err)
		}
	}
	expire(3)
	want("after three days", 3, 4)
	if got, _ := sizes(2); len(got) != 4 {
		t.Errorf("another table has rows of the days %v", got)
	}
	if stats := w.StatsOf(&shardpb.StatsRequest{}); stats.Tables[0].Rows != 600 {
		t.Errorf("the table has %d rows, want 600", stats.Tables[0].Rows)
	}
	dead := 0
	w.store.Status.Inspect(func(st *rules.State) { dead = len(st.DeadObjects()) })
	if dead != 3 {
		t.Errorf("%d objects are dead, want 3", dead)
	}
	// Rows that come later are older than all others.
	w.mustPut(batch(head(1, 99, (first+1)*86400), "late"))
	w.flush()
	want("with late rows", 1, 3, 4)
	expire(2)
	want("after the late rows expired", 3, 4)
	w.opened = w.reopen()
	w.stopCompactor()
	want("after a restart", 3, 4)
}

// TestSizesOfTiers compares what a shard reports about the bytes of tables in segments, in objects, and in segments of
// which nothing is in objects, while rows move.
func TestSizesOfTiers(t *testing.T) {
	t.Parallel()
	w := newColdWorld(t)
	const first = 20_000
	check := func(when string, table uint64, local, objects, waiting bool) (bytes int64) {
		t.Helper()
		for _, s := range w.StatsOf(&shardpb.StatsRequest{TableIds: []uint64{table}}).Tables {
			if s.SegmentBytes > 0 != local || s.ObjectBytes > 0 != objects || s.WaitingBytes > 0 != waiting {
				t.Errorf("%s: table %d: %v", when, table, s)
			}
			bytes += s.ObjectBytes
		}
		return bytes
	}
	for day := range 2 {
		w.fill(1, first+day, 1, 300)
		w.fill(3, first+day, 1, 300) // this one does not move
	}
	w.flush()
	check("written", 1, true, false, true)
	check("written", 3, true, false, false)
	w.tier(1)
	both := check("stored", 1, true, true, false)
	w.fill(1, first+2, 1, 300)
	w.flush()
	check("and more rows", 1, true, true, true)
	w.tier(1)
	w.dropTwins(func(m *segment.Meta) bool { return m.TableID == 1 })
	if all := check("only in objects", 1, false, true, false); all < both*5/4 || all > both*2 {
		t.Errorf("three days have %d bytes in objects, two had %d", all, both)
	}
	check("at the end", 3, true, false, false)
}
