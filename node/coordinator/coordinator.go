// Package coordinator carries out the cluster's work on itself: it makes shards, moves
// replicas and tables, empties nodes, replaces those that are lost, and keeps the metadata
// group at its size.
//
// It runs beside every member of the metadata group and acts only while that member leads.
// What is under way are operations, records in the metadata. All that decides is a function
// of the state of the cluster (decision.go, automatic.go): it reads off the metadata, the
// reports of the nodes and the groups of the shards what comes next, and makes one call at a
// time for each operation, after its step was stored. A leader that comes after another one
// so goes on where that was. DESIGN.md has the reasons.
//
// Admin is the side of users: it is there on every node, and starts, cancels and describes
// operations through the metadata.
package coordinator

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
)

// Meta is what the coordinator needs of the metadata group.
type Meta interface {
	Propose(ctx context.Context, cmd *metapb.Command) (*metapb.Result, error)
	// Status asks the leader.
	Status(ctx context.Context) (*metapb.StatusResponse, error)
	ChangeMembers(ctx context.Context, nodeID string, change metapb.ChangeMembersRequest_Change) (advice string, err error)
	Databases() []*schemapb.Database
	Tables(database string) []*schema.Table
	// Changed is closed at the next change of what Databases and Tables show, and of shards
	// and operations.
	Changed() <-chan struct{}
}

// Config is what a Coordinator works with, and its patience.
type Config struct {
	// Meta is the metadata group. Required.
	Meta Meta
	// Dial returns the connection to a node; it must not block on the network. Required.
	Dial func(nodeID string) (grpc.ClientConnInterface, error)
	// Leads tells whether the local member leads the metadata group, and LeadsChanged
	// returns a channel on which something comes, or that is closed, when that changes.
	// Required.
	Leads        func() bool
	LeadsChanged func() <-chan struct{}

	// Reported returns a channel that is closed when a node has reported for the first time to this
	// leader, or a shard has its first leader. Nil: that is seen at the next tick.
	Reported func() <-chan struct{}
	// Holders are the nodes with the role shard among the seeds of this node; ok is false if not all
	// seeds have answered. Nil: they are not known. The first shards are made as soon as these are
	// there, if there are no others.
	Holders func() (nodes []string, ok bool)

	// ReplaceAfter is how long a node must be silent until its replicas are replaced, and
	// it as a voter of the metadata group. The default value is 15 minutes.
	ReplaceAfter time.Duration
	// DownAfter is how long a member of the metadata group may be silent. The default
	// value is 10 s.
	DownAfter time.Duration
	// GiveUpAfter is how long a node that is to get a replica may be silent until that is
	// undone. The default value is 1 minute.
	GiveUpAfter time.Duration
	// PairLimit is for how long a shard of one replica may have two voters while it is
	// moved, both of which have to live. The default value is 30 s.
	PairLimit time.Duration
	// Settle is how long no node must have come or gone before shards are made for the
	// nodes that are there. The default value is 3 s.
	Settle time.Duration
	// FinaliseAfter is how long all nodes must have answered, and known a newer version,
	// until the cluster uses it. The default value is 1 minute.
	FinaliseAfter time.Duration
	// RebalanceRest is how long after a rebalance, or a change of nodes, another one begins
	// by itself. The default value is 10 minutes.
	RebalanceRest time.Duration
	// TableRest is how long a table stays where it is after it was moved. The default value
	// is 5 minutes.
	TableRest time.Duration
	// HotBytes is what one shard should take in of one table at most, in bytes a second,
	// and HotFor how long a table with partitions=auto must exceed that until it gets one
	// more. The default values are 16 MiB/s and 5 minutes.
	HotBytes float64
	HotFor   time.Duration
	// ShardsPerNode bounds the shards that are made for nodes that come. The default
	// value is 4.
	ShardsPerNode int
	// Tick is how often it looks around although nothing was heard. The default value is 1 s.
	Tick time.Duration
	// CallTimeout bounds one call. The default value is 10 s.
	CallTimeout time.Duration

	// Logger takes each step of operations. The default value discards them.
	Logger *slog.Logger
	// Registerer takes the metrics. The default value is none.
	Registerer prometheus.Registerer
}

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&c.ReplaceAfter, 15 * time.Minute},
		{&c.DownAfter, 10 * time.Second},
		{&c.GiveUpAfter, time.Minute},
		{&c.PairLimit, 30 * time.Second},
		{&c.Settle, 3 * time.Second},
		{&c.FinaliseAfter, time.Minute},
		{&c.RebalanceRest, 10 * time.Minute},
		{&c.TableRest, 5 * time.Minute},
		{&c.HotFor, 5 * time.Minute},
		{&c.Tick, time.Second},
		{&c.CallTimeout, 10 * time.Second},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if c.HotBytes == 0 {
		c.HotBytes = 16 << 20
	}
	if c.ShardsPerNode == 0 {
		c.ShardsPerNode = 4
	}
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

// Run acts whenever the local member leads, until ctx ends, and then returns nil. It does
// not return before the calls that it made have ended.
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

// pause waits until something comes, or for so long.
func pause(ctx context.Context, signal <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-signal:
	case <-t.C:
	}
}

// lead works until the member leads no more.
func (c *Coordinator) lead(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	l := &leading{
		Coordinator: c, busy: map[uint64]bool{}, failures: map[uint64]*failure{}, answered: map[uint32]membership{},
		meter: newMeter(), hotSince: map[uint64]time.Time{}, outcomes: make(chan outcome), began: time.Now(),
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
			// Many things may change at once.
			pause(ctx, leads, min(50*time.Millisecond, c.cfg.Tick))
		case o := <-l.outcomes:
			l.take(o)
		}
	}
	// What is under way is told to stop; nobody takes the outcomes any more.
	cancel()
}

// reported is Config.Reported, or a channel on which nothing comes.
func (c *Coordinator) reported() <-chan struct{} {
	if c.cfg.Reported == nil {
		return nil
	}
	return c.cfg.Reported()
}

// gathered tells whether all nodes that may hold shards are here: the seeds are all known, the holders
// among them have reported, and no other node has come.
func (c *Coordinator) gathered(p *picture) bool {
	if c.cfg.Holders == nil {
		return false
	}
	holders, ok := c.cfg.Holders()
	for _, id := range holders {
		ok = ok && p.nodes[id] != nil && p.nodes[id].Report != nil
	}
	for _, n := range p.status.Nodes {
		ok = ok && (!holdsShards(n.Node) || slices.Contains(holders, n.Node.Id))
	}
	return ok && len(holders) > 0
}

// leading is the memory of one time as leader. Only the goroutine of lead uses it.
type leading struct {
	*Coordinator
	wg       sync.WaitGroup
	outcomes chan outcome
	busy     map[uint64]bool // operations with a call under way; automaticID: the cluster's own
	failures map[uint64]*failure
	answered map[uint32]membership
	copies   map[uint64]map[uint32]copying // by id of the copy
	meter    *meter
	hotSince map[uint64]time.Time
	// closedSince, unchangedSince and pairedSince are when this leader saw first that a table is closed in its
	// epoch, a version of an operation, and that it has promoted a second voter.
	closedSince, unchangedSince, pairedSince map[version]time.Time

	began       time.Time
	nodes       string // that hold shards and answer, as one text
	stableSince time.Time
	statusError string // the last one, so that it is logged once
}

// version names one state of what the metadata have, by its id.
type version struct {
	id      uint64
	version uint32
}

// automaticID stands for what the cluster does of itself, beside operations.
const automaticID = 0

// failure is how often in a row an operation's calls have failed.
type failure struct {
	err   error
	count int
	until time.Time
}

// outcome is how a call ended.
type outcome struct {
	id    uint64
	err   error
	shard uint32 // 0: none
	group membership
	// What was answered of a handoff, by shard.
	copy   uint64 // 0: none
	copies map[uint32]copying
}

// look takes a picture of the cluster and begins what is to be done.
func (l *leading) look(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, l.cfg.CallTimeout)
	status, err := l.cfg.Meta.Status(call)
	cancel()
	if err != nil {
		if ctx.Err() == nil && l.statusError != err.Error() {
			l.log.Warn("the state of the cluster cannot be read; tried again", "error", err)
			l.statusError = err.Error()
		}
		return
	}
	l.statusError = ""
	p := l.picture(status)
	l.metrics.publish(p)
	for _, op := range p.running() {
		if l.busy[op.Id] || l.failures[op.Id] != nil && p.now.Before(l.failures[op.Id].until) {
			continue
		}
		d := decide(p, op)
		if next := record(p, op, d, l.failures[op.Id]); next != nil || d.do != nil {
			l.begin(ctx, op.Id, func(ctx context.Context) outcome { return l.carry(ctx, p, op, next, d) })
		}
	}
	for id := range l.failures {
		if id != automaticID && p.runs(func(op *metapb.Operation) bool { return op.Id == id }) == nil {
			delete(l.failures, id)
		}
	}
	if f := l.failures[automaticID]; l.busy[automaticID] || f != nil && p.now.Before(f.until) {
		return
	}
	if a := automatic(p); a != nil {
		l.begin(ctx, automaticID, func(ctx context.Context) outcome { return l.unasked(ctx, p, a) })
	}
}

func (l *leading) picture(status *metapb.StatusResponse) *picture {
	var tables []*schema.Table
	for _, d := range l.cfg.Meta.Databases() {
		tables = append(tables, l.cfg.Meta.Tables(d.Name)...)
	}
	now := time.Now()
	p := newPicture(now, l.cfg, status, tables, l.answered)
	p.rates = l.meter.read(now, status)
	p.copies = map[uint64]map[uint32]copying{}
	for _, t := range tables {
		if t.Handoff != nil && l.copies[t.Handoff.ID] != nil {
			p.copies[t.Handoff.ID] = maps.Clone(l.copies[t.Handoff.ID])
		}
	}
	l.copies = maps.Clone(p.copies)

	var there []string
	for _, n := range status.Nodes {
		if holdsShards(n.Node) && p.alive(n.Node.GetId()) {
			there = append(there, n.Node.Id)
		}
	}
	slices.Sort(there)
	if text := strings.Join(there, ","); text != l.nodes || l.stableSince.IsZero() {
		l.nodes, l.stableSince = text, now
	}
	p.stable, p.measured, p.gathered = now.Sub(l.stableSince), now.Sub(l.began), l.Coordinator.gathered(p)

	p.hot = map[uint64]time.Duration{}
	hotSince := map[uint64]time.Time{}
	for _, t := range tables {
		if t.Options[schema.OptionPartitions] != schema.PartitionsAuto || p.rates.table[t.ID] <= l.cfg.HotBytes*float64(len(t.Writable().Shards())) {
			continue
		}
		since, known := l.hotSince[t.ID]
		if !known {
			since = now
		}
		hotSince[t.ID] = since
		p.hot[t.ID] = now.Sub(since)
	}
	l.hotSince = hotSince
	p.closed, l.closedSince = ages(now, l.closedSince, func(yield func(version) bool) {
		for _, t := range tables {
			if w := t.Writable(); w.Closed && !yield(version{t.ID, w.Epoch}) {
				return
			}
		}
	})
	p.unchanged, l.unchangedSince = ages(now, l.unchangedSince, func(yield func(version) bool) {
		for _, op := range p.running() {
			if !yield(version{op.Id, op.Version}) {
				return
			}
		}
	})
	p.paired, l.pairedSince = ages(now, l.pairedSince, func(yield func(version) bool) {
		for _, op := range p.running() {
			if at, err := strconv.ParseInt(op.Notes[notePromoted], 10, 64); err == nil && !yield(version{op.Id, uint32(at / int64(time.Millisecond))}) { //nolint:gosec // to tell promotions apart
				return
			}
		}
	})
	return p
}

// ages tells for how long versions have been there, as far as this leader has seen, by its monotonic
// clock: the times in the metadata are of other clocks. since is what it returned before.
func ages(now time.Time, since map[version]time.Time, there iter.Seq[version]) (map[uint64]time.Duration, map[version]time.Time) {
	out, next := map[uint64]time.Duration{}, map[version]time.Time{}
	for v := range there {
		at, known := since[v]
		if !known {
			at = now
		}
		next[v], out[v.id] = at, now.Sub(at)
	}
	return out, next
}

func (l *leading) begin(ctx context.Context, id uint64, f func(context.Context) outcome) {
	l.busy[id] = true
	l.wg.Go(func() {
		call, cancel := context.WithTimeout(ctx, l.cfg.CallTimeout)
		defer cancel()
		o := f(call)
		o.id = id
		select {
		case l.outcomes <- o:
		case <-ctx.Done():
		}
	})
}

// maxPause bounds the pause after calls that failed.
const maxPause = 10 * time.Second

// take notes how a call ended.
func (l *leading) take(o outcome) {
	delete(l.busy, o.id)
	if o.shard != 0 {
		l.answered[o.shard] = o.group
	}
	if o.copy != 0 {
		answers := maps.Clone(l.copies[o.copy])
		if answers == nil {
			answers = map[uint32]copying{}
		}
		maps.Copy(answers, o.copies)
		l.copies[o.copy] = answers
	}
	if o.err == nil {
		delete(l.failures, o.id)
		return
	}
	f := l.failures[o.id]
	if f == nil {
		f = &failure{}
		l.failures[o.id] = f
	}
	f.err = o.err
	f.count++
	f.until = time.Now().Add(min(250*time.Millisecond<<min(f.count-1, 8), maxPause))
}

// errLost stands for a record that somebody else has changed meanwhile.
var errLost = errors.New("the operation was changed meanwhile")
