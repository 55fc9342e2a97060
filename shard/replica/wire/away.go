package wire

import (
	"errors"
	"time"

	"github.com/hashicorp/raft"
)

// awayCheck is how often an append that waits for a member checks whether it still has to wait.
const awayCheck = time.Second

// errAway ends the wait for a member that does not answer.
var errAway = errors.New("the member does not answer, and this member no longer leads it")

// isHeartbeat reports whether an append has no content except that the leader is alive.
func isHeartbeat(args *raft.AppendEntriesRequest) bool {
	return len(args.Entries) == 0 && args.PrevLogEntry == 0 && args.PrevLogTerm == 0 && args.LeaderCommitIndex == 0
}

// absence records that a member did not answer the last append of a term.
type absence struct {
	term uint64
	back chan struct{} // closed when it answers again
}

// noteLost records that a member did not answer an append.
func (w *Wire) noteLost(id raft.ServerID, term uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost[string(id)].term != term {
		w.lost[string(id)] = absence{term, make(chan struct{})}
	}
}

// awaitBack waits, if a member did not answer the last append, until it answers a heartbeat. Raft
// would repeat the append with pauses that grow to 10 s, and would notice late that a member has
// returned after a long time. Heartbeats are sent at least every half of their timeout. term is the
// term in which this member leads.
func (w *Wire) awaitBack(id raft.ServerID, term uint64) error {
	w.mu.Lock()
	lost, ok := w.lost[string(id)]
	w.mu.Unlock()
	if !ok || lost.term != term {
		return nil
	}
	tick := time.NewTicker(awayCheck)
	defer tick.Stop()
	for {
		select {
		case <-lost.back:
			return nil
		case <-w.cfg.Ended:
			return errAway
		case <-w.done:
			return errAway
		case <-tick.C:
			if !w.cfg.Leads(id, term) {
				return errAway
			}
		}
	}
}
