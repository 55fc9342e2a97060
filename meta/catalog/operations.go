package catalog

import (
	"cordwood/proto/metapb"
)

// Part of the format.
var (
	bucketOperations = []byte("operations")
	keyLastOperation = []byte("last_operation_id")
)

// Operations are the stored operations of the cluster.
type Operations struct{ *store }

// All lists the operations by id.
func (t Operations) All() ([]*metapb.Operation, error) {
	return list(t.tx.Bucket(bucketOperations), func() *metapb.Operation { return &metapb.Operation{} })
}

// Get returns the operation with the id, or nil.
func (t Operations) Get(id uint64) (*metapb.Operation, error) {
	o := &metapb.Operation{}
	found, err := t.get(bucketOperations, u64(id), o)
	if !found {
		return nil, err
	}
	return o, err
}

// NextID returns an id that no operation ever had.
func (t Operations) NextID() (uint64, error) { return t.count(keyLastOperation, 1) }

// Put stores an operation, new or changed.
func (t Operations) Put(o *metapb.Operation) error {
	return t.putMessage(bucketOperations, u64(o.Id), o)
}

// Drop removes an operation, which must exist.
func (t Operations) Drop(id uint64) error { return t.delete(bucketOperations, u64(id)) }
