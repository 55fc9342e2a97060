// Package replica is one member of a raft group: a log on disk, the loop that
// applies committed entries to a state machine, snapshots, and the typed outcome
// of a proposal. Shards and the metadata group are both built on it.
//
// It is not a state machine, and it knows nothing of what entries mean. It moves
// no bulk data either: a snapshot holds what FSM.Snapshot persists, which should
// be small.
//
// Life cycle: Open starts the member and returns before it leads; WaitLeader
// waits until it does and everything committed before has been applied; Close
// stops it. The state machine's own durable state is the truth after a restart:
// raft restores no snapshot then, it hands over the entries after the last
// snapshot, and the state machine skips those that it already holds.
//
// Failure: the first error of the log store, an append that exceeds its deadline,
// and a state machine that cannot apply an entry end the replica for good. Nothing
// is appended or applied after that, and Config.FailStop is called once so that
// the process can exit. A log whose fsync failed must not be written again.
//
// All methods of Replica may be called concurrently.
package replica

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// Replica is an open member of a raft group.
type Replica struct {
	cfg     Config
	raft    *raft.Raft
	store   *logStore
	snaps   *snapshotStore
	fsm     *fsmAdapter
	metrics *metrics
	wire    *wire

	verifying verifier
	staging   chan struct{} // holds a token while data of a snapshot is fetched

	// ref is raft once it runs, for callbacks that may come before Open has it.
	ref atomic.Pointer[raft.Raft]

	// gate guards closing; it is held for reading only while a proposal is counted.
	gate     sync.RWMutex
	closing  bool
	inflight sync.WaitGroup

	// leading guards the four fields below it.
	leading   sync.Mutex
	ready     bool          // leads, and has applied all that was committed before
	readyTerm uint64        // the term in which that is so
	changed   chan struct{} // closed, and replaced, when one of them changes

	failOnce sync.Once
	failed   chan struct{} // closed when the replica failed; failErr is set before
	failErr  error

	snapshots chan struct{} // holds a token during a Snapshot, and while one is installed
	first     atomic.Bool   // it has stood for election as the first of the founders of a new group
	caughtUp  atomic.Bool   // as a follower: has applied what was committed when it was told
	stop      chan struct{}
	ended     chan struct{} // closed before raft is shut down
	end       func()        // closes it; may be called again
	watching  sync.WaitGroup
	closed    chan struct{} // closed when Close is done; closeErr is set before
	closeErr  error
}

// Open opens or creates the member in cfg.Dir and starts it. On return all
// directories are durable; with cfg.Bootstrap so is the group.
//
// A Transport is closed if Open fails.
//
// If the state machine is Durable and holds less than the newest snapshot, it is
// restored from that snapshot before anything is applied.
func Open(cfg Config) (*Replica, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("replica %s: config: %w", cfg.Group, err)
	}
	cfg = cfg.withDefaults()
	r := &Replica{
		cfg: cfg, changed: make(chan struct{}), failed: make(chan struct{}), stop: make(chan struct{}), staging: make(chan struct{}, 1),
		snapshots: make(chan struct{}, 1), closed: make(chan struct{}),
		metrics: newMetrics(cfg.Registerer, cfg.Group),
	}
	r.ended = make(chan struct{})
	r.end = sync.OnceFunc(func() { close(r.ended) })
	if err := r.open(); err != nil {
		r.metrics.unregister()
		if c, ok := cfg.Transport.(raft.WithClose); ok {
			err = errors.Join(err, c.Close())
		}
		return nil, fmt.Errorf("replica %s: open %s: %w", cfg.Group, cfg.Dir, err)
	}
	r.watching.Add(1)
	go r.watchLeadership()
	if cfg.SnapshotEvery > 0 {
		r.watching.Go(r.takeSnapshots)
	}
	return r, nil
}

// SoleVoter tells whether the group has no other voter than this node.
func (r *Replica) SoleVoter() bool { return r.soleVoter() }

// LogWaits tells whether a write to the log waits for room on the disk. Until there is some
// nothing that is proposed comes about, or is known not to.
func (r *Replica) LogWaits() bool { return r.store.waiting.load().underWay() > 0 }

// SoleMember tells whether the group has no other member than this node, not even a
// learner.
func (r *Replica) SoleMember() bool {
	servers := r.raft.GetConfiguration().Configuration().Servers
	return len(servers) == 1 && string(servers[0].ID) == r.cfg.NodeID
}

// soleVoter tells whether the group has no other voter than this node.
func (r *Replica) soleVoter() bool {
	servers := r.raft.GetConfiguration().Configuration().Servers
	voters, self := 0, false
	for _, s := range servers {
		if s.Suffrage == raft.Voter {
			voters++
			self = self || string(s.ID) == r.cfg.NodeID
		}
	}
	return self && voters == 1
}

// Snapshot has the state machine make everything applied so far durable, keeps
// what it persists as the group's newest snapshot, and then cuts the log behind
// it: to Config.TrailingBytes if there are other members, else to Config.TrailingLogs
// entries. It returns nil, and does nothing, if no
// entry was ever applied by this process. Calls are taken one after another.
func (r *Replica) Snapshot() error {
	select {
	case r.snapshots <- struct{}{}:
		defer func() { <-r.snapshots }()
	case <-r.ended:
		return fmt.Errorf("replica %s: snapshot: %w", r.cfg.Group, cmp.Or(r.failure(), ErrClosed))
	}
	if err := r.failure(); err != nil {
		return fmt.Errorf("replica %s: snapshot: %w", r.cfg.Group, err)
	}
	if err := r.setTrailing(); err != nil {
		return fmt.Errorf("replica %s: snapshot: %w", r.cfg.Group, err)
	}
	r.fsm.setSnapshotErr(nil)
	err := r.raft.Snapshot().Error()
	if cause := r.fsm.takeSnapshotErr(); err != nil && cause != nil {
		err = cause // raft keeps only the text
	}
	if err == nil || errors.Is(err, raft.ErrNothingNewToSnapshot) {
		return nil
	}
	return fmt.Errorf("replica %s: snapshot: %w", r.cfg.Group, err)
}

// IsLeader tells whether this replica leads and has applied all that was
// committed before it did. It may be out of date when it is read.
func (r *Replica) IsLeader() bool {
	_, leads := r.leadsIn()
	return leads
}

// leadsIn is IsLeader with the term in which everything before it was applied.
func (r *Replica) leadsIn() (term uint64, leads bool) {
	r.leading.Lock()
	defer r.leading.Unlock()
	return r.readyTerm, r.ready && r.failure() == nil
}

// Term is raft's term, as this replica knows it.
func (r *Replica) Term() uint64 { return r.raft.CurrentTerm() }

// Failed is closed when the replica has failed for good; Err tells why.
func (r *Replica) Failed() <-chan struct{} { return r.failed }

// Err returns what ended the replica, or nil.
func (r *Replica) Err() error { return r.failure() }

// failure returns why the replica failed, or nil.
func (r *Replica) failure() error {
	select {
	case <-r.failed:
		return r.failErr
	default:
		return nil
	}
}

// fail ends the replica for good. It may be called from any goroutine, raft's
// own included, and does not block.
func (r *Replica) fail(err error) {
	r.failOnce.Do(func() {
		r.failErr = err
		close(r.failed)
		r.end()
		if running := r.ref.Load(); running != nil {
			go running.Shutdown() // only asks; waiting would be waiting for ourselves
		}
		r.cfg.Logger.Error("replica failed; this process must restart", "group", r.cfg.Group, "error", err)
		go r.cfg.FailStop(err)
	})
}

// Close hands leadership on if there is anyone to take it, lets proposals in
// flight finish for a few seconds, and stops every goroutine. What was
// acknowledged is durable without it. A second call waits for the first and
// returns what it returned.
func (r *Replica) Close() error {
	r.gate.Lock()
	first := !r.closing
	r.closing = true
	r.gate.Unlock()
	if first {
		r.closeErr = r.close()
		close(r.closed)
	}
	<-r.closed
	return r.closeErr
}

func (r *Replica) close() error {
	if r.failure() == nil {
		if r.raft.State() == raft.Leader && len(r.raft.GetConfiguration().Configuration().Servers) > 1 {
			if err := r.await(r.raft.LeadershipTransfer()); err != nil {
				r.cfg.Logger.Info("leadership not handed on", "group", r.cfg.Group, "error", err)
			}
		}
		// Raft answers no proposal that it has not taken up when it shuts down; await gives those up.
		idle := make(chan struct{})
		go func() { r.inflight.Wait(); close(idle) }()
		select {
		case <-idle:
		case <-r.failed:
		case <-time.After(5 * time.Second):
		}
	}
	close(r.stop)
	r.end()
	r.store.close()
	err := r.raft.Shutdown().Error()
	if r.failure() != nil {
		err = errors.Join(err, r.wire.Close()) // raft does it only for who shuts it down first
	}
	r.watching.Wait()
	err = errors.Join(err, r.store.backend.Close())
	r.metrics.unregister()
	r.leading.Lock()
	r.ready = false
	r.leading.Unlock()
	if err != nil {
		return fmt.Errorf("replica %s: close: %w", r.cfg.Group, err)
	}
	return nil
}
