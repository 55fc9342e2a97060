package transport

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

// pipelineDepth is the maximum number of appends of a group in flight to a node.
const pipelineDepth = 16

// pipeline sends appends without waiting for earlier answers.
type pipeline struct {
	t     *Transport
	peer  *peer
	link  *link
	sent  chan *future
	ready chan raft.AppendFuture

	ctx  context.Context
	end  context.CancelFunc
	done chan struct{}

	sending chan struct{} // holds the token of AppendEntries, which may wait; guards closed
	closed  bool
}

// AppendEntriesPipeline starts a pipeline to a node that can be reached. The pipeline ends with the
// connection on which it starts.
func (t *Transport) AppendEntriesPipeline(id raft.ServerID, _ raft.ServerAddress) (raft.AppendPipeline, error) {
	p, err := t.net.peer(id)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(t.ctx, t.net.cfg.Timeout)
	defer cancel()
	l, _, err := p.entries.get(ctx)
	if err != nil {
		return nil, err
	}
	pl := &pipeline{
		t: t, peer: p, link: l, sent: make(chan *future, pipelineDepth),
		ready: make(chan raft.AppendFuture, pipelineDepth), done: make(chan struct{}), sending: make(chan struct{}, 1),
	}
	pl.ctx, pl.end = context.WithCancel(t.ctx)
	go pl.collect()
	return pl, nil
}

// future is an append of a pipeline.
type future struct {
	start  time.Time
	args   *raft.AppendEntriesRequest
	resp   *raft.AppendEntriesResponse
	call   *call
	size   int64
	err    error
	answer chan struct{} // closed when resp or err is set
}

func (f *future) Error() error {
	<-f.answer
	return f.err
}
func (f *future) Start() time.Time                      { return f.start }
func (f *future) Request() *raft.AppendEntriesRequest   { return f.args }
func (f *future) Response() *raft.AppendEntriesResponse { return f.resp }

// AppendEntries sends an append. It blocks while the windows or the pipeline are full.
func (pl *pipeline) AppendEntries(args *raft.AppendEntriesRequest,
	resp *raft.AppendEntriesResponse,
) (raft.AppendFuture, error) {
	payload, err := encode(args)
	if err != nil {
		return nil, fmt.Errorf("raft network: encode entries of group %s: %w", pl.t.name, err)
	}
	pl.sending <- struct{}{}
	defer func() { <-pl.sending }()
	if pl.closed {
		return nil, raft.ErrPipelineShutdown
	}
	f := &future{start: time.Now(), args: args, resp: resp, size: int64(len(payload)), answer: make(chan struct{})}
	if err := pl.peer.reserve(pl.ctx, pl.t.name, f.size); err != nil {
		return nil, err
	}
	f.call = pl.link.send(&frame{kind: kindAppend, group: pl.t.name, payload: payload})
	select {
	case pl.sent <- f:
		return f, nil
	case <-pl.ctx.Done():
		f.call.giveUp()
		pl.peer.release(pl.t.name, f.size)
		return nil, raft.ErrPipelineShutdown
	}
}

// collect receives the answers in the order of the appends.
func (pl *pipeline) collect() {
	defer close(pl.done)
	for {
		select {
		case f := <-pl.sent:
			pl.finish(f)
			select {
			case pl.ready <- f:
			case <-pl.ctx.Done():
			}
		case <-pl.ctx.Done():
			return
		}
	}
}

func (pl *pipeline) finish(f *future) {
	ctx, cancel := context.WithTimeout(pl.ctx, pl.t.net.cfg.AppendTimeout)
	defer cancel()
	answer, err := f.call.wait(ctx)
	if err == nil {
		err = decodeAnswer(answer, f.resp)
	}
	pl.peer.release(pl.t.name, f.size)
	f.err = err
	close(f.answer)
}

// Consumer returns the channel from which raft takes the answered appends.
func (pl *pipeline) Consumer() <-chan raft.AppendFuture { return pl.ready }

// Close abandons the appends in flight. It may be called twice.
func (pl *pipeline) Close() error {
	pl.end() // unblocks a sender and collect
	pl.sending <- struct{}{}
	defer func() { <-pl.sending }()
	pl.closed = true
	<-pl.done
	for {
		select {
		case f := <-pl.sent: // it was never collected
			pl.finish(f)
		default:
			return nil
		}
	}
}
