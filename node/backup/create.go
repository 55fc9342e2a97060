package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"cordwood/node/backup/store"
	"cordwood/proto/backuppb"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/words"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Progress counts the finished work and all work. It may be read while the work continues.
type Progress struct {
	// Bytes out of TotalBytes and Segments out of TotalSegments are done. Kept segments needed no transfer.
	Bytes, TotalBytes       atomic.Int64
	Segments, TotalSegments atomic.Int64
	KeptBytes, KeptSegments atomic.Int64
	// Rows out of TotalRows were written by a restore.
	Rows, TotalRows atomic.Int64

	waiting waiting
}

// CreateConfig configures Create.
type CreateConfig struct {
	Source Source
	// Version is the version of this program.
	Version string
	// Parallel is the number of files that are transferred at once. The default value is 4.
	Parallel int
	// Rate limits the rate of reading from the cluster. Nil means no limit.
	Rate *Limiter
	// Progress, if not nil, receives the progress.
	Progress *Progress
	// Logger receives messages for operators. If it is nil, they are discarded.
	Logger *slog.Logger
}

// Created is the result of Create.
type Created struct {
	Summary
	// Segments is the number of segment files of the backup. NewSegments of them, with NewBytes, were not in the
	// repository before.
	Segments    int64 `json:"segments"`
	NewSegments int64 `json:"new_segments"`
	NewBytes    int64 `json:"new_bytes"`
	// Damaged lists the segments that are not in the backup because the cluster itself has lost
	// them.
	Damaged []string `json:"damaged,omitempty"`
}

// Create adds a backup of everything that was acknowledged before the call. Files that are already in the repository,
// from earlier backups or an interrupted one, are not sent again. When it returns nil, the backup is complete and
// durable. After an error no backup is added, but the next Create uses the files that were stored.
//
// If the file of a segment is damaged in the cluster, its copy in the repository is used. Without a copy, the segment
// is left out and listed in Damaged.
func (r *Repository) Create(ctx context.Context, cfg CreateConfig) (_ *Created, err error) {
	if cfg.Parallel <= 0 {
		cfg.Parallel = 4
	}
	if cfg.Progress == nil {
		cfg.Progress = &Progress{}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	held, err := r.lock(ctx, lockWrite)
	if err != nil {
		return nil, err
	}
	defer held.release()
	started := r.now()
	c := &creation{r: r, cfg: cfg, cluster: cfg.Source.ClusterID(), b: &backuppb.Backup{
		Id: newID(started), ClusterId: cfg.Source.ClusterID(), CordwoodVersion: cfg.Version,
		StartedUnixNano: started.UnixNano(),
	}}
	defer c.close()
	if err := c.run(ctx); err != nil {
		return nil, err
	}
	return c.created(), nil
}

// creation is one run of Create.
type creation struct {
	r       *Repository
	cfg     CreateConfig
	cluster string
	b       *backuppb.Backup
	shards  []*shardCopy
	// before contains the ids of the tables that existed before any held pin.
	before map[uint64]bool
	// own contains the ids of the server's own tables, such as svc_private.audit, which a restore leaves out.
	own map[uint64]bool

	newBytes, newSegments atomic.Int64
}

// shardCopy is a shard whose files are being copied into the repository.
type shardCopy struct {
	shard *metapb.Shard
	pin   Pin
	have  map[segmentKey][]byte // SHA-256 of the segments in the repository
	out   *backuppb.Shard
}

func (c *creation) close() {
	for _, s := range c.shards {
		if s.pin != nil {
			s.pin.Close()
		}
	}
}

// maxPinLosses is the maximum number of times that shards are pinned again because a pin was lost.
const maxPinLosses = 20

func (c *creation) run(ctx context.Context) error {
	if err := c.pinAll(ctx); err != nil {
		return err
	}
	for losses := 0; ; {
		err := c.copy(ctx)
		if !errors.Is(err, errPinLost) {
			if err != nil {
				return err
			}
			break
		}
		if losses++; losses > maxPinLosses {
			return err
		}
		c.cfg.Logger.Warn("the connection to a shard was lost; its segments are listed again", "error", err)
		if err := c.pinAll(ctx); err != nil {
			return err
		}
	}
	return c.commit(ctx)
}

var errPinLost = errors.New("a shard no longer keeps its segments for this backup")

// pin pins all shards whose pin is not held.
func (c *creation) pin(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range c.shards {
		if s.pin != nil {
			select {
			case <-s.pin.Lost():
				s.pin.Close()
				s.pin = nil
			default:
				continue
			}
		}
		group.Go(func() error {
			pin, err := c.cfg.Source.Pin(ctx, s.shard.Id)
			if err != nil {
				return fmt.Errorf("shard %d: %w", s.shard.Id, err)
			}
			s.pin = pin
			s.out = &backuppb.Shard{
				Id: s.shard.Id, Incarnation: s.shard.Incarnation, Index: pin.Index(), Expired: pin.Expired(),
				Merging: pin.Merging(),
			}
			for _, seg := range pin.Segments() {
				s.out.Segments = append(s.out.Segments, &backuppb.Segment{Segment: seg})
			}
			s.have, err = c.r.segmentsOf(ctx, c.cluster, s.shard)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	p := c.cfg.Progress
	p.Bytes.Store(0)
	p.Segments.Store(0)
	p.KeptBytes.Store(0)
	p.KeptSegments.Store(0)
	var segments, bytes int64
	for _, s := range c.shards {
		for _, seg := range s.out.Segments {
			segments++
			bytes += seg.Segment.Bytes
		}
	}
	p.TotalSegments.Store(segments)
	p.TotalBytes.Store(bytes)
	return nil
}

// segmentsOf returns the SHA-256 of the segments of a shard that are stored in the repository.
func (r *Repository) segmentsOf(ctx context.Context, cluster string, s *metapb.Shard) (map[segmentKey][]byte, error) {
	have := map[segmentKey][]byte{}
	err := r.store.List(ctx, shardPrefix(cluster, s.Id, s.Incarnation), func(o store.Object) error {
		if k, sum, ok := parseSegmentName(o.Name); ok && k.bytes == o.Size {
			have[k] = sum
		}
		return nil
	})
	return have, err
}

// metadata writes the present metadata of the cluster.
func (c *creation) metadata(ctx context.Context) error {
	u, err := c.r.store.Create(ctx)
	if err != nil {
		return fmt.Errorf("write the metadata: %w", err)
	}
	defer u.Abort()
	w, err := newFrameWriter(u, kindMetadata)
	if err != nil {
		return fmt.Errorf("write the metadata: %w", err)
	}
	tables := uint64(0)
	moved := error(nil)
	c.own = map[uint64]bool{}
	err = c.cfg.Source.Metadata(ctx, func(rec *backuppb.Record) error {
		if t := rec.GetTable(); t != nil {
			tables++
			if schema.ReservedDatabase(t.Database) {
				c.own[t.Id] = true
			}
			moved = cmp.Or(moved, c.moved(t))
		}
		return w.record(rec)
	})
	if err != nil {
		return fmt.Errorf("read the metadata: %w", err)
	}
	if moved != nil {
		return moved
	}
	size, sum, err := w.close()
	if err != nil {
		return fmt.Errorf("write the metadata: %w", err)
	}
	c.b.Metadata = &backuppb.Object{Name: metadataName(sum), Size: size, Sha256: sum}
	c.b.Tables = tables
	if err := u.Commit(ctx, c.b.Metadata.Name); err != nil {
		return fmt.Errorf("write the metadata: %w", err)
	}
	return nil
}

// copy transfers every missing segment into the repository.
func (c *creation) copy(ctx context.Context) error {
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(c.cfg.Parallel)
	for _, s := range c.shards {
		for _, seg := range s.out.Segments {
			if len(seg.Sha256) > 0 {
				continue // transferred before a pin was lost
			}
			if have, ok := s.have[keyOf(c.cluster, s.out, seg.Segment)]; ok {
				seg.Sha256 = have
				seg.Segment.Damaged = false
				c.cfg.Progress.KeptBytes.Add(seg.Segment.Bytes)
				c.cfg.Progress.KeptSegments.Add(1)
				c.cfg.Progress.Bytes.Add(seg.Segment.Bytes)
				c.cfg.Progress.Segments.Add(1)
				continue
			}
			if gctx.Err() != nil {
				break
			}
			group.Go(func() error {
				if err := c.send(gctx, s, seg); err != nil {
					return fmt.Errorf("shard %d: segment %d: %w", s.shard.Id, seg.Segment.Id, err)
				}
				return nil
			})
		}
	}
	return group.Wait()
}

// commit writes the manifest. Before that, it checks once more that all files exist that the manifest lists.
func (c *creation) commit(ctx context.Context) error {
	for _, s := range c.shards {
		s.out.Damaged = nil
		s.out.Segments = slices.DeleteFunc(s.out.Segments, func(seg *backuppb.Segment) bool {
			if seg.Segment.Damaged {
				s.out.Damaged = append(s.out.Damaged, seg.Segment)
			}
			return seg.Segment.Damaged
		})
		sizes := map[string]int64{}
		err := c.r.store.List(ctx, shardPrefix(c.cluster, s.shard.Id, s.shard.Incarnation), func(o store.Object) error {
			sizes[o.Name] = o.Size
			return nil
		})
		if err != nil {
			return err
		}
		for _, seg := range s.out.Segments {
			name := segmentName(keyOf(c.cluster, s.out, seg.Segment), seg.Sha256)
			if size, ok := sizes[name]; !ok || size != seg.Segment.Bytes {
				return fmt.Errorf("another process removed or changed %s while the backup continued: run it again", name)
			}
			for _, span := range spans(seg) {
				if !c.own[span.TableID] {
					c.b.Rows += span.Rows
				}
			}
			c.b.Bytes += seg.Segment.Bytes
		}
		c.b.Shards = append(c.b.Shards, s.out)
	}
	slices.SortFunc(c.b.Shards, func(a, b *backuppb.Shard) int { return int(a.Id) - int(b.Id) })
	c.b.FinishedUnixNano = c.r.now().UnixNano()
	raw, err := encodeFrame(kindManifest, c.b)
	if err != nil {
		return err
	}
	if err := put(ctx, c.r.store, manifestName(c.b.Id), raw); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	return nil
}

func (c *creation) created() *Created {
	out := &Created{Summary: summary(c.b), NewBytes: c.newBytes.Load(), NewSegments: c.newSegments.Load()}
	for _, s := range c.b.Shards {
		out.Segments += int64(len(s.Segments))
		for _, d := range s.Damaged {
			out.Damaged = append(out.Damaged, fmt.Sprintf("segment %d of shard %d, %s", d.Id, s.Id, words.Count(d.Rows, "row")))
		}
	}
	return out
}
