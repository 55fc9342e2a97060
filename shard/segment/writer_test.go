package segment

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/vfs"
)

// cells returns the rows of a batch as text, with the columns in the order of their ids.
func cells(b *column.Batch) []string {
	var lines []string
	for row := range b.Rows {
		s := []string{fmt.Sprint("table=", b.TableID)}
		for i := range b.Cols {
			v := &b.Cols[i]
			switch {
			case v.IsNull(row):
			case v.Type.IsBytes():
				s = append(s, fmt.Sprintf("%d=%s", v.ID, v.Bytes(row)))
			case v.Type.IsFloat():
				s = append(s, fmt.Sprintf("%d=%v", v.ID, v.Float(row)))
			default:
				s = append(s, fmt.Sprintf("%d=%d", v.ID, v.Int(row)))
			}
		}
		lines = append(lines, strings.Join(s, " "))
	}
	return lines
}

// readAll reads a segment back in batches of at most maxRows rows.
func readAll(t testing.TB, dir string, m *Meta, maxRows int) []string {
	t.Helper()
	r, err := Open(vfs.OS, filepath.Join(dir, FileName(m.ID)), m)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var lines []string
	for {
		b, err := r.Next(maxRows)
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		if b.Rows == 0 || b.Rows > maxRows {
			t.Fatalf("a batch of %d rows, want 1 to %d", b.Rows, maxRows)
		}
		lines = append(lines, cells(b)...)
	}
}

// allRows are references to all rows of batches, in their order.
func allRows(tab *schema.Table, batches ...*column.Batch) []RowRef {
	var refs []RowRef
	for i, b := range batches {
		for row := range b.Rows {
			refs = append(refs, RowRef{Time: b.Column(tab.TimeIndex().ID).Int(row), Batch: uint32(i), Row: uint32(row)})
		}
	}
	return refs
}

func TestSharedFile(t *testing.T) {
	one := tableOf(t, "ts:TimestampSecond:TIMESTAMP", "msg:String", "n:Int64")
	two := tableOf(t, "ts:TimestampSecond:TIMESTAMP", "msg:String", "N:Int64")
	three := tableOf(t, "host:String:TAG", "made:TimestampNanosecond:TIMESTAMP", "cordwood_table:Int64")
	one.ID, two.ID, three.ID = 3, 20, 21
	b1 := batchOf(t, one, row{"ts": 5, "msg": "a", "n": 1}, row{"ts": 6, "n": 2})
	b2 := batchOf(t, two, row{"ts": 4, "N": 7}, row{"ts": 9, "msg": "z"})
	b3 := batchOf(t, three, row{"host": "h", "made": int64(8e9), "cordwood_table": 77})

	dir := t.TempDir()
	cfg := Config{FS: vfs.OS, Dir: dir, Order: 9, NextID: func() uint64 { return 1 }, RowGroupRows: 3}
	w, err := NewWriter(cfg, Spec{Shared: true, Tables: []TableColumns{{Table: one}, {Table: two}, {Table: three}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []struct {
		table *schema.Table
		batch *column.Batch
	}{{one, b1}, {two, b2}, {three, b3}} {
		refs := allRows(part.table, part.batch)
		for i := range refs { // in pieces
			if err := w.Append(part.table, []*column.Batch{part.batch}, refs[i:i+1]); err != nil {
				t.Fatal(err)
			}
		}
	}
	m, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Abort(); err != nil {
		t.Errorf("Abort after Finish: %v", err)
	}
	if err := Check(vfs.OS, dir, &m, true); err != nil {
		t.Error(err)
	}
	if m.Order != 9 || m.TableID != 0 || m.Rows != 5 || m.MinTime != 4e9 || m.MaxTime != 9e9 {
		t.Errorf("meta %+v", m)
	}
	spans := []TableSpan{{3, 2, 5, 6}, {20, 2, 4, 9}, {21, 1, 8e9, 8e9}}
	if diff := cmp.Diff(spans, m.Tables); diff != "" {
		t.Error(diff)
	}
	columns := []Column{
		{ID: 1, FieldID: 1, Name: "ts", Type: schema.TimestampSecond, Semantic: schema.Timestamp},
		{ID: 2, FieldID: 2, Name: "msg", Type: schema.String, Semantic: schema.Field},
		{ID: 3, FieldID: 3, Name: "n", Type: schema.Int64, Semantic: schema.Field},
		{ID: 3, FieldID: 4, Name: "N#4", Logical: "N", Type: schema.Int64, Semantic: schema.Field},
		{ID: 1, FieldID: 5, Name: "host", Type: schema.String, Semantic: schema.Tag},
		{ID: 2, FieldID: 6, Name: "made", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp},
		{ID: 3, FieldID: 7, Name: "cordwood_table#7", Logical: "cordwood_table", Type: schema.Int64, Semantic: schema.Field},
	}
	if diff := cmp.Diff(columns, m.Columns); diff != "" {
		t.Error(diff)
	}
	want := []string{
		"table=3 1=5 2=a 3=1", "table=3 1=6 3=2", "table=20 1=4 3=7", "table=20 1=9 2=z",
		"table=21 1=h 2=8000000000 3=77",
	}
	for _, n := range []int{1, 2, 100} {
		if diff := cmp.Diff(want, readAll(t, dir, &m, n)); diff != "" {
			t.Errorf("read %d rows at a time: %s", n, diff)
		}
	}
	file := filepath.Join(dir, FileName(1))
	got := query(t, "select cordwood_table, epoch(ts)::bigint ts, msg, n, \"N#4\", host, epoch(made)::bigint made, "+
		"\"cordwood_table#7\" from read_parquet('"+file+"')")
	table := "cordwood_table|ts|msg|n|N#4|host|made|cordwood_table#7\n3|5|a|1|NULL|NULL|NULL|NULL\n3|6|NULL|2|NULL|NULL|" +
		"NULL|NULL\n" +
		"20|4|NULL|NULL|7|NULL|NULL|NULL\n20|9|z|NULL|NULL|NULL|NULL|NULL\n21|NULL|NULL|NULL|NULL|h|8|77\n"
	if diff := cmp.Diff(table, strings.ReplaceAll(got, "<nil>", "NULL")); diff != "" {
		t.Error(diff)
	}
}

func TestWriterRefuses(t *testing.T) {
	tab := tableOf(t, "ts:TimestampSecond:TIMESTAMP")
	other := tableOf(t, "ts:TimestampSecond:TIMESTAMP")
	other.ID = 99
	wide := &schema.Table{
		ID:      1,
		Columns: []schema.Column{{ID: 1, Name: "ts", Type: schema.TimestampSecond, Semantic: schema.Timestamp}},
	}
	for i := range MaxSlots {
		wide.Columns = append(wide.Columns, schema.Column{
			ID: uint32(i + 2), Name: fmt.Sprint("c", i), Type: schema.String, Semantic: schema.Field,
		})
	}
	timeless := &schema.Table{ID: 1}
	m := vfs.NewMem()
	if err := m.MkdirAll("/s"); err != nil {
		t.Fatal(err)
	}
	cfg := Config{FS: m, Dir: "/s", NextID: func() uint64 { return 1 }}
	for want, spec := range map[string]Spec{
		"0 tables":                 {},
		"2 tables for one file":    {Tables: []TableColumns{{Table: tab}, {Table: other}}},
		"must ascend":              {Shared: true, Tables: []TableColumns{{Table: other}, {Table: tab}}},
		"at most 1000 are allowed": {Shared: true, Tables: []TableColumns{{Table: wide.Index()}}},
		"no time index":            {Tables: []TableColumns{{Table: timeless}}},
	} {
		if _, err := NewWriter(cfg, spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
	batch := batchOf(t, tab, row{"ts": 1})
	refs := allRows(tab, batch)
	for want, use := range map[string]func(w *Writer) error{
		"no rows": func(w *Writer) error { _, err := w.Finish(); return err },
		"table 5, which is not a table of this file": func(w *Writer) error {
			return w.Append(&schema.Table{ID: 5}, []*column.Batch{batch}, refs)
		},
		"table 7 after rows of table 99": func(w *Writer) error {
			return errors.Join(w.Append(other, []*column.Batch{batch}, refs), w.Append(tab, []*column.Batch{batch}, refs))
		},
		"aborted": func(w *Writer) error {
			return errors.Join(w.Abort(), w.Append(tab, []*column.Batch{batch}, refs))
		},
	} {
		w, err := NewWriter(cfg, Spec{Shared: true, Tables: []TableColumns{{Table: tab}, {Table: other}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := use(w); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
		if _, err := w.Finish(); err == nil {
			t.Errorf("%s: Finish after an error returns nil", want)
		}
		if err := w.Abort(); err != nil {
			t.Error(err)
		}
		if names, _ := m.ReadDir("/s"); len(names) > 0 {
			t.Errorf("%s: Abort left %v", want, names)
		}
	}
}
