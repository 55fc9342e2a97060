package rules

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"cordwood/proto/column"
	"cordwood/shard/cold"
	"cordwood/shard/manifest"
	"cordwood/shard/segment"
	"cordwood/shard/shardtest"
)

// coldWorld is a state with tables 1 to 3, which keep every row.
func coldWorld(t *testing.T) *State {
	t.Helper()
	st := stateOf(t, shardID, &manifest.State{})
	for id := range uint64(3) {
		st.Define(definitionOf(t, shardtest.Table(id+1)))
	}
	return st
}

// stored returns the state after it was flushed and loaded.
func stored(t *testing.T, st *State) *State {
	t.Helper()
	m := &manifest.State{Clock: st.Clock}
	for _, d := range st.Tables {
		m.Tables = append(m.Tables, d.stored)
	}
	for id, at := range st.Dropped {
		m.Dropped = append(m.Dropped, manifest.Tombstone{TableID: id, At: at})
	}
	for _, x := range st.Expired {
		m.Expired = append(m.Expired, x)
	}
	if c := st.StoredCold(); c != nil {
		m.Cold = *c
	}
	for _, s := range st.Sets() {
		m.Sets = append(m.Sets, *s)
	}
	return stateOf(t, shardID, m)
}

func appendRows(st *State, table uint64, rows int, from int64) {
	st.Appended(&column.Header{TableID: table, Rows: rows, MinTime: from, MaxTime: from + int64(rows) - 1})
}

func cutOf(number uint64, tables ...uint64) *Cut { return &Cut{Number: number, Tables: tables} }

// ownObject is an object with rows of one table.
func ownObject(key string, table uint64, rows, from, to int64) cold.Object {
	return cold.Object{Key: key, Meta: segment.Meta{TableID: table, Rows: rows, MinTime: from, MaxTime: to, Bytes: 100}}
}

func wantRefusal(t *testing.T, err error, mismatch bool, text string) {
	t.Helper()
	refused := (*ErrCold)(nil)
	if !errors.As(err, &refused) || refused.Mismatch != mismatch || !strings.Contains(refused.Error(), text) {
		t.Errorf("%v, want a refusal (mismatch %t) with %q", err, mismatch, text)
	}
}

// TestCutAndOffload opens cuts and closes them. What the rules refuse changes nothing.
func TestCutAndOffload(t *testing.T) {
	t.Parallel()
	st := coldWorld(t)
	st.Tick(1000)
	_, err := st.Cut(cutOf(2, 1), 5)
	wantRefusal(t, err, false, "the last cut was 0")
	_, err = st.Cut(cutOf(1, 2, 1), 5)
	wantRefusal(t, err, false, "table 1 is not in ascending order")
	_, err = st.Cut(cutOf(1, 77), 5)
	wantRefusal(t, err, false, "none of its 1 tables")
	wantRefusal(t, st.Offload(&Offload{Number: 1}), false, "not open")
	if last, open := st.LastCut(); last != 0 || open != nil || st.StoredCold() != nil {
		t.Fatalf("after refusals: last cut %d, %+v", last, open)
	}

	appendRows(st, 1, 10, 0) // not counted: the table was never in a cut
	if tables, err := st.Cut(cutOf(1, 1, 3, 77), 6); err != nil || !slices.Equal(tables, []uint64{1, 3}) {
		t.Fatal(tables, err)
	}
	appendRows(st, 1, 4, 50)
	appendRows(st, 1, 2, 40)
	appendRows(st, 2, 9, 0)
	st = stored(t, st)
	_, err = st.Cut(cutOf(2, 1), 7)
	wantRefusal(t, err, false, "cut 1 is open since index 6")
	want := &manifest.Cut{
		Number: 1, Index: 6, At: 1000,
		Tables: []manifest.Counted{{TableID: 1, Unknown: true}, {TableID: 3, Unknown: true}},
	}
	if _, open := st.LastCut(); !cmp.Equal(want, open) {
		t.Error(cmp.Diff(want, open))
	}
	// The rows of the first cut of a table are not known, so any number is right.
	first := &Offload{
		Number: 1, Tables: []Offloaded{{1, 8, 0}, {3, 0, 1}}, Objects: []cold.Object{ownObject("a", 1, 8, 0, 9)},
	}
	for _, bad := range []struct {
		change func(o *Offload)
		text   string
	}{
		{func(o *Offload) { o.Number = 2 }, "not open"},
		{func(o *Offload) { o.Tables = o.Tables[:1] }, "it has 1 tables, the cut has 2"},
		{func(o *Offload) { o.Tables[1].TableID = 2 }, "table 2 in the place of table 3"},
		{func(o *Offload) { o.Tables[0].Kept = 9 }, "8 rows in the objects, 9 were announced"},
		{func(o *Offload) { o.Tables[1].LeftOut = -1 }, "table 3"},
		{func(o *Offload) { o.Objects = append(o.Objects, ownObject("b", 2, 1, 0, 0)) }, "table 2, which is not in the cut"},
		{func(o *Offload) { o.Objects = append(o.Objects, o.Objects[0]) }, `key "a" is not unique`},
		{func(o *Offload) { o.Objects[0].Key = "" }, `key "" is not unique`},
	} {
		o := &Offload{Number: 1, Tables: slices.Clone(first.Tables), Objects: slices.Clone(first.Objects)}
		bad.change(o)
		wantRefusal(t, st.Offload(o), false, bad.text)
	}
	if err := st.Offload(first); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, st.Offload(first), false, "not open")
	wantRefusal(t, func() error { _, err := st.Cut(cutOf(1, 1), 8); return err }(), false, "the last cut was 1")
	st = stored(t, st)

	// From the second cut on every row counts.
	if _, err := st.Cut(cutOf(2, 1), 9); err != nil {
		t.Fatal(err)
	}
	appendRows(st, 1, 100, 0)
	second := func(kept, left int64) *Offload {
		return &Offload{
			Number: 2, Tables: []Offloaded{{1, kept, left}}, Objects: []cold.Object{ownObject("b", 1, kept, 40, 53)},
		}
	}
	for _, rows := range []int64{5, 7, math.MaxInt64} {
		wantRefusal(t, st.Offload(second(rows, 0)), true, "but 6 were appended")
	}
	inUse := second(6, 0)
	inUse.Objects[0].Key = "a"
	wantRefusal(t, st.Offload(inUse), false, `key "a" is in use`)
	if err := st.Offload(second(5, 1)); err != nil {
		t.Fatal(err)
	}
	sets := stored(t, st).Sets()
	if len(sets) != 2 || sets[0].Index != 6 || sets[1].Index != 9 || sets[1].Objects[0].Cut != 2 {
		t.Errorf("sets %+v", sets)
	}
}

// TestCountsOfCuts checks when the number of rows of a cut is not known, or is only an upper limit.
func TestCountsOfCuts(t *testing.T) {
	t.Parallel()
	st := coldWorld(t)
	offload := func(number uint64, rows ...int64) error {
		o := &Offload{Number: number}
		for i, n := range rows {
			o.Tables = append(o.Tables, Offloaded{TableID: uint64(i + 1), LeftOut: n})
		}
		return st.Offload(o)
	}
	cut := func(number uint64) {
		t.Helper()
		if _, err := st.Cut(cutOf(number, 1, 2, 3), 10*number); err != nil {
			t.Fatal(err)
		}
	}
	cut(1)
	if err := offload(1, 1, 2, 3); err != nil {
		t.Fatal(err)
	}
	change := func(id uint64, version uint32, option, value string) {
		p := shardtest.Table(id)
		p.Version, p.Options[option] = version, value
		st.Define(definitionOf(t, p))
	}
	for id := range uint64(3) {
		appendRows(st, id+1, 5, 100)
	}
	change(1, 2, "skip_wal", "true") // rows that do not go through the log are not counted
	change(1, 3, "skip_wal", "false")
	st.Expire(Cutoff{2, 101}, 1, 19)
	cut(2)
	st.Expire(Cutoff{3, 100}, 1, 21) // before all its rows
	wantRefusal(t, offload(2, 9, 4, 4), true, "of table 3")
	wantRefusal(t, offload(2, 9, 6, 5), true, "of table 2")
	st.Expire(Cutoff{3, 101}, 1, 22)
	if err := offload(2, 9, 4, 0); err != nil {
		t.Fatal(err)
	}
	if last, open := st.LastCut(); last != 2 || open != nil || len(st.Sets()) > 0 {
		t.Errorf("a cut whose rows have all expired: %d, %+v, %+v", last, open, st.Sets())
	}

	// A table with skip_wal is never known, and a dropped table is not compared.
	change(2, 2, "skip_wal", "true")
	cut(3)
	appendRows(st, 2, 5, 1)
	st.Drop(3)
	if err := offload(3, 0, 77, 5); err != nil {
		t.Fatal(err)
	}
	// Tables that merge rows, and those that discard them, are in no cut.
	merging := shardtest.Table(4)
	merging.Options = map[string]string{}
	st.Define(definitionOf(t, merging))
	instant := shardtest.Table(5)
	instant.Options["ttl"] = "instant"
	st.Define(definitionOf(t, instant))
	if tables, err := st.Cut(cutOf(4, 1, 3, 4, 5), 40); err != nil || !slices.Equal(tables, []uint64{1}) {
		t.Errorf("the cut has the tables %d: %v", tables, err)
	}
}

// TestDeadObjects drops tables and lets rows expire. An object is dead when all its rows are.
func TestDeadObjects(t *testing.T) {
	t.Parallel()
	st := coldWorld(t)
	st.Expire(Cutoff{1, 50}, 1, 3) // earlier than the cut: later rows stay, whatever their time
	st.Tick(500)
	if _, err := st.Cut(cutOf(1, 1, 2, 3), 10); err != nil {
		t.Fatal(err)
	}
	shared := cold.Object{Key: "shared", Meta: segment.Meta{Rows: 3, Bytes: 7, Tables: []segment.TableSpan{
		{TableID: 2, Rows: 2, MinTime: 0, MaxTime: 9}, {TableID: 3, Rows: 1, MinTime: 5, MaxTime: 5},
	}}}
	if err := st.Offload(&Offload{
		Number: 1, Tables: []Offloaded{{1, 2, 0}, {2, 2, 0}, {3, 1, 0}},
		Objects: []cold.Object{ownObject("old", 1, 1, 0, 9), ownObject("new", 1, 1, 60, 70), shared},
	}); err != nil {
		t.Fatal(err)
	}
	live := func() (keys []string) {
		for _, s := range st.Sets() {
			for i := range s.Objects {
				keys = append(keys, s.Objects[i].Key)
			}
		}
		return keys
	}
	steps := []struct {
		name string
		do   func()
		want []string
		sets int // sets that a flush writes
	}{
		{"nothing", func() {}, []string{"old", "new", "shared"}, 1},
		{"a cutoff that changes nothing", func() { st.Expire(Cutoff{1, 50}, 1, 11) }, []string{"old", "new", "shared"}, 0},
		{"rows of one table expire", func() { st.Expire(Cutoff{1, 60}, 1, 12) }, []string{"new", "shared"}, 1},
		{"a table of two is dropped", func() { st.Drop(3) }, []string{"new", "shared"}, 0},
		{"the other one expires", func() { st.Expire(Cutoff{2, 10}, 1, 13) }, []string{"new"}, 1},
		{"the last one is dropped", func() { st.Drop(1) }, nil, 1},
	}
	for i, s := range steps {
		st.Tick(int64(1000 * (i + 1)))
		s.do()
		st.BuryObjects()
		if got := live(); !slices.Equal(got, s.want) {
			t.Errorf("%s: objects %q, want %q", s.name, got, s.want)
		}
		if got := st.TakeChanges().Sets; len(got) != s.sets {
			t.Errorf("%s: %d sets changed, want %d", s.name, len(got), s.sets)
		}
		st = stored(t, st)
	}
	want := []manifest.DeadObject{
		{Key: "old", Bytes: 100, At: 3000}, {Key: "shared", Bytes: 7, At: 5000}, {Key: "new", Bytes: 100, At: 6000},
	}
	if d := cmp.Diff(want, st.DeadObjects()); d != "" {
		t.Error(d)
	}
}

// TestCutMerging cuts a table whose rows merge: only if the entry says so, and without comparing its rows with those
// that were appended.
func TestCutMerging(t *testing.T) {
	t.Parallel()
	st := coldWorld(t)
	d := shardtest.Table(4)
	d.Options = map[string]string{"append_mode": "false", "merge_mode": "last_row"}
	st.Define(definitionOf(t, d))
	_, err := st.Cut(cutOf(1, 4), 5)
	wantRefusal(t, err, false, "none of its 1 tables")
	if tables, err := st.Cut(cutOf(1, 1, 4), 5); err != nil || !slices.Equal(tables, []uint64{1}) {
		t.Fatal(tables, err)
	}
	if err := st.Offload(&Offload{Number: 1, Tables: []Offloaded{{TableID: 1, LeftOut: 1}}}); err != nil {
		t.Fatal(err)
	}
	for number := uint64(2); number < 4; number++ {
		tables, err := st.Cut(&Cut{Number: number, Tables: []uint64{1, 4}, Merging: true}, 5+number)
		if err != nil || !slices.Equal(tables, []uint64{1, 4}) {
			t.Fatal(tables, err)
		}
		appendRows(st, 1, 3, 50)
		appendRows(st, 4, 3, 50)
		st = stored(t, st)
		kept := int64(3*(number-2) + 1) // of the first cut, the rows of table 1 are not counted either
		key := fmt.Sprint("k", number)
		if number == 3 {
			err := st.Offload(&Offload{
				Number: number, Tables: []Offloaded{{TableID: 1}, {TableID: 4, Kept: 4}},
				Objects: []cold.Object{ownObject(key, 4, 4, 50, 53)},
			})
			wantRefusal(t, err, true, "but 3 were appended")
		}
		tables1 := Offloaded{TableID: 1, LeftOut: 3}
		if number == 2 {
			tables1.LeftOut = 0
		}
		if err := st.Offload(&Offload{
			Number: number, Tables: []Offloaded{tables1, {TableID: 4, Kept: kept, LeftOut: 1}},
			Objects: []cold.Object{ownObject(key, 4, kept, 50, 53)},
		}); err != nil {
			t.Fatal(err)
		}
	}
	// Once the table keeps every row, its rows are counted from the next cut on.
	d.Version, d.Options = 2, map[string]string{"append_mode": "true"}
	st.Define(definitionOf(t, d))
	for number := uint64(4); number < 6; number++ {
		if _, err := st.Cut(&Cut{Number: number, Tables: []uint64{4}, Merging: true}, 5+number); err != nil {
			t.Fatal(err)
		}
		err := st.Offload(&Offload{Number: number, Tables: []Offloaded{{TableID: 4, LeftOut: 7}}})
		if number == 4 && err != nil {
			t.Fatal(err)
		}
		if number == 5 {
			wantRefusal(t, err, true, "but 2 were appended")
		}
		appendRows(st, 4, 2, 60)
	}
}

// TestColdEntries encodes and decodes cuts and offloads, also cut short.
func TestColdEntries(t *testing.T) {
	t.Parallel()
	object := ownObject("data/1/20000/7-1-3-9-x.parquet", 1, 8, -4, 9)
	object.Day, object.TailOffset, object.TailCRC = 20000, 90, 5
	entries := []*Entry{
		{Kind: KindCut, Time: 5, Cut: &Cut{Number: 3, Tables: []uint64{1, 1 << 40}}},
		{Kind: KindCut, Time: 5, Cut: &Cut{Number: 3, Tables: []uint64{1, 1 << 40}, Merging: true}},
		{Kind: KindOffload, Time: -5, Offload: &Offload{
			Number: 3, Tables: []Offloaded{{1, 8, 2}, {1 << 40, 0, 0}}, Objects: []cold.Object{object},
		}},
	}
	for _, e := range entries {
		data := AppendEntry(nil, e)
		got, err := DecodeEntry(data)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(e, got, cmpopts.EquateEmpty()); d != "" {
			t.Error(d)
		}
		for n := range len(data) {
			if _, err := DecodeEntry(data[:n]); err == nil {
				t.Errorf("kind %d: %d of %d bytes are an entry", e.Kind, n, len(data))
			}
		}
		var out strings.Builder
		if err := InspectEntry(&out, data); err != nil || !strings.Contains(out.String(), "cut 3") {
			t.Errorf("%s: %v", out.String(), err)
		}
		if err := CheckEntry(data); err != nil {
			t.Error(err)
		}
	}
}

// TestReturnedRows closes a cut of which the rows of a table went to no object. They belong to its next cut, whose rows
// are not compared with the number of appended ones: that lacks the rows that returned. Those of a table whose rows all
// expired do not return.
func TestReturnedRows(t *testing.T) {
	st := coldWorld(t)
	move := func(number uint64, tables []Offloaded, objects ...cold.Object) {
		t.Helper()
		if _, err := st.Cut(cutOf(number, 1, 2), 4+number); err != nil {
			t.Fatal(err)
		}
		if err := st.Offload(&Offload{Number: number, Tables: tables, Objects: objects}); err != nil {
			t.Fatal(err)
		}
		st = stored(t, st)
	}
	returned := func(want ...bool) {
		t.Helper()
		for i, want := range want {
			if got := st.Returned(1, uint64(i+1)); got != want || st.Returned(2, uint64(i+1)) || st.Returned(9, 1) {
				t.Errorf("the rows of cut %d returned: %t", i+1, got)
			}
		}
	}
	move(1, []Offloaded{{TableID: 1}, {TableID: 2, LeftOut: 3}}) // neither was counted
	returned(true)
	appendRows(st, 1, 3, 50)
	appendRows(st, 2, 3, 50)
	move(2, []Offloaded{{TableID: 1, Kept: 8}, {TableID: 2, Kept: 3}}, ownObject("a", 1, 8, 50, 53),
		ownObject("b", 2, 3, 50, 53))
	returned(true, false)
	appendRows(st, 1, 3, 50)
	if _, err := st.Cut(cutOf(3, 1), 7); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, st.Offload(&Offload{Number: 3, Tables: []Offloaded{{TableID: 1}}}), true, "but 3 were appended")
	returned(true, false, false)
}
