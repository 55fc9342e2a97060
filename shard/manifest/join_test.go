package manifest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/shard/cold"
	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

// TestJoined commits a join of the cuts 2 and 3 of table 1. The segments with their rows are dead, and those of the
// cuts before and after are not, nor those of other tables. Raw segments stay, because their cuts are not noted. All of
// it survives a new start and a rewrite of the file.
func TestJoined(t *testing.T) {
	t.Parallel()
	fsys := vfs.NewMem()
	if err := fsys.MkdirAll("/s"); err != nil {
		t.Fatal(err)
	}
	m := open(t, fsys, "/s")
	own := func(id, table uint64) segment.Meta {
		return segment.Meta{ID: id, TableID: table, Order: id, Rows: 2, MaxTime: 9, Bytes: 30}
	}
	both := own(15, 0)
	both.Tables = []segment.TableSpan{{TableID: 1, Rows: 1, MaxTime: 9}, {TableID: 2, Rows: 1, MaxTime: 9}}
	raw := own(18, 1)
	raw.Raw = true
	set := func(n uint64) Set {
		return Set{Number: n, Index: n, Objects: []cold.Object{object(n, "k"+string(rune('0'+n)), own(0, 1))}}
	}
	orders := []CutOrder{{1, 1, 11}, {2, 1, 14}, {3, 1, 17}, {4, 1, 20}, {3, 2, 17}}
	commit(t, m, &Edit{
		AppliedIndex: 5, AppliedTerm: 1, NextSegmentID: 30,
		Tables: []Table{table(1, 1), table(2, 1)}, Cold: &Cold{LastCut: 4}, CutOrders: orders,
		Sets: []Set{set(1), set(2), set(3), set(4)},
		Add:  []segment.Meta{own(10, 1), own(11, 1), own(13, 1), own(14, 2), both, own(16, 1), own(17, 1), raw, own(20, 1)},
	})
	joining := &Cut{Number: 5, Index: 7, At: 8, Joins: []Joined{{1, []uint64{2, 3}}}}
	commit(t, m, &Edit{AppliedIndex: 7, AppliedTerm: 1, Cold: &Cold{LastCut: 5, Open: joining}})
	if d := cmp.Diff(joining, open(t, fsys, "/s").State().Cold.Open); d != "" {
		t.Error(d)
	}
	joined := set(3)
	joined.Joined = []Joined{{1, []uint64{2, 3}}}
	commit(t, m, &Edit{
		AppliedIndex: 9, AppliedTerm: 1, Cold: &Cold{LastCut: 5}, Sets: []Set{{Number: 2}, joined},
	})
	check := func(what string, st *State) {
		t.Helper()
		var ids []uint64
		for i := range st.Segments {
			ids = append(ids, st.Segments[i].ID)
		}
		if d := cmp.Diff([]uint64{10, 14, 15, 17, 18, 20}, ids); d != "" {
			t.Errorf("%s: segments: %s", what, d)
		}
		if d := cmp.Diff(orders, st.CutOrders); d != "" {
			t.Errorf("%s: orders: %s", what, d)
		}
		if len(st.Sets) != 3 || !cmp.Equal(joined, st.Sets[1]) {
			t.Errorf("%s: %+v", what, st.Sets)
		}
	}
	check("committed", m.State())
	check("restarted", open(t, fsys, "/s").State())
	// A segment that is added later, with rows of these cuts, is dead at once.
	commit(t, m, &Edit{Add: []segment.Meta{{ID: 21, TableID: 1, Order: 12, Rows: 1, MaxTime: 9}}})
	check("added", m.State())
	check("anew", (&State{}).apply(m.State().asEdit()))
	// Without the set, the orders of its cuts are needed only for rows that have not expired.
	commit(t, m, &Edit{
		AppliedIndex: 10, AppliedTerm: 1, Cold: &Cold{LastCut: 5}, Sets: []Set{{Number: 3}}, Remove: []uint64{10, 18},
		Expire: []Expiry{{TableID: 1, Before: 10, Order: 17}},
	})
	if d := cmp.Diff([]CutOrder{{1, 1, 11}, {4, 1, 20}, {3, 2, 17}}, m.State().CutOrders); d != "" {
		t.Errorf("after the end of the set: %s", d)
	}
}

// TestDays encodes and decodes a join of a day, an object that it has made, and the cuts whose rows are read from
// objects only. Segments with rows of these cuts are dead, and the orders of the cuts stay as long as there are some.
func TestDays(t *testing.T) {
	t.Parallel()
	for _, day := range []int64{-20000, 0, 20000} {
		want := &Cut{
			Number: 5, Index: 6, At: 7, Joins: []Joined{{TableID: 8, Cuts: []uint64{1, 4}}}, ByDay: true, Day: day,
		}
		r := reader{name: "test"}
		if got := r.cut(appendCut(want)); r.err != nil || !cmp.Equal(want, got) {
			t.Errorf("%v: %s", r.err, cmp.Diff(want, got))
		}
	}
	o := object(0, "k", seg(1, 7))
	o.Kind = cold.Day
	if got, err := DecodeObject("test", AppendObject(nil, &o)); err != nil || !cmp.Equal(o, got) {
		t.Errorf("%v: %s", err, cmp.Diff(o, got))
	}
	o.Kind++
	if _, err := DecodeObject("test", AppendObject(nil, &o)); err == nil {
		t.Error("an unknown kind is decoded")
	}
	c := Counted{TableID: 7, Rows: 3, Hidden: []CutRange{{1, 2}, {4, 9}}, Returned: []CutRange{{3, 3}}}
	r := reader{name: "test"}
	if got := r.counted(appendCounted(&c)); r.err != nil || !cmp.Equal(c, got) {
		t.Errorf("%v: %s", r.err, cmp.Diff(c, got))
	}
	s := &State{
		Cold:      Cold{LastCut: 3, Counted: []Counted{{TableID: 7, Hidden: []CutRange{{1, 2}}}}},
		CutOrders: []CutOrder{{1, 7, 10}, {2, 7, 20}, {3, 7, 30}},
	}
	for order, want := range map[uint64]bool{5: true, 15: true, 25: false, 35: false} {
		m := seg(1, 7)
		m.Order = order
		if got := s.Dead().Segment(&m); got != want {
			t.Errorf("a segment of order %d is dead: %t", order, got)
		}
	}
	if s.forgetOrders(); len(s.CutOrders) != 0 { // it has no segments
		t.Errorf("orders %v", s.CutOrders)
	}
}
