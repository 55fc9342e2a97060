package rules

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"cordwood/shard/cold"
	"cordwood/shard/manifest"
	"cordwood/shard/segment"
	"cordwood/shard/shardtest"
)

// joinWorld is a state in which table 1 has an object of 10 rows in each of the sets 1 to 5, with the times from 100 ×
// the number of the set on. Tables 2 and 3 share an object in each.
func joinWorld(t *testing.T) *State {
	t.Helper()
	st := coldWorld(t)
	st.Tick(1000)
	for n := range uint64(5) {
		moveSet(t, st, n+1)
	}
	return st
}

// moveSet makes a set.
func moveSet(t *testing.T, st *State, n uint64) {
	t.Helper()
	from := int64(100 * n)
	if _, err := st.Cut(&Cut{Number: n, Tables: []uint64{1, 2, 3}}, 10*n); err != nil {
		t.Fatal(err)
	}
	for id := range st.cold.open.Tables {
		st.cold.open.Tables[id].Unknown = true // rows are not counted here
	}
	err := st.Offload(&Offload{
		Number: n, Tables: []Offloaded{{1, 10, 0}, {2, 4, 0}, {3, 5, 0}}, Objects: []cold.Object{
			ownObject(fmt.Sprint("own", n), 1, 10, from, from+9),
			{Key: fmt.Sprint("both", n), Meta: segment.Meta{Rows: 9, Bytes: 50, Tables: []segment.TableSpan{
				{TableID: 2, Rows: 4, MinTime: from, MaxTime: from + 3}, {TableID: 3, Rows: 5, MinTime: from, MaxTime: from + 4},
			}}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// keysOf returns the keys of the objects by set.
func keysOf(st *State) map[uint64][]string {
	keys := map[uint64][]string{}
	for _, set := range st.Sets() {
		for i := range set.Objects {
			if set.Objects[i].Cut != set.Number {
				keys[0] = append(keys[0], "wrong cut of "+set.Objects[i].Key)
			}
			keys[set.Number] = append(keys[set.Number], set.Objects[i].Key)
		}
	}
	return keys
}

// TestJoin joins the objects of table 1 in three sets, later these and others, and those that two tables share. The
// others stay, and the state is the same after it was stored and loaded.
func TestJoin(t *testing.T) {
	t.Parallel()
	st := joinWorld(t)
	join := func(n, index uint64, objects []cold.Object, rows []Offloaded, tables ...manifest.Joined) {
		t.Helper()
		if err := st.Join(&Join{Number: n, Tables: tables}, index); err != nil {
			t.Fatal(err)
		}
		st = stored(t, st)
		if err := st.Offload(&Offload{Number: n, Tables: rows, Objects: objects}); err != nil {
			t.Fatal(err)
		}
		st = stored(t, st)
	}
	check := func(keys map[uint64][]string, joined map[uint64][]uint64) {
		t.Helper()
		if d := cmp.Diff(keys, keysOf(st)); d != "" {
			t.Errorf("objects: %s", d)
		}
		got := map[uint64][]uint64{}
		for _, id := range st.JoinedTables() {
			got[id] = st.cold.joined[id]
		}
		if d := cmp.Diff(joined, got); d != "" {
			t.Errorf("joined cuts: %s", d)
		}
	}
	join(6, 60, []cold.Object{ownObject("a", 1, 30, 200, 409)}, []Offloaded{{1, 30, 0}}, manifest.Joined{
		TableID: 1, Cuts: []uint64{2, 3, 4},
	})
	check(map[uint64][]string{
		1: {"own1", "both1"}, 2: {"both2"}, 3: {"both3"}, 4: {"both4", "a"}, 5: {"own5", "both5"},
	}, map[uint64][]uint64{1: {2, 3, 4}})
	if dead := st.DeadObjects(); len(dead) != 3 || dead[0].Key != "own2" || dead[0].At != 1000 || dead[0].Bytes != 100 {
		t.Errorf("dead objects: %+v", dead)
	}
	join(7, 70, []cold.Object{ownObject("b", 1, 41, 100, 409), ownObject("c", 1, 9, 500, 509)}, []Offloaded{{1, 50, 0}},
		manifest.Joined{TableID: 1, Cuts: []uint64{1, 4, 5}})
	check(map[uint64][]string{
		1: {"both1"}, 2: {"both2"}, 3: {"both3"}, 4: {"both4"}, 5: {"both5", "b", "c"},
	}, map[uint64][]uint64{1: {1, 2, 3, 4, 5}})
	shared := cold.Object{Key: "d", Meta: segment.Meta{Rows: 45, Tables: []segment.TableSpan{
		{TableID: 2, Rows: 20, MinTime: 100, MaxTime: 503}, {TableID: 3, Rows: 25, MinTime: 100, MaxTime: 504},
	}}}
	all := []uint64{1, 2, 3, 4, 5}
	join(8, 80, []cold.Object{shared}, []Offloaded{{2, 20, 0}, {3, 25, 0}}, manifest.Joined{TableID: 2, Cuts: all},
		manifest.Joined{TableID: 3, Cuts: all})
	check(map[uint64][]string{5: {"b", "c", "d"}}, map[uint64][]uint64{1: all, 2: all, 3: all})
	// The rows of the joined objects expire by the index of the last cut.
	st.Expire(Cutoff{1, 505}, 9, 49)
	st.BuryObjects()
	check(map[uint64][]string{5: {"b", "c", "d"}}, map[uint64][]uint64{1: all, 2: all, 3: all})
	st.Expire(Cutoff{1, 506}, 9, 90)
	st.BuryObjects()
	check(map[uint64][]string{5: {"c", "d"}}, map[uint64][]uint64{1: all, 2: all, 3: all})
	st.Expire(Cutoff{1, 600}, 9, 91)
	for _, id := range []uint64{2, 3} {
		st.Drop(id)
	}
	st.BuryObjects()
	check(map[uint64][]string{}, map[uint64][]uint64{})
	if sets := slices.Collect(maps.Keys(st.cold.changed)); len(sets) != 1 {
		t.Errorf("the sets %d changed", sets)
	}
}

// TestJoinRefusals proposes joins, and offloads of them, that the state does not allow. They change nothing.
func TestJoinRefusals(t *testing.T) {
	t.Parallel()
	st := joinWorld(t)
	merging := shardtest.Table(9)
	merging.Options = nil
	st.Define(definitionOf(t, merging))
	of := func(table uint64, cuts ...uint64) manifest.Joined { return manifest.Joined{TableID: table, Cuts: cuts} }
	for _, bad := range []struct {
		number uint64
		tables []manifest.Joined
		text   string
	}{
		{7, []manifest.Joined{of(1, 2, 3)}, "the last cut was 5"},
		{6, nil, "no tables"},
		{6, []manifest.Joined{of(1)}, "are none"},
		{6, []manifest.Joined{of(1, 3, 2)}, "ascending order"},
		{6, []manifest.Joined{of(1, 2, 2)}, "named twice"},
		{6, []manifest.Joined{of(3, 2, 3), of(2, 2, 3)}, "table 2 is not in ascending order"},
		{6, []manifest.Joined{of(2, 2, 3), of(3, 2, 4)}, "does not end with set 4"},
		{6, []manifest.Joined{of(2, 2, 4), of(3, 2, 3)}, "does not end with set 4"},
		{6, []manifest.Joined{of(8, 2, 3)}, "table 8 was dropped"},
		{6, []manifest.Joined{of(9, 2, 3)}, "table 9 merges rows"},
		{6, []manifest.Joined{of(1, 2, 6)}, "set 6 has no objects"},
		{6, []manifest.Joined{of(2, 2, 3)}, "has rows of table 3"},
	} {
		wantRefusal(t, st.Join(&Join{Number: bad.number, Tables: bad.tables}, 60), false, bad.text)
	}
	if last, open := st.LastCut(); last != 5 || open != nil || len(keysOf(st)) != 5 {
		t.Fatalf("after refusals: %d, %+v", last, open)
	}
	if err := st.Join(&Join{Number: 6, Tables: []manifest.Joined{of(1, 1, 2, 3)}}, 60); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, st.Join(&Join{Number: 7, Tables: []manifest.Joined{of(1, 1, 2, 3)}}, 61), false, "cut 6 is open")
	_, err := st.Cut(&Cut{Number: 7, Tables: []uint64{1}}, 61)
	wantRefusal(t, err, false, "cut 6 is open")
	made := ownObject("new", 1, 30, 100, 309)
	for _, bad := range []struct {
		offload  Offload
		mismatch bool
		text     string
	}{
		{Offload{Number: 5, Tables: []Offloaded{{1, 30, 0}}, Objects: []cold.Object{made}}, false, "not open"},
		{Offload{Number: 6, Objects: []cold.Object{made}}, false, "0 tables"},
		{Offload{Number: 6, Tables: []Offloaded{{2, 30, 0}}, Objects: []cold.Object{made}}, false, "in the place of table 1"},
		{Offload{Number: 6, Tables: []Offloaded{{1, 29, 0}}, Objects: []cold.Object{made}}, false, "29 were announced"},
		{Offload{Number: 6, Tables: []Offloaded{{1, 30, 1}}, Objects: []cold.Object{made}}, false, "the former ones have 30"},
		{Offload{Number: 6, Tables: []Offloaded{{1, 30, -1}}, Objects: []cold.Object{made}}, false, "30 were announced"},
		{
			Offload{Number: 6, Tables: []Offloaded{{1, 28, 2}}, Objects: []cold.Object{ownObject("new", 1, 28, 0, 9)}},
			true,
			"at most 0 can have expired",
		},
		{
			Offload{Number: 6, Tables: []Offloaded{{1, 30, 0}}, Objects: []cold.Object{ownObject("own1", 1, 30, 0, 9)}},
			false,
			"in use",
		},
		{
			Offload{Number: 6, Tables: []Offloaded{{1, 30, 0}}, Objects: []cold.Object{made, ownObject("x", 2, 1, 0, 9)}},
			false,
			"table 2, which is not in the join",
		},
	} {
		wantRefusal(t, st.Offload(&bad.offload), bad.mismatch, bad.text)
	}
	// An object dies during the join. The offload that was built before is refused, and so is any other with its rows.
	before := stored(t, st)
	st.Expire(Cutoff{1, 150}, 9, 62)
	st.BuryObjects()
	good := &Offload{Number: 6, Tables: []Offloaded{{1, 30, 0}}, Objects: []cold.Object{made}}
	wantRefusal(t, st.Offload(good), false, "set 1")
	if err := st.Offload(&Offload{Number: 6}); err != nil {
		t.Error(err)
	}
	if _, open := st.LastCut(); open != nil || len(st.JoinedTables()) > 0 {
		t.Errorf("the join was given up: %+v, %d", open, st.JoinedTables())
	}
	wantRefusal(t, st.Offload(good), false, "not open")
	// Rows of an object expire, but not all.
	st = before
	st.Expire(Cutoff{1, 104}, 9, 62)
	wantRefusal(t, st.Offload(&Offload{
		Number: 6, Tables: []Offloaded{{1, 19, 11}}, Objects: []cold.Object{ownObject("new", 1, 19, 105, 309)},
	}), true, "at most 10 can have expired")
	if err := st.Offload(&Offload{
		Number: 6, Tables: []Offloaded{{1, 26, 4}}, Objects: []cold.Object{ownObject("new", 1, 26, 104, 309)},
	}); err != nil {
		t.Error(err)
	}
}

// TestJoinedShortened joins objects of two tables, and drops one: its joined cuts are forgotten with its last object,
// although the set stays. Those of the other one go when its rows expire.
func TestJoinedShortened(t *testing.T) {
	t.Parallel()
	st := joinWorld(t)
	check := func(what string, want map[uint64][]uint64) {
		t.Helper()
		var sets []manifest.Set
		for _, set := range st.Sets() {
			sets = append(sets, *set)
		}
		if d := cmp.Diff(want, manifest.JoinedCuts(sets)); d != "" {
			t.Errorf("%s: %s", what, d)
		}
		if d := cmp.Diff(want, st.cold.joined, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s: the index: %s", what, d)
		}
		if d := cmp.Diff(want, stored(t, st).cold.joined); d != "" {
			t.Errorf("%s: the index of what is stored: %s", what, d)
		}
	}
	join := func(number uint64, key string, tables ...manifest.Joined) {
		t.Helper()
		if err := st.Join(&Join{Number: number, Tables: tables}, 10*number); err != nil {
			t.Fatal(err)
		}
		o := &Offload{Number: number}
		for _, table := range tables {
			x := ownObject(fmt.Sprint(key, table.TableID), table.TableID, 0, 100, 599)
			for _, n := range table.Cuts {
				for _, old := range st.cold.sets[n].Objects {
					span, has := old.Span(table.TableID)
					if has {
						x.Meta.Rows += span.Rows
					}
				}
			}
			o.Objects = append(o.Objects, x)
			o.Tables = append(o.Tables, Offloaded{table.TableID, x.Meta.Rows, 0})
		}
		if err := st.Offload(o); err != nil {
			t.Fatal(err)
		}
	}
	join(6, "a", manifest.Joined{TableID: 1, Cuts: []uint64{1, 2}})
	join(7, "b", manifest.Joined{TableID: 2, Cuts: []uint64{4, 5}}, manifest.Joined{TableID: 3, Cuts: []uint64{4, 5}})
	join(8, "c", manifest.Joined{TableID: 1, Cuts: []uint64{2, 3, 5}})
	check("joined", map[uint64][]uint64{1: {1, 2, 3, 5}, 2: {4, 5}, 3: {4, 5}})
	st.Drop(2)
	st.BuryObjects()
	check("dropped", map[uint64][]uint64{1: {1, 2, 3, 5}, 3: {4, 5}})
	st.Expire(Cutoff{TableID: 1, Before: 10_000}, 0, 1000)
	st.BuryObjects()
	check("expired", map[uint64][]uint64{3: {4, 5}})
	st.Drop(3)
	st.BuryObjects()
	check("all dropped", nil)
}
