package iceberg

import (
	"slices"
	"testing"

	"cordwood/proto/schema"
	"cordwood/shard/cold"
)

// joinDay notes that an object was made by a join of a day.
func (w *world) joinDay(o *cold.Object, join uint64) *cold.Object {
	w.t.Helper()
	o.Kind, o.Cut = cold.Day, join-1
	return o
}

// TestDaily shows the joined days of a table that merges rows, and nothing else. A day that is joined again replaces
// its former rows by a snapshot that says so, also if their number is the same.
func TestDaily(t *testing.T) {
	w := newWorld(t, "daily")
	w.table.Options["append_mode"] = "false"
	c := w.committer(nil)
	w.add(1, 100, true).Kind = cold.Merging
	w.add(1, 50, true) // from before the table had the option
	w.mustRun(c)
	w.mustShow(0)
	one := w.joinDay(w.add(1, 10, true), 3)
	w.joinDay(w.add(2, 5, true), 4)
	w.mustRun(c)
	w.mustShow(15)
	if c.tables[7].left != 50 {
		t.Errorf("%d rows are left out, want those that never are shown", c.tables[7].left)
	}
	replace := func(o *cold.Object, rows int) *cold.Object {
		w.objects = slices.DeleteFunc(w.objects, func(x *cold.Object) bool { return x == o })
		return w.joinDay(w.add(1, rows, true), 9)
	}
	one = replace(one, 10)
	w.mustRun(c)
	st := w.mustShow(15)
	if got := st.Metadata.Snapshots[len(st.Metadata.Snapshots)-1].Summary["operation"]; got != "overwrite" {
		t.Errorf("the operation is %s", got)
	}

	// The definition changes. Until all days were joined anew, the table stays as it was.
	before := w.commits[7].Version
	wider := *w.table
	wider.Columns = slices.Clone(wider.Columns)
	wider.Columns[1].Type, wider.Version = schema.Float64, 2
	w.table = wider.Index()
	w.mustRun(c)
	one = replace(one, 11)
	w.mustRun(c)
	if w.commits[7].Version != before || c.tables[7].reason == "" {
		t.Errorf("commit %d, want %d; held: %q", w.commits[7].Version, before, c.tables[7].reason)
	}
	w.objects = slices.DeleteFunc(w.objects, func(o *cold.Object) bool { return o.Day == 2 && o.Kind == cold.Day })
	w.joinDay(w.add(2, 6, true), 10)
	w.mustRun(c)
	if st := w.mustShow(17); st.Metadata.Schema != 2 || c.tables[7].reason != "" {
		t.Errorf("schema %d, held: %q", st.Metadata.Schema, c.tables[7].reason)
	}

	// A node that does not know the definition of a new object waits for it.
	known := w.table
	newer := *w.table
	newer.Version = 3
	w.table = newer.Index()
	replace(one, 12)
	w.table = known
	w.mustRun(c)
	if c.tables[7].reason == "" {
		t.Error("a table is committed without a day")
	}
	w.table = newer.Index()
	w.mustRun(c)
	w.mustShow(18)

	// The table keeps all rows from now on, and shows the joined days too.
	kept := *w.table
	kept.Options, kept.Version = map[string]string{"append_mode": "true", "iceberg": "v2"}, 4
	w.table = kept.Index()
	w.objects = slices.DeleteFunc(w.objects, func(o *cold.Object) bool { return o.Kind == cold.Kept })
	w.add(3, 7, true)
	w.mustRun(c)
	w.mustShow(25)
	if c.tables[7].left != 100 {
		t.Errorf("%d rows are left out, want those that merge", c.tables[7].left)
	}
}
