package catalog

import (
	"encoding/binary"

	"cordwood/proto/metapb"
)

// MaxNodes is the most nodes that a cluster has: every router keeps a list of them.
const MaxNodes = 4096

// bucketRemoved is part of the format.
var bucketRemoved = []byte("removed_nodes")

// Nodes are the nodes of the cluster, and the ids of removed nodes.
type Nodes struct{ *store }

// All lists the nodes by id.
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

// Count returns the number of nodes. It counts them: the statistics of a bucket lack what
// the transaction put, and so depend on which commands share one.
func (t Nodes) Count() (n int) {
	cur := t.tx.Bucket(bucketNodes).Cursor()
	for k, _ := cur.First(); k != nil; k, _ = cur.Next() {
		n++
	}
	return n
}

// Remove removes a node that exists and remembers that its id is used up.
func (t Nodes) Remove(id string, index uint64, unixNano int64) error {
	if err := t.delete(bucketNodes, []byte(id)); err != nil {
		return err
	}
	v := binary.BigEndian.AppendUint64(u64(index), uint64(unixNano))
	return t.put(bucketRemoved, []byte(id), v)
}

// WasRemoved reports whether there was a node with the id that is no more.
func (t Nodes) WasRemoved(id string) bool {
	b := t.tx.Bucket(bucketRemoved)
	return b != nil && b.Get([]byte(id)) != nil
}

// Removed lists the ids of nodes that are no more.
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
