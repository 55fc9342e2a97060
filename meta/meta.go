// Package meta is the metadata group: the replicated state machine with the databases, tables, pipelines, shards and
// nodes, and the service with which others change and follow it.
//
// Each subject has a pair of files. *_service.go runs before a command enters the log: it checks and completes the
// command without reading the state. *_apply.go runs after that: it changes the state, as a function of only the
// state and the command. The state itself, and the rules by which a table may change, are in catalog; the rules of
// placement are in placement; others reach the group through metaclient.
//
// It holds no rows, and it does not act on shards. The nodes that watch it do.
//
// Life cycle: Open starts the member, WaitReady waits until it can serve, Close stops it. All methods of Meta may be
// called concurrently.
package meta

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	"github.com/prometheus/client_golang/prometheus"

	"cordwood/meta/catalog"
	"cordwood/proto/metapb"
	"cordwood/proto/shares"
	"cordwood/shard/replica"
	"cordwood/shard/replica/raftlog"
	"cordwood/shard/replica/raftlog/guard"
)

// StateFile is the name of the state's file in Config.Dir.
const StateFile = "state.db"

// commitTimeout is the maximum time until a follower learns that a command was committed if nothing
// else happens. Watches on the follower get the command that much later. Shards use a longer time,
// because there are many of them.
const commitTimeout = 20 * time.Millisecond

// Config configures Open. Dir and NodeID are required.
type Config struct {
	// Dir holds the state, the raft log and the snapshots. It is created if it is missing.
	Dir string
	// NodeID is the persistent id of this node.
	NodeID string
	// Transport reaches the other members. If it is nil, this node is the only member.
	Transport raft.Transport
	// Bootstrap turns an empty Dir into a group of the Founders, to which others may be added. Without a Transport,
	// this always happens.
	Bootstrap bool
	// Founders are the node ids of a new group's voters, NodeID among them; each of them
	// bootstraps with the same list. The default value is this node alone.
	Founders []string
	// Logger receives events. If it is nil, they are discarded.
	Logger *slog.Logger
	// LogStore, if set, opens the log; see replica.Config.Store.
	LogStore func() (raftlog.Store, error)
	// ObjectStorage says that the nodes have object storage, which the table option iceberg needs.
	ObjectStorage bool
	// Registerer receives the metrics. If it is nil, none are kept.
	Registerer prometheus.Registerer
	// FailStop is called once when the group's log or state has failed, or a
	// command cannot be applied. The process should exit without closing anything.
	FailStop func(error)
	// LogDeadline is how long one write to the log may take before it counts as failed.
	// The default value is the default of replica.Config.
	LogDeadline time.Duration
	// DiskFull, if not nil, is called when a write fails for lack of space.
	DiskFull func(error)
	// HeartbeatTimeout is raft's heartbeat timeout. The default value is the default of
	// replica.Config.
	HeartbeatTimeout time.Duration
	// DownAfter is how long a node may be silent before it counts as down. The default
	// value is 10 s.
	DownAfter time.Duration
	// Now is the clock for measuring silence. The default value is time.Now.
	Now func() time.Time
	// MaxTables is the maximum number of tables after a command that this member proposes. The
	// default value is catalog.MaxTables.
	MaxTables int
	// SnapshotEvery is the number of commands after which a snapshot is taken and the log is cut.
	// The default value is 8192.
	SnapshotEvery uint64
	// SnapshotBytes is the size of commands after which the log is cut as well, since texts of
	// pipelines are large. The default value is 64 MiB.
	SnapshotBytes int64

	// Tests set these to make a member misbehave, and check that the checker of histories notices.
	// The default values are the methods of the replica and of the machine.
	readIndex func(*Meta) indexReader
	answered  answerer
}

// Validate reports everything that is wrong with c.
func (c Config) Validate() error {
	var faults []error
	if c.Dir == "" {
		faults = append(faults, errors.New("the field Dir is empty; set the folder of the metadata"))
	}
	if c.NodeID == "" {
		faults = append(faults, errors.New("NodeID is empty; set the id of this node"))
	}
	if len(c.Founders) > 0 && !slices.Contains(c.Founders, c.NodeID) {
		faults = append(faults, fmt.Errorf("the Founders are %v, which do not include NodeID %s", c.Founders, c.NodeID))
	}
	if len(c.Founders) > 1 && c.Transport == nil {
		faults = append(faults, fmt.Errorf("the Founders are %v, but there is no Transport to reach them", c.Founders))
	}
	return errors.Join(faults...)
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.SnapshotEvery == 0 {
		c.SnapshotEvery = 8192
	}
	if c.SnapshotBytes == 0 {
		c.SnapshotBytes = 64 << 20
	}
	if c.DownAfter == 0 {
		c.DownAfter = 10 * time.Second
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Transport == nil {
		c.Bootstrap = true
	}
	return c
}

// indexReader is the type of replica.Replica.ReadIndex.
type indexReader func(ctx context.Context) (index, term uint64, err error)

// Meta is an open member of the metadata group. It implements metapb.MetaServer.
type Meta struct {
	metapb.UnimplementedMetaServer

	cfg     Config
	catalog *catalog.Catalog
	machine *machine
	replica *replica.Replica
	metrics *metrics
	reports *reports
	shares  shares.Reports
	ensures ensures
	leases  leases
	// readIndex is replica.ReadIndex, unless a test replaces it.
	readIndex indexReader

	stop    chan struct{}  // closed by Close
	cutting sync.WaitGroup // goroutines that use the catalog

	closing  atomic.Bool
	closed   chan struct{} // closed when Close is done; closeErr is set before
	closeErr error
}

var _ metapb.MetaServer = (*Meta)(nil)

// Open opens or creates the member in cfg.Dir and starts it.
func Open(cfg Config) (_ *Meta, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("meta: open %s: %w", cfg.Dir, err)
		}
	}()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	if err := os.MkdirAll(cfg.Dir, 0o755); err != nil {
		return nil, err
	}
	cat, err := catalog.Open(filepath.Join(cfg.Dir, StateFile))
	if err != nil {
		return nil, err
	}
	m := &Meta{
		cfg: cfg, catalog: cat, metrics: newMetrics(cfg.Registerer), stop: make(chan struct{}),
		closed: make(chan struct{}),
	}
	m.reports = &reports{downAfter: cfg.DownAfter, now: cfg.Now}
	if m.machine, err = newMachine(cat, m.metrics); err != nil {
		return nil, errors.Join(err, cat.Close())
	}
	m.machine.cutBytes = cfg.SnapshotBytes
	if cfg.answered != nil {
		m.machine.answered = cfg.answered
	}
	m.machine.whenRoom = func(do func() error) error {
		return guard.WaitForRoom(m.stop, cfg.Logger, cfg.DiskFull, "apply a command to the metadata", do)
	}
	m.metrics.watch(m.machine)
	m.replica, err = replica.Open(replica.Config{
		Group: "meta", NodeID: cfg.NodeID, Dir: cfg.Dir, Log: raftlog.Bolt, Store: cfg.LogStore, FSM: m.machine,
		Bootstrap: cfg.Bootstrap, Founders: cfg.Founders, CommitTimeout: commitTimeout, Transport: cfg.Transport,
		Logger: cfg.Logger, Registerer: cfg.Registerer, FailStop: cfg.FailStop,
		HeartbeatTimeout: cfg.HeartbeatTimeout, SnapshotEvery: cfg.SnapshotEvery,
		AppendDeadline: cfg.LogDeadline, DiskFull: cfg.DiskFull,
	})
	if err != nil {
		m.metrics.unregister()
		return nil, errors.Join(err, cat.Close())
	}
	m.readIndex = m.replica.ReadIndex
	if cfg.readIndex != nil {
		m.readIndex = cfg.readIndex(m)
	}
	m.cutting.Go(m.cutLog)
	return m, nil
}

// cutLog takes a snapshot and cuts the log whenever the state machine requests it, until Close.
func (m *Meta) cutLog() {
	for {
		select {
		case <-m.stop:
			return
		case <-m.machine.cut:
		}
		if err := m.replica.Snapshot(); err != nil {
			m.cfg.Logger.Warn("could not cut the metadata log; this is retried when it has grown by as much "+
				"again", "error", err)
		}
	}
}

// WaitReady waits until this member is ready. A leader is ready when it has applied everything that was committed
// before. A follower is ready when it has applied everything that its leader had committed.
func (m *Meta) WaitReady(ctx context.Context) error { return m.replica.WaitReady(ctx) }

// Ready reports whether WaitReady would return at once.
func (m *Meta) Ready() bool { return m.replica.Ready() }

// Leads reports whether this member leads the group and has applied all that was
// committed before. It may be out of date when it is read.
func (m *Meta) Leads() bool { return m.replica.IsLeader() }

// StepDown transfers leadership of the group to another voter. It does nothing if this member does
// not lead or is the only voter.
func (m *Meta) StepDown(ctx context.Context, avoid ...string) error {
	return m.replica.StepDown(ctx, avoid...)
}

// StepDownUnreachable is StepDown for a member on a node that other nodes cannot reach; see
// replica.Replica.StepDownUnreachable.
func (m *Meta) StepDownUnreachable(ctx context.Context, avoid ...string) error {
	return m.replica.StepDownUnreachable(ctx, avoid...)
}

// LeadsChanged returns a channel that is closed when the result of Leads changes. Get it before
// calling Leads; otherwise a change may be missed.
func (m *Meta) LeadsChanged() <-chan struct{} { return m.replica.LeadsChanged() }

// Reported returns a channel that is closed when a node has reported to this member for the first
// time since it leads, or a shard has its first leader. Get it before calling Status; otherwise a
// change may be missed.
func (m *Meta) Reported() <-chan struct{} { return m.reports.changed() }

// Stats returns the state of this member's replica.
func (m *Meta) Stats() replica.Stats { return m.replica.Stats() }

// ClusterID returns "" until the cluster is bootstrapped.
func (m *Meta) ClusterID() (id string, err error) {
	err = m.catalog.View(func(tx *catalog.Tx) error { id = tx.ClusterID(); return nil })
	return id, err
}

// Close ends all watches and stops the member. Answered commands are durable even without Close. A
// second call waits for the first and returns the same result.
func (m *Meta) Close() error {
	if m.closing.CompareAndSwap(false, true) {
		m.closeErr = m.close()
		close(m.closed)
	}
	<-m.closed
	return m.closeErr
}

func (m *Meta) close() error {
	m.machine.hub.close()
	m.ensures.close()
	close(m.stop)
	err := m.replica.Close()
	m.cutting.Wait() // it may be taking a snapshot, which reads the catalog
	err = errors.Join(err, m.catalog.Close())
	m.metrics.unregister()
	return err
}
