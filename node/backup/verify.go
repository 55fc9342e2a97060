package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"cordwood/node/backup/store"
	"cordwood/proto/backuppb"
	"cordwood/proto/shardpb"
	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

// The kinds of findings.
const (
	// Damaged means that the object differs from what was written.
	Damaged = "damaged"
	// Missing means that a backup needs the object and it does not exist.
	Missing = "missing"
	// Newer means that this version cannot read the object.
	Newer = "newer"
	// Unused means that no backup needs the object. Prune removes it.
	Unused = "unused"
	// Foreign means that the object is not part of a repository.
	Foreign = "foreign"
)

// Finding is a fault or a remark of Verify.
type Finding struct {
	Kind   string `json:"kind"`
	Object string `json:"object"`
	Text   string `json:"text"`
	// Backups lists the backups that cannot be restored completely because of the fault.
	Backups []string `json:"backups,omitempty"`
}

// Serious reports whether the finding prevents the restore of a backup.
func (f Finding) Serious() bool { return f.Kind != Unused && f.Kind != Foreign }

// VerifyConfig configures Verify.
type VerifyConfig struct {
	// Backup is the id of the only backup to verify; empty means all.
	Backup string
	// Quick only checks that objects exist and have the right size. Deep also reads every row.
	Quick, Deep bool
	// Parallel is the number of files that are read at once. The default value is 4.
	Parallel int
	Rate     *Limiter
	Progress *Progress
	// TempDir is the folder for files from a bucket while their rows are read.
	TempDir string
}

// Verified is the result of Verify.
type Verified struct {
	Backups  []string  `json:"backups"`
	Objects  int64     `json:"objects"`
	Bytes    int64     `json:"bytes"`
	Rows     int64     `json:"rows"`
	Findings []Finding `json:"findings"`
}

// Serious reports whether a backup cannot be restored.
func (v *Verified) Serious() bool { return slices.ContainsFunc(v.Findings, Finding.Serious) }

// Verify reads all files of the backups and compares them with what was written. Every changed byte gives a Finding.
// An error means that Verify could not finish.
func (r *Repository) Verify(ctx context.Context, cfg VerifyConfig) (*Verified, error) {
	if cfg.Parallel <= 0 {
		cfg.Parallel = 4
	}
	if cfg.Progress == nil {
		cfg.Progress = &Progress{}
	}
	v := &verification{
		r: r, cfg: cfg, out: &Verified{Backups: []string{}, Findings: []Finding{}}, wanted: map[string]*wanted{},
	}
	if err := v.run(ctx); err != nil {
		return nil, fmt.Errorf("verify %s: %w", r.Location(), err)
	}
	return v.out, nil
}

type verification struct {
	r      *Repository
	cfg    VerifyConfig
	have   map[string]int64
	wanted map[string]*wanted

	mu  sync.Mutex // guards out
	out *Verified
}

// wanted is an object that backups need.
type wanted struct {
	name    string
	size    int64
	sum     []byte
	segment *shardpb.PinnedSegment // nil for metadata
	backups []string
}

func (v *verification) found(kind, object, text string, backups ...string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.out.Findings = append(v.out.Findings, Finding{Kind: kind, Object: object, Text: text, Backups: backups})
}

// without returns the text of an error without the name of the object, for a list that shows the object already.
func without(object string, err error) string {
	text := strings.Replace(err.Error(), "manifest "+object+": ", "", 1)
	for _, begin := range []string{object + " is damaged: ", object + ": "} {
		text = strings.TrimPrefix(text, begin)
	}
	return text
}

func (v *verification) run(ctx context.Context) error {
	v.have = map[string]int64{}
	if err := v.r.store.List(ctx, "", func(o store.Object) error { v.have[o.Name] = o.Size; return nil }); err != nil {
		return err
	}
	if err := v.manifests(ctx); err != nil {
		return err
	}
	if err := v.contents(ctx); err != nil {
		return err
	}
	if v.cfg.Backup == "" {
		v.extras()
	}
	slices.SortFunc(v.out.Findings, func(a, b Finding) int { return strings.Compare(a.Object, b.Object) })
	return nil
}

// manifests reads the manifests and records the objects that they need.
func (v *verification) manifests(ctx context.Context) error {
	ids, err := v.r.ids(ctx)
	if err != nil {
		return err
	}
	if v.cfg.Backup != "" {
		b, err := v.r.Find(ctx, v.cfg.Backup)
		if err != nil {
			return err
		}
		ids = []string{b.Id}
	}
	for _, id := range ids {
		b, err := v.r.load(ctx, id)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			kind := Damaged
			if errors.Is(err, ErrNewer) {
				kind = Newer
			}
			v.found(kind, manifestName(id), without(manifestName(id), err), id)
			continue
		}
		v.out.Backups = append(v.out.Backups, id)
		v.want(id, b.Metadata.Name, b.Metadata.Size, b.Metadata.Sha256, nil)
		for _, s := range b.Shards {
			for _, seg := range s.Segments {
				v.want(id, segmentName(keyOf(b.ClusterId, s, seg.Segment), seg.Sha256), seg.Segment.Bytes, seg.Sha256, seg.Segment)
			}
		}
	}
	return nil
}

func (v *verification) want(backup, name string, size int64, sum []byte, seg *shardpb.PinnedSegment) {
	w := v.wanted[name]
	if w == nil {
		w = &wanted{name: name, size: size, sum: sum, segment: seg}
		v.wanted[name] = w
	}
	w.backups = append(w.backups, backup)
}

// contents compares every needed object with the manifests.
func (v *verification) contents(ctx context.Context) error {
	list := make([]*wanted, 0, len(v.wanted))
	for _, w := range v.wanted {
		list = append(list, w)
		v.cfg.Progress.TotalBytes.Add(w.size)
		v.cfg.Progress.TotalSegments.Add(1)
	}
	sortedBy(list, func(w *wanted) string { return w.name })
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(v.cfg.Parallel)
	for _, w := range list {
		size, ok := v.have[w.name]
		switch {
		case !ok:
			v.found(Missing, w.name, "it is missing", w.backups...)
		case size != w.size:
			v.found(Damaged, w.name, fmt.Sprintf("it has %d bytes, but %d were written", size, w.size), w.backups...)
		case v.cfg.Quick:
			v.out.Objects++
		default:
			group.Go(func() error { return v.content(ctx, w) })
		}
	}
	return group.Wait()
}

func (v *verification) content(ctx context.Context, w *wanted) error {
	rows, err := v.read(ctx, w)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		kind := Damaged
		switch {
		case errors.Is(err, store.ErrNotFound):
			kind = Missing
		case errors.Is(err, ErrNewer):
			kind = Newer
		}
		v.found(kind, w.name, without(w.name, err), w.backups...)
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.out.Objects++
	v.out.Bytes += w.size
	v.out.Rows += rows
	v.cfg.Progress.Segments.Add(1)
	return nil
}

// read reads one object, and also its rows if Deep is set.
func (v *verification) read(ctx context.Context, w *wanted) (rows int64, err error) {
	passed := func(n int) { v.cfg.Progress.Bytes.Add(int64(n)) }
	if w.segment == nil {
		raw, err := readSmall(ctx, v.r.store, w.name, maxMetadata)
		if err != nil {
			return 0, err
		}
		passed(len(raw))
		if sum := sha256.Sum256(raw); !bytes.Equal(sum[:], w.sum) {
			return 0, fmt.Errorf("SHA-256 is %x, but %x was written", sum, w.sum)
		}
		return 0, readMetadata(raw, func(*backuppb.Record) error { return nil })
	}
	m := segment.FromProto(w.segment)
	if !v.cfg.Deep {
		return 0, v.r.check(ctx, io.Discard, w.name, &m, w.sum, v.cfg.Rate, passed)
	}
	file, done, err := v.r.fetch(ctx, w.name, &m, w.sum, v.cfg.TempDir, v.cfg.Rate, passed)
	if err != nil {
		return 0, err
	}
	defer done()
	return countRows(ctx, file, &m)
}

// check reads a segment's file, compares it with what was written, and copies it to w.
func (r *Repository) check(
	ctx context.Context, w io.Writer, name string, m *segment.Meta, sum []byte, rate *Limiter, passed func(int),
) error {
	from := newResumer(ctx, name, func(offset int64) (io.ReadCloser, error) { return r.store.Open(ctx, name, offset) })
	defer from.close()
	h, crc := sha256.New(), crc32.New(castagnoli)
	n, err := io.CopyBuffer(io.MultiWriter(w, h, crc), io.LimitReader(rate.reader(ctx, from, passed), m.Bytes+1),
		make([]byte, 256<<10))
	if err != nil {
		return err
	}
	if got := h.Sum(nil); n != m.Bytes || !bytes.Equal(got, sum) || crc.Sum32() != m.FileCRC {
		return &damage{fmt.Sprintf("%s is damaged: %d bytes with SHA-256 %s and CRC-32C %08x, but %d were written with "+
			"%s and %08x",
			name, n, hex.EncodeToString(got), crc.Sum32(), m.Bytes, hex.EncodeToString(sum), m.FileCRC)}
	}
	return nil
}

// fetch checks a segment's file and returns a path to it on this machine, valid until done is
// called.
func (r *Repository) fetch(
	ctx context.Context, name string, m *segment.Meta, sum []byte, tempDir string, rate *Limiter, passed func(int),
) (file string, done func(), err error) {
	if path, ok := r.store.Path(name); ok {
		return path, func() {}, r.check(ctx, io.Discard, name, m, sum, rate, passed)
	}
	f, err := os.CreateTemp(tempDir, "cordwood-restore-*")
	if err != nil {
		return "", nil, fmt.Errorf("make a temporary file: %w", err)
	}
	done = func() { _ = os.Remove(f.Name()) }
	if err := errors.Join(r.check(ctx, f, name, m, sum, rate, passed), f.Close()); err != nil {
		done()
		return "", nil, err
	}
	return f.Name(), done, nil
}

// readRows is the number of rows that are read from a segment at a time.
const readRows = 8192

// countRows reads every row of a segment, and compares their times and their numbers, in total and per table, with
// what was written.
func countRows(ctx context.Context, file string, m *segment.Meta) (int64, error) {
	rd, err := segment.Open(vfs.OS, file, m)
	if err != nil {
		return 0, err
	}
	defer func() { _ = rd.Close() }() // the file was read to its end, or the error is returned already
	total, byTable := int64(0), map[uint64]int64{}
	for {
		b, err := rd.Next(readRows)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, err
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if !m.Shared() && (b.MinTime < m.MinTime || b.MaxTime > m.MaxTime) {
			return 0, fmt.Errorf("it has rows of %d to %d, but %d to %d were written",
				b.MinTime, b.MaxTime, m.MinTime, m.MaxTime)
		}
		total += int64(b.Rows)
		byTable[b.TableID] += int64(b.Rows)
	}
	if total != m.Rows {
		return 0, fmt.Errorf("it has %d rows, but %d were written", total, m.Rows)
	}
	for _, t := range m.Tables {
		if byTable[t.TableID] != t.Rows {
			return 0, fmt.Errorf("it has %d rows of table %d, but %d were written", byTable[t.TableID], t.TableID, t.Rows)
		}
	}
	return total, nil
}

// extras reports objects of the repository that no backup needs.
func (v *verification) extras() {
	for name := range v.have {
		_, isManifest := parseManifestName(name)
		_, _, isSegment := parseSegmentName(name)
		switch {
		case v.wanted[name] != nil, isManifest, name == infoName:
		case strings.HasPrefix(name, lockPrefix), strings.HasPrefix(name, tempPrefix):
		case isSegment, metadataNames.MatchString(name):
			v.found(Unused, name, "no backup needs it; 'cordwood backup prune' removes it")
		default:
			v.found(Foreign, name, "it is not part of a repository")
		}
	}
}
