package segment

import (
	"errors"
	"io"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/vfs"
)

// TestCopyGroup writes a file from row groups of other files, of which some are copied and some
// decoded. In the new file a column of the table has been renamed, one dropped and one added. The
// file must read like one that was written from the rows.
func TestCopyGroup(t *testing.T) {
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 9))
		tab := wide(t)
		for i := range tab.Columns { // give the texts token filters
			if tab.Columns[i].Type == schema.String {
				tab.Columns[i].Index = index(schema.FulltextIndex)
				break
			}
		}
		dir, id := t.TempDir(), uint64(0)
		cfg := Config{FS: vfs.OS, Dir: dir, RowGroupRows: 500 + r.IntN(1500), NextID: func() uint64 { id++; return id }}
		batches := fill(t, r, tab, 2000, 4000, 1, 1000)
		metas, err := Write(cfg, tab, batches)
		if err != nil || len(metas) != 1 {
			t.Fatalf("%d files, %v", len(metas), err)
		}
		to := *tab
		to.Columns = append([]schema.Column(nil), tab.Columns...)
		to.Columns[3].Name = "renamed"
		to.Columns = append(to.Columns[:5], to.Columns[6:]...)
		to.Columns = append(to.Columns, schema.Column{ID: 999, Name: "added", Type: schema.String, Semantic: schema.Field})
		to.Index()
		spec := Spec{Tables: []TableColumns{{Table: &to}}}

		in, err := Open(vfs.OS, filepath.Join(dir, FileName(metas[0].ID)), &metas[0])
		if err != nil {
			t.Fatal(err)
		}
		mixed, whole := mustWriter(t, cfg, spec), mustWriter(t, cfg, spec)
		copied := 0
		for {
			g, ok := in.NextGroup()
			if can := mixed.CanCopy(in); ok && !can {
				t.Fatal("a row group cannot be copied")
			}
			if ok && r.IntN(3) > 0 {
				again, err := Open(vfs.OS, filepath.Join(dir, FileName(metas[0].ID)), &metas[0])
				if err != nil {
					t.Fatal(err)
				}
				for again.group < in.group {
					again.SkipGroup()
				}
				mustAppend(t, whole, &to, again, int(g.Rows))
				if err := errors.Join(again.Close(), mixed.CopyGroup(in)); err != nil {
					t.Fatal(err)
				}
				copied++
				continue
			}
			b, err := in.Next(1 + r.IntN(2000))
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range []*Writer{mixed, whole} {
				if err := w.Append(&to, []*column.Batch{b}, allRows(&to, b)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := in.Close(); err != nil || copied == 0 {
			t.Fatal(copied, err)
		}
		got, err := mixed.Finish()
		want, err2 := whole.Finish()
		if err := errors.Join(err, err2, Check(vfs.OS, dir, &got, true)); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(readAll(t, dir, &want, 1000), readAll(t, dir, &got, 1000)); d != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, d)
		}
		if d := cmp.Diff(dump(t, dir, want), dump(t, dir, got)); d != "" { // read by another reader
			t.Fatalf("seed %d (-want +got):\n%s", seed, d)
		}
		want.ID, want.Bytes, want.FileCRC, want.FooterCRC = got.ID, got.Bytes, got.FileCRC, got.FooterCRC
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("seed %d (-want +got):\n%s", seed, d)
		}
		mustFind(t, r, dir, &got)
	}
}

func mustWriter(t testing.TB, cfg Config, spec Spec) *Writer {
	t.Helper()
	w, err := NewWriter(cfg, spec)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func mustAppend(t *testing.T, w *Writer, tab *schema.Table, r *Reader, rows int) {
	t.Helper()
	for rows > 0 {
		b, err := r.Next(rows)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Append(tab, []*column.Batch{b}, allRows(tab, b)); err != nil {
			t.Fatal(err)
		}
		rows -= b.Rows
	}
}

// mustFind checks that single rows are found with the page index, and that filters do not exclude
// existing values.
func mustFind(t *testing.T, r *rand.Rand, dir string, m *Meta) {
	t.Helper()
	path := filepath.Join(dir, FileName(m.ID))
	in, err := Open(vfs.OS, path, m)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	want := make([][]string, len(m.Columns))
	filters, f := openFilters(t, path)
	for {
		g := in.group + 1
		if in.rows > 0 {
			g = in.group
		}
		b, err := in.Next(5000)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range m.Columns {
			v := b.Column(c.ID)
			for row := range b.Rows {
				want[i] = append(want[i], value(v, row))
			}
			if v == nil || !c.Type.IsBytes() {
				continue
			}
			for row := range b.Rows {
				if v.IsNull(row) {
					continue
				}
				if may, err := filters.MayHave(f, c.FieldID, g, v.Bytes(row)); !may || err != nil {
					t.Fatalf("group %d, column %q: the bloom filter lacks a value: %v", g, c.Name, err)
				}
				if !filters.MayContain(f, c.FieldID, g, string(v.Bytes(row))) {
					t.Fatalf("group %d, column %q: the token filter lacks a value", g, c.Name)
				}
			}
		}
	}
	for range 4 {
		checkRows(t, r, filters, f, m, want)
	}
}

// TestCannotCopy checks that row groups are decoded if they lack something that the new file needs.
func TestCannotCopy(t *testing.T) {
	tab := tableOf(t, "ts:TimestampSecond:TIMESTAMP", "a:String", "b:Int64")
	dir := t.TempDir()
	m := write(t, dir, tab, batchOf(t, tab, row{"ts": 5, "a": "x", "b": 3}, row{"ts": 7, "a": "y"}))[0]
	for name, change := range map[string]func(*schema.Table, *Spec){
		"": func(*schema.Table, *Spec) {},
		"a column more": func(n *schema.Table, _ *Spec) {
			n.Columns = append(n.Columns, schema.Column{ID: 9, Name: "c", Type: schema.JSON})
		},
		"a bloom filter": func(n *schema.Table, _ *Spec) { n.Columns[2].Index = index(schema.SkippingIndex) },
		"a token filter": func(n *schema.Table, _ *Spec) { n.Columns[1].Index = index(schema.FulltextIndex) },
		"another type":   func(n *schema.Table, _ *Spec) { n.Columns[2].Type = schema.Int32 },
		"another table":  func(n *schema.Table, _ *Spec) { n.ID++ },
		"a shared file":  func(_ *schema.Table, s *Spec) { s.Shared = true },
		"a token filter of an added column": func(n *schema.Table, _ *Spec) {
			n.Columns = append(n.Columns, schema.Column{
				ID: 9, Name: "c", Type: schema.String, Index: index(schema.FulltextIndex),
			})
		},
	} {
		in, err := Open(vfs.OS, filepath.Join(dir, FileName(m.ID)), &m)
		if err != nil {
			t.Fatal(err)
		}
		if g, ok := in.NextGroup(); !ok || g != (Group{Rows: 2, MinTime: 5, MaxTime: 7, Timed: true}) {
			t.Errorf("%q: the row group is %+v, %v", name, g, ok)
		}
		n := *tab
		n.Columns = append([]schema.Column(nil), tab.Columns...)
		spec := Spec{}
		change(&n, &spec)
		spec.Tables = []TableColumns{{Table: n.Index()}}
		id := uint64(50)
		w := mustWriter(t, Config{FS: vfs.OS, Dir: dir, NextID: func() uint64 { id++; return id }}, spec)
		if got, want := w.CanCopy(in), name == "" || name == "a column more" ||
			name == "a token filter of an added column"; got != want {
			t.Errorf("%q: can be copied: %v", name, got)
		}
		if err := errors.Join(w.Abort(), in.Close()); err != nil {
			t.Error(err)
		}
	}
}

func index(kind schema.IndexKind) *schema.Index {
	return &schema.Index{Kind: kind, Options: schema.DefaultIndexOptions(kind)}
}
