package iceberg

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"cordwood/proto/schema"
)

func table(options map[string]string, columns ...schema.Column) *schema.Table {
	t := &schema.Table{ID: 7, Version: 3, Database: "public", Name: "t", Options: options}
	t.Columns = append([]schema.Column{{
		ID: 1, Name: "ts", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp,
	}}, columns...)
	return t.Index()
}

func field(id uint32, name string, typ schema.Type) schema.Column {
	return schema.Column{ID: id, Name: name, Type: typ, Semantic: schema.Field}
}

// world commits states of a table, and reads them back.
type world struct {
	t     *testing.T
	in    Input
	files map[string][]byte
	state *State
	ids   int64
}

func newWorld(t *testing.T, f Format) *world {
	w := &world{t: t, files: map[string][]byte{}}
	w.in = Input{
		Table: table(nil, field(2, "n", schema.Int64)), Format: f, Location: "s3://b/t", Now: time.Unix(1_000_000, 0),
		UUID: func() string { w.ids++; return fmt.Sprintf("u%d", w.ids) },
		ID:   func() int64 { w.ids++; return w.ids },
	}
	return w
}

// commit commits the files with the names, of a day for each letter, and compares the state with what is read back.
func (w *world) commit(paths ...string) *Output {
	w.t.Helper()
	w.in.Files = nil
	for _, p := range paths {
		f := File{
			Path: p, Bytes: 10, Rows: int64(len(p)), Day: int32(p[0]), Splits: []int64{4},
			Fields: map[int32]FieldStats{2: {Bytes: 3, Values: 4, Nulls: 1, Lower: []byte{1}, Upper: []byte(p)}},
		}
		if p[0] == 'z' {
			f.Day, f.Days = 0, true
		}
		w.in.Files = append(w.in.Files, f)
	}
	w.in.Version++
	out, err := Next(w.state, &w.in)
	if err != nil {
		w.t.Fatal(err)
	}
	if out == nil {
		return nil
	}
	for name, b := range out.Files {
		w.files[w.in.Location+"/"+name] = b
	}
	read, err := Load(w.in.Location+"/"+out.Name, func(location string) ([]byte, error) {
		b, ok := w.files[location]
		if !ok {
			return nil, fmt.Errorf("%s does not exist", location)
		}
		return b, nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if got, want := fmt.Sprintf("%+v", read.describe()), fmt.Sprintf("%+v", out.State.describe()); got != want {
		w.t.Fatalf("read back:\n%s\nwant\n%s", got, want)
	}
	w.state = read
	return out
}

// describe returns all of a state as text.
func (st *State) describe() string {
	b, err := json.Marshal(st.Metadata)
	if err != nil {
		panic(err)
	}
	s := fmt.Sprintf("%s %s\n", st.location, b)
	for _, m := range st.manifests {
		s += fmt.Sprintf("%+v %d %d %d: %+v\n", m.group, m.AddedRows, m.ExistingRows, m.DeletedRows, m.entries)
	}
	return s
}

func (w *world) shown() (rows int64) {
	for _, f := range w.state.Shown() {
		rows += f.Rows
	}
	return rows
}

func TestCommits(t *testing.T) {
	for _, f := range []Format{2, 3} {
		t.Run(fmt.Sprint(f), func(t *testing.T) {
			w := newWorld(t, f)
			if out := w.commit(); out == nil || len(out.Files) != 1 || w.state.Metadata.Snapshot != nil {
				t.Fatalf("the commit of an empty table: %v", out)
			}
			steps := []struct {
				paths     []string
				operation string
				manifests int // that are written
			}{
				{[]string{"a1", "a2", "b1", "z1"}, "append", 3},
				{[]string{"a1", "a2", "b1", "z1", "b2"}, "append", 1},
				{[]string{"a1", "b1", "z1", "b2"}, "delete", 1},
				{[]string{"a1", "b3", "z1"}, "overwrite", 1},
				{[]string{"a1", "z1"}, "delete", 1},
				{nil, "delete", 2},
				{[]string{"a1"}, "append", 1},
			}
			next := int64(0)
			for i, s := range steps {
				out := w.commit(s.paths...)
				now := w.state.Metadata.current()
				if now.Summary["operation"] != s.operation || len(out.Files) != s.manifests+2 {
					t.Errorf("step %d: %s, %d files", i, now.Summary["operation"], len(out.Files))
				}
				if want := int64(2 * len(s.paths)); w.shown() != want || now.Summary["total-records"] != fmt.Sprint(want) {
					t.Errorf("step %d: %d rows, summary %v", i, w.shown(), now.Summary)
				}
				if f == 3 && (*now.FirstRow != next || *w.state.Metadata.NextRow != next+*now.Rows) {
					t.Errorf("step %d: rows %d and %d more, next %d", i, *now.FirstRow, *now.Rows, *w.state.Metadata.NextRow)
				}
				if f == 3 {
					next = *w.state.Metadata.NextRow
				}
				if w.commit(s.paths...) != nil {
					t.Errorf("step %d: a second commit without a change", i)
				}
			}
		})
	}
}

// TestRowNumbers checks that a file keeps the numbers of its rows in version 3.
func TestRowNumbers(t *testing.T) {
	w := newWorld(t, 3)
	w.commit("a1", "a22")
	numbers := func() map[string]int64 {
		out := map[string]int64{}
		for _, m := range w.state.manifests {
			for _, e := range m.entries {
				out[e.file.Path] = e.firstRow
			}
		}
		return out
	}
	first := numbers()
	if first["a1"] != 0 || first["a22"] != 2 {
		t.Fatalf("numbers %v", first)
	}
	w.commit("a0", "a22", "b1")
	if now := numbers(); now["a22"] != 2 || now["a0"] < 5 || now["b1"] < 5 {
		t.Errorf("numbers %v", now)
	}
}

func TestExpiredSnapshots(t *testing.T) {
	w := newWorld(t, 2)
	w.commit("a1")
	w.in.Now = w.in.Now.Add(time.Hour)
	w.commit("a1", "b1")
	w.in.Now = w.in.Now.Add(keepSnapshots - time.Minute)
	if w.commit("a1", "b1") != nil || len(w.state.Metadata.Snapshots) != 2 {
		t.Errorf("snapshots %v", w.state.Metadata.Snapshots)
	}
	w.in.Now = w.in.Now.Add(time.Hour)
	if w.commit("a1", "b1") == nil || len(w.state.Metadata.Snapshots) != 1 || len(w.state.Metadata.SnapshotLog) != 1 {
		t.Errorf("snapshots %v", w.state.Metadata.Snapshots)
	}
	if w.commit("a1", "b1") != nil {
		t.Error("one more commit")
	}
}

func TestHeldSchema(t *testing.T) {
	w := newWorld(t, 2)
	w.commit("a1", "b1")
	w.in.Table = table(nil, field(2, "n", schema.Float64), field(3, "new", schema.String))
	w.in.Table.Version = 9
	w.in.Held = true
	w.commit("a1")
	if s := w.state.Metadata.schema(); s.ID != 3 || len(s.Fields) != 2 || w.shown() != 2 {
		t.Errorf("schema %+v, %d rows", s, w.shown())
	}
	w.in.Held = false
	w.commit("c1")
	last := w.state.Metadata.LastColumn
	if s := w.state.Metadata.schema(); s.ID != 9 || s.Fields[1].Type != "double" || last != 1<<30+1 {
		t.Errorf("schema %+v, last column %d", s, last)
	}
	if n := len(w.state.Metadata.Schemas); n != 2 {
		t.Errorf("%d schemas", n)
	}
}
