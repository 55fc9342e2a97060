package replica

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/raft"
)

// Stager is an FSM whose snapshots only name the data that another member has to fetch.
// A snapshot is not given to raft before Stage has fetched it: raft would neither vote
// nor append meanwhile.
type Stager interface {
	FSM
	// Stage fetches from the leader what Restore will need of a snapshot that Persist
	// wrote there. It returns nil when Restore can do without the leader, even after a
	// restart. It is called by one goroutine at a time, beside Apply, and again for the
	// same snapshot if it failed or ctx ended before.
	Stage(ctx context.Context, leader string, index uint64, snapshot []byte) error
}

const (
	// maxStaged bounds a snapshot that names data, in bytes.
	maxStaged = 256 << 20
	// stageHold is how long the leader waits for an answer while data is fetched. After
	// that it is told to send the snapshot again later, as it has perhaps a newer one.
	stageHold = time.Minute
)

// errOutdated is why a snapshot is not installed: the member has what it stands for.
var errOutdated = errors.New("this member has come further than the snapshot meanwhile")

// outdated tells whether this member has applied what a snapshot of another one stands for. Raft
// would go back to it: it does not compare, and a snapshot may be late, because it was held here
// while its leader gave up and sent the next one. An error says that the two have a different past,
// or that nobody can tell.
func (r *Replica) outdated(index, term uint64) (bool, error) {
	if r.raft.AppliedIndex() < index {
		return false, nil
	}
	have, known, err := r.termOf(index)
	switch {
	case err != nil:
		return false, err
	case !known:
		return false, fmt.Errorf("a snapshot of index %d is late: this member has applied entries up to %d, and cut its log behind it", index, r.raft.AppliedIndex())
	case have != term:
		err := r.store.history.diverged("the leader has a snapshot of index %d and term %d, and this replica applied an entry of term %d there", index, term, have)
		r.store.latch(err)
		return false, err
	}
	return true, nil
}

// termOf is the term of the entry with an index, if log or newest snapshot still tell.
func (r *Replica) termOf(index uint64) (term uint64, known bool, err error) {
	var l raft.Log
	err = r.store.GetLog(index, &l)
	if err == nil {
		return l.Term, true, nil
	}
	if !errors.Is(err, raft.ErrLogNotFound) {
		return 0, false, err
	}
	list, err := r.snaps.List()
	if err != nil || len(list) == 0 || list[0].Index != index {
		return 0, false, err
	}
	return list[0].Term, true, nil
}

// takeSnapshot gives a snapshot that a leader sends to raft, once what it names is here.
func (r *Replica) takeSnapshot(rpc raft.RPC, req *raft.InstallSnapshotRequest) {
	answers := rpc.RespChan
	refuse := func(err error) {
		_, _ = io.Copy(io.Discard, rpc.Reader) // the connection must be read to its end
		rpc.Respond(&raft.InstallSnapshotResponse{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax}, Term: r.raft.CurrentTerm()}, err)
	}
	// A snapshot that is late has nothing fetched for it.
	old, err := r.outdated(req.LastLogIndex, req.LastLogTerm)
	if err == nil && old && req.Term >= r.raft.CurrentTerm() {
		_, _ = io.Copy(io.Discard, rpc.Reader)
		rpc.Respond(&raft.InstallSnapshotResponse{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax}, Term: req.Term, Success: true}, nil)
		return
	}
	if err == nil {
		err = r.stage(&rpc, req)
	}
	if err != nil {
		refuse(fmt.Errorf("replica %s on node %s: snapshot of index %d is not taken yet: %w", r.cfg.Group, r.cfg.NodeID, req.LastLogIndex, err))
		return
	}
	// No snapshot of our own may be under way: raft would note it as its newest one after
	// it has installed this one.
	select {
	case r.snapshots <- struct{}{}:
		defer func() { <-r.snapshots }()
	case <-r.wire.done:
		answers <- raft.RPCResponse{Error: raft.ErrRaftShutdown}
		return
	}
	r.snaps.installing.Store(req.LastLogIndex)
	defer func() {
		r.snaps.installing.Store(0)
		r.store.history.replaced.Store(false)
	}()
	installed := make(chan raft.RPCResponse, 1)
	rpc.RespChan = installed
	if !r.wire.pass(rpc) {
		answers <- raft.RPCResponse{Error: raft.ErrRaftShutdown}
		return
	}
	select {
	case answer := <-installed:
		if answer.Error == nil {
			r.caughtUp.Store(false)
		}
		answers <- answer
	case <-r.wire.done:
		answers <- raft.RPCResponse{Error: raft.ErrRaftShutdown}
	}
}

// stage has the state machine fetch what a snapshot names, if it is of that kind.
func (r *Replica) stage(rpc *raft.RPC, req *raft.InstallSnapshotRequest) error {
	stager, ok := r.fsm.fsm.(Stager)
	if !ok {
		return nil
	}
	if req.Term < r.raft.CurrentTerm() {
		return nil // raft refuses it
	}
	if req.Size > maxStaged {
		return fmt.Errorf("it has %d bytes, at most %d are allowed", req.Size, maxStaged)
	}
	b, err := io.ReadAll(io.LimitReader(rpc.Reader, req.Size))
	if err != nil {
		return err
	}
	rpc.Reader = bytes.NewReader(b)
	in := bytes.NewReader(b)
	h, err := readHeader(in)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), stageHold)
	defer cancel()
	go func() {
		select {
		case <-r.wire.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	select {
	case r.staging <- struct{}{}:
		defer func() { <-r.staging }()
	case <-ctx.Done():
		return ctx.Err()
	}
	leader := string(req.ID)
	if leader == "" {
		leader = string(req.Addr)
	}
	return stager.Stage(ctx, leader, h.index, b[headerBytes:])
}
