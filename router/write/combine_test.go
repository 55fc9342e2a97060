package write

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
)

// blockedShards blocks every call until release is closed.
type blockedShards struct {
	fakeShards
	entered chan struct{}
	hold    chan struct{}
	panics  bool
}

func (s *blockedShards) Write(ctx context.Context, shard uint32, batches [][]byte,
	tables func([]uint64) []*schemapb.Table,
) (uint64, error) {
	s.entered <- struct{}{}
	<-s.hold
	if s.panics {
		panic("a fault")
	}
	return s.fakeShards.Write(ctx, shard, batches, tables)
}

// gatherWrites blocks the call of one write, starts n more writes, releases the call when they wait, and returns
// their errors. The parameter one creates the write with the given index.
func gatherWrites(t *testing.T, w *Writer, s *blockedShards, n int, one func(i int) error) []error {
	t.Helper()
	first := make(chan error, 1)
	go func() {
		_, err := w.Write(context.Background(), output(rows("a", 1, field("n", schema.Int64))))
		first <- err
	}()
	<-s.entered
	errors := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errors[i] = one(i) })
	}
	c := w.combiner(1)
	for waiting := 0; waiting < n; runtime.Gosched() {
		c.mu.Lock()
		if waiting = 0; c.open != nil {
			waiting = c.open.rows
		}
		c.mu.Unlock()
	}
	close(s.hold)
	go func() {
		for range s.entered {
		}
	}()
	wg.Wait()
	close(s.entered)
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	return errors
}

func held(t *testing.T) (*Writer, *blockedShards) {
	m, s := newFakeMeta(), &blockedShards{entered: make(chan struct{}, 100), hold: make(chan struct{})}
	w, err := New(Config{Meta: m, Shards: s})
	if err != nil {
		t.Fatal(err)
	}
	// Both tables exist from the start, on shard 1.
	for i, name := range []string{"a", "b"} {
		cols := []schema.Column{timeIndex, field("n", schema.Int64), field("s", schema.String)}
		for k := range cols {
			cols[k].ID = uint32(k + 1)
		}
		m.put(&schema.Table{
			ID: uint64(i + 1), Database: "public", Name: name, Version: 1, NextColumnID: 4, Columns: cols,
			Placement: []schema.Placement{{Epoch: 1, ShardID: 1}},
		})
	}
	return w, s
}

func TestSmallWritesAreCombined(t *testing.T) {
	w, s := held(t)
	const n = 30
	for i, err := range gatherWrites(t, w, s, n, func(i int) error {
		cols := []schema.Column{field("n", schema.Int64)}
		if i%2 == 0 {
			cols = []schema.Column{field("s", schema.String), field("n", schema.Int64)}
		}
		res, err := w.Write(context.Background(), output(rows([]string{"a", "b"}[i%3/2], 1, cols...)))
		if err == nil && res.Rows != 1 {
			err = fmt.Errorf("the result reports %d stored rows", res.Rows)
		}
		return err
	}) {
		if err != nil {
			t.Errorf("write %d: %v", i, err)
		}
	}
	if s.calls != 2 || s.rows() != n+1 || len(s.got) != 3 {
		t.Errorf("%d calls, %d batches, %d rows; want 2 calls, 3 batches, %d rows", s.calls, len(s.got), s.rows(), n+1)
	}
	seen := map[uint64]bool{}
	for _, g := range s.got {
		if seen[g.batch.Seq] {
			t.Errorf("number %d was used twice", g.batch.Seq)
		}
		seen[g.batch.Seq] = true
	}
}

// TestReadyWritesShareCalls checks that writes that are ready to run join a call after a shared one, although nothing
// delays it. The scheduler may run the call first once in a while, so the best of several tries counts.
func TestReadyWritesShareCalls(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that the first call cannot run beside the other writes
	const n, tries = 20, 5
	best := n
	for range tries {
		w, s := held(t)
		close(s.hold)
		w.combiner(1).shared = true // as if requests had been sent together before
		var wg sync.WaitGroup
		failed := make([]error, n)
		for i := range n {
			wg.Go(func() {
				_, failed[i] = w.Write(context.Background(), output(rows("a", 1, field("n", schema.Int64))))
			})
		}
		wg.Wait()
		if err := errors.Join(failed...); err != nil {
			t.Fatal(err)
		}
		best = min(best, s.calls)
	}
	if best > n/4 {
		t.Errorf("%d writes took %d calls", n, best)
	}
}

// TestOneWriteDoesNotSpoilOthers checks that, if a shard refuses the rows of one of several combined requests, the
// others succeed.
func TestOneWriteDoesNotSpoilOthers(t *testing.T) {
	w, s := held(t)
	s.refuse = func(_ int, _ uint32, heads []column.Header) error {
		for _, h := range heads {
			if h.TableID == 2 {
				return errs.New(errs.InvalidArguments, "bad batch").WithReason(errs.BadBatch)
			}
		}
		return nil
	}
	const n = 5
	for i, err := range gatherWrites(t, w, s, n, func(i int) error {
		table := "a"
		if i == 3 {
			table = "b"
		}
		_, err := w.Write(context.Background(), output(rows(table, 1, field("n", schema.Int64))))
		return err
	}) {
		if (err != nil) != (i == 3) {
			t.Errorf("write %d: %v", i, err)
		}
	}
	if s.rows() != n {
		t.Errorf("%d rows, want %d", s.rows(), n)
	}
}

// TestACombinedFailureReachesAll checks that, if the outcome of a combined call is unknown, every request gets the
// error.
func TestACombinedFailureReachesAll(t *testing.T) {
	w, s := held(t)
	s.refuse = func(call int, _ uint32, _ []column.Header) error {
		if call == 1 {
			return nil
		}
		return errs.New(errs.ShardUnreachable, "gone").WithReason(errs.OutcomeUnknown)
	}
	for i, err := range gatherWrites(t, w, s, 4, func(int) error {
		_, err := w.Write(context.Background(), output(rows("a", 1, field("n", schema.Int64))))
		return err
	}) {
		if errs.ReasonOf(err) != errs.OutcomeUnknown {
			t.Errorf("write %d: %v", i, err)
		}
	}
	if s.calls != 2 {
		t.Errorf("%d calls: an unknown outcome must not be followed by the same rows under another id", s.calls)
	}
}

// TestACancelledWriteLeaves cancels a request of a pack, which then changes its rows. The other requests must not be
// affected.
func TestACancelledWriteLeaves(t *testing.T) {
	w, s := held(t)
	ctx, cancel := context.WithCancel(context.Background())
	left := make(chan error, 1)
	results := gatherWrites(t, w, s, 3, func(i int) error {
		if i > 0 {
			_, err := w.Write(context.Background(), output(rows("a", 1, field("n", schema.Int64))))
			return err
		}
		mine := rows("a", 1, field("s", schema.String))
		go func() {
			_, err := w.Write(ctx, output(mine))
			mine.Rows.Reset()
			left <- err
		}()
		cancel()
		return nil
	})
	if err := <-left; errs.ReasonOf(err) != errs.OutcomeUnknown || !errors.Is(err, context.Canceled) {
		t.Errorf("the writer that left got %v", err)
	}
	for i, err := range results {
		if err != nil {
			t.Errorf("write %d: %v", i, err)
		}
	}
	if s.rows() != 4 {
		t.Errorf("%d rows, want 4", s.rows())
	}
}

// TestPackOfManyColumns combines requests that each bring other columns of a table. The pack takes no more of them
// before its cells, which are nearly all empty, are too many for a batch.
func TestPackOfManyColumns(t *testing.T) {
	w, s := held(t)
	close(s.hold)
	c := w.combiner(1)
	c.busy = true // so that nothing is sent
	table := &schema.Table{
		ID: 3, Database: "public", Name: "wide", Version: 1, Placement: []schema.Placement{{Epoch: 1, ShardID: 1}},
	}
	taken := 0
	for i := range 300 {
		var cols []schema.Column
		for k := range 13 {
			col := field(fmt.Sprint("c", 13*i+k), schema.Int64)
			col.ID = uint32(13*i + k + 2)
			cols = append(cols, col)
		}
		j := &job{target: &target{rows: rows("wide", 54, cols...), table: table}, to: 54, bytes: 54 * 13 * 8}
		p := c.add(context.Background(), 1, []*job{j})
		if p == nil {
			break
		}
		taken++
	}
	p := c.open
	n, own := p.parts[0].rows.Rows()*len(p.parts[0].rows.Cols()), 54*14*taken
	if n > maxPackCells || n > maxPackPadding*own || taken < 3 || taken == 300 {
		t.Errorf("%d requests were combined, with %d cells", taken, n)
	}
	p.parts[0].rows.Finish()
	_ = p.parts[0].rows.Encode(nil, column.Header{}) // it panics if there are too many
}

// TestPanicOfPack checks that a panic while a pack is sent fails its requests, and that later ones are sent.
func TestPanicOfPack(t *testing.T) {
	w, s := held(t)
	close(s.hold)
	s.panics = true
	_, err := w.Write(context.Background(), output(rows("a", 1, field("n", schema.Int64))))
	if errs.CodeOf(err) != errs.Internal || errs.ReasonOf(err) != errs.OutcomeUnknown {
		t.Errorf("panic: %v", err)
	}
	s.panics = false
	if _, err := w.Write(context.Background(), output(rows("a", 1, field("n", schema.Int64)))); err != nil {
		t.Error(err)
	}
}
