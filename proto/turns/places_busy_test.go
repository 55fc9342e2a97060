package turns

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// TestIdleProcessors: a database with much work may use all processors, however many others had a little work lately.
func TestIdleProcessors(t *testing.T) {
	p := &Places{size: 8, most: 2, lanes: map[string]*lane{}}
	for i := range 100 {
		place, err := p.Enter(t.Context(), fmt.Sprint("quiet ", i), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		place.Leave()
	}
	for i := range 2 {
		if _, err := p.Enter(t.Context(), "flood", time.Millisecond); err != nil {
			t.Fatalf("place %d of the flood: %v", i+1, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Enter(ctx, "flood", time.Second); err == nil {
		t.Error("the flood got more places than there are processors")
	}
}

// TestLargeItem: work that is larger than an equal part of a full queue may wait, if no other of its database does.
func TestLargeItem(t *testing.T) {
	var q Queue[int]
	for i := range 10 {
		q.Push(fmt.Sprint("other ", i), 10, i)
	}
	if !q.HasRoom("large", 1, 50, 1000, 100) {
		t.Error("there is no room for one large item")
	}
	q.Push("large", 50, 0)
	if q.HasRoom("large", 1, 50, 1000, 100) {
		t.Error("there is room for two large items")
	}
}

// TestRefusedIsForgotten: the user whose only waiting query made room for another one is forgotten.
func TestRefusedIsForgotten(t *testing.T) {
	g := New(Config{Running: 1, Waiting: 3, WaitingPerUser: 3, MaxWait: time.Minute})
	leave, err := g.EnterDatabase(t.Context(), "flood", "first")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	refused := make(chan error, 4)
	enter := func(database, user string, waits int) {
		go func() {
			_, err := g.EnterDatabase(ctx, database, user)
			refused <- err
		}()
		for _, n := g.Counts(); n < waits; _, n = g.Counts() {
			time.Sleep(time.Millisecond)
		}
	}
	for i := range 3 {
		enter("flood", fmt.Sprint("user ", i), i+1)
	}
	enter("quiet", "ann", 3)
	if err := <-refused; err == nil || ctx.Err() != nil {
		t.Fatalf("a query of the flood had to make room: %v", err)
	}
	cancel()
	for range 3 {
		if err := <-refused; err == nil {
			t.Error("a query got the slot that is in use")
		}
	}
	leave()
	if len(g.shares) != 0 || len(g.users) != 0 {
		t.Errorf("%d shares and %d users are left", len(g.shares), len(g.users))
	}
}
