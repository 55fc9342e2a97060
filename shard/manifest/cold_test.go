package manifest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cordwood/shard/cold"
	"cordwood/shard/segment"
)

// object returns an object of a set.
func object(cut uint64, key string, m segment.Meta) cold.Object {
	m.ID, m.Order = 0, 0
	return cold.Object{Key: key, Cut: cut, Day: -3, TailOffset: 4000, TailCRC: 0xabcdef01, Meta: m}
}

func span(table uint64) segment.TableSpan {
	return segment.TableSpan{TableID: table, Rows: 7, MinTime: -1, MaxTime: 9}
}

// coldEdits returns a history of cuts, after edits and newEdits.
func coldEdits() []*Edit {
	own, both := seg(1, 7), shared(2, span(7), span(1<<40))
	return []*Edit{
		{ // cut 1 is open
			AppliedIndex: 14, AppliedTerm: 2, Clock: 5000, Reserved: []uint64{15},
			Cold: &Cold{
				LastCut: 1, Counted: []Counted{{TableID: 7}, {TableID: 1 << 40, Unknown: true}},
				Open: &Cut{Number: 1, Index: 14, At: 5000, Tables: []Counted{
					{TableID: 7, Rows: 20, MinTime: -5}, {TableID: 1 << 40, Rows: 3, Unknown: true, Expired: true},
				}},
			},
			CutOrders: []CutOrder{{1, 7, 16}, {1, 1 << 40, 17}},
		},
		{ // its objects are there, and the next cut is open
			AppliedIndex: 16, AppliedTerm: 2, Clock: 6000, Reserved: []uint64{15},
			Expire: []Expiry{{TableID: 7, Before: 11, Order: 12, Index: 16}},
			Cold: &Cold{
				LastCut: 2, Counted: []Counted{{TableID: 7, Rows: 4, MinTime: 3}, {TableID: 1 << 40}},
				Open: &Cut{Number: 2, Index: 15, At: 5500, Tables: []Counted{{TableID: 7, Rows: 1}}},
			},
			Sets: []Set{{1, 14, []cold.Object{object(1, "data/7/a", own), object(1, "data/0/b", both)}, nil}},
		},
		{Reserved: []uint64{15}}, // a compaction
		{ // cut 2 had no rows to keep, and an object of set 1 is dead
			AppliedIndex: 18, AppliedTerm: 2, Clock: 7000, Reserved: []uint64{15},
			Cold: &Cold{
				LastCut: 2, Counted: []Counted{{TableID: 7, Rows: 4, MinTime: 3}, {TableID: 1 << 40}},
				Dead: []DeadObject{{"data/7/a", 4096, 6500}},
			},
			Sets:      []Set{{1, 14, []cold.Object{object(1, "data/0/b", both)}, nil}},
			CutOrders: []CutOrder{{1, 7, 16}, {2, 7, 18}},
		},
	}
}

func coldFinal() *State {
	s := newFinal()
	s.AppliedIndex, s.Clock = 18, 7000
	s.Segments = s.Segments[2:] // rows of table 7 before 11 have expired, except those that a segment shares
	s.Sessions = nil
	s.Expired[0] = Expiry{TableID: 7, Before: 11, Order: 12, Index: 16}
	s.Cold, s.Sets = *coldEdits()[3].Cold, coldEdits()[3].Sets
	s.CutOrders = []CutOrder{{1, 7, 16}, {2, 7, 18}, {1, 1 << 40, 17}} // rows before the end of cut 2 have not expired
	return s
}

// TestCold commits cuts, sets and dead objects. They must survive every later edit, a new start, a rewrite of the file,
// and the way to another replica.
func TestCold(t *testing.T) {
	fsys := mem(t)
	m := open(t, fsys, "/s")
	commit(t, m, edits()...)
	commit(t, m, newEdits()...)
	commit(t, m, coldEdits()[:3]...)
	if got := open(t, fsys, "/s").State(); got.Cold.Open == nil || got.Cold.Open.Number != 2 || len(got.Sets) != 1 ||
		len(got.Sets[0].Objects) != 2 || len(got.CutOrders) != 2 {
		t.Errorf("with an open cut: %+v, %+v, %+v", got.Cold, got.Sets, got.CutOrders)
	}
	commit(t, m, coldEdits()[3], coldEdits()[3])
	want := coldFinal()
	want.Segments = m.State().Segments
	want.Garbage = m.State().Garbage
	equal(t, "committed", want, m.State())
	equal(t, "opened", want, open(t, fsys, "/s").State())
	moved, err := DecodeState("another replica", want.Encode())
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "in another replica", want, moved)
	m = open(t, fsys, "/s")
	commit(t, m, &Edit{Reserved: []uint64{15}}) // the first edit after a start writes a new file
	equal(t, "rewritten", want, open(t, fsys, "/s").State())

	// A dropped table has no cuts any more, and neither has a set that has gone.
	commit(t, m, &Edit{AppliedIndex: 19, AppliedTerm: 2, Drop: []uint64{7}, Cold: &Cold{LastCut: 2}})
	if got := m.State().CutOrders; len(got) != 1 || got[0].TableID != 1<<40 {
		t.Errorf("after the drop of table 7: %+v", got)
	}
	commit(t, m, &Edit{
		AppliedIndex: 20, AppliedTerm: 2, Sets: []Set{{Number: 1}}, Cold: &Cold{LastCut: 2},
		Expire: []Expiry{{TableID: 1 << 40, Before: 10, Order: 17}},
	})
	if got := open(t, fsys, "/s").State(); len(got.Sets)+len(got.CutOrders)+len(got.Cold.Dead) > 0 ||
		got.Cold.LastCut != 2 {
		t.Errorf("after the end of the last set: %+v, %+v, %+v", got.Cold, got.Sets, got.CutOrders)
	}
}

// TestColdGolden reads the first file with object storage, and checks that the same edits still give its bytes.
func TestColdGolden(t *testing.T) {
	b := appendHeader(nil, 17)
	want := &State{}
	for _, e := range append(append(edits(), newEdits()...), coldEdits()...) {
		b = appendRecord(b, e)
		want = want.apply(e)
	}
	name := filepath.Join("testdata", "cold.manifest")
	if *update {
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b, golden) {
		t.Error("the bytes that are written have changed")
	}
	f, err := parse(name, golden)
	if err != nil {
		t.Fatal(err)
	}
	state := &State{}
	for i := range f.edits {
		state = state.apply(&f.edits[i].edit)
	}
	equal(t, name, want, state)
	p := &printer{w: &strings.Builder{}}
	p.edit(&f.edits[len(f.edits)-3].edit)
	for _, text := range []string{
		"set 1: 2 objects with the rows of its cut up to index 14", "cut 2 is open since index 15",
		"object data/7/a: table 7", "appended since the last cut: table 7, 4 rows", "day 1969-12-29",
	} {
		if out := p.w.(*strings.Builder).String(); !strings.Contains(out, text) {
			t.Errorf("%q is missing in:\n%s", text, out)
		}
	}
}

// TestObjectOfDamage checks that an object is refused if its encoded form is cut short or has an unknown field.
func TestObjectOfDamage(t *testing.T) {
	o := object(0, "data/0/b", shared(2, span(7), span(9)))
	b := AppendObject(nil, &o)
	for n := range len(b) {
		if got, err := DecodeObject("x", b[:n]); err == nil && got.Key == o.Key && got.Meta.Rows == o.Meta.Rows &&
			len(got.Meta.Columns) == len(o.Meta.Columns) {
			t.Errorf("%d of %d bytes are read as a whole object", n, len(b))
		}
	}
	if _, err := DecodeObject("x", append(bytes.Clone(b), 0x78, 1)); err == nil {
		t.Error("an unknown field was skipped")
	}
}

// TestForgetOrders forgets the orders of cuts without a set, and of joined ones, when no segment of the table is before
// them any more.
func TestForgetOrders(t *testing.T) {
	t.Parallel()
	of := func(id, table uint64) segment.Meta { m := seg(id, table); m.Order = 10 * id; return m }
	raw := of(3, 8)
	raw.Raw = true
	last := Set{Number: 4, Index: 4, Objects: []cold.Object{
		object(4, "a", of(1, 7)), object(4, "b", of(1, 8)), object(4, "c", of(1, 9)),
	}}
	edit := &Edit{
		AppliedIndex: 5, AppliedTerm: 1, Cold: &Cold{LastCut: 4}, Sets: []Set{last},
		Tables: []Table{{ID: 7}, {ID: 8}, {ID: 9}}, Add: []segment.Meta{of(2, 7), raw, of(6, 7), of(6, 9)},
	}
	for _, id := range []uint64{7, 8, 9} {
		for n := range uint64(4) {
			edit.CutOrders = append(edit.CutOrders, CutOrder{n + 1, id, 15 + 10*n})
		}
		last.Joined = append(last.Joined, Joined{id, []uint64{1, 2, 3, 4}})
	}
	edit.Add[3].ID = 7
	edit.Sets = append(edit.Sets, Set{Number: 1, Index: 1, Objects: []cold.Object{object(1, "d", of(1, 7))}})
	s := (&State{}).apply(edit)
	want := []CutOrder{ // nothing was joined: the cuts 1 and 4 have sets, and some of the others segments
		{1, 7, 15},
		{2, 7, 25},
		{3, 7, 35},
		{4, 7, 45},
		{1, 8, 15},
		{2, 8, 25},
		{3, 8, 35},
		{4, 8, 45},
		{1, 9, 15},
		{4, 9, 45},
	}
	equal(t, "not joined", &State{CutOrders: want}, &State{CutOrders: s.CutOrders})
	s = (&State{}).apply(&Edit{
		AppliedIndex: 5, AppliedTerm: 1, Cold: edit.Cold, Sets: []Set{last}, Tables: edit.Tables, Add: edit.Add,
		CutOrders: edit.CutOrders,
	})
	want = []CutOrder{
		{4, 7, 45},                                     // the segment of cut 1 is dead
		{1, 8, 15}, {2, 8, 25}, {3, 8, 35}, {4, 8, 45}, // rows that cannot be written may belong to any cut
		{4, 9, 45},
	}
	equal(t, "joined", &State{CutOrders: want}, &State{CutOrders: s.CutOrders})
	if len(s.Segments) != 3 || s.Segments[0].ID != 3 {
		t.Errorf("segments: %+v", s.Segments)
	}
}
