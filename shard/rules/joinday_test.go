package rules

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/shard/cold"
	"cordwood/shard/manifest"
	"cordwood/shard/segment"
	"cordwood/shard/shardtest"
)

// dayObject is an object with rows of table 4 of a day, which merge.
func dayObject(key string, day, rows int64) cold.Object {
	o := ownObject(key, 4, rows, day*86400_000+5, day*86400_000+5+rows)
	o.Day, o.Kind = day, cold.Merging
	return o
}

// dayWorld is a state in which table 4 merges rows and has objects of the days 1 and 2 in the sets 1 to 4.
func dayWorld(t *testing.T) *State {
	t.Helper()
	st := coldWorld(t)
	d := shardtest.Table(4)
	d.Options = map[string]string{"append_mode": "false"}
	st.Define(definitionOf(t, d))
	for n, objects := range [][]cold.Object{
		{dayObject("a1", 1, 5)},
		{dayObject("b1", 1, 4), dayObject("b2", 2, 3)},
		{dayObject("c2", 2, 6)},
		{dayObject("d1", 1, 1), dayObject("d2", 2, 2)},
	} {
		moveDay(t, st, uint64(n+1), objects...)
	}
	return stored(t, st)
}

// moveDay makes a set of table 4.
func moveDay(t *testing.T, st *State, n uint64, objects ...cold.Object) {
	t.Helper()
	if _, err := st.Cut(&Cut{Number: n, Tables: []uint64{4}, Merging: true}, 10*n); err != nil {
		t.Fatal(err)
	}
	rows := int64(0)
	for i := range objects {
		rows += objects[i].Meta.Rows
	}
	err := st.Offload(&Offload{Number: n, Tables: []Offloaded{{4, rows, 7}}, Objects: objects})
	if err != nil {
		t.Fatal(err)
	}
}

func joinOf(number uint64, day int64, cuts ...uint64) *Join {
	return &Join{Number: number, Tables: []manifest.Joined{{TableID: 4, Cuts: cuts}}, ByDay: true, Day: day}
}

// TestJoinDay joins days, of which one gets a late row and one loses all rows. The other objects stay, and the rows of
// all cuts from the first to the last one are read from objects only.
func TestJoinDay(t *testing.T) {
	t.Parallel()
	st := dayWorld(t)
	check := func(what string, want map[uint64][]string, dead int, hidden ...manifest.CutRange) {
		t.Helper()
		st = stored(t, st)
		if d := cmp.Diff(want, keysOf(st)); d != "" {
			t.Errorf("%s: %s", what, d)
		}
		if got := st.cold.counted[4].Hidden; !cmp.Equal(got, hidden) || len(st.DeadObjects()) != dead {
			t.Errorf("%s: hidden %v, want %v; %d dead objects", what, got, hidden, len(st.DeadObjects()))
		}
		for n := range uint64(12) {
			if got := st.Joined(4, n); got != manifest.InRanges(hidden, n) {
				t.Errorf("%s: cut %d: %t", what, n, got)
			}
		}
	}
	join := func(j *Join, left int64, objects ...cold.Object) {
		t.Helper()
		if err := st.Join(j, 10*j.Number); err != nil {
			t.Fatal(err)
		}
		st = stored(t, st)
		rows := int64(0)
		for i := range objects {
			rows += objects[i].Meta.Rows
		}
		if err := st.Offload(&Offload{Number: j.Number, Tables: []Offloaded{{4, rows, left}}, Objects: objects}); err != nil {
			t.Fatal(err)
		}
	}
	join(joinOf(5, 1, 1, 2, 4), 2, dayObject("e1", 1, 8))
	check("joined", map[uint64][]string{2: {"b2"}, 3: {"c2"}, 4: {"d2", "e1"}}, 3, manifest.CutRange{First: 1, Last: 4})
	moveDay(t, st, 6, dayObject("f1", 1, 1))
	join(joinOf(7, 2, 2, 3, 4), 11) // all rows were deleted
	check("no rows", map[uint64][]string{4: {"e1"}, 6: {"f1"}}, 6, manifest.CutRange{First: 1, Last: 4})
	join(joinOf(8, 1, 4, 6), 0, dayObject("g1", 1, 4), dayObject("h1", 1, 5))
	check("a late row", map[uint64][]string{6: {"g1", "h1"}}, 8, manifest.CutRange{First: 1, Last: 6})
	moveDay(t, st, 9, dayObject("i3", 3, 1))
	moveDay(t, st, 10, dayObject("j3", 3, 1))
	join(joinOf(11, 3, 9, 10), 1, dayObject("k3", 3, 1))
	check("another day", map[uint64][]string{6: {"g1", "h1"}, 10: {"k3"}}, 10, manifest.CutRange{First: 1, Last: 6},
		manifest.CutRange{First: 9, Last: 10})
	if st.HasJoined(1) || !st.HasJoined(4) {
		t.Error("wrong tables are joined")
	}
}

// TestJoinDayRefused proposes joins of days that leave objects out, and offloads with other rows.
func TestJoinDayRefused(t *testing.T) {
	t.Parallel()
	st := dayWorld(t)
	two := joinOf(5, 1, 1, 2, 4)
	two.Tables = append(two.Tables, manifest.Joined{TableID: 5, Cuts: []uint64{4}})
	other := joinOf(5, 1, 1)
	other.Tables[0].TableID = 99
	for _, bad := range []struct {
		join *Join
		text string
	}{
		{joinOf(6, 1, 1, 2, 4), "the last cut was 4"},
		{joinOf(5, 1, 1, 4), "object b1 of set 2 has rows of the day too"},
		{joinOf(5, 1, 2, 4), "object a1 of set 1 has rows of the day too"},
		{joinOf(5, 1, 1, 2, 3, 4), "in 3 of 4 sets"},
		{joinOf(5, 1, 2, 1), "not in ascending order"},
		{joinOf(5, 1), "are none"},
		{joinOf(5, 9, 4), "in 0 of 1 sets"},
		{two, "it names 2 tables"},
		{other, "table 99 was dropped"},
	} {
		wantRefusal(t, st.Join(bad.join, 60), false, bad.text)
	}
	// Objects with rows of two days, of several tables, or whose rows do not merge.
	for i, o := range []cold.Object{
		{Key: "x", Kind: cold.Merging, Meta: segment.Meta{TableID: 4, Rows: 1, MinTime: 5, MaxTime: 86400_000 + 5}},
		{Key: "x", Meta: segment.Meta{Rows: 1, Tables: []segment.TableSpan{
			{TableID: 4, Rows: 1, MinTime: 86400_005, MaxTime: 86400_005},
		}}},
		ownObject("x", 4, 1, 86400_005, 86400_006),
	} {
		st := dayWorld(t)
		moveDay(t, st, 5, o)
		wantRefusal(t, st.Join(joinOf(6, 1, 1, 2, 4, 5), 60), false, "object x of set 5 has rows of the day too")
		if err := st.Join(joinOf(6, 1, 1, 2, 4), 60); err != nil { // it is later
			t.Errorf("%d: %v", i, err)
		}
	}
	if err := st.Join(joinOf(5, 1, 1, 2, 4), 60); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []struct {
		kept, left int64
		object     cold.Object
		text       string
	}{
		{8, 2, dayObject("e1", 1, 7), "7 rows in the objects, 8 were announced"},
		{8, 1, dayObject("e1", 1, 8), "but the former ones have 10"},
		{8, 2, dayObject("a1", 1, 8), "is in use"},
	} {
		o := &Offload{Number: 5, Tables: []Offloaded{{4, bad.kept, bad.left}}, Objects: []cold.Object{bad.object}}
		wantRefusal(t, st.Offload(o), false, bad.text)
	}
	st.Expire(Cutoff{4, 86400_000 + 6}, 1, 61) // no object dies
	if err := st.Offload(&Offload{Number: 5}); err != nil {
		t.Fatal(err)
	}
	if _, open := st.LastCut(); open != nil || st.HasJoined(4) || len(keysOf(st)) != 4 {
		t.Errorf("the join was given up: %+v, %v", open, keysOf(st))
	}
}

// TestCutRanges adds ranges of cuts to others.
func TestCutRanges(t *testing.T) {
	t.Parallel()
	var list []manifest.CutRange
	for _, step := range []struct {
		first, last uint64
		want        string
	}{
		{5, 6, "[{5 6}]"},
		{1, 2, "[{1 2} {5 6}]"},
		{10, 12, "[{1 2} {5 6} {10 12}]"},
		{3, 3, "[{1 3} {5 6} {10 12}]"},
		{6, 9, "[{1 3} {5 12}]"},
		{2, 20, "[{1 20}]"},
		{4, 5, "[{1 20}]"},
		{30, 30, "[{1 20} {30 30}]"},
	} {
		list = manifest.AddRange(list, manifest.CutRange{First: step.first, Last: step.last})
		if got := fmt.Sprint(list); got != step.want {
			t.Errorf("with %d to %d: %s, want %s", step.first, step.last, got, step.want)
		}
	}
	for n, want := range map[uint64]bool{0: false, 1: true, 20: true, 21: false, 30: true, 31: false} {
		if manifest.InRanges(list, n) != want {
			t.Errorf("%d: %t", n, !want)
		}
	}
}
