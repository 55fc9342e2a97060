package shard

import (
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

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/shard/cold"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/iceberg"
	"cordwood/shard/rules"
	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

var (
	dayJoinSeed  = flag.Uint64("join-day-seed", 0, "first seed of TestJoinDaysRandom; 0 means a new one")
	dayJoinSeeds = flag.Uint64("join-day-seeds", 2, "number of seeds of TestJoinDaysRandom")
)

// dayWorld is a table that merges rows, of which the days are joined in object storage.
type dayWorld struct {
	*mergeWorld
	bucket bucket.Bucket
	// define tells the shards of the table of its definition.
	define func()
	// exact is the number of comparisons of joined days with all rows.
	exact int
	// modes is the number of changes of the merge mode.
	modes int
	// before is the time before which rows have expired. They may be there or not.
	before int64
}

// live returns the rows that have not expired, sorted.
func (w *dayWorld) live(rows []string) []string {
	return slices.Sorted(slices.Values(slices.DeleteFunc(slices.Clone(rows), func(row string) bool {
		var ts int64
		if _, err := fmt.Sscan(strings.Split(row, "|")[1], &ts); err != nil {
			w.t.Fatal(err)
		}
		return ts < w.before
	})))
}

// checkLive compares the rows that have not expired with those that were written.
func (w *dayWorld) checkLive(what string, got []string) {
	w.t.Helper()
	want := []string{}
	for key, row := range w.want {
		want = append(want, key+"|"+row[0]+"|"+row[1])
	}
	if d := cmp.Diff(w.live(want), w.live(got)); d != "" {
		w.t.Errorf("%s: %s", what, d)
	}
}

// shown reports whether the table is shown as Iceberg.
func (w *dayWorld) shown() bool { return w.def.Options["iceberg"] == "daily" }

// alter changes options of the table. All shards of the table learn of it.
func (w *dayWorld) alter(options map[string]string) {
	w.t.Helper()
	w.change(func(d *schemapb.Table) {
		d.Options = maps.Clone(d.Options)
		maps.Copy(d.Options, options)
	})
	w.nonNull = w.def.Options["merge_mode"] == "last_non_null"
	w.define()
}

// addColumn adds a column with a default.
func (w *dayWorld) addColumn() {
	five := "5"
	w.change(func(d *schemapb.Table) {
		d.Columns = append(d.Columns, &schemapb.Column{
			Id: d.NextColumnId, Name: fmt.Sprint("n", d.NextColumnId), Type: schemapb.Type_TYPE_INT64,
			Semantic: schemapb.Semantic_SEMANTIC_FIELD, NotNull: true, DefaultValue: &five,
		})
		d.NextColumnId++
	})
	w.define()
}

// settle moves all rows to object storage, and joins all days.
func (w *dayWorld) settle() {
	w.t.Helper()
	for _, id := range w.table().Shards() {
		for range 3 {
			w.shard(id).move()
		}
	}
}

// objectsOfDays returns the live objects of the table, by shard and day.
func (w *dayWorld) objectsOfDays() map[string][]cold.Object {
	out := map[string][]cold.Object{}
	for _, id := range w.table().Shards() {
		_, sets := w.shard(id).coldState()
		for _, set := range sets {
			for _, o := range set.Objects {
				if o.Has(w.def.Id) {
					at := fmt.Sprintf("shard %d, day %d", id, o.Day)
					out[at] = append(out[at], o)
				}
			}
		}
	}
	return out
}

// checkSettled checks that each day has one set of rows, and that these are the rows of queries if the table is shown.
func (w *dayWorld) checkSettled(what string) {
	w.t.Helper()
	got, days, shared := []string{}, w.objectsOfDays(), false
	for _, list := range days {
		shared = shared || slices.ContainsFunc(list, func(o cold.Object) bool { return o.Kind == cold.Kept })
	}
	if shared {
		return // rows in objects that tables share are not joined
	}
	hot := false
	for _, id := range w.table().Shards() {
		v := w.shard(id).ReadView(w.def.Id)
		hot = hot || len(v.Segments(w.def.Id))+len(v.Batches(w.def.Id)) > 0
		v.Close()
	}
	for at, list := range days {
		for _, o := range list {
			if w.shown() && o.Kind != cold.Day || !iceberg.Joined(&o) && len(list) > 4 {
				w.t.Errorf("%s: %s: object %s of kind %d of %d was not joined", what, at, o.Key, o.Kind, len(list))
			}
			if w.shown() {
				got = append(got, w.rowsOf(&o)...)
			}
		}
	}
	if w.shown() && !hot { // rows of several merge modes stay local
		w.exact++
		w.checkLive(what+": rows of joined days", got)
	}
}

// rowsOf returns the rows of an object, in the form of check. Columns that were added have their defaults, and the time
// has its hidden form.
func (w *dayWorld) rowsOf(o *cold.Object) (rows []string) {
	w.t.Helper()
	f, err := w.bucket.Open(wait(w.t), o.Key, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		w.t.Fatal(err)
	}
	path := filepath.Join(w.t.TempDir(), "object")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		w.t.Fatal(err)
	}
	if !slices.ContainsFunc(o.Meta.Columns, func(c segment.Column) bool { return c.ID == 1+segment.HiddenID }) {
		w.t.Errorf("object %s lacks the hidden form of the time", o.Key)
	}
	if slices.ContainsFunc(o.Meta.Columns, func(c segment.Column) bool { return c.ID == schema.DeletedColumnID }) {
		w.t.Errorf("object %s has marks of deletions", o.Key) // some readers refuse a file with a column without an id
	}
	r, err := segment.Open(vfs.OS, path, &o.Meta)
	if err != nil {
		w.t.Fatal(err)
	}
	defer r.Close()
	text := func(v *column.View, row int) string {
		switch {
		case v == nil || v.IsNull(row):
			return "NULL"
		case v.Type.IsBytes():
			return string(v.Bytes(row))
		case v.Type.IsFloat():
			return strings.TrimSuffix(fmt.Sprintf("%.1f", v.Float(row)), ".0")
		}
		return fmt.Sprint(v.Int(row))
	}
	for left := o.Meta.Rows; left > 0; {
		b, err := r.Next(100)
		if err != nil {
			w.t.Fatal(err)
		}
		left -= int64(b.Rows)
		for row := range b.Rows {
			rows = append(rows, strings.Join([]string{
				text(b.Column(2), row), text(b.Column(1), row), text(b.Column(3), row), text(b.Column(4), row),
			}, "|"))
			for id := uint32(5); id < w.def.NextColumnId; id++ {
				if v := text(b.Column(id), row); v != "5" {
					w.t.Errorf("object %s: column %d is %s", o.Key, id, v)
				}
			}
		}
	}
	return rows
}

// TestJoinDaysRandom writes rows of three days to a table that merges rows, deletes some, moves them to object storage
// and joins the days, in random order, while the merge mode and the columns of the table change, shards are restarted,
// and rows expire. Queries have all rows as if there was no object storage. Once nothing is left to do, each day is one
// set of rows, which has exactly the rows of queries.
func TestJoinDaysRandom(t *testing.T) {
	t.Parallel()
	seed := *dayJoinSeed
	if seed == 0 {
		seed = rand.Uint64() >> 1
	}
	for _, mode := range []string{"last_row", "last_non_null"} {
		for i := range *dayJoinSeeds {
			t.Run(fmt.Sprint(mode, i), func(t *testing.T) {
				t.Parallel()
				t.Logf("go test ./shard -run TestJoinDaysRandom/%s0 -join-day-seed %d -join-day-seeds 1", mode, seed+i)
				joinDays(t, seed+i, mode)
			})
		}
	}
}

func joinDays(t *testing.T, seed uint64, mode string) {
	b := tierBucket(t)
	w := &dayWorld{mergeWorld: newTieredWorld(t, seed, mode, b), bucket: b}
	w.define = func() {
		t.Helper()
		for _, id := range w.table().Shards() {
			if err := w.shard(id).DefineTable(wait(t), w.def); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.def.Options["skip_wal"] = "false"
	if w.rng.IntN(2) == 0 {
		w.def.Options["iceberg"] = "daily"
	}
	if w.rng.IntN(2) == 0 {
		w.def.Placement[0].MoreShards = []uint32{2}
	}
	if w.rng.IntN(2) == 0 { // small tables get objects of their own
		for id := range uint32(2) {
			s := w.shard(id + 1)
			s.cfg.ShareBytes, s.cfg.SplitBytes = 1, 1
			w.reopen(id + 1)
		}
	}
	w.define()
	shard := func() *opened {
		list := w.table().Shards()
		return w.shard(list[w.rng.IntN(len(list))])
	}
	steps := []struct {
		weight int
		do     func()
	}{
		{30, w.write},
		{10, func() { shard().flush() }},
		{25, func() { shard().move() }},
		{5, func() {
			if err := shard().Compact(wait(t)); err != nil {
				t.Fatal(err)
			}
		}},
		{4, func() { w.reopen(shard().ID()) }},
		{3, func() { w.beside(shard().ID()) }},
		{2, func() {
			w.modes++
			w.alter(map[string]string{"merge_mode": []string{"last_row", "last_non_null"}[w.rng.IntN(2)]})
		}},
		{1, func() { w.widen(); w.define() }},
		{1, w.addColumn},
		{2, func() {
			value := "daily"
			if w.shown() {
				value = ""
			}
			w.alter(map[string]string{"iceberg": value})
		}},
		{1, func() { // rows of the first days expire
			if w.before += int64(w.rng.IntN(60_000_000)); w.before > 150_000_000 {
				return
			}
			for _, id := range w.table().Shards() {
				e := rules.Entry{Kind: rules.KindExpire, Cutoffs: []rules.Cutoff{{TableID: 1, Before: w.before}}}
				if err := w.shard(id).propose(&e); err != nil {
					t.Fatal(err)
				}
			}
		}},
	}
	total := 0
	for _, s := range steps {
		total += s.weight
	}
	for i := range 120 {
		n := w.rng.IntN(total)
		for _, s := range steps {
			if n -= s.weight; n < 0 {
				s.do()
				break
			}
		}
		if i%4 == 0 {
			w.checkLive(fmt.Sprint("operation ", i), w.rows("query"))
		}
		if i%20 == 19 {
			w.settle()
			w.checkLive(fmt.Sprint("settled after operation ", i), w.rows("query"))
			w.checkSettled(fmt.Sprint("settled after operation ", i))
		}
		if t.Failed() {
			t.Fatalf("seed %d, operation %d", seed, i)
		}
	}
}
