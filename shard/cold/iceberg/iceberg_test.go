package iceberg

import (
	"encoding/json"
	"fmt"
	"strings"
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
		Read: w.read,
	}
	return w
}

func (w *world) read(location string) ([]byte, error) {
	b, ok := w.files[location]
	if !ok {
		return nil, fmt.Errorf("%s does not exist", location)
	}
	return b, nil
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
	read, err := Load(w.in.Location+"/"+out.Name, w.read)
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
		s += fmt.Sprintf("%+v %d %d %d: %+v\n", m.group, m.AddedRows, m.ExistingRows, m.DeletedRows, m.files)
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
		for i := range w.state.manifests {
			entries, err := w.state.manifests[i].read(w.read)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				out[e.File.Path] = *e.File.FirstRow
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

// TestStatistics checks that a file keeps its statistics when its manifest is written again.
func TestStatistics(t *testing.T) {
	w := newWorld(t, 2)
	w.commit("a1")
	w.commit("a1", "a22")
	entries, err := w.state.manifests[0].read(w.read)
	if err != nil || len(entries) != 2 {
		t.Fatal(entries, err)
	}
	for _, e := range entries {
		f := e.File
		got := fmt.Sprint(e.Status, *e.Sequence, *f.ColumnSizes, *f.Values, *f.Nulls, *f.Lower, *f.Upper, *f.Splits)
		want := fmt.Sprintf("0 1 [{2 3}] [{2 4}] [{2 1}] [{2 [1]}] [{2 %v}] [4]", []byte(f.Path))
		if f.Path == "a22" {
			want = "1 2" + want[3:]
		}
		if got != want {
			t.Errorf("%s: %s, want %s", f.Path, got, want)
		}
	}
	// A manifest that has lost an entry is not written on.
	m := &w.state.manifests[0]
	if w.files[m.Path], err = encodeAvro(manifestSchema(2, &w.state.Metadata.Specs[0]), nil, entries[:1]); err != nil {
		t.Fatal(err)
	}
	w.in.Files = nil
	if _, err := Next(w.state, &w.in); err == nil || !strings.Contains(err.Error(), "bytes, and the list of manifests") {
		t.Errorf("the error is %v", err)
	}
	m.Length = int64(len(w.files[m.Path]))
	if _, err := Next(w.state, &w.in); err == nil || !strings.Contains(err.Error(), "has 1 live files, and the list") {
		t.Errorf("the error is %v", err)
	}
}

// TestManySnapshots commits all the time.
func TestManySnapshots(t *testing.T) {
	w := newWorld(t, 2)
	w.commit("a1")
	w.state.Metadata.Snapshots = nil
	for i := range int64(maxSnapshots) {
		w.state.Metadata.Snapshots = append(w.state.Metadata.Snapshots, Snapshot{ID: i + 1000, Millis: w.in.Now.UnixMilli()})
	}
	current := int64(maxSnapshots + 999)
	w.state.Metadata.Snapshot = &current
	w.commit("a1", "a2")
	list := w.state.Metadata.Snapshots
	if len(list) != maxSnapshots || list[0].ID != 1001 || list[len(list)-1].ID != *w.state.Metadata.Snapshot {
		t.Errorf("%d snapshots, the first is %d", len(list), list[0].ID)
	}
}

// TestFutureClock has a clock that was in the future. Snapshots of that time are not kept until then.
func TestFutureClock(t *testing.T) {
	w := newWorld(t, 2)
	right := w.in.Now
	w.in.Now = right.Add(1000 * time.Hour)
	w.commit("a1")
	w.commit("a1", "a2")
	if n := len(w.state.Metadata.Snapshots); n != 2 {
		t.Errorf("%d snapshots", n)
	}
	w.in.Now = right
	if w.commit("a1", "a2", "a3"); len(w.state.Metadata.Snapshots) != 1 {
		t.Errorf("snapshots %v", w.state.Metadata.Snapshots)
	}
}

// TestManySchemas has a wide table to which a column was added before each commit.
func TestManySchemas(t *testing.T) {
	m := &Metadata{}
	size := 0
	for i := range int32(30) {
		s := &Schema{Type: "struct", ID: i, Fields: make([]Field, 3000)}
		for k := range s.Fields {
			s.Fields[k] = Field{ID: int32(k), Name: fmt.Sprintf("a_column_with_a_long_name_%d_%d", k, i), Type: "double"}
		}
		id := i
		m.Schemas = append(m.Schemas, s)
		m.Snapshots = append(m.Snapshots, Snapshot{ID: int64(i), Schema: &id})
		m.Schema = i
	}
	(&commit{m: m}).forgetSchemas()
	known := map[int32]bool{}
	for _, s := range m.Schemas {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		size += len(b)
		known[s.ID] = true
	}
	if size > maxSchemas*3/2 || !known[29] || !known[28] || len(known) < 5 || len(known) > 29 {
		t.Errorf("%d bytes of %d schemas", size, len(known))
	}
	for i, s := range m.Snapshots {
		if known[int32(i)] != (s.Schema != nil) {
			t.Errorf("snapshot %d has the schema %v; it is there: %t", s.ID, s.Schema, known[int32(i)])
		}
	}
}

// TestPartitionName adds columns with the name of the partition's field.
func TestPartitionName(t *testing.T) {
	w := newWorld(t, 2)
	w.commit("a1", "b1")
	w.in.Table = table(nil, field(2, "n", schema.Int64), field(3, "TIME_DAY", schema.String),
		field(4, "time_day_2", schema.String))
	w.in.Table.Version++
	w.commit("a1", "b2")
	if name := w.state.Metadata.Specs[0].Fields[0].Name; name != "time_day_3" {
		t.Errorf("the name is %s", name)
	}
	w.commit("a1", "a2", "b2")
	if w.shown() != 6 {
		t.Errorf("%d rows", w.shown())
	}
}

// TestSchemaOfVersion shows the same version of a table in two ways.
func TestSchemaOfVersion(t *testing.T) {
	w := newWorld(t, 2)
	w.in.Table = table(map[string]string{}, field(2, "a.b", schema.Int64))
	w.commit("a1")
	w.in.Table.Options[schema.OptionIcebergNames] = schema.IcebergUnderscore
	w.commit("a1")
	m := w.state.Metadata
	if len(m.Schemas) != 2 || m.Schema == *m.Snapshots[0].Schema || m.schema().Fields[1].Name != "a_b" {
		t.Errorf("%d schemas, the current one is %+v", len(m.Schemas), m.schema())
	}
}
