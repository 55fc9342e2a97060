package metaclient

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
)

// TestTableLists creates, renames and drops tables, and requests lists. They must equal the lists
// of a state that sorts, and earlier lists must stay unchanged.
func TestTableLists(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	v := newView(nil)
	index, nextID := uint64(0), uint64(0)
	versions := map[uint64]uint32{}
	live := map[uint64]*schemapb.Table{}
	sorted := func(database string) (out []string) {
		for _, e := range v.state.byName[database] {
			out = append(out, fmt.Sprintf("%s %d %d", e.table.Name, e.table.ID, e.table.Version))
		}
		slices.Sort(out)
		return out
	}
	texts := func(list []*schema.Table) (out []string) {
		for _, t := range list {
			out = append(out, fmt.Sprintf("%s %d %d", t.Name, t.ID, t.Version))
		}
		return out
	}
	type given struct {
		list []*schema.Table
		text string
	}
	var before []given
	for range 3000 {
		index++
		resp := &metapb.WatchResponse{Index: index}
		ids := make([]uint64, 0, len(live))
		for id := range live {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		name := fmt.Sprintf("t%03d", r.IntN(60))
		switch n := r.IntN(10); {
		case n < 5 || len(ids) == 0:
			nextID++
			live[nextID] = &schemapb.Table{Id: nextID, Database: fmt.Sprint("d", r.IntN(2)), Name: name, Version: 1}
			versions[nextID] = 1
			resp.Tables = append(resp.Tables, live[nextID])
		case n < 7:
			old := live[ids[r.IntN(len(ids))]]
			versions[old.Id]++
			live[old.Id] = &schemapb.Table{Id: old.Id, Database: old.Database, Name: name, Version: versions[old.Id]}
			resp.Tables = append(resp.Tables, live[old.Id])
		default:
			id := ids[r.IntN(len(ids))]
			delete(live, id)
			resp.DroppedTables = append(resp.DroppedTables, id)
		}
		v.change(resp)
		if r.IntN(4) > 0 {
			continue
		}
		for _, d := range []string{"d0", "d1", "none"} {
			list := v.tables(d)
			if got, want := texts(list), sorted(d); !slices.Equal(got, want) {
				t.Fatalf("%s has %q, want %q", d, got, want)
			}
			if again := v.tables(d); len(again) > 0 && &again[0] != &list[0] {
				t.Fatal("a list was made twice without a change")
			}
			before = append(before, given{list, strings.Join(texts(list), ",")})
		}
	}
	for _, g := range before {
		if strings.Join(texts(g.list), ",") != g.text {
			t.Fatal("a list that was given out has changed")
		}
	}
}
