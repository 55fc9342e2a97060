package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/hashicorp/raft"

	"cordwood/shard/replica/raftlogger"
)

// Transport connects a group's member on this node to the other members.
type Transport struct {
	net  *Network
	name string
	rpcs chan raft.RPC
	// inbox holds appends in the order of their arrival.
	inbox chan *request
	// votes limits the votes that wait for the member.
	votes chan struct{}

	mu        sync.Mutex // guards heartbeat and closed
	heartbeat func(raft.RPC)
	closed    bool

	ctx    context.Context // ends with Close
	end    context.CancelFunc
	serves sync.WaitGroup
}

var (
	_ raft.Transport   = (*Transport)(nil)
	_ raft.WithPreVote = (*Transport)(nil)
	_ raft.WithClose   = (*Transport)(nil)
)

// inboxRequests is the maximum number of appends of one group that wait for the member. It is much
// more than the pipeline of a correct leader holds.
const inboxRequests = 256

func newTransport(n *Network, name string) *Transport {
	t := &Transport{
		net:   n,
		name:  name,
		rpcs:  make(chan raft.RPC),
		inbox: make(chan *request, inboxRequests),
		votes: make(chan struct{}, 16),
	}
	t.ctx, t.end = context.WithCancel(n.ctx)
	t.serves.Add(1)
	go t.serveInbox()
	return t
}

// LostPeers returns the record of the nodes that raft could not call. It is common to all groups of
// the network, so that a lost node is logged once and not once for each group.
func (t *Transport) LostPeers() *raftlogger.Peers { return t.net.lost }

// Close unregisters the group and ends its calls. It may be called twice.
func (t *Transport) Close() error {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.end()
	t.serves.Wait()
	t.net.forget(t)
	return nil
}

// Consumer returns the channel from which the member takes requests of others.
func (t *Transport) Consumer() <-chan raft.RPC { return t.rpcs }

// LocalAddr returns the node's id.
func (t *Transport) LocalAddr() raft.ServerAddress { return raft.ServerAddress(t.net.cfg.NodeID) }

// EncodePeer returns the node's id, since addresses are looked up at every dial.
func (t *Transport) EncodePeer(id raft.ServerID, _ raft.ServerAddress) []byte { return []byte(id) }

// DecodePeer is the inverse of EncodePeer.
func (t *Transport) DecodePeer(b []byte) raft.ServerAddress { return raft.ServerAddress(b) }

// SetHeartbeatHandler makes handler answer heartbeats without waiting for the member's loop.
func (t *Transport) SetHeartbeatHandler(handler func(raft.RPC)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heartbeat = handler
}

func (t *Transport) heartbeatHandler() func(raft.RPC) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.heartbeat
}

// AppendEntries sends entries, or a heartbeat, and waits for the answer.
func (t *Transport) AppendEntries(id raft.ServerID, _ raft.ServerAddress, args *raft.AppendEntriesRequest,
	resp *raft.AppendEntriesResponse,
) error {
	p, err := t.net.peer(id)
	if err != nil {
		return err
	}
	if isHeartbeat(args) {
		return t.ask(&p.control, kindHeartbeat, args, resp)
	}
	ctx, cancel := context.WithTimeout(t.ctx, t.net.cfg.AppendTimeout)
	defer cancel()
	payload, err := encode(args)
	if err != nil {
		return fmt.Errorf("raft network: encode entries of group %s: %w", t.name, err)
	}
	if err := p.reserve(ctx, t.name, int64(len(payload))); err != nil {
		return err
	}
	defer p.release(t.name, int64(len(payload)))
	answer, err := p.entries.call(ctx, &frame{kind: kindAppend, group: t.name, payload: payload})
	if err != nil {
		return err
	}
	return decodeAnswer(answer, resp)
}

// isHeartbeat reports whether an append has no content except that the leader is alive.
func isHeartbeat(r *raft.AppendEntriesRequest) bool {
	return r.Term != 0 && r.PrevLogEntry == 0 && r.PrevLogTerm == 0 && len(r.Entries) == 0 && r.LeaderCommitIndex == 0
}

// RequestVote asks for a vote.
func (t *Transport) RequestVote(id raft.ServerID, _ raft.ServerAddress, args *raft.RequestVoteRequest,
	resp *raft.RequestVoteResponse,
) error {
	return t.askControl(id, kindVote, args, resp)
}

// RequestPreVote asks whether a vote would be given.
func (t *Transport) RequestPreVote(id raft.ServerID, _ raft.ServerAddress, args *raft.RequestPreVoteRequest,
	resp *raft.RequestPreVoteResponse,
) error {
	return t.askControl(id, kindPreVote, args, resp)
}

// TimeoutNow transfers leadership.
func (t *Transport) TimeoutNow(id raft.ServerID, _ raft.ServerAddress, args *raft.TimeoutNowRequest,
	resp *raft.TimeoutNowResponse,
) error {
	return t.askControl(id, kindTimeoutNow, args, resp)
}

func (t *Transport) askControl(id raft.ServerID, k kind, args, resp any) error {
	p, err := t.net.peer(id)
	if err != nil {
		return err
	}
	return t.ask(&p.control, k, args, resp)
}

func (t *Transport) ask(s *stream, k kind, args, resp any) error {
	ctx, cancel := context.WithTimeout(t.ctx, t.net.cfg.Timeout)
	defer cancel()
	payload, err := encode(args)
	if err != nil {
		return fmt.Errorf("raft network: encode a request of group %s: %w", t.name, err)
	}
	answer, err := s.call(ctx, &frame{kind: k, group: t.name, payload: payload})
	if err != nil {
		return err
	}
	return decodeAnswer(answer, resp)
}

func decodeAnswer(f *frame, resp any) error {
	if err := decode(f.payload, resp); err != nil {
		return fmt.Errorf("raft network: decode an answer: %w", err)
	}
	return nil
}

// request is a request of another node that the member has to answer.
type request struct {
	frame *frame
	reply func(*frame)
}

var errShutDown = errors.New("the group is not open on this node")

// serveInbox passes appends to the member one after the other.
func (t *Transport) serveInbox() {
	defer t.serves.Done()
	for {
		select {
		case r := <-t.inbox:
			r.reply(t.handle(r.frame, nil))
		case <-t.ctx.Done():
			return
		}
	}
}

// handle lets the member answer a request.
func (t *Transport) handle(f *frame, data io.Reader) *frame {
	command := newCommand(f.kind)
	if command == nil {
		return failure(f.id, fmt.Errorf("request of kind %d is unknown to this node", f.kind))
	}
	if err := decode(f.payload, command); err != nil {
		return failure(f.id, fmt.Errorf("decode a request of kind %d: %w", f.kind, err))
	}
	answers := make(chan raft.RPCResponse, 1)
	rpc := raft.RPC{Command: command, Reader: data, RespChan: answers}
	if f.kind == kindHeartbeat {
		handler := t.heartbeatHandler()
		if handler == nil { // the member has not started yet; other groups must not wait for it
			return failure(f.id, errShutDown)
		}
		handler(rpc)
	} else {
		select {
		case t.rpcs <- rpc:
		case <-t.ctx.Done():
			return failure(f.id, errShutDown)
		}
	}
	select {
	case a := <-answers:
		if a.Error != nil {
			return failure(f.id, a.Error)
		}
		payload, err := encode(a.Response)
		if err != nil {
			return failure(f.id, fmt.Errorf("encode an answer: %w", err))
		}
		return &frame{kind: kindAnswer, id: f.id, payload: payload}
	case <-t.ctx.Done():
		return failure(f.id, errShutDown)
	}
}

func failure(id uint64, err error) *frame {
	return &frame{kind: kindFailure, id: id, payload: []byte(err.Error())}
}
