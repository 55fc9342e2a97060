package shard

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/logreplay"
	"cordwood/shard/cold/states"
	"cordwood/shard/manifest"
)

var logSeed = flag.Uint64("log-seed", 0, "seed of TestShippedLogRandom; 0 means a new one")

// failing is a bucket that fails while broken is set.
type failing struct {
	bucket.Bucket
	broken *atomic.Bool
	now    func() time.Time
	puts   map[string]time.Time // by the clock of the test
	mu     *sync.Mutex
}

func (b failing) List(ctx context.Context, prefix string, f func(bucket.Info) error) error {
	return b.Bucket.List(ctx, prefix, func(i bucket.Info) error {
		b.mu.Lock()
		i.Modified = b.puts[i.Key]
		b.mu.Unlock()
		return f(i)
	})
}

var errBroken = errors.New("the bucket is broken")

func (b failing) Put(ctx context.Context, key string, c bucket.Content) error {
	if b.broken.Load() {
		return errBroken
	}
	b.mu.Lock()
	b.puts[key] = b.now()
	b.mu.Unlock()
	return b.Bucket.Put(ctx, key, c)
}

// shipped is a shard whose log goes to a bucket, while its process ends at random moments.
type shipped struct {
	*opened
	rng    *rand.Rand
	dir    string
	now    hand
	broken atomic.Bool
	steps
	seq, lastID uint64
	ids         []uint64
	// rows are the rows of tables, shipped those that are in the bucket for certain, batches some of the batches.
	rows, shipped map[uint64]map[string]bool
	batches       []sentBatch
	defs          map[uint64]*schemapb.Table // of the tables that were altered
	logged        int
}

type sentBatch struct {
	data []byte
	at   time.Duration
}

// recoveredNode is the node on which a shard is made anew.
const recoveredNode = "made anew"

// recoverShard makes a shard anew from a bucket in a directory, as the recovery of a cluster does. It returns the
// folder of the shard, what its log lacks, and the tables of which it does not have all rows.
func recoverShard(t testing.TB, dir string) (folder, gap string, without []uint64) {
	t.Helper()
	place := states.Place{Bucket: bucket.NewDir(dir), Cluster: "cluster"}
	groups, err := place.List(wait(t))
	if err != nil {
		t.Fatal(err)
	}
	state, g := &manifest.State{AppliedIndex: 1, AppliedTerm: 1, NextSegmentID: 1}, logreplay.Whole(testShard, 1)
	if list := groups[testShard]; len(list) > 0 {
		h, body, err := place.Read(wait(t), &list[0])
		if err != nil {
			t.Fatal(err)
		}
		if state, err = manifest.DecodeState("the state", body); err != nil {
			t.Fatal(err)
		}
		state = state.WithoutLocal()
		g = logreplay.Behind(&h, state)
	}
	pieces, err := place.Log(wait(t), testShard)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Look(wait(t), place, state, pieces, func(err error) { t.Error(err) }); err != nil {
		t.Fatal(err)
	}
	folder = filepath.Join(t.TempDir(), "shard")
	err = Create(Creation{
		Dir: folder, ID: testShard, Incarnation: 2, NodeID: recoveredNode, State: state,
		Log: func(f func([]byte) error) error { return g.Replay(wait(t), place, state, f) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return folder, g.Gap(), g.Without
}

// staying is a table whose rows do not go to object storage.
const staying = 900

// TestShippedLogRandom writes rows, some of them twice, moves them to objects, ships the log, alters and drops tables,
// breaks the bucket, and ends the process at random steps. From time to time the bucket is copied: what is made from it
// has each row once that was shipped, and no row that was not written.
func TestShippedLogRandom(t *testing.T) {
	t.Parallel()
	seed := *logSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("go test ./shard -run TestShippedLogRandom -log-seed %d", seed)
	w := &shipped{
		rng: rand.New(rand.NewPCG(seed, 2)), dir: t.TempDir(), ids: []uint64{1, 2, 3, staying}, lastID: 3,
		rows: map[uint64]map[string]bool{}, shipped: map[uint64]map[string]bool{}, defs: map[uint64]*schemapb.Table{},
	}
	now := func() time.Time { return time.Now().Add(w.now.get()) }
	cfg := tiered(testConfig(t), failing{
		bucket.NewGuard(bucket.NewDir(w.dir), bucket.GuardConfig{}), &w.broken, now, map[string]time.Time{}, &sync.Mutex{},
	})
	cfg.Tier.LogEvery = 24 * time.Hour
	cfg.Tier.UploadAfter = time.Hour
	cfg.Tier.Tables = func(t *schema.Table) bool { return t.ID != staying }
	cfg.ShareBytes = 600
	cfg.Now = now
	cfg.Monotonic = w.now.get
	cfg.atStep = w.at
	w.opened = openShard(t, cfg)
	w.stopCompactor()
	ops := []struct {
		weight int
		do     func()
	}{
		{50, w.write},
		{5, w.again},
		{15, func() { w.flush() }},
		{25, w.step},
		{20, w.ship},
		{15, func() { w.now.add(time.Duration(1+w.rng.IntN(40)) * time.Minute) }},
		{6, w.end},
		{2, w.drop},
		{3, w.alter},
		{8, w.changeMode},
		{4, func() { w.broken.Store(w.rng.IntN(3) == 0) }},
		{2, func() { _ = w.compactNow() }},
	}
	for i := range 400 {
		n := w.rng.IntN(155)
		for _, op := range ops {
			if n -= op.weight; n < 0 {
				op.do()
				break
			}
		}
		if i%20 == 19 {
			w.compare(i)
		}
		if t.Failed() {
			t.Fatalf("seed %d, operation %d", seed, i)
		}
	}
	if w.logged < 20 {
		t.Errorf("only %d rows came from the log", w.logged)
	}
}

func (w *shipped) write() {
	id := w.ids[w.rng.IntN(len(w.ids))]
	w.seq++
	h := head(id, 9, w.seq)
	h.SchemaVersion = w.def(id).Version
	var rows []string
	for range 1 + w.rng.IntN(3) {
		rows = append(rows, fmt.Sprintf("%d %d %d", id, w.seq, len(rows)))
	}
	var values column.Builder
	columns := schema.FromProto(def(id)).Columns
	ts, message := values.Add(columns[0]), (*column.Col)(nil)
	if len(w.def(id).Columns) == len(columns) {
		values.Add(columns[1]).SetString(0, "host")
	}
	message = values.Add(columns[2])
	for i, text := range rows {
		ts.SetInt(i, int64(h.Seq)*1000+int64(i))
		message.SetString(i, text)
		values.EndRow()
	}
	b := values.Encode(nil, h)
	w.mustPut(b)
	w.batches = append(w.batches, sentBatch{b, w.now.get()})
	if w.rows[id] == nil {
		w.rows[id] = map[string]bool{}
	}
	for _, r := range rows {
		w.rows[id][r] = true
	}
}

// again writes a batch once more. It may be refused, for example because its table was dropped.
func (w *shipped) again() {
	n := len(w.batches)
	if n == 0 {
		return
	}
	// A shard remembers a session for half an hour.
	if b := w.batches[n-1-w.rng.IntN(min(n, 30))]; b.at > w.now.get()-25*time.Minute {
		_, _ = w.put(b.data)
	}
}

func (w *shipped) step() {
	if err := w.mover.Step(wait(w.t)); err != nil && !w.broken.Load() {
		w.t.Error(err)
	}
}

func (w *shipped) ship() {
	err := w.mover.ShipLog(wait(w.t))
	if err != nil && !w.broken.Load() {
		w.t.Error(err)
	}
	if err == nil {
		w.shipped = map[uint64]map[string]bool{}
		for id, rows := range w.rows {
			w.shipped[id] = maps.Clone(rows)
		}
	}
}

// end ends the process, perhaps during a step.
func (w *shipped) end() {
	if w.rng.IntN(2) == 0 {
		c, cancel := context.WithCancel(wait(w.t))
		w.endAfter(1+w.rng.IntN(10), cancel)
		_ = w.mover.Step(c)
		_ = w.mover.ShipLog(c)
		w.endAfter(0, nil)
		cancel()
	}
	if w.rng.IntN(3) == 0 {
		w.close()
		w.opened = openShard(w.t, w.cfg)
	} else {
		w.opened = w.reopen()
	}
	w.stopCompactor()
}

func (w *shipped) drop() {
	at := w.rng.IntN(3)
	if err := w.DropTable(wait(w.t), w.ids[at]); err != nil {
		w.t.Error(err)
	}
	delete(w.rows, w.ids[at])
	delete(w.shipped, w.ids[at])
	w.lastID++
	w.ids[at] = w.lastID
}

// alter drops the column host of a table. Earlier batches are refused from then on.
func (w *shipped) alter() {
	id := w.ids[w.rng.IntN(len(w.ids))]
	w.define(id, func(d *schemapb.Table) {
		d.MinWriterVersion = d.Version
		d.Columns = slices.DeleteFunc(d.Columns, func(c *schemapb.Column) bool { return c.Name == "host" })
	})
}

// changeMode changes how the rows of a table merge. The times of rows are unique, so all rows stay.
func (w *shipped) changeMode() {
	w.define(w.ids[w.rng.IntN(len(w.ids))], func(d *schemapb.Table) {
		modes := []map[string]string{
			{"append_mode": "true"},
			{"append_mode": "false", "merge_mode": "last_row"},
			{"append_mode": "false", "merge_mode": "last_non_null"},
		}
		d.Options = modes[w.rng.IntN(len(modes))]
	})
}

// def returns the definition of a table.
func (w *shipped) def(id uint64) *schemapb.Table { return cmp.Or(w.defs[id], def(id)) }

// define changes the definition of a table.
func (w *shipped) define(id uint64, change func(*schemapb.Table)) {
	d := proto.CloneOf(w.def(id))
	d.Version++
	change(d)
	w.defs[id] = d
	if err := w.DefineTable(wait(w.t), d); err != nil {
		w.t.Error(err)
	}
}

func (w *shipped) compare(i int) {
	w.t.Helper()
	dir := filepath.Join(w.t.TempDir(), "copy")
	if err := os.CopyFS(dir, os.DirFS(w.dir)); err != nil {
		w.t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "cluster", "log")); err != nil {
		return
	}
	folder, gap, without := recoverShard(w.t, dir)
	if gap != "" && !strings.Contains(gap, "and the state is of entry") {
		w.t.Errorf("operation %d: %s", i, gap)
	}
	cfg := tiered(testConfig(w.t), bucket.NewDir(dir))
	cfg.Dir, cfg.NodeID, cfg.Bootstrap, cfg.Incarnation = folder, recoveredNode, false, 2
	s := openShard(w.t, cfg)
	defer s.crash()
	for id, rows := range w.rows {
		got, cold := s.allRows(cfg.Tier.Bucket, id)
		w.logged += len(got) - cold
		for k := 1; k < len(got); k++ {
			if got[k] == got[k-1] {
				w.t.Errorf("operation %d: %q is there twice", i, got[k])
			}
		}
		for _, text := range got {
			if !rows[text] {
				w.t.Errorf("operation %d: %q was not written", i, text)
			}
		}
		if id == staying || slices.Contains(without, id) {
			continue
		}
		for text := range w.shipped[id] {
			if _, is := slices.BinarySearch(got, text); !is {
				w.t.Errorf("operation %d: %q of table %d is missing", i, text, id)
			}
		}
	}
}
