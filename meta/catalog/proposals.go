package catalog

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/metapb"
)

// maxProposals is the number of the newest proposals that are remembered. Clients give up after
// seconds, and a group executes some hundreds a second. It is part of the state machine.
const maxProposals = 8192

// Part of the format.
var (
	bucketProposals = []byte("proposals")
	bucketOrder     = []byte("proposal_order")
	keyProposals    = []byte("proposals")
)

// Proposals are the results of the newest proposals.
type Proposals struct{ *store }

// Get returns the result of the proposal with the id, or nil if it is not remembered. Tables in the
// result have only their ids.
func (t Proposals) Get(id []byte) (*metapb.Result, error) {
	b := t.tx.Bucket(bucketProposals)
	if b == nil {
		return nil, nil
	}
	v := b.Get(id)
	if v == nil {
		return nil, nil
	}
	if len(v) < 8 {
		return nil, fmt.Errorf("bucket %s, key %x: %d bytes", bucketProposals, id, len(v))
	}
	r := &metapb.Result{}
	if err := proto.Unmarshal(v[8:], r); err != nil {
		return nil, fmt.Errorf("bucket %s, key %x: %w", bucketProposals, id, err)
	}
	return r, nil
}

// Put stores the result of a proposal that was executed at index, as the given part of that
// command. If there are too many, the oldest one is removed.
func (t Proposals) Put(id []byte, index uint64, part uint32, r *metapb.Result) error {
	v, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend(u64(index), r)
	if err != nil {
		return fmt.Errorf("bucket %s, key %x: %w", bucketProposals, id, err)
	}
	if err := t.put(bucketProposals, id, v); err != nil {
		return err
	}
	if err := t.put(bucketOrder, binary.BigEndian.AppendUint32(u64(index), part), id); err != nil {
		return err
	}
	n, err := t.count(keyProposals, 1)
	if err != nil || n <= maxProposals {
		return err
	}
	key, oldest := t.tx.Bucket(bucketOrder).Cursor().First()
	key, oldest = append([]byte{}, key...), append([]byte{}, oldest...)
	if err := t.delete(bucketOrder, key); err != nil {
		return err
	}
	if err := t.delete(bucketProposals, oldest); err != nil {
		return err
	}
	_, err = t.count(keyProposals, -1)
	return err
}
