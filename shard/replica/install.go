package replica

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"cordwood/shard/replica/raftlog"
	"cordwood/shard/replica/raftlog/snapshot"
)

const (
	// maxStaged is the maximum size in bytes of a snapshot that refers to data.
	maxStaged = 256 << 20
	// stageHold is how long the leader waits for an answer while data is fetched. After that it
	// receives an error and sends the snapshot again later, or a newer one.
	stageHold = time.Minute
)

// errOutdated is the error for a snapshot that is not installed because the member already has the
// state that it describes.
var errOutdated = errors.New("this member has applied more than the snapshot meanwhile")

// installer handles the snapshots that a leader sends. Raft does too little for them: it installs
// every snapshot, even one that is older than its own state, and it neither votes nor appends until
// the state machine has the state that the snapshot describes. Therefore
//
//  1. a snapshot of entries that were already applied here is answered, and not installed
//     (outdated);
//  2. the state machine fetches the data that the snapshot refers to (Stager), for a minute at
//     most; the leader tries again if that was too short;
//  3. this member must not take a snapshot of its own at the same time (snapshots.token): raft
//     would record it as its newest one after it had installed the leader's;
//  4. raft gets the snapshot. Before raft stores it, it calls beforeCreate in its main loop, where
//     nothing is appended or committed: if the member has applied more since step 1, the snapshot
//     is refused after all. Otherwise the log may be cleared (History.SetReplacing).
//
// The wire runs take in a separate goroutine. The token of step 3 is taken before raft gets the
// snapshot and held until raft has answered; staging is held during step 2 only.
type installer struct {
	r    *Replica
	past *raftlog.History
	// staging holds a token while the data of a snapshot is fetched.
	staging chan struct{}
	// installing means that raft is about to install a snapshot of another member.
	installing atomic.Bool
}

// take answers a snapshot from a leader, or passes it to raft.
func (i *installer) take(rpc raft.RPC, req *raft.InstallSnapshotRequest) {
	r := i.r
	old, err := i.outdated(req.LastLogIndex, req.LastLogTerm)
	switch {
	case err == nil && old && req.Term >= r.raft.CurrentTerm():
		answer(rpc, req.Term, true, nil)
		return
	case err == nil:
		err = i.stage(&rpc, req)
	}
	if err != nil {
		answer(rpc, r.raft.CurrentTerm(), false,
			fmt.Errorf("replica %s on node %s: snapshot of index %d is not installed yet: %w",
				r.cfg.Group, r.cfg.NodeID, req.LastLogIndex, err))
		return
	}
	rpc.RespChan <- i.pass(rpc)
}

// answer answers a snapshot that is not passed to raft.
func answer(rpc raft.RPC, term uint64, success bool, err error) {
	_, _ = io.Copy(io.Discard, rpc.Reader) // the connection must be read to its end
	header := raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax}
	rpc.Respond(&raft.InstallSnapshotResponse{RPCHeader: header, Term: term, Success: success}, err)
}

// pass passes a snapshot to raft and returns raft's answer.
func (i *installer) pass(rpc raft.RPC) raft.RPCResponse {
	r := i.r
	closed := raft.RPCResponse{Error: raft.ErrRaftShutdown}
	select {
	case r.snapshots.token <- struct{}{}:
		defer func() { <-r.snapshots.token }()
	case <-r.wire.Done():
		return closed
	}
	i.installing.Store(true)
	defer func() {
		i.installing.Store(false)
		i.past.SetReplacing(false)
	}()
	installed := make(chan raft.RPCResponse, 1)
	rpc.RespChan = installed
	if !r.wire.Pass(rpc) {
		return closed
	}
	select {
	case response := <-installed:
		if response.Error == nil {
			r.caughtUp.Store(false)
		}
		return response
	case <-r.wire.Done():
		return closed
	}
}

// beforeCreate is the callback snapshot.Store.BeforeCreate.
func (i *installer) beforeCreate(index, term uint64) error {
	if !i.installing.Load() {
		return nil // this member's own snapshot
	}
	old, err := i.outdated(index, term)
	if err != nil {
		return err
	}
	if old {
		return errOutdated
	}
	i.past.SetReplacing(true)
	return nil
}

// outdated reports whether this member has already applied everything that a snapshot of another
// member covers. Such a snapshot was delayed while its leader gave up and sent the next one. An
// error means that the two members have different histories, or that this cannot be determined.
func (i *installer) outdated(index, term uint64) (bool, error) {
	applied := i.r.raft.AppliedIndex()
	if applied < index {
		return false, nil
	}
	have, known, err := i.termOf(index)
	switch {
	case err != nil:
		return false, err
	case !known:
		return false, fmt.Errorf("a snapshot of index %d is late: this member has applied entries up to %d, "+
			"and removed the entries before that from its log", index, applied)
	case have != term:
		err := i.past.Diverged("the leader has a snapshot of index %d and term %d, and this replica applied an entry of "+
			"term %d there", index, term, have)
		i.r.log.Latch(err)
		return false, err
	}
	return true, nil
}

// termOf returns the term of the entry with an index if the log or the newest snapshot still has
// it.
func (i *installer) termOf(index uint64) (term uint64, known bool, err error) {
	var l raft.Log
	err = i.r.log.GetLog(index, &l)
	if err == nil {
		return l.Term, true, nil
	}
	if !errors.Is(err, raft.ErrLogNotFound) {
		return 0, false, err
	}
	newest, err := i.r.snaps.Newest()
	if err != nil || newest == nil || newest.Index != index {
		return 0, false, err
	}
	return newest.Term, true, nil
}

// stage lets the state machine fetch the data that a snapshot refers to, if the state machine is a
// Stager. rpc gets a new reader of the snapshot.
func (i *installer) stage(rpc *raft.RPC, req *raft.InstallSnapshotRequest) error {
	stager, ok := i.r.fsm.fsm.(Stager)
	if !ok || req.Term < i.r.raft.CurrentTerm() {
		return nil // raft refuses a snapshot of an older term
	}
	if req.Size > maxStaged {
		return fmt.Errorf("it has %d bytes, at most %d are allowed", req.Size, maxStaged)
	}
	b, err := io.ReadAll(io.LimitReader(rpc.Reader, req.Size))
	if err != nil {
		return err
	}
	rpc.Reader = bytes.NewReader(b)
	head, err := snapshot.ReadHeader(bytes.NewReader(b))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), stageHold)
	defer cancel()
	go func() {
		select {
		case <-i.r.wire.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	select {
	case i.staging <- struct{}{}:
		defer func() { <-i.staging }()
	case <-ctx.Done():
		return ctx.Err()
	}
	leader := string(req.ID)
	if leader == "" {
		leader = string(req.Addr)
	}
	return stager.Stage(ctx, leader, head.Index, b[snapshot.HeaderBytes:])
}
