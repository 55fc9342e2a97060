package bucket

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// TestLimiterUploads begins more uploads than there are places. They leave half of them to reads, and one read may
// begin even if the service has asked for a single request at once.
func TestLimiterUploads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		l := newLimiter(8)
		var begun [classes]atomic.Int64
		begin := func(c class, n int) {
			for range n {
				go func() {
					if _, err := l.acquire(ctx, c); err == nil {
						begun[c].Add(1)
					}
				}()
				synctest.Wait()
			}
		}
		begin(writer, 20)
		begin(reader, 20)
		if begun[writer].Load() != 4 || begun[reader].Load() != 4 {
			t.Errorf("%d writes and %d reads were begun, want 4 of each", begun[writer].Load(), begun[reader].Load())
		}
		l.release(reader, 0, nil) // a read that waits is next
		l.release(writer, 0, nil)
		synctest.Wait()
		if writes, reads := begun[writer].Load(), begun[reader].Load(); writes > 5 || writes+reads != 10 {
			t.Errorf("then %d writes and %d reads", writes, reads)
		}
		cancel()
		synctest.Wait()

		l = newLimiter(1)
		for _, c := range []class{writer, reader} {
			if _, err := l.acquire(t.Context(), c); err != nil { // it would wait for ever
				t.Fatal(err)
			}
		}
		if _, ok := l.try(); ok {
			t.Error("a second request was sent beside them")
		}
		l.release(reader, 0, errors.New("x"))
		l.release(writer, 0, nil)
		if l.busy != [classes]int{} {
			t.Errorf("%v requests run", l.busy)
		}
	})
}
