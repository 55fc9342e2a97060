// Package model_test runs random operations against a shard and against a plain in-memory model of
// it, and compares the visible rows.
package model_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/shard"
	"cordwood/shard/cold"
	"cordwood/shard/compaction"
	"cordwood/shard/manifest"
	"cordwood/shard/merge"
	"cordwood/shard/query"
	"cordwood/shard/rules"
	"cordwood/shard/segment"
	"cordwood/shard/store"
	"cordwood/shard/vfs"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "seed of the random operations; 0: random")
	operation = flag.Int("operations", 4_000, "how many operations a seed has; make simulation runs more")
)

// row is a row of the model; nil is null.
type row struct {
	time    int64
	key     string
	a       *int64
	b       *string
	deleted bool
	how     query.Merge // the merge mode of the table when the row was written
}

// table is a table of the model: every acknowledged row, in order.
type table struct {
	def  *schemapb.Table
	rows []row
	// expired is the latest time before which rows may have expired at any point. They may be gone although the ttl
	// is longer now.
	expired int64
}

type world struct {
	t      *testing.T
	rng    *rand.Rand
	cfg    shard.Config
	s      *shard.Shard
	tables map[uint64]*table
	nextID uint64
	seq    uint64
	last   []byte // the last written batch, for duplicates
	start  int64  // seconds
	counts map[string]int
	// appended has the rows of tables since their last cut, and in the open cut.
	appended, inCut map[uint64]int64
}

// TestShard writes, flushes, compacts, restarts, alters, expires, deletes and drops, and opens and closes cuts for
// object storage.
func TestShard(t *testing.T) {
	n := *operation
	if testing.Short() {
		n = min(n, 600)
	}
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("go test ./test/model -run TestShard -seed %d -operations %d", seed, n)
	w := newWorld(t, seed)
	defer func() {
		if err := w.s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	steps := []struct {
		weight int
		name   string
		do     func()
	}{
		{600, "write", w.write},
		{60, "delete rows", w.delete},
		{20, "write again", w.again},
		{120, "flush", w.flush},
		{20, "compact", w.compact},
		{6, "restart", w.restart},
		{3, "crash", w.crash},
		{10, "alter ttl", w.alterTTL},
		{10, "add column", w.alterColumns},
		{8, "alter merging", w.alterMerging},
		{3, "drop", w.drop},
		{15, "cut", w.cut},
		{15, "offload", w.offload},
	}
	sum := 0
	for _, s := range steps {
		sum += s.weight
	}
	for i := range n {
		pick := w.rng.IntN(sum)
		for _, s := range steps {
			if pick -= s.weight; pick < 0 {
				s.do()
				w.counts[s.name]++
				break
			}
		}
		if i%25 == 0 {
			w.check(i)
		}
		if t.Failed() {
			t.Fatalf("seed %d, operation %d", seed, i)
		}
	}
	w.check(n)
	t.Logf("done: %v", w.counts)
}

// folder returns a folder in memory if the system has one. Only the program crashes here, so no bytes of files are
// lost, and no time is spent waiting for a disk.
func folder(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "cordwood-model-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		t: t, rng: rand.New(rand.NewPCG(seed, 7)), tables: map[uint64]*table{}, start: time.Now().Unix(),
		counts: map[string]int{}, appended: map[uint64]int64{}, inCut: map[uint64]int64{},
	}
	w.cfg = shard.Config{Bootstrap: true, Config: store.Config{
		ID: 1, Dir: filepath.Join(folder(t), "0"), NodeID: "n", FlushAge: 300 * time.Millisecond,
		// The sizes are small, so that tables get separate segments and are split.
		ShareBytes: 6 << 10, SplitBytes: 8 << 10, Compaction: compaction.NewLimiter(0, 0),
		FailStop: func(err error) { t.Errorf("failed: %v", err) },
	}}
	w.open()
	for range 7 {
		w.create()
	}
	return w
}

func (w *world) open() {
	s, err := shard.Open(w.cfg)
	if err == nil {
		w.s = s
		err = s.WaitReady(context.Background())
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) create() {
	w.nextID++
	options := map[string]string{}
	switch w.nextID % 3 {
	case 0:
		options["append_mode"] = "true"
	case 1:
		options["merge_mode"] = "last_row"
	case 2:
		options["merge_mode"] = "last_non_null"
	}
	if w.nextID%4 == 0 {
		options["physical_table"] = "phy"
	}
	key := schemapb.Semantic_SEMANTIC_TAG
	if w.nextID%6 == 0 {
		key = schemapb.Semantic_SEMANTIC_FIELD // the table keeps all rows
	}
	w.tables[w.nextID] = &table{expired: -1 << 62, def: &schemapb.Table{
		Id: w.nextID, Database: "d", Name: fmt.Sprint("t", w.nextID), Version: 1, MinWriterVersion: 1, NextColumnId: 5,
		Options:   options,
		Placement: []*schemapb.Placement{{Epoch: 1, ShardId: 1}},
		Columns: []*schemapb.Column{
			{
				Id: 1, Name: "ts", Type: schemapb.Type_TYPE_TIMESTAMP_SECOND,
				Semantic: schemapb.Semantic_SEMANTIC_TIMESTAMP, NotNull: true,
			},
			{Id: 2, Name: "key", Type: schemapb.Type_TYPE_STRING, Semantic: key},
			{Id: 3, Name: "a", Type: schemapb.Type_TYPE_INT64, Semantic: schemapb.Semantic_SEMANTIC_FIELD},
			{Id: 4, Name: "b", Type: schemapb.Type_TYPE_STRING, Semantic: schemapb.Semantic_SEMANTIC_FIELD},
		},
	}}
}

func (w *world) some() *table {
	ids := slices.Sorted(maps.Keys(w.tables))
	return w.tables[ids[w.rng.IntN(len(ids))]]
}

// time returns a random time index in the last three days, on the half hour from the start, so that no row is near
// the end of a ttl. Times are repeated, so that some rows have the same identity.
func (w *world) time() int64 {
	return w.start - 1800 - 3600*int64(w.rng.IntN(72)) - int64(w.rng.IntN(3))
}

func (w *world) write() {
	t := w.some()
	var rows []row
	for range 1 + w.rng.IntN(30) {
		r := row{time: w.time(), key: []string{"", "k1", "k2", "k3"}[w.rng.IntN(4)]}
		if w.rng.IntN(3) > 0 {
			a := w.rng.Int64N(1000)
			r.a = &a
		}
		if w.rng.IntN(3) > 0 {
			b := strings.Repeat("x", w.rng.IntN(20)) + fmt.Sprint(w.rng.IntN(1000))
			r.b = &b
		}
		rows = append(rows, r)
	}
	w.send(t, rows)
}

// delete deletes existing and missing rows.
func (w *world) delete() {
	t := w.some()
	if query.MergeOf(schema.FromProto(t.def)) == query.Append {
		return
	}
	var rows []row
	for range 1 + w.rng.IntN(10) {
		r := row{time: w.time(), key: "k1", deleted: true}
		if len(t.rows) > 0 && w.rng.IntN(5) > 0 {
			have := t.rows[w.rng.IntN(len(t.rows))]
			r.time, r.key = have.time, have.key
		}
		rows = append(rows, r)
	}
	w.send(t, rows)
}

func (w *world) send(t *table, rows []row) {
	w.seq++
	w.last = encode(t.def, rows, w.seq)
	w.put(t)
	for i := range rows {
		rows[i].how = query.MergeOf(schema.FromProto(t.def))
	}
	t.rows = append(t.rows, rows...)
	w.appended[t.def.Id] += int64(len(rows))
}

func (w *world) put(tables ...*table) {
	ctx := context.Background()
	_, need, err := w.s.Write(ctx, [][]byte{w.last}, nil)
	if err == nil && len(need) > 0 {
		var defs []*schemapb.Table
		for _, id := range need {
			defs = append(defs, w.tables[id].def)
		}
		_, need, err = w.s.Write(ctx, [][]byte{w.last}, defs)
	}
	if err != nil || len(need) > 0 {
		w.t.Fatalf("write to %v: needs %v: %v", tables, need, err)
	}
}

// again repeats the last batch, which must not be appended again.
func (w *world) again() {
	h, err := column.DecodeHeader(w.last)
	if err == nil && w.tables[h.TableID] != nil {
		w.put()
	}
}

func encode(def *schemapb.Table, rows []row, seq uint64) []byte {
	var b column.Builder
	t := schema.FromProto(def)
	cols := map[string]*column.Col{}
	col := func(c *schema.Column) *column.Col {
		if cols[c.Name] == nil {
			cols[c.Name] = b.Add(*c)
		}
		return cols[c.Name]
	}
	deleted := schema.DeletedColumn()
	for i, r := range rows {
		col(t.Column("ts")).SetInt(i, r.time)
		if r.key != "" {
			col(t.Column("key")).SetString(i, r.key)
		}
		if r.a != nil {
			col(t.Column("a")).SetInt(i, *r.a)
		}
		if r.b != nil {
			col(t.Column("b")).SetString(i, *r.b)
		}
		if r.deleted {
			col(&deleted).SetInt(i, 1)
		}
		b.EndRow()
	}
	return b.Encode(nil, column.Header{TableID: def.Id, Epoch: 1, SchemaVersion: def.Version, Session: 5, Seq: seq})
}

func (w *world) flush() {
	if err := w.s.Flush(context.Background()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) compact() {
	if err := w.s.Compact(context.Background()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) restart() {
	if err := w.s.Close(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	w.open()
}

// crash stops the shard without a flush: rows that are not in segments are in the log.
func (w *world) crash() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := w.s.Close(ctx); err != nil && !errors.Is(err, context.Canceled) {
		w.t.Fatal(err)
	}
	w.open()
}

func (w *world) define(t *table) {
	t.def.Version++
	if err := w.s.DefineTable(context.Background(), t.def); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) alterTTL() {
	t := w.some()
	t.note(w.start)
	t.def.Options[schema.OptionTTL] = []string{"forever", "5h", "1day", "2days", "60h"}[w.rng.IntN(5)]
	w.define(t)
	t.note(w.start)
}

// before returns the time before which rows are expired by the table's ttl.
func (t *table) before(now int64) (int64, bool) {
	return schema.EffectiveTTL(t.def.Options[schema.OptionTTL], "").ExpiredBefore(time.Unix(now, 0),
		schema.TimestampSecond)
}

func (t *table) note(now int64) {
	if before, ok := t.before(now); ok {
		t.expired = max(t.expired, before)
	}
}

// alterColumns drops a field and adds it again. The old values must be gone.
func (w *world) alterColumns() {
	t := w.some()
	at := slices.IndexFunc(t.def.Columns, func(c *schemapb.Column) bool { return c.Name == "a" })
	c := t.def.Columns[at]
	t.def.Columns[at] = &schemapb.Column{Id: t.def.NextColumnId, Name: "a", Type: c.Type, Semantic: c.Semantic}
	t.def.NextColumnId++
	t.def.MinWriterVersion = t.def.Version + 1
	for i := range t.rows {
		t.rows[i].a = nil
	}
	w.define(t)
}

// alterMerging changes the merge mode of a table permanently.
func (w *world) alterMerging() {
	t := w.some()
	switch how := query.MergeOf(schema.FromProto(t.def)); {
	case how == query.Append:
		return
	case w.rng.IntN(6) == 0:
		t.def.Options["append_mode"], t.def.Options["merge_mode"] = "true", "last_row"
	case how == query.LastRow:
		t.def.Options["merge_mode"] = "last_non_null"
	default:
		t.def.Options["merge_mode"] = "last_row"
	}
	w.define(t)
}

func (w *world) drop() {
	t := w.some()
	if err := w.s.DropTable(context.Background(), t.def.Id); err != nil {
		w.t.Fatal(err)
	}
	delete(w.tables, t.def.Id)
	w.create()
}

// propose puts an entry into the log. It must not be refused.
func (w *world) propose(e *rules.Entry) {
	e.Time = time.Now().UnixNano()
	applied, err := w.s.Replica().Propose(context.Background(), rules.AppendEntry(nil, e))
	if err != nil || applied.Result != nil {
		w.t.Fatalf("an entry of kind %d: %v, %v", e.Kind, applied.Result, err)
	}
}

// lastCut returns the number of the last cut, and the cut that is open.
func (w *world) lastCut() (last uint64, open *manifest.Cut) {
	w.s.Store().Status.Inspect(func(st *rules.State) { last, open = st.LastCut() })
	return last, open
}

// cut opens a cut of some tables that keep every row, unless one is open.
func (w *world) cut() {
	last, open := w.lastCut()
	if open != nil {
		return
	}
	c := &rules.Cut{Number: last + 1}
	known := map[uint64]bool{}
	w.s.Store().Status.Inspect(func(st *rules.State) {
		for id := range st.Tables {
			known[id] = true
		}
	})
	for _, id := range slices.Sorted(maps.Keys(w.tables)) {
		if known[id] && w.rng.IntN(3) > 0 && query.MergeOf(schema.FromProto(w.tables[id].def)) == query.Append {
			c.Tables = append(c.Tables, id)
			w.inCut[id], w.appended[id] = w.appended[id], 0
		}
	}
	if len(c.Tables) > 0 {
		w.propose(&rules.Entry{Kind: rules.KindCut, Cut: c})
	}
}

// offload closes the open cut. The shard must have counted the rows as the model has.
func (w *world) offload() {
	_, open := w.lastCut()
	if open == nil {
		return
	}
	o := &rules.Offload{Number: open.Number}
	for _, t := range open.Tables {
		rows := w.inCut[t.TableID]
		if !t.Unknown && t.Rows != rows {
			w.t.Errorf("cut %d: %d rows of table %d are counted, want %d", open.Number, t.Rows, t.TableID, rows)
		}
		o.Tables = append(o.Tables, rules.Offloaded{TableID: t.TableID, Kept: rows})
		if rows > 0 {
			o.Objects = append(o.Objects, cold.Object{
				Key:  fmt.Sprintf("data/%d/%d", t.TableID, open.Number),
				Meta: segment.Meta{TableID: t.TableID, Rows: rows, MinTime: w.start - 1800, MaxTime: w.start - 1800},
			})
		}
	}
	w.propose(&rules.Entry{Kind: rules.KindOffload, Offload: o})
}

// check compares all tables.
func (w *world) check(step int) {
	ids := slices.Sorted(maps.Keys(w.tables))
	v := w.s.ReadView(ids...)
	defer v.Close()
	for _, id := range ids {
		t := w.tables[id]
		t.note(w.start)
		want, got := w.visible(t), w.seen(v, t)
		if d := diff.Diff(want, got); d != "" {
			w.t.Errorf("operation %d: table %d %v (-want +got):\n%s", step, id, t.def.Options, d)
		}
	}
}

// visible returns the rows of a table that the model shows, as text.
func (w *world) visible(t *table) []string {
	var out []string
	merged := map[string]*row{}
	for _, r := range t.rows {
		if r.time < t.expired {
			continue
		}
		id := fmt.Sprint(r.time, "/", r.key)
		old := merged[id]
		switch {
		case r.how == query.Append:
			out = append(out, r.String())
		case r.deleted:
			delete(merged, id)
		case r.how == query.LastRow || old == nil:
			merged[id] = &r
		default:
			joined := *old
			joined.a, joined.b = cmp.Or(r.a, old.a), cmp.Or(r.b, old.b)
			merged[id] = &joined
		}
	}
	for _, r := range merged {
		out = append(out, r.String())
	}
	slices.Sort(out)
	return out
}

func (r *row) String() string {
	s := fmt.Sprint(r.time, " ", r.key)
	if r.a != nil {
		s += fmt.Sprint(" a", *r.a)
	}
	if r.b != nil {
		s += " b" + *r.b
	}
	return s
}

// seen returns the rows of a table that the shard shows.
func (w *world) seen(v *store.View, t *table) []string {
	def := schema.FromProto(t.def)
	now, eras, _ := v.Merging(t.def.Id)
	var batches []*column.Batch
	var modes []query.Merge
	order := uint64(0)
	for _, seg := range v.Segments(t.def.Id) {
		if seg.Order <= order {
			w.t.Errorf("table %d: segment %d has order %d after %d", t.def.Id, seg.ID, seg.Order, order)
		}
		order = seg.Order
		for _, b := range w.read(seg, t.def.Id) {
			batches, modes = append(batches, b), append(modes, eras.Segment(order, now))
		}
	}
	for i, b := range v.Batches(t.def.Id) {
		batches, modes = append(batches, b), append(modes, eras.Batch(i, now))
	}
	var rows []segment.RowRef
	for i, b := range batches {
		for n := range b.Rows {
			at := b.Column(1).Int(n)
			if at >= t.expired {
				rows = append(rows, segment.RowRef{Time: at, Batch: uint32(i), Row: uint32(n)})
			}
		}
	}
	segment.Sort(def, batches, rows)
	batches, rows = merge.Mixed(def, modes, batches, rows)
	var out []string
	for _, ref := range merge.WithoutDeleted(batches, rows) {
		b, n := batches[ref.Batch], int(ref.Row)
		r := row{time: ref.Time}
		if c := b.Column(2); c != nil && !c.IsNull(n) {
			r.key = string(c.Bytes(n))
		}
		if c := b.Column(def.Column("a").ID); c != nil && !c.IsNull(n) {
			a := c.Int(n)
			r.a = &a
		}
		if c := b.Column(4); c != nil && !c.IsNull(n) {
			text := string(c.Bytes(n))
			r.b = &text
		}
		out = append(out, r.String())
	}
	slices.Sort(out)
	return out
}

func (w *world) read(seg store.Segment, id uint64) (out []*column.Batch) {
	r, err := segment.Open(vfs.OS, seg.Path, &seg.Meta)
	if err != nil {
		w.t.Fatal(err)
	}
	defer r.Close()
	rows := int64(0)
	for {
		b, err := r.Next(1000)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			w.t.Fatal(err)
		}
		if b.TableID == id {
			rows += int64(b.Rows)
			out = append(out, b)
		}
	}
	if rows != seg.Span.Rows {
		w.t.Errorf("segment %d has %d rows of table %d, but %d according to its span", seg.ID, rows, id, seg.Span.Rows)
	}
	return out
}
