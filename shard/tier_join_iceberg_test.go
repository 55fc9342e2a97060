package shard

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/shard/cold"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/iceberg"
	"cordwood/shard/segment"
)

// shownDef is table 1, which is shown as Iceberg, in versions from 1 on: with a column more, which has a default, and
// with another one.
func shownDef(version uint32) *schemapb.Table {
	d := def(1)
	d.Version, d.Options["iceberg"] = version, "v2"
	five := "5"
	if version > 1 {
		d.Columns = append(d.Columns, &schemapb.Column{
			Id: 4, Name: "n", Type: schemapb.Type_TYPE_INT64, Semantic: schemapb.Semantic_SEMANTIC_FIELD, NotNull: true,
			DefaultValue: &five,
		})
	}
	if version > 2 {
		d.Columns = append(d.Columns, &schemapb.Column{
			Id: 5, Name: "x", Type: schemapb.Type_TYPE_INT64, Semantic: schemapb.Semantic_SEMANTIC_FIELD,
		})
	}
	if version > 3 { // x is wider
		d.Columns[4].Type = schemapb.Type_TYPE_FLOAT64
	}
	d.NextColumnId = 6
	return d
}

// shownBatch is a batch of rows in a version of the table; its columns are those before the column with an id.
func shownBatch(version uint32, seq, before uint64, texts ...string) []byte {
	t := schema.FromProto(shownDef(version))
	var b column.Builder
	h := head(1, 9+seq/86400, seq)
	h.SchemaVersion = version
	for i := range t.Columns {
		c := &t.Columns[i]
		if uint64(c.ID) >= before {
			continue
		}
		to := b.Add(*c)
		for row, text := range texts {
			switch {
			case c.Name == "ts":
				to.SetInt(row, int64(seq)*1000+int64(row))
			case c.Type.IsBytes():
				to.SetString(row, text)
			case c.Type.IsFloat():
				to.SetFloat(row, 7)
			default:
				to.SetInt(row, 7)
			}
		}
	}
	for range texts {
		b.EndRow()
	}
	return b.Encode(nil, h)
}

// TestJoinIceberg joins objects of a table that is shown as Iceberg: only those of one version of the table, or with
// the same columns, whose columns the table still has. The new ones have the version and the hidden columns of the
// former ones, and the defaults of columns that some of their rows lacked.
func TestJoinIceberg(t *testing.T) {
	t.Parallel()
	b := tierBucket(t)
	cfg := joining(testConfig(t), b)
	var now hand
	now.add(12 * time.Hour)
	cfg.Now = func() time.Time { return time.Unix(0, 0).Add(now.get()) }
	w := &joinWorld{opened: openShard(t, cfg), bucket: b, want: map[uint64][]string{}}
	w.stopCompactor()
	seq, day := uint64(0), uint64(0)
	define := func(version uint32) {
		t.Helper()
		if err := w.DefineTable(wait(t), shownDef(version)); err != nil {
			t.Fatal(err)
		}
	}
	move := func(version uint32, before uint64) {
		t.Helper()
		seq++
		text := fmt.Sprintf("row%04d", seq)
		w.mustPut(shownBatch(version, day*86400+seq, before, text))
		w.want[1] = append(w.want[1], text)
		w.move()
	}
	define(1)
	for range 3 {
		move(1, 9)
	}
	define(2)
	for i := range 5 {
		move(2, 4+uint64(i%2)) // every second object has n
	}
	define(3)
	for range 4 {
		move(3, 9)
	}
	w.check("moved", 12, 0)
	now.add(14 * time.Hour)
	w.move()
	w.check("joined", 3, 12) // the first one of version 2 has the columns of version 1
	_, sets := w.coldState()
	last := func(i int) *cold.Object { return &sets[len(sets)-i].Objects[0] }
	for i := range 3 {
		if o := last(3 - i); o.Meta.SchemaVersion != uint32(i+1) || o.Meta.Rows != 4 || !iceberg.Joined(o) {
			t.Errorf("object %+v", o)
		}
	}
	w.checkShown(last(3), []uint32{1, 2, 3, 1 + segment.HiddenID}, nil)
	w.checkShown(last(2), []uint32{1, 2, 3, 4, 1 + segment.HiddenID}, map[uint32]int64{4: 0})
	w.checkShown(last(1), []uint32{1, 2, 3, 4, 5, 1 + segment.HiddenID}, map[uint32]int64{4: 0, 5: 0})

	// Objects whose column has another type now stay as they are. Those of other versions can be joined if they have
	// the same columns.
	day = 1
	for range 2 {
		move(3, 9)
	}
	for range 2 {
		move(3, 4)
	}
	define(4)
	for range 2 {
		move(4, 4)
	}
	now.add(24 * time.Hour)
	w.move()
	w.check("wider", 6, 16)
	_, sets = w.coldState()
	if o := last(1); o.Meta.SchemaVersion != 3 || o.Meta.Rows != 4 {
		t.Errorf("the last object is %+v", o)
	}
	w.checkShown(last(1), []uint32{1, 2, 3, 1 + segment.HiddenID}, nil)
	w.again()
	w.check("restarted", 6, 16)
}

// checkShown compares the columns of an object, and the nulls of some of them.
func (w *joinWorld) checkShown(o *cold.Object, columns []uint32, nulls map[uint32]int64) {
	w.t.Helper()
	var ids []uint32
	for i := range o.Meta.Columns {
		ids = append(ids, o.Meta.Columns[i].ID)
	}
	if !slices.Equal(ids, columns) {
		w.t.Errorf("object %s has the columns %d, want %d", o.Key, ids, columns)
	}
	tail, err := w.bucket.Range(wait(w.t), o.Key, bucket.Range{
		Offset: o.TailOffset, Length: o.Meta.Bytes - o.TailOffset, ObjectSize: o.Meta.Bytes,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	md, err := iceberg.Footer(o, tail)
	if err != nil {
		w.t.Fatal(err)
	}
	for id, want := range nulls {
		if got := iceberg.Nulls(md)(id); got != want {
			w.t.Errorf("object %s: column %d has %d nulls, want %d", o.Key, id, got, want)
		}
	}
}
