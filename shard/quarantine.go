package shard

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
	"cordwood/shard/manifest"
	"cordwood/shard/replica/raftlog"
	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

// DamagedSuffix ends the name of the file that lies beside a damaged segment and says
// why it is not read. It keeps what was found over a restart.
const DamagedSuffix = ".damaged"

// scrubPiece is how much of a file is read at a time.
const scrubPiece = 256 << 10

// verifiedFor is how long a file that was found sound is not verified again because a
// query failed.
const verifiedFor = 10 * time.Minute

// damage is why a segment is not read. What it had is missing until the file is
// restored, or given up with `cordwood doctor --forget`.
type damage struct {
	reason string
}

// isDamage reports whether err says that a file is not as it was written, as opposed to
// that it cannot be opened now.
func isDamage(err error) bool {
	corrupt := (*segment.ErrCorrupt)(nil)
	return errors.As(err, &corrupt) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EIO) || errors.Is(err, io.ErrUnexpectedEOF)
}

// errOldManifest is why a manifest is taken for damaged although each of its records is
// sound: the log says that there was more.
var errOldManifest = errors.New("the manifest is damaged or was replaced by an older one")

// IsDamaged reports whether err, of Open, says that files of the replica are damaged or
// gone: trying again does not help, the other replicas or a backup do.
func IsDamaged(err error) bool {
	state := (*manifest.ErrCorrupt)(nil)
	return errors.As(err, &state) || errors.Is(err, raftlog.ErrDamaged) || errors.Is(err, errOldManifest)
}

// Diverged says why the replica in a shard's folder has another past than the others of its
// group; empty: nobody has found that. See raftlog.Diverged.
func Diverged(dir string) (why string, err error) {
	return raftlog.Diverged(filepath.Join(dir, raftDirName))
}

// MarkDiverged has the replica in a shard's folder made anew; see raftlog.MarkDiverged.
func MarkDiverged(dir, why string) error {
	return raftlog.MarkDiverged(filepath.Join(dir, raftDirName), why)
}

// scrubber finds segments that are damaged, and sets them aside.
type scrubber struct {
	cfg        *Config
	segmentDir string
	tables     *tables
}

// checkSegment checks at the start what can be checked at once: size and footer, and
// the whole of a file that was found damaged before. Damage does not keep the shard
// from starting; the segment is set aside when it is made live.
func (sc *scrubber) checkSegment(m *segment.Meta) error {
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
		sc.cfg.Logger.Info("a segment that was damaged is whole again", "file", path)
		if err := sc.cfg.FS.Remove(path + DamagedSuffix); err != nil {
			return fmt.Errorf("remove the mark of a damaged segment: %w", err)
		}
		return nil
	case !isDamage(err):
		return err
	}
	if sc.tables.segs.damaged == nil {
		sc.tables.segs.damaged = map[uint64]*damage{}
	}
	sc.tables.segs.damaged[m.ID] = &damage{err.Error()}
	sc.tellDamage(m, path, err)
	return nil
}

func (sc *scrubber) tellDamage(m *segment.Meta, path string, err error) {
	sc.cfg.Logger.Error("a segment is damaged and set aside: its rows are missing from queries, which say so; restore the file and start again, or give its rows up with 'cordwood doctor --forget'",
		"table", m.TableID, "file", path, "rows", m.Rows, "min_time", m.MinTime, "max_time", m.MaxTime, "error", err)
}

// quarantine sets a live segment aside.
func (sc *scrubber) quarantine(l *liveSegment, err error) {
	if !l.damage.CompareAndSwap(nil, &damage{err.Error()}) {
		return
	}
	sc.tellDamage(&l.Meta, l.path, err)
	// Without the mark it is found again when it is read again.
	if merr := writeMark(sc.cfg.FS, l.path+DamagedSuffix, err.Error()); merr != nil {
		sc.cfg.Logger.Warn("a damaged segment could not be marked on disk", "file", l.path, "error", merr)
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

// unmark removes the mark of a segment whose file goes.
func (sf *segmentFiles) unmark(l *liveSegment) {
	if l.damage.Load() == nil {
		return
	}
	if err := sf.cfg.FS.Remove(l.path + DamagedSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		sf.cfg.Logger.Warn("the mark of a damaged segment stays behind", "file", l.path+DamagedSuffix, "error", err)
	}
}

// suspects pins the live segments of tables, all if there are none given, that were
// not found damaged yet. Each must be given back.
func (sc *scrubber) suspects(tables []uint64) []*liveSegment {
	sc.tables.mu.RLock()
	defer sc.tables.mu.RUnlock()
	if sc.tables.closed {
		return nil
	}
	var out []*liveSegment
	seen := map[uint64]bool{}
	take := func(list []*liveSegment) {
		for _, l := range list {
			if !seen[l.ID] && l.damage.Load() == nil {
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

// Verify reads the segments of tables, all if none are given, from the first byte to
// the last, and sets aside those that are not as they were written. pace, if not nil,
// is called before each piece of n bytes is read and may wait, or end the work. It
// returns how many segments were found damaged.
func (s *Shard) Verify(tables []uint64, pace func(n int) error) (damaged int, err error) {
	return s.scrub.verify(tables, 0, pace)
}

// verify is Shard.Verify, without the segments that were found sound so short a time ago.
func (sc *scrubber) verify(tables []uint64, recent time.Duration, pace func(n int) error) (damaged int, err error) {
	list := sc.suspects(tables)
	defer func() {
		for _, l := range list {
			l.unref()
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
		case isDamage(verr):
			sc.quarantine(l, verr)
			damaged++
		default:
			return damaged, fmt.Errorf("shard %d: verify: %w", sc.cfg.ID, verr)
		}
	}
	return damaged, nil
}

func verifyFile(fsys vfs.FS, dir string, l *liveSegment, pace func(n int) error) error {
	if err := segment.Check(fsys, dir, &l.Meta, false); err != nil {
		return err
	}
	f, err := fsys.Open(l.path)
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
			return fmt.Errorf("segment %s: read at %d: %w", l.path, at, err)
		}
		crc = crc32.Update(crc, crc32.MakeTable(crc32.Castagnoli), b)
	}
	if crc != l.FileCRC {
		return &segment.ErrCorrupt{File: l.path, Part: "checksum", Want: fmt.Sprintf("%08x", l.FileCRC), Got: fmt.Sprintf("%08x", crc)}
	}
	return nil
}

// damagedCount returns the number of segments that are set aside; mu is held.
func (sl *segmentLists) damagedCount() int {
	seen := map[uint64]bool{}
	for _, list := range sl.byTable {
		for _, l := range list {
			if l.damage.Load() != nil {
				seen[l.ID] = true
			}
		}
	}
	return len(seen)
}

// readsDamaged tells by the engine's error whether it may have met a damaged file: it
// does not say which.
func readsDamaged(err error) bool {
	e := errs.From(err)
	switch e.Code {
	case errs.EngineExecuteQuery, errs.External, errs.Internal, errs.Unexpected, errs.Unknown, errs.StorageUnavailable:
		return true
	case errs.InvalidArguments:
	default:
		return false
	}
	// Mistakes in statements have this code too, and are frequent.
	text := strings.ToLower(err.Error())
	for _, word := range []string{"zstd", "parquet", "decompress", "tprotocol", "corrupt", "checksum"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// examine looks, after a query failed, whether a damaged file is the reason: then the
// file is set aside, and the error says what is missing.
func (s *server) examine(ctx context.Context, req *shardpb.QueryRequest, err error) error {
	var shards []uint32
	var tables []uint64
	for _, t := range req.Tables {
		if t.Inline {
			continue
		}
		tables = append(tables, t.Table.Id)
		for _, id := range shardsOf(t) {
			if !slices.Contains(shards, id) {
				shards = append(shards, id)
			}
		}
	}
	return s.examineShards(ctx, shards, tables, err)
}

// examineShards is examine of some tables in those shards that are on this node.
func (s *server) examineShards(ctx context.Context, shards []uint32, tables []uint64, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	if !readsDamaged(err) {
		return s.lasting(shards, err)
	}
	damaged := 0
	for _, id := range shards {
		sh, ok := s.cfg.Shards(id)
		if !ok {
			continue
		}
		n, verr := sh.scrub.verify(tables, verifiedFor, func(int) error { return ctx.Err() })
		damaged += n
		if verr != nil {
			sh.cfg.Logger.Warn("a query failed, and its files could not be verified", "error", verr)
		}
	}
	if damaged == 0 {
		return err
	}
	return errs.New(errs.TableUnavailable,
		"%d damaged segments were found and set aside (svc_private.segments names them); the query can be tried again, and says what is missing: %s", damaged, err).WithRetryAfter(time.Second)
}

// lasting changes the error of a query that lacks the rows of a damaged segment. Another
// replica mends such a segment soon, and the query may be sent again. Where there is no other
// one, status 500 says that the query fails until a person does something about it.
func (s *server) lasting(shards []uint32, err error) error {
	e := errs.From(err)
	if e.Code != errs.TableUnavailable || e.RetryAfter != 0 {
		return err
	}
	for _, id := range shards {
		if sh, ok := s.cfg.Shards(id); ok && !sh.replica.SoleVoter() {
			return e.WithRetryAfter(time.Second)
		}
	}
	return e.WithStatus(http.StatusInternalServerError)
}
