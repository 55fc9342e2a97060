package catalog

import (
	"bytes"
	"fmt"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/metapb"
)

// The most that a cluster holds of what users save.
const (
	// MaxSavedBytes is the longest value.
	MaxSavedBytes = 64 << 10
	// MaxSaved is the most of all users together, and MaxSavedOwner of one.
	MaxSaved      = 10_000
	MaxSavedOwner = 500
	// MaxAllSavedBytes is the most that all values have together, and MaxOwnerSavedBytes those of one owner: what a
	// user keeps private nobody else can delete.
	MaxAllSavedBytes   = 16 << 20
	MaxOwnerSavedBytes = 2 << 20
)

// Part of the format.
var (
	bucketSaved       = []byte("saved")
	bucketSavedValues = []byte("saved_values")

	keyLastSaved  = []byte("last_saved_version")
	keySaved      = []byte("saved")
	keySavedBytes = []byte("saved_bytes")
)

// Saved is what users have saved, with its values.
type Saved struct{ *store }

// SavedTotals says how much there is of what users have saved.
type SavedTotals struct{ Count, Bytes uint64 }

// savedKey returns the key of something saved. Shared things and the things of each owner have separate names.
func savedKey(kind, name, owner string, shared bool) []byte {
	key := append([]byte(kind), 0)
	if shared {
		return append(append(key, 's', 0), name...)
	}
	return append(append(append(append(key, 'o', 0), owner...), 0), name...)
}

// Key returns the key of s, by which From continues.
func (t Saved) Key(s *metapb.Saved) []byte { return savedKey(s.Kind, s.Name, s.Owner, s.Shared) }

// Totals counts what is saved.
func (t Saved) Totals() SavedTotals {
	meta := t.tx.Bucket(bucketMeta)
	return SavedTotals{Count: number(meta.Get(keySaved)), Bytes: number(meta.Get(keySavedBytes))}
}

// NextVersion returns a number that nothing saved ever had as its version.
func (t Saved) NextVersion() (uint64, error) { return t.count(keyLastSaved, 1) }

// ReserveVersion sees to it that NextVersion never returns the number.
func (t Saved) ReserveVersion(version uint64) error {
	if version <= number(t.tx.Bucket(bucketMeta).Get(keyLastSaved)) {
		return nil
	}
	return t.put(bucketMeta, keyLastSaved, u64(version))
}

// Get returns the shared thing, or the owner's, with the kind and name; or nil.
func (t Saved) Get(kind, name, owner string, shared bool) (*metapb.Saved, error) {
	s := &metapb.Saved{}
	found, err := t.get(bucketSaved, savedKey(kind, name, owner, shared), s)
	if !found {
		return nil, err
	}
	return s, err
}

// Visible returns what a user sees under a kind and name: their own, or else the shared one; or nil.
func (t Saved) Visible(kind, name, owner string) (*metapb.Saved, error) {
	s, err := t.Get(kind, name, owner, false)
	if s != nil || err != nil {
		return s, err
	}
	return t.Get(kind, name, "", true)
}

// Value returns a copy of the value of s.
func (t Saved) Value(s *metapb.Saved) []byte {
	b := t.tx.Bucket(bucketSavedValues)
	if b == nil {
		return nil
	}
	return bytes.Clone(b.Get(t.Key(s)))
}

// Put stores s, new or in the place of what has its key.
func (t Saved) Put(s *metapb.Saved, value []byte) error {
	old, err := t.Get(s.Kind, s.Name, s.Owner, s.Shared)
	if err != nil {
		return err
	}
	more := int64(s.Size) - int64(old.GetSize())
	if old == nil {
		if _, err := t.count(keySaved, 1); err != nil {
			return err
		}
	}
	if _, err := t.count(keySavedBytes, more); err != nil {
		return err
	}
	if err := t.putMessage(bucketSaved, t.Key(s), s); err != nil {
		return err
	}
	return t.put(bucketSavedValues, t.Key(s), value)
}

// Touch stores s, which exists, and leaves its value as it is.
func (t Saved) Touch(s *metapb.Saved) error { return t.putMessage(bucketSaved, t.Key(s), s) }

// Delete removes s, which exists.
func (t Saved) Delete(s *metapb.Saved) error {
	if err := t.delete(bucketSaved, t.Key(s)); err != nil {
		return err
	}
	if err := t.delete(bucketSavedValues, t.Key(s)); err != nil {
		return err
	}
	if _, err := t.count(keySaved, -1); err != nil {
		return err
	}
	_, err := t.count(keySavedBytes, -int64(s.Size))
	return err
}

// From lists what is saved of one kind, or of all if kind is "", by its keys: the first ones after a key (nil: from
// the beginning), at most limit of them.
func (t Saved) From(kind string, after []byte, limit int) ([]*metapb.Saved, error) {
	b := t.tx.Bucket(bucketSaved)
	if b == nil {
		return nil, nil
	}
	var prefix []byte
	if kind != "" {
		prefix = append([]byte(kind), 0)
	}
	from := prefix
	if after != nil {
		from = after
	}
	var out []*metapb.Saved
	cur := b.Cursor()
	for k, v := cur.Seek(from); k != nil && bytes.HasPrefix(k, prefix) && len(out) < limit; k, v = cur.Next() {
		if after != nil && bytes.Equal(k, after) {
			continue
		}
		s := &metapb.Saved{}
		if err := proto.Unmarshal(v, s); err != nil {
			return nil, fmt.Errorf("bucket %s, key %x: %w", bucketSaved, k, err)
		}
		out = append(out, s)
	}
	return out, nil
}
