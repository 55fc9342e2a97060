package catalog

import (
	"encoding/binary"

	"cordwood/meta/placement"
	"cordwood/proto/metapb"
)

// The most that a cluster holds of nodes and shards: every router keeps a list of them.
const (
	MaxNodes  = 4096
	MaxShards = 4096
	// MaxEpochs is the longest history of a table's placement.
	MaxEpochs = 1000
)

// Part of the format.
var (
	keyClusterVersion = []byte("cluster_version")
	keySettings       = []byte("settings")

	bucketRemoved = []byte("removed_nodes")
)

// ClusterVersion is the version up to which commands and formats may be used; 0 until
// the cluster is bootstrapped.
func (t *Tx) ClusterVersion() uint32 {
	v := number(t.tx.Bucket(bucketMeta).Get(keyClusterVersion))
	if v == 0 && t.ClusterID() != "" {
		return 1 // made before there were versions
	}
	return uint32(v)
}

// SetClusterVersion sets what ClusterVersion returns.
func (t *Tx) SetClusterVersion(v uint32) error {
	return t.put(bucketMeta, keyClusterVersion, u64(uint64(v)))
}

// Settings are those of the cluster, never nil.
func (t *Tx) Settings() (*metapb.Settings, error) {
	s := &metapb.Settings{}
	_, err := t.get(bucketMeta, keySettings, s)
	return s, err
}

// SetSettings replaces the settings.
func (t *Tx) SetSettings(s *metapb.Settings) error { return t.putMessage(bucketMeta, keySettings, s) }

// Shard returns the shard with the id, or nil.
func (t *Tx) Shard(id uint32) (*metapb.Shard, error) {
	s := &metapb.Shard{}
	found, err := t.get(bucketShards, u32(id), s)
	if !found {
		return nil, err
	}
	return s, err
}

// NextShardID returns an id that no shard has. Shards are never removed.
func (t *Tx) NextShardID() uint32 {
	if k, _ := t.tx.Bucket(bucketShards).Cursor().Last(); k != nil {
		return binary.BigEndian.Uint32(k) + 1
	}
	return 1
}

// Shards lists the shards by id.
func (t *Tx) Shards() ([]*metapb.Shard, error) {
	return list(t.tx.Bucket(bucketShards), func() *metapb.Shard { return &metapb.Shard{} })
}

// PutShard stores a shard, new or changed.
func (t *Tx) PutShard(s *metapb.Shard) error {
	if t.tx.Bucket(bucketLoads).Get(u32(s.Id)) == nil {
		if err := t.put(bucketLoads, u32(s.Id), u64(0)); err != nil {
			return err
		}
	}
	return t.putMessage(bucketShards, u32(s.Id), s)
}

// Loads tells how many tables write to each shard.
func (t *Tx) Loads() []placement.Load {
	var loads []placement.Load
	cur := t.tx.Bucket(bucketLoads).Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		loads = append(loads, placement.Load{ShardID: binary.BigEndian.Uint32(k), Tables: number(v)})
	}
	return loads
}

func (t *Tx) addLoad(shard uint32, delta int64) error {
	v := number(t.tx.Bucket(bucketLoads).Get(u32(shard)))
	return t.put(bucketLoads, u32(shard), u64(uint64(int64(v)+delta)))
}

// Nodes lists the nodes by id.
func (t *Tx) Nodes() ([]*metapb.Node, error) {
	return list(t.tx.Bucket(bucketNodes), func() *metapb.Node { return &metapb.Node{} })
}

// Node returns the node with the id, or nil.
func (t *Tx) Node(id string) (*metapb.Node, error) {
	n := &metapb.Node{}
	found, err := t.get(bucketNodes, []byte(id), n)
	if !found {
		return nil, err
	}
	return n, err
}

// PutNode stores a node, new or changed.
func (t *Tx) PutNode(n *metapb.Node) error { return t.putMessage(bucketNodes, []byte(n.Id), n) }

// NodeCount is the number of nodes. It counts them: the statistics of a bucket lack what
// the transaction put, and so depend on which commands share one.
func (t *Tx) NodeCount() (n int) {
	cur := t.tx.Bucket(bucketNodes).Cursor()
	for k, _ := cur.First(); k != nil; k, _ = cur.Next() {
		n++
	}
	return n
}

// RemoveNode removes a node that exists and remembers that its id is used up.
func (t *Tx) RemoveNode(id string, index uint64, unixNano int64) error {
	if err := t.delete(bucketNodes, []byte(id)); err != nil {
		return err
	}
	v := binary.BigEndian.AppendUint64(u64(index), uint64(unixNano))
	return t.put(bucketRemoved, []byte(id), v)
}

// NodeRemoved tells whether there was a node with the id that is no more.
func (t *Tx) NodeRemoved(id string) bool {
	b := t.tx.Bucket(bucketRemoved)
	return b != nil && b.Get([]byte(id)) != nil
}

// RemovedNodes lists the ids of nodes that are no more.
func (t *Tx) RemovedNodes() (ids []string) {
	b := t.tx.Bucket(bucketRemoved)
	if b == nil {
		return nil
	}
	cur := b.Cursor()
	for k, _ := cur.First(); k != nil; k, _ = cur.Next() {
		ids = append(ids, string(k))
	}
	return ids
}
