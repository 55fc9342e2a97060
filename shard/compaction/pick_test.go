package compaction

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// list returns segments of one table and day with sizes in MiB, in ascending order.
func list(sizes ...float64) []Segment {
	var out []Segment
	for i, mib := range sizes {
		at := time.Unix(int64(i)*60, 0)
		out = append(out, Segment{
			ID: uint64(i + 1), Order: uint64(i + 1), Bytes: int64(mib * (1 << 20)), Rows: 1000, Group: Group{Table: 1}, Days: 1,
			MinTime: at, MaxTime: at.Add(time.Minute),
		})
	}
	return out
}

func repeat(n int, mib float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = mib
	}
	return out
}

func ids(list []Segment) string {
	var s []string
	for _, x := range list {
		s = append(s, fmt.Sprint(x.ID))
	}
	return strings.Join(s, " ")
}

func TestPick(t *testing.T) {
	during, after := time.Unix(12*3600, 0), time.Unix(30*3600, 0)
	yes := func([]Segment) bool { return true }
	change := func(l []Segment, f func(l []Segment)) []Segment { f(l); return l }
	for _, test := range []struct {
		name    string
		list    []Segment
		now     time.Time
		allowed func([]Segment) bool
		want    string
	}{
		{"nothing", nil, during, yes, ""},
		{"one", list(1), after, yes, ""},
		{"seven small", list(repeat(7, 1)...), during, yes, ""},
		{"eight small", list(repeat(8, 1)...), during, yes, "1 2 3 4 5 6 7 8"},
		{"not allowed", list(repeat(8, 1)...), during, func([]Segment) bool { return false }, ""},
		{"flushes of a busy table", list(repeat(8, 20)...), during, yes, "1 2 3 4 5 6 7 8"},
		{"small ones behind a large one", list(append([]float64{100}, repeat(8, 1)...)...), during, yes, "2 3 4 5 6 7 8 9"},
		{"large ones stay", list(repeat(20, 160)...), during, yes, ""},
		{"large ones stay when the day is over", list(repeat(20, 160)...), after, yes, ""},
		{"two that would fit in one stay, too", list(repeat(20, 124)...), after, yes, ""},
		{"a large one separates neighbours", list(1, 1, 1, 1, 300, 1, 1, 1, 1), during, yes, ""},
		{"the rest of a day", list(20, 1, 1), after, yes, "2 3"},
		{"the rest of a day, segments of equal sizes", list(20, 20, 1, 3), after, yes, "1 2 3 4"},
		{
			"the rest of a day to which rows are still added",
			change(list(20, 20, 1, 3), func(l []Segment) { l[3].Flushed = after.Add(-9 * time.Minute) }), after, yes, "",
		},
		{
			"the rest of a day to which rows are no longer added",
			change(list(20, 20, 1, 3), func(l []Segment) { l[3].Flushed = after.Add(-11 * time.Minute) }), after, yes, "1 2 3 4",
		},
		{
			"eight flushes of a day to which rows are still added",
			change(list(repeat(8, 20)...), func(l []Segment) { l[7].Flushed = after }), after, yes, "1 2 3 4 5 6 7 8",
		},
		{"a late row does not rewrite a day", list(200, 0.1), after, yes, ""},
		{"not too much at once", list(repeat(100, 1)...), during, yes, ids(list(repeat(64, 1)...))},
		{"two days", change(list(repeat(8, 1)...), func(l []Segment) { l[3].Day = 1 }), during, yes, ""},
		{"two tables", change(list(repeat(8, 1)...), func(l []Segment) { l[3].Group.Table = 2 }), during, yes, ""},
		{"a short ttl", change(list(repeat(9, 1)...), func(l []Segment) {
			for i := range l {
				l[i].MaxSpan = 5 * time.Minute
			}
		}), during, yes, ""},
		{
			"one of them with a shorter ttl",
			change(list(repeat(8, 1)...), func(l []Segment) { l[0].MaxSpan = 5 * time.Minute }), during, yes, "",
		},
		{"half dead", change(list(100, 100), func(l []Segment) { l[1].DeadRows = 500 }), during, yes, "2"},
		{"less than half dead", change(list(100, 100), func(l []Segment) { l[1].DeadRows = 499 }), during, yes, ""},
		{
			"an eighth of the row groups dead",
			change(list(900, 100), func(l []Segment) { l[0].DeadRows, l[0].Droppable = 125, true }), during, yes, "1",
		},
		{
			"fewer row groups dead",
			change(list(100, 100), func(l []Segment) { l[1].DeadRows, l[1].Droppable = 124, true }), during, yes, "",
		},
		{
			"a row group dead of one that may be cut",
			change(list(900, 100), func(l []Segment) { l[0].DeadRows, l[0].Droppable, l[0].Cut = 1, true, true }), during,
			yes, "1",
		},
		{
			"no row group dead of one that may be cut",
			change(list(900, 100), func(l []Segment) { l[0].Droppable, l[0].Cut = true, true }), during, yes, "",
		},
		{
			"few rows long dead", change(list(100, 100), func(l []Segment) { l[1].DeadRows, l[1].Overdue = 1, true }),
			during, yes, "2",
		},
		{"a big one, all but dead", change(list(900), func(l []Segment) { l[0].DeadRows = 999 }), during, yes, "1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, debt := Pick(test.list, test.now, test.allowed)
			if ids(got) != test.want {
				t.Errorf("picked %q, want %q", ids(got), test.want)
			}
			if (debt > 0) != (test.want != "") || debt < size(got) {
				t.Errorf("debt %d", debt)
			}
		})
	}
}

// TestAmplification flushes a table for a long time and checks how often each byte is written, and
// how many segments are left.
func TestAmplification(t *testing.T) {
	for _, test := range []struct {
		flush    float64 // MiB
		flushes  int     // flushes a day
		most     float64 // the number of times that compactions write a byte
		segments int     // segments after three days
	}{{20, 500, 1.1, 220}, {15.5, 500, 1.1, 220}, {0.1, 288, 3.5, 15}, {4, 288, 2.2, 30}, {64, 50, 0.1, 150}} {
		var live []Segment
		next, written, flushed := uint64(1), int64(0), int64(0)
		for i := range 3 * test.flushes {
			now := time.Unix(int64(i)*86400/int64(test.flushes), 0)
			live = append(live, Segment{
				ID: next, Order: next, Bytes: int64(test.flush * (1 << 20)), Rows: 1, Group: Group{Table: 1}, Days: 1,
				Day: now.Unix() / 86400, MinTime: now, MaxTime: now,
			})
			next++
			flushed += live[len(live)-1].Bytes
			var more int64
			live, more = mergeDue(live, now, &next)
			written += more
		}
		amplification := float64(written) / float64(flushed)
		t.Logf("flushes of %g MiB: a byte is written %.2f times by compactions, %d segments are left", test.flush,
			amplification, len(live))
		if amplification > test.most || len(live) > test.segments {
			t.Errorf("flushes of %g MiB: a byte is written %.2f times by compactions, want at most %.2f; "+
				"%d segments are left, want at most %d", test.flush, amplification, test.most, len(live), test.segments)
		}
	}
}

// mergeDue does all compactions that are due, and returns the segments afterwards and the bytes that were written.
func mergeDue(live []Segment, now time.Time, next *uint64) (left []Segment, written int64) {
	for {
		picked, _ := Pick(live, now, func([]Segment) bool { return true })
		if picked == nil {
			return live, written
		}
		out := picked[len(picked)-1]
		out.ID, out.Bytes, out.MinTime, out.Flushed = *next, size(picked), picked[0].MinTime, time.Time{}
		*next++
		written += out.Bytes
		gone := map[uint64]bool{}
		for _, p := range picked {
			gone[p.ID] = true
		}
		kept := []Segment{out}
		for _, s := range live {
			if !gone[s.ID] {
				kept = append(kept, s)
			}
		}
		live = kept
	}
}

// TestLoadOfAnEarlierDay flushes rows of an earlier day one after another, and checks how often each byte is written.
func TestLoadOfAnEarlierDay(t *testing.T) {
	now := time.Unix(30*86400, 0)
	var live []Segment
	next, written, flushed := uint64(1), int64(0), int64(0)
	for i := range 100 {
		at := time.Unix(int64(i), 0)
		live = append(live, Segment{
			ID: next, Order: next, Bytes: 15 << 20, Rows: 1, Group: Group{Table: 1}, Days: 1, MinTime: at, MaxTime: at,
			Flushed: now,
		})
		next++
		flushed += live[len(live)-1].Bytes
		more := int64(0)
		live, more = mergeDue(live, now, &next)
		written += more
		now = now.Add(3 * time.Second)
	}
	live, more := mergeDue(live, now.Add(quietTime), &next)
	written += more
	amplification := float64(written) / float64(flushed)
	t.Logf("a byte is written %.2f times by compactions, %d segments are left", amplification, len(live))
	if amplification > 1.05 || len(live) > 15 {
		t.Errorf("a byte is written %.2f times by compactions, want at most 1.05; %d segments are left, want at most 15",
			amplification, len(live))
	}
}
