package wire

import (
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// pipeline wraps a pipeline of the transport so that the wire sees the answers.
type pipeline struct {
	raft.AppendPipeline
	wire *Wire
	id   raft.ServerID
	out  chan raft.AppendFuture
	done chan struct{} // closed by Close
	end  func()        // closes done

	// The fields below are used by raft's goroutine for the member only.
	asked time.Time // when raft asked for the last append
	sent  time.Time // when the last append was sent
	known content   // what the member knows after that append
}

func newPipeline(w *Wire, id raft.ServerID, below raft.AppendPipeline) *pipeline {
	p := &pipeline{
		AppendPipeline: below, wire: w, id: id, out: make(chan raft.AppendFuture), done: make(chan struct{}),
		asked: time.Now(),
	}
	p.end = sync.OnceFunc(func() { close(p.done) })
	return p
}

// content is the information of an append, except its entries.
type content struct{ term, prevIndex, prevTerm, commit uint64 }

const (
	// timerPause identifies appends that a timer requests: raft asks for them at least timerPause
	// after the previous append. While raft waits for a member to catch up, before it transfers
	// leadership, it asks for appends without a pause and relies on a full pipeline to block.
	timerPause = 5 * time.Millisecond
	// repeatAfter is the time after the last append at which an append without news is sent
	// nevertheless.
	repeatAfter = time.Second
	// idleAfter is the minimum pause before an append for which the append counts as periodic (CommitTimeout): nothing
	// was written during the pause.
	idleAfter = 300 * time.Millisecond
)

// errBehind is the error that ends a pipeline whose member is behind.
var errBehind = errors.New("the member is behind, and nothing is written: it gets all missing entries without " +
	"a pipeline")

// run passes the answers on to raft.
//
// It ends, and closes the pipeline below, at the first answer that is not a success: raft takes no
// more answers after it, but may continue to send, and would wait for room in the pipeline for
// ever. It does not pass on an append without an answer, because raft would treat that as contact
// with the member. Raft finds the pipeline closed when it sends the next append.
func (p *pipeline) run() {
	for {
		select {
		case f := <-p.AppendPipeline.Consumer():
			if f.Error() != nil {
				p.closeBelow()
				return
			}
			p.wire.noteAnswer(p.id, f.Response())
			refused := !f.Response().Success || f.Response().Term > f.Request().Term
			select {
			case p.out <- f:
			case <-p.done:
				return
			}
			if refused {
				p.closeBelow()
				return
			}
		case <-p.done:
			return
		}
	}
}

// closeBelow closes the pipeline of the transport. Raft closes it again later, and then gets the
// error.
func (p *pipeline) closeBelow() { _ = p.AppendPipeline.Close() }

// AppendEntries sends an append, with two exceptions.
//
// It fails, which ends the pipeline, if the member would stay behind. Through a pipeline raft sends
// one append for each write and each CommitTimeout, so a member with a backlog would get only a few
// entries a second once writes stop. Writes do stop if a commit needs this member. Without a
// pipeline raft sends the whole backlog at once.
//
// It does not send appends that contain no news for the member.
func (p *pipeline) AppendEntries(args *raft.AppendEntriesRequest,
	resp *raft.AppendEntriesResponse,
) (raft.AppendFuture, error) {
	if p.wire.cfg.Stuck() {
		return nil, errStuck
	}
	now := time.Now()
	p.wire.fresh.note(args, now)
	pause := now.Sub(p.asked)
	p.asked = now
	n := len(args.Entries)
	if n > 0 && pause >= idleAfter && args.Entries[n-1].Index < p.wire.cfg.LastIndex() {
		return nil, errBehind
	}
	news := content{args.Term, args.PrevLogEntry, args.PrevLogTerm, args.LeaderCommitIndex}
	if n > 0 {
		last := args.Entries[n-1]
		news.prevIndex, news.prevTerm = last.Index, last.Term
	}
	if n == 0 && news == p.known && pause >= timerPause && now.Sub(p.sent) < repeatAfter {
		return unsent{args, resp}, nil
	}
	p.sent, p.known = now, news
	return p.AppendPipeline.AppendEntries(args, resp)
}

// unsent is the future of an append without news. Raft requests such an append after each
// CommitTimeout, which is short in groups whose members should learn the commit index soon. The
// future never leaves the pipeline, so raft treats it neither as an answer of the member nor as a
// failure. Heartbeats show that both sides are alive.
type unsent struct {
	args *raft.AppendEntriesRequest
	resp *raft.AppendEntriesResponse
}

func (unsent) Error() error                            { return nil }
func (unsent) Start() time.Time                        { return time.Time{} }
func (u unsent) Request() *raft.AppendEntriesRequest   { return u.args }
func (u unsent) Response() *raft.AppendEntriesResponse { return u.resp }

// Consumer returns the channel from which raft takes answers.
func (p *pipeline) Consumer() <-chan raft.AppendFuture { return p.out }

// Close ends the pipeline.
func (p *pipeline) Close() error {
	p.end()
	return p.AppendPipeline.Close()
}
