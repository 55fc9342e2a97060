package replica

import (
	"slices"
	"time"

	"github.com/hashicorp/raft"
)

// confirmation is a message that a member answered as one that follows this member: when
// it was sent, nobody else had been elected with the vote of that member.
type confirmation struct {
	term  uint64    // in which this member led
	round uint64    // the newest question that had begun when it was sent
	sent  time.Time // by the monotonic clock
}

// confirm notes that a member answered a message.
func (w *wire) confirm(id raft.ServerID, c confirmation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.peers[string(id)]
	if old := p.confirmed; c.term < old.term || c.term == old.term && (c.round < old.round || c.sent.Before(old.sent)) {
		return // an answer that was overtaken
	}
	p.confirmed = c
	w.peers[string(id)] = p
	w.tell()
}

// tell wakes those who wait for what members answer; mu is held.
func (w *wire) tell() {
	if w.moved != nil {
		close(w.moved)
		w.moved = nil
	}
}

// move returns a channel that is closed when a member has confirmed once more, or has
// answered with a newer term.
func (w *wire) move() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.moved == nil {
		w.moved = make(chan struct{})
	}
	return w.moved
}

// voters returns the other voters of the group, how many of them make a majority together
// with this member, and whether this member votes.
func (r *Replica) voters() (others []string, needed int, self bool) {
	for _, s := range r.raft.GetConfiguration().Configuration().Servers {
		switch {
		case s.Suffrage != raft.Voter:
		case string(s.ID) == r.cfg.NodeID:
			self = true
		default:
			others = append(others, string(s.ID))
		}
	}
	if self {
		return others, (len(others) + 1) / 2, true
	}
	return others, len(others)/2 + 1, false
}

// votersConfirmed tells whether a majority of voters, this member among them if it is one, has
// answered what was sent in a term after a question had begun. Learners do not count: they are no
// part of the majority that elects another leader.
func (r *Replica) votersConfirmed(term, round uint64) bool {
	others, needed, _ := r.voters()
	for _, id := range others {
		if needed == 0 {
			break
		}
		if c := r.wire.progress(id).confirmed; c.term == term && c.round >= round {
			needed--
		}
	}
	return needed == 0
}

// confirmedAge is how long ago the newest heartbeats were sent that a majority of voters has
// answered in a term in which this member leads.
func (r *Replica) confirmedAge(term uint64) (age time.Duration, known bool) {
	others, needed, _ := r.voters()
	if needed == 0 {
		return 0, true
	}
	var sent []time.Time
	for _, id := range others {
		if c := r.wire.progress(id).confirmed; c.term == term {
			sent = append(sent, c.sent)
		}
	}
	if len(sent) < needed {
		return 0, false
	}
	slices.SortFunc(sent, func(a, b time.Time) int { return b.Compare(a) })
	return time.Since(sent[needed-1]), true
}
