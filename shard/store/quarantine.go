package store

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

// DamagedSuffix is the suffix of the file next to a damaged segment that describes the damage. It
// preserves the finding across restarts.
const DamagedSuffix = ".damaged"

// scrubPiece is how many bytes of a file are read at a time.
const scrubPiece = 256 << 10

// IsDamage reports whether err means that a file is damaged, as opposed to a file that cannot be
// opened at the moment.
func IsDamage(err error) bool {
	corrupt := (*segment.ErrCorrupt)(nil)
	return errors.As(err, &corrupt) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EIO) ||
		errors.Is(err, io.ErrUnexpectedEOF)
}

// Scrubber finds and quarantines damaged segments.
type Scrubber struct {
	cfg        *Config
	segmentDir string
	tables     *Tables
}

// checkSegment does the fast checks at the start: size and footer, and the whole file if it was
// found damaged before. Damage does not prevent the start; the segment is quarantined when it
// becomes live.
func (sc *Scrubber) checkSegment(m *segment.Meta) error {
	path := filepath.Join(sc.segmentDir, m.FileName())
	marked := false
	if _, err := sc.cfg.FS.Stat(path + DamagedSuffix); err == nil {
		marked = true
	}
	err := segment.Check(sc.cfg.FS, sc.segmentDir, m, marked || m.Raw)
	switch {
	case err == nil && !marked:
		return nil
	case err == nil:
		sc.cfg.Logger.Info("a segment that was damaged is intact again", "file", path)
		if err := sc.cfg.FS.Remove(path + DamagedSuffix); err != nil {
			return fmt.Errorf("remove the mark of a formerly damaged segment: %w", err)
		}
		return nil
	case !IsDamage(err):
		return err
	}
	if sc.tables.segs.damaged == nil {
		sc.tables.segs.damaged = map[uint64]*damage{}
	}
	sc.tables.segs.damaged[m.ID] = &damage{err.Error()}
	sc.logDamage(m, path, err)
	return nil
}

func (sc *Scrubber) logDamage(m *segment.Meta, path string, err error) {
	sc.cfg.Logger.Error("a segment is damaged and quarantined: queries that need its rows fail or report that rows are "+
		"missing; "+
		"restore the file and restart, or give its rows up with 'cordwood doctor --forget'",
		"table", m.TableID, "file", path, "rows", m.Rows, "min_time", m.MinTime, "max_time", m.MaxTime, "error", err)
}

// quarantine quarantines a live segment.
func (sc *Scrubber) quarantine(l *LiveSegment, err error) {
	if !l.Damage.CompareAndSwap(nil, &damage{err.Error()}) {
		return
	}
	sc.logDamage(&l.Meta, l.Path, err)
	// Without the mark, the damage is found again at the next read.
	if merr := writeMark(sc.cfg.FS, l.Path+DamagedSuffix, err.Error()); merr != nil {
		sc.cfg.Logger.Warn("a damaged segment could not be marked on disk", "file", l.Path, "error", merr)
	}
}

func writeMark(fsys vfs.FS, path, text string) error {
	f, err := fsys.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(text + "\n"))
	return errors.Join(err, f.Sync(), f.Close())
}

// suspects pins the live segments of the given tables, or of all tables, that are not known to be
// damaged. The caller must release each of them.
func (sc *Scrubber) suspects(tables []uint64) []*LiveSegment {
	sc.tables.mu.RLock()
	defer sc.tables.mu.RUnlock()
	if sc.tables.closed {
		return nil
	}
	var out []*LiveSegment
	seen := map[uint64]bool{}
	take := func(list []*LiveSegment) {
		for _, l := range list {
			if !seen[l.ID] && l.Damage.Load() == nil {
				seen[l.ID] = true
				l.refs.Add(1)
				out = append(out, l)
			}
		}
	}
	if tables == nil {
		for _, list := range sc.tables.segs.byTable {
			take(list)
		}
	}
	for _, id := range tables {
		take(sc.tables.segs.byTable[id])
	}
	return out
}

// Verify implements Shard.Verify. It skips segments that were found intact recently.
func (sc *Scrubber) Verify(tables []uint64, recent time.Duration, pace func(n int) error) (damaged int, err error) {
	list := sc.suspects(tables)
	defer func() {
		for _, l := range list {
			l.Unref()
		}
	}()
	for _, l := range list {
		if at := l.verified.Load(); recent > 0 && at > 0 && time.Since(time.Unix(0, at)) < recent {
			continue
		}
		verr := verifyFile(sc.cfg.FS, sc.segmentDir, l, pace)
		switch {
		case verr == nil:
			l.verified.Store(time.Now().UnixNano())
		case IsDamage(verr):
			sc.quarantine(l, verr)
			damaged++
		default:
			return damaged, fmt.Errorf("shard %d: verify: %w", sc.cfg.ID, verr)
		}
	}
	return damaged, nil
}

func verifyFile(fsys vfs.FS, dir string, l *LiveSegment, pace func(n int) error) error {
	if err := segment.Check(fsys, dir, &l.Meta, false); err != nil {
		return err
	}
	f, err := fsys.Open(l.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	crc, buf := uint32(0), make([]byte, scrubPiece)
	for at := int64(0); at < l.Bytes; at += scrubPiece {
		b := buf[:min(scrubPiece, l.Bytes-at)]
		if pace != nil {
			if err := pace(len(b)); err != nil {
				return err
			}
		}
		if n, err := f.ReadAt(b, at); n < len(b) {
			return fmt.Errorf("segment %s: read at %d: %w", l.Path, at, err)
		}
		crc = crc32.Update(crc, crc32.MakeTable(crc32.Castagnoli), b)
	}
	if crc != l.FileCRC {
		return &segment.ErrCorrupt{
			File: l.Path,
			Part: "checksum",
			Want: fmt.Sprintf("%08x", l.FileCRC),
			Got:  fmt.Sprintf("%08x", crc),
		}
	}
	return nil
}
