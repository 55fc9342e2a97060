package store

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cordwood/proto/column"
	"cordwood/shard/manifest"
	"cordwood/shard/memtable"
	"cordwood/shard/segment"
)

// segmentIDs assigns the ids of segments and knows which of them are being written.
type segmentIDs struct {
	mu      sync.Mutex // guards the rest
	next    uint64
	writing map[uint64]struct{}
}

// Take returns the next id, for a new file.
func (s *segmentIDs) Take() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.next
	s.next++
	if s.writing == nil {
		s.writing = map[uint64]struct{}{}
	}
	s.writing[id] = struct{}{}
	return id
}

// done records that files are live or removed.
func (s *segmentIDs) done(ids ...uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		delete(s.writing, id)
	}
}

// Raise makes all later ids at least next.
func (s *segmentIDs) Raise(next uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = max(s.next, next)
}

// Upcoming returns the next id.
func (s *segmentIDs) Upcoming() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next
}

// reserved returns the ids that are being written, except the ids of the given segments, and the
// next id.
func (s *segmentIDs) reserved(but []segment.Meta) (ids []uint64, next uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	writing := maps.Clone(s.writing)
	for i := range but {
		delete(writing, but[i].ID)
	}
	return slices.Sorted(maps.Keys(writing)), s.next
}

// SegmentFiles manages the files of segments: live, dead and lost ones.
type SegmentFiles struct {
	cfg        *Config
	segmentDir string
	tables     *Tables
	IDs        segmentIDs
	Lost       atomic.Int64 // how many files are in lost+found
	expiredMu  sync.Mutex   // held while files of expired rows are swept
}

// lostTTL is how long a file stays in lost+found.
const lostTTL = 30 * 24 * time.Hour

// lostMark is written between the name of a file in lost+found and the day on which it
// was put there, as in 0000000000000007.parquet.lost-20261122.
const (
	lostMark = ".lost-"
	lostDay  = "20060102"
)

// sweep handles files that the manifest does not list: it removes unfinished files, and moves the others to
// lost+found.
func (sf *SegmentFiles) sweep(st *manifest.State) error {
	live := make(map[string]bool, len(st.Segments))
	for i := range st.Segments {
		live[st.Segments[i].FileName()] = true
	}
	names, err := sf.cfg.FS.ReadDir(sf.segmentDir)
	if err != nil {
		return err
	}
	lost := filepath.Join(sf.cfg.Dir, lostDirName)
	for _, name := range names {
		if live[name] {
			continue
		}
		if err := sf.sweepFile(st, name, lost); err != nil {
			return err
		}
	}
	if err := sf.sweepLost(lost); err != nil {
		return err
	}
	sf.SweepExpired()
	if len(st.Garbage) > 0 {
		// The next edit of the manifest records that the files are gone.
		return sf.cfg.FS.SyncDir(sf.segmentDir)
	}
	return nil
}

// sweepFile handles a file that the manifest does not list.
func (sf *SegmentFiles) sweepFile(st *manifest.State, name, lost string) error {
	path := filepath.Join(sf.segmentDir, name)
	number, isSegment := strings.CutSuffix(name, segment.Suffix)
	if !isSegment {
		number, isSegment = strings.CutSuffix(name, segment.RawSuffix)
	}
	id, err := strconv.ParseUint(number, 10, 64)
	dead := isSegment && err == nil &&
		(id >= st.NextSegmentID || slices.Contains(st.Reserved, id) || slices.Contains(st.Garbage, id))
	switch {
	case dead, segment.IsTemp(name):
		sf.cfg.Logger.Info("removed an unfinished or dead file; "+
			"its rows are in the log or in other segments", "file", path)
		if err := sf.cfg.FS.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove an unfinished file: %w", err)
		}
	case isSegment:
		to := filepath.Join(lost, name+lostMark+sf.cfg.Now().UTC().Format(lostDay))
		sf.cfg.Logger.Warn("moved a segment file that the manifest does not list to lost+found; it will be removed after "+
			"30 days", "file",
			path, "to", to)
		if err := sf.cfg.FS.MkdirAll(lost); err != nil {
			return err
		}
		return sf.cfg.FS.Rename(path, to)
	}
	return nil
}

// sweepLost removes files that have been in lost+found for lostTTL.
func (sf *SegmentFiles) sweepLost(dir string) error {
	names, err := sf.cfg.FS.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		_, day, ok := strings.Cut(name, lostMark)
		since, err := time.Parse(lostDay, day)
		if !ok || err != nil || sf.cfg.Now().Sub(since) <= lostTTL {
			sf.Lost.Add(1)
			continue
		}
		path := filepath.Join(dir, name)
		sf.cfg.Logger.Info("removed a file that has been in lost+found for more than 30 days", "file", path)
		if err := sf.cfg.FS.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove a file from lost+found: %w", err)
		}
	}
	return nil
}

// removeSegment removes the file of a segment that is no longer referenced. If that fails, the next
// start finds the file and moves it to lost+found.
func (sf *SegmentFiles) removeSegment(l *LiveSegment) {
	sf.unmark(l)
	if l.expired && sf.keepExpired(l) {
		return
	}
	if err := sf.cfg.FS.Remove(l.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		sf.cfg.Logger.Warn("could not remove the file of a dead segment", "file", l.Path, "error", err)
	}
}

// removeNew removes the files of segments that never became live.
func (sf *SegmentFiles) removeNew(metas []segment.Meta) (err error) {
	for i := range metas {
		err = errors.Join(err, sf.cfg.FS.Remove(filepath.Join(sf.segmentDir, metas[i].FileName())))
		sf.IDs.done(metas[i].ID)
	}
	return err
}

// discard removes the files of segments that were not fetched completely. What cannot be removed is moved to lost+found
// by the next start.
func (sf *SegmentFiles) discard(metas []segment.Meta) {
	for i := range metas {
		path := filepath.Join(sf.segmentDir, metas[i].FileName())
		if err := sf.cfg.FS.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			sf.cfg.Logger.Warn("could not remove a segment that was fetched for nothing", "file", path, "error", err)
		}
		sf.IDs.done(metas[i].ID)
	}
}

// unmark removes the damage mark of a segment whose file is removed.
func (sf *SegmentFiles) unmark(l *LiveSegment) {
	if l.Damage.Load() == nil {
		return
	}
	if err := sf.cfg.FS.Remove(l.Path + DamagedSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		sf.cfg.Logger.Warn("could not remove the mark of a damaged segment", "file", l.Path+DamagedSuffix, "error", err)
	}
}

// loadRaw reads a raw segment into memory.
func (sf *SegmentFiles) loadRaw(m *segment.Meta) (loadedRaw, error) {
	mem := memtable.New(sf.cfg.Pool)
	raw, err := segment.ReadRaw(sf.cfg.FS, sf.segmentDir, m, mem.Alloc)
	if err != nil {
		mem.Unref()
		return loadedRaw{}, err
	}
	fill(mem, raw)
	return loadedRaw{mem, raw.Reason, raw.Since}, nil
}

// loadRaws reads the raw segments among some segments.
func (sf *SegmentFiles) loadRaws(list []segment.Meta) (map[uint64]loadedRaw, error) {
	out := map[uint64]loadedRaw{}
	for i := range list {
		if !list[i].Raw {
			continue
		}
		loaded, err := sf.loadRaw(&list[i])
		if err != nil {
			for _, r := range out {
				r.mem.Unref()
			}
			return nil, err
		}
		out[list[i].ID] = loaded
	}
	return out, nil
}

// copyRaw copies the batches of a newly written raw segment to separate memory.
func (sf *SegmentFiles) copyRaw(raw *segment.Raw) (*memtable.Memtable, error) {
	mem := memtable.New(sf.cfg.Pool)
	own := *raw
	own.Batches = nil
	for _, b := range raw.Batches {
		to, err := mem.Alloc(len(b.Mem))
		if err == nil {
			copy(to, b.Mem)
			b, err = column.Reopen(b.Header, len(b.Cols), to)
		}
		if err != nil {
			mem.Unref()
			return nil, fmt.Errorf("keep rows of table %d in memory: %w", raw.TableID, err)
		}
		own.Batches = append(own.Batches, b)
	}
	fill(mem, &own)
	return mem, nil
}
