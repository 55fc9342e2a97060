package catalog

import (
	"bytes"
	"fmt"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/metapb"
)

// Limits of the values that users save.
const (
	// MaxSaved is the maximum number of values of all users, and MaxSavedOwner of one user.
	MaxSaved      = 10_000
	MaxSavedOwner = 500
	// MaxAllSavedBytes is the size limit of all values together, and MaxOwnerSavedBytes of the values of one owner.
	// The second is needed because nobody else can delete a user's private values.
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

// Saved holds the values that users have saved.
type Saved struct{ *store }

// SavedTotals counts the values that users have saved, and their bytes.
type SavedTotals struct{ Count, Bytes uint64 }

// savedKey returns the key of a saved value. Shared values and the values of each owner have separate names.
func savedKey(kind, name, owner string, shared bool) []byte {
	key := append([]byte(kind), 0)
	if shared {
		return append(append(key, 's', 0), name...)
	}
	return append(append(append(append(key, 'o', 0), owner...), 0), name...)
}

// Key returns the key of s. From can continue after it.
func (t Saved) Key(s *metapb.Saved) []byte { return savedKey(s.Kind, s.Name, s.Owner, s.Shared) }

// Totals counts the saved values.
func (t Saved) Totals() SavedTotals {
	meta := t.tx.Bucket(bucketMeta)
	return SavedTotals{Count: number(meta.Get(keySaved)), Bytes: number(meta.Get(keySavedBytes))}
}

// NextVersion returns a version that no saved value ever had.
func (t Saved) NextVersion() (uint64, error) { return t.count(keyLastSaved, 1) }

// ReserveVersion makes NextVersion skip the number.
func (t Saved) ReserveVersion(version uint64) error {
	if version <= number(t.tx.Bucket(bucketMeta).Get(keyLastSaved)) {
		return nil
	}
	return t.put(bucketMeta, keyLastSaved, u64(version))
}

// Get returns the value with this kind and name: the shared one, or the owner's. It returns nil if there is none.
func (t Saved) Get(kind, name, owner string, shared bool) (*metapb.Saved, error) {
	s := &metapb.Saved{}
	found, err := t.get(bucketSaved, savedKey(kind, name, owner, shared), s)
	if !found {
		return nil, err
	}
	return s, err
}

// Visible returns the value that a user sees under a kind and name: the user's own one, otherwise
// the shared one, or nil.
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

// Put stores s, and replaces the value with the same key.
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

// Touch stores s, which must exist, and leaves its value unchanged.
func (t Saved) Touch(s *metapb.Saved) error { return t.putMessage(bucketSaved, t.Key(s), s) }

// Delete removes s, which must exist.
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

// From lists at most limit saved values in the order of their keys, after a key, or from the beginning if the key is
// nil. kind selects one kind; "" selects all.
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
