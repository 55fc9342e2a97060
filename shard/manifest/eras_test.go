package manifest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"cordwood/shard/cold"
	"cordwood/shard/query"
	"cordwood/shard/segment"
)

// TestEras checks that eras are added and removed together with their rows, by edits, by repeated
// edits, and after rewriting the file.
func TestEras(t *testing.T) {
	own := func(id, order, table uint64) segment.Meta {
		m := seg(id, table)
		m.Order = order
		return m
	}
	both := func(id uint64) segment.Meta {
		return shared(id+1, segment.TableSpan{TableID: 7, Rows: 1, MinTime: 1, MaxTime: 2},
			segment.TableSpan{TableID: 9, Rows: 1, MinTime: 1, MaxTime: 2})
	}
	state := &State{}
	var file []byte
	for _, step := range []struct {
		name string
		edit Edit
		want []Merging
	}{
		{
			"before",
			Edit{
				AppliedIndex: 1,
				Add:          []segment.Meta{own(1, 1, 7), own(2, 2, 9), both(2)},
				Tables:       []Table{table(7, 1), table(9, 1)},
			},
			nil,
		},
		{"two tables change", Edit{AppliedIndex: 2, Add: []segment.Meta{own(4, 4, 7)}, Merging: []Merging{
			{9, []Era{{4, query.LastRow}}}, {7, []Era{{4, query.LastRow}}},
		}}, []Merging{{7, []Era{{4, query.LastRow}}}, {9, []Era{{4, query.LastRow}}}}},
		{
			"one of them again, and without rows in between",
			Edit{AppliedIndex: 3, Merging: []Merging{{7, []Era{{4, query.LastRow}, {5, query.LastNonNull}, {5, query.Append}}}}},
			[]Merging{{7, []Era{{4, query.LastRow}, {5, query.LastNonNull}}}, {9, []Era{{4, query.LastRow}}}},
		},
		{
			"rows of one are joined within their era",
			Edit{Add: []segment.Meta{own(6, 2, 9)}, Remove: []uint64{2}},
			[]Merging{{7, []Era{{4, query.LastRow}, {5, query.LastNonNull}}}, {9, []Era{{4, query.LastRow}}}},
		},
		{
			"the rows of an era are in an object, and not in segments",
			Edit{
				Remove: []uint64{4}, Cold: &Cold{LastCut: 1}, CutOrders: []CutOrder{{Number: 1, TableID: 7, Order: 5}},
				Sets: []Set{{Number: 1, Index: 2, Objects: []cold.Object{{Key: "a", Cut: 1, Meta: segment.Meta{
					TableID: 7, Rows: 1, MinTime: 1, MaxTime: 2, Bytes: 3,
				}}}}},
			},
			[]Merging{{7, []Era{{4, query.LastRow}, {5, query.LastNonNull}}}, {9, []Era{{4, query.LastRow}}}},
		},
		{
			"the object is gone, and segments of its cut are not",
			Edit{Sets: []Set{{Number: 1}}},
			[]Merging{{7, []Era{{4, query.LastRow}, {5, query.LastNonNull}}}, {9, []Era{{4, query.LastRow}}}},
		},
		{
			"the rows of an era are gone, and a segment is added",
			Edit{Remove: []uint64{1, 3}, Add: []segment.Meta{own(7, 4, 7)}},
			[]Merging{{7, []Era{{5, query.LastNonNull}}}, {9, []Era{{4, query.LastRow}}}},
		},
		{"a table is dropped", Edit{AppliedIndex: 4, Drop: []uint64{7}}, []Merging{{9, []Era{{4, query.LastRow}}}}},
		{"all are gone", Edit{Remove: []uint64{6}}, nil},
	} {
		for range 2 {
			state = state.apply(&step.edit)
			if d := cmp.Diff(step.want, state.Merging); d != "" {
				t.Fatalf("%s (-want +got):\n%s", step.name, d)
			}
		}
		file = appendRecord(appendHeader(nil, 1), state.asEdit())
		f, err := parse("M", file)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(step.want, (&State{}).apply(&f.edits[0].edit).Merging); d != "" {
			t.Errorf("%s: read again (-want +got):\n%s", step.name, d)
		}
	}
	if _, err := parse("M", appendRecord(appendHeader(nil, 1), &Edit{Merging: []Merging{{7, []Era{{4, 3}}}}})); err ==
		nil {
		t.Error("an unknown merge mode was accepted")
	}
}

// TestErasOfReturnedRows checks that rows that returned from a cut count as rows of no cut, and keep their eras, while
// the set of the cut has objects of another table.
func TestErasOfReturnedRows(t *testing.T) {
	own := func(id, order uint64) segment.Meta {
		m := seg(id, 9)
		m.Order = order
		return m
	}
	eras := []Merging{{9, []Era{{4, query.LastRow}, {7, query.LastNonNull}}}}
	orders := []CutOrder{{Number: 1, TableID: 9, Order: 6}}
	returned := &Cold{LastCut: 1, Counted: []Counted{{TableID: 9, Unknown: true, Returned: []CutRange{{1, 1}}}}}
	state := &State{}
	for _, step := range []struct {
		name   string
		edit   Edit
		want   []Merging
		orders []CutOrder
	}{
		{"rows of two modes in a cut", Edit{
			AppliedIndex: 1, Add: []segment.Meta{own(1, 1), own(2, 5)}, Tables: []Table{table(7, 1), table(9, 1)}, Merging: eras,
			Cold: &Cold{LastCut: 1, Open: &Cut{Number: 1}}, CutOrders: orders,
		}, eras, orders},
		{"they return", Edit{
			Cold: returned, CutOrders: orders,
			Sets: []Set{{Number: 1, Index: 2, Objects: []cold.Object{{Key: "a", Cut: 1, Meta: segment.Meta{
				TableID: 7, Rows: 1, MinTime: 1, MaxTime: 2, Bytes: 3,
			}}}}},
		}, eras, nil},
		{
			"those of the earlier mode are gone",
			Edit{Remove: []uint64{1}},
			[]Merging{{9, []Era{{7, query.LastNonNull}}}},
			nil,
		},
		{"all are gone", Edit{Remove: []uint64{2}}, nil, nil},
	} {
		state = state.apply(&step.edit)
		if d := cmp.Diff(step.want, state.Merging); d != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, d)
		}
		if d := cmp.Diff(step.orders, state.CutOrders, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s: orders (-want +got):\n%s", step.name, d)
		}
	}
}
