package wire

import (
	"errors"
	"time"

	"github.com/hashicorp/raft"
)

// awayCheck is how often an append that waits for a member to come back looks whether
// there is still a reason to wait.
const awayCheck = time.Second

// errAway ends the wait for a member that does not answer.
var errAway = errors.New("the member does not answer, and this one does not lead it any more")

// isHeartbeat reports whether an append only says that the leader lives.
func isHeartbeat(args *raft.AppendEntriesRequest) bool {
	return len(args.Entries) == 0 && args.PrevLogEntry == 0 && args.PrevLogTerm == 0 && args.LeaderCommitIndex == 0
}

// absence says that a member did not answer the last append of a term.
type absence struct {
	term uint64
	back chan struct{} // closed when it answers again
}

// noteLost notes that a member did not answer an append.
func (w *Wire) noteLost(id raft.ServerID, term uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost[string(id)].term != term {
		w.lost[string(id)] = absence{term, make(chan struct{})}
	}
}

// awaitBack waits, if a member did not answer the last append, until it answers a heartbeat.
// Raft would try the append again and again, with pauses that grow to 10 s, and would sleep
// through the return of a member that was away for long; heartbeats continue at half of their
// timeout at the longest. term is the one that this member leads in.
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
