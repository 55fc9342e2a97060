package wire

import (
	"errors"
	"sync"
	"testing"

	"github.com/hashicorp/raft"
)

// quiet returns the wire of a member whose log ends with entry 6.
func quiet() *Wire {
	return New(Config{Stuck: func() bool { return false }, LastIndex: func() uint64 { return 6 }})
}

func entries(from, to, term uint64) []*raft.Log {
	var out []*raft.Log
	for i := from; i <= to; i++ {
		out = append(out, &raft.Log{Index: i, Term: term})
	}
	return out
}

// counted is a pipeline that only counts appends.
type counted struct {
	raft.AppendPipeline
	sent int
}

func (c *counted) AppendEntries(args *raft.AppendEntriesRequest,
	resp *raft.AppendEntriesResponse,
) (raft.AppendFuture, error) {
	c.sent++
	return unsent{args, resp}, nil
}

// TestAppendsWithoutNewsAreNotSent checks that an idle leader does not repeat the same append to
// its members.
func TestAppendsWithoutNewsAreNotSent(t *testing.T) {
	c := &counted{}
	p := newPipeline(quiet(), "b", c)
	send := func(want int, args raft.AppendEntriesRequest) {
		t.Helper()
		p.asked = p.asked.Add(-timerPause)
		if _, err := p.AppendEntries(&args, &raft.AppendEntriesResponse{}); err != nil {
			t.Fatal(err)
		}
		if c.sent != want {
			t.Errorf("%d appends were sent, want %d: the last one is %+v", c.sent, want, args)
		}
	}
	entries := entries(5, 6, 2)
	send(1, raft.AppendEntriesRequest{Term: 2, PrevLogEntry: 4, PrevLogTerm: 1, LeaderCommitIndex: 4, Entries: entries})
	send(1, raft.AppendEntriesRequest{Term: 2, PrevLogEntry: 6, PrevLogTerm: 2, LeaderCommitIndex: 4})
	send(2, raft.AppendEntriesRequest{Term: 2, PrevLogEntry: 6, PrevLogTerm: 2, LeaderCommitIndex: 6}) // what is committed
	send(2, raft.AppendEntriesRequest{Term: 2, PrevLogEntry: 6, PrevLogTerm: 2, LeaderCommitIndex: 6})
	// Appends without a pause are left to raft.
	send(3, raft.AppendEntriesRequest{Term: 2, PrevLogEntry: 6, PrevLogTerm: 2, LeaderCommitIndex: 6, Entries: entries})
	if _, err := p.AppendEntries(&raft.AppendEntriesRequest{
		Term: 2, PrevLogEntry: 6, PrevLogTerm: 2, LeaderCommitIndex: 6,
	}, nil); err != nil || c.sent != 4 {
		t.Errorf("an append that no timer requested was not sent, so raft would request it again and again: %v", err)
	}
	c.sent--
	p.sent = p.sent.Add(-repeatAfter)
	send(4, raft.AppendEntriesRequest{Term: 2, PrevLogEntry: 6, PrevLogTerm: 2, LeaderCommitIndex: 6})
	send(5, raft.AppendEntriesRequest{Term: 3, PrevLogEntry: 6, PrevLogTerm: 2, LeaderCommitIndex: 6})
}

// full is a pipeline that answers the first append and then has no room.
type full struct {
	answers chan raft.AppendFuture
	closed  chan struct{}
	once    sync.Once
}

func (f *full) AppendEntries(*raft.AppendEntriesRequest, *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	<-f.closed
	return nil, raft.ErrPipelineShutdown
}
func (f *full) Consumer() <-chan raft.AppendFuture { return f.answers }
func (f *full) Close() error                       { f.once.Do(func() { close(f.closed) }); return nil }

// TestPipelineEndsAfterAFailure checks that sends do not block after an answer that is not a
// success. Raft takes no more answers after it, and could not be stopped if it blocked.
func TestPipelineEndsAfterAFailure(t *testing.T) {
	for name, answer := range map[string]raft.AppendEntriesResponse{
		"refused": {Term: 2}, "newer term": {Term: 3, Success: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := &full{answers: make(chan raft.AppendFuture, 1), closed: make(chan struct{})}
			p := newPipeline(quiet(), "b", f)
			go p.run()
			f.answers <- unsent{&raft.AppendEntriesRequest{Term: 2}, &answer}
			<-p.Consumer() // and nothing after it
			if _, err := p.AppendEntries(&raft.AppendEntriesRequest{Term: 2, Entries: entries(5, 6, 2)}, nil); !errors.Is(err,
				raft.ErrPipelineShutdown) {
				t.Errorf("an append after the last answer: %v", err)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
