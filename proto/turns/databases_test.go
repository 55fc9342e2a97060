package turns

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// ask makes a query of a database wait, or run for a while if hold is positive, and reports the database when it was
// admitted, or the error.
func ask(ctx context.Context, g *Gate, database, user string, hold time.Duration, in chan<- string) {
	go func() {
		leave, err := g.EnterDatabase(ctx, database, user)
		if err != nil {
			in <- err.Error()
			return
		}
		in <- database
		time.Sleep(hold)
		leave()
	}()
	synctest.Wait()
}

// TestDatabasesShareSlots: the first query of a database finds a slot although many users of another one would use them
// all, and a free slot goes to the database with the fewest running queries, not to the one that has waited longest.
func TestDatabasesShareSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{Running: 16, Waiting: 64, WaitingPerUser: 64, MaxWait: time.Hour})
		in := make(chan string, 200)
		ask(t.Context(), g, "b", "ann", 0, in) // b is active
		for i := range 40 {
			ask(t.Context(), g, "a", fmt.Sprint("user", i), time.Minute-time.Millisecond, in)
		}
		if running, _ := g.Counts(); running != 14 {
			t.Errorf("%d queries of a run, and 2 slots are reserved for b", running)
		}
		for len(in) > 0 {
			<-in
		}
		ask(t.Context(), g, "b", "ann", time.Hour, in)
		ask(t.Context(), g, "b", "bob", time.Hour, in)
		for range 2 {
			select {
			case got := <-in:
				if got != "b" {
					t.Errorf("%s", got)
				}
			default:
				t.Fatal("the first queries of b wait for those of a")
			}
		}
		for i := range 6 {
			ask(t.Context(), g, "b", fmt.Sprint("user", i), time.Hour, in)
		}
		time.Sleep(time.Minute) // the queries of a end
		count := map[string]int{}
		for len(in) > 0 {
			count[<-in]++
		}
		if count["b"] != 6 || count["a"] != 8 {
			t.Errorf("of 14 free slots, b got %d and a %d; want 6 and 8, so that both run 8", count["b"], count["a"])
		}
		time.Sleep(3 * time.Hour)
		ask(t.Context(), g, "a", "ann", 0, in)
		if len(g.shares) != 0 || len(g.users) != 0 || len(g.groups) != 1 {
			t.Errorf("%d shares, %d users, %d databases are left", len(g.shares), len(g.users), len(g.groups))
		}
	})
}

// TestLimitOfDatabase: queries beyond the limit of their database wait and do not keep slots from others, and get the
// error of the limit if they wait too long. A higher limit admits them.
func TestLimitOfDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var limit atomic.Int64
		limit.Store(2)
		g := New(Config{
			Running: 8, PerUser: 8, Waiting: 6, WaitingPerUser: 6, MaxWait: 10 * time.Second,
			Limit: func(database string) (int, bool) { return int(limit.Load()), database == "a" },
			Over:  func(database string) error { return errors.New("over " + database) },
		})
		in := make(chan string, 100)
		for range 2 {
			ask(t.Context(), g, "a", "ann", time.Hour, in)
		}
		for range 7 {
			ask(t.Context(), g, "a", "ann", time.Hour, in)
		}
		if got := []string{<-in, <-in, <-in}; got[2] != "over a" && got[1] != "over a" {
			t.Errorf("%q: the last one of 7 finds the queue full", got)
		}
		for range 4 {
			ask(t.Context(), g, "b", "bob", time.Hour, in)
			if got := <-in; got != "b" {
				t.Fatalf("%s: b waits although slots are free", got)
			}
		}
		time.Sleep(time.Second)
		limit.Store(3)
		time.Sleep(time.Second)
		if got := <-in; got != "a" || len(in) != 0 {
			t.Errorf("%s, and %d more, after the limit was raised by one", got, len(in))
		}
		time.Sleep(10 * time.Second)
		for range 5 {
			if got := <-in; got != "over a" {
				t.Errorf("%s after waiting in vain", got)
			}
		}
		time.Sleep(2 * time.Hour) // the queries end
	})
}

// TestTimeUpInQueue checks that a query whose time ends while the limit of its database makes it wait names the limit,
// and that one which waits for others does not.
func TestTimeUpInQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := errors.New("over its limit")
		g := New(Config{
			Running: 2, PerUser: 2, Waiting: 6, WaitingPerUser: 6, MaxWait: time.Minute,
			Limit: func(database string) (int, bool) { return 1, database == "a" },
			Over:  func(string) error { return over },
		})
		for _, database := range []string{"a", "b"} {
			leave, err := g.EnterDatabase(t.Context(), database, "ann")
			if err != nil {
				t.Fatal(err)
			}
			defer leave()
		}
		for database, limited := range map[string]bool{"a": true, "b": false} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := g.EnterDatabase(ctx, database, "ann")
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, over) != limited {
				t.Errorf("%s: %v", database, err)
			}
		}
	})
}
