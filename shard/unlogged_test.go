package shard

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/schemapb"
)

func skipDef(id uint64) *schemapb.Table {
	d := def(id)
	d.Options = map[string]string{"append_mode": "true", "skip_wal": "true"}
	return d
}

// TestSkipWAL checks that a crash before the flush loses the unlogged rows, and nothing else.
func TestSkipWAL(t *testing.T) {
	t.Parallel()
	s := openShard(t, testConfig(t))
	write := func(batches ...[]byte) uint64 {
		t.Helper()
		index, need, err := s.Write(context.Background(), batches, nil)
		if err == nil && len(need) > 0 {
			var defs []*schemapb.Table
			for _, id := range need {
				d := def(id)
				if id == 1 {
					d = skipDef(id)
				}
				defs = append(defs, d)
			}
			index, need, err = s.Write(context.Background(), batches, defs)
		}
		if err != nil || len(need) > 0 || index == 0 {
			t.Fatalf("index %d, needs %v: %v", index, need, err)
		}
		return index
	}
	see := func(want1, want2 []string) {
		t.Helper()
		if diff := cmp.Diff(want1, s.rows(1)); diff != "" {
			t.Error("table with skip_wal: " + diff)
		}
		if diff := cmp.Diff(want2, s.rows(2)); diff != "" {
			t.Error("table without skip_wal: " + diff)
		}
	}
	write(batch(head(1, 9, 1), "a"), batch(head(2, 9, 2), "A"))
	before := s.store.Tables.AppliedIndex
	write(batch(head(1, 9, 3), "b"))
	if s.store.Tables.AppliedIndex != before {
		t.Error("the log was written")
	}
	write(batch(head(1, 9, 3), "b")) // the same batch again
	see([]string{"a", "b"}, []string{"A"})

	s = s.reopen() // as after a kill
	see([]string{}, []string{"A"})
	write(batch(head(1, 9, 1), "a"), batch(head(2, 9, 2), "A")) // a router that got no answer
	see([]string{"a"}, []string{"A"})
	s.flush()
	write(batch(head(1, 9, 4), "lost"))
	s = s.reopen()
	see([]string{"a"}, []string{"A"})
	// The batch has been in a segment, so the shard must recognise it although it is not in the
	// log.
	write(batch(head(1, 9, 1), "a"), batch(head(2, 9, 2), "A"))
	see([]string{"a"}, []string{"A"})

	// Such rows are flushed even if there are no others.
	write(batch(head(1, 9, 5), "c"))
	s.flush()
	s = s.reopen()
	write(batch(head(1, 9, 6), "d"))
	s.close()
	s = openShard(t, s.cfg)
	see([]string{"a", "c", "d"}, []string{"A"})

	// ALTER makes the table's rows go through the log again.
	d := skipDef(1)
	d.Version, d.Options["skip_wal"] = 2, "false"
	if err := s.DefineTable(context.Background(), d); err != nil {
		t.Fatal(err)
	}
	write(batch(head(1, 9, 6), "d"))
	write(batch(head(1, 9, 7), "e"))
	s = s.reopen()
	see([]string{"a", "c", "d", "e"}, []string{"A"})
}

// TestSkipWALBusy writes concurrently while the shard is flushed.
func TestSkipWALBusy(t *testing.T) {
	t.Parallel()
	s := openShard(t, testConfig(t))
	if err := s.DefineTable(context.Background(), skipDef(1), def(2)); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	const writers, each = 4, 50
	for w := range writers {
		wg.Go(func() {
			for i := range uint64(each) {
				_, _, err := s.Write(context.Background(), [][]byte{
					batch(head(1, uint64(w+1), 2*i+1), fmt.Sprint(w, "-", i)),
					batch(head(2, uint64(w+1), 2*i+2), fmt.Sprint(w, "-", i)),
				}, nil)
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 20 {
			if err := s.Flush(wait(t)); err != nil {
				t.Error(err)
			}
		}
	}()
	wg.Wait()
	<-done
	if n := len(s.rows(1)); n != writers*each {
		t.Errorf("%d unlogged rows, want %d", n, writers*each)
	}
	if diff := cmp.Diff(s.rows(2), s.rows(1)); diff != "" {
		t.Error(diff)
	}
	s.close()
	s = openShard(t, s.cfg)
	if n := len(s.rows(1)); n != writers*each {
		t.Errorf("%d rows after a restart, want %d", n, writers*each)
	}
}
