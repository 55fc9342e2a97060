package shard

import (
	"maps"
	"testing"

	"cordwood/proto/column"
	"cordwood/proto/schemapb"
)

// TestMoveChangedMode changes the merge mode of a table after the last row before a cut, while another table has later
// rows. The rows in objects merge in the mode in which they were written.
func TestMoveChangedMode(t *testing.T) {
	t.Parallel()
	w := newTieredWorld(t, 1, "last_row", tierBucket(t))
	one := w.shard(1)
	put := func(a, b string) {
		t.Helper()
		def := w.table()
		row := &column.Builder{}
		row.Add(def.Columns[0]).SetInt(0, 5)
		row.Add(def.Columns[1]).SetString(0, "h")
		if a != "NULL" {
			row.Add(def.Columns[2]).SetString(0, a)
		}
		if b != "NULL" {
			row.Add(def.Columns[3]).SetInt(0, 7)
		}
		row.EndRow()
		row.Finish()
		w.seq++
		data := row.Encode(nil, column.Header{TableID: 1, Epoch: 1, SchemaVersion: def.Version, Session: 9, Seq: w.seq})
		if _, err := w.client.Write(wait(t), 1, [][]byte{data}, func([]uint64) []*schemapb.Table {
			return []*schemapb.Table{w.def}
		}); err != nil {
			t.Fatal(err)
		}
	}
	put("a", "NULL")
	one.move()
	put("NULL", "7")
	w.change(func(d *schemapb.Table) {
		d.Options = maps.Clone(d.Options)
		d.Options["merge_mode"] = "last_non_null"
	})
	if err := one.DefineTable(wait(t), w.def); err != nil {
		t.Fatal(err)
	}
	w.beside(1)
	w.want["h|5"] = [2]string{"NULL", "7"}
	w.check("hot")
	one.move()
	one.move()
	w.check("moved")
	w.reopen(1)
	w.check("restarted")
}
