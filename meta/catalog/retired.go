package catalog

import (
	"encoding/binary"
	"slices"

	"cordwood/proto/metapb"
	"cordwood/proto/schemapb"
)

// Shards that are being retired or were. Part of the format.
var (
	bucketRetired = []byte("retired_shards")
	// keyRetiring counts the shards that are retiring.
	keyRetiring = []byte("retiring_shards")
)

// Retiring returns the number of shards that are retiring.
func (t Shards) Retiring() uint64 { return number(t.tx.Bucket(bucketMeta).Get(keyRetiring)) }

// CountRetiring adds to the number of shards that are retiring.
func (t Shards) CountRetiring(delta int64) error {
	_, err := t.count(keyRetiring, delta)
	return err
}

// Retire moves a retiring shard, which must have no tables, from the shards to the retired shards.
func (t Shards) Retire(s *metapb.Shard) error {
	if err := t.CountRetiring(-1); err != nil {
		return err
	}
	if err := t.delete(bucketShards, u32(s.Id)); err != nil {
		return err
	}
	if err := t.delete(bucketLoads, u32(s.Id)); err != nil {
		return err
	}
	return t.PutRetired(s)
}

// PutRetired stores a retired shard.
func (t Shards) PutRetired(s *metapb.Shard) error {
	return t.putMessage(bucketRetired, u32(s.Id), s)
}

// Retired returns the retired shard with the id, or nil.
func (t Shards) Retired(id uint32) (*metapb.Shard, error) {
	s := &metapb.Shard{}
	found, err := t.get(bucketRetired, u32(id), s)
	if !found {
		return nil, err
	}
	return s, err
}

// AllRetired returns the retired shards in the order of their ids.
func (t Shards) AllRetired() ([]*metapb.Shard, error) {
	return list(t.tx.Bucket(bucketRetired), func() *metapb.Shard { return &metapb.Shard{} })
}

// LastID returns the highest id that a shard ever had, or 0 if there never was a shard.
func (t Shards) LastID() uint32 {
	last := uint32(0)
	for _, name := range [][]byte{bucketShards, bucketRetired} {
		if b := t.tx.Bucket(name); b != nil {
			if k, _ := b.Cursor().Last(); k != nil {
				last = max(last, binary.BigEndian.Uint32(k))
			}
		}
	}
	return last
}

// Count counts the shards, for the reason given at Nodes.Count.
func (t Shards) Count() (n int) {
	cur := t.tx.Bucket(bucketLoads).Cursor()
	for k, _ := cur.First(); k != nil; k, _ = cur.Next() {
		n++
	}
	return n
}

// NeedsShard reports whether a table has rows in a shard, or is being moved to it. Shards that had
// rows before a handoff are no longer needed.
func NeedsShard(t *schemapb.Table, id uint32) bool {
	return slices.Contains(t.Handoff.GetShardIds(), id) ||
		slices.ContainsFunc(t.Placement, func(p *schemapb.Placement) bool {
			return !p.Handed && (p.ShardId == id || slices.Contains(p.MoreShards, id))
		})
}

// OnShard returns a table that needs a shard, or nil. It reads all tables.
func (t Tables) OnShard(id uint32) (*schemapb.Table, error) {
	const pieceTables, pieceBytes = 1000, 1 << 20
	for after, done := uint64(0), false; !done; {
		tables, last, err := t.From(after, pieceTables, pieceBytes)
		if err != nil {
			return nil, err
		}
		for _, table := range tables {
			if NeedsShard(table, id) {
				return table, nil
			}
			after = table.Id
		}
		done = last
	}
	return nil, nil
}
