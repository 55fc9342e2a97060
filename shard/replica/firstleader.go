package replica

import (
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// How often the others are asked whether they are there.
const (
	shortestProbe = 5 * time.Millisecond
	longestProbe  = 100 * time.Millisecond
	// patience is for how long the rest is waited for once more than half are there. A leader that
	// calls somebody in vain takes longer until it calls again.
	patience = 500 * time.Millisecond
)

// electFirst has the first of the founders of a new group stand for election as soon as all of them
// answer, or more than half for a moment. Else each would wait for the heartbeats of a leader that there has never been, and
// the first to lose patience would ask others that may not be there yet. If this member is away, that
// is what happens still.
func (r *Replica) electFirst(others raft.WithPreVote) {
	founders := r.cfg.Founders
	if len(founders) < 2 || founders[0] != r.cfg.NodeID || r.raft.LastIndex() != 1 {
		return
	}
	var enough time.Time // since when more than half of them answer
	for pause := shortestProbe; r.undecided(); pause = min(2*pause, longestProbe) {
		there := r.answering(others) + 1
		if there > len(founders)/2 && enough.IsZero() {
			enough = time.Now()
		}
		if there == len(founders) || !enough.IsZero() && time.Since(enough) > patience {
			if r.undecided() {
				r.first.Store(true)
				r.wire.electNow()
			}
			return
		}
		select {
		case <-r.ended:
			return
		case <-time.After(pause):
		}
	}
}

// undecided tells whether nobody has led the group or stood for election, as far as this member knows.
func (r *Replica) undecided() bool {
	_, leader := r.raft.LeaderWithID()
	return leader == "" && r.raft.State() == raft.Follower && r.raft.LastIndex() == 1 && r.raft.CurrentTerm() <= 1
}

// answering counts the other founders that answer. They are asked whether they would vote for this
// member, which binds nobody.
func (r *Replica) answering(others raft.WithPreVote) int {
	term := r.raft.CurrentTerm()
	answers := make([]bool, len(r.cfg.Founders))
	var group sync.WaitGroup
	for i, id := range r.cfg.Founders {
		if id == r.cfg.NodeID {
			continue
		}
		group.Go(func() {
			req := &raft.RequestPreVoteRequest{
				RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(r.cfg.NodeID), Addr: []byte(r.cfg.NodeID)},
				Term:      term + 1, LastLogIndex: 1, LastLogTerm: 1,
			}
			answers[i] = others.RequestPreVote(raft.ServerID(id), raft.ServerAddress(id), req, &raft.RequestPreVoteResponse{}) == nil
		})
	}
	group.Wait()
	return len(slices.DeleteFunc(answers, func(ok bool) bool { return !ok }))
}
