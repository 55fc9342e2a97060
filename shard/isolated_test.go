package shard

import (
	"context"
	"fmt"
	"testing"
	"time"

	"cordwood/shard/replica"
)

// leaseMost is how long a leader may continue if no voter answers: the lease of a second, which
// starts with the last answer, and a margin for a slow machine.
const leaseMost = 1200 * time.Millisecond

// isolate cuts the leader of a group off from the other voters. Learners stay connected to it.
func (g *group) isolate(l *opened, voters ...string) time.Time {
	var others []string
	for _, id := range voters {
		if id != l.cfg.NodeID {
			others = append(others, id)
		}
	}
	g.part(1, others...)
	return time.Now()
}

// acknowledged waits until a replica other than not leads and has acknowledged a batch, and then
// sends the time.
func (g *group) acknowledged(ctx context.Context, not *opened, data []byte) <-chan time.Time {
	at := make(chan time.Time, 1)
	go func() {
		for ctx.Err() == nil {
			for _, o := range g.followers(not) {
				if o.replica.CheckLeads() == nil {
					if _, err := o.put(data); err == nil {
						at <- time.Now()
						return
					}
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Millisecond):
			}
		}
	}()
	return at
}

// TestLease checks that a leader stops within its lease if no voter answers, and that until then it
// does not claim that its state is newer than it is.
func TestLease(t *testing.T) {
	for try := range 3 {
		t.Run(fmt.Sprint(try), func(t *testing.T) {
			g := newGroup(t, nil, "a", "b", "c")
			l := g.leader()
			l.mustPut(batch(head(1, 9, 1), "old"))
			cut := g.isolate(l, "a", "b", "c")
			for ctx := wait(t); l.replica.IsLeader() && ctx.Err() == nil; {
				asked := time.Since(cut)
				if d, known := l.replica.Staleness(); known && l.replica.IsLeader() && d < asked-50*time.Millisecond {
					t.Fatalf("%v after it was cut off the leader claims to be only %v behind", asked, d)
				}
				<-time.After(time.Millisecond)
			}
			if took := time.Since(cut); took > leaseMost {
				t.Errorf("it led for %v after it was cut off, want at most %v", took, leaseMost)
			}
		})
	}
}

// TestLearnerConfirmsNothing checks that answers of a learner do not confirm reads of an old
// leader, because a learner is not part of the majority that elects another leader.
func TestLearnerConfirmsNothing(t *testing.T) {
	for try := range 3 {
		t.Run(fmt.Sprint(try), func(t *testing.T) {
			g := newGroup(t, nil, "a", "b", "c")
			l := g.leader()
			g.addNode("d")
			d := g.open("d", nil)
			g.change(l, replica.AddLearner, "d")
			l.mustPut(batch(head(1, 9, 1), "old"))
			g.wantRows(d, 1, "old")
			cut := g.isolate(l, "a", "b", "c")
			acked := g.acknowledged(wait(t), l, batch(head(1, 9, 2), "new"))
			for ctx := wait(t); ctx.Err() == nil; {
				begun := time.Now()
				if _, err := l.ReadBarrier(ctx); err != nil {
					break
				}
				if begun.Sub(cut) > 50*time.Millisecond {
					t.Fatalf("a read that began %v after the leader was cut off from all other voters was confirmed", begun.Sub(cut))
				}
			}
			select {
			case <-acked: // the other side continued
			case <-wait(t).Done():
				t.Fatal("no other replica leads")
			}
			if _, err := l.ReadBarrier(wait(t)); err == nil {
				t.Error("a deposed leader confirms a read")
			}
		})
	}
}
