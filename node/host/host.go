// Package host keeps the shards of one node as the metadata wants them: it opens the
// replicas that are placed on the node, closes and deletes those that were removed, and
// has the shards that are led here told which tables changed or are gone.
//
// Nothing else is ever deleted: a folder of a shard that the metadata does not place here
// is left alone, and counted.
//
// A Host is made with New. Start opens what is placed here now; Run follows the metadata
// from then on; Close flushes and closes the shards. All methods may be called
// concurrently.
package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/shard"
)

// Catalog is what a Host needs to see of the metadata.
type Catalog interface {
	// Shards lists all shards of the cluster.
	Shards() []*metapb.Shard
	// TableByID returns the table of that id.
	TableByID(id uint64) (*schema.Table, bool)
	// DroppedTables lists the ids of tables that no longer exist, ascending.
	DroppedTables() []uint64
	// Changed returns a channel that is closed at the next change.
	Changed() <-chan struct{}
}

// Opening is what a replica is opened with.
type Opening struct {
	ID, Incarnation uint32
	// Dir is its folder.
	Dir string
	// Bootstrap tells that there is nothing in it yet and that the node is one of
	// Founders, who make the group together.
	Bootstrap bool
	Founders  []string
}

// Config is what a Host works with. All but Registerer and Logger are required.
type Config struct {
	// Dir is the folder below which each shard has one, named by its id.
	Dir    string
	NodeID string
	// Catalog must hold its first state when Start is called.
	Catalog Catalog
	// Open opens a replica.
	Open func(Opening) (*shard.Shard, error)
	// Created tells whether this node has ever finished creating the shard. MarkCreated
	// notes for ever that it has, and MarkGone that its replica is removed.
	Created     func(id uint32) bool
	MarkCreated func(ids []uint32) error
	MarkGone    func(id uint32) error
	// Recovered tells the metadata that the replica of a shard on this node was made the
	// only one of a new incarnation.
	Recovered func(ctx context.Context, m *metapb.Shard, incarnation uint32) error
	// Forget tells the metadata that the removed replica of a shard is gone from here.
	Forget     func(context.Context, *metapb.Shard) error
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Host holds the open shards of a node.
type Host struct {
	cfg Config

	mu     sync.RWMutex // guards the fields below
	shards map[uint32]*shard.Shard
	// busy are shards that are being opened or removed, failed those that did not open.
	busy    map[uint32]bool
	failed  map[uint32]*failure
	unknown []uint32 // shards of which there are folders that the cluster does not use
	closed  bool

	working sync.WaitGroup // what is being opened and removed
	changed chan struct{}  // something was opened or removed
	fatal   chan error     // what the node cannot go on with
	metrics []prometheus.Collector
}

// failure is why a replica is not open.
type failure struct {
	incarnation uint32
	err         error
	again       time.Time // when it is tried again
	pause       time.Duration
	damaged     bool // its files are damaged or gone
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

// Start opens the replicas that are placed on this node now. It does not wait until they
// can do their part: see Waits.
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

// How often Run looks at the tables: not more often than every tablesPause, however
// fast they change, and also without a change every tablesEvery, because a table that
// was dropped may come back with a write that was late, and because a replica may have
// come to lead.
const (
	tablesPause = 200 * time.Millisecond
	tablesEvery = time.Minute
)

// Run follows the metadata until ctx ends.
func (h *Host) Run(ctx context.Context) error {
	defer h.working.Wait()
	pause := time.NewTimer(0)
	defer pause.Stop()
	ticker := time.NewTicker(tablesEvery)
	defer ticker.Stop()
	again := time.NewTicker(time.Second)
	defer again.Stop()
	told := map[uint32]bool{} // the shards that are led here and were told
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-pause.C:
		}
		changed := h.cfg.Catalog.Changed()
		h.follow(ctx)
		for _, s := range h.All() {
			if told[s.ID()] = s.Leads(); told[s.ID()] {
				h.tellTables(ctx, s)
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
				waits = !h.retryDue() && !h.newLeader(told)
			}
		}
		pause.Reset(tablesPause)
	}
}

// newLeader tells whether a shard is led here that was not when it was last looked at.
func (h *Host) newLeader(told map[uint32]bool) bool {
	for _, s := range h.All() {
		if !told[s.ID()] && s.Leads() {
			return true
		}
	}
	return false
}

// retryDue tells whether a replica that failed is to be tried again.
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

// follow begins to open what is placed here and to remove what no longer is.
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
	h.count(known)
}

// outdated tells whether a replica is open here of a group that was given up, in a shard that
// is placed elsewhere now.
func (h *Host) outdated(m *metapb.Shard) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	s := h.shards[m.Id]
	return s != nil && s.Incarnation() < m.Incarnation
}

// retire closes a replica of a group that was given up. Its folder is left where it is.
func (h *Host) retire(m *metapb.Shard) {
	h.mu.Lock()
	s := h.shards[m.Id]
	delete(h.shards, m.Id)
	h.mu.Unlock()
	if s == nil {
		return
	}
	h.cfg.Logger.Warn("the group of a replica was given up while this node was away: its rows are no longer part of the shard; the replica is closed, and its folder left alone",
		"shard", m.Id, "folder", h.dir(m.Id), "incarnation", s.Incarnation(), "now", m.Incarnation)
	if err := s.Close(context.Background()); err != nil {
		h.cfg.Logger.Info("a replica of an earlier incarnation closed with an error", "shard", m.Id, "err", err)
	}
}

// wants tells whether a replica is to be opened now.
func (h *Host) wants(m *metapb.Shard) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if s := h.shards[m.Id]; s != nil {
		return s.Incarnation() < m.Incarnation
	}
	f := h.failed[m.Id]
	return f == nil || f.incarnation != m.Incarnation || time.Now().After(f.again)
}

// begin does f for a shard in a goroutine of its own, unless something is done for it
// already.
func (h *Host) begin(id uint32, f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.busy[id] {
		return
	}
	h.busy[id] = true
	h.working.Go(func() {
		f()
		h.mu.Lock()
		delete(h.busy, id)
		h.mu.Unlock()
		select {
		case h.changed <- struct{}{}:
		default:
		}
	})
}

// retryAfter is how long a replica that did not open waits, at first and at most.
const (
	retryAfter = 5 * time.Second
	retryMost  = 5 * time.Minute
)

// open opens a replica. One that fails is reported and tried again; only where all rows
// of the cluster lie on this node it is better not to go on.
func (h *Host) open(m *metapb.Shard, voter, sole bool) {
	s, err := h.openShard(m, voter)
	h.mu.Lock()
	before := h.failed[m.Id]
	delete(h.failed, m.Id)
	closed := h.closed
	switch {
	case err != nil && (!sole || errors.Is(err, errRecovered)):
		f := &failure{incarnation: m.Incarnation, err: err, pause: retryAfter, damaged: errors.Is(err, errFolderGone) || shard.IsDamaged(err)}
		if before != nil {
			f.pause = min(2*before.pause, retryMost)
		}
		f.again = time.Now().Add(f.pause)
		h.failed[m.Id] = f
	case err == nil && !closed:
		h.shards[m.Id] = s
	}
	h.mu.Unlock()
	switch {
	case errors.Is(err, errRecovered):
		h.cfg.Logger.Info("a replica that was recovered waits for the metadata", "shard", m.Id, "err", err)
	case err != nil && sole:
		select {
		case h.fatal <- err:
		default:
		}
	case err != nil:
		h.cfg.Logger.Error("a replica is not open; it is tried again, and the node goes on without it", "shard", m.Id, "err", err)
	case closed:
		_ = s.Close(context.Background()) // what it holds is in its log
	}
}

func (h *Host) openShard(m *metapb.Shard, voter bool) (*shard.Shard, error) {
	if err := h.incarnation(m); err != nil {
		return nil, err
	}
	o := Opening{ID: m.Id, Incarnation: m.Incarnation, Dir: h.dir(m.Id), Founders: m.Founders}
	if len(o.Founders) == 0 && len(m.Replicas) > 0 {
		o.Founders = m.Replicas[:1]
	}
	created := h.cfg.Created(m.Id)
	if have, _, err := shard.FolderIncarnation(o.Dir); err == nil && m.AnewIncarnation == m.Incarnation && have > 0 && have < m.Incarnation {
		created = false // what was created is set aside: the shard begins anew, without its rows
	}
	if _, err := os.Stat(o.Dir); created && errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open shard %d: its folder %s %w: restore it from a backup, or have the cluster make the replica anew with 'cordwood shard rebuild'", m.Id, o.Dir, errFolderGone)
	}
	o.Bootstrap = !created && voter && slices.Contains(o.Founders, h.cfg.NodeID)
	if !o.Bootstrap {
		o.Founders = nil
	}
	s, err := h.cfg.Open(o)
	if err != nil {
		return nil, fmt.Errorf("open shard %d: %w", m.Id, err)
	}
	if err := h.cfg.MarkCreated([]uint32{m.Id}); err != nil {
		return nil, errors.Join(fmt.Errorf("note that shard %d exists: %w", m.Id, err), s.Close(context.Background()))
	}
	return s, nil
}

// errFolderGone is why a replica that this node had made does not open.
var errFolderGone = errors.New("is gone, with the rows in it")

// errRecovered is why a replica that was recovered is not open yet.
var errRecovered = errors.New("the metadata was told that it was recovered, and has not said so yet")

// incarnation closes a replica of a group that was given up, and tells the metadata of
// one that an operator made the first of a new group.
func (h *Host) incarnation(m *metapb.Shard) error {
	h.mu.Lock()
	old := h.shards[m.Id]
	delete(h.shards, m.Id)
	h.mu.Unlock()
	if old != nil {
		if err := old.Close(context.Background()); err != nil {
			h.cfg.Logger.Info("a replica of an earlier incarnation closed with an error", "shard", m.Id, "err", err)
		}
	}
	have, recovered, err := shard.FolderIncarnation(h.dir(m.Id))
	if err != nil {
		return fmt.Errorf("open shard %d: %w", m.Id, err)
	}
	if have <= m.Incarnation || !recovered {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := h.cfg.Recovered(ctx, m, have); err != nil {
		return fmt.Errorf("open shard %d: its folder was recovered as incarnation %d: tell the metadata so: %w", m.Id, have, err)
	}
	h.cfg.Logger.Warn("a shard goes on with its one replica that was recovered here; what only the others had is lost", "shard", m.Id, "incarnation", have)
	return fmt.Errorf("open shard %d as incarnation %d: %w", m.Id, have, errRecovered)
}

// dir is the folder of a shard.
func (h *Host) dir(id uint32) string {
	return filepath.Join(h.cfg.Dir, strconv.FormatUint(uint64(id), 10))
}

// Waits tells in words which replicas cannot do their part yet; empty: all can, but for
// those that failed.
func (h *Host) Waits() string {
	var waiting []uint32
	for _, m := range h.cfg.Catalog.Shards() {
		if !slices.Contains(m.Replicas, h.cfg.NodeID) { // learners are not needed yet
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
	return fmt.Sprintf("%d shards, to have a leader and to catch up with it: %v", len(waiting), waiting[:min(len(waiting), 8)])
}

// Shard returns the open shard of that id.
func (h *Host) Shard(id uint32) (*shard.Shard, bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	s, ok := h.shards[id]
	return s, ok
}

// All returns the open shards in the order of their ids.
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

// Reports says of every replica that is placed here how it is, in the order of the ids.
func (h *Host) Reports() []*metapb.ReplicaReport {
	var out []*metapb.ReplicaReport
	for _, s := range h.All() {
		out = append(out, s.Report())
	}
	h.mu.RLock()
	for id, f := range h.failed {
		out = append(out, &metapb.ReplicaReport{ShardId: id, Incarnation: f.incarnation, State: "Failed", Reason: f.err.Error(), FilesDamaged: f.damaged})
	}
	h.mu.RUnlock()
	slices.SortFunc(out, func(a, b *metapb.ReplicaReport) int { return int(a.ShardId) - int(b.ShardId) })
	return out
}

// StepDown hands the leadership of all shards to other replicas, as far as there are any on
// other nodes than those of avoid, until ctx ends.
func (h *Host) StepDown(ctx context.Context, avoid ...string) {
	var wg sync.WaitGroup
	for _, s := range h.All() {
		wg.Go(func() {
			if err := s.StepDown(ctx, avoid...); err != nil {
				h.cfg.Logger.Info("the leadership of a shard was not handed on", "shard", s.ID(), "error", err)
			}
		})
	}
	wg.Wait()
}

// Close flushes and closes every shard; those that do not finish before ctx ends
// are still safe, their rows being in the log.
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
