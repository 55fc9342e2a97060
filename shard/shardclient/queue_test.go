package shardclient

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cordwood/proto/errs"
)

func enter(t *testing.T, w *window, n int64) func(outcome) {
	t.Helper()
	leave, err := w.enter(t.Context(), "", n)
	if err != nil {
		t.Fatal(err)
	}
	return leave
}

// TestWindowShrinksAndGrows checks that the window is halved once for simultaneous refusals, and
// grows only while it is used.
func TestWindowShrinksAndGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWindow(64<<20, time.Second)
		time.Sleep(time.Second)
		a, b := enter(t, w, 10), enter(t, w, 10)
		a(congested)
		b(congested)
		if w.limit != 32<<20 {
			t.Errorf("limit %d after simultaneous refusals", w.limit)
		}
		for range 10 {
			time.Sleep(shrinkEvery)
			enter(t, w, 10)(congested)
		}
		if w.limit != minWindow {
			t.Errorf("limit %d, want the minimum", w.limit)
		}
		enter(t, w, 10)(taken)
		if w.limit != minWindow {
			t.Errorf("limit %d: it grew without being used", w.limit)
		}
		for range 100 {
			enter(t, w, w.limit)(taken)
		}
		if w.limit != 64<<20 {
			t.Errorf("limit %d: it did not grow again", w.limit)
		}
	})
}

func TestWindowQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWindow(100, 2*time.Second)
		first := enter(t, w, 500) // larger than the window, alone
		var got []int64
		var mu sync.Mutex
		var wg sync.WaitGroup
		for _, n := range []int64{60, 30, 10} {
			wg.Go(func() {
				leave, err := w.enter(context.Background(), "", n)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				got = append(got, n)
				mu.Unlock()
				leave(taken)
			})
			synctest.Wait()
		}
		if after, yes := w.pressed(""); !yes || after < time.Second {
			t.Errorf("pressed %t, %s: the waiting bytes fill a window", yes, after)
		}
		if _, err := w.enter(context.Background(), "", 1); errs.ReasonOf(err) != errs.Busy ||
			errs.From(err).RetryAfter < time.Second {
			t.Errorf("more than a window waits: %v", err)
		}
		first(taken)
		wg.Wait()
		if len(got) != 3 || w.used != 0 || w.queue.Cost() != 0 {
			t.Errorf("%v went in, %d used, %d wait", got, w.used, w.queue.Cost())
		}

		// A write that finds no room in time is refused, and the one after it continues.
		first = enter(t, w, 70)
		var errFirst error
		wg.Go(func() { _, errFirst = w.enter(context.Background(), "", 40) })
		synctest.Wait()
		time.Sleep(1500 * time.Millisecond)
		if _, yes := w.pressed(""); !yes {
			t.Error("the queue does not count as full, although its first write has waited for long")
		}
		wg.Go(func() { enter(t, w, 20)(taken) })
		wg.Wait()
		if errs.ReasonOf(errFirst) != errs.Busy {
			t.Errorf("the first: %v", errFirst)
		}
		ctx, cancel := context.WithCancel(context.Background())
		var err error
		wg.Go(func() { _, err = w.enter(ctx, "", 60) })
		synctest.Wait()
		cancel()
		wg.Wait()
		if !errors.Is(err, context.Canceled) || w.queue.Cost() != 0 {
			t.Errorf("cancelled: %v, %d wait", err, w.queue.Cost())
		}
		first(other)
		if _, yes := w.pressed(""); yes {
			t.Error("pressed, although nothing waits")
		}
	})
}

// TestWindowDrain checks that the suggested waiting time depends on how many bytes the shard
// accepted recently.
func TestWindowDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWindow(1000, time.Second)
		for range 50 {
			leave := enter(t, w, 100)
			time.Sleep(time.Second)
			leave(taken)
		}
		w.queue.Push("", 700, nil)
		if got := w.drain(); got < 6*time.Second || got > 8*time.Second {
			t.Errorf("700 bytes at 100 a second take %s", got)
		}
	})
}

// TestWindowOfDatabases checks that a flood of a database neither refuses nor delays the writes of another one.
func TestWindowOfDatabases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWindow(100, time.Hour)
		var mu sync.Mutex
		order := ""
		note := func(what string) {
			mu.Lock()
			defer mu.Unlock()
			order += what
		}
		write := func(database string, n int64, long time.Duration) {
			go func() {
				leave, err := w.enter(context.Background(), database, n)
				if err != nil {
					note("-" + database)
					return
				}
				note(database)
				time.Sleep(long)
				leave(taken)
			}()
			synctest.Wait()
		}
		for i := range 10 {
			write("a", 10, time.Second*time.Duration(i+1))
		}
		for range 11 {
			write("a", 10, 10*time.Minute)
		}
		if _, yes := w.pressed("a"); !yes {
			t.Error("a is not pressed")
		}
		if _, yes := w.pressed("b"); yes {
			t.Error("b is pressed because of a")
		}
		write("b", 30, 10*time.Minute)
		write("b", 20, 10*time.Minute)
		write("b", 1, 0) // more than half of the bytes that may wait
		time.Sleep(time.Minute)
		synctest.Wait()
		mu.Lock()
		got := order
		mu.Unlock()
		if want := "aaaaaaaaaa-a-b" + "abaaaba"; got != want {
			t.Errorf("the order is %s, want %s", got, want)
		}
		time.Sleep(time.Hour) // the others end
	})
}
