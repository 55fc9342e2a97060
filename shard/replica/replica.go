// Package replica implements a member of a raft group: a log on disk, the loop that applies
// committed entries to a state machine, snapshots, and the typed outcome of a proposal. Shards and
// the metadata group are both built on it.
//
// It is not a state machine, and it does not know what entries mean. It moves no bulk data either:
// a snapshot holds what FSM.Snapshot persists, which should be small. It is built on raftlog (log
// and snapshots on disk), wire (the messages between raft and its transport), transport, and
// raftlogger.
//
// Life cycle: Open starts the member and returns before it leads; WaitLeader waits until it leads
// and has applied everything committed before; Close stops it. After a restart the state machine's
// own durable state is authoritative: raft restores no snapshot, but passes on the entries after
// the last snapshot, and the state machine skips the ones that it already holds.
//
// Failure: the first error of the log, an append that exceeds its deadline, and a state machine
// that cannot apply an entry end the replica. Nothing is appended or applied after that, and
// Config.FailStop is called once so that the process can exit. A log whose fsync failed must not be
// written again.
//
// Goroutines, besides raft's own: one that follows changes of the leader (watchLeadership), one
// that takes snapshots regularly if Config.SnapshotEvery is set, the wire's, and one for every call
// that waits for raft. Close waits for all of them.
//
// All methods of Replica may be called concurrently.
package replica

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"cordwood/shard/replica/raftlog"
	"cordwood/shard/replica/raftlog/snapshot"
	"cordwood/shard/replica/wire"
)

// Replica is an open member of a raft group.
type Replica struct {
	*life
	cfg     Config
	raft    *raft.Raft
	running running // gives callbacks access to raft
	log     *raftlog.Log
	snaps   *snapshot.Store
	fsm     *fsmAdapter
	wire    *wire.Wire
	group   group
	install installer
	metrics *metrics

	leading   leadership
	verifying verifier
	snapshots snapshots
	first     atomic.Bool // whether it stands for election as the first founder of a new group
	caughtUp  atomic.Bool // as a follower: has applied what was committed when a leader first reported it

	watching sync.WaitGroup
	closed   chan struct{} // closed when Close is done; closeErr is set before
	closeErr error
}

// SoleVoter reports whether the group has no other voter than this node.
func (r *Replica) SoleVoter() bool { return r.group.isSoleVoter() }

// SoleMember reports whether the group has no other member than this node, not even a
// learner.
func (r *Replica) SoleMember() bool { return r.group.isSoleMember() }

// LogWaits reports whether a write to the log waits for disk space. Until there is space, no
// proposal is committed or known to be refused.
func (r *Replica) LogWaits() bool { return r.log.Waiting() }

// Term returns raft's term, as this replica knows it.
func (r *Replica) Term() uint64 { return r.raft.CurrentTerm() }

// Leader returns the node id of the leader that this member knows, or an empty text.
func (r *Replica) Leader() string {
	_, id := r.raft.LeaderWithID()
	return string(id)
}

// Err returns the error that ended the replica, or nil.
func (r *Replica) Err() error { return r.failure() }

// fail ends the replica. Any goroutine may call it, including raft's. It does not block.
func (r *Replica) fail(err error) {
	r.markFailed(err, func() {
		if now := r.running.Load(); now != nil {
			go now.Shutdown() // do not wait, because this may be one of raft's goroutines
		}
		r.cfg.Logger.Error("the replica failed; this process must restart", "group", r.cfg.Group, "error", err)
		go r.cfg.FailStop(err)
	})
}

// closePatience is how long Close waits for proposals in flight.
const closePatience = 5 * time.Second

// Close transfers leadership if another member can lead, lets proposals in flight finish for a few
// seconds, and stops every goroutine. Acknowledged entries are durable even without Close. A second
// call waits for the first and returns the same result.
func (r *Replica) Close() error {
	if r.beginClose() {
		if err := r.close(); err != nil {
			r.closeErr = fmt.Errorf("replica %s: close: %w", r.cfg.Group, err)
		}
		close(r.closed)
	}
	<-r.closed
	return r.closeErr
}

func (r *Replica) close() error {
	if r.failure() == nil {
		r.finish()
	}
	close(r.stop)
	r.end()
	r.log.EndWaits()
	err := r.raft.Shutdown().Error()
	if r.failure() != nil {
		err = errors.Join(err, r.wire.Close()) // raft closes it only for the first call that shuts it down
	}
	r.watching.Wait()
	err = errors.Join(err, r.log.Close())
	r.metrics.unregister()
	r.leading.set(0)
	return err
}

// finish transfers leadership and waits for proposals in flight.
func (r *Replica) finish() {
	if r.raft.State() == raft.Leader && len(r.group.servers()) > 1 {
		if err := r.await(r.raft.LeadershipTransfer()); err != nil {
			r.cfg.Logger.Info("could not transfer leadership", "group", r.cfg.Group, "error", err)
		}
	}
	// When raft shuts down, it does not answer proposals in its queue. await abandons those.
	idle := make(chan struct{})
	go func() { r.inflight.Wait(); close(idle) }()
	select {
	case <-idle:
	case <-r.failed:
	case <-time.After(closePatience):
	}
}
