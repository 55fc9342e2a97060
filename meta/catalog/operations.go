package catalog

import (
	"cordwood/proto/metapb"
)

// Part of the format.
var (
	bucketOperations = []byte("operations")
	keyLastOperation = []byte("last_operation_id")
)

// Operations lists the operations by id.
func (t *Tx) Operations() ([]*metapb.Operation, error) {
	return list(t.tx.Bucket(bucketOperations), func() *metapb.Operation { return &metapb.Operation{} })
}

// Operation returns the operation with the id, or nil.
func (t *Tx) Operation(id uint64) (*metapb.Operation, error) {
	o := &metapb.Operation{}
	found, err := t.get(bucketOperations, u64(id), o)
	if !found {
		return nil, err
	}
	return o, err
}

// NextOperationID returns an id that no operation ever had.
func (t *Tx) NextOperationID() (uint64, error) { return t.count(keyLastOperation, 1) }

// PutOperation stores an operation, new or changed.
func (t *Tx) PutOperation(o *metapb.Operation) error {
	return t.putMessage(bucketOperations, u64(o.Id), o)
}

// DropOperation removes an operation that exists.
func (t *Tx) DropOperation(id uint64) error { return t.delete(bucketOperations, u64(id)) }
