package tier

import (
	"slices"
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
		if n := l.of(open, 1); n.from != 11 {
			t.Errorf("%s: the open cut needs the log from %d", tt.name, n.from)
		}
		before := *l
		see(&tt.after, 40, hot, tt.later)
		if n := before.of(&tt.after, 1); n.from > tt.want {
			t.Errorf("%s: what was known before says that the log is needed from %d", tt.name, n.from)
		}
		if n := l.of(&tt.after, 1); n.from != tt.want || n.first != tt.want || len(n.without) > 0 {
			t.Errorf("%s: the log is needed from %d and %d, not %d; without %v", tt.name, n.from, n.first, tt.want, n.without)
		}
	}
}

// TestLogBegins checks what a state needs if entries with rows in no object are not in the bucket any more, because
// their table stayed on the local disks for some time: the tables are named, and others get all their rows.
func TestLogBegins(t *testing.T) {
	t.Parallel()
	st := &manifest.State{AppliedIndex: 100, Cold: manifest.Cold{LastCut: 2, Open: &manifest.Cut{Number: 2}}}
	l := &logFrom{
		seen: true, applied: 100,
		tables: map[uint64]tableFrom{
			1: {index: 40}, 2: {index: 60}, 3: {index: 50, stays: true}, 4: {index: 30}, 5: {index: 61, stays: true},
		},
		held: []heldFrom{{table: 4, cut: 2, index: 20}, {table: 6, cut: 2, index: 65}, {table: 7, cut: 1, index: 5}},
	}
	for start, want := range map[uint64]logNeed{
		0:  {20, 20, nil},
		20: {20, 20, nil},
		41: {60, 20, []uint64{1, 3, 4}},
		66: {101, 20, []uint64{1, 2, 3, 4, 5, 6}},
	} {
		got := l.of(st, start)
		if got.from != want.from || got.first != want.first || !slices.Equal(got.without, want.without) {
			t.Errorf("the log begins at %d: %+v, want %+v", start, got, want)
		}
	}
}
