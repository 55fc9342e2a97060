package catalog

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/metapb"
)

// Limits of the records that are not yet in svc_private.audit. Part of the state machine.
const (
	MaxAudit      = 10_000
	MaxAuditBytes = 16 << 20
	// maxAuditHeads is the maximum number of sources: nodes that exist or existed.
	maxAuditHeads = 10_000
)

// Part of the format.
var (
	bucketAudit      = []byte("audit")
	bucketAuditHeads = []byte("audit_heads")

	keyAudit      = []byte("audit")
	keyAuditBytes = []byte("audit_bytes")
	keyAuditLost  = []byte("audit_lost")
)

// Audit holds the records of commands that are not yet in svc_private.audit, by the index of the command, and how far
// the records of each source are in it.
type Audit struct{ *store }

// AuditTotals counts the records that wait, their bytes, and the records that were removed for lack of space.
type AuditTotals struct{ Count, Bytes, Lost uint64 }

// Totals counts the records.
func (t Audit) Totals() AuditTotals {
	meta := t.tx.Bucket(bucketMeta)
	return AuditTotals{
		Count: number(meta.Get(keyAudit)), Bytes: number(meta.Get(keyAuditBytes)), Lost: number(meta.Get(keyAuditLost)),
	}
}

// Add stores a record. If there are too many, the oldest are removed and counted as lost.
func (t Audit) Add(e *metapb.AuditEntry) error {
	if err := t.putMessage(bucketAudit, u64(e.Index), e); err != nil {
		return err
	}
	if err := t.counted(1, int64(proto.Size(e))); err != nil {
		return err
	}
	for n := t.Totals(); n.Count > MaxAudit || n.Bytes > MaxAuditBytes; n = t.Totals() {
		if err := t.removeFirst(); err != nil {
			return err
		}
		if _, err := t.count(keyAuditLost, 1); err != nil {
			return err
		}
	}
	return nil
}

func (t Audit) counted(records, bytes int64) error {
	if _, err := t.count(keyAudit, records); err != nil {
		return err
	}
	_, err := t.count(keyAuditBytes, bytes)
	return err
}

func (t Audit) removeFirst() error {
	key, value := t.tx.Bucket(bucketAudit).Cursor().First()
	size := len(value)
	if err := t.delete(bucketAudit, append([]byte{}, key...)); err != nil {
		return err
	}
	return t.counted(-1, -int64(size))
}

// First lists at most limit records, in the order of their commands.
func (t Audit) First(limit int) (out []*metapb.AuditEntry, err error) {
	b := t.tx.Bucket(bucketAudit)
	if b == nil {
		return nil, nil
	}
	cur := b.Cursor()
	for k, v := cur.First(); k != nil && len(out) < limit; k, v = cur.Next() {
		e := &metapb.AuditEntry{}
		if err := proto.Unmarshal(v, e); err != nil {
			return nil, fmt.Errorf("bucket %s, key %x: %w", bucketAudit, k, err)
		}
		out = append(out, e)
	}
	return out, nil
}

// Mark stores how far the records of a source are in svc_private.audit, unless a later mark is stored. For the source
// "", it removes their entries. It reports whether there was room for the source.
func (t Audit) Mark(h *metapb.AuditHead) (room bool, err error) {
	old, err := t.Head(h.Source)
	switch {
	case err != nil:
		return false, err
	case old != nil && old.Through > h.Through:
		return true, nil
	case old == nil:
		all, err := t.Heads()
		if err != nil || len(all) >= maxAuditHeads {
			return false, err
		}
	}
	if err := t.putMessage(bucketAuditHeads, headKey(h.Source), h); err != nil || h.Source != "" {
		return true, err
	}
	b := t.tx.Bucket(bucketAudit)
	if b == nil {
		return true, nil
	}
	for {
		key, _ := b.Cursor().First()
		if key == nil || number(key) > h.Through {
			return true, nil
		}
		if err := t.removeFirst(); err != nil {
			return false, err
		}
	}
}

// headKey is the key of a source; bbolt has no empty keys.
func headKey(source string) []byte { return append([]byte("s"), source...) }

// Head returns the last mark of a source, or nil.
func (t Audit) Head(source string) (*metapb.AuditHead, error) {
	h := &metapb.AuditHead{}
	found, err := t.get(bucketAuditHeads, headKey(source), h)
	if !found {
		return nil, err
	}
	return h, err
}

// Heads lists the last marks of all sources.
func (t Audit) Heads() ([]*metapb.AuditHead, error) {
	return list(t.tx.Bucket(bucketAuditHeads), func() *metapb.AuditHead { return &metapb.AuditHead{} })
}
