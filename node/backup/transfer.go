package backup

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"cordwood/proto/backuppb"
	"cordwood/proto/shardpb"
)

// send transfers one segment into the repository.
func (c *creation) send(ctx context.Context, s *shardCopy, seg *backuppb.Segment) error {
	for attempt := 1; ; attempt++ {
		sum, err := c.transfer(ctx, s, seg.Segment)
		if damaged := (*damage)(nil); errors.As(err, &damaged) {
			if attempt == 1 && !seg.Segment.Damaged {
				continue // a copy may be in the repository
			}
			seg.Segment.Damaged = true
			c.cfg.Logger.Warn("a segment is damaged in the cluster and not in the backup; 'cordwood doctor' on its "+
				"node shows details",
				"shard", s.shard.Id, "segment", seg.Segment.Id, "rows", seg.Segment.Rows, "error", err)
			return nil
		}
		if err != nil {
			return err
		}
		seg.Sha256 = sum
		c.newSegments.Add(1)
		c.newBytes.Add(seg.Segment.Bytes)
		c.cfg.Progress.Segments.Add(1)
		return nil
	}
}

// damage is the error for bytes that differ from those that were written.
type damage struct{ text string }

func (d *damage) Error() string { return d.text }

func (c *creation) transfer(ctx context.Context, s *shardCopy, p *shardpb.PinnedSegment) (sum []byte, err error) {
	u, err := c.r.store.Create(ctx)
	if err != nil {
		return nil, err
	}
	defer u.Abort()
	if p.Damaged {
		return nil, &damage{"the shard has quarantined the file"}
	}
	counted := int64(0)
	defer func() {
		if err != nil {
			c.cfg.Progress.Bytes.Add(-counted)
		}
	}()
	from := newResumer(ctx, "the segment from the shard", func(offset int64) (io.ReadCloser, error) {
		select {
		case <-s.pin.Lost():
			return nil, final{errPinLost}
		default:
			return s.pin.Read(ctx, p.Id, offset)
		}
	})
	defer from.close()
	h, crc := sha256.New(), crc32.New(castagnoli)
	in := c.cfg.Rate.reader(ctx, from, func(n int) {
		counted += int64(n)
		c.cfg.Progress.Bytes.Add(int64(n))
	})
	n, err := io.CopyBuffer(io.MultiWriter(u, h, crc), io.LimitReader(in, p.Bytes+1), make([]byte, 256<<10))
	if err != nil {
		select {
		case <-s.pin.Lost():
			if !errors.Is(err, errPinLost) {
				err = fmt.Errorf("%w: %w", errPinLost, err)
			}
		default:
		}
		return nil, err
	}
	if n != p.Bytes || crc.Sum32() != p.FileCrc {
		return nil, &damage{
			fmt.Sprintf("received %d bytes with CRC-32C %08x, but the shard wrote %d with %08x",
				n, crc.Sum32(), p.Bytes, p.FileCrc),
		}
	}
	sum = h.Sum(nil)
	return sum, u.Commit(ctx, segmentName(keyOf(c.cluster, s.out, p), sum))
}
