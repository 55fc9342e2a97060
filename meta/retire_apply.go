package meta

import (
	"slices"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
)

// This file applies commands about shards that are removed.
//
// retiring   the shard gets no new tables; its tables are moved to other shards
// retired    no table needs the shard: it is removed from the list of shards, and its nodes delete
// its replicas
//
// The first state can be undone, the second cannot. The record of a retired shard is kept for ever,
// like the ids of dropped tables, for three reasons: a node deletes a replica only because of this
// record, the id of the shard is not used again, and a node that was down must still learn that the
// shard was retired.

// setRetiring sets or clears the state retiring of a shard.
func setRetiring(tx *catalog.Tx, s *metapb.Shard, retiring bool) error {
	if s.Retiring == retiring {
		return nil
	}
	delta := int64(-1)
	if retiring {
		if err := othersStay(tx, s.Id); err != nil {
			return err
		}
		delta = 1
	}
	s.Retiring = retiring
	return tx.Shards.CountRetiring(delta)
}

// othersStay returns an error if all other shards are retiring, because new tables need one.
func othersStay(tx *catalog.Tx, id uint32) error {
	shards, err := tx.Shards.All()
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(shards, func(s *metapb.Shard) bool { return s.Id != id && !s.Retiring }) {
		return errs.New(errs.InvalidArguments,
			"Shard %d cannot be retired: there is no other shard that stays; add one with 'cordwood shard add'", id)
	}
	return nil
}

// applyRetireShard retires a shard that no table and no other operation needs.
func applyRetireShard(tx *catalog.Tx, cmd *metapb.RetireShard, c *change) (*metapb.Result, error) {
	s, err := tx.Shards.Get(cmd.ShardId)
	switch {
	case err != nil:
		return nil, err
	case s == nil:
		return nil, errs.New(errs.ShardNotFound, "Shard %d not found; it may have been removed already", cmd.ShardId)
	case s.Version != cmd.Version:
		return nil, errs.New(errs.RequestOutdated,
			"Shard %d has version %d and not %d: it was changed meanwhile; read it again", s.Id, s.Version, cmd.Version)
	case !s.Retiring:
		return nil, errs.New(errs.IllegalState,
			"Shard %d cannot be retired: it is not in the state retiring, so it may still get tables", s.Id)
	}
	if err := othersStay(tx, s.Id); err != nil {
		return nil, err
	}
	table, err := tx.Tables.OnShard(s.Id)
	if err != nil {
		return nil, err
	}
	if table != nil {
		return nil, errs.New(errs.IllegalState, "Shard %d cannot be retired: table `%s` needs it", s.Id,
			schema.TableLabel(table.Database, table.Name))
	}
	operations, err := tx.Operations.All()
	if err != nil {
		return nil, err
	}
	for _, o := range operations {
		if running(o) && (o.ShardId == s.Id || slices.Contains(o.ToShards, s.Id)) {
			return nil, errs.New(errs.IllegalState,
				"Shard %d cannot be retired: operation %d (%s) needs it; wait for it, or cancel it", s.Id, o.Id, o.Kind)
		}
	}
	for _, node := range slices.Concat(s.Replicas, s.Learners) {
		if !slices.Contains(s.Removed, node) {
			s.Removed = append(s.Removed, node)
		}
	}
	s.Replicas, s.Learners, s.Founders, s.Founded = nil, nil, nil, nil
	s.Version++
	c.RetiredShards = []*metapb.Shard{s}
	return &metapb.Result{Shard: s}, tx.Shards.Retire(s)
}

// changeRetired records that a node has deleted its replica of a retired shard. Other changes of a
// retired shard are refused.
func changeRetired(tx *catalog.Tx, cmd *metapb.ChangeShard, c *change) (*metapb.Result, error) {
	s, err := tx.Shards.Retired(cmd.ShardId)
	if err != nil {
		return nil, err
	}
	forget, ok := cmd.Change.(*metapb.ChangeShard_Forget)
	if s == nil || !ok {
		return nil, errs.New(errs.ShardNotFound, "Shard %d not found", cmd.ShardId)
	}
	rest, had := without(s.Removed, forget.Forget)
	if !had {
		return &metapb.Result{Shard: s}, nil // it is recorded already
	}
	s.Removed = rest
	s.Version++
	c.RetiredShards = []*metapb.Shard{s}
	return &metapb.Result{Shard: s}, tx.Shards.PutRetired(s)
}

// forgetRetired removes a node that leaves the cluster from the lists of nodes that still have to
// delete a replica of a retired shard.
func forgetRetired(tx *catalog.Tx, node string, c *change) error {
	retired, err := tx.Shards.AllRetired()
	if err != nil {
		return err
	}
	for _, s := range retired {
		rest, had := without(s.Removed, node)
		if !had {
			continue
		}
		s.Removed = rest
		s.Version++
		if err := tx.Shards.PutRetired(s); err != nil {
			return err
		}
		c.RetiredShards = append(c.RetiredShards, s)
	}
	return nil
}
