package wire

import (
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// pipeline is a pipeline of the transport whose answers the wire sees.
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
	known content   // what the member knows by it
}

func newPipeline(w *Wire, id raft.ServerID, below raft.AppendPipeline) *pipeline {
	p := &pipeline{
		AppendPipeline: below, wire: w, id: id, out: make(chan raft.AppendFuture), done: make(chan struct{}),
		asked: time.Now(),
	}
	p.end = sync.OnceFunc(func() { close(p.done) })
	return p
}

// content is the information of an append, besides its entries.
type content struct{ term, prevIndex, prevTerm, commit uint64 }

const (
	// timerPause is how long after another append one must be asked for to be taken for one
	// that a timer asked for. While raft waits for a member to catch up, before it hands
	// leadership over, it asks for appends without a pause and relies on a full pipeline to
	// block.
	timerPause = 5 * time.Millisecond
	// repeatAfter is how long after the last append an append without news is sent.
	repeatAfter = time.Second
	// idleAfter is how long after the last append one must be asked for to be taken for one of
	// raft's CommitTimeout: nothing was written meanwhile.
	idleAfter = 300 * time.Millisecond
)

// errBehind is why a pipeline ends.
var errBehind = errors.New("the member is behind, and nothing is written: it is sent all that it lacks without " +
	"a pipeline")

// run hands the answers on to raft.
//
// It ends, and closes the pipeline below, with the first answer that is not a success: raft takes
// no more answers after it, but may go on sending, and would wait for room in the pipeline for
// ever. It does not hand on an append that was not answered, because raft would take that for
// contact with the member; raft finds the pipeline closed when it sends the next one.
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

// closeBelow closes the pipeline of the transport. Raft closes it once more, and gets the error
// then.
func (p *pipeline) closeBelow() { _ = p.AppendPipeline.Close() }

// AppendEntries sends an append, with two exceptions. It fails, which ends the pipeline, if the
// member would stay behind: through a pipeline raft sends one append for each write and each
// CommitTimeout, so that a member with a backlog would get a few entries a second once nothing
// more is written, and nothing is if the commit needs this member. Without a pipeline raft sends
// the whole backlog in a row. And it does not send appends without news for the member.
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
	told := content{args.Term, args.PrevLogEntry, args.PrevLogTerm, args.LeaderCommitIndex}
	if n > 0 {
		last := args.Entries[n-1]
		told.prevIndex, told.prevTerm = last.Index, last.Term
	}
	if n == 0 && told == p.known && pause >= timerPause && now.Sub(p.sent) < repeatAfter {
		return unsent{args, resp}, nil
	}
	p.sent, p.known = now, told
	return p.AppendPipeline.AppendEntries(args, resp)
}

// unsent is an append that would have brought no news. Raft makes one for each CommitTimeout,
// which is short where members should learn soon what is committed. It never comes out of the
// pipeline, so raft takes it neither for an answer of the member nor for a failure; heartbeats
// show that both sides live.
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
