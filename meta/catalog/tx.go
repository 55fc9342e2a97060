package catalog

import (
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"
	"google.golang.org/protobuf/proto"
)

// Tx gives access to the state in one transaction, by subject. The results of its methods belong to
// the caller. They return an error only if the file cannot be read or written; a missing object is
// not an error.
type Tx struct {
	*store
	Databases  Databases
	Tables     Tables
	Pipelines  Pipelines
	Nodes      Nodes
	Shards     Shards
	Operations Operations
	Proposals  Proposals
	Saved      Saved
	Principals Principals
	Tokens     Tokens
	Audit      Audit
	Iceberg    Iceberg
}

func newTx(tx *bbolt.Tx, c *counts) *Tx {
	s := &store{tx: tx, counts: c}
	return &Tx{
		store: s, Databases: Databases{s}, Tables: Tables{s}, Pipelines: Pipelines{s}, Nodes: Nodes{s}, Shards: Shards{s},
		Operations: Operations{s}, Proposals: Proposals{s}, Saved: Saved{s},
		Principals: Principals{s}, Tokens: Tokens{s}, Audit: Audit{s}, Iceberg: Iceberg{s},
	}
}

// store reads and writes the pairs of the file. Only its put and delete change the state: they
// update the digest and count the changes.
type store struct {
	tx     *bbolt.Tx
	writes int
	digest uint64 // change of the state's digest

	counts *counts
	more   map[string]int64 // new tables by database; negative if they are fewer
}

// Writes returns how many changes were made so far.
func (t *store) Writes() int { return t.writes }

// Format returns the version of the file's layout.
func (t *Tx) Format() uint64 { return number(t.tx.Bucket(bucketMeta).Get(keyFormat)) }

// Applied returns the index and term of the last command in the state.
func (t *Tx) Applied() (index, term uint64) {
	v := t.tx.Bucket(bucketMeta).Get(keyApplied)
	if len(v) != 16 {
		return 0, 0
	}
	return binary.BigEndian.Uint64(v), binary.BigEndian.Uint64(v[8:])
}

// SetApplied records the last command.
func (t *Tx) SetApplied(index, term uint64) error {
	return t.put(bucketMeta, keyApplied, binary.BigEndian.AppendUint64(u64(index), term))
}

// ClusterID returns "" until the cluster is bootstrapped.
func (t *Tx) ClusterID() string { return string(t.tx.Bucket(bucketMeta).Get(keyClusterID)) }

// SetClusterID names the cluster.
func (t *Tx) SetClusterID(id string) error { return t.put(bucketMeta, keyClusterID, []byte(id)) }

// NextSessionID returns an id that no session ever had.
func (t *Tx) NextSessionID() (uint64, error) { return t.count(keyLastSession, 1) }

// CounterStep is the number that RaiseCounters adds; part of the state machine.
const CounterStep = 1 << 20

// RaiseCounters adds CounterStep to all counters from which numbers are assigned. The state may
// have lost commands that assigned numbers, and these must not be assigned again.
func (t *Tx) RaiseCounters() error {
	for _, key := range [][]byte{keyLastTable, keyLastSession, keyLastOperation, keyLastVersion, keyIncarnation} {
		if _, err := t.count(key, CounterStep); err != nil {
			return err
		}
	}
	if number(t.tx.Bucket(bucketMeta).Get(keyLastSaved)) == 0 { // older programs do not know it
		return nil
	}
	_, err := t.count(keyLastSaved, CounterStep)
	return err
}

// count adds delta to a counter of the bucket meta and returns its new value.
func (t *store) count(key []byte, delta int64) (uint64, error) {
	v := uint64(int64(number(t.tx.Bucket(bucketMeta).Get(key))) + delta)
	return v, t.put(bucketMeta, key, u64(v))
}

// get reads a message. found is false if it does not exist.
func (t *store) get(bucket, key []byte, m proto.Message) (found bool, err error) {
	b := t.tx.Bucket(bucket)
	if b == nil {
		return false, nil
	}
	v := b.Get(key)
	if v == nil {
		return false, nil
	}
	if err := proto.Unmarshal(v, m); err != nil {
		return false, fmt.Errorf("bucket %s, key %x: %w", bucket, key, err)
	}
	return true, nil
}

func (t *store) putMessage(bucket, key []byte, m proto.Message) error {
	v, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return fmt.Errorf("bucket %s, key %x: %w", bucket, key, err)
	}
	return t.put(bucket, key, v)
}

func (t *store) put(bucket, key, value []byte) error {
	b := t.tx.Bucket(bucket)
	if b == nil {
		var err error
		if b, err = t.addClusterBucket(bucket); err != nil {
			return err
		}
	}
	t.writes++
	if old := b.Get(key); old != nil {
		t.digest -= hashPair(bucket, key, old)
	}
	t.digest += hashPair(bucket, key, value)
	return b.Put(key, value)
}

// addClusterBucket creates a bucket when something is to be stored in it, and raises the format of
// the file. Until then, older programs can read the file.
func (t *store) addClusterBucket(bucket []byte) (*bbolt.Bucket, error) {
	if number(t.tx.Bucket(bucketMeta).Get(keyFormat)) < clusterFormat {
		if err := t.put(bucketMeta, keyFormat, u64(clusterFormat)); err != nil {
			return nil, err
		}
	}
	return t.tx.CreateBucketIfNotExists(bucket)
}

func (t *store) delete(bucket, key []byte) error {
	t.writes++
	b := t.tx.Bucket(bucket)
	if old := b.Get(key); old != nil {
		t.digest -= hashPair(bucket, key, old)
	}
	return b.Delete(key)
}

// finish updates the digest for the changed state.
func (t *store) finish() error {
	if t.writes == 0 {
		return nil
	}
	b := t.tx.Bucket(bucketMeta)
	return b.Put(keyDigest, u64(number(b.Get(keyDigest))+t.digest))
}

// list decodes a whole bucket in key order; a missing bucket is empty.
func list[M proto.Message](b *bbolt.Bucket, newMessage func() M) ([]M, error) {
	if b == nil {
		return nil, nil
	}
	var out []M
	cur := b.Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		m := newMessage()
		if err := proto.Unmarshal(v, m); err != nil {
			return nil, fmt.Errorf("key %x: %w", k, err)
		}
		out = append(out, m)
	}
	return out, nil
}

func u64(v uint64) []byte { return binary.BigEndian.AppendUint64(nil, v) }
func u32(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }

// number returns the value of a counter; a missing one is 0.
func number(v []byte) uint64 {
	if len(v) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(v)
}

// nameKey returns the key of a table in the bucket table_names.
func nameKey(database, name string) []byte {
	return append(append([]byte(database), 0), name...)
}

// databasePrefix returns the prefix of the name keys of a database's tables.
func databasePrefix(database string) []byte { return append([]byte(database), 0) }
