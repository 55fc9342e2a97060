package catalog

import (
	"encoding/binary"

	"cordwood/meta/placement"
	"cordwood/proto/metapb"
)

// MaxShards is the maximum number of shards of a cluster, since every router keeps a list of them.
const MaxShards = 4096

// Shards are the shards of the cluster, and the records of retired shards.
type Shards struct{ *store }

// FirstIncarnation returns the incarnation of a new shard. It is greater than 1 if the state has
// lost commands: shard ids are assigned without gaps, so a folder may hold another shard with the
// same id.
func (t Shards) FirstIncarnation() uint32 {
	return uint32(number(t.tx.Bucket(bucketMeta).Get(keyIncarnation))) + 1
}

// Get returns the shard with the id, or nil.
func (t Shards) Get(id uint32) (*metapb.Shard, error) {
	s := &metapb.Shard{}
	found, err := t.get(bucketShards, u32(id), s)
	if !found {
		return nil, err
	}
	return s, err
}

// NextID returns an id that no shard ever had.
func (t Shards) NextID() uint32 { return t.LastID() + 1 }

// All lists the shards by id.
func (t Shards) All() ([]*metapb.Shard, error) {
	return list(t.tx.Bucket(bucketShards), func() *metapb.Shard { return &metapb.Shard{} })
}

// Put stores a shard, new or changed.
func (t Shards) Put(s *metapb.Shard) error {
	if t.tx.Bucket(bucketLoads).Get(u32(s.Id)) == nil {
		if err := t.put(bucketLoads, u32(s.Id), u64(0)); err != nil {
			return err
		}
	}
	return t.putMessage(bucketShards, u32(s.Id), s)
}

// Loads reports how many tables write to each shard.
func (t Shards) Loads() []placement.Load {
	var loads []placement.Load
	cur := t.tx.Bucket(bucketLoads).Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		loads = append(loads, placement.Load{ShardID: binary.BigEndian.Uint32(k), Tables: number(v)})
	}
	return loads
}

func (t Shards) addLoad(shard uint32, delta int64) error {
	v := number(t.tx.Bucket(bucketLoads).Get(u32(shard)))
	return t.put(bucketLoads, u32(shard), u64(uint64(int64(v)+delta)))
}
