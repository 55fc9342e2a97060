package catalog

import (
	"encoding/binary"

	"cordwood/proto/metapb"
)

// MaxNodes is the maximum number of nodes of a cluster, since every router keeps a list of them.
const MaxNodes = 4096

// bucketRemoved is part of the format.
var bucketRemoved = []byte("removed_nodes")

// Nodes are the nodes of the cluster, and the ids of removed nodes.
type Nodes struct{ *store }

// All returns the nodes in the order of their ids.
func (t Nodes) All() ([]*metapb.Node, error) {
	return list(t.tx.Bucket(bucketNodes), func() *metapb.Node { return &metapb.Node{} })
}

// Get returns the node with the id, or nil.
func (t Nodes) Get(id string) (*metapb.Node, error) {
	n := &metapb.Node{}
	found, err := t.get(bucketNodes, []byte(id), n)
	if !found {
		return nil, err
	}
	return n, err
}

// Put stores a node, new or changed.
func (t Nodes) Put(n *metapb.Node) error { return t.putMessage(bucketNodes, []byte(n.Id), n) }

// Count counts the nodes. It does not use the statistics of the bucket, which lack the changes of
// the transaction, and so depend on which commands share one.
func (t Nodes) Count() (n int) {
	cur := t.tx.Bucket(bucketNodes).Cursor()
	for k, _ := cur.First(); k != nil; k, _ = cur.Next() {
		n++
	}
	return n
}

// Remove removes a node, which must exist, and records that its id must not be used again.
func (t Nodes) Remove(id string, index uint64, unixNano int64) error {
	if err := t.delete(bucketNodes, []byte(id)); err != nil {
		return err
	}
	v := binary.BigEndian.AppendUint64(u64(index), uint64(unixNano))
	return t.put(bucketRemoved, []byte(id), v)
}

// WasRemoved reports whether a node with the id existed and was removed.
func (t Nodes) WasRemoved(id string) bool {
	b := t.tx.Bucket(bucketRemoved)
	return b != nil && b.Get([]byte(id)) != nil
}

// Removed returns the ids of removed nodes.
func (t Nodes) Removed() (ids []string) {
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
