// Package wire sits between raft and its transport. It reads the messages that pass, and holds back
// messages that raft should not send or receive at the moment.
//
// # Messages
//
// Raft sends six kinds of request; each has one answer.
//
//	request            from               passes                        here
//	heartbeat          leader, 10 a       past raft's main loop, by a   refused by Config.Refuse; the answer
//	                   second             handler of the transport      confirms the leader, and ends an absence
//	append             leader             through the main loop;        see below
//	                                      usually in a pipeline
//	vote, pre-vote     candidate          through the main loop         refused by Config.Refuse
//	snapshot           leader             through the main loop,        given to Config.Snapshot first, in a
//	                                      which it blocks               separate goroutine
//	transfer           leader             through the main loop         refused by Config.Refuse; ElectNow
//	(TimeoutNow)                                                        sends it to this member itself
//
// A heartbeat is an append without entries, previous entry and commit index.
//
// # Receiving
//
// One goroutine (run) takes requests from the transport in the order in which they arrived and
// passes them to raft. It must not block for long, because appends of the leader wait for it, and
// raft stands for election if none arrives for a heartbeat timeout (heartbeats bypass run). It
// waits only until raft's main loop takes the request. Longer work has a separate goroutine: a
// snapshot, whose data Config.Snapshot fetches first, and the answer to an append that was held
// (hold).
//
// An append contains the leader's commit index, which run records before raft gets the append
// (LeaderCommit, AppliedSince). If the member has no memory for more commands (Config.Crowded),
// raft gets the append without its entries, and the leader gets an error and tries again.
//
// # Sending
//
// Raft has one goroutine for each other member that sends appends, and one that sends heartbeats;
// both call AppendEntries here. A member that has caught up gets appends through a pipeline, which
// does not wait for answers: a goroutine for each pipeline (pipeline.run) takes the answers and
// passes them on. Appends may block, heartbeats may not.
//
//   - While a write to this member's log hangs (Config.Stuck) nothing is sent: raft would continue
//     to send heartbeats, and no other member would take over (raft issue 503).
//   - An append to a member that did not answer the last one waits until the member answers a
//     heartbeat (awaitBack).
//   - An append without news is not sent (pipeline.AppendEntries).
//
// # A lost connection
//
// The call, or every append in the pipeline, returns an error. It renews no lease and confirms
// nothing: a failed append is not passed on to raft, which would treat it as contact. The member
// counts as absent until it answers a heartbeat. Raft begins a new pipeline when an append without
// one has brought the member up to date. Whether the other member stored the lost appends is
// unknown; raft sends them again, and followers skip the entries that they have. On the receiving
// side nothing happens: a follower that receives no heartbeat for one to two heartbeat timeouts
// asks for pre-votes.
//
// # Locks
//
// Wire.mu guards the information from answers. It is held for moments only, and no other lock is
// taken under it. freshness has its own lock.
package wire

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

// errStuck is why a leader sends nothing.
var errStuck = errors.New("the disk of this node does not answer, so it does not act as leader")

// Config configures a Wire with functions of its member. All fields but Crowded are required. The
// functions must not block, except Snapshot, and may be called before raft runs.
type Config struct {
	// Below is the transport that connects to the other members.
	Below raft.Transport
	// Stuck reports whether a write of the log, or Apply, has been running for too long.
	Stuck func() bool
	// Refuse returns the reason why a request of a node is refused, or an empty text. The request is
	// one of raft's types.
	Refuse func(node string, request any) string
	// MayNotLead returns the reason why this member does not stand for election, or an empty text.
	MayNotLead func() string
	// Crowded returns an error while this member takes no more commands.
	Crowded func() error
	// LastIndex returns the last index of this member's log.
	LastIndex func() uint64
	// Leads reports whether this member leads another one in a term.
	Leads func(id raft.ServerID, term uint64) bool
	// Snapshot is called with each snapshot that a leader sends, in a separate goroutine. It
	// answers the request, or passes it on with Pass.
	Snapshot func(raft.RPC, *raft.InstallSnapshotRequest)
	// Ended is closed when the member is about to stop.
	Ended <-chan struct{}
}

// Wire sits between raft and its transport; see the package comment. Its methods may be called
// concurrently.
type Wire struct {
	raft.Transport // Config.Below
	cfg            Config

	out     chan raft.RPC // requests for raft
	done    chan struct{} // closed by Close
	end     func()        // closes done
	running sync.WaitGroup

	// leaderCommit is the highest commit index that a leader has sent.
	leaderCommit atomic.Uint64
	fresh        freshness

	// rounds counts the rounds in which members are asked whether this one still leads.
	rounds atomic.Uint64
	// newest is the highest term in an answer of a member. mu is held when it changes.
	newest atomic.Uint64

	mu    sync.Mutex // guards the fields below
	peers map[string]Progress
	// answered is closed, and replaced, when a member has answered; nil if no caller waits.
	answered chan struct{}
	// lost holds the members that did not answer their last append.
	lost map[string]absence
}

// New returns a wire that passes on no requests before Start.
func New(cfg Config) *Wire {
	if cfg.Crowded == nil {
		cfg.Crowded = func() error { return nil }
	}
	w := &Wire{
		Transport: cfg.Below, cfg: cfg, out: make(chan raft.RPC), done: make(chan struct{}),
		peers: map[string]Progress{}, lost: map[string]absence{},
	}
	w.end = sync.OnceFunc(func() { close(w.done) })
	return w
}

// ForRaft returns the transport to give to raft: w, with pre-votes if the transport below has them.
// Raft checks for the method.
func (w *Wire) ForRaft() raft.Transport {
	if pre, ok := w.Transport.(raft.WithPreVote); ok {
		return withPreVote{w, pre}
	}
	return w
}

type withPreVote struct {
	*Wire
	raft.WithPreVote
}

// RequestPreVote asks for a pre-vote, unless this member may not lead.
func (w withPreVote) RequestPreVote(id raft.ServerID, addr raft.ServerAddress, args *raft.RequestPreVoteRequest,
	resp *raft.RequestPreVoteResponse,
) error {
	if why := w.cfg.MayNotLead(); why != "" {
		return errors.New(why)
	}
	return w.WithPreVote.RequestPreVote(id, addr, args, resp)
}

// RequestVote asks for a vote, unless this member may not lead.
func (w *Wire) RequestVote(id raft.ServerID, addr raft.ServerAddress, args *raft.RequestVoteRequest,
	resp *raft.RequestVoteResponse,
) error {
	if why := w.cfg.MayNotLead(); why != "" {
		return errors.New(why)
	}
	return w.Transport.RequestVote(id, addr, args, resp)
}

// Start begins to pass requests on.
func (w *Wire) Start() {
	w.running.Add(1)
	go w.run()
}

func (w *Wire) run() {
	defer w.running.Done()
	for {
		select {
		case rpc := <-w.Transport.Consumer():
			if w.refused(rpc) {
				continue
			}
			switch req := rpc.Command.(type) {
			case *raft.AppendEntriesRequest:
				raise(&w.leaderCommit, req.LeaderCommitIndex)
				w.fresh.note(req, time.Now())
				if why := w.tooMuch(req); why != nil {
					w.hold(rpc, req, why)
					continue
				}
			case *raft.InstallSnapshotRequest:
				w.running.Add(1)
				go func() {
					defer w.running.Done()
					w.cfg.Snapshot(rpc, req)
				}()
				continue
			}
			w.Pass(rpc)
		case <-w.done:
			return
		}
	}
}

// refused answers a request if its node is refused, and reports whether it did.
func (w *Wire) refused(rpc raft.RPC) bool {
	h, ok := rpc.Command.(raft.WithRPCHeader)
	if !ok {
		return false
	}
	why := w.cfg.Refuse(string(h.GetRPCHeader().ID), rpc.Command)
	if why == "" {
		return false
	}
	if rpc.Reader != nil {
		_, _ = io.Copy(io.Discard, rpc.Reader)
	}
	rpc.Respond(nil, errors.New(why))
	return true
}

// SetHeartbeatHandler makes handler answer heartbeats without waiting for raft's main loop, except
// those that Config.Refuse refuses.
func (w *Wire) SetHeartbeatHandler(handler func(raft.RPC)) {
	w.Transport.SetHeartbeatHandler(func(rpc raft.RPC) {
		if !w.refused(rpc) {
			handler(rpc)
		}
	})
}

// tooMuch returns the reason why this member does not take the entries of an append, or nil. Only
// commands need memory. The first entry of a new leader, which is not a command, is always taken,
// because a majority must have it.
func (w *Wire) tooMuch(req *raft.AppendEntriesRequest) error {
	if !slices.ContainsFunc(req.Entries, func(l *raft.Log) bool { return l.Type == raft.LogCommand }) {
		return nil
	}
	return w.cfg.Crowded()
}

// hold handles an append whose entries do not fit into this member's free memory. The leader gets an
// error and repeats the append with pauses, as if the member were down. Raft still gets the append,
// without its entries: it also carries the commit index, which this member needs to apply and flush
// the entries that it already has. The commit index is limited to the entry that the append
// continues, since the log after it may differ from the leader's.
func (w *Wire) hold(rpc raft.RPC, req *raft.AppendEntriesRequest, why error) {
	empty := *req
	empty.Entries = nil
	empty.LeaderCommitIndex = min(req.LeaderCommitIndex, req.PrevLogEntry)
	answers := make(chan raft.RPCResponse, 1)
	if !w.Pass(raft.RPC{Command: &empty, RespChan: answers}) {
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

// Pass passes a request to raft. If the wire was closed, it answers nothing and returns false.
func (w *Wire) Pass(rpc raft.RPC) bool {
	select {
	case w.out <- rpc:
		return true
	case <-w.done:
		return false
	}
}

// Consumer returns the channel from which raft takes requests.
func (w *Wire) Consumer() <-chan raft.RPC { return w.out }

// Done returns a channel that is closed with the wire.
func (w *Wire) Done() <-chan struct{} { return w.done }

// Close ends the wire and closes the transport below if it has a method Close. It waits for the
// wire's goroutines.
func (w *Wire) Close() error {
	w.end()
	var err error
	if c, ok := w.Transport.(raft.WithClose); ok {
		err = c.Close()
	}
	w.running.Wait()
	return err
}

// ElectNow makes the member stand for election without waiting for a heartbeat timeout. It is
// correct only for a sole voter, and in a group that has had no leader.
func (w *Wire) ElectNow() {
	w.running.Add(1)
	go func() {
		defer w.running.Done()
		w.Pass(raft.RPC{
			Command:  &raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax}},
			RespChan: make(chan raft.RPCResponse, 1),
		})
	}()
}

// LeaderCommit returns the highest commit index that a leader has sent, or 0.
func (w *Wire) LeaderCommit() uint64 { return w.leaderCommit.Load() }

// AppliedSince returns the newest time for which this member has applied everything acknowledged
// before it, according to the leaders' messages. known is false if the messages are insufficient.
// applied reports whether everything up to an index is applied. See freshness for the exact
// guarantee.
func (w *Wire) AppliedSince(applied func(index uint64) bool) (at time.Time, known bool) {
	return w.fresh.since(applied)
}

// Led records that this member has applied everything up to an index, including an entry that it proposed after a time
// in a term in which it led.
func (w *Wire) Led(term uint64, since time.Time, applied uint64) { w.fresh.led(term, since, applied) }

// AppendEntries sends entries, or a heartbeat.
func (w *Wire) AppendEntries(id raft.ServerID, addr raft.ServerAddress, args *raft.AppendEntriesRequest,
	resp *raft.AppendEntriesResponse,
) error {
	if w.cfg.Stuck() {
		return errStuck
	}
	beat := isHeartbeat(args)
	if !beat {
		w.fresh.note(args, time.Now()) // this member still knows it when it no longer leads
		if err := w.awaitBack(id, args.Term); err != nil {
			return err
		}
	}
	c := Confirmation{Term: args.Term, Round: w.rounds.Load(), Sent: time.Now()}
	err := w.Transport.AppendEntries(id, addr, args, resp)
	switch {
	case err != nil && !beat:
		w.noteLost(id, args.Term)
	case err == nil:
		w.noteAnswer(id, resp)
		if resp.Success && resp.Term == args.Term {
			w.confirm(id, c)
		}
		if beat && resp.Term > args.Term {
			// Raft would treat any answer to a heartbeat as a renewal of the lease.
			return fmt.Errorf("node %s is in term %d, and this one leads in term %d", id, resp.Term, args.Term)
		}
	}
	return err
}

// AppendEntriesPipeline starts a pipeline whose answers the wire reads.
func (w *Wire) AppendEntriesPipeline(id raft.ServerID, addr raft.ServerAddress) (raft.AppendPipeline, error) {
	if w.cfg.Stuck() {
		return nil, errStuck
	}
	below, err := w.Transport.AppendEntriesPipeline(id, addr)
	if err != nil {
		return nil, err
	}
	p := newPipeline(w, id, below)
	go p.run()
	return p, nil
}

// raise sets v to n if n is higher.
func raise(v *atomic.Uint64, n uint64) {
	for {
		have := v.Load()
		if n <= have || v.CompareAndSwap(have, n) {
			return
		}
	}
}
