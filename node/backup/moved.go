package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"cordwood/proto/backuppb"
	"cordwood/proto/schemapb"
)

// This file handles tables that move to other shards with their rows while shards are pinned one after the other. A
// move gives the table a new id. A shard that was pinned before the move may lack rows of the new id, and a shard
// that was pinned after the move may lack all rows of the old id.

// maxMoves is the maximum number of times that all shards are pinned again because a table moved.
const maxMoves = 10

// errMoved is the error for pins between which a table moved.
var errMoved = errors.New("rows were handed over to other shards while the shards were listed")

// pinAll pins the shards whose pins are not held, and then writes the metadata, so that every row
// in the backup has its table there. It pins all of them again if a table moved since the first one
// was pinned.
func (c *creation) pinAll(ctx context.Context) error {
	for moves := 0; ; {
		if c.before == nil {
			if err := c.listAgain(ctx); err != nil {
				return err
			}
		}
		err := c.pin(ctx)
		if err == nil {
			err = c.metadata(ctx)
		}
		if !errors.Is(err, errMoved) {
			return err
		}
		if moves++; moves == maxMoves {
			return fmt.Errorf("%w, in each of %d tries; run it again when fewer tables are moved: 'cordwood cluster "+
				"operations' shows the running moves", err, moves)
		}
		c.cfg.Logger.Warn("a table moved; the segments of the shards are listed again", "error", err)
		c.before = nil
	}
}

// listAgain releases the pins, and lists the present tables and shards.
func (c *creation) listAgain(ctx context.Context) error {
	c.close()
	c.shards, c.before = nil, map[uint64]bool{}
	err := c.cfg.Source.Metadata(ctx, func(rec *backuppb.Record) error {
		if t := rec.GetTable(); t != nil {
			c.before[t.Id] = true
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the metadata: %w", err)
	}
	for _, s := range c.cfg.Source.Shards() {
		c.shards = append(c.shards, &shardCopy{shard: s})
	}
	if c.cluster == "" || len(c.shards) == 0 {
		return errors.New("the cluster has no shards: wait until it is ready")
	}
	return nil
}

// moved reports whether the pins may miss rows of a table: the table moved since, or is on a shard that was not known
// then.
func (c *creation) moved(t *schemapb.Table) error {
	if t.OriginId == 0 {
		return nil
	}
	known := func(id uint32) bool {
		return slices.ContainsFunc(c.shards, func(s *shardCopy) bool { return s.shard.Id == id })
	}
	for _, p := range t.Placement {
		if !c.before[t.Id] || !p.Handed &&
			(!known(p.ShardId) || slices.ContainsFunc(p.MoreShards, func(id uint32) bool { return !known(id) })) {
			return fmt.Errorf("table %s.%s: %w", t.Database, t.Name, errMoved)
		}
	}
	return nil
}
