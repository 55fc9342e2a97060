package replica

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// stuckAfter is how long one write of the log may take before a leader stops telling
// the others that it lives, so that one of them takes over.
const stuckAfter = 2 * time.Second

// errStuck is why a leader sends nothing.
var errStuck = errors.New("the disk of this node does not answer: it does not act as leader")

// wire stands between raft and its transport. It learns from what passes how far the
// others are and how much is committed; it keeps snapshots away from raft until the
// state machine can take them over; and it is silent while the log hangs, because raft
// sends heartbeats all the same and nobody would take over (raft issue 503).
type wire struct {
	raft.Transport
	out  chan raft.RPC
	done chan struct{}
	end  func()
	// stuck tells whether a write of the log has been under way for too long.
	stuck func() bool
	// snapshot is called with each snapshot that a leader sends, in a goroutine of its
	// own. It answers it, or passes it on.
	snapshot func(raft.RPC, *raft.InstallSnapshotRequest)
	// crowded says why this member takes no more commands; nil: it does.
	crowded func() error
	// refuse tells why a node's requests are not answered; empty: they are.
	refuse  func(node string) string
	running sync.WaitGroup

	// last is the last index of this member's log.
	last func() uint64

	// told is the highest index that a leader said is committed.
	told  atomic.Uint64
	fresh freshness

	// ended is closed when the member is about to stop.
	ended <-chan struct{}
	// leads tells whether this member leads another one, in a term.
	leads func(id raft.ServerID, term uint64) bool

	// rounds counts the questions to the other members whether this one still leads.
	rounds atomic.Uint64
	// newest is the highest term that a member answered with; it changes with mu held.
	newest atomic.Uint64

	mu    sync.Mutex // guards the fields below
	peers map[string]peerProgress
	// moved is closed, and replaced, when members have answered; nil if nobody waits.
	moved chan struct{}
	// away has the members that did not answer their last append.
	away map[string]absence
}

// peerProgress is what the answers of a member said.
type peerProgress struct {
	at   time.Time // when the last one came
	last uint64    // the end of its log
	// confirmed is the newest message that it answered as one that follows this member.
	confirmed confirmation
}

// wireWithPreVote is a wire over a transport that knows pre-votes; raft looks for the
// method.
type wireWithPreVote struct {
	*wire
	raft.WithPreVote
}

// newWire returns the wire over t, and what raft is to be given.
func newWire(t raft.Transport, stuck func() bool, refuse func(string) string, last func() uint64) (*wire, raft.Transport) {
	w := &wire{Transport: t, refuse: refuse, last: last, out: make(chan raft.RPC), done: make(chan struct{}), stuck: stuck, peers: map[string]peerProgress{}, away: map[string]absence{}}
	w.end = sync.OnceFunc(func() { close(w.done) })
	if pre, ok := t.(raft.WithPreVote); ok {
		return w, wireWithPreVote{w, pre}
	}
	return w, w
}

// start begins to hand requests on.
func (w *wire) start() {
	w.running.Add(1)
	go w.run()
}

func (w *wire) run() {
	defer w.running.Done()
	for {
		select {
		case rpc := <-w.Transport.Consumer():
			if w.refused(rpc) {
				continue
			}
			switch req := rpc.Command.(type) {
			case *raft.AppendEntriesRequest:
				raise(&w.told, req.LeaderCommitIndex)
				w.fresh.note(req, time.Now())
				if why := w.tooMuch(req); why != nil {
					w.hold(rpc, req, why)
					continue
				}
			case *raft.InstallSnapshotRequest:
				w.running.Add(1)
				go func() {
					defer w.running.Done()
					w.snapshot(rpc, req)
				}()
				continue
			}
			w.pass(rpc)
		case <-w.done:
			return
		}
	}
}

// refused answers a request of a node that is to be refused.
func (w *wire) refused(rpc raft.RPC) bool {
	h, ok := rpc.Command.(raft.WithRPCHeader)
	if !ok {
		return false
	}
	why := w.refuse(string(h.GetRPCHeader().ID))
	if why == "" {
		return false
	}
	if rpc.Reader != nil {
		_, _ = io.Copy(io.Discard, rpc.Reader)
	}
	rpc.Respond(nil, errors.New(why))
	return true
}

// SetHeartbeatHandler has heartbeats answered without waiting for raft's loop, but for
// those of nodes that are refused.
func (w *wire) SetHeartbeatHandler(handler func(raft.RPC)) {
	w.Transport.SetHeartbeatHandler(func(rpc raft.RPC) {
		if !w.refused(rpc) {
			handler(rpc)
		}
	})
}

// tooMuch says why this member does not take the entries of an append; nil: it does. What is
// no command takes no memory, and a new leader needs its first entry on a majority.
func (w *wire) tooMuch(req *raft.AppendEntriesRequest) error {
	if w.crowded == nil || !slices.ContainsFunc(req.Entries, func(l *raft.Log) bool { return l.Type == raft.LogCommand }) {
		return nil
	}
	return w.crowded()
}

// hold answers an append that this member has no memory for: with an error, so that the leader
// tries it again, with pauses, as if the member were away. Raft gets it without its entries, since
// it tells what is committed of those that are here: this member must be able to apply
// and to flush them. Beyond the entry that the append continues the log may not be the leader's.
func (w *wire) hold(rpc raft.RPC, req *raft.AppendEntriesRequest, why error) {
	empty := *req
	empty.Entries = nil
	empty.LeaderCommitIndex = min(req.LeaderCommitIndex, req.PrevLogEntry)
	answers := make(chan raft.RPCResponse, 1)
	if !w.pass(raft.RPC{Command: &empty, RespChan: answers}) {
		return
	}
	w.running.Go(func() {
		select {
		case a := <-answers:
			if resp, ok := a.Response.(*raft.AppendEntriesResponse); a.Error == nil && ok && resp.Success {
				a = raft.RPCResponse{Error: why}
			}
			rpc.Respond(a.Response, a.Error)
		case <-w.done:
		}
	})
}

// pass gives a request to raft; false, and no answer, if the wire was closed.
func (w *wire) pass(rpc raft.RPC) bool {
	select {
	case w.out <- rpc:
		return true
	case <-w.done:
		return false
	}
}

// Consumer is where raft gets requests from.
func (w *wire) Consumer() <-chan raft.RPC { return w.out }

// Close closes the transport below, if it can be closed.
func (w *wire) Close() error {
	w.end()
	var err error
	if c, ok := w.Transport.(raft.WithClose); ok {
		err = c.Close()
	}
	w.running.Wait()
	return err
}

// electNow has the member stand for election without waiting for a leader's heartbeat
// to fail to come. It is only right for a sole voter, and in a group that has had no leader.
func (w *wire) electNow() {
	w.running.Add(1)
	go func() {
		defer w.running.Done()
		w.pass(raft.RPC{
			Command:  &raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax}},
			RespChan: make(chan raft.RPCResponse, 1),
		})
	}()
}

func (w *wire) heard(id raft.ServerID, resp *raft.AppendEntriesResponse) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if resp.Term > w.newest.Load() {
		w.newest.Store(resp.Term)
		w.tell()
	}
	p := w.peers[string(id)]
	p.at, p.last = time.Now(), resp.LastLog
	w.peers[string(id)] = p
	if away, ok := w.away[string(id)]; ok {
		close(away.back)
		delete(w.away, string(id))
	}
}

// progress is what is known of a member; the zero value if it never answered.
func (w *wire) progress(id string) peerProgress {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.peers[id]
}

// AppendEntries sends entries, or a heartbeat.
func (w *wire) AppendEntries(id raft.ServerID, addr raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	if w.stuck() {
		return errStuck
	}
	beat := isHeartbeat(args)
	if !beat {
		w.fresh.note(args, time.Now()) // what it tells others it knows itself, also when it leads no more
		if err := w.awaitBack(id, args.Term); err != nil {
			return err
		}
	}
	c := confirmation{term: args.Term, round: w.rounds.Load(), sent: time.Now()}
	err := w.Transport.AppendEntries(id, addr, args, resp)
	switch {
	case err != nil && !beat:
		w.lost(id, args.Term)
	case err == nil:
		w.heard(id, resp)
		if resp.Success && resp.Term == args.Term {
			w.confirm(id, c)
		}
		if beat && resp.Term > args.Term {
			// For raft any answer to a heartbeat renews the lease.
			return fmt.Errorf("node %s is in term %d, and this one leads in term %d", id, resp.Term, args.Term)
		}
	}
	return err
}

// AppendEntriesPipeline starts a pipeline that is watched, too.
func (w *wire) AppendEntriesPipeline(id raft.ServerID, addr raft.ServerAddress) (raft.AppendPipeline, error) {
	if w.stuck() {
		return nil, errStuck
	}
	p, err := w.Transport.AppendEntriesPipeline(id, addr)
	if err != nil {
		return nil, err
	}
	wp := &wirePipeline{AppendPipeline: p, w: w, id: id, out: make(chan raft.AppendFuture), done: make(chan struct{}), sent: time.Now()}
	go wp.run()
	return wp, nil
}

// wirePipeline is a pipeline that notes what its answers say.
type wirePipeline struct {
	raft.AppendPipeline
	w    *wire
	id   raft.ServerID
	out  chan raft.AppendFuture
	done chan struct{}
	once sync.Once
	// Only raft's goroutine for the member uses these: when it asked for the last append,
	// when one was sent last, and what the member knows by the last one that was sent.
	sent, told time.Time
	known      knowledge
}

// knowledge is what an append without entries tells a member.
type knowledge struct{ term, prevIndex, prevTerm, commit uint64 }

// timerPause is how long after another append one must come to be taken for that of a
// timer. While raft waits for a member to catch up, before it hands leadership over, it asks for appends
// without a pause and relies on it that a pipeline that is full blocks.
const timerPause = 5 * time.Millisecond

// repeatAfter is after how long an append that tells nothing new is sent all the same.
const repeatAfter = time.Second

// idleAfter is how long after the last append of a pipeline another one comes not because
// something was written, but because raft's CommitTimeout has passed.
const idleAfter = 300 * time.Millisecond

// errBehind is why a pipeline ends.
var errBehind = errors.New("the member is behind, and nothing is written: it is sent all that it lacks without a pipeline")

// run hands the answers on. After one that is no success raft takes no more of them, and may
// nevertheless go on to send: the pipeline is closed then, so that it does not wait for room
// for ever, and with it whoever wants to stop raft. An append that was not answered is not handed
// on: raft would take it for an answer, and go on as leader without one. Its next append finds
// the pipeline closed.
func (p *wirePipeline) run() {
	for {
		select {
		case f := <-p.AppendPipeline.Consumer():
			if f.Error() != nil {
				_ = p.AppendPipeline.Close() // raft closes it once more, and gets the error then
				return
			}
			p.w.heard(p.id, f.Response())
			failed := !f.Response().Success || f.Response().Term > f.Request().Term
			select {
			case p.out <- f:
			case <-p.done:
				return
			}
			if failed {
				_ = p.AppendPipeline.Close() // raft closes it once more, and gets the error then
				return
			}
		case <-p.done:
			return
		}
	}
}

// AppendEntries sends entries unless the log hangs. It ends the pipeline if the member
// would stay behind: through a pipeline raft sends one append for each write and each
// CommitTimeout, so that a member with a backlog would get a few entries a second once
// nothing more is written, and nothing is if the commit needs this member. Without one
// raft sends all at once.
func (p *wirePipeline) AppendEntries(args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	if p.w.stuck() {
		return nil, errStuck
	}
	now := time.Now()
	p.w.fresh.note(args, now)
	pause := now.Sub(p.sent)
	p.sent = now
	idle := pause >= idleAfter
	n := len(args.Entries)
	if idle && n > 0 && args.Entries[n-1].Index < p.w.last() {
		return nil, errBehind
	}
	tells := knowledge{args.Term, args.PrevLogEntry, args.PrevLogTerm, args.LeaderCommitIndex}
	if n > 0 {
		last := args.Entries[n-1]
		tells.prevIndex, tells.prevTerm = last.Index, last.Term
	}
	if n == 0 && tells == p.known && pause >= timerPause && p.sent.Sub(p.told) < repeatAfter {
		return unsent{args, resp}, nil
	}
	p.told, p.known = p.sent, tells
	return p.AppendPipeline.AppendEntries(args, resp)
}

// unsent is an append that would have told nothing new. Raft makes one for each
// CommitTimeout, which is short where members are to learn soon what is committed. It
// never comes out of the pipeline, so raft takes it neither for an answer of the member
// nor for a failure; that both sides live is told by heartbeats.
type unsent struct {
	args *raft.AppendEntriesRequest
	resp *raft.AppendEntriesResponse
}

func (unsent) Error() error                            { return nil }
func (unsent) Start() time.Time                        { return time.Time{} }
func (u unsent) Request() *raft.AppendEntriesRequest   { return u.args }
func (u unsent) Response() *raft.AppendEntriesResponse { return u.resp }

// Consumer is where raft gets answers from.
func (p *wirePipeline) Consumer() <-chan raft.AppendFuture { return p.out }

// Close ends the pipeline.
func (p *wirePipeline) Close() error {
	p.once.Do(func() { close(p.done) })
	return p.AppendPipeline.Close()
}

// raise sets v to n if that is higher.
func raise(v *atomic.Uint64, n uint64) {
	for {
		have := v.Load()
		if n <= have || v.CompareAndSwap(have, n) {
			return
		}
	}
}
