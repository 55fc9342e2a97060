package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"cordwood/proto/metapb"
	"cordwood/shard"
)

// This file opens shards that are placed on the node, and renames folders of other incarnations.

// Opening describes a replica to open.
type Opening struct {
	ID, Incarnation uint32
	// Dir is its folder.
	Dir string
	// Bootstrap means that the folder is empty and that the node is one of Founders, which found
	// the group together.
	Bootstrap bool
	Founders  []string
}

// failure is the reason why a replica is not open.
type failure struct {
	incarnation uint32
	err         error
	again       time.Time // when it is retried
	pause       time.Duration
	damaged     bool // its files are damaged or gone
}

// retire closes a replica of a group that was given up. Its folder stays unchanged.
func (h *Host) retire(m *metapb.Shard) {
	h.mu.Lock()
	s := h.shards[m.Id]
	delete(h.shards, m.Id)
	h.mu.Unlock()
	if s == nil {
		return
	}
	h.cfg.Logger.Warn("the group of a replica was given up while this node was away: its rows are no longer part of "+
		"the shard; the replica was closed, and its folder was kept",
		"shard", m.Id, "folder", h.dir(m.Id), "incarnation", s.Incarnation(), "now", m.Incarnation)
	if err := s.Close(context.Background()); err != nil {
		h.cfg.Logger.Info("a replica of an earlier incarnation closed with an error", "shard", m.Id, "error", err)
	}
}

// begin runs f for a shard in a goroutine, unless such a goroutine is running already.
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

// open opens a replica. A failure is reported and retried. But if this node has all rows of the cluster, the node
// stops.
func (h *Host) open(m *metapb.Shard, voter, sole bool) {
	s, err := h.openShard(m, voter)
	h.mu.Lock()
	before := h.failed[m.Id]
	delete(h.failed, m.Id)
	closed := h.closed
	switch {
	case err != nil && (!sole || errors.Is(err, errRecovered)):
		f := &failure{
			incarnation: m.Incarnation, err: err, pause: retryAfter, damaged: errors.Is(err, errFolderGone) ||
				shard.IsDamaged(err),
		}
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
		h.cfg.Logger.Info("a recovered replica waits for the metadata", "shard", m.Id, "error", err)
	case err != nil && sole:
		select {
		case h.fatal <- err:
		default:
		}
	case err != nil:
		h.cfg.Logger.Error("a replica is not open; it is retried, and the node continues without it", "shard", m.Id,
			"error", err)
	case closed:
		_ = s.Close(context.Background()) // its rows are in its log
	}
}

func (h *Host) openShard(m *metapb.Shard, voter bool) (*shard.Shard, error) {
	if err := h.incarnation(m); err != nil {
		return nil, err
	}
	o := Opening{ID: m.Id, Incarnation: m.Incarnation, Dir: h.dir(m.Id), Founders: founders(m)}
	created := h.cfg.Created(m.Id)
	if have, _, err := shard.FolderIncarnation(o.Dir); err == nil && m.AnewIncarnation == m.Incarnation && have > 0 &&
		have < m.Incarnation {
		created = false // the old folder was renamed: the shard starts again without its rows
	}
	// If the node founded the group again, it would be a voter that has forgotten its votes and log entries.
	lost := voter && !created && slices.Contains(m.Founded, h.cfg.NodeID)
	if _, err := os.Stat(o.Dir); lost || created && errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open shard %d: its folder %s %w: restore it from a backup, or rebuild "+
			"the replica with 'cordwood shard rebuild'", m.Id, o.Dir, errFolderGone)
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
		return nil, errors.Join(fmt.Errorf("record that shard %d exists: %w", m.Id, err), s.Close(context.Background()))
	}
	return s, nil
}

// founders returns the nodes that found the group of a shard.
func founders(m *metapb.Shard) []string {
	if len(m.Founders) == 0 && len(m.Replicas) > 0 {
		return m.Replicas[:1]
	}
	return m.Founders
}

// foundedPatience is the time limit of one report to the metadata about the groups that this node has founded.
const foundedPatience = 10 * time.Second

// reportFounded reports to the metadata the replicas that this node has created as a founder, unless the metadata have
// them already. After that the node does not found those groups again.
func (h *Host) reportFounded() {
	var news []*metapb.FoundedShard
	for _, m := range h.cfg.Catalog.Shards() {
		s, open := h.Shard(m.Id)
		if open && s.Incarnation() == m.Incarnation && slices.Contains(founders(m), h.cfg.NodeID) &&
			!slices.Contains(m.Founded, h.cfg.NodeID) {
			news = append(news, &metapb.FoundedShard{Id: m.Id, Incarnation: m.Incarnation})
		}
	}
	if len(news) == 0 || h.cfg.Founded == nil || !h.founded.CompareAndSwap(false, true) {
		return
	}
	h.working.Go(func() {
		defer h.founded.Store(false)
		ctx, cancel := context.WithTimeout(context.Background(), foundedPatience)
		defer cancel()
		if err := h.cfg.Founded(ctx, news); err != nil {
			h.cfg.Logger.Debug("cannot report to the metadata which shards this node founded; it is retried", "error", err)
		}
	})
}

// incarnation closes a replica of a group that was given up. If an operator made this node's replica the first of a
// new group, it reports that to the metadata.
func (h *Host) incarnation(m *metapb.Shard) error {
	h.mu.Lock()
	old := h.shards[m.Id]
	delete(h.shards, m.Id)
	h.mu.Unlock()
	if old != nil {
		if err := old.Close(context.Background()); err != nil {
			h.cfg.Logger.Info("a replica of an earlier incarnation closed with an error", "shard", m.Id, "error", err)
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
		return fmt.Errorf("open shard %d: its folder was recovered as incarnation %d, and this cannot be reported to "+
			"the metadata: %w", m.Id,
			have, err)
	}
	h.cfg.Logger.Warn("a shard continues with the replica that was recovered here; rows that only the others had are lost",
		"shard", m.Id, "incarnation", have)
	return fmt.Errorf("open shard %d as incarnation %d: %w", m.Id, have, errRecovered)
}

// dir returns the folder of a shard.
func (h *Host) dir(id uint32) string {
	return filepath.Join(h.cfg.Dir, strconv.FormatUint(uint64(id), 10))
}
