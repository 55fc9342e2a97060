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
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/metapb"
	"cordwood/shard"
)

// goneSuffix is the suffix of the folder of a removed replica while it is being deleted.
const goneSuffix = ".removed"

// remove closes and deletes a replica that is no longer part of its group, and then reports that to the metadata. It
// may be repeated from the beginning after any step.
func (h *Host) remove(ctx context.Context, m *metapb.Shard) {
	err := h.drop(ctx, m.Id)
	if err == nil {
		err = h.cfg.Forget(ctx, m)
	}
	if err != nil && ctx.Err() == nil {
		h.cfg.Logger.Warn("a removed replica is not deleted yet; it is retried", "shard", m.Id, "error", err)
		return
	}
	h.cfg.Logger.Info("a removed replica was deleted from this node", "shard", m.Id)
}

func (h *Host) drop(ctx context.Context, id uint32) error {
	h.mu.Lock()
	s := h.shards[id]
	delete(h.shards, id)
	delete(h.failed, id)
	h.mu.Unlock()
	if s != nil {
		if err := s.Close(ctx); err != nil {
			h.cfg.Logger.Info("a removed replica closed with an error", "shard", id, "error", err)
		}
	}
	if err := h.keepDiverged(id); err != nil {
		return err
	}
	// Rename the folder before its record is deleted. Then the folder can never be mistaken for the folder of a new
	// replica.
	dir := h.dir(id)
	if err := os.Rename(dir, dir+goneSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("rename the folder of shard %d: %w", id, err)
	}
	if err := h.cfg.MarkGone(id); err != nil {
		return fmt.Errorf("record that shard %d is gone: %w", id, err)
	}
	if err := os.RemoveAll(dir + goneSuffix); err != nil {
		return fmt.Errorf("delete the folder of shard %d: %w", id, err)
	}
	return nil
}

// divergedMark, followed by the time in seconds, is added to the folder name of a replica that has
// diverged from the others. The folder may have the last copy of acknowledged rows, so only the
// operator deletes it.
const divergedMark = ".diverged-"

// keepDiverged renames the folder of a replica that has diverged from the others.
func (h *Host) keepDiverged(id uint32) error {
	dir := h.dir(id)
	why, err := shard.Diverged(dir)
	if err != nil || why == "" {
		return err
	}
	aside := fmt.Sprint(dir, divergedMark, time.Now().Unix())
	if err := os.Rename(dir, aside); err != nil {
		return fmt.Errorf("rename the folder of shard %d: %w", id, err)
	}
	h.cfg.Logger.Error("a replica that is to be rebuilt has diverged from the others: its folder is kept, since rows "+
		"that were acknowledged may be only there; its segments are Parquet files; delete it when you do not need it",
		"shard", id, "folder", aside, "reason", why)
	return nil
}

// sweep deletes folders that an earlier process did not finish deleting.
func (h *Host) sweep() {
	entries, err := os.ReadDir(h.cfg.Dir)
	if err != nil {
		return // there is no folder yet
	}
	for _, e := range entries {
		id, gone := strings.CutSuffix(e.Name(), goneSuffix)
		if _, err := strconv.ParseUint(id, 10, 32); !gone || err != nil {
			continue
		}
		if err := os.RemoveAll(filepath.Join(h.cfg.Dir, e.Name())); err != nil {
			h.cfg.Logger.Warn("the folder of a removed replica is not deleted", "folder", e.Name(), "error", err)
		}
	}
}

// count counts the folders of shards that are not placed on this node. It does not change them: the metadata may be
// wrong.
func (h *Host) count(known map[uint32]bool) {
	entries, err := os.ReadDir(h.cfg.Dir)
	if err != nil {
		return
	}
	var unknown []uint32
	for _, e := range entries {
		// Folders of other incarnations are named ID.incarnation-N, and diverged ones ID.diverged-SECONDS.
		name, _, _ := strings.Cut(e.Name(), ".incarnation-")
		name, _, _ = strings.Cut(name, divergedMark)
		if id, err := strconv.ParseUint(name, 10, 32); err == nil && (!known[uint32(id)] || name != e.Name()) &&
			!slices.Contains(unknown, uint32(id)) {
			unknown = append(unknown, uint32(id))
		}
	}
	slices.Sort(unknown)
	h.mu.Lock()
	before := len(h.unknown)
	h.unknown = unknown
	h.mu.Unlock()
	if len(unknown) > before {
		h.cfg.Logger.Warn("kept folders of shards that the cluster does not place on this node",
			"dir", h.cfg.Dir, "shards", unknown)
	}
}

// Left lists, in ascending order, the shards with a folder on this node that the cluster does not use: it placed the
// shard on other nodes, or created it again.
func (h *Host) Left() []uint32 {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.unknown
}

// register registers the metrics.
func (h *Host) register(r prometheus.Registerer) {
	if r == nil {
		return
	}
	gauge := func(name, help string, value func() int) {
		h.metrics = append(h.metrics, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
			h.mu.RLock()
			defer h.mu.RUnlock()
			return float64(value())
		}))
	}
	gauge("cordwood_node_replicas", "Replicas of shards that are open on this node.", func() int { return len(h.shards) })
	gauge("cordwood_node_replicas_failed", "Replicas that are placed on this node and do not open.", func() int {
		return len(h.failed)
	})
	gauge("cordwood_node_unknown_shards",
		"Folders of shards that the cluster does not place on this node; the node does not change them.", func() int {
			return len(h.unknown)
		})
	r.MustRegister(h.metrics...)
}

func (h *Host) unregister() {
	for _, c := range h.metrics {
		h.cfg.Registerer.Unregister(c)
	}
}
