// Package host keeps the shards of one node as the metadata wants them: it opens
// those that are placed on the node and tells them which tables changed or are gone.
//
// A Host is made with New, works while Run runs, and is closed with Close, which
// flushes and closes the shards. All methods may be called concurrently.
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

	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
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

// Config is what a Host works with.
type Config struct {
	// Dir is the folder below which each shard has one, named by its id.
	Dir    string
	NodeID string
	// Catalog must already hold its first state.
	Catalog Catalog
	// Open opens the shard whose files lie in dir. If bootstrap is set there are none yet.
	Open func(id uint32, dir string, bootstrap bool) (*shard.Shard, error)
	// Created tells whether this node has ever finished creating the shard, and
	// MarkCreated notes for ever that it has.
	Created     func(id uint32) bool
	MarkCreated func(ids []uint32) error
	Logger      *slog.Logger
}

// Host holds the open shards of a node.
type Host struct {
	cfg Config

	mu     sync.RWMutex // guards shards and closed
	shards map[uint32]*shard.Shard
	closed bool
}

// New returns a Host without shards.
func New(cfg Config) *Host {
	return &Host{cfg: cfg, shards: map[uint32]*shard.Shard{}}
}

// Start opens the shards that are placed on this node now and waits until each of
// them takes writes.
func (h *Host) Start(ctx context.Context) error {
	if err := h.open(); err != nil {
		return err
	}
	for _, s := range h.All() {
		if err := s.WaitReady(ctx); err != nil {
			return fmt.Errorf("wait for shard %d: %w", s.ID(), err)
		}
	}
	return nil
}

// How often Run looks at the tables: not more often than every tablesPause, however
// fast they change, and also without a change every tablesEvery, because a table that
// was dropped may come back with a write that was late.
const (
	tablesPause = 200 * time.Millisecond
	tablesEvery = time.Minute
)

// Run follows the metadata until ctx ends.
func (h *Host) Run(ctx context.Context) error {
	pause := time.NewTimer(0)
	defer pause.Stop()
	ticker := time.NewTicker(tablesEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-pause.C:
		}
		changed := h.cfg.Catalog.Changed()
		if err := h.open(); err != nil {
			return err
		}
		for _, s := range h.All() {
			h.tellTables(ctx, s)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-ticker.C:
		}
		pause.Reset(tablesPause)
	}
}

// open opens every shard that is placed here and not open yet.
func (h *Host) open() error {
	var opened []uint32
	for _, m := range h.cfg.Catalog.Shards() {
		if !slices.Contains(m.Replicas, h.cfg.NodeID) {
			continue
		}
		if _, ok := h.Shard(m.Id); ok {
			continue
		}
		dir := filepath.Join(h.cfg.Dir, strconv.FormatUint(uint64(m.Id), 10))
		created := h.cfg.Created(m.Id)
		if _, err := os.Stat(dir); created && errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("open shard %d: its folder %s is gone, with the rows in it: restore it from a backup", m.Id, dir)
		}
		s, err := h.cfg.Open(m.Id, dir, !created)
		if err != nil {
			return fmt.Errorf("open shard %d: %w", m.Id, err)
		}
		h.mu.Lock()
		closed := h.closed
		if !closed {
			h.shards[m.Id] = s
		}
		h.mu.Unlock()
		if closed {
			return s.Close(context.Background())
		}
		opened = append(opened, m.Id)
	}
	if len(opened) == 0 {
		return nil
	}
	if err := h.cfg.MarkCreated(opened); err != nil {
		return fmt.Errorf("note that shards %v exist: %w", opened, err)
	}
	return nil
}

// tellTables tells a shard which of the tables that it has changed or are gone; what
// fails is tried again at the next change. A table that the metadata neither has nor
// has dropped is left alone: what is not known must not be removed.
func (h *Host) tellTables(ctx context.Context, s *shard.Shard) {
	var changed []*schemapb.Table
	dropped := h.cfg.Catalog.DroppedTables()
	for _, id := range s.Tables() {
		t, ok := h.cfg.Catalog.TableByID(id)
		if ok {
			if version, epoch, known := s.Table(id); known && (version < t.Version || version == t.Version && epoch < t.Writable().Epoch) {
				changed = append(changed, t.ToProto())
			}
			continue
		}
		if _, gone := slices.BinarySearch(dropped, id); !gone {
			continue
		}
		if err := s.DropTable(ctx, id); err != nil && ctx.Err() == nil {
			h.cfg.Logger.Warn("rows of a dropped table stay for now", "shard", s.ID(), "table", id, "err", err)
		}
	}
	if len(changed) == 0 {
		return
	}
	if err := s.DefineTable(ctx, changed...); err != nil && ctx.Err() == nil {
		h.cfg.Logger.Warn("changes of tables do not take effect yet", "shard", s.ID(), "tables", len(changed), "err", err)
	}
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

// Close flushes and closes every shard; those that do not finish before ctx ends
// are still safe, their rows being in the log.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
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
	return errors.Join(errs...)
}
