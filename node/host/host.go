// Package host keeps the shards of one node as the metadata place them. It opens the replicas that are placed on the
// node, closes and deletes removed ones, and notifies the shards that this node leads of changed and dropped tables.
//
// It deletes nothing else: it keeps and counts folders of shards that the metadata do not place on this node.
//
// New returns a Host. Start opens the replicas that are placed on the node now. After that, Run applies changes of
// the metadata. Close flushes and closes the shards. All methods are safe for concurrent use.
package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/shard"
)

// Catalog is the part of the metadata that a Host needs.
type Catalog interface {
	// Shards lists all shards of the cluster.
	Shards() []*metapb.Shard
	// RetiredShards lists the shards that were removed but not all of whose replicas are deleted.
	RetiredShards() []*metapb.Shard
	// TableByID returns the table with an id.
	TableByID(id uint64) (*schema.Table, bool)
	// DroppedTables lists the ids of tables that no longer exist, ascending.
	DroppedTables() []uint64
	// Changed returns a channel that is closed at the next change.
	Changed() <-chan struct{}
}

// Config configures a Host. All fields except Registerer and Logger are required.
type Config struct {
	// Dir contains a folder for each shard, named by its id.
	Dir    string
	NodeID string
	// Catalog is the source of the placement. It must have its first state when Start is called.
	Catalog Catalog
	// Open opens a replica.
	Open func(Opening) (*shard.Shard, error)
	// Created reports whether this node ever finished creating a shard. MarkCreated records permanently that it did.
	// MarkGone records that its replica was removed.
	Created     func(id uint32) bool
	MarkCreated func(ids []uint32) error
	MarkGone    func(id uint32) error
	// Recovered reports to the metadata that this node's replica of a shard is the only one of a new incarnation.
	Recovered func(ctx context.Context, m *metapb.Shard, incarnation uint32) error
	// Founded reports to the metadata that this node has created its replicas of the shards that it founds. If
	// Founded is nil, nothing is reported.
	Founded func(ctx context.Context, shards []*metapb.FoundedShard) error
	// Forget reports to the metadata that the removed replica of a shard no longer exists on this node.
	Forget     func(context.Context, *metapb.Shard) error
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Host holds the open shards of a node.
type Host struct {
	cfg Config

	mu     sync.RWMutex // guards the fields below
	shards map[uint32]*shard.Shard
	// busy contains the shards that are being opened or removed. failed contains the shards that did not open.
	busy    map[uint32]bool
	failed  map[uint32]*failure
	unknown []uint32 // shards with a folder on this node that the cluster does not use
	closed  bool

	founded atomic.Bool    // a call of Founded is running
	working sync.WaitGroup // the goroutines that open and remove replicas
	changed chan struct{}  // receives after a shard was opened or removed
	fatal   chan error     // errors after which the node cannot continue
	metrics []prometheus.Collector
}

// New returns a Host without shards.
func New(cfg Config) *Host {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	h := &Host{
		cfg: cfg, shards: map[uint32]*shard.Shard{}, busy: map[uint32]bool{}, failed: map[uint32]*failure{},
		changed: make(chan struct{}, 1), fatal: make(chan error, 1),
	}
	h.register(cfg.Registerer)
	return h
}

// Start opens the replicas that are placed on this node now. It does not wait until they can serve; see Waits.
func (h *Host) Start() error {
	h.sweep()
	h.follow(context.Background())
	h.working.Wait()
	select {
	case err := <-h.fatal:
		return err
	default:
		return nil
	}
}

// Run checks the tables at most once in tablesPause, however fast they change. It checks them at least once in
// tablesEvery, because a late write may recreate a dropped table, and because a replica may have become the leader.
const (
	tablesPause = 200 * time.Millisecond
	tablesEvery = time.Minute
)

// Run applies changes of the placement and of tables until ctx ends.
func (h *Host) Run(ctx context.Context) error {
	defer h.working.Wait()
	pause := time.NewTimer(0)
	defer pause.Stop()
	ticker := time.NewTicker(tablesEvery)
	defer ticker.Stop()
	again := time.NewTicker(time.Second)
	defer again.Stop()
	notified := map[uint32]bool{} // the shards that are led by this node and were notified
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-pause.C:
		}
		changed := h.cfg.Catalog.Changed()
		h.follow(ctx)
		h.reportFounded()
		for _, s := range h.All() {
			if notified[s.ID()] = s.Leads(); notified[s.ID()] {
				h.updateTables(ctx, s)
			}
		}
		for waits := true; waits; {
			select {
			case <-ctx.Done():
				return nil
			case err := <-h.fatal:
				return err
			case <-changed:
				waits = false
			case <-h.changed:
				waits = false
			case <-ticker.C:
				waits = false
			case <-again.C:
				waits = !h.retryDue() && !h.newLeader(notified)
			}
		}
		pause.Reset(tablesPause)
	}
}

// newLeader reports whether this node leads a shard that it did not lead at the last check.
func (h *Host) newLeader(notified map[uint32]bool) bool {
	for _, s := range h.All() {
		if !notified[s.ID()] && s.Leads() {
			return true
		}
	}
	return false
}

// retryDue reports whether a failed replica is due for a retry.
func (h *Host) retryDue() bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for id, f := range h.failed {
		if !h.busy[id] && time.Now().After(f.again) {
			return true
		}
	}
	return false
}

// follow starts to open replicas that are placed on this node, and to remove replicas that no longer are.
func (h *Host) follow(ctx context.Context) {
	known := map[uint32]bool{}
	all := h.cfg.Catalog.Shards()
	holders := map[string]bool{}
	for _, m := range all {
		for _, r := range m.Replicas {
			holders[r] = true
		}
	}
	for _, m := range all {
		voter, learner := slices.Contains(m.Replicas, h.cfg.NodeID), slices.Contains(m.Learners, h.cfg.NodeID)
		switch {
		case slices.Contains(m.Removed, h.cfg.NodeID):
			known[m.Id] = true
			if !voter && !learner {
				h.begin(m.Id, func() { h.remove(ctx, m) })
			}
		case voter || learner:
			known[m.Id] = true
			if h.wants(m) {
				sole := len(holders) == 1
				h.begin(m.Id, func() { h.open(m, voter, sole) })
			}
		case h.outdated(m):
			h.begin(m.Id, func() { h.retire(m) })
		}
	}
	for _, m := range h.cfg.Catalog.RetiredShards() {
		if slices.Contains(m.Removed, h.cfg.NodeID) {
			known[m.Id] = true
			h.begin(m.Id, func() { h.remove(ctx, m) })
		}
	}
	h.count(known)
}

// outdated reports whether an open replica belongs to a group that was given up, of a shard that is now placed on
// other nodes.
func (h *Host) outdated(m *metapb.Shard) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	s := h.shards[m.Id]
	return s != nil && s.Incarnation() < m.Incarnation
}

// wants reports whether a replica should be opened now.
func (h *Host) wants(m *metapb.Shard) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if s := h.shards[m.Id]; s != nil {
		return s.Incarnation() < m.Incarnation
	}
	f := h.failed[m.Id]
	return f == nil || f.incarnation != m.Incarnation || time.Now().After(f.again)
}

// These are the first and the longest delay before a failed replica is opened again.
const (
	retryAfter = 5 * time.Second
	retryMost  = 5 * time.Minute
)

// errFolderGone is the reason why a replica does not open if this node had created it and its folder is missing.
var errFolderGone = errors.New("is gone, with the rows in it")

// errRecovered is the reason why a recovered replica is not open yet.
var errRecovered = errors.New("its recovery was reported to the metadata, which have not confirmed it yet")

// Waits describes which replicas cannot serve yet. It is empty if all can, except those that failed to open.
func (h *Host) Waits() string {
	var waiting []uint32
	for _, m := range h.cfg.Catalog.Shards() {
		if !slices.Contains(m.Replicas, h.cfg.NodeID) { // the node does not wait for learners
			continue
		}
		h.mu.RLock()
		s, failed := h.shards[m.Id], h.failed[m.Id] != nil && !h.busy[m.Id]
		h.mu.RUnlock()
		if s == nil && !failed || s != nil && !s.Ready() {
			waiting = append(waiting, m.Id)
		}
	}
	if len(waiting) == 0 {
		return ""
	}
	slices.Sort(waiting)
	const most = 8
	var texts []string
	for _, id := range waiting[:min(len(waiting), most)] {
		texts = append(texts, strconv.FormatUint(uint64(id), 10))
	}
	text := "shard "
	if len(waiting) > 1 {
		text = "shards "
	}
	text += strings.Join(texts, ", ")
	if len(waiting) > most {
		text += fmt.Sprintf(" and %d more", len(waiting)-most)
	}
	return text + " to have a leader, and its replica here to catch up with it"
}

// mostWarnings is the maximum number of warnings in the list.
const mostWarnings = 8

// Warnings returns which replicas did not open, and the warnings of the open ones.
func (h *Host) Warnings() (out []string) {
	h.mu.RLock()
	for _, id := range slices.Sorted(maps.Keys(h.failed)) {
		out = append(out, fmt.Sprintf("the replica of shard %d is not open; it is retried: %s", id,
			text(h.failed[id].err.Error())))
	}
	h.mu.RUnlock()
	for _, s := range h.All() {
		out = append(out, s.Warnings()...)
	}
	if n := len(out) - mostWarnings; n > 0 {
		out = append(out[:mostWarnings], fmt.Sprintf("and %d more", n))
	}
	return out
}

// Shard returns the open shard of that id.
func (h *Host) Shard(id uint32) (*shard.Shard, bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	s, ok := h.shards[id]
	return s, ok
}

// All returns the open shards, ordered by id.
func (h *Host) All() []*shard.Shard {
	h.mu.RLock()
	defer h.mu.RUnlock()
	out := make([]*shard.Shard, 0, len(h.shards))
	for _, s := range h.shards {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b *shard.Shard) int { return int(a.ID()) - int(b.ID()) })
	return out
}

// text returns s as valid UTF-8. Errors quote bytes of damaged files, and protobuf messages must be valid UTF-8.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// Reports returns the state of every replica that is placed on this node, by id.
func (h *Host) Reports() []*metapb.ReplicaReport {
	var out []*metapb.ReplicaReport
	for _, s := range h.All() {
		out = append(out, s.Report())
	}
	h.mu.RLock()
	for id, f := range h.failed {
		out = append(out, &metapb.ReplicaReport{
			ShardId: id, Incarnation: f.incarnation, State: "Failed", Reason: text(f.err.Error()), FilesDamaged: f.damaged,
		})
	}
	h.mu.RUnlock()
	slices.SortFunc(out, func(a, b *metapb.ReplicaReport) int { return int(a.ShardId) - int(b.ShardId) })
	return out
}

// StepDown transfers the leadership of all shards to replicas on other nodes, except the nodes in avoid, until ctx
// ends.
func (h *Host) StepDown(ctx context.Context, avoid ...string) {
	var wg sync.WaitGroup
	for _, s := range h.All() {
		wg.Go(func() {
			if err := s.StepDown(ctx, avoid...); err != nil {
				h.cfg.Logger.Info("the leadership of a shard was not transferred", "shard", s.ID(), "error", err)
			}
		})
	}
	wg.Wait()
}

// Close flushes and closes every shard. Shards that do not finish before ctx ends lose no rows: the rows are in the
// log.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.working.Wait()
	var wg sync.WaitGroup
	all := h.All()
	errs := make([]error, len(all))
	for i, s := range all {
		wg.Go(func() {
			if err := s.Close(ctx); err != nil {
				errs[i] = fmt.Errorf("close shard %d: %w", s.ID(), err)
			}
		})
	}
	wg.Wait()
	h.unregister()
	return errors.Join(errs...)
}
