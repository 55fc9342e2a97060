package shard

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"

	"cordwood/shard/manifest"
	"cordwood/shard/segment"
)

// This file is about edits of the manifest: how a flush and a compaction make theirs
// durable, and show what it changes.

// unsettled is an edit of the manifest that was begun. Until it is known to be on
// disk its segments must neither be removed nor be written again.
type unsettled struct {
	edit *manifest.Edit
	n    int // how many of the frozen memtables it covers
	// generation is that of the state that the edit was made for.
	generation uint64
	// raws are the raw segments that the edit adds, by id.
	raws map[uint64]loadedRaw
}

// forget lets go of what an edit that will not be committed was to show.
func (u *unsettled) forget() {
	for _, r := range u.raws {
		r.mem.Unref()
	}
	u.raws = nil
}

// commit makes an edit durable and shows what it changes to new views. If the edit
// could not even be begun the files that it adds are removed; else, after an error,
// it will be committed again.
func (s *Shard) commit(u *unsettled) error {
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	if err := s.settleLocked(); err != nil {
		u.forget()
		return errors.Join(err, s.removeNew(u.edit.Add))
	}
	if u.generation != s.generation || !s.listed(u.edit.Remove) {
		u.forget()
		return errors.Join(errReplaced, s.removeNew(u.edit.Add))
	}
	u.edit.Reserved, u.edit.NextSegmentID = s.ids.reserved(u.edit.Add)
	u.edit.Swept, s.unswept = s.unswept, false
	s.unsettled = append(s.unsettled, u)
	return s.settleLocked()
}

// errReplaced is the error of work on a state that is not the shard's any more.
var errReplaced = errors.New("the segments that it was made of are gone: an earlier edit of the manifest, or the state of another replica, took their place meanwhile")

// listed reports whether the manifest lists all of the segments; commitMu is held. A
// compaction whose commit had an unknown outcome may have been done a second time.
func (s *Shard) listed(ids []uint64) bool {
	live := s.manifest.State().Segments
	return !slices.ContainsFunc(ids, func(id uint64) bool {
		_, ok := slices.BinarySearchFunc(live, id, func(m segment.Meta, id uint64) int { return cmp.Compare(m.ID, id) })
		return !ok
	})
}

func (s *Shard) generationNow() uint64 {
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	return s.generation
}

// removeNew removes the files of segments that never became live.
func (s *Shard) removeNew(metas []segment.Meta) (err error) {
	for i := range metas {
		err = errors.Join(err, s.cfg.FS.Remove(filepath.Join(s.segmentDir, metas[i].FileName())))
		s.ids.done(metas[i].ID)
	}
	return err
}

// settle commits the edits that were begun.
func (s *Shard) settle() error {
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	return s.settleLocked()
}

// settleLocked commits the edits that were begun, in their order. An edit may be
// committed twice: the second time changes nothing.
func (s *Shard) settleLocked() error {
	for len(s.unsettled) > 0 {
		u := s.unsettled[0]
		if s.manifestBroken {
			m, err := manifest.Open(s.manifestConfig())
			if err != nil {
				return err
			}
			if err := s.manifest.Close(); err != nil {
				s.cfg.Logger.Debug("close of a manifest that was given up", "error", err)
			}
			s.manifest, s.manifestBroken = m, false
		}
		if err := s.manifest.Commit(u.edit); err != nil {
			s.manifestBroken = true
			u.edit.Swept = false // or, if it is on disk, what died by it would not be garbage
			return err
		}
		s.unsettled = s.unsettled[1:]
		s.publish(u)
	}
	return nil
}

// publish shows new views what a committed edit changed: segments that it adds in the
// place of frozen memtables or of other segments. commitMu is held.
func (s *Shard) publish(u *unsettled) {
	listed := make(map[uint64]struct{}, len(s.live)+len(u.edit.Add))
	for i := range s.manifest.State().Segments {
		listed[s.manifest.State().Segments[i].ID] = struct{}{}
	}
	var dead []*liveSegment
	var bytes int64
	s.mu.Lock()
	s.learnEras(s.manifest.State().Merging)
	for _, m := range u.edit.Add {
		bytes += m.Bytes
		if r, ok := u.raws[m.ID]; ok {
			s.loaded[m.ID] = r
		}
		if _, ok := listed[m.ID]; ok {
			s.addLive(m)
			continue
		}
		dead = append(dead, s.newSegment(m)) // dropped or expired while it was written
	}
	gone, of := map[*liveSegment]bool{}, map[uint64]struct{}{}
	for id, l := range s.live {
		if _, ok := listed[id]; !ok {
			l.expired = s.expiredWhole(l)
			delete(s.live, id)
			dead = append(dead, l)
			gone[l] = true
			if l.rows != nil {
				s.hideAside(l)
			}
			of[l.TableID] = struct{}{}
			for _, t := range l.Tables {
				of[t.TableID] = struct{}{}
			}
		}
	}
	for id := range of {
		s.hide(id, func(l *liveSegment) bool { return gone[l] })
	}
	done := s.frozen[:u.n]
	s.frozen = slices.Clone(s.frozen[u.n:])
	if u.edit.AppliedIndex > 0 {
		s.flushed.Store(u.edit.AppliedIndex)
	}
	s.mu.Unlock()

	for i := range u.edit.Add {
		s.ids.done(u.edit.Add[i].ID)
	}
	var rows int64
	for _, f := range done {
		s.cfg.Budget.add(-f.bytes)
		rows += f.mem.Rows()
		f.mem.Unref()
	}
	s.tellFreed()
	for _, seg := range dead {
		seg.unref()
	}
	if u.n > 0 {
		s.wakeCompactor()
		s.metrics.flushBytes.Add(float64(bytes))
		s.cfg.Logger.Debug("flushed", "index", u.edit.AppliedIndex, "segments", len(u.edit.Add), "rows", rows, "bytes", bytes)
	}
}
