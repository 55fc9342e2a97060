package write

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/pipeline"
)

func TestWriteCreatesWidensAndThenCostsNothing(t *testing.T) {
	m, s := newFakeMeta(), &fakeShards{}
	w := newWriter(t, m, s)
	for i, step := range []struct {
		out     *pipeline.Output
		ensured int
	}{
		{output(rows("a", 3, field("n", schema.Int64)), rows("b", 2, field("s", schema.String))), 1},
		{output(rows("a", 3, field("n", schema.Int64)), rows("b", 2, field("s", schema.String))), 1},
		{output(rows("a", 1, field("m", schema.String))), 2},
		{output(rows("a", 1, field("n", schema.Int64), field("m", schema.String))), 2},
	} {
		if _, err := w.Write(t.Context(), step.out); err != nil {
			t.Fatal(i, err)
		}
		if m.ensured != step.ensured {
			t.Fatalf("step %d: %d schema commands, want %d", i, m.ensured, step.ensured)
		}
	}
	if s.rows() != 12 {
		t.Fatalf("%d rows", s.rows())
	}
	a, _ := m.Table("public", "a")
	last := s.got[len(s.got)-1].batch
	if last.TableID != a.ID || last.SchemaVersion != a.Version || last.Epoch != 1 {
		t.Fatalf("header %+v for table %+v", last.Header, a)
	}
	if v := last.Column(a.Column("m").ID); v == nil || string(v.Bytes(0)) != "value 0" {
		t.Fatal("the column does not have the id from its table")
	}
	seen := map[uint64]bool{}
	for _, g := range s.got {
		if g.batch.Session != s.got[0].batch.Session || g.batch.Session&(column.KeyedBit|ownBit) != ownBit ||
			seen[g.batch.Seq] {
			t.Fatalf("batch id %d/%d is used twice", g.batch.Session, g.batch.Seq)
		}
		seen[g.batch.Seq] = true
	}
}

func TestWriteEmpty(t *testing.T) {
	m, s := newFakeMeta(), &fakeShards{}
	w := newWriter(t, m, s)
	for _, out := range []*pipeline.Output{output(), output(rows("a", 0, field("n", schema.Int64)))} {
		res, err := w.Write(t.Context(), out)
		if err != nil || len(res.Groups) != 0 || m.ensured != 0 || s.calls != 0 {
			t.Fatal(res, err, m.ensured, s.calls)
		}
	}
}

func TestWriteSplits(t *testing.T) {
	m, s := newFakeMeta(), &fakeShards{}
	w := newWriter(t, m, s, func(c *Config) { c.MaxBatchRows, c.MaxBatchBytes, c.MaxCallBytes = 100, 1000, 3000 })
	if _, err := w.Write(t.Context(), output(rows("a", 1001, field("s", schema.String)))); err != nil {
		t.Fatal(err)
	}
	if s.rows() != 1001 || s.calls < 5 {
		t.Fatalf("%d rows in %d calls", s.rows(), s.calls)
	}
	at := int64(0)
	for _, g := range s.got {
		if g.batch.Rows > 100 {
			t.Fatalf("a batch of %d rows", g.batch.Rows)
		}
		for i := range g.batch.Rows {
			if got := g.batch.Column(1).Int(i); got != at {
				t.Fatalf("row %d has time %d", at, got)
			}
			at++
		}
	}
}

func TestCutFollowsTheSizesOfRows(t *testing.T) {
	b := &column.Builder{}
	ts, text := b.Add(timeIndex), b.Add(field("s", schema.String))
	for i := range 1000 {
		ts.SetInt(i, int64(i))
		if i < 10 {
			text.SetString(i, strings.Repeat("x", 600)) // all large values come first
		}
		b.EndRow()
	}
	b.Finish()
	tg := &target{rows: &pipeline.TableRows{Rows: b}}
	tg.cut(&Config{MaxBatchRows: 1 << 16, MaxBatchBytes: 1000}, &job{})
	at := 0
	for _, j := range tg.jobs {
		if j.from != at || j.to <= j.from || j.bytes > 1000 {
			t.Fatalf("rows %d to %d of %d bytes after row %d", j.from, j.to, j.bytes, at)
		}
		at = j.to
	}
	if at != 1000 {
		t.Fatal(at)
	}
}

func TestWriteManyTablesOneCallPerShard(t *testing.T) {
	m, s := newFakeMeta(), &fakeShards{}
	m.shards = 4
	w := newWriter(t, m, s)
	var tables []*pipeline.TableRows
	for i := range 40 {
		tables = append(tables, rows(fmt.Sprintf("t%d", i), 1, field("n", schema.Int64)))
	}
	res, err := w.Write(t.Context(), output(tables...))
	if err != nil || res.Rows != 40 || m.ensured != 1 || s.calls != 4 {
		t.Fatalf("%+v %v: %d schema commands, %d calls", res, err, m.ensured, s.calls)
	}
	for _, g := range s.got {
		if table, _ := m.TableByID(g.batch.TableID); table.Writable().ShardID != g.shard {
			t.Fatalf("table %s went to shard %d", table.Name, g.shard)
		}
	}
}

func TestGroupsByOptions(t *testing.T) {
	m, s := newFakeMeta(), &fakeShards{}
	w := newWriter(t, m, s)
	with := func(tr *pipeline.TableRows, options map[string]string) *pipeline.TableRows {
		tr.Options = options
		return tr
	}
	day := map[string]string{"ttl": "1day", "append_mode": "true"}
	res, err := w.Write(t.Context(), output(
		with(rows("a", 3), day),
		with(rows("b", 2), map[string]string{"append_mode": "true", "ttl": "1day"}),
		with(rows("c", 5), map[string]string{"ttl": "instant"}),
		with(rows("d", 7), nil),
	))
	if err != nil {
		t.Fatal(err)
	}
	want := Result{Groups: []Group{{5}, {0}, {7}}, Rows: 12}
	if diff := cmp.Diff(want, res); diff != "" {
		t.Fatal(diff)
	}
	if s.rows() != 12 {
		t.Fatalf("%d rows were sent, want none for ttl instant", s.rows())
	}
	// The table exists now: other options are not applied, and a warning says so.
	res, err = w.Write(t.Context(), output(with(rows("a", 1), map[string]string{"ttl": "7days", "append_mode": "true"})))
	if err != nil || len(res.Warnings) != 1 ||
		!strings.Contains(res.Warnings[0], "ttl=7days was not applied, it is 1day") {
		t.Fatal(res, err)
	}
	if res, err = w.Write(t.Context(), output(with(rows("a", 1), day))); err != nil || len(res.Warnings) != 0 {
		t.Fatal(res, err)
	}
}

// TestWarnsOfMergingWithoutAKey checks that a write that creates a table without a key warns that the table keeps one
// row for each time.
func TestWarnsOfMergingWithoutAKey(t *testing.T) {
	w := newWriter(t, newFakeMeta(), &fakeShards{})
	for _, c := range []struct{ table, mode, want string }{
		{"a", "false", "table public.a has no primary key and append_mode is false: of rows with the same time only the " +
			"last is shown"},
		{"a", "false", ""}, // the warning came when the table was created
		{"b", "true", ""},
	} {
		tr := rows(c.table, 2)
		tr.Options = map[string]string{schema.OptionAppendMode: c.mode}
		res, err := w.Write(t.Context(), output(tr))
		if err != nil || strings.Join(res.Warnings, "; ") != c.want {
			t.Errorf("%+v: %q, %v", c, res.Warnings, err)
		}
	}
}

func TestFollowsAMovedTable(t *testing.T) {
	for _, reason := range []errs.Reason{errs.SchemaStale, errs.WrongEpoch, errs.TableGone} {
		t.Run(string(reason), func(t *testing.T) {
			m, s := newFakeMeta(), &fakeShards{}
			w := newWriter(t, m, s)
			if _, err := w.Write(t.Context(), output(rows("a", 1, field("n", schema.Int64)))); err != nil {
				t.Fatal(err)
			}
			s.refuse = func(call int, _ uint32, heads []column.Header) error {
				if heads[0].SchemaVersion > 1 {
					return nil
				}
				old, _ := m.Table("public", "a")
				now := *old
				now.ID, now.Version = 77, 9
				now.Placement = []schema.Placement{{Epoch: 1, ShardID: 0}, {Epoch: 2, ShardID: 3}}
				now.Columns = []schema.Column{old.Columns[0], {ID: 50, Name: "n", Type: schema.Int64, Semantic: schema.Field}}
				m.put(&now)
				return errs.New(errs.RequestOutdated, "old").WithReason(reason)
			}
			res, err := w.Write(t.Context(), output(rows("a", 4, field("n", schema.Int64))))
			if err != nil || res.Rows != 4 {
				t.Fatal(res, err)
			}
			last := s.got[len(s.got)-1]
			if last.shard != 3 || last.batch.Epoch != 2 || last.batch.TableID != 77 || last.batch.Column(50) == nil {
				t.Fatalf("the batch was not encoded again: shard %d %+v", last.shard, last.batch.Header)
			}
		})
	}
}

func TestStaleForEver(t *testing.T) {
	m, s := newFakeMeta(), &fakeShards{}
	s.refuse = func(int, uint32, []column.Header) error {
		return errs.New(errs.RequestOutdated, "old").WithReason(errs.SchemaStale)
	}
	_, err := newWriter(t, m, s).Write(t.Context(), output(rows("a", 4)))
	if e := errs.From(err); e.Status() != 503 || e.RetryAfter == 0 {
		t.Fatal(err)
	}
}

func TestPartialFailure(t *testing.T) {
	m, s := newFakeMeta(), &fakeShards{}
	m.shards = 2
	w := newWriter(t, m, s)
	down := errs.New(errs.ShardUnreachable, "shard 1 is down")
	s.refuse = func(_ int, shard uint32, _ []column.Header) error {
		if shard == 1 {
			return down
		}
		return nil
	}
	_, err := w.Write(t.Context(), output(rows("a", 3), rows("b", 2)))
	partial := (*PartialError)(nil)
	if !errors.As(err, &partial) || partial.Acked+2 != 4 && partial.Acked != 3 || partial.Total != 5 {
		t.Fatalf("%#v", err)
	}
	if e := errs.From(err); e.Status() != 503 || e.RetryAfter == 0 || errors.Is(err, ErrSchemaChanged) {
		t.Fatal(err)
	}
	// If nothing was stored, the error is the shard's own.
	s.refuse = func(int, uint32, []column.Header) error { return down }
	if _, err = w.Write(t.Context(), output(rows("a", 3), rows("b", 2))); errors.As(err, &partial) ||
		errs.CodeOf(err) != errs.ShardUnreachable {
		t.Fatal(err)
	}
}

// TestSessionsDiffer checks that writers have different session ids, although nothing assigns them.
func TestSessionsDiffer(t *testing.T) {
	seen := map[uint64]bool{}
	for range 1000 {
		id := newWriter(t, newFakeMeta(), &fakeShards{}).session.id
		if seen[id] || id&(column.KeyedBit|ownBit) != ownBit {
			t.Fatalf("session %#x, after %d others", id, len(seen))
		}
		seen[id] = true
	}
}

func TestSequenceKeepsItsWindow(t *testing.T) {
	var s session
	s.init(1)
	q := s.sequence(1)
	first, doneFirst, err := q.take(t.Context(), 1)
	if err != nil || first != 1 {
		t.Fatal(first, err)
	}
	var last uint64
	for range seqWindow - 1 {
		var done func()
		if last, done, err = q.take(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		done()
	}
	if last != seqWindow {
		t.Fatal(last)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	if _, _, err := q.take(ctx, 1); errs.CodeOf(err) != errs.DeadlineExceeded {
		t.Fatalf("take returned a number beyond the window: %v", err)
	}
	got := make(chan uint64)
	go func() {
		n, done, _ := q.take(context.Background(), 2)
		done()
		got <- n
	}()
	doneFirst()
	if n := <-got; n != seqWindow+1 {
		t.Fatal(n)
	}
}

func TestConcurrentWrites(t *testing.T) {
	m, s := newFakeMeta(), &fakeShards{}
	m.shards = 3
	w := newWriter(t, m, s)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 20 {
				out := output(rows(fmt.Sprintf("t%d", i%5), 2, field(fmt.Sprintf("c%d", (g+i)%7), schema.Int64)))
				if _, err := w.Write(context.Background(), out); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if s.rows() != 320 {
		t.Fatalf("%d rows", s.rows())
	}
	ids := map[[2]uint64]bool{}
	for _, g := range s.got {
		id := [2]uint64{uint64(g.shard), g.batch.Seq}
		if ids[id] {
			t.Fatalf("batch id %v twice", id)
		}
		ids[id] = true
	}
}

func BenchmarkWrite(b *testing.B) {
	m := newFakeMeta()
	w := newWriter(b, m, &fakeShards{})
	w.cfg.Shards = &discard{}
	out := output(rows("a", 1000, field("n", schema.Int64), field("s", schema.String)))
	if _, err := w.Write(b.Context(), out); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.Write(b.Context(), out); err != nil {
			b.Fatal(err)
		}
	}
}
