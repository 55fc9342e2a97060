package catalog

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/metapb"
)

// bucketIceberg is part of the format.
var bucketIceberg = []byte("iceberg")

// Iceberg holds the last commits of tables that are shown as Apache Iceberg.
type Iceberg struct{ *store }

// Get returns the last commit of a table, or nil.
func (t Iceberg) Get(table uint64) (*metapb.IcebergTable, error) {
	x := &metapb.IcebergTable{}
	found, err := t.get(bucketIceberg, u64(table), x)
	if !found {
		return nil, err
	}
	return x, err
}

// Put stores the last commit of a table.
func (t Iceberg) Put(x *metapb.IcebergTable) error {
	return t.putMessage(bucketIceberg, u64(x.TableId), x)
}

// Delete removes the last commit of a table, which must exist.
func (t Iceberg) Delete(table uint64) error { return t.delete(bucketIceberg, u64(table)) }

// From lists the last commits of at most limit tables with higher ids than after, in the order of the ids.
func (t Iceberg) From(after uint64, limit int) (out []*metapb.IcebergTable, err error) {
	b := t.tx.Bucket(bucketIceberg)
	if b == nil {
		return nil, nil
	}
	cur := b.Cursor()
	for k, v := cur.Seek(u64(after + 1)); k != nil && len(out) < limit; k, v = cur.Next() {
		x := &metapb.IcebergTable{}
		if err := proto.Unmarshal(v, x); err != nil {
			return nil, fmt.Errorf("bucket %s, key %x: %w", bucketIceberg, k, err)
		}
		out = append(out, x)
	}
	return out, nil
}
