package simulation

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc"

	"cordwood/node/coordinator/operation"
	"cordwood/router/httpapi/clusterapi"
)

// addAgain removes a replica while another one is cut off, and adds it again. At the moment at which the new replica
// is opened, the network is cut so that it is alone with the one that was cut off, which still counts it as a voter.
// The two must not agree on anything.
func (w breaker) addAgain() {
	all := w.shards()
	s := all[w.rng.IntN(len(all))]
	free := slices.DeleteFunc(w.nodeIDs(), func(id string) bool { return slices.Contains(s.Replicas, id) })
	others := slices.Clone(s.Replicas)
	w.rng.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	if len(free) == 0 || len(others) < 3 {
		return
	}
	old, again, to := others[0], others[1], free[w.rng.IntN(len(free))]
	if n, _ := w.leader(s.Id); n != nil && n.ID == old {
		old, again = again, old
	}
	w.event("cut %s, which has a replica of shard %d, from all", old, s.Id)
	w.net.Cut([]string{old}, slices.DeleteFunc(w.nodeIDs(), func(id string) bool { return id == old }), false)
	w.ask(&clusterapi.Request{Kind: operation.ShardMove, Shard: s.Id, From: again, To: to})
	if !w.within(20*time.Second, func() bool { return w.node(again).shard(s.Id) == nil }) {
		return
	}
	w.ask(&clusterapi.Request{Kind: operation.ShardMove, Shard: s.Id, From: to, To: again})
	if !w.within(20*time.Second, func() bool { return w.node(again).shard(s.Id) != nil }) {
		return
	}
	w.net.Heal()
	w.event("%s opens its new replica, and is alone with %s", again, old)
	w.net.Cut([]string{old, again},
		slices.DeleteFunc(w.nodeIDs(), func(id string) bool { return id == old || id == again }), false)
	time.Sleep(10 * time.Second)
	w.net.Heal()
}

// within waits until a condition is true, and reports whether it became true in time.
func (w breaker) within(limit time.Duration, done func() bool) bool {
	for begun := time.Now(); time.Since(begun) < limit; time.Sleep(5 * time.Millisecond) {
		if done() {
			return true
		}
	}
	return false
}

// earlierVersion is a connection to a node that answers with empty messages, as a node of an earlier version does
// that does not know how far its group is. The mutant ForgetVotes uses it.
type earlierVersion struct{ grpc.ClientConnInterface }

func (earlierVersion) Invoke(context.Context, string, any, any, ...grpc.CallOption) error { return nil }
