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
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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

	// leading guards the three fields below it.
	leading sync.Mutex
	ready   bool          // leads, and has applied all that was committed before
	changed chan struct{} // closed, and replaced, when ready changes

	failOnce sync.Once
	failed   chan struct{} // closed when the replica failed; failErr is set before
	failErr  error

	snapshotMu sync.Mutex  // one Snapshot at a time, and none while one is installed
	caughtUp   atomic.Bool // as a follower: has applied what was committed when it was told
	stop       chan struct{}
	watching   sync.WaitGroup
	closeOnce  sync.Once
	closeErr   error
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
		metrics: newMetrics(cfg.Registerer, cfg.Group),
	}
	if err := r.open(); err != nil {
		r.metrics.unregister()
		if c, ok := cfg.Transport.(raft.WithClose); ok {
			err = errors.Join(err, c.Close())
		}
		return nil, fmt.Errorf("replica %s: open %s: %w", cfg.Group, cfg.Dir, err)
	}
	r.watching.Add(1)
	go r.watchLeadership()
	return r, nil
}

func (r *Replica) open() (err error) {
	cfg := r.cfg
	logger := newHCLogger(cfg.Logger.With("group", cfg.Group))
	if err := makeDirs(filepath.Join(cfg.Dir, "log"), filepath.Join(cfg.Dir, "snapshots")); err != nil {
		return err
	}
	g := newGuard(cfg.AppendDeadline, cfg.Logger.With("group", cfg.Group), cfg.DiskFull, func(err error) {
		r.metrics.failed()
		r.fail(err)
	})
	g.synced = r.metrics.synced
	backend, err := openBackend(cfg, g, logger)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, backend.Close())
		}
	}()
	if err := sweepSnapshots(filepath.Join(cfg.Dir, "snapshots")); err != nil {
		return fmt.Errorf("snapshots: %w", err)
	}
	if _, _, err := verifySnapshots(filepath.Join(cfg.Dir, "snapshots"), nil); err != nil {
		return err
	}
	snaps, err := raft.NewFileSnapshotStoreWithLogger(cfg.Dir, 2, logger)
	if err != nil {
		return fmt.Errorf("snapshots: %w", err)
	}
	r.store = newLogStore(backend, g, r.metrics, cfg.Log)
	r.fsm = newFSMAdapter(cfg.FSM, r.fail)
	if err := r.fsm.catchUp(snaps); err != nil {
		return err
	}
	if err := finishInstall(r.store, snaps); err != nil {
		return err
	}
	held := r.fsm.Applied()
	if ahead, ok := cfg.FSM.(Ahead); ok && held <= ahead.AheadIndex() {
		held = 0
	}
	if err := checkContinuity(r.store, snaps, held); err != nil {
		return err
	}

	below := cfg.Transport
	if below == nil {
		below = newLoopback(raft.ServerAddress(cfg.NodeID))
	}
	var transport raft.Transport
	fenced, err := readFence(cfg.Dir)
	if err != nil {
		return err
	}
	r.wire, transport = newWire(below, func() bool { return g.busyFor() > stuckAfter }, r.fence(fenced), r.lastIndex)
	r.wire.snapshot = r.takeSnapshot
	conf := raftConfig(cfg)
	conf.Logger = logger
	if cfg.Bootstrap {
		if err := bootstrap(conf, cfg.Founders, r.store, snaps, transport); err != nil {
			return fmt.Errorf("bootstrap: %w", err)
		}
	}
	r.raft, err = raft.NewRaft(conf, r.fsm, r.store, r.store, snaps, transport)
	if err != nil {
		return err
	}
	covered := uint64(0)
	if list, err := snaps.List(); err == nil && len(list) > 0 {
		covered = list[0].Index
		r.fsm.tookSnapshot(snapshotTime(list[0].ID))
	}
	r.store.loaded(covered)
	r.ref.Store(r.raft)
	r.metrics.watch(r)
	select {
	case <-r.failed:
		r.raft.Shutdown()
	default:
	}
	r.wire.start()
	members := r.raft.GetConfiguration().Configuration().Servers
	if cfg.Transport == nil && len(members) > 0 && !r.soleVoter() {
		// It would wait for the votes of others for ever.
		return errors.Join(fmt.Errorf("its members are %v by log and snapshots, and node %s should be the only one: the head of the newest snapshot is damaged, or the directory is another node's; restore it from a backup",
			members, cfg.NodeID), r.raft.Shutdown().Error())
	}
	if r.soleVoter() || cfg.Transport == nil {
		r.wire.electNow()
	}
	return nil
}

// lastIndex is the last index of the log, once raft runs.
func (r *Replica) lastIndex() uint64 {
	if running := r.ref.Load(); running != nil {
		return running.LastIndex()
	}
	return 0
}

// finishInstall clears the log if a snapshot of another member was stored and a crash
// came before raft did it. Entries up to the snapshot's that are not those that it was
// made of would else keep raft from appending what follows it.
func finishInstall(store *logStore, snaps raft.SnapshotStore) error {
	list, err := snaps.List()
	if err != nil || len(list) == 0 {
		return err
	}
	newest := list[0]
	first, err := store.FirstIndex()
	if err != nil {
		return err
	}
	last, err := store.LastIndex()
	if err != nil || last == 0 || first > newest.Index {
		return err
	}
	if last >= newest.Index {
		var l raft.Log
		if err := store.GetLog(newest.Index, &l); err != nil {
			return err
		}
		if l.Term == newest.Term {
			return nil
		}
	}
	if err := store.DeleteRange(first, last); err != nil {
		return fmt.Errorf("clear the log behind an installed snapshot: %w", err)
	}
	return nil
}

// checkContinuity finds holes: entries that neither the log nor the state has. What
// is appended behind a hole would be taken for what the state already holds.
func checkContinuity(store *logStore, snaps raft.SnapshotStore, applied uint64) error {
	first, err := store.FirstIndex()
	if err != nil {
		return err
	}
	last, err := store.LastIndex()
	if err != nil {
		return err
	}
	list, err := snaps.List()
	if err != nil {
		return err
	}
	covered := uint64(0) // by the newest snapshot
	if len(list) > 0 {
		covered = list[0].Index
	}
	switch {
	case last > 0 && first > covered+1:
		return damagedf("the log begins with entry %d and the newest snapshot ends with entry %d: those between are lost; restore the directory from a replica or a backup", first, covered)
	case max(last, covered) < applied:
		return damagedf("the state holds entries up to %d and the log ends with entry %d: its end is lost; restore the directory from a replica or a backup", applied, max(last, covered))
	}
	if last > 0 {
		if term, err := store.GetUint64([]byte("CurrentTerm")); err != nil || term == 0 {
			return damagedf("the log has entries up to %d and no current term: its stable values are lost or damaged (%w); restore the directory from a replica or a backup", last, err)
		}
	}
	return nil
}

// bootstrap makes an empty store a group of the given voters.
func bootstrap(conf *raft.Config, founders []string, store *logStore, snaps raft.SnapshotStore, transport raft.Transport) error {
	last, err := store.LastIndex()
	if err != nil {
		return err
	}
	list, err := snaps.List()
	if err != nil {
		return err
	}
	if last > 0 || len(list) > 0 {
		return nil
	}
	// A crash in the middle of an earlier bootstrap leaves the term behind, but no
	// log: nothing was ever stored here, so the term means nothing.
	if err := store.SetUint64([]byte("CurrentTerm"), 0); err != nil {
		return err
	}
	var group raft.Configuration
	for _, id := range founders {
		group.Servers = append(group.Servers, raft.Server{Suffrage: raft.Voter, ID: raft.ServerID(id), Address: raft.ServerAddress(id)})
	}
	return raft.BootstrapCluster(conf, store, store, snaps, transport, group)
}

// SoleVoter tells whether the group has no other voter than this node.
func (r *Replica) SoleVoter() bool { return r.soleVoter() }

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
	r.snapshotMu.Lock()
	defer r.snapshotMu.Unlock()
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

// Stats is a picture of a replica.
type Stats struct {
	Group string
	// State is Leader, Follower, Candidate, Shutdown or Failed.
	State string
	// Leader is the node id of the known leader, or empty.
	Leader string
	Term   uint64
	// LastIndex is the last entry of the log, CommitIndex the last committed one,
	// AppliedIndex the last command given to the state machine.
	LastIndex, CommitIndex, AppliedIndex uint64
	// LogBytes is what LogBytes returns.
	LogBytes int64
	// ToldIndex is the highest index that this member knows to be committed, if it is a
	// follower by what leaders said: it has not caught up while AppliedIndex is behind.
	ToldIndex uint64
	// CaughtUp tells that everything up to ToldIndex is applied.
	CaughtUp bool
	// Members are those of the group, as this one knows them.
	Members []Member
}

// Member is a member of the group.
type Member struct {
	NodeID string
	Voter  bool
	// Silent is how long ago it last answered this member, which leads; negative if it
	// has not answered at all, and 0 for this member itself.
	Silent time.Duration
	// LastIndex is the last entry of its log, by what it said last; of this member itself
	// the last one of its own.
	LastIndex uint64
}

// Stats returns the replica's present state.
func (r *Replica) Stats() Stats {
	_, leader := r.raft.LeaderWithID()
	s := Stats{
		Group: r.cfg.Group, State: r.raft.State().String(), Leader: string(leader), Term: r.raft.CurrentTerm(),
		LastIndex: r.raft.LastIndex(), CommitIndex: r.raft.CommitIndex(), AppliedIndex: r.fsm.Applied(), LogBytes: r.LogBytes(),
	}
	if r.failure() != nil {
		s.State = "Failed"
	}
	s.ToldIndex = max(s.CommitIndex, r.wire.told.Load())
	s.CaughtUp = r.hasApplied(s.ToldIndex) && (s.State == raft.Leader.String() || s.Leader != "" && s.ToldIndex > 0)
	s.Members = r.members()
	return s
}

// LogBytes is about how many bytes of entries the log holds that the last
// snapshot did not cut off; it is right to 64 KiB and one entry.
func (r *Replica) LogBytes() int64 { return r.store.Bytes() }

// LogBytesAfter is about how many bytes of entries the log holds behind an index.
func (r *Replica) LogBytesAfter(index uint64) int64 { return r.store.BytesAfter(index) }

// IsLeader tells whether this replica leads and has applied all that was
// committed before it did. It may be out of date when it is read.
func (r *Replica) IsLeader() bool {
	r.leading.Lock()
	defer r.leading.Unlock()
	return r.ready && r.failure() == nil
}

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
		if running := r.ref.Load(); running != nil {
			running.Shutdown() // only asks; waiting would be waiting for ourselves
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
	r.closeOnce.Do(func() { r.closeErr = r.close() })
	return r.closeErr
}

func (r *Replica) close() error {
	r.gate.Lock()
	r.closing = true
	r.gate.Unlock()

	if r.failure() == nil {
		if r.raft.State() == raft.Leader && len(r.raft.GetConfiguration().Configuration().Servers) > 1 {
			if err := r.raft.LeadershipTransfer().Error(); err != nil {
				r.cfg.Logger.Info("leadership not handed on", "group", r.cfg.Group, "error", err)
			}
		}
		// raft answers no proposal that it has not taken up when it shuts down.
		idle := make(chan struct{})
		go func() { r.inflight.Wait(); close(idle) }()
		select {
		case <-idle:
		case <-r.failed:
		case <-time.After(5 * time.Second):
		}
	}
	close(r.stop)
	r.store.close()
	err := r.raft.Shutdown().Error()
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

// makeDirs makes the directories and every missing one above them durable.
func makeDirs(dirs ...string) error {
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		parent := filepath.Dir(dir)
		for _, d := range []string{dir, parent, filepath.Dir(parent)} {
			if err := syncDir(d); err != nil {
				return fmt.Errorf("sync directory: %w", err)
			}
		}
	}
	return nil
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

var _ io.Closer = (*Replica)(nil)
