package shard

import (
	"path/filepath"
	"sync"
	"sync/atomic"

	"cordwood/proto/column"
	"cordwood/shard/memtable"
	"cordwood/shard/segment"
)

// liveSegment is a segment that is in the manifest, or was: its file goes with the
// last reference. The shard has one while the manifest lists it, every View one.
type liveSegment struct {
	segment.Meta
	path string
	refs atomic.Int64
	// gone is called with the last reference, if the manifest does not list it any more.
	gone func(*liveSegment)
}

func (s *Shard) newSegment(m segment.Meta) *liveSegment {
	l := &liveSegment{Meta: m, path: filepath.Join(s.segmentDir, segment.FileName(m.ID)), gone: s.removeSegment}
	l.refs.Store(1)
	return l
}

func (l *liveSegment) unref() {
	if l.refs.Add(-1) == 0 {
		l.gone(l)
	}
}

// Segment is a segment of a View.
type Segment struct {
	segment.Meta
	// Path is the file's name.
	Path string
}

// View is the rows of some tables at one index of the log. It does not change, and
// what it refers to stays in place until Close: files are not removed, memory is
// not freed. Its methods may be called concurrently.
type View struct {
	index    uint64
	segments map[uint64][]*liveSegment
	batches  map[uint64][]*column.Batch
	mems     []*memtable.Memtable
	once     sync.Once
}

// ReadView returns a View of the given tables. It has all rows that were
// acknowledged before the call, and of every write all rows or none. It is nil if
// the shard is closed.
//
// Close must be called soon: the View holds memory and files.
func (s *Shard) ReadView(tableIDs ...uint64) *View {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.readViewLocked(tableIDs...)
}

// readViewLocked is ReadView with mu held.
func (s *Shard) readViewLocked(tableIDs ...uint64) *View {
	v := &View{segments: make(map[uint64][]*liveSegment, len(tableIDs)), batches: make(map[uint64][]*column.Batch, len(tableIDs))}
	if s.closed {
		return nil
	}
	v.index = s.appliedIndex
	for _, f := range s.frozen {
		v.take(f.mem, tableIDs)
	}
	v.take(s.active, tableIDs)
	for _, id := range tableIDs {
		if _, ok := v.segments[id]; ok {
			continue
		}
		list := s.segments[id]
		for _, l := range list {
			l.refs.Add(1)
		}
		v.segments[id] = list[:len(list):len(list)]
	}
	return v
}

// take adds what a memtable has of the tables, with a reference if it has anything.
func (v *View) take(m *memtable.Memtable, tableIDs []uint64) {
	held := false
	for i, id := range tableIDs {
		if containsID(tableIDs[:i], id) {
			continue
		}
		list := m.Batches(id)
		if len(list) == 0 {
			continue
		}
		if v.batches[id] == nil {
			v.batches[id] = list
		} else {
			v.batches[id] = append(v.batches[id], list...) // clipped, so this copies
		}
		held = true
	}
	if held {
		m.Ref()
		v.mems = append(v.mems, m)
	}
}

func containsID(ids []uint64, id uint64) bool {
	for _, have := range ids {
		if have == id {
			return true
		}
	}
	return false
}

// AppliedIndex is the index of the log that the View shows.
func (v *View) AppliedIndex() uint64 { return v.index }

// Segments returns the segments of a table, oldest first.
func (v *View) Segments(tableID uint64) []Segment {
	list := v.segments[tableID]
	out := make([]Segment, len(list))
	for i, l := range list {
		out[i] = Segment{Meta: l.Meta, Path: l.path}
	}
	return out
}

// Batches returns the rows of a table that are in no segment yet, in the order of
// their application.
func (v *View) Batches(tableID uint64) []*column.Batch { return v.batches[tableID] }

// Close gives back what the View held. It may be called twice.
func (v *View) Close() {
	v.once.Do(func() {
		for _, m := range v.mems {
			m.Unref()
		}
		for _, list := range v.segments {
			for _, l := range list {
				l.unref()
			}
		}
	})
}
