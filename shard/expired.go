package shard

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cordwood/shard/segment"
)

// Files all of whose rows have expired are kept beside the segments for a day: should the rows have
// gone by mistake, as by a ttl that was too short, they can be written once more. They are the
// first to go when the disk is short of room. FORMAT.md has their names.
const (
	expiredDirName = "expired"
	expiredMark    = ".expired-"
	expiredHour    = "2006010215"
	expiredTTL     = 24 * time.Hour
	// expiredShare is the part of the bytes in live segments that they may take, and expiredLeast what
	// they may take in any case.
	expiredShare = 4
	expiredLeast = 64 << 20
)

// expiredWhole reports whether rows of a segment expired, and all others went with their table; mu is
// held.
func (s *Shard) expiredWhole(l *liveSegment) bool {
	spans := l.Tables
	if !l.Shared() {
		spans = []segment.TableSpan{l.span(l.TableID)}
	}
	some := false
	for _, t := range spans {
		if _, dropped := s.state.Dropped[t.TableID]; dropped {
			continue
		}
		if d := s.state.Tables[t.TableID]; d == nil || d.Instant || !s.state.Dead(t, l.Order) {
			return false
		}
		some = true
	}
	return some
}

// keepExpired moves the file of a dead segment aside, and reports whether it has.
func (s *Shard) keepExpired(l *liveSegment) bool {
	dir := filepath.Join(s.cfg.Dir, expiredDirName)
	if s.cfg.Space() != SpaceOK || s.cfg.FS.MkdirAll(dir) != nil {
		return false
	}
	to := filepath.Join(dir, filepath.Base(l.path)+expiredMark+s.clockNow().UTC().Format(expiredHour))
	if s.cfg.FS.Rename(l.path, to) != nil {
		return false
	}
	s.sweepExpired()
	return true
}

// clockNow is the replicated clock as it should be now.
func (s *Shard) clockNow() time.Time {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return time.Unix(0, s.clockLocked())
}

// sweepExpired removes the files of expired rows that are older than a day or take too much room, the
// oldest first; all of them if the disk is short of it.
func (s *Shard) sweepExpired() {
	s.expiredMu.Lock()
	defer s.expiredMu.Unlock()
	dir := filepath.Join(s.cfg.Dir, expiredDirName)
	names, err := s.cfg.FS.ReadDir(dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.cfg.Logger.Warn("files of expired rows stay behind", "folder", dir, "error", err)
		}
		return
	}
	s.mu.RLock()
	room := int64(0)
	for _, l := range s.live {
		room += l.Bytes
	}
	s.mu.RUnlock()
	room = max(room/expiredShare, expiredLeast)
	if s.cfg.Space() != SpaceOK {
		room = 0
	}
	hour := func(name string) string { _, at, _ := strings.Cut(name, expiredMark); return at }
	slices.SortFunc(names, func(a, b string) int {
		if c := strings.Compare(hour(b), hour(a)); c != 0 {
			return c
		}
		return strings.Compare(b, a)
	})
	now := s.clockNow()
	for _, name := range names { // the newest first
		path := filepath.Join(dir, name)
		size, err := s.cfg.FS.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		at, err := time.Parse(expiredHour, hour(name))
		room -= size
		if err == nil && room >= 0 && now.Sub(at) < expiredTTL+time.Hour {
			continue
		}
		if err := s.cfg.FS.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.cfg.Logger.Warn("a file of expired rows stays behind", "file", path, "error", err)
		}
	}
}
