// Package coordinator carries out the operations of the cluster: it creates shards, moves replicas
// and tables, drains nodes, replaces lost nodes, and keeps the metadata group at its size.
//
// It runs next to every member of the metadata group and acts only while that member leads.
// Operations are records in the metadata. All decisions are functions of the state of the cluster
// (decision.go, automatic.go): they derive the next step from the metadata, the reports of the
// nodes and the raft groups of the shards. For each operation the coordinator makes one call at a
// time, after it has stored the step. So a new leader continues where the previous one stopped.
// DESIGN.md gives the reasons.
//
// Admin is the interface for users. It runs on every node, and starts, cancels and describes
// operations through the metadata.
package coordinator

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
)

// Meta is what the coordinator needs of the metadata group.
type Meta interface {
	Propose(ctx context.Context, cmd *metapb.Command) (*metapb.Result, error)
	// Status returns the state of the cluster from the leader.
	Status(ctx context.Context) (*metapb.StatusResponse, error)
	ChangeMembers(ctx context.Context, nodeID string, change metapb.ChangeMembersRequest_Change) (advice string, err error)
	Databases() []*schemapb.Database
	Tables(database string) []*schema.Table
	// Changed returns a channel that is closed at the next change of the results of Databases and
	// Tables, and of shards and operations.
	Changed() <-chan struct{}
}

// Config configures a Coordinator.
type Config struct {
	// Meta gives access to the metadata group. Required.
	Meta Meta
	// Dial returns the connection to a node; it must not block on the network. Required.
	Dial func(nodeID string) (grpc.ClientConnInterface, error)
	// Leads reports whether the local member leads the metadata group. LeadsChanged returns a
	// channel that receives a value or is closed when that changes. Required.
	Leads        func() bool
	LeadsChanged func() <-chan struct{}

	// Reported returns a channel that is closed when a node has reported for the first time to this leader, or a
	// shard has its first leader. If Reported is nil, the coordinator notices this at the next tick.
	Reported func() <-chan struct{}
	// Holders returns the nodes with the role shard among the seeds of this node. ok is false if not all seeds have
	// answered. A nil Holders means that the seeds are unknown. The first shards are created as soon as these nodes
	// have joined, if there are no others.
	Holders func() (nodes []string, ok bool)

	// Limits are the time limits of the rules.
	snapshot.Limits

	// Tick is the interval between checks of the cluster when nothing was reported. The default
	// value is 1 s.
	Tick time.Duration
	// CallTimeout is the time limit of one call. The default value is 10 s.
	CallTimeout time.Duration

	// MaxSize is the limit of the files and objects of all tables together, in bytes; 0 means none. SizeEvery is the
	// interval between checks of it, and of the option max_size. The default value is 30 s.
	MaxSize   int64
	SizeEvery time.Duration

	// Iceberg commits tables that are shown as Apache Iceberg, every IcebergEvery; nil without object storage. The
	// default value is 10 min.
	Iceberg      Iceberg
	IcebergEvery time.Duration

	// Logger logs each step of operations. If it is nil, nothing is logged.
	Logger *slog.Logger
	// Registerer registers the metrics. If it is nil, they are not registered.
	Registerer prometheus.Registerer
}

func (c Config) withDefaults() Config {
	c.Limits = c.Limits.WithDefaults()
	c.Tick, c.CallTimeout = cmp.Or(c.Tick, time.Second), cmp.Or(c.CallTimeout, 10*time.Second)
	c.SizeEvery, c.IcebergEvery = cmp.Or(c.SizeEvery, 30*time.Second), cmp.Or(c.IcebergEvery, 10*time.Minute)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Coordinator carries out operations. See the package comment.
type Coordinator struct {
	cfg     Config
	log     *slog.Logger
	metrics *metrics
}

// New returns a Coordinator that does nothing until Run. It panics if a required part of
// the configuration is missing.
func New(cfg Config) *Coordinator {
	if cfg.Meta == nil || cfg.Dial == nil || cfg.Leads == nil || cfg.LeadsChanged == nil {
		panic("coordinator: Config.Meta, Dial, Leads and LeadsChanged must be set")
	}
	cfg = cfg.withDefaults()
	return &Coordinator{cfg: cfg, log: cfg.Logger, metrics: newMetrics(cfg.Registerer)}
}

// Run acts whenever the local member leads, until ctx ends, and then returns nil. It returns after
// its calls have ended.
func (c *Coordinator) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		changed := c.cfg.LeadsChanged()
		if c.cfg.Leads() {
			c.lead(ctx)
			continue
		}
		pause(ctx, changed, c.cfg.Tick)
	}
	return nil
}

// pause waits for a signal or until d has passed.
func pause(ctx context.Context, signal <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-signal:
	case <-t.C:
	}
}

// lead works until the member no longer leads.
func (c *Coordinator) lead(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	l := &leading{
		Coordinator: c, busy: map[uint64]bool{}, failures: map[uint64]*failure{}, answered: map[uint32]snapshot.Membership{},
		meter: newMeter(), hotSince: map[uint64]time.Time{}, outcomes: make(chan outcome), began: time.Now(),
		tooLarge: map[string]bool{},
	}
	if c.cfg.Iceberg != nil {
		defer c.cfg.Iceberg.Resign()
	}
	defer l.wg.Wait()
	defer cancel()
	defer c.metrics.publish(nil)
	c.log.Info("coordinating the cluster")
	defer c.log.Info("no longer coordinating the cluster")
	tick := time.NewTicker(c.cfg.Tick)
	defer tick.Stop()
	for c.cfg.Leads() && ctx.Err() == nil {
		leads, changed, reported := c.cfg.LeadsChanged(), c.cfg.Meta.Changed(), c.reported()
		l.look(ctx)
		select {
		case <-ctx.Done():
		case <-leads:
		case <-tick.C:
		case <-reported:
		case <-changed:
			// Several changes may come at the same time; one snapshot serves them all.
			pause(ctx, leads, min(50*time.Millisecond, c.cfg.Tick))
		case o := <-l.outcomes:
			l.take(o)
		}
	}
	// Cancel the running calls. Their outcomes are no longer read.
	cancel()
}

// reported returns the channel of Config.Reported, or one that never receives.
func (c *Coordinator) reported() <-chan struct{} {
	if c.cfg.Reported == nil {
		return nil
	}
	return c.cfg.Reported()
}

// look takes a snapshot of the cluster and starts the work that is due.
func (l *leading) look(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, l.cfg.CallTimeout)
	status, err := l.cfg.Meta.Status(call)
	cancel()
	if err != nil {
		if ctx.Err() == nil && l.statusError != err.Error() {
			l.log.Warn("could not read the state of the cluster; it is retried", "error", err)
			l.statusError = err.Error()
		}
		return
	}
	l.statusError = ""
	snap := l.snapshot(status)
	l.metrics.publish(snap)
	l.startSteps(ctx, snap)
	l.expireBySize(ctx, snap)
	l.commitIceberg(ctx, snap)
	if f := l.failures[automaticID]; l.busy[automaticID] || f != nil && snap.Now.Before(f.until) {
		return
	}
	if a := automatic(snap); a != nil {
		l.begin(ctx, automaticID, func(ctx context.Context) outcome { return l.runAutomatic(ctx, snap, a) })
	}
}

// startSteps starts the next step of each running operation that has no call in flight and need not
// wait after a failure.
func (l *leading) startSteps(ctx context.Context, snap *snapshot.Snapshot) {
	for _, op := range snap.Running() {
		if l.busy[op.Id] || l.failures[op.Id] != nil && snap.Now.Before(l.failures[op.Id].until) {
			continue
		}
		d := decide(snap, op)
		if next := record(snap, op, d, l.failures[op.Id]); next != nil || d.do != nil {
			l.begin(ctx, op.Id, func(ctx context.Context) outcome { return l.execute(ctx, snap, op, next, d) })
		}
	}
	for id := range l.failures {
		if id != automaticID && snap.FindRunning(func(op *metapb.Operation) bool { return op.Id == id }) == nil {
			delete(l.failures, id)
		}
	}
}
