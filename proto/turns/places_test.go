package turns

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// places returns Places of a size for n processors.
func places(size, n int) *Places {
	p := NewPlaces()
	p.size, p.most = size, n
	return p
}

func TestPlacesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := places(8, 2)
		var all []*Place
		for range 8 {
			place, err := p.Enter(t.Context(), "a", time.Second)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, place)
		}
		if _, err := p.Enter(t.Context(), "b", time.Second); !errors.Is(err, ErrNoPlace) {
			t.Errorf("one too many: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := p.Enter(ctx, "a", time.Second); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		time.Sleep(2 * workedLately)
		all[0].Leave()
		all[0].Leave()
		place, err := p.Enter(t.Context(), "a", time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Enter(t.Context(), "a", time.Second); !errors.Is(err, ErrNoPlace) {
			t.Errorf("a place was freed twice: %v", err)
		}
		for _, place := range append(all, place) {
			Leave(WithPlace(t.Context(), place))
		}
		time.Sleep(2 * workedLately)
		last, err := p.Enter(t.Context(), "last", time.Second)
		if err != nil {
			t.Fatal(err)
		}
		last.Leave()
		if len(p.lanes) != 1 || p.Count() != 0 {
			t.Errorf("%d databases, %d places are left", len(p.lanes), p.Count())
		}
	})
}

// TestOrderOfPlaces: a database alone has all places. Beside another one, it gets no more than one for each processor,
// and the other one none later than its first request.
func TestOrderOfPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := places(8, 2)
		var order strings.Builder
		var mu sync.Mutex // guards order
		text := func() string {
			mu.Lock()
			defer mu.Unlock()
			return order.String()
		}
		work := func(database string, long time.Duration) {
			go func() {
				place, err := p.Enter(t.Context(), database, time.Hour)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order.WriteString(database)
				mu.Unlock()
				time.Sleep(long)
				place.Leave()
			}()
			synctest.Wait()
		}
		for i := range 20 {
			work("a", time.Second+time.Duration(i))
		}
		if got := text(); got != strings.Repeat("a", 8) {
			t.Errorf("alone: %s", got)
		}
		for range 4 {
			work("b", time.Minute)
		}
		for range 2 {
			work("c", time.Minute)
		}
		time.Sleep(time.Second + 8)
		synctest.Wait()
		// The first free places go to those that have none, in turn.
		if got := text()[8:]; got != "bcbc"+"aa" {
			t.Errorf("three databases: %s", got)
		}
		time.Sleep(time.Hour)
		if n := len(text()); n != 26 {
			t.Errorf("%d of 26 got a place", n)
		}
	})
}

// TestManyDatabases: the number of queues is bounded.
func TestManyDatabases(t *testing.T) {
	p := places(8, 2)
	var q Queue[int]
	for i := range 10 * maxLanes {
		place, err := p.Enter(t.Context(), fmt.Sprint("d", i), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		place.Leave()
		q.Push(fmt.Sprint("d", i), 1, i)
	}
	if len(p.lanes) > maxLanes+1 || len(q.lanes) > maxLanes+1 {
		t.Errorf("%d and %d queues", len(p.lanes), len(q.lanes))
	}
	for range 10 * maxLanes {
		q.Take(q.Next())
	}
	if q.Next() != nil || q.Len() != 0 || q.Cost() != 0 || len(q.lanes) != 0 {
		t.Errorf("%d items of %d, %d queues are left", q.Len(), q.Cost(), len(q.lanes))
	}
}

// TestQueueTakesTurns: a database that comes later starts at the count of the others, and then each gets the same.
func TestQueueTakesTurns(t *testing.T) {
	var q Queue[string]
	for range 6 {
		q.Push("a", 10, "a")
	}
	take := func(n int) (order string) {
		for range n {
			it := q.Next()
			q.Take(it)
			order += it.Value
		}
		return order
	}
	if got := take(3); got != "aaa" {
		t.Error(got)
	}
	gone := q.Push("b", 5, "x")
	for range 4 {
		q.Push("b", 5, "b")
	}
	if !q.Drop(gone) || q.Drop(gone) {
		t.Error("an item cannot be dropped once")
	}
	// a has had 30 and its next item counts from there; b starts at 20, where the last turn began.
	if got := take(7); got != "bb"+"abb"+"aa" {
		t.Error(got)
	}
}

// TestFloodDoesNotDelayOthers: 64 clients flood a database with pipelines of a second. The pipelines of b, which has
// two clients, wait only in the first second, for pipelines that began when not all databases were known. Four floods
// get equal parts.
func TestFloodDoesNotDelayOthers(t *testing.T) {
	for _, floods := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			r := places(16, 16)
			const flood = time.Minute
			start := time.Now()
			end := start.Add(flood)
			done := make([]atomic.Int64, floods)
			for i := range floods {
				for range 64 {
					go func() {
						for time.Now().Before(end) {
							place, err := r.Enter(t.Context(), fmt.Sprint("a", i), flood)
							if err != nil {
								t.Error(err)
								return
							}
							time.Sleep(time.Second)
							done[i].Add(1)
							place.Leave()
							time.Sleep(time.Nanosecond)
						}
					}()
				}
			}
			for range 2 {
				go func() {
					for n := 0; time.Now().Before(end); n++ {
						begin := time.Now()
						place, err := r.Enter(t.Context(), "b", flood)
						if err != nil {
							t.Error(err)
							return
						}
						if waited := time.Since(begin); begin.Sub(start) >= time.Second && waited > 0 {
							t.Errorf("pipeline %d of b waited %s", n, waited)
						}
						time.Sleep(10 * time.Millisecond)
						place.Leave()
						time.Sleep(100 * time.Millisecond)
					}
				}()
			}
			time.Sleep(2 * flood)
			sum, squares := 0.0, 0.0
			for i := range done {
				n := float64(done[i].Load())
				sum, squares = sum+n, squares+n*n
			}
			if jain := sum * sum / (float64(floods) * squares); jain < 0.95 {
				t.Errorf("%d floods: Jain's index %.3f", floods, jain)
			}
		})
	}
}
