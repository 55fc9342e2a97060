package meta_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cordwood/meta"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

func TestFollowersNameTheLeader(t *testing.T) {
	for _, n := range []int{3, 5} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			g := newGroup(t, n, nil)
			leader := g.leader()
			calls := map[string]func(*member) error{
				"Propose": func(m *member) error {
					_, err := m.Propose(within(t), &metapb.ProposeRequest{Command: ensure("t")})
					return err
				},
				"ReadIndex": func(m *member) error {
					_, err := m.ReadIndex(within(t), &metapb.ReadIndexRequest{})
					return err
				},
				"Status": func(m *member) error {
					_, err := m.Status(within(t), &metapb.StatusRequest{})
					return err
				},
				"Report": func(m *member) error {
					_, err := m.Report(within(t), &metapb.ReportRequest{NodeId: "n1"})
					return err
				},
				"ChangeMembers": func(m *member) error {
					_, err := m.ChangeMembers(within(t), &metapb.ChangeMembersRequest{
						NodeId: "n1", Change: metapb.ChangeMembersRequest_CHANGE_ADD_LEARNER,
					})
					return err
				},
			}
			for name, call := range calls {
				for _, id := range g.others(leader) {
					e := errs.From(errs.FromGRPC(call(g.member(id))))
					if e.Reason != errs.NotLeader || e.Leader != leader {
						t.Errorf("%s at follower %s: %v, leader %q, want NotLeader of %s", name, id, e, e.Leader, leader)
					}
				}
				if err := call(g.member(leader)); err != nil {
					t.Errorf("%s at the leader: %v", name, err)
				}
			}
			g.same()
		})
	}
}

// TestClientsOutliveTheLeader stops as many members as a group of five tolerates, one after another. Clients must
// continue.
func TestClientsOutliveTheLeader(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 5, nil)
	var clients []interface {
		Fresh(context.Context) error
	}
	order := g.ids()
	a, b := g.client(order...), g.client(order[4], order[3], order[2], order[1], order[0])
	clients = append(clients, a, b)
	for i := range 2 {
		lost := g.leader()
		g.stop(lost)
		name := fmt.Sprintf("t%d", i)
		g.propose(a, ensure(name))
		for _, c := range clients {
			if err := c.Fresh(within(t)); err != nil {
				t.Fatal(err)
			}
		}
		if !has(a, name) || !has(b, name) {
			t.Errorf("after the loss of %s: %s is in view %t and %t", lost, name, has(a, name), has(b, name))
		}
	}
	// Without a majority, the error must report it before the deadline.
	g.stop(g.leader())
	ctx, cancel := context.WithTimeout(within(t), 4*time.Second)
	defer cancel()
	_, err := a.Propose(ctx, drop("t0"))
	if e := errs.From(err); err == nil || e.Status() != 503 && e.Status() != 504 {
		t.Errorf("without a majority: %v", err)
	}
	if !has(a, "t0") {
		t.Error("the view forgot a table")
	}
	for _, id := range order {
		if g.member(id) == nil {
			g.start(id, nil)
		}
	}
	g.propose(a, ensure("again"))
	g.same()
}

// Clients must leave a member that is suspended or cut off from the others.
func TestClientsLeaveAStalledMember(t *testing.T) {
	for _, tt := range []struct {
		name  string
		stall func(*group, string)
	}{
		{"it is suspended", (*group).stall},
		{"it is cut off", func(g *group, id string) { g.isolate(id, true) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := newGroup(t, 3, nil)
			for _, leads := range []bool{false, true} {
				leader := g.leader()
				lost := leader
				if !leads {
					lost = g.others(leader)[0]
				}
				c := g.client(append([]string{lost}, g.others(lost)...)...)
				g.propose(c, ensure("before"))
				tt.stall(g, lost)
				name := fmt.Sprintf("after_%t", leads)
				// The writer calls other members first, so c receives the change only by its watch.
				w := g.client(g.others(lost)...)
				g.propose(w, ensure(name))
				until(t, c, name, func() bool { return has(c, name) })
				g.propose(c, ensure(name+"_own"))
				if err := c.Fresh(within(t)); err != nil {
					t.Error(err)
				}
				g.isolate(lost, false)
				g.wake(g.member(lost))
			}
			g.same()
		})
	}
}

// TestViewDoesNotGoBack checks that a client whose member dies continues with one that is behind,
// and that its view never goes back.
func TestViewDoesNotGoBack(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, nil)
	leader := g.leader()
	rest := g.others(leader)
	behind, ahead := rest[0], rest[1]
	g.propose(g.client(leader), ensure("old"))
	g.settle()
	g.isolate(behind, true)
	w := g.client(leader)
	g.propose(w, ensure("new"))
	g.propose(w, drop("old"))
	c := g.client(ahead, behind)
	until(t, c, "new without old", func() bool { return has(c, "new") && !has(c, "old") })
	var back atomic.Bool
	done, stop := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			changed := c.Changed()
			if !has(c, "new") || has(c, "old") {
				back.Store(true)
			}
			select {
			case <-changed:
			case <-stop:
				return
			}
		}
	}()
	g.stop(ahead)
	// The client follows the member that is behind until it is reconnected.
	g.isolate(behind, false)
	g.propose(w, ensure("newest"))
	until(t, c, "newest", func() bool { return has(c, "newest") })
	close(stop)
	<-done
	if back.Load() {
		t.Error("the view went back")
	}
}

// A change that was acknowledged through one router must be visible through every other one after Fresh.
func TestFreshSeesWhatOthersDid(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, nil)
	ids := g.ids()
	a, b, c := g.client(ids...), g.client(ids[1], ids[2], ids[0]), g.client(ids[2], ids[0], ids[1])
	for i := range 20 {
		name := fmt.Sprintf("t%d", i)
		g.propose(a, ensure(name))
		if i > 0 {
			g.propose(b, drop(fmt.Sprintf("t%d", i-1)))
		}
		if err := c.Fresh(within(t)); err != nil {
			t.Fatal(err)
		}
		if !has(c, name) || i > 0 && has(c, fmt.Sprintf("t%d", i-1)) {
			t.Fatalf("round %d: %s is in view: %t", i, name, has(c, name))
		}
	}
	g.same()
}

func TestChangeMembers(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, func(c *meta.Config) { c.SnapshotEvery = 40 })
	order := append(g.ids(), "n4", "n5")
	c := g.client(order...)
	// A slow machine may lose its leader at any time. In that case the change is requested again.
	change := func(node string, kind metapb.ChangeMembersRequest_Change) (string, error) {
		ctx := within(t)
		for {
			advice, err := c.ChangeMembers(ctx, node, kind)
			if err == nil || errs.From(err).Status() < 500 || ctx.Err() != nil {
				return advice, err
			}
			select {
			case <-ctx.Done():
				return advice, err
			case <-time.After(50 * time.Millisecond): // polling, not a timeout
			}
		}
	}
	const add, promote, remove, lead = metapb.ChangeMembersRequest_CHANGE_ADD_LEARNER,
		metapb.ChangeMembersRequest_CHANGE_PROMOTE,
		metapb.ChangeMembersRequest_CHANGE_REMOVE, metapb.ChangeMembersRequest_CHANGE_LEAD
	for i := range 60 { // enough commands for a snapshot
		g.propose(c, ensure(fmt.Sprintf("t%d", i)))
	}
	refused := func(node string, kind metapb.ChangeMembersRequest_Change, want string) {
		t.Helper()
		if _, err := change(node, kind); errs.CodeOf(err) != errs.InvalidArguments || !strings.Contains(err.Error(), want) {
			t.Errorf("%s of %s: %v, want %q", kind, node, err, want)
		}
	}
	refused("n4", add, "Node n4 is not known to the cluster")
	refused("n4", lead, "it does not vote")
	refused("", add, "node id is empty")
	g.start("n4", nil)
	g.register(c, "n4")
	must := func(node string, kind metapb.ChangeMembersRequest_Change, advice string) {
		t.Helper()
		got, err := change(node, kind)
		if err != nil || !strings.Contains(got, advice) || advice == "" && got != "" {
			t.Fatalf("%s of %s: advice %q, error %v; want %q", kind, node, got, err, advice)
		}
	}
	must("n4", add, "")
	must("n4", add, "")
	if err := g.member("n4").WaitReady(within(t)); err != nil {
		t.Fatal(err)
	}
	must("n4", promote, "has 4 voters, which tolerate the loss of 1, as 3 would")
	must("n4", promote, "has 4 voters")
	if _, err := c.Propose(within(t),
		&metapb.Command{Op: &metapb.Command_RemoveNode{RemoveNode: &metapb.RemoveNode{NodeId: "n4"}}}); err == nil ||
		!strings.Contains(err.Error(), "it is a member of the metadata group") {
		t.Errorf("removal of a node that is a member: %v", err)
	}
	for ctx := within(t); ; {
		must("n4", lead, "has 4 voters")
		if g.leader() == "n4" {
			break
		}
		if ctx.Err() != nil { // the deadline of the test, not the end of an election
			t.Fatal("n4 does not lead")
		}
	}
	// The leader gives up leadership to be removed.
	must("n4", remove, "")
	must("n4", remove, "")
	g.stop("n4")
	// One of three is down: a running one must stay, and the one that is down may be removed.
	leader := g.leader()
	rest := g.others(leader)
	dead, live := rest[0], rest[1]
	g.stop(dead)
	ctx := within(t)
	for { // until it counts as down
		s, err := c.Status(ctx)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(s.Members, func(m *metapb.MemberStatus) bool { return m.NodeId == dead })
		if s.Members[i].SilentNanos < 0 || s.Members[i].SilentNanos > (3*time.Second).Nanoseconds() {
			break
		}
		select {
		case <-ctx.Done():
			t.Fatalf("member %s still answers", dead)
		case <-time.After(50 * time.Millisecond):
		}
	}
	refused(live, remove, fmt.Sprintf("2 of the remaining 2 voters have to be up, and [%s] are down", dead))
	must(dead, remove, "has 2 voters, which tolerate the loss of 0, as 1 would")
	must(live, remove, "")
	refused(leader, remove, "it is the only voter")
	g.stop(live)
	g.propose(c, ensure("last"))
	if s, err := c.Status(within(t)); err != nil || len(s.Members) != 1 || s.Leader != leader {
		t.Errorf("status is %v, %v", s, err)
	}
}
