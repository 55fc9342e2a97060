package backup

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"cordwood/proto/backuppb"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/shard/query"
)

// rowsState is the state of writing the rows of a restored table.
type rowsState struct {
	// columns contains the columns in the cluster, by their id in the backup.
	columns map[uint32]schema.Column
	// expiredBefore is the time index below which rows have expired.
	expiredBefore int64
	timeIndex     uint32 // id of the time index in the backup
	discarded     bool   // the table discards its rows
	// left is the number of segments of the table that are not written yet.
	left atomic.Int64
	// late means that the table is written after the others, shard by shard in the order of placement.
	late bool
}

// rows writes the rows of all tables that are not complete.
//
// The files of a shard of the backup are read in order, so that the later of two rows with the same identity is
// written later; the shards of the backup are read in parallel. Merging tables on several shards, and tables whose
// merge rule was changed, are written at the end.
func (s *restoration) rows(ctx context.Context) error {
	for _, t := range s.tables {
		if err := t.prepare(); err != nil {
			return fmt.Errorf("table %s: %w", t.name(), err)
		}
	}
	shardsOf := s.countSpans()
	var empty []*schemapb.Table
	for _, t := range s.tables {
		t.late = t.changes || shardsOf[t.from.Id] > 1 && !t.to.AppendMode()
		if t.left.Load() == 0 {
			empty = append(empty, t.from)
		}
	}
	if err := s.each(ctx, empty, func(ctx context.Context, t *schemapb.Table) error {
		return s.complete(ctx, s.byID[t.Id])
	}); err != nil {
		return err
	}
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(s.cfg.Parallel)
	for _, shard := range s.b.Shards {
		group.Go(func() error {
			return s.shard(gctx, shard, func(t *restoredTable, _ query.Merge) bool { return !t.late })
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, t := range s.tables {
		if !t.late {
			continue
		}
		if err := s.lateTable(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// countSpans counts the rows to write, and for each table the segments that are left to read. shardsOf is the number
// of shards of the backup that each table is on.
func (s *restoration) countSpans() (shardsOf map[uint64]int) {
	shardsOf = map[uint64]int{}
	for _, shard := range s.b.Shards {
		seen := map[uint64]bool{}
		for _, seg := range shard.Segments {
			for _, span := range spans(seg) {
				t := s.byID[span.TableID]
				if t == nil {
					continue
				}
				t.left.Add(1)
				s.cfg.Progress.TotalRows.Add(span.Rows)
				if !seen[span.TableID] {
					seen[span.TableID] = true
					shardsOf[span.TableID]++
				}
			}
		}
	}
	return shardsOf
}

// lateTable writes the rows of one table, shard by shard. Rows that merge come before rows that are all kept, because
// append mode cannot be switched off.
func (s *restoration) lateTable(ctx context.Context, t *restoredTable) error {
	for _, kept := range []bool{false, true} {
		for _, shard := range s.inPlacementOrder(t) {
			err := s.shard(ctx, shard, func(x *restoredTable, rule query.Merge) bool {
				return x == t && (rule == query.Append) == kept
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// inPlacementOrder lists the shards of the backup in the order in which they took the table's
// writes.
func (s *restoration) inPlacementOrder(t *restoredTable) []*backuppb.Shard {
	epoch := map[uint32]uint32{}
	for _, p := range t.from.Placement {
		epoch[p.ShardId] = p.Epoch
	}
	out := slices.Clone(s.b.Shards)
	return sortedBy(out, func(x *backuppb.Shard) uint32 { return epoch[x.Id] })
}

// prepare maps the columns of the backup to the columns of the cluster.
func (t *restoredTable) prepare() error {
	t.columns = map[uint32]schema.Column{}
	t.mergeAs(t.now)
	for _, c := range t.from.Columns {
		to := t.to.Column(c.Name)
		if to == nil || to.Type != schema.Type(c.Type) || to.Semantic != schema.Semantic(c.Semantic) {
			return fmt.Errorf("column %s differs from the backup", c.Name)
		}
		t.columns[c.Id] = *to
		if to.Semantic == schema.Timestamp {
			t.timeIndex = c.Id
		}
	}
	return nil
}

// planExpiry determines which rows of the backup have expired.
func (t *restoredTable) planExpiry(databaseTTL string, now time.Time) error {
	t.expiredBefore = math.MinInt64
	index := schema.FromProto(t.from).TimeIndex()
	if index == nil {
		return errors.New("it has no time index")
	}
	ttl := schema.EffectiveTTL(t.from.Options[schema.OptionTTL], databaseTTL)
	t.discarded = ttl.Instant
	if before, ok := ttl.ExpiredBefore(now, index.Type); ok {
		t.expiredBefore = before
	}
	return nil
}

// shard writes the rows that one shard of the backup has of some tables.
func (s *restoration) shard(
	ctx context.Context, shard *backuppb.Shard, take func(*restoredTable, query.Merge) bool,
) error {
	c := s.reader(shard)
	for _, seg := range inOrder(shard) {
		if err := c.segment(ctx, seg, take); err != nil {
			return fmt.Errorf("segment %s: %w", segmentName(keyOf(s.b.ClusterId, shard, seg.Segment), seg.Sha256), err)
		}
	}
	return nil
}

// reader returns a reader of one shard of the backup.
func (s *restoration) reader(shard *backuppb.Shard) *shardReader {
	c := &shardReader{s: s, shard: shard, expired: map[uint64]expiry{}, merging: erasOf(shard)}
	for _, x := range shard.Expired {
		c.expired[x.TableId] = expiry{x.Before, x.Order}
	}
	return c
}

// inOrder returns the segments of a shard in the order in which their rows were written.
func inOrder(shard *backuppb.Shard) []*backuppb.Segment {
	return sortedBy(slices.Clone(shard.Segments), func(seg *backuppb.Segment) uint64 { return seg.Segment.Order })
}

// newSession registers a session for batch numbers.
func (s *restoration) newSession(ctx context.Context) (uint64, error) {
	result, err := s.propose(ctx, s.cfg.Now().UnixNano(), &metapb.Command{
		Op: &metapb.Command_RegisterSession{RegisterSession: &metapb.RegisterSession{NodeId: "restore"}},
	})
	if err != nil {
		return 0, fmt.Errorf("register a session: %w", err)
	}
	return result.SessionId, nil
}

// send writes batches to a shard of the cluster. The shard drops batches that it already has, so a
// call whose answer was lost may be repeated.
func (s *restoration) send(ctx context.Context, c call) error {
	definitions := func(ids []uint64) []*schemapb.Table {
		var out []*schemapb.Table
		for _, id := range ids {
			if t, ok := s.cfg.Target.meta.TableByID(id); ok {
				out = append(out, t.ToProto())
			}
		}
		return out
	}
	var err error
	for try := 1; try <= maxSends; try++ {
		_, err = s.cfg.Target.shards.Write(ctx, c.shard, c.batches, definitions)
		switch errs.ReasonOf(err) {
		case errs.SchemaStale, errs.WrongEpoch, errs.TableGone, errs.BadBatch:
			return fmt.Errorf("another client changed a table while it was restored: %w", err)
		}
		if err == nil {
			s.cfg.Progress.waiting.accepted(c.shard)
			s.cfg.Progress.Rows.Add(c.rows)
			s.mu.Lock()
			s.out.Rows += c.rows
			s.mu.Unlock()
			return nil
		}
		if ctx.Err() != nil || errs.From(err).Status() < 500 {
			return err
		}
		s.retrying(c.shard, try, err)
	}
	return err
}

// retrying records why a call is repeated.
func (s *restoration) retrying(shard uint32, tries int, err error) {
	s.cfg.Progress.waiting.failed(s.cfg.Logger, s.cfg.Now(), shard, tries, err)
}

// maxSends is the number of times that a call is made before the restore fails; each takes up to
// five minutes.
const maxSends = 3
