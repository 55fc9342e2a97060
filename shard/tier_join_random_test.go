package shard

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"cordwood/shard/cold/bucket"
	"cordwood/shard/rules"
	"cordwood/shard/vfs"
)

var joinSeed = flag.Uint64("join-seed", 0, "seed of TestJoinRandom; 0 means a new one")

// randomJoins are rows of tables that go to object storage and are joined there, while the process ends at random
// moments.
type randomJoins struct {
	*opened
	rng    *rand.Rand
	dir    bucket.Bucket
	disk   *vfs.Mem
	cfg    Config
	now    hand
	seq    uint64
	ids    []uint64                    // of the tables
	lastID uint64                      // the highest id of a table, also of dropped ones
	rows   map[uint64]map[string]int64 // the times of rows, by table
	before map[uint64]int64            // rows before it have expired

	steps
}

// steps counts the steps of a mover, and ends something before one of them.
type steps struct {
	mu    sync.Mutex // guards the fields below
	end   func()
	left  int // steps of the mover until end
	joins int
}

// at is called before each step of the mover, also by goroutines that store objects.
func (s *steps) at(step string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if step == "replace" {
		s.joins++
	}
	if s.end != nil {
		if s.left--; s.left == 0 {
			s.end()
		}
	}
}

// endAfter makes at call end after some steps; nil means never.
func (s *steps) endAfter(steps int, end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left, s.end = steps, end
}

// joined returns the number of joins.
func (s *steps) joined() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.joins
}

// TestJoinRandom writes rows of several days in a random order, moves and joins them, lets some expire, drops tables,
// loses objects for a while, and ends the process at random steps. Each live row is there once, and each expired one at
// most once.
func TestJoinRandom(t *testing.T) {
	t.Parallel()
	seed := *joinSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("go test ./shard -run TestJoinRandom -join-seed %d", seed)
	w := &randomJoins{
		rng: rand.New(rand.NewPCG(seed, 1)), dir: bucket.NewDir(t.TempDir()), disk: vfs.NewMem(),
		rows: map[uint64]map[string]int64{}, before: map[uint64]int64{}, ids: []uint64{1, 2, 3}, lastID: 3,
	}
	cfg := joining(testConfig(t), w.dir)
	cfg.FS, cfg.ShareBytes, cfg.SplitBytes = w.disk, 600, 1
	cfg.Now = func() time.Time { return time.Unix(0, 0).Add(w.now.get()) }
	cfg.Monotonic = w.now.get
	cfg.atStep = w.at
	cfg.Tier.Grace = 48 * time.Hour
	w.cfg = cfg
	w.opened = openShard(t, cfg)
	w.stopCompactor()
	steps := []struct {
		weight int
		do     func()
	}{
		{50, w.write},
		{20, func() { w.flush() }},
		{30, w.step},
		{8, w.pass},
		{4, w.expire},
		{6, w.endStep},
		{3, w.compact},
		{1, w.dropOne},
		{4, w.lose},
		{4, w.disturb},
	}
	for i := range 700 {
		n := w.rng.IntN(130)
		for _, s := range steps {
			if n -= s.weight; n < 0 {
				s.do()
				break
			}
		}
		if i%10 == 0 {
			w.compare(i)
		}
		if t.Failed() {
			t.Fatalf("seed %d, operation %d", seed, i)
		}
	}
	w.compare(-1)
	if n := w.joined(); n < 5 {
		t.Errorf("only %d joins", n)
	}
}

func (w *randomJoins) write() {
	for range 1 + w.rng.IntN(4) {
		table := w.table()
		day := int64(w.now.get() / (24 * time.Hour))
		if w.rng.IntN(10) == 0 {
			day -= w.rng.Int64N(3)
		}
		w.seq++
		at := max(day, 0)*86400 + w.rng.Int64N(86400)
		text := fmt.Sprintf("row %d of table %d", w.seq, table)
		h := head(table, 100+w.seq, uint64(at))
		w.mustPut(batch(h, text))
		if w.rows[table] == nil {
			w.rows[table] = map[string]int64{}
		}
		w.rows[table][text] = h.MinTime
	}
}

func (w *randomJoins) step() {
	if err := w.mover.Step(wait(w.t)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *randomJoins) pass() { w.now.add(time.Duration(1+w.rng.IntN(12)) * time.Hour) }

func (w *randomJoins) table() uint64 { return w.ids[w.rng.IntN(len(w.ids))] }

// dropOne drops a table, and creates another one.
func (w *randomJoins) dropOne() {
	at := w.rng.IntN(len(w.ids))
	if err := w.DropTable(wait(w.t), w.ids[at]); err != nil {
		w.t.Error(err)
	}
	delete(w.rows, w.ids[at])
	w.lastID++
	w.ids[at] = w.lastID
}

// disturb lets rows expire, or drops a table, during a step of the mover.
func (w *randomJoins) disturb() {
	do := w.expire
	if w.rng.IntN(4) == 0 {
		do = w.dropOne
	}
	w.endAfter(1+w.rng.IntN(15), do)
	_ = w.mover.Step(wait(w.t)) // a join whose objects have died fails
	w.endAfter(0, nil)
}

// lose does a step of the mover while an object is missing or damaged.
func (w *randomJoins) lose() {
	_, sets := w.coldState()
	if len(sets) == 0 {
		return
	}
	list := sets[w.rng.IntN(len(sets))].Objects
	key := list[w.rng.IntN(len(list))].Key
	whole := w.content(key)
	var err error
	if w.rng.IntN(2) == 0 {
		err = w.dir.Delete(wait(w.t), key)
	} else {
		damaged := slices.Clone(whole)
		damaged[w.rng.IntN(len(damaged))] ^= 1
		err = w.replace(key, damaged)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	_ = w.mover.Step(wait(w.t)) // it may need the object
	if err := w.replace(key, whole); err != nil {
		w.t.Fatal(err)
	}
}

func (w *randomJoins) content(key string) []byte {
	r, err := w.dir.Open(wait(w.t), key, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		w.t.Fatal(err)
	}
	return data
}

func (w *randomJoins) replace(key string, data []byte) error {
	return w.dir.Put(wait(w.t), key, bucket.Content{Body: bytes.NewReader(data), Size: int64(len(data)), Replace: true})
}

func (w *randomJoins) expire() {
	table := w.table()
	before := (int64(w.now.get()/time.Second) - 3*86400 - w.rng.Int64N(86400)) * 1000
	if before <= w.before[table] || w.rows[table] == nil {
		return
	}
	w.before[table] = before
	e := rules.Entry{Kind: rules.KindExpire, Cutoffs: []rules.Cutoff{{TableID: table, Before: before}}}
	if err := w.propose(&e); err != nil {
		w.t.Error(err)
	}
}

// endStep ends the process during a step of the mover, or restarts it.
func (w *randomJoins) endStep() {
	ctx, cancel := context.WithCancel(wait(w.t))
	defer cancel()
	w.endAfter(1+w.rng.IntN(15), cancel)
	_ = w.mover.Step(ctx)
	w.endAfter(0, nil)
	if w.rng.IntN(3) == 0 {
		return // only the step ended
	}
	w.crash()
	if w.rng.IntN(2) == 0 {
		w.disk.Crash(50)
	}
	of := *w.cfg.Tier
	of.LocalFor = []time.Duration{time.Hour, 30 * time.Hour}[w.rng.IntN(2)]
	w.cfg.Tier = &of
	w.opened = openShard(w.t, w.cfg)
	w.stopCompactor()
}

func (w *randomJoins) compact() {
	if err := w.compactNow(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *randomJoins) compare(i int) {
	w.t.Helper()
	for table, want := range w.rows {
		got, _ := w.allRows(w.dir, table)
		for k := 1; k < len(got); k++ {
			if got[k] == got[k-1] {
				w.t.Errorf("operation %d: %q is there twice", i, got[k])
			}
		}
		for text, at := range want {
			if _, is := slices.BinarySearch(got, text); !is && at >= w.before[table] {
				w.t.Errorf("operation %d: %q is missing", i, text)
			}
		}
		for _, text := range got {
			if _, known := want[text]; !known {
				w.t.Errorf("operation %d: %q was not written", i, text)
			}
		}
	}
}
