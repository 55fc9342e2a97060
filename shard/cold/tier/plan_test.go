package tier

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/column"
	"cordwood/proto/schemapb"
	"cordwood/shard/compaction"
	"cordwood/shard/manifest"
	"cordwood/shard/query"
	"cordwood/shard/rules"
	"cordwood/shard/segment"
	"cordwood/shard/shardtest"
	"cordwood/shard/store"
	"cordwood/shard/vfs"
)

// defOf returns the definition of a table.
func defOf(t testing.TB, p *schemapb.Table) *rules.Definition {
	t.Helper()
	stored, err := manifest.EncodeTable(p)
	if err != nil {
		t.Fatal(err)
	}
	return rules.NewDefinition(p, stored)
}

// cutOf returns the rows of tables in segments. Their orders are those of the tables.
func cutOf(segments []segment.Meta, tables ...store.CutTable) *store.CutRows {
	c := &store.CutRows{Tables: tables}
	for _, m := range segments {
		c.Segments = append(c.Segments, store.Segment{Meta: m})
	}
	return c
}

// own describes a segment of one table, of a day, and shared one of several tables with 10 rows each.
func own(table, order uint64, day, bytes int64) segment.Meta {
	return segment.Meta{
		ID: order, Order: order, TableID: table, Rows: 10, Bytes: bytes, MinTime: day * 86400_000, MaxTime: day*86400_000 + 9,
	}
}

func shared(order uint64, day, bytes int64, tables ...uint64) segment.Meta {
	m := segment.Meta{ID: order, Order: order, Bytes: bytes}
	for _, id := range tables {
		m.Rows += 10
		m.Tables = append(m.Tables, segment.TableSpan{
			TableID: id, Rows: 10, MinTime: day * 86400_000, MaxTime: day*86400_000 + 9,
		})
	}
	return m
}

// TestPlan divides cuts into jobs, each described by its segments and its tables with their bytes.
func TestPlan(t *testing.T) {
	t.Parallel()
	table := func(id, from, to uint64) store.CutTable {
		return store.CutTable{Def: defOf(t, shardtest.Table(id)), From: from, To: to}
	}
	expired := table(1, 0, 10)
	expired.Expired = manifest.Expiry{TableID: 1, Before: 86400_000, Order: 3}
	mixed := table(2, 0, 10)
	mixed.Mixed = true
	merging := func(id, from, to uint64) store.CutTable {
		x := table(id, from, to)
		x.Merge = query.LastRow
		return x
	}
	physical := func(id uint64, name string) store.CutTable {
		p := shardtest.Table(id)
		p.Options["physical_table"] = name
		return store.CutTable{Def: defOf(t, p), To: 10}
	}
	for name, x := range map[string]struct {
		cut  *store.CutRows
		want []string
	}{
		"days, and segments of other cuts": {
			cutOf([]segment.Meta{own(1, 1, 0, 5), own(1, 2, 0, 6), own(1, 3, 1, 7), own(1, 4, -1, 8), own(1, 5, 0, 9)},
				table(1, 2, 5)),
			[]string{"4: 1=8", "2: 1=6", "3: 1=7"},
		},
		"a segment of several days": {
			cutOf([]segment.Meta{own(1, 1, 0, 5), {
				ID: 2, Order: 2, TableID: 1, Rows: 9, Bytes: 3, MinTime: 0, MaxTime: 86400_000,
			}}, table(1, 0, 5)),
			[]string{"1: 1=5", "2: 1=3"},
		},
		"a segment with days before and after 1970": {
			cutOf([]segment.Meta{own(1, 1, -1, 5), own(1, 2, 0, 6), {
				ID: 3, Order: 3, TableID: 1, Rows: 9, Bytes: 3, MinTime: -1, MaxTime: 1,
			}, {
				ID: 4, Order: 4, TableID: 1, Rows: 9, Bytes: 4, MinTime: math.MinInt64, MaxTime: math.MaxInt64,
			}}, table(1, 0, 5)),
			[]string{"1: 1=5", "2: 1=6", "3 4: 1=7"},
		},
		"large": {
			cutOf([]segment.Meta{own(1, 1, 0, 60), own(1, 2, 0, 40), own(1, 3, 0, 1), own(1, 4, 0, 400), own(1, 5, 0, 1)},
				table(1, 0, 9)),
			[]string{"1 2: 1=100", "3: 1=1", "4: 1=400", "5: 1=1"},
		},
		"shared": {
			cutOf([]segment.Meta{shared(1, 0, 30, 1, 2, 3), shared(2, 0, 20, 1, 3), shared(3, 0, 40, 2, 4)},
				table(1, 0, 9), table(2, 0, 9), table(4, 9, 10)),
			[]string{"1 2 3: 1=20 2=30"},
		},
		"shared, large": {
			cutOf([]segment.Meta{shared(1, 0, 210, 1, 2, 3), shared(2, 0, 60, 1, 3)},
				table(1, 0, 9), table(2, 0, 9), table(3, 0, 9)),
			[]string{"1 2: 1=100", "1: 2=70", "1 2: 3=100"},
		},
		"shared, of several cuts": {
			cutOf([]segment.Meta{shared(1, 0, 20, 1, 2), shared(4, 0, 20, 1, 2), shared(7, 0, 20, 1, 2)},
				table(1, 0, 6), table(2, 3, 9)),
			[]string{"1: 1=10", "4: 1=10 2=10", "7: 2=10"},
		},
		"expired": {
			cutOf([]segment.Meta{own(1, 1, 0, 5), own(1, 3, 0, 6), own(1, 2, 1, 7)}, expired),
			[]string{"3: 1=6", "2: 1=7"},
		},
		"of several merge modes": {
			cutOf([]segment.Meta{shared(1, 0, 20, 1, 2), own(2, 3, 0, 6)}, table(1, 0, 6), mixed),
			[]string{"1: 1=10"},
		},
		"merging, of several days": {
			cutOf([]segment.Meta{own(1, 1, 0, 5), own(1, 2, 1, 6), own(1, 3, 0, 70), own(1, 4, 1, 25)}, merging(1, 0, 9)),
			[]string{"1 3: 1=75", "2 4: 1=31"},
		},
		"merging, in own and in shared segments": {
			cutOf([]segment.Meta{shared(1, 0, 30, 1, 2, 3), own(2, 2, 1, 6), shared(3, 1, 30, 1, 2, 3)}, table(1, 0, 9),
				merging(2, 0, 9), merging(3, 0, 9)),
			[]string{"1: 1=10", "3: 1=10", "1 3: 3=20", "1: 2=10", "2 3: 2=16"},
		},
		"merging, shared, of several cuts": {
			cutOf([]segment.Meta{shared(1, 0, 20, 1, 2), shared(4, 1, 20, 1, 2), shared(7, 0, 20, 1, 2)},
				merging(1, 0, 6), merging(2, 3, 9)),
			[]string{"1: 1=10", "4: 1=10 2=10", "7: 2=10"},
		},
		"physical tables": {
			cutOf([]segment.Meta{shared(1, 0, 20, 1, 2), shared(2, 0, 20, 3), shared(3, 0, 20, 4)}, physical(1, "p"),
				physical(2, "p"), physical(3, "q"), table(4, 0, 10)),
			[]string{"3: 4=20", "1: 1=10 2=10", "2: 3=20"},
		},
		"nothing": {cutOf(nil, table(1, 3, 9)), nil},
	} {
		var got []string
		for _, j := range plan(x.cut, 100, 1<<30) {
			var in, of []string
			for i := range j.inputs {
				in = append(in, fmt.Sprint(j.inputs[i].ID))
			}
			for id, s := range j.tables {
				of = append(of, fmt.Sprintf("%d=%d", id, s.bytes))
			}
			slices.Sort(of)
			got = append(got, strings.Join(in, " ")+": "+strings.Join(of, " "))
		}
		if d := cmp.Diff(x.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestBuildParts builds objects that have to be divided, because they would be too large: of a table with its own
// segment, and of tables that share one. Each row is in one object.
func TestBuildParts(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	if err := fs.MkdirAll("/cold"); err != nil {
		t.Fatal(err)
	}
	b := builder{
		fs: fs, dir: "/cold", limiter: compaction.NewLimiter(0, 0), split: 1 << 30,
	}
	for _, isShared := range []bool{false, true} {
		var tables []store.CutTable
		spec := segment.Spec{Shared: isShared}
		var list []*column.Batch
		want := map[uint64]int64{}
		for id := range uint64(3) {
			if id > 0 && !isShared {
				break
			}
			d := defOf(t, shardtest.Table(id+1))
			tables = append(tables, store.CutTable{Def: d, To: 10})
			spec.Tables = append(spec.Tables, segment.TableColumns{Table: d.Table})
			texts := make([]string, 12000*(2*id+1))
			for i := range texts {
				texts[i] = fmt.Sprintf("%d %x", i, uint32(i)*2654435761)
			}
			x, err := column.Decode(shardtest.Batch(shardtest.Header(id+1, 9, 1), texts...), nil)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, x)
			want[id+1] = int64(len(texts))
		}
		w, err := segment.NewWriter(segment.Config{FS: fs, Dir: "/", RowGroupRows: 1000, NextID: b.nextID}, spec)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range list {
			rows := make([]segment.RowRef, x.Rows)
			for k := range rows {
				rows[k] = segment.RowRef{Time: x.Column(1).Int(k), Row: uint32(k)}
			}
			segment.Sort(tables[i].Def.Table, []*column.Batch{x}, rows)
			if err := w.Append(tables[i].Def.Table, []*column.Batch{x}, rows); err != nil {
				t.Fatal(err)
			}
		}
		m, err := w.Finish()
		if err != nil {
			t.Fatal(err)
		}
		m.Order = 1
		cut := cutOf([]segment.Meta{m}, tables...)
		cut.Segments[0].Path = filepath.Join("/", m.FileName())
		byID := map[uint64]*store.CutTable{}
		for i := range cut.Tables {
			byID[cut.Tables[i].Def.ID] = &cut.Tables[i]
		}
		jobs := plan(cut, jobBytes, 1<<30)
		if len(jobs) != 1 {
			t.Fatalf("shared %t: %d jobs", isShared, len(jobs))
		}
		files, err := b.parts(t.Context(), &jobs[0], byID, m.Bytes/3)
		if err != nil {
			t.Fatal(err)
		}
		if len(files) < 3 {
			t.Errorf("shared %t: %d files", isShared, len(files))
		}
		got := map[uint64]int64{}
		for i := range files {
			o := &files[i].object
			if o.Meta.Bytes > m.Bytes*3/5 {
				t.Errorf("shared %t: an object has %d bytes of %d", isShared, o.Meta.Bytes, m.Bytes)
			}
			for _, span := range o.Spans() {
				got[span.TableID] += span.Rows
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("shared %t: rows: %s", isShared, d)
		}
		if err := b.remove(files); err != nil {
			t.Fatal(err)
		}
		if names, _ := fs.ReadDir("/cold"); len(names) > 0 {
			t.Errorf("shared %t: files were left: %q", isShared, names)
		}
	}
}
