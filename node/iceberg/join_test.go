package iceberg

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/cold"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/iceberg"
	"cordwood/shard/compaction"
	"cordwood/shard/query"
	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

var joinSeed = flag.Uint64("join-seed", 0, "seed of TestJoinRandom; 0 means a new one")

// input is a file to be merged.
type input struct {
	meta segment.Meta
	data []byte
}

// build writes files to an object as the leader of a shard does, with a definition.
func (w *world) build(def *schema.Table, key string, inputs ...input) *cold.Object {
	w.t.Helper()
	dir := w.t.TempDir()
	job := compaction.Job{Abandoned: func(uint64) {}}
	for i := range inputs {
		m := inputs[i].meta
		m.ID, m.Order = uint64(i+1), uint64(i+1)
		path := filepath.Join(dir, segment.FileName(m.ID))
		if err := os.WriteFile(path, inputs[i].data, 0o600); err != nil {
			w.t.Fatal(err)
		}
		job.Inputs = append(job.Inputs, compaction.Input{Meta: &m, Path: path})
	}
	const id = 1000
	job.Config = segment.Config{FS: vfs.OS, Dir: dir, NextID: func() uint64 { return id }}
	job.Table = func(uint64) *compaction.Table {
		return &compaction.Table{
			Def: def, Merge: query.Append, Own: true, Fill: compaction.FillsOf(iceberg.Fills(def), job.Inputs),
		}
	}
	res, err := compaction.Run(w.t.Context(), job)
	if err != nil || len(res.Segments) != 1 {
		w.t.Fatalf("%v, %v", res, err)
	}
	return w.store(def, key, dir, &res.Segments[0], iceberg.Extra(def))
}

// store stores a segment file as an object.
func (w *world) store(def *schema.Table, key, dir string, m *segment.Meta, extra segment.Extra) *cold.Object {
	w.t.Helper()
	path := filepath.Join(dir, "striped")
	o := &cold.Object{Key: key}
	var err error
	o.Meta, err = segment.StripeWith(vfs.OS, filepath.Join(dir, m.FileName()), m, path, extra)
	if err != nil {
		w.t.Fatal(err)
	}
	o.Meta.ID, o.Meta.Order = 0, 0
	o.Day = o.Meta.MinTime / (86400 * def.TimeIndex().Type.UnitsPerSecond())
	data, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	u, err := segment.ReadUnits(vfs.OS, path)
	if err != nil {
		w.t.Fatal(err)
	}
	o.TailOffset, o.TailCRC = u.TailOffset, crc32.Checksum(data[u.TailOffset:], bucket.Castagnoli)
	err = w.bucket.Bucket.Put(w.t.Context(), o.Key, bucket.Content{Body: bytes.NewReader(data), Size: int64(len(data))})
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

// mayJoin reports whether the leader of a shard joins objects with a definition.
func mayJoin(def *schema.Table, objects []*cold.Object) bool {
	j := iceberg.NewJoiner(def)
	metas := make([]*segment.Meta, len(objects))
	for i, o := range objects {
		if metas[i] = &o.Meta; !j.May(o.Meta.Columns) {
			return false
		}
	}
	return j == nil || iceberg.Alike(metas)
}

// join replaces objects by one with their rows.
func (w *world) join(def *schema.Table, number uint64, objects ...*cold.Object) *cold.Object {
	w.t.Helper()
	var inputs []input
	objects = slices.Clone(objects)
	version := objects[0].Meta.SchemaVersion
	for _, o := range objects {
		data, err := os.ReadFile(filepath.Join(w.dir, o.Key))
		if err != nil {
			w.t.Fatal(err)
		}
		inputs = append(inputs, input{o.Meta, data})
		version = min(version, o.Meta.SchemaVersion)
	}
	made := w.build(def, fmt.Sprintf("c/data/1-%d-1-%016x.parquet", number, number), inputs...)
	made.Meta.SchemaVersion = version
	last := objects[len(objects)-1]
	made.Cut = last.Cut
	w.objects[slices.Index(w.objects, last)] = made
	w.objects = slices.DeleteFunc(w.objects, func(o *cold.Object) bool { return slices.Contains(objects, o) })
	return made
}

// TestJoined joins objects, and stores new ones before the next commit. The rows are shown all the time, and a snapshot
// of its own replaces the former objects.
func TestJoined(t *testing.T) {
	for _, version := range []string{"v2", "v3"} {
		w := newWorld(t, version)
		c := w.committer(nil)
		c.maxNew = 1
		a, b := w.add(1, 10, true), w.add(1, 5, true)
		w.mustRun(c)
		w.join(w.table, 3, a, b)
		w.add(1, 4, true)
		w.mustRun(c)
		st := w.mustShow(19)
		want := []string{"append", "append", "replace", "append"}
		var got []string
		for i := range st.Metadata.Snapshots {
			got = append(got, st.Metadata.Snapshots[i].Summary["operation"])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the operations are %q, want %q", version, got, want)
		}
		s := st.Metadata.Snapshots[2].Summary
		for key, want := range map[string]string{
			"added-data-files": "1", "deleted-data-files": "2", "added-records": "15", "deleted-records": "15",
			"total-records": "15", "total-data-files": "1",
		} {
			if s[key] != want {
				t.Errorf("%s: %s is %s, want %s", version, key, s[key], want)
			}
		}
	}
}

// TestJoinedHeld joins objects of a table that is held. The Iceberg table shows their rows all the time.
func TestJoinedHeld(t *testing.T) {
	w := newWorld(t, "v2")
	c := w.committer(nil)
	a, b := w.add(1, 10, true), w.add(1, 5, true)
	w.add(2, 3, true)
	w.mustRun(c)
	before := w.table
	wider := *w.table
	wider.Columns = slices.Clone(wider.Columns)
	wider.Columns[1].Type, wider.Version = schema.Float64, 2
	w.table = wider.Index()
	w.add(3, 2, true)
	w.add(3, 2, true)
	if mayJoin(w.table, []*cold.Object{a, b}) {
		t.Error("integers may be joined after their column has become wider")
	}
	w.join(before, 9, a, b) // it was done before
	w.join(w.table, 10, w.objects[len(w.objects)-2:]...)
	w.mustRun(c)
	if st := w.mustShow(18); st.Metadata.Schema != 1 {
		t.Errorf("schema %d", st.Metadata.Schema)
	}
	w.mustRun(w.committer(nil))
	w.mustShow(18)
	w.objects = w.objects[2:]
	w.mustRun(c)
	if st := w.mustShow(4); st.Metadata.Schema != 2 {
		t.Errorf("schema %d", st.Metadata.Schema)
	}
}

// TestJoinedWithoutDefault joins objects that are not shown, because the table was committed with a column that has a
// default and that they lack. The object of their rows is not shown either: it would have nulls in place of the
// default.
func TestJoinedWithoutDefault(t *testing.T) {
	w := newWorld(t, "v2")
	c := w.committer(nil)
	before, value := w.table, "5"
	later := *before
	later.Columns = append(slices.Clone(before.Columns), schema.Column{
		ID: 9, Name: "c", Type: schema.Int64, Semantic: schema.Field, NotNull: true, Default: &value,
	})
	later.Version = 2
	w.table = later.Index()
	w.mustRun(c)
	w.table = before // as a shard that does not know the column yet
	a, b := w.add(1, 10, true), w.add(1, 5, true)
	w.table = later.Index()
	w.mustRun(c)
	w.mustShow(0)
	w.join(before, 9, a, b)
	w.mustRun(c)
	w.mustShow(0)
	w.mustRun(w.committer(nil))
	w.mustShow(0)
}

// lake is a table that changes at random.
type lake struct {
	*world
	rng *rand.Rand
	// defs are all versions of the table. The shard knows the first shard ones of them, the committing node the first
	// node ones.
	defs        []*schema.Table
	shard, node int
	ids         uint32
	cut         uint64
	clock       int64
	pending     []int64
	values      map[int64]map[uint32]string // by time: the values of rows by columns
	in          map[string][]int64          // the rows of objects

	uuid  string
	shown map[int64]bool
	joins int
	held  int
}

func (l *lake) def() *schema.Table { return l.defs[l.shard-1] }

// TestJoinRandom changes a table at random, moves and joins its rows, and commits it with definitions that are newer or
// older than those of the shard. No row that was shown is missing as long as it lives, none is there twice, and all
// values are those of the definition that is shown.
func TestJoinRandom(t *testing.T) {
	random := *joinSeed
	if random == 0 {
		random = rand.Uint64()
	}
	t.Logf("go test ./node/iceberg -run TestJoinRandom -join-seed %d", random)
	joins, held := 0, 0
	for round := range uint64(6) {
		seed := uint64(1) // of which it is known that it meets everything
		if round >= 3 {
			seed = random
		}
		l := &lake{
			world: newWorld(t, "v2"), rng: rand.New(rand.NewPCG(seed, round)), shard: 1, node: 1, ids: 2,
			values: map[int64]map[uint32]string{}, in: map[string][]int64{}, shown: map[int64]bool{},
		}
		l.defs = []*schema.Table{l.table}
		c := l.committer(nil)
		c.maxNew = 3
		steps := []struct {
			weight int
			do     func()
		}{
			{40, l.write},
			{40, l.move},
			{8, l.alter},
			{20, l.join1},
			{4, l.expire},
			{25, func() { l.commit(c) }},
			{4, func() { c = l.committer(nil); c.maxNew = 3 }},
			{10, func() { l.shard += l.rng.IntN(len(l.defs) - l.shard + 1) }},
			{10, func() { l.node += l.rng.IntN(len(l.defs) - l.node + 1) }},
		}
		for i := range 250 {
			n := l.rng.IntN(161)
			for _, s := range steps {
				if n -= s.weight; n < 0 {
					s.do()
					break
				}
			}
			if t.Failed() {
				t.Fatalf("seed %d, round %d, operation %d", seed, round, i)
			}
		}
		joins, held = joins+l.joins, held+l.held
	}
	if t.Logf("%d joins, %d commits were held", joins, held); joins < 5 || held < 1 {
		t.Errorf("only %d joins and %d commits that were held", joins, held)
	}
}

// write appends rows.
func (l *lake) write() {
	for range 1 + l.rng.IntN(3) {
		l.clock += 1 + l.rng.Int64N(6*3600e9)
		row := map[uint32]string{}
		for _, c := range l.def().Columns[1:] {
			if c.NotNull || l.rng.IntN(10) < 6 {
				if row[c.ID] = strconv.Itoa(l.rng.IntN(100)); c.Type == schema.String {
					row[c.ID] = "text " + row[c.ID]
				}
			}
		}
		l.values[l.clock] = row
		l.pending = append(l.pending, l.clock)
	}
}

// move stores the rows in objects, one for each day.
func (l *lake) move() {
	def, days := l.def(), map[int64][]int64{}
	for _, at := range l.pending {
		days[at/86400e9] = append(days[at/86400e9], at)
	}
	l.pending, l.cut = nil, l.cut+1
	for _, day := range slices.Sorted(maps.Keys(days)) {
		var batches []*column.Batch
		for _, at := range days[day] {
			var b column.Builder
			for _, c := range def.Columns {
				text, has := l.values[at][c.ID]
				switch {
				case c.Semantic == schema.Timestamp:
					b.Add(c).SetInt(0, at)
				case !has:
				case c.Type == schema.String:
					b.Add(c).SetString(0, text)
				default:
					n, err := strconv.Atoi(text)
					if err != nil {
						l.t.Fatal(err)
					}
					if to := b.Add(c); c.Type.IsFloat() {
						to.SetFloat(0, float64(n))
					} else {
						to.SetInt(0, int64(n))
					}
				}
			}
			b.EndRow()
			batch, err := column.Decode(b.Encode(nil, column.Header{TableID: def.ID, SchemaVersion: def.Version}), nil)
			if err != nil {
				l.t.Fatal(err)
			}
			batches = append(batches, batch)
		}
		dir := l.t.TempDir()
		metas, err := segment.Write(segment.Config{FS: vfs.OS, Dir: dir, NextID: func() uint64 { return 1 }}, def, batches)
		if err != nil {
			l.t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(dir, segment.FileName(1)))
		if err != nil {
			l.t.Fatal(err)
		}
		o := l.build(def, fmt.Sprintf("c/data/1-%d-1-%016x.parquet", l.cut, day), input{metas[0], data})
		o.Cut = l.cut
		l.objects = append(l.objects, o)
		l.in[o.Key] = days[day]
	}
}

// alter makes a new version of the table.
func (l *lake) alter() {
	t := *l.defs[len(l.defs)-1]
	t.Columns, t.Options, t.Version = slices.Clone(t.Columns), maps.Clone(t.Options), t.Version+1
	types := []schema.Type{schema.Int16, schema.Int64, schema.Uint32, schema.Float32, schema.Float64, schema.String}
	at := 1 + l.rng.IntN(len(t.Columns)) // of a field, or the end
	switch n := l.rng.IntN(12); {
	case n < 5 || at == len(t.Columns) && n < 10:
		l.ids++
		c := schema.Column{
			ID: l.ids, Name: fmt.Sprint("c", l.ids), Type: types[l.rng.IntN(len(types))], Semantic: schema.Field,
		}
		if l.rng.IntN(2) == 0 {
			value := "5"
			if c.Type == schema.String {
				value = "'five'"
			}
			c.NotNull, c.Default = true, &value
		}
		t.Columns = append(t.Columns, c)
	case n < 7:
		t.Columns = slices.Delete(t.Columns, at, at+1)
	case n < 9:
		wider := map[schema.Type]schema.Type{
			schema.Int16: schema.Int64, schema.Int64: schema.Float64, schema.Float32: schema.Float64,
			schema.Uint32: schema.Float64,
		}
		if to, ok := wider[t.Columns[at].Type]; ok {
			t.Columns[at].Type = to
		}
	case n < 10:
		t.Columns[at].Name = fmt.Sprint("renamed", t.Version)
	case t.Options["iceberg"] == "v2":
		t.Options["iceberg"] = "v3"
	default:
		t.Options["iceberg"] = "v2"
	}
	l.defs = append(l.defs, t.Index())
}

// join1 joins some objects of a day if the leader would. It knows what the committing node knows.
func (l *lake) join1() {
	l.shard = max(l.shard, l.node)
	for range 20 {
		day := l.objects
		if len(day) > 0 {
			of := l.objects[l.rng.IntN(len(l.objects))].Day
			day = slices.DeleteFunc(slices.Clone(day), func(o *cold.Object) bool { return o.Day != of })
		}
		if len(day) < 2 {
			continue
		}
		from := l.rng.IntN(len(day) - 1)
		run := day[from : from+2+l.rng.IntN(len(day)-from-1)]
		if !mayJoin(l.def(), run) {
			continue
		}
		var rows []int64
		for _, o := range run {
			rows = append(rows, l.in[o.Key]...)
		}
		l.cut++
		l.in[l.join(l.def(), l.cut, run...).Key] = rows
		l.joins++
		return
	}
}

// expire removes the objects of the oldest day.
func (l *lake) expire() {
	if len(l.objects) == 0 {
		return
	}
	oldest := l.objects[0].Day
	l.objects = slices.DeleteFunc(l.objects, func(o *cold.Object) bool {
		if o.Day == oldest {
			for _, at := range l.in[o.Key] {
				delete(l.shown, at)
			}
		}
		return o.Day == oldest
	})
}

// commit commits the table, and compares what it shows.
func (l *lake) commit(c *Committer) {
	l.table = l.defs[l.node-1]
	if err := c.run(context.Background(), []*schema.Table{l.table}, map[uint32]string{1: "n1"}); err != nil {
		l.t.Error(err)
		return
	}
	if l.commits[7] == nil {
		return // nothing fits so far
	}
	if c.tables[7].reason != "" {
		l.held++
	}
	st, _ := l.world.shown()
	if st.Metadata.UUID != l.uuid {
		l.uuid, l.shown = st.Metadata.UUID, map[int64]bool{}
	}
	version, err := strconv.Atoi(st.Metadata.Properties["cordwood.table-version"])
	if err != nil {
		l.t.Fatal(err)
	}
	now := map[int64]bool{}
	files := st.Shown()
	for _, o := range l.objects {
		if files[c.location(o.Key)] == nil {
			continue
		}
		delete(files, c.location(o.Key))
		l.compare(st, l.defs[version-1], o)
		for _, at := range l.in[o.Key] {
			if now[at] {
				l.t.Errorf("the row of %d is shown twice", at)
			}
			now[at] = true
		}
	}
	for path := range files {
		l.t.Errorf("%s is shown and does not live", path)
	}
	for at := range l.shown {
		if !now[at] {
			l.t.Errorf("the row of %d is not shown any more", at)
		}
	}
	l.shown = now
	if l.node == len(l.defs) && c.tables[7].reason == "" {
		for _, o := range l.objects {
			v := iceberg.Judge(l.table, st.Metadata.Format, o.Meta.Columns, func(uint32) int64 { return 0 })
			if !v.Left && !now[l.in[o.Key][0]] {
				l.t.Errorf("the object %s is not shown", o.Key)
			}
		}
	}
}

// compare compares the values that readers find in an object with those of the rows. def is the definition that the
// table shows.
func (l *lake) compare(st *iceberg.State, def *schema.Table, o *cold.Object) {
	l.t.Helper()
	r, err := segment.Open(vfs.OS, filepath.Join(l.dir, o.Key), &o.Meta)
	if err != nil {
		l.t.Fatal(err)
	}
	defer r.Close()
	has := map[uint32]bool{}
	for i := range o.Meta.Columns {
		has[o.Meta.Columns[i].ID] = true
	}
	rows := 0
	for left := o.Meta.Rows; left > 0; {
		b, err := r.Next(100)
		if err != nil {
			l.t.Fatal(err)
		}
		left -= int64(b.Rows)
		for row := range b.Rows {
			rows++
			at := b.Column(1).Int(row)
			for _, f := range st.Held().Schema.Fields[1:] {
				id := uint32(f.ID)
				if id >= segment.HiddenID {
					if id -= segment.HiddenID; has[id] && !has[uint32(f.ID)] {
						l.t.Errorf("object %s lacks the hidden form of column %d", o.Key, id)
					}
				}
				want, ok := l.values[at][id]
				if c := columnOf(def, id); !ok && c != nil && c.NotNull {
					if want, ok = *c.Default, true; c.Type == schema.String {
						want = want[1 : len(want)-1]
					}
				}
				got, is := valueOf(b.Column(id), row)
				if !has[id] && f.Default != nil {
					var v any
					if err := json.Unmarshal(f.Default, &v); err != nil {
						l.t.Fatal(err)
					}
					got, is = fmt.Sprint(v), true
				}
				if got != want || is != ok {
					l.t.Errorf("object %s of version %d: column %d of the row of %d is %q (%t), want %q (%t) as in version %d; "+
						"the file has it: %t", o.Key, o.Meta.SchemaVersion, id, at, got, is, want, ok, def.Version, has[id])
				}
			}
		}
	}
	if rows != len(l.in[o.Key]) {
		l.t.Errorf("object %s has %d rows, want %d", o.Key, rows, len(l.in[o.Key]))
	}
}

func columnOf(t *schema.Table, id uint32) *schema.Column {
	for i := range t.Columns {
		if t.Columns[i].ID == id {
			return &t.Columns[i]
		}
	}
	return nil
}

// valueOf returns a value as a text. ok is false for a null.
func valueOf(v *column.View, row int) (text string, ok bool) {
	switch {
	case v == nil || v.IsNull(row):
		return "", false
	case v.Type.IsBytes():
		return string(v.Bytes(row)), true
	case v.Type.IsFloat():
		return fmt.Sprint(v.Float(row)), true
	}
	return fmt.Sprint(v.Int(row)), true
}
