package tier

import (
	"testing"

	"cordwood/proto/schema"
	"cordwood/shard/manifest"
	"cordwood/shard/rules"
	"cordwood/shard/segment"
	"cordwood/shard/store"
)

// TestLogOfReturnedRows checks that the log is kept for rows of a cut that went to no object, from the entry on that
// the replica noted before the cut.
func TestLogOfReturnedRows(t *testing.T) {
	t.Parallel()
	orders := func(numbers ...uint64) (list []manifest.CutOrder) {
		for _, n := range numbers {
			list = append(list, manifest.CutOrder{Number: n, TableID: 1, Order: 10 * n})
		}
		return list
	}
	counted := []manifest.Counted{{TableID: 1, Unknown: true, Returned: []manifest.CutRange{{First: 1, Last: 1}}}}
	const hot, cut = 5, 1 // the order of a segment, the number of the first cut
	for _, tt := range []struct {
		name string
		// later is the order of a segment that is flushed while the cut is open, or 0.
		later uint64
		after manifest.State // after the cut was closed
		want  uint64
	}{
		{"in objects", 0, manifest.State{Cold: manifest.Cold{LastCut: cut}, CutOrders: orders(1)}, 41},
		{"in objects, with later rows", 15, manifest.State{Cold: manifest.Cold{LastCut: cut}, CutOrders: orders(1)}, 21},
		{"returned", 0, manifest.State{Cold: manifest.Cold{LastCut: cut, Counted: counted}}, 11},
		{"returned, with later rows", 15, manifest.State{Cold: manifest.Cold{LastCut: cut, Counted: counted}}, 11},
		{"returned, and in the next cut", 0, manifest.State{
			Cold:      manifest.Cold{LastCut: 2, Counted: counted, Open: &manifest.Cut{Number: 2}},
			CutOrders: orders(2),
		}, 11},
		{"returned, and in objects of the next cut", 0, manifest.State{
			Cold: manifest.Cold{LastCut: 2, Counted: counted}, CutOrders: orders(2),
		}, 41},
	} {
		l := &logFrom{seen: true, applied: 10}
		see := func(st *manifest.State, applied uint64, segments ...uint64) {
			st.AppliedIndex = applied
			for _, order := range segments {
				if order > 0 {
					st.Segments = append(st.Segments, segment.Meta{ID: order, TableID: 1, Order: order})
				}
			}
			list := []store.HotTable{{Def: &rules.Definition{Table: &schema.Table{ID: 1}}}}
			l = l.next(st, st.Cold.LastCut, list, func(*store.HotTable) bool { return true })
			saved, ok := parseLogFrom(l.text())
			if !ok || !saved.same(l) || saved.applied != l.applied {
				t.Errorf("%s: saved as %q", tt.name, l.text())
			}
		}
		see(&manifest.State{}, 20, hot)
		open := &manifest.State{Cold: manifest.Cold{LastCut: cut, Open: &manifest.Cut{Number: cut}}, CutOrders: orders(1)}
		see(open, 30, hot, tt.later)
		if from, _ := l.of(open); from != 11 {
			t.Errorf("%s: the open cut needs the log from %d", tt.name, from)
		}
		see(&tt.after, 40, hot, tt.later)
		if from, without := l.of(&tt.after); from != tt.want || len(without) > 0 {
			t.Errorf("%s: the log is needed from %d, not %d; without %v", tt.name, from, tt.want, without)
		}
	}
}
