package shard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/shard/store"
)

// messages returns the values of column m of encoded batches.
func messages(t *testing.T, encoded ...[]byte) []string {
	t.Helper()
	var out []string
	for _, data := range encoded {
		b, err := column.Decode(data, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := b.Column(3)
		for i := range b.Rows {
			out = append(out, string(c.Bytes(i)))
		}
	}
	return out
}

func mustTail(t *testing.T, o *opened, table uint64) *store.Tail {
	t.Helper()
	tail, err := o.Tail(table)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tail.Close)
	return tail
}

func TestTailSeam(t *testing.T) {
	t.Parallel()
	o := openShard(t, testConfig(t))
	const writers, each = 4, 60
	var wg sync.WaitGroup
	begun := make(chan struct{}, writers*each)
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if _, err := o.put(batch(head(1, uint64(w+1), uint64(i+1)), fmt.Sprintf("%d-%d", w, i))); err != nil {
					t.Error(err)
				}
				begun <- struct{}{}
			}
		})
	}
	// Start tails while rows arrive, one of them across a flush.
	var tails []*store.Tail
	for range 5 {
		for range writers * each / 8 {
			<-begun
		}
		tails = append(tails, mustTail(t, o, 1))
		o.flush()
	}
	wg.Wait()
	var want []string
	for w := range writers {
		for i := range each {
			want = append(want, fmt.Sprintf("%d-%d", w, i))
		}
	}
	slices.Sort(want)
	for n, tail := range tails {
		view := tail.TakeView()
		got := viewRows(t, o.Shard.cfg.FS, view, 1)
		before := len(got)
		view.Close()
		for len(got) < len(want) {
			group, err := tail.Next(wait(t), 1<<10)
			if err != nil {
				t.Fatalf("tail %d after %d rows: %v", n, len(got), err)
			}
			got = append(got, messages(t, group...)...)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("tail %d, which began after %d rows: %d rows, want %d, each once", n, before, len(got), len(want))
		}
	}
}

func TestTailSeesItsTableOnly(t *testing.T) {
	t.Parallel()
	o := openShard(t, testConfig(t))
	tail := mustTail(t, o, 1)
	merging := def(1)
	merging.Options = map[string]string{schema.OptionAppendMode: "false"}
	if _, _, err := o.Write(wait(t), nil, []*schemapb.Table{merging}); err != nil {
		t.Fatal(err)
	}
	o.mustPut(batch(head(2, 9, 1), "other"), batch(head(1, 9, 2), "mine"))
	o.mustPut(batch(head(1, 9, 2), "mine")) // a repetition, which is not appended
	var b column.Builder
	table := schema.FromProto(merging)
	b.Add(table.Columns[0]).SetInt(0, 5)
	b.Add(schema.DeletedColumn()).SetInt(0, 1)
	b.EndRow()
	o.mustPut(b.Encode(nil, head(1, 9, 3))) // a delete marker is not a row
	o.mustPut(batch(head(1, 9, 4), "last"))
	var got []string
	for len(got) < 2 {
		group, err := tail.Next(wait(t), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, messages(t, group...)...)
	}
	if s := strings.Join(got, " "); s != "mine last" {
		t.Errorf("the tail saw %q", s)
	}
}

func TestTailEnds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		end  func(o *opened)
		want errs.Code
	}{
		{"the table is dropped", func(o *opened) {
			if err := o.DropTable(context.Background(), 1); err != nil {
				o.t.Fatal(err)
			}
		}, errs.TableNotFound},
		{"the shard closes", func(o *opened) { o.close() }, errs.ShardNotReady},
		{"the reader is too slow", func(o *opened) {
			for i := range 200 {
				o.mustPut(batch(head(1, 5, uint64(i+2)), strings.Repeat("x", 10+i)))
			}
		}, errs.RateLimited},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := testConfig(t)
			cfg.TailBytes = 16 << 10
			o := openShard(t, cfg)
			o.mustPut(batch(head(1, 5, 1), "a"))
			slow := mustTail(t, o, 1)
			test.end(o)
			for {
				_, err := slow.Next(wait(t), 1<<20)
				if err == nil {
					continue
				}
				if errs.CodeOf(err) != test.want {
					t.Errorf("it ended with %v, want code %d", err, test.want)
				}
				break
			}
			waiting := o.store.Status.TailBytes()
			if waiting != 0 {
				t.Errorf("%d bytes still wait, although no tail is left", waiting)
			}
			slow.Close()
			slow.Close()
			if _, err := slow.Next(wait(t), 1); err == nil {
				t.Error("a closed tail returns rows")
			}
		})
	}
}

func TestTailOfADroppedTable(t *testing.T) {
	t.Parallel()
	o := openShard(t, testConfig(t))
	o.mustPut(batch(head(1, 5, 1), "a"))
	if err := o.DropTable(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Tail(1); errs.CodeOf(err) != errs.TableNotFound {
		t.Errorf("error is %v, want table not found", err)
	}
}

// TestTailsShareMemory checks that the limit over all tails ends the tails with the longest queues
// first.
func TestTailsShareMemory(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	cfg.TailBytes = 64 << 10
	o := openShard(t, cfg)
	o.mustPut(batch(head(1, 5, 1), "a"), batch(head(2, 5, 2), "a"))
	quiet := mustTail(t, o, 2)
	var greedy []*store.Tail
	for range 40 {
		greedy = append(greedy, mustTail(t, o, 1))
	}
	for i := range 60 {
		o.mustPut(batch(head(1, 6, uint64(i+1)), strings.Repeat("y", 30)))
		if waiting := o.store.Status.TailBytes(); waiting > 4*cfg.TailBytes {
			t.Fatalf("%d bytes wait, the limit is %d", waiting, 4*cfg.TailBytes)
		}
	}
	o.mustPut(batch(head(2, 6, 100), "still here"))
	group, err := quiet.Next(wait(t), 1<<20)
	if err != nil || messages(t, group...)[0] != "still here" {
		t.Errorf("the tail with a short queue got %v, %v", group, err)
	}
	lost := 0
	for _, g := range greedy {
		if _, err := g.Next(wait(t), 1<<20); errs.CodeOf(err) == errs.RateLimited {
			lost++
		}
	}
	if lost == 0 {
		t.Error("no tail with a long queue was ended")
	}
}

func TestTailWaits(t *testing.T) {
	t.Parallel()
	o := openShard(t, testConfig(t))
	tail := mustTail(t, o, 1)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := tail.Next(ctx, 1)
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want the error of the context", err)
	}
}
