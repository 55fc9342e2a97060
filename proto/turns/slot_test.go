package turns

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"cordwood/proto/errs"
)

// slots takes n slots for users a, b, …, who have one each.
func slots(t *testing.T, g *Gate, n int) (list []*Slot) {
	t.Helper()
	for i := range n {
		s, err := g.Slot(t.Context(), "", string(rune('a'+i)))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	return list
}

// TestLend has all queries lend their slots. Others run meanwhile, and the first ones get their slots back before those
// that have not begun.
func TestLend(t *testing.T) {
	g := New(Config{Running: 4, PerUser: 4, Waiting: 8, MaxWait: time.Minute})
	first := slots(t, g, 4)
	for _, s := range first {
		for range 2 {
			if err := s.Lend(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if running, _ := g.Counts(); running != 0 {
		t.Errorf("%d queries run, all have lent their slot", running)
	}
	leave := hold(t, g, "hot", 4)
	if s, err := g.Slot(canceled(t), "", "later"); s != nil || err == nil {
		t.Error("there is a fifth slot")
	}
	order := make(chan string, 2)
	line(t, g, "a", 1, order) // the same user, who has not begun
	returned := make(chan error, 1)
	go func() {
		err := first[0].Return(t.Context())
		order <- "back"
		returned <- err
	}()
	awaitWaiting(t, g, 2)
	leave()
	if err := <-returned; err != nil {
		t.Error(err)
	}
	if got := <-order + " " + <-order; got != "back a" && got != "a back" {
		t.Errorf("admitted: %s", got)
	}
	for _, s := range first {
		s.Leave()
		s.Leave()
	}
	if running, waits := g.Counts(); running != 0 || waits != 0 || len(g.shares) != 0 || len(g.users) != 0 || g.away != 0 {
		t.Errorf("at the end: %d run, %d wait, %d shares, %d users, %d away", running, waits, len(g.shares), len(g.users),
			g.away)
	}
}

// TestLendLimit looks at how many queries can lend their slots.
func TestLendLimit(t *testing.T) {
	g := New(Config{Running: 2, PerUser: 1, Waiting: 8, MaxWait: time.Minute})
	var lent []*Slot
	lend := func(who string) error {
		s, err := g.Slot(t.Context(), "", who)
		if err != nil {
			t.Fatal(err)
		}
		lent = append(lent, s)
		return s.Lend()
	}
	for range awayFactor {
		if err := lend("a"); err != nil {
			t.Fatal(err)
		}
	}
	if err := lend("a"); errs.CodeOf(err) != errs.ShardBusy {
		t.Errorf("one more query of a user: %v", err)
	}
	lent[len(lent)-1].Leave()
	for range awayFactor {
		if err := lend("b"); err != nil {
			t.Error(err)
		}
	}
	if err := lend("c"); errs.CodeOf(err) != errs.ShardBusy {
		t.Errorf("one more query: %v", err)
	}
	for _, s := range lent {
		s.Leave()
	}
	if running, _ := g.Counts(); running != 0 || g.away != 0 {
		t.Errorf("%d run, %d are away", running, g.away)
	}
}

// TestReturnCanceled ends a query that waits for its slot. Nothing is left of it.
func TestReturnCanceled(t *testing.T) {
	g := New(Config{Running: 1, Waiting: 8, MaxWait: time.Minute})
	s := slots(t, g, 1)[0]
	if err := s.Lend(); err != nil {
		t.Fatal(err)
	}
	leave := hold(t, g, "hot", 1)
	if err := s.Return(canceled(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled query: %v", err)
	}
	s.Leave()
	leave()
	if running, waits := g.Counts(); running != 0 || waits != 0 || g.away != 0 || len(g.shares) != 0 {
		t.Errorf("%d run, %d wait, %d are away, %d shares", running, waits, g.away, len(g.shares))
	}
}

// TestLendAtRandom has many queries lend and return their slots. Never do more run than may, and nothing is left.
func TestLendAtRandom(t *testing.T) {
	const most = 3
	g := New(Config{Running: most, PerUser: 2, Waiting: 100, MaxWait: time.Minute})
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 3))
			s, err := g.Slot(t.Context(), "", string(rune('a'+i%5)))
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Leave()
			for range random.IntN(4) {
				if running, _ := g.Counts(); running > most {
					t.Errorf("%d queries run", running)
				}
				if s.Lend() == nil && s.Return(t.Context()) != nil {
					t.Error("a query did not get its slot back")
				}
			}
		})
	}
	all.Wait()
	if running, waits := g.Counts(); running != 0 || waits != 0 || g.away != 0 || len(g.shares) != 0 {
		t.Errorf("%d run, %d wait, %d are away, %d shares", running, waits, g.away, len(g.shares))
	}
}

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// awaitWaiting waits until n queries wait.
func awaitWaiting(t *testing.T, g *Gate, n int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(100 * time.Microsecond) {
		if _, now := g.Counts(); now == n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no %d queries wait", n)
		}
	}
}
