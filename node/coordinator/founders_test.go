package coordinator

import (
	"testing"
	"time"

	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
)

// TestFoundersKeepTheirVotes checks that voters of a new cluster that have not registered yet stay
// in the metadata group, which once shrank to one voter on a slow machine. Voters that the cluster
// has removed must leave.
func TestFoundersKeepTheirVotes(t *testing.T) {
	for led, want := range map[time.Duration]bool{time.Second: false, 50 * time.Second: false, 2 * time.Minute: true} {
		w := newWorld(t).node("a", "b", "c").voting("a", "b", "c")
		w.began = time.Now().Add(-led)
		status := w.status()
		for _, id := range []string{"b", "c"} {
			delete(w.nodes, id)
		}
		members := status.Members
		status = w.status()
		status.Members, status.Leader = members, "a"
		for _, m := range members {
			if m.NodeId == "c" {
				m.SilentNanos = -1 // The voter has not answered yet.
			}
		}
		snap := snapshot.New(time.Now(), snapshot.Limits{}.WithDefaults(), status, nil, nil)
		act := tendMeta(snap)
		removes := act != nil && act.members.GetChange() == metapb.ChangeMembersRequest_CHANGE_REMOVE
		if removes != want {
			t.Errorf("led for %s: removes a voter: %v, want %v (%+v)", led, removes, want, act)
		}
	}
}
