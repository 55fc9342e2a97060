package replica

import (
	"strings"
	"testing"
	"time"

	"cordwood/proto/errs"

	"github.com/hashicorp/raft"

	"cordwood/shard/replica/raftlog"
)

// openGroup opens a group of several members over a network that can be cut.
func openGroup(t *testing.T, ids ...string) (members map[string]*Replica, trans map[string]*raft.InmemTransport) {
	t.Helper()
	trans, members = map[string]*raft.InmemTransport{}, map[string]*Replica{}
	for _, id := range ids {
		_, trans[id] = raft.NewInmemTransport(raft.ServerAddress(id))
	}
	for _, a := range ids {
		for _, b := range ids {
			trans[a].Connect(raft.ServerAddress(b), trans[b])
		}
	}
	for _, id := range ids {
		r, err := Open(Config{
			Group: "test", NodeID: id, Dir: t.TempDir(), FSM: &list{}, Bootstrap: true, Founders: ids, Transport: trans[id],
			Log:              raftlog.Bolt,
			HeartbeatTimeout: 300 * time.Millisecond, CommitTimeout: 20 * time.Millisecond,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Close() })
		members[id] = r
	}
	return members, trans
}

// TestStepDownOfAnUnreachableLeader cuts off a leader such that it reaches the others but they do
// not reach it. By raft's rules it continues to lead. It must transfer leadership, but only if the
// others are enough without it. Afterwards it must stay a follower that does not disturb the group.
func TestStepDownOfAnUnreachableLeader(t *testing.T) {
	ids := []string{"n1", "n2", "n3"}
	members, trans := openGroup(t, ids...)
	leader := waitAny(t, members["n1"], members["n2"], members["n3"])
	mustPropose(t, leader, "a")
	self := leader.cfg.NodeID
	var others []string
	for _, id := range ids {
		if id != self {
			others = append(others, id)
			trans[id].Disconnect(raft.ServerAddress(self)) // the answers still arrive
		}
	}
	for ctx := within(t); ; { // both must have answered recently, however slow the machine is
		ready, _ := leader.group.successors(nil, leader.cfg.HeartbeatTimeout)
		if len(ready) == 2 {
			break
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%d members are ready, want 2", len(ready))
		case <-time.After(time.Millisecond):
		}
	}
	if leader.raft.State() != raft.Leader {
		t.Skip("leadership changed by itself: the machine is too slow")
	}
	if _, err := leader.Propose(within(t), []byte("b")); errs.ReasonOf(err) == errs.NotLeader {
		t.Skip("leadership changed by itself: the machine is too slow")
	} else if err != nil { // it still leads
		t.Fatal(err)
	}
	// If one of the others cannot be reached either, the last one could not lead.
	err := leader.StepDownUnreachable(within(t), others[0])
	if e := errs.From(err); err == nil || e.Reason != errs.Busy ||
		!strings.Contains(err.Error(), "without this node 2 of 3 voters have to be ready, and 1 are") {
		t.Fatalf("step down with one reachable voter: %v, want a refusal", err)
	}
	if err := leader.StepDownUnreachable(within(t)); err != nil {
		t.Fatalf("hand on: %v", err)
	}
	next := proposeAny(t, members[others[0]], members[others[1]], "c")
	term, led := next.raft.CurrentTerm(), next.LeadsChanged()
	// The member receives nothing from a leader. It becomes a candidate without success, and must
	// not raise the term.
	stand := time.After(4 * leader.cfg.ElectionTimeout)
	for waits := true; waits; {
		select {
		case <-led:
			t.Skip("leadership changed by itself: the machine is too slow")
		case <-stand:
			waits = false
		}
	}
	if leader.IsLeader() || next.raft.CurrentTerm() != term {
		t.Errorf("the unreachable member leads again (%v), or disturbs the others: term %d, was %d", leader.IsLeader(),
			next.raft.CurrentTerm(), term)
	}
	if err := leader.StepDownUnreachable(within(t)); err != nil {
		t.Errorf("step down by a member that does not lead: %v", err)
	}
}
