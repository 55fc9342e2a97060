package replica

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"cordwood/shard/replica/raftlog"
	"cordwood/shard/replica/raftlog/snapshot"
	"cordwood/shard/replica/raftlogger"
	"cordwood/shard/replica/wire"
)

// Open opens or creates the member in cfg.Dir and starts it. When it returns, all directories are
// durable, and with cfg.Bootstrap the group is too.
//
// If Open fails, it closes the Transport.
//
// If the state machine is Durable and behind the newest snapshot, it is restored from the snapshot
// before anything is applied.
func Open(cfg Config) (*Replica, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("replica %s: config: %w", cfg.Group, err)
	}
	cfg = cfg.withDefaults()
	r := &Replica{
		life: newLife(), cfg: cfg, closed: make(chan struct{}),
		metrics: newMetrics(cfg.Registerer, cfg.Group),
	}
	r.leading.init()
	r.verifying = verifier{life: r.life, ask: r.verifyOnce}
	r.snapshots = snapshots{of: r, token: make(chan struct{}, 1)}
	o := opening{r: r, cfg: cfg}
	if err := o.run(); err != nil {
		r.metrics.unregister()
		if c, ok := cfg.Transport.(raft.WithClose); ok {
			err = errors.Join(err, c.Close())
		}
		return nil, fmt.Errorf("replica %s: open %s: %w", cfg.Group, cfg.Dir, err)
	}
	r.watching.Go(r.watchLeadership)
	if cfg.SnapshotEvery > 0 {
		r.watching.Go(r.snapshots.takeRegularly)
	}
	return r, nil
}

// opening is one Open. The checks are in this order, so that no step trusts data that a later step
// would find damaged:
//
//  1. The mark of a member that diverged (raftlog.CheckNotDiverged): such a member does not open
//     at all.
//  2. Every snapshot, completely (snapshot.VerifyAll), after unfinished snapshots that crashes
//     left behind were removed.
//  3. Every byte of the log, before the library sees it (raftlog.Open). In a group of one, damaged
//     entries that the newest snapshot covers may be cut off.
//  4. The state machine is restored if it is behind the newest snapshot (catchUp).
//  5. A snapshot that was stored but not installed clears the log (raftlog.FinishInstall).
//  6. Log and state have the same past (Log.Protect). From here on no applied entry can be deleted
//     from the log.
//  7. There is no gap between snapshot, log and state (raftlog.CheckContinuity).
//
// Steps 1, 2 and 7 change nothing. Step 3 changes nothing if it fails. Then the wire is created, an
// empty log gets its group (bootstrap), and raft starts: it reads the entries after the newest
// snapshot and waits for a leader, or stands for election.
type opening struct {
	r      *Replica
	cfg    Config
	logger hclog.Logger // for the libraries
	past   *raftlog.History
	// joining is nil unless the member is a new one of a group that exists.
	joining *joining
}

func (o *opening) run() (err error) {
	o.logger = raftlogger.New(o.cfg.Logger.With("group", o.cfg.Group), o.cfg.lostPeers())
	if err := o.openLog(); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.r.log.Close())
		}
	}()
	if err := o.checkState(); err != nil {
		return err
	}
	if err := o.makeWire(); err != nil {
		return err
	}
	return o.start()
}

// openLog does steps 1 to 3.
func (o *opening) openLog() error {
	r, cfg := o.r, o.cfg
	if err := raftlog.MakeDirs(cfg.Dir); err != nil {
		return err
	}
	if err := raftlog.CheckNotDiverged(cfg.Dir); err != nil {
		return err
	}
	if err := snapshot.Sweep(cfg.Dir); err != nil {
		return fmt.Errorf("snapshots: %w", err)
	}
	newest, err := snapshot.VerifyAll(cfg.Dir)
	if err != nil {
		return err
	}
	unneeded := uint64(0)
	if durable, ok := cfg.FSM.(Durable); ok {
		unneeded = raftlog.Unneeded(newest, cfg.NodeID, durable.AppliedIndex())
	}
	r.log, err = raftlog.Open(raftlog.Config{
		Dir: cfg.Dir, Kind: cfg.Log, Store: cfg.Store, SegmentBytes: cfg.SegmentBytes,
		AppendDeadline: cfg.AppendDeadline, DiskFull: cfg.DiskFull, Unneeded: unneeded,
		Fail: func(err error) {
			r.metrics.failures.Inc()
			r.fail(err)
		},
		Logger: cfg.Logger.With("group", cfg.Group), Library: o.logger,
		Appended: r.metrics.appended, Synced: r.metrics.synced, Cut: r.metrics.cut.Inc,
	})
	return err
}

// checkState does steps 4 to 7.
func (o *opening) checkState() (err error) {
	r, fsm := o.r, o.cfg.FSM
	if r.snaps, err = snapshot.Open(o.cfg.Dir, o.logger); err != nil {
		return fmt.Errorf("snapshots: %w", err)
	}
	r.fsm = newFSMAdapter(fsm, r.fail)
	if err := r.fsm.catchUp(r.snaps); err != nil {
		return err
	}
	if err := raftlog.FinishInstall(r.log, r.snaps); err != nil {
		return err
	}
	o.past = &raftlog.History{
		Dir:       o.cfg.Dir,
		Committed: func() uint64 { return max(r.fsm.Applied(), r.running.commitIndex()) },
	}
	if termed, ok := fsm.(Termed); ok {
		o.past.Command, o.past.Term = termed.AppliedIndex(), termed.AppliedTerm()
	}
	if err := r.log.Protect(o.past); err != nil {
		return err
	}
	held := r.fsm.Applied()
	if ahead, ok := fsm.(Ahead); ok && held <= ahead.AheadIndex() {
		held = 0 // the state need not be in the log
	}
	return raftlog.CheckContinuity(r.log, r.snaps, held)
}

// makeWire creates the wire between raft and the transport.
func (o *opening) makeWire() error {
	r, cfg := o.r, o.cfg
	fenced, err := readFence(cfg.Dir)
	if err != nil {
		return err
	}
	if o.joining, err = o.joins(); err != nil {
		return err
	}
	fence := refuseFenced(cfg.Group, fenced, &r.running)
	below := cfg.Transport
	if below == nil {
		below = wire.Loopback(raft.ServerAddress(cfg.NodeID))
	}
	conf := wire.Config{
		Below: below, Ended: r.ended, Leads: r.running.leads, LastIndex: r.running.lastIndex,
		Refuse: func(node string, request any) string {
			return cmp.Or(fence(node), o.joining.refuse(request))
		},
		MayNotLead: o.joining.mayNotLead,
		Stuck:      func() bool { return r.log.BusyFor() > stuckAfter },
		Snapshot:   func(rpc raft.RPC, req *raft.InstallSnapshotRequest) { r.install.take(rpc, req) },
	}
	if bounded, ok := cfg.FSM.(Bounded); ok {
		conf.Crowded = bounded.Crowded
		conf.Stuck = func() bool { return r.log.BusyFor() > stuckAfter || bounded.Stuck() }
	}
	r.wire = wire.New(conf)
	return nil
}

// joins returns the state of a member that is new in an existing group, or nil.
func (o *opening) joins() (*joining, error) {
	last, err := o.r.log.LastIndex()
	if err != nil {
		return nil, err
	}
	newest, err := o.r.snaps.Newest()
	if err != nil {
		return nil, err
	}
	fresh := last == 0 && newest == nil && !o.cfg.Bootstrap && o.cfg.Progress != nil
	return joins(o.cfg, fresh, &o.r.running)
}

// start creates the group if there is none, and starts raft.
func (o *opening) start() (err error) {
	r, cfg := o.r, o.cfg
	newest, err := r.snaps.Newest()
	if err != nil {
		return err
	}
	covered := uint64(0)
	if newest != nil {
		covered = newest.Index
		r.fsm.tookSnapshot(snapshotTime(newest.ID))
	}
	if err := r.log.CountCovered(covered); err != nil {
		return err
	}
	if cfg.KeepLog != nil {
		r.log.Keep(cfg.KeepLog, cfg.TrailingBytes)
	}
	conf := raftConfig(cfg)
	conf.Logger = o.logger
	if cfg.Bootstrap {
		if err := o.bootstrap(conf); err != nil {
			return fmt.Errorf("bootstrap: %w", err)
		}
	}
	r.install = installer{r: r, past: o.past, staging: make(chan struct{}, 1)}
	r.snaps.BeforeCreate = r.install.beforeCreate
	r.raft, err = raft.NewRaft(conf, r.fsm, r.log, r.log, r.snaps, r.wire.ForRaft())
	if err != nil {
		return err
	}
	r.log.Loaded(covered)
	r.running.Store(r.raft)
	r.group = group{r.raft, r.wire, cfg.NodeID}
	r.metrics.watch(r)
	select {
	case <-r.failed:
		r.raft.Shutdown()
	default:
	}
	r.wire.Start()
	if o.joining != nil {
		r.watching.Go(func() { o.joining.learn(r.ended, cfg.Progress) })
	}
	return o.elect()
}

// elect makes the member stand for election at once if no other member can lead, or if it is the
// first founder.
func (o *opening) elect() error {
	r, cfg := o.r, o.cfg
	alone := r.group.isSoleVoter()
	if members := r.group.servers(); cfg.Transport == nil && len(members) > 0 && !alone {
		// Raft would wait for the votes of others for ever.
		return errors.Join(fmt.Errorf("its members are %v by log and snapshots, and node %s should be the only one: "+
			"the header of the newest snapshot is damaged, or the directory belongs to another node; restore it from a backup",
			members, cfg.NodeID), r.raft.Shutdown().Error())
	}
	if alone || cfg.Transport == nil {
		r.wire.ElectNow()
	} else if others, ok := cfg.Transport.(raft.WithPreVote); ok && cfg.Bootstrap {
		first := firstLeader{r: r, others: others}
		r.watching.Go(first.elect)
	}
	return nil
}

// bootstrap creates a group in an empty log, with the founders as its voters.
func (o *opening) bootstrap(conf *raft.Config) error {
	r := o.r
	last, err := r.log.LastIndex()
	if err != nil {
		return err
	}
	newest, err := r.snaps.Newest()
	if err != nil {
		return err
	}
	if last > 0 || newest != nil {
		return nil
	}
	// A crash during an earlier bootstrap may leave a term but no log. Nothing was ever stored
	// here, so the term has no meaning.
	if err := r.log.SetTerm(0); err != nil {
		return err
	}
	var founders raft.Configuration
	for _, id := range o.cfg.Founders {
		founders.Servers = append(founders.Servers, voter(id))
	}
	return raft.BootstrapCluster(conf, r.log, r.log, r.snaps, r.wire.ForRaft(), founders)
}

// voter returns a node as a voter of a group. Its address is its id; see Config.NodeID.
func voter(id string) raft.Server {
	return raft.Server{Suffrage: raft.Voter, ID: raft.ServerID(id), Address: raft.ServerAddress(id)}
}
