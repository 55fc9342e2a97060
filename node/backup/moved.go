package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"cordwood/proto/backuppb"
	"cordwood/proto/schemapb"
)

// This file is about tables whose rows are handed over to other shards while shards are
// pinned, one after the other. The table has one id before and another one after: a shard that was
// pinned too early may lack rows of the second, and a shard that was pinned too late may lack all
// rows of the first.

// maxMoves is how often all shards are pinned anew because a table moved.
const maxMoves = 10

// errMoved is the error for pins between which a table moved.
var errMoved = errors.New("rows were handed over to other shards while the shards were listed")

// pinAll pins the shards whose pins are not held, and writes the metadata of after that:
// no row is in the backup whose table is not. It pins all of them anew if a table moved
// since the first one was pinned.
func (c *creation) pinAll(ctx context.Context) error {
	for moves := 0; ; {
		if c.before == nil {
			if err := c.listAnew(ctx); err != nil {
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
				"operations' shows what goes on", err, moves)
		}
		c.cfg.Logger.Warn("a table moved; what the shards have is listed anew", "error", err)
		c.before = nil
	}
}

// listAnew lets the pins go, and lists the tables and the shards that there are.
func (c *creation) listAnew(ctx context.Context) error {
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

// moved reports whether rows of a table may lie where they were not when a shard was pinned:
// it has been handed over since, or lies on a shard that was not known yet.
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
