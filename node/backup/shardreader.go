package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"cordwood/proto/backuppb"
	"cordwood/proto/column"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/shard/query"
	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

// spans returns the tables of a segment whose rows are read from it.
func spans(seg *backuppb.Segment) []segment.TableSpan {
	m := segment.FromProto(seg.Segment)
	if m.Shared() {
		return slices.DeleteFunc(m.Tables, func(t segment.TableSpan) bool {
			return slices.Contains(seg.Segment.LeftOut, t.TableID)
		})
	}
	return []segment.TableSpan{{TableID: m.TableID, Rows: m.Rows, MinTime: m.MinTime, MaxTime: m.MaxTime}}
}

type expiry struct {
	before int64
	order  uint64
}

// shardReader reads the segments of one shard of the backup, one after the other. Its batches have their own session.
// It makes one call after the other, so that all batch numbers stay in the window in which shards recognise
// duplicates.
type shardReader struct {
	s       *restoration
	shard   *backuppb.Shard
	expired map[uint64]expiry
	merging map[uint64][]*shardpb.MergeEra
	session uint64
	seq     uint64
	calls   callQueue
}

// cutoff returns the time index below which the rows of a table in a segment have expired.
func (c *shardReader) cutoff(t *restoredTable, order uint64) int64 {
	if x, ok := c.expired[t.from.Id]; ok && order < x.order {
		return max(t.expiredBefore, x.before)
	}
	return t.expiredBefore
}

func (c *shardReader) segment(
	ctx context.Context, seg *backuppb.Segment, take func(*restoredTable, query.Merge) bool,
) error {
	m := segment.FromProto(seg.Segment)
	var tables []*restoredTable
	live := map[uint64]*restoredTable{}
	for _, span := range spans(seg) {
		t := c.s.byID[span.TableID]
		if t == nil {
			continue
		}
		rule := t.rule(c.merging[span.TableID], m.Order)
		if !take(t, rule) {
			continue
		}
		tables = append(tables, t)
		if t.discarded || span.MaxTime < c.cutoff(t, m.Order) {
			c.left(span.Rows)
		} else {
			if err := c.s.switchTo(ctx, t, rule); err != nil {
				return fmt.Errorf("table %s: %w", t.name(), err)
			}
			live[span.TableID] = t
		}
	}
	if len(tables) == 0 {
		return nil
	}
	if len(live) > 0 {
		if err := c.file(ctx, seg, &m, live); err != nil {
			return err
		}
	}
	for _, t := range tables {
		if t.left.Add(-1) == 0 {
			if err := c.s.complete(ctx, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// left counts rows that are left out because they have expired.
func (c *shardReader) left(rows int64) {
	c.s.cfg.Progress.Rows.Add(rows)
	c.s.mu.Lock()
	c.s.out.Expired += rows
	c.s.mu.Unlock()
}

// file writes the rows that one file has of some tables. When it returns nil, all of them are acknowledged.
func (c *shardReader) file(
	ctx context.Context, seg *backuppb.Segment, m *segment.Meta, tables map[uint64]*restoredTable,
) error {
	name := segmentName(keyOf(c.s.b.ClusterId, c.shard, seg.Segment), seg.Sha256)
	path, done, err := c.s.r.fetch(ctx, name, m, seg.Sha256, c.s.cfg.TempDir, c.s.cfg.Rate, func(n int) {
		c.s.cfg.Progress.Bytes.Add(int64(n))
	})
	if err != nil {
		return err
	}
	defer done()
	rd, err := segment.Open(vfs.OS, path, m)
	if err != nil {
		return err
	}
	defer func() { _ = rd.Close() }() // the file was read to its end, or the error is returned already
	if c.session == 0 {
		if c.session, err = c.s.newSession(ctx); err != nil {
			return err
		}
	}
	c.calls.start(ctx, c.s.send)
	defer c.calls.abort()
	maxRows := rowsAtOnce(m)
	for {
		b, err := rd.Next(maxRows)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		t := tables[b.TableID]
		if t == nil {
			continue
		}
		if err := c.batch(t, b, m.Order); err != nil {
			return fmt.Errorf("table %s: %w", t.name(), err)
		}
	}
	return c.calls.stop()
}

// rowsAtOnce returns the number of rows to read at a time, so that long rows do not fill memory.
func rowsAtOnce(m *segment.Meta) int {
	const (
		inflated = 20      // estimated ratio of a row's size in memory to its size in the file
		piece    = 4 << 20 // bytes
	)
	perRow := inflated * m.Bytes / max(m.Rows, 1)
	return int(min(readRows, max(16, piece/max(perRow, 1))))
}

// batch encodes rows of one table for its shard in the cluster.
func (c *shardReader) batch(t *restoredTable, b *column.Batch, order uint64) error {
	rows, n, gone, err := t.convert(b, c.cutoff(t, order))
	if err != nil {
		return err
	}
	c.s.cfg.Progress.Rows.Add(int64(gone))
	if left := b.Rows - n - gone; left > 0 {
		c.left(int64(left))
	}
	if n == 0 {
		return nil
	}
	w := t.to.Writable()
	for from, to := range rows.Chunks(maxBatchBytes) {
		c.seq++
		data := rows.EncodeRange(nil, column.Header{
			TableID: t.to.ID, Epoch: w.Epoch, SchemaVersion: t.to.Version, Session: c.session, Seq: c.seq,
			Protocol: max(c.s.cfg.Target.meta.ClusterVersion(), metapb.MinProtocol),
		}, from, to)
		if err := c.calls.add(w.ShardID, data, rows.SizeBound(from, to), int64(to-from)); err != nil {
			return err
		}
	}
	return nil
}

// maxBatchBytes is the maximum uncompressed size of a batch.
const maxBatchBytes = 8 << 20

// convert copies rows into a builder with the columns of the cluster, and returns their number. It leaves out rows
// with a time index below the cutoff, and rows that were deleted before the table changed to keep all rows.
func (t *restoredTable) convert(b *column.Batch, cutoff int64) (rows *column.Builder, n, gone int, err error) {
	times := b.Column(t.timeIndex)
	if times == nil {
		return nil, 0, 0, errors.New("rows without a time index")
	}
	var deleted *column.View
	if t.now == query.Append {
		// The table merged rows then, so a deleted row no longer exists.
		deleted = b.Column(schema.DeletedColumnID)
	}
	kept := make([]int, 0, b.Rows)
	for i := range b.Rows {
		if times.IsNull(i) {
			return nil, 0, 0, errors.New("a row without a time index")
		}
		if deleted != nil && !deleted.IsNull(i) && deleted.Int(i) != 0 {
			gone++
		} else if times.Int(i) >= cutoff {
			kept = append(kept, i)
		}
	}
	out := &column.Builder{}
	for i := range b.Cols {
		v := &b.Cols[i]
		c, ok := t.columns[v.ID]
		if !ok || v.Nulls == v.Rows {
			continue // a dropped column, or one without values
		}
		if v.Type.Widens(c.Type) == schema.WidensNever {
			return nil, 0, 0, fmt.Errorf("column %s is %s, in the file it is %s", c.Name, c.Type, v.Type)
		}
		to := out.Add(c)
		for at, row := range kept {
			to.SetFrom(at, v, row)
		}
	}
	for range kept {
		out.EndRow()
	}
	out.Finish()
	return out, len(kept), gone, nil
}
