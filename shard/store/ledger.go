package store

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"

	"cordwood/shard/install"
	"cordwood/shard/manifest"
	"cordwood/shard/segment"
)

// This file handles edits of the manifest: how a flush and a compaction make their edits durable
// and publish the changes.

// Ledger is the manifest and its pending edits. Its lock is taken before Tables.mu; see doc.go.
type Ledger struct {
	cfg        *Config
	segmentDir string
	metrics    *Metrics
	tables     *Tables
	files      *SegmentFiles
	installer  *install.Installer
	// notifyFreed is called when a flush has freed memory, wakeCompactor when it has written
	// segments.
	notifyFreed, wakeCompactor func()

	mu         sync.Mutex // guards everything below
	manifest   *manifest.Manifest
	broken     bool           // the manifest has to be reopened
	pending    []*pendingEdit // in the order in which they began
	generation uint64         // how often the state was replaced by another replica's
	unswept    bool           // the manifest lists garbage that sweep has removed
}

func (lg *Ledger) manifestConfig() manifest.Config {
	return manifest.Config{FS: lg.cfg.FS, Dir: lg.cfg.Dir, ShardID: lg.cfg.ID}
}

// State returns the state in the manifest.
func (lg *Ledger) State() *manifest.State {
	lg.mu.Lock()
	defer lg.mu.Unlock()
	return lg.manifest.State()
}

// pendingEdit is an edit of the manifest whose commit has begun. Until it is known to be on disk,
// its segments must be neither removed nor written again.
type pendingEdit struct {
	edit *manifest.Edit
	n    int // how many frozen memtables it covers
	// generation is the generation of the state for which the edit was made.
	generation uint64
	// offer, if set, offers the new segments to followers.
	offer *Offer
	// raws are the raw segments that the edit adds, by id.
	raws map[uint64]loadedRaw
}

// forget releases the raw segments of an edit that will not be committed.
func (u *pendingEdit) forget() {
	for _, r := range u.raws {
		r.mem.Unref()
	}
	u.raws = nil
}

// commit makes an edit durable and publishes its changes to new views. If the commit could not
// begin, the edit's files are removed. After any other error the edit will be committed again.
func (lg *Ledger) commit(u *pendingEdit) error {
	lg.mu.Lock()
	defer lg.mu.Unlock()
	if err := lg.commitPendingLocked(); err != nil {
		u.forget()
		return errors.Join(err, lg.files.removeNew(u.edit.Add))
	}
	if u.generation != lg.generation || !lg.listed(u.edit.Remove) {
		u.forget()
		return errors.Join(ErrReplaced, lg.files.removeNew(u.edit.Add))
	}
	u.edit.Reserved, u.edit.NextSegmentID = lg.files.IDs.reserved(u.edit.Add)
	u.edit.Swept, lg.unswept = lg.unswept, false
	lg.pending = append(lg.pending, u)
	return lg.commitPendingLocked()
}

// ErrReplaced is the error of work on segments that are no longer live.
var ErrReplaced = errors.New("the input segments were replaced meanwhile, by an earlier edit of the manifest " +
	"or by the state of another replica")

// listed reports whether the manifest lists all of the segments; mu must be held. It is false if an
// earlier compaction of these segments succeeded although its commit had an unknown outcome.
func (lg *Ledger) listed(ids []uint64) bool {
	live := lg.manifest.State().Segments
	return !slices.ContainsFunc(ids, func(id uint64) bool {
		_, ok := slices.BinarySearchFunc(live, id, func(m segment.Meta, id uint64) int { return cmp.Compare(m.ID, id) })
		return !ok
	})
}

// GenerationNow returns how often the whole state was replaced by another replica's. Work on
// segments of an earlier generation fails with ErrReplaced.
func (lg *Ledger) GenerationNow() uint64 {
	lg.mu.Lock()
	defer lg.mu.Unlock()
	return lg.generation
}

// commitPending commits the pending edits.
func (lg *Ledger) commitPending() error {
	lg.mu.Lock()
	defer lg.mu.Unlock()
	return lg.commitPendingLocked()
}

// commitPendingLocked commits the pending edits in order. An edit may be committed twice; the
// second time changes nothing.
func (lg *Ledger) commitPendingLocked() error {
	for len(lg.pending) > 0 {
		u := lg.pending[0]
		if err := lg.reopenBroken(); err != nil {
			return err
		}
		if err := lg.manifest.Commit(u.edit); err != nil {
			lg.broken = true
			u.edit.Swept = false // if this edit is on disk after all, the segments that it removed must be listed as garbage
			return err
		}
		lg.pending = lg.pending[1:]
		lg.publish(u)
	}
	return nil
}

// reopenBroken opens the manifest again if a write to it failed; mu must be held.
func (lg *Ledger) reopenBroken() error {
	if !lg.broken {
		return nil
	}
	m, err := manifest.Open(lg.manifestConfig())
	if err != nil {
		return err
	}
	if err := lg.manifest.Close(); err != nil {
		lg.cfg.Logger.Debug("could not close the old manifest before reopening it", "error", err)
	}
	lg.manifest, lg.broken = m, false
	return nil
}

// publish publishes the changes of a committed edit to new views: its segments replace frozen
// memtables or other segments. mu must be held.
func (lg *Ledger) publish(u *pendingEdit) {
	listed := make(map[uint64]struct{}, len(lg.tables.segs.live)+len(u.edit.Add))
	for i := range lg.manifest.State().Segments {
		listed[lg.manifest.State().Segments[i].ID] = struct{}{}
	}
	var dead []*LiveSegment
	var bytes int64
	var flushed time.Time
	if u.n > 0 {
		flushed = lg.cfg.Now()
	}
	lg.tables.mu.Lock()
	lg.tables.segs.learnEras(lg.manifest.State().Merging)
	lg.tables.learnCuts(lg.manifest.State().CutOrders)
	lg.tables.cold.twinsChanged()
	for _, m := range u.edit.Add {
		bytes += m.Bytes
		if r, ok := u.raws[m.ID]; ok {
			lg.tables.segs.loaded[m.ID] = r
		}
		if _, ok := listed[m.ID]; ok {
			lg.tables.addLive(m, flushed)
			continue
		}
		dead = append(dead, lg.tables.segs.newSegment(m)) // dropped or expired while it was written
	}
	if u.offer != nil {
		u.offer.write(lg.tables.added(u.edit))
	}
	dead = append(dead, lg.removeUnlisted(listed)...)
	done := lg.tables.Mem.frozen[:u.n]
	lg.tables.Mem.frozen = slices.Clone(lg.tables.Mem.frozen[u.n:])
	for _, o := range u.edit.CutOrders {
		lg.tables.hideJoined(o.TableID)
	}
	if u.edit.AppliedIndex > 0 {
		lg.tables.Flushed.Store(u.edit.AppliedIndex)
	}
	lg.tables.mu.Unlock()

	for i := range u.edit.Add {
		lg.files.IDs.done(u.edit.Add[i].ID)
	}
	var rows int64
	for _, f := range done {
		lg.cfg.Budget.Add(-f.bytes)
		rows += f.mem.Rows()
		f.mem.Unref()
	}
	lg.notifyFreed()
	for _, seg := range dead {
		seg.Unref()
	}
	if u.n > 0 {
		lg.wakeCompactor()
		lg.metrics.flushBytes.Add(float64(bytes))
		lg.cfg.Logger.Debug("flushed", "index", u.edit.AppliedIndex, "segments", len(u.edit.Add), "rows", rows,
			"bytes", bytes)
	}
}

// removeUnlisted removes the live segments that are not listed, hides them from new views, and returns them. The mu of
// the tables must be held.
func (lg *Ledger) removeUnlisted(listed map[uint64]struct{}) (removed []*LiveSegment) {
	gone, of := map[*LiveSegment]bool{}, map[uint64]struct{}{}
	for id, l := range lg.tables.segs.live {
		if _, ok := listed[id]; ok {
			continue
		}
		l.expired = lg.tables.expiredWhole(l)
		delete(lg.tables.segs.live, id)
		removed = append(removed, l)
		gone[l] = true
		if l.rows != nil {
			lg.tables.segs.hideRaw(l)
		}
		of[l.TableID] = struct{}{}
		for _, t := range l.Tables {
			of[t.TableID] = struct{}{}
		}
	}
	for id := range of {
		lg.tables.segs.hide(id, func(l *LiveSegment) bool { return gone[l] })
	}
	return removed
}
