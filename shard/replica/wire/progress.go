package wire

import (
	"time"

	"github.com/hashicorp/raft"
)

// Progress is the information from a member's answers. The zero value is a member that never
// answered.
type Progress struct {
	// Answered is when the last answer arrived. Last is the end of the member's log according to
	// it.
	Answered time.Time
	Last     uint64
	// Confirmed is the newest message that the member answered as a follower of this one.
	Confirmed Confirmation
}

// Confirmation is a message that a member answered as a follower of this member. When the message
// was sent, no other leader had been elected with the vote of that member.
type Confirmation struct {
	Term  uint64    // the term in which this member led
	Round uint64    // the newest round that had started when the message was sent; see NextRound
	Sent  time.Time // by the monotonic clock
}

// Progress returns the progress of a member.
func (w *Wire) Progress(id string) Progress {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.peers[id]
}

// NextRound starts a round in which the other members are asked whether this one still leads, and
// returns its number.
func (w *Wire) NextRound() uint64 { return w.rounds.Add(1) }

// NewestTerm returns the highest term in an answer of a member.
func (w *Wire) NewestTerm() uint64 { return w.newest.Load() }

// Answered returns a channel that is closed when a member has confirmed a message as a follower,
// or has answered with a newer term.
func (w *Wire) Answered() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.answered == nil {
		w.answered = make(chan struct{})
	}
	return w.answered
}

// signal closes the channel that Answered returned; mu must be held.
func (w *Wire) signal() {
	if w.answered != nil {
		close(w.answered)
		w.answered = nil
	}
}

// noteAnswer records an answer to an append.
func (w *Wire) noteAnswer(id raft.ServerID, resp *raft.AppendEntriesResponse) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if resp.Term > w.newest.Load() {
		w.newest.Store(resp.Term)
		w.signal()
	}
	p := w.peers[string(id)]
	p.Answered, p.Last = time.Now(), resp.LastLog
	w.peers[string(id)] = p
	if lost, ok := w.lost[string(id)]; ok {
		close(lost.back)
		delete(w.lost, string(id))
	}
}

// confirm records that a member answered a message as a follower of this one.
func (w *Wire) confirm(id raft.ServerID, c Confirmation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.peers[string(id)]
	if old := p.Confirmed; c.Term < old.Term || c.Term == old.Term && (c.Round < old.Round || c.Sent.Before(old.Sent)) {
		return // a newer answer came first
	}
	p.Confirmed = c
	w.peers[string(id)] = p
	w.signal()
}
