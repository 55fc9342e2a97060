package simulation

import (
	"slices"
	"time"

	"cordwood/node/coordinator/operation"
	"cordwood/proto/metapb"
	"cordwood/router/httpapi/clusterapi"
	"cordwood/shard"
)

// learnerWait is how long a moved replica may take to become a learner.
const learnerWait = 10 * time.Second

// cutLearner moves a replica. While the new replica catches up, it cuts the network so that the learner and the
// leader are alone, or together with some of the other voters.
func (w breaker) cutLearner() {
	all := w.shards()
	s := all[w.rng.IntN(len(all))]
	free := slices.DeleteFunc(w.nodeIDs(), func(id string) bool { return slices.Contains(s.Replicas, id) })
	if len(free) == 0 || len(s.Replicas) == 0 {
		return
	}
	with, late := w.rng.IntN(4), time.Duration(w.rng.IntN(300))*time.Millisecond
	w.ask(&clusterapi.Request{
		Kind: operation.ShardMove, Shard: s.Id, From: s.Replicas[w.rng.IntN(len(s.Replicas))],
		To: free[w.rng.IntN(len(free))],
	})
	for begun := time.Now(); time.Since(begun) < learnerWait; time.Sleep(5 * time.Millisecond) {
		n, leader := w.leader(s.Id)
		if leader == nil {
			continue
		}
		said := leader.Report()
		if len(said.Learners) == 0 {
			continue
		}
		side := slices.Clone(said.Learners)
		if with > 0 {
			side = append(side, n.ID)
		}
		if with > 2 {
			time.Sleep(late) // the membership may change in the meantime
		}
		rest := slices.DeleteFunc(w.nodeIDs(), func(id string) bool { return slices.Contains(side, id) })
		if with > 0 && w.rng.IntN(2) == 0 { // the leader leads for longer than it should
			w.event("the groups of %s are delayed", n.ID)
			n.loops.close()
			go func() {
				time.Sleep(5 * time.Second)
				n.loops.open()
			}()
		}
		w.event("cut %v, the learner and the leader of shard %d, from %v", side, s.Id, rest)
		w.net.Cut(side, rest, false)
		time.Sleep(time.Duration(w.rng.Int64N(int64(10 * time.Second))))
		return
	}
}

// crashInOperation begins an operation and crashes, at a random step, the coordinating node, the
// source, the target, or all of them.
func (w breaker) crashInOperation() {
	if w.rng.IntN(2) == 0 {
		w.moveTable()
	} else {
		w.moveShard()
	}
	after, who := w.rng.IntN(8), w.rng.IntN(4)
	var op *metapb.Operation
	seen := map[string]bool{}
	for begun := time.Now(); time.Since(begun) < 20*time.Second; time.Sleep(5 * time.Millisecond) {
		running := slices.DeleteFunc(w.routers[0].meta.Operations(), func(op *metapb.Operation) bool {
			return op.EndedUnixNano != 0
		})
		if len(running) == 0 {
			break
		}
		op = running[0]
		if seen[op.Step] = true; len(seen) > after {
			break
		}
	}
	if op == nil {
		return
	}
	victims := []*Node{w.anyNode()}
	switch {
	case who == 0 && w.metaLeader() != nil:
		victims = []*Node{w.metaLeader()}
	case who == 1 && w.node(op.ToNode) != nil:
		victims = []*Node{w.node(op.ToNode)}
	case who == 2 && w.node(op.FromNode) != nil:
		victims = []*Node{w.node(op.FromNode)}
	case who == 3:
		victims = w.allNodes()
	}
	for _, n := range victims {
		w.event("crash %s while operation %d, %s, is at step %q", n.ID, op.Id, op.Kind, op.Step)
		n.Crash()
	}
	time.Sleep(time.Duration(w.rng.Int64N(int64(8 * time.Second))))
	for _, n := range victims {
		w.begin(n)
	}
}

// confirmed asks the other members whether a member still leads. It counts answers of learners like those of voters,
// which is the mutant LearnersConfirm.
func (w *World) confirmed(n *Node, s *shard.Shard, id uint32) bool {
	said := s.Report()
	needed := len(said.Voters) / 2
	for _, other := range slices.Concat(said.Voters, said.Learners) {
		if other == n.ID || w.net.isCut(way{n.ID, other}) || w.net.isCut(way{other, n.ID}) {
			continue
		}
		o := w.node(other)
		if o == nil || o.calls.isShut() {
			continue
		}
		if s := o.shard(id); s != nil && s.Report().Term <= said.Term {
			needed--
		}
	}
	return needed <= 0
}
