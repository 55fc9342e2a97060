package replica

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

const (
	// The first founder asks the others whether they are running. The pauses between two requests
	// grow from shortestProbe to longestProbe.
	shortestProbe = 5 * time.Millisecond
	longestProbe  = 100 * time.Millisecond
	// founderPatience is how long to wait for the remaining founders once more than half of them
	// are running. A leader that could not reach a missing node would wait longer before it calls
	// the node again.
	founderPatience = 500 * time.Millisecond
)

// firstLeader makes the first founder of a new group its leader.
type firstLeader struct {
	r      *Replica
	others raft.WithPreVote
}

// elect makes this member stand for election if it is the first founder, as soon as all founders
// answer, or more than half of them have answered for founderPatience. Without it each founder
// would wait for heartbeats of a leader that never existed, and the first one whose wait ends would
// ask others that may not be running yet. That still happens if the first founder is missing.
func (f firstLeader) elect() {
	r := f.r
	founders := r.cfg.Founders
	if len(founders) < 2 || founders[0] != r.cfg.NodeID || r.raft.LastIndex() != 1 {
		return
	}
	var enough time.Time // when more than half of them first answered
	for pause := shortestProbe; f.isUndecided(); pause = min(2*pause, longestProbe) {
		there := f.countAnswering() + 1
		if there > len(founders)/2 && enough.IsZero() {
			enough = time.Now()
		}
		if there == len(founders) || !enough.IsZero() && time.Since(enough) > founderPatience {
			if f.isUndecided() {
				r.first.Store(true)
				r.wire.ElectNow()
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

// isUndecided reports whether no member has led the group or stood for election, as far as this
// member knows.
func (f firstLeader) isUndecided() bool {
	running := f.r.raft
	return f.r.Leader() == "" && running.State() == raft.Follower && running.LastIndex() == 1 && running.CurrentTerm() <= 1
}

// countAnswering returns how many of the other founders answer. They are asked whether they would
// vote for this member; the answer does not bind them.
func (f firstLeader) countAnswering() int {
	term, self := f.r.raft.CurrentTerm(), []byte(f.r.cfg.NodeID)
	var answers atomic.Int32
	var asked sync.WaitGroup
	for _, id := range f.r.cfg.Founders {
		if id == f.r.cfg.NodeID {
			continue
		}
		asked.Go(func() {
			req := &raft.RequestPreVoteRequest{
				RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: self, Addr: self},
				Term:      term + 1, LastLogIndex: 1, LastLogTerm: 1,
			}
			if f.others.RequestPreVote(raft.ServerID(id), raft.ServerAddress(id), req, &raft.RequestPreVoteResponse{}) == nil {
				answers.Add(1)
			}
		})
	}
	asked.Wait()
	return int(answers.Load())
}
