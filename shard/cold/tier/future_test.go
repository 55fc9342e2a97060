package tier

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestFutureRows dates sets with rows of the future by the moment at which they were seen first.
func TestFutureRows(t *testing.T) {
	const day = 24 * time.Hour
	start := time.Unix(0, 0).Add(100 * day)
	m := &Mover{}
	at := func(now time.Time) (days []int64) {
		all := map[uint64][]joinable{7: {
			{cut: 1, day: 90, newest: start.Add(-10 * day)},
			{cut: 2, day: 3650, newest: start.Add(3550 * day)},
			{cut: 3, day: 101, newest: start.Add(day)},
		}}
		for _, s := range m.dated(all, now)[7] {
			if s.newest.After(now) {
				t.Errorf("cut %d has the time %s at %s", s.cut, s.newest, now)
			}
			days = append(days, s.day)
		}
		return days
	}
	for _, now := range []time.Time{start, start.Add(time.Hour), start.Add(20 * day)} {
		if d := cmp.Diff([]int64{90, 100, 100}, at(now)); d != "" {
			t.Error(d)
		}
	}
}

// TestLargeSets looks for sets to join that are so large that three of them fill an object.
func TestLargeSets(t *testing.T) {
	may := func([]joinable, *joinable) bool { return true }
	for _, c := range []struct {
		mib  []int64
		want int
	}{
		{[]int64{60, 60}, 0},
		{[]int64{40, 40, 40}, 0},
		{[]int64{60, 60, 60}, 3},
		{[]int64{60, 60, 60, 60}, 3},
		{[]int64{60, 60, 60, 70}, 3},
		{[]int64{10, 10, 10}, 0},
		{[]int64{10, 10, 10, 10}, 4},
		{[]int64{63, 20, 20}, 0},
	} {
		var list []joinable
		for i, n := range c.mib {
			list = append(list, joinable{cut: uint64(i), bytes: n << 20})
		}
		if got := findJoin(list, 64<<20, may); len(got) != c.want {
			t.Errorf("%v MiB: %d sets are joined, want %d", c.mib, len(got), c.want)
		}
	}
}
