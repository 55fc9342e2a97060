package shard

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/shard/cold"
	"cordwood/shard/cold/object"
	"cordwood/shard/compaction"
	"cordwood/shard/query/engine"
	"cordwood/shard/replica"
	"cordwood/shard/rules"
)

// dayGroup is the table of a dayWorld on a shard with three replicas.
type dayGroup struct {
	*dayWorld
	g      *group
	engine *engine.Engine
	reader *object.Reader
	mono   hand
	stays  map[string]bool // the nodes that keep their segments
	next   int             // the number of the next node
	down   string

	mu sync.Mutex // guards the fields below
	// at, if not nil, is called once, before the left-th step of a kind.
	at   func()
	kind string
	left int
	// done counts the steps of each kind, and those in which something happened.
	done, hit map[string]int
}

// step is called before each step of a mover, also by goroutines that store objects.
func (w *dayGroup) step(kind string) {
	w.mu.Lock()
	w.done[kind]++
	var do func()
	if w.at != nil && kind == w.kind {
		if w.left--; w.left == 0 {
			do, w.at = w.at, nil
			w.hit[kind]++
		}
	}
	w.mu.Unlock()
	if do != nil {
		do()
	}
}

// before makes step call do before the left-th step of a kind; nil means never.
func (w *dayGroup) beforeStep(kind string, left int, do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kind, w.left, w.at = kind, left, do
}

// again repeats something at the leader, as clients do.
func (w *dayGroup) again(do func(o *opened) error) {
	w.t.Helper()
	for ctx := wait(w.t); ; {
		err := do(w.g.leader())
		if err == nil {
			return
		}
		if reason := errs.ReasonOf(err); ctx.Err() != nil ||
			reason != errs.NotLeader && reason != errs.Busy && reason != errs.OutcomeUnknown {
			w.t.Fatal(err)
		}
	}
}

func (w *dayGroup) open(id string, founders []string) *opened {
	o := w.g.open(id, founders)
	o.stopCompactor()
	return o
}

func (w *dayGroup) anyone() *opened {
	list := w.g.followers(nil)
	return list[w.rng.IntN(len(list))]
}

// beside writes a row of another table, which keeps every row.
func (w *dayGroup) beside() {
	def := mergeTable(map[string]string{"append_mode": "true"})
	def.Id, def.Name, def.Placement[0].ShardId = 2, "beside", testShard
	var b column.Builder
	b.Add(schema.FromProto(def).Columns[0]).SetInt(0, 40_000_000)
	b.EndRow()
	w.seq++
	w.send(testShard, b.Encode(nil, column.Header{TableID: 2, Epoch: 1, SchemaVersion: 1, Session: 9, Seq: w.seq}), def)
}

// expire lets rows of the first days expire.
func (w *dayGroup) expire() {
	if w.before += int64(w.rng.IntN(60_000_000)); w.before > 150_000_000 {
		return
	}
	w.again(func(o *opened) error {
		e := rules.Entry{Kind: rules.KindExpire, Cutoffs: []rules.Cutoff{{TableID: 1, Before: w.before}}}
		e.Time = o.clock.entryTime()
		_, err := o.replica.Propose(wait(w.t), rules.AppendEntry(nil, &e))
		return err
	})
}

// stopOrStart kills one of the replicas except o, or starts it again. While it was down, the log may have been cut off.
func (w *dayGroup) stopOrStart(o *opened) {
	if w.down != "" {
		w.open(w.down, nil)
		w.down = ""
		return
	}
	list := w.g.followers(o)
	w.stop(list[w.rng.IntN(len(list))])
}

func (w *dayGroup) stop(o *opened) {
	w.down = o.cfg.NodeID
	w.g.stop(w.down)
}

// rebuild replaces a replica with one on another node, which gets everything from the leader.
func (w *dayGroup) rebuild() {
	if w.down != "" {
		return
	}
	w.flush(w.g.leader()) // the log is cut off
	old := w.anyone()
	w.next++
	id := fmt.Sprint("n", w.next)
	w.stays[id] = w.stays[old.cfg.NodeID]
	w.g.addNode(id)
	o := w.open(id, nil)
	change := func(kind replica.ChangeKind, node string) {
		w.again(func(o *opened) error { return o.Change(wait(w.t), kind, node) })
	}
	change(replica.AddLearner, id)
	w.g.caughtUp(o)
	change(replica.Promote, id)
	if w.g.leader() == old {
		_ = old.StepDown(context.Background()) // else Remove is refused, and tried again
	}
	change(replica.Remove, old.cfg.NodeID)
	w.g.stop(old.cfg.NodeID)
	w.g.mu.Lock()
	delete(w.g.nodes, old.cfg.NodeID)
	w.g.mu.Unlock()
}

// remode changes how later rows merge.
func (w *dayGroup) remode() {
	w.modes++
	w.alter(map[string]string{"merge_mode": []string{"last_row", "last_non_null"}[w.rng.IntN(2)]})
}

// disturbed does a step of the leader in the middle of which something happens: mostly in a join.
func (w *dayGroup) disturbed() {
	o := w.g.leader()
	w.flush(o)
	w.mono.add(2 * time.Hour) // what failed may be joined again
	kinds := []string{
		"join", "join", "fetch", "fetch", "build", "put", "put", "replace", "replace", "replace", "cut", "flush", "offload",
		"drop", "give up",
	}
	ctx, cancel := context.WithCancel(wait(w.t))
	defer cancel()
	killed := false
	do := []func(){
		func() { _ = o.StepDown(context.Background()) },
		func() { _ = o.StepDown(context.Background()) },
		func() { cancel(); killed = true },
		cancel,
		w.write,
		w.expire,
		w.remode,
		func() { w.widen(); w.define() },
		func() { w.stopOrStart(o) },
		func() { w.write(); w.flush(w.anyone()) },
		func() {
			for _, other := range w.g.followers(o) {
				w.flush(other)
				_ = other.mover.Step(wait(w.t))
			}
		},
		func() { // another leader makes a step before this one goes on
			_ = o.StepDown(context.Background())
			if l := w.g.leader(); l != o {
				_ = l.mover.Step(wait(w.t))
			}
		},
	}[w.rng.IntN(12)]
	if w.down == "" && w.rng.IntN(8) == 0 {
		do = func() { // a replica gets everything from the leader in the middle of the step
			w.stopOrStart(o)
			w.write()
			w.flush(o)
			w.stopOrStart(o)
		}
	}
	w.beforeStep(kinds[w.rng.IntN(len(kinds))], 1+w.rng.IntN(5)/3, do)
	_ = o.mover.Step(ctx)
	w.beforeStep("", 0, nil)
	if killed && w.down == "" {
		w.stop(o)
	}
}

// check compares all rows of each replica with those that were written.
func (w *dayGroup) check(what string) {
	w.t.Helper()
	for _, o := range w.g.followers(nil) {
		w.g.caughtUp(o)
		rows := coldAnswers(w.t, w.engine, o, w.reader, w.def,
			"SELECT coalesce(host, 'NULL'), epoch_ms(ts), coalesce(a, 'NULL'), coalesce(b::VARCHAR, 'NULL') FROM m")
		for i := range rows {
			rows[i] = strings.TrimSuffix(rows[i], ".0")
		}
		w.checkLive(what+": "+o.cfg.NodeID, rows)
	}
}

// settle starts all replicas, moves all rows to object storage, and joins all days.
func (w *dayGroup) settle(what string) {
	w.t.Helper()
	if w.down != "" {
		w.stopOrStart(nil)
	}
	for range 4 {
		if l := w.g.leader(); w.stays[l.cfg.NodeID] { // it joins nothing
			_ = l.StepDown(context.Background())
		}
		w.mono.add(48 * time.Hour)
		for _, o := range w.g.followers(nil) {
			w.g.caughtUp(o)
			w.flush(o)
			if err := o.mover.Step(wait(w.t)); err != nil && errs.ReasonOf(err) != errs.NotLeader {
				w.t.Errorf("%s: %s: %v", what, o.cfg.NodeID, err)
			}
		}
	}
	w.check(what)
	for i, o := range w.g.followers(nil) {
		reg := prometheus.NewRegistry()
		reg.MustRegister(o.metrics.ColdMismatches)
		if families, err := reg.Gather(); err != nil || families[0].GetMetric()[0].GetCounter().GetValue() > 0 {
			w.t.Errorf("%s: %s: rows of offloads are not those of the cut: %v, %v", what, o.cfg.NodeID, families, err)
		}
		first := w.g.followers(nil)[0]
		wantCold, wantSets := first.coldState()
		gotCold, gotSets := o.coldState()
		if d := cmp.Diff(wantCold, gotCold, cmpopts.EquateEmpty()); d != "" && i > 0 {
			w.t.Errorf("%s: the states of %s and %s differ: %s", what, first.cfg.NodeID, o.cfg.NodeID, d)
		}
		if d := cmp.Diff(wantSets, gotSets, cmpopts.EquateEmpty()); d != "" && i > 0 {
			w.t.Errorf("%s: the sets of %s and %s differ: %s", what, first.cfg.NodeID, o.cfg.NodeID, d)
		}
	}
}

// flush flushes a replica. Raft takes no snapshot while a change of the members is being applied: then nothing was
// flushed.
func (w *dayGroup) flush(o *opened) {
	if err := o.Flush(wait(w.t)); err != nil && !strings.Contains(err.Error(), "cannot take snapshot now") {
		w.t.Error(err)
	}
}

// TestJoinDaysReplicasRandom writes rows of three days to a table that merges rows, on three replicas, deletes some,
// moves them to object storage and joins the days, in random order, while the merge mode and the columns of the table
// change, rows expire, replicas are killed and replaced, and one of them keeps its segments. In the middle of a join,
// the leader changes or is killed, rows are written, or a replica is given a snapshot. All replicas have all rows.
func TestJoinDaysReplicasRandom(t *testing.T) {
	t.Parallel()
	seed := *dayJoinSeed
	if seed == 0 {
		seed = rand.Uint64() >> 1
	}
	seeds := []uint64{}
	if *dayJoinSeed == 0 {
		// A replica that had flushed nothing took objects of joined cuts for rows of an earlier merge mode.
		seeds = append(seeds, 4822282163550169081)
	}
	for i := range *dayJoinSeeds {
		seeds = append(seeds, seed+i)
	}
	e := openTestEngine(t)
	for _, seed := range seeds {
		mode := []string{"last_row", "last_non_null"}[seed%2]
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Logf("go test ./shard -run TestJoinDaysReplicasRandom -join-day-seed %d -join-day-seeds 1", seed)
			joinDaysOnReplicas(t, e, seed, mode)
		})
	}
}

func joinDaysOnReplicas(t *testing.T, e *engine.Engine, seed uint64, mode string) {
	b := tierBucket(t)
	w := &dayGroup{
		dayWorld: &dayWorld{
			mergeWorld: &mergeWorld{
				t: t, rng: rand.New(rand.NewPCG(seed, 23)), nonNull: mode == "last_non_null", want: map[string][2]string{},
				def: mergeTable(map[string]string{"append_mode": "false", "merge_mode": mode}),
			},
			bucket: b,
		},
		engine: e, reader: testReader(t, t.TempDir(), b), stays: map[string]bool{"n3": true}, next: 3,
		done: map[string]int{}, hit: map[string]int{},
	}
	w.def.Placement[0].ShardId = testShard
	w.send = func(_ uint32, batch []byte, def *schemapb.Table) {
		t.Helper()
		w.again(func(o *opened) error {
			_, _, err := o.Write(context.Background(), [][]byte{batch}, []*schemapb.Table{def})
			return err
		})
	}
	w.define = func() {
		t.Helper()
		w.again(func(o *opened) error { return o.DefineTable(wait(t), w.def) })
	}
	if w.rng.IntN(2) == 0 {
		w.def.Options["iceberg"] = "daily"
	}
	own, snapshots, grace := w.rng.IntN(4) > 0, w.rng.IntN(2) == 0, w.rng.IntN(2) == 0
	w.g = newGroup(t, func(node string, cfg *Config) {
		*cfg = tiered(*cfg, b)
		cfg.commit = 5 * time.Millisecond
		cfg.Compaction, cfg.atStep, cfg.Monotonic = compaction.NewLimiter(1, 0), w.step, w.mono.get
		cfg.Tier.LocalFor, cfg.Tier.CutBytes = time.Nanosecond, 1
		if w.stays[node] {
			cfg.Tier.LocalFor = 1_000_000 * time.Hour
		}
		if own { // small tables get objects of their own
			cfg.ShareBytes, cfg.SplitBytes = 1, 1
		}
		if snapshots {
			cfg.TrailingBytes, cfg.trailing = 1, 1
		}
		if grace {
			cfg.Tier.Grace = time.Nanosecond
		}
	}, "n1", "n2", "n3")
	for _, o := range w.g.followers(nil) {
		o.stopCompactor()
	}
	w.define()
	steps := []struct {
		weight int
		do     func()
	}{
		{30, w.write},
		{10, func() { w.flush(w.anyone()) }},
		{8, func() { _ = w.anyone().mover.Step(wait(t)) }}, // the leader may change meanwhile
		{18, func() {
			o := w.g.leader()
			w.flush(o)
			_ = o.mover.Step(wait(t))
		}},
		{22, w.disturbed},
		{5, func() {
			if err := w.anyone().Compact(wait(t)); err != nil {
				t.Fatal(err)
			}
		}},
		{4, func() { w.stopOrStart(nil) }},
		{1, w.rebuild},
		{3, w.beside},
		{1, w.remode},
		{1, func() { w.widen(); w.define() }},
		{1, w.addColumn},
		{1, func() {
			w.alter(map[string]string{"iceberg": map[bool]string{true: "", false: "daily"}[w.shown()]})
		}},
		{1, w.expire},
		{6, func() { w.mono.add(2 * time.Hour) }},
	}
	total := 0
	for _, s := range steps {
		total += s.weight
	}
	for i := range 100 {
		n := w.rng.IntN(total)
		for _, s := range steps {
			if n -= s.weight; n < 0 {
				s.do()
				break
			}
		}
		if i%5 == 4 {
			w.check(fmt.Sprint("operation ", i))
		}
		if i%25 == 24 {
			w.settle(fmt.Sprint("settled after operation ", i))
		}
		if t.Failed() {
			t.Fatalf("seed %d, operation %d", seed, i)
		}
	}
	joined := 0
	_, sets := w.g.leader().coldState()
	for i := range sets {
		for k := range sets[i].Objects {
			joined += map[bool]int{true: 1}[sets[i].Objects[k].Kind == cold.Day]
		}
	}
	t.Logf("steps: %v, in the middle of which something happened: %v, objects of days: %d", w.done, w.hit, joined)
}
