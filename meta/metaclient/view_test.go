package metaclient

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/metapb"
	"cordwood/proto/schemapb"
)

// TestViewMergesTwoSides checks that messages of the watch and own results may come in any order.
func TestViewMergesTwoSides(t *testing.T) {
	table := func(id uint64, name string, version uint32) *schemapb.Table {
		return &schemapb.Table{Id: id, Database: "d", Name: name, Version: version}
	}
	watch := func(index uint64, tables ...*schemapb.Table) func(*view) {
		return func(v *view) { v.change(&metapb.WatchResponse{Index: index, Tables: tables}) }
	}
	dropped := func(index uint64, ids ...uint64) func(*view) {
		return func(v *view) { v.change(&metapb.WatchResponse{Index: index, DroppedTables: ids}) }
	}
	own := func(index uint64, tables ...*schemapb.Table) func(*view) {
		return func(v *view) { v.merge(index, &metapb.Result{Tables: tables}) }
	}
	ownDrop := func(index uint64, ids ...uint64) func(*view) {
		return func(v *view) { v.merge(index, &metapb.Result{DroppedTables: ids}) }
	}
	reset := func(index uint64, tables ...*schemapb.Table) func(*view) {
		return func(v *view) {
			s := newState()
			s.add(&metapb.WatchResponse{Index: index, Reset_: true, Tables: tables})
			v.replace(s)
		}
	}
	type steps []func(*view)
	tests := []struct {
		name  string
		steps steps
		want  []string
	}{
		{
			"watch only",
			steps{watch(1, table(1, "a", 1)), watch(2, table(1, "a", 2)), watch(3, table(2, "b", 1))},
			[]string{"a=1v2", "b=2v1"},
		},
		{"own ahead of the watch", steps{
			own(5, table(1, "a", 3)), watch(3, table(1, "a", 1)),
			watch(4, table(1, "a", 2)),
		}, []string{"a=1v3"}},
		{"own late", steps{watch(5, table(1, "a", 3)), own(3, table(1, "a", 1))}, []string{"a=1v3"}},
		{
			"own of a table that was dropped since",
			steps{watch(3, table(1, "a", 1)), dropped(5, 1), own(3, table(1, "a", 1))},
			nil,
		},
		{"own drop ahead of the creation", steps{ownDrop(5, 1), watch(3, table(1, "a", 1))}, nil},
		{"renamed", steps{watch(3, table(1, "a", 1)), watch(4, table(1, "b", 2))}, []string{"b=1v2"}},
		{"name used again, own ahead", steps{
			watch(3, table(1, "a", 1)), own(5, table(2, "a", 1)), watch(4, table(1, "b", 2)), watch(5, table(2, "a", 1)),
		}, []string{"a=2v1", "b=1v2"}},
		{"name used again, drop seen later", steps{
			watch(3, table(1, "a", 1)), own(5, table(2, "a", 1)), dropped(4, 1), watch(5, table(2, "a", 1)),
		}, []string{"a=2v1"}},
		{"renamed onto a dropped name, own ahead", steps{
			watch(2, table(1, "a", 1)), watch(3, table(2, "b", 1)), own(5, table(1, "b", 2)), dropped(4, 2),
			watch(5, table(1, "b", 2)),
		}, []string{"b=1v2"}},
		{"truncated", steps{
			watch(3, table(1, "a", 1)),
			func(v *view) {
				v.merge(4, &metapb.Result{DroppedTables: []uint64{1}, Tables: []*schemapb.Table{table(2, "a", 1)}})
			},
		}, []string{"a=2v1"}},
		{
			"state begins before our own result",
			steps{own(5, table(1, "a", 1)), reset(4), watch(5, table(1, "a", 1))},
			[]string{"a=1v1"},
		},
		{"state lacks what is gone", steps{
			watch(3, table(1, "a", 1)), own(4, table(2, "b", 1)),
			watch(4, table(2, "b", 1)), reset(6, table(2, "b", 1)),
		}, []string{"b=2v1"}},
		{"state newer than its index", steps{
			reset(4, table(1, "a", 5)), watch(5, table(1, "a", 4)),
			watch(6, table(1, "a", 5)),
		}, []string{"a=1v5"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v := newView(nil)
			for _, step := range test.steps {
				step(v)
			}
			var got []string
			for _, table := range v.tables("d") {
				got = append(got, fmt.Sprintf("%s=%dv%d", table.Name, table.ID, table.Version))
				if byID, ok := v.tableByID(table.ID); !ok || byID != table {
					t.Errorf("table %d by id is %+v", table.ID, byID)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if test.name != "state begins before our own result" && len(v.own) > 0 && v.own[0].index <= v.state.index {
				t.Errorf("own result %d is kept though the watch is at %d", v.own[0].index, v.state.index)
			}
		})
	}
}

func TestOwnResultsAreBounded(t *testing.T) {
	v := newView(nil)
	for i := range uint64(maxOwn + 10) {
		v.merge(i+1, &metapb.Result{Tables: []*schemapb.Table{{Id: i + 1, Database: "d", Name: fmt.Sprint(i), Version: 1}}})
	}
	if len(v.own) != maxOwn || v.own[0].index != 11 {
		t.Errorf("%d own results are kept, from %d", len(v.own), v.own[0].index)
	}
}

func TestDroppedIDsAreSorted(t *testing.T) {
	v := newView(nil)
	for _, ids := range [][]uint64{{5, 3}, {9}, {1}} {
		v.change(&metapb.WatchResponse{Index: 1, DroppedTables: ids})
		if got := v.droppedIDs(); !slices.IsSorted(got) {
			t.Errorf("got %v", got)
		}
	}
	if diff := cmp.Diff([]uint64{1, 3, 5, 9}, v.droppedIDs()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func BenchmarkTable(b *testing.B) {
	v := newView(nil)
	for i := range uint64(20_000) {
		v.change(&metapb.WatchResponse{
			Index: i, Tables: []*schemapb.Table{{Id: i + 1, Database: "d", Name: fmt.Sprint(i), Version: 1}},
		})
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, ok := v.table("d", "777"); !ok {
				b.Fail()
			}
		}
	})
}

// TestViewRetiredShards checks that a retired shard stays retired, even if an older message about
// it comes late.
func TestViewRetiredShards(t *testing.T) {
	v := newView(nil)
	state := newState()
	state.add(&metapb.WatchResponse{
		Index: 5, Shards: []*metapb.Shard{{Id: 1}, {Id: 2, Retiring: true}}, RetiredShards: []*metapb.Shard{{Id: 3}},
	})
	v.replace(state)
	v.change(&metapb.WatchResponse{Index: 6, RetiredShards: []*metapb.Shard{{Id: 2, Removed: []string{"n1"}}}})
	v.change(&metapb.WatchResponse{Index: 7, Shards: []*metapb.Shard{{Id: 2}}})
	if all := v.shardList(); len(all) != 1 || all[0].Id != 1 {
		t.Errorf("shards %v", all)
	}
	if left := v.retiredShards(); len(left) != 1 || left[0].Id != 2 {
		t.Errorf("shards %v are to be deleted", left)
	}
	v.change(&metapb.WatchResponse{Index: 8, RetiredShards: []*metapb.Shard{{Id: 2}}})
	if left := v.retiredShards(); len(left) != 0 {
		t.Errorf("shards %v are to be deleted", left)
	}
	for id, want := range map[uint32]bool{1: false, 2: true, 3: true, 4: false} {
		if got := v.shardRetired(id); got != want {
			t.Errorf("shard %d was taken away: %t", id, got)
		}
	}
}
