package store

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cordwood/shard/segment"
)

// Files whose rows have all expired are kept for a day, in a separate folder. If the rows expired
// by mistake, for example because of a ttl that was too short, they can be written again. These
// files are removed first when disk space is short. FORMAT.md describes their names.
const (
	expiredDirName = "expired"
	expiredMark    = ".expired-"
	expiredHour    = "2006010215"
	expiredTTL     = 24 * time.Hour
	// Kept files of expired rows may take 1/expiredShare of the bytes in live segments, and in any
	// case expiredLeast bytes.
	expiredShare = 4
	expiredLeast = 64 << 20
)

// expiredWhole reports whether a segment has no live rows because its rows expired, and not only
// because tables were dropped; mu must be held.
func (tb *Tables) expiredWhole(l *LiveSegment) bool {
	spans := l.Tables
	if !l.Shared() {
		spans = []segment.TableSpan{l.Span(l.TableID)}
	}
	some := false
	for _, t := range spans {
		if _, dropped := tb.State.Dropped[t.TableID]; dropped {
			continue
		}
		if d := tb.State.Tables[t.TableID]; d == nil || d.Instant || !tb.State.Dead(t, l.Order) {
			return false
		}
		some = true
	}
	return some
}

// keepExpired moves the file of a dead segment to the folder of expired files, and reports whether
// it did.
func (sf *SegmentFiles) keepExpired(l *LiveSegment) bool {
	dir := filepath.Join(sf.cfg.Dir, expiredDirName)
	if sf.cfg.Space() != SpaceOK || sf.cfg.FS.MkdirAll(dir) != nil {
		return false
	}
	to := filepath.Join(dir, filepath.Base(l.Path)+expiredMark+sf.tables.clockNow().UTC().Format(expiredHour))
	if sf.cfg.FS.Rename(l.Path, to) != nil {
		return false
	}
	sf.SweepExpired()
	return true
}

// SweepExpired removes files of expired rows that are older than a day or take too much space, the
// oldest first. If disk space is short, it removes all of them.
func (sf *SegmentFiles) SweepExpired() {
	sf.expiredMu.Lock()
	defer sf.expiredMu.Unlock()
	dir := filepath.Join(sf.cfg.Dir, expiredDirName)
	names, err := sf.cfg.FS.ReadDir(dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			sf.cfg.Logger.Warn("could not remove files of expired rows", "folder", dir, "error", err)
		}
		return
	}
	sf.tables.mu.RLock()
	room := int64(0)
	for _, l := range sf.tables.segs.live {
		room += l.Bytes
	}
	sf.tables.mu.RUnlock()
	room = max(room/expiredShare, expiredLeast)
	if sf.cfg.Space() != SpaceOK {
		room = 0
	}
	hour := func(name string) string { _, at, _ := strings.Cut(name, expiredMark); return at }
	slices.SortFunc(names, func(a, b string) int {
		if c := strings.Compare(hour(b), hour(a)); c != 0 {
			return c
		}
		return strings.Compare(b, a)
	})
	now := sf.tables.clockNow()
	for _, name := range names { // the newest first
		path := filepath.Join(dir, name)
		size, err := sf.cfg.FS.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		at, err := time.Parse(expiredHour, hour(name))
		room -= size
		if err == nil && room >= 0 && now.Sub(at) < expiredTTL+time.Hour {
			continue
		}
		if err := sf.cfg.FS.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			sf.cfg.Logger.Warn("could not remove a file of expired rows", "file", path, "error", err)
		}
	}
}
