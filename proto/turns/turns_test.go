package turns

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"cordwood/proto/errs"
)

// hold takes n slots of a gate for a user, who must get them at once.
func hold(t *testing.T, g *Gate, who string, n int) (leave func()) {
	t.Helper()
	var all []func()
	for i := range n {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		before, _ := g.Counts()
		l, err := g.Enter(ctx, who)
		cancel()
		if err != nil {
			t.Fatalf("place %d of %s, %d are taken: %v", i+1, who, before, err)
		}
		all = append(all, l)
	}
	return func() {
		for _, l := range all {
			l()
		}
	}
}

// line makes n queries of a user wait, and reports for each whether it was admitted.
func line(t *testing.T, g *Gate, who string, n int, in chan<- string) {
	t.Helper()
	for range n {
		_, before := g.Counts()
		go func() {
			leave, err := g.Enter(t.Context(), who)
			if err != nil {
				in <- "refused " + who
				return
			}
			in <- who
			leave()
		}()
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(100 * time.Microsecond) {
			if _, now := g.Counts(); now == before+1 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s does not wait", who)
			}
		}
	}
}

// TestOneUserLeavesRoom lets one user take all slots that it may take. The first queries of others
// must run at once, however many of the first user's wait.
func TestOneUserLeavesRoom(t *testing.T) {
	for _, who := range [][3]string{{"greedy", "ann", "bob"}, {"greedy", "ann", ""}, {"", "ann", "bob"}} {
		g := New(Config{Running: 16, Waiting: 64, MaxWait: time.Hour})
		defer hold(t, g, who[0], 12)()
		in := make(chan string, 100)
		line(t, g, who[0], 32, in)
		if _, err := g.Enter(t.Context(), who[0]); errs.CodeOf(err) != errs.ShardBusy || errs.From(err).RetryAfter == 0 {
			t.Errorf("%s takes one more: %v", who[0], err)
		}
		for range 3 {
			hold(t, g, who[1], 1)()
			hold(t, g, who[2], 1)()
		}
		if len(in) > 0 {
			t.Errorf("%s runs more than its share", who[0])
		}
	}
}

// TestManyGreedyUsers lets several users take as many slots as they can. A free slot must go to the
// user with the fewest, whoever waited longer.
func TestManyGreedyUsers(t *testing.T) {
	g := New(Config{Running: 8, Waiting: 64, MaxWait: time.Hour})
	one, rest := hold(t, g, "a", 1), hold(t, g, "a", 5) // all slots except the reserve
	defer hold(t, g, "b", 1)()
	defer hold(t, g, "c", 1)()
	in := make(chan string, 100)
	line(t, g, "a", 5, in)
	line(t, g, "late", 1, in)
	one()
	if got := <-in; got != "late" {
		t.Errorf("%s came in first", got)
	}
	rest()
	for range 5 {
		if got := <-in; got != "a" {
			t.Error(got)
		}
	}
}

// TestFullQueueMakesRoom checks that the youngest query of the user with the most waiting ones
// makes room for another user.
func TestFullQueueMakesRoom(t *testing.T) {
	g := New(Config{Running: 1, Waiting: 4, WaitingPerUser: 4, MaxWait: time.Hour})
	leave := hold(t, g, "a", 1)
	in := make(chan string, 100)
	line(t, g, "a", 4, in)
	waits := make(chan error, 1)
	go func() {
		leave, err := g.Enter(t.Context(), "b")
		if err == nil {
			defer leave()
		}
		waits <- err
	}()
	if got := <-in; got != "refused a" {
		t.Errorf("%s made room", got)
	}
	leave()
	if err := <-waits; err != nil {
		t.Error(err)
	}
	for range 3 {
		if got := <-in; got != "a" {
			t.Error(got)
		}
	}
}

// TestShares lists what one user may take with different settings.
func TestShares(t *testing.T) {
	for _, tt := range []struct{ running, perUser, want, reserve int }{
		{16, 0, 12, 4},
		{16, 16, 16, 0},
		{16, 4, 4, 4},
		{16, 15, 15, 1},
		{4, 0, 3, 1},
		{2, 0, 1, 1},
		{1, 0, 1, 0},
		{1, 1, 1, 0},
	} {
		g := New(Config{Running: tt.running, PerUser: tt.perUser, Waiting: 1, MaxWait: time.Millisecond})
		if g.perUser != tt.want || g.reserve != tt.reserve {
			t.Errorf("%+v: %d, reserve %d", tt, g.perUser, g.reserve)
		}
		leave := hold(t, g, "a", tt.want)
		if _, err := g.Enter(t.Context(), "a"); errs.CodeOf(err) != errs.ShardBusy {
			t.Errorf("%+v: one more: %v", tt, err)
		}
		leave()
		if len(g.shares) != 0 {
			t.Errorf("%+v: shares are left", tt)
		}
	}
}

// TestGateAtRandom lets users arrive, wait, give up and leave, and checks that no slot is lost,
// also under the race detector.
func TestGateAtRandom(t *testing.T) {
	g := New(Config{Running: 4, Waiting: 6, MaxWait: time.Millisecond})
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for range 200 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(1500))*time.Microsecond)
				leave, err := g.Enter(ctx, string(rune('a'+i%5)))
				switch {
				case err == nil:
					if running, waiting := g.Counts(); running > 4 || waiting > 6 {
						t.Errorf("%d run, %d wait", running, waiting)
					}
					leave()
				case errs.CodeOf(err) != errs.ShardBusy && !errors.Is(err, context.DeadlineExceeded):
					t.Error(err)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	if running, waiting := g.Counts(); running != 0 || waiting != 0 || len(g.shares) != 0 {
		t.Errorf("%d run, %d wait, %d shares", running, waiting, len(g.shares))
	}
}

// TestBusySays checks that the error of a full gate uses the correct number: "one query is
// running".
func TestBusySays(t *testing.T) {
	g := New(Config{Running: 1, Waiting: 1, WaitingPerUser: 1, MaxWait: time.Nanosecond})
	leave, err := g.Enter(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	_, err = g.Enter(t.Context(), "b")
	if err == nil || !strings.Contains(err.Error(), "1 query is running, and none made room for this one") {
		t.Errorf("got %v", err)
	}
}
