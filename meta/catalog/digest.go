package catalog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/cespare/xxhash/v2"
	"go.etcd.io/bbolt"

	"cordwood/shard/replica/raftlog/boltfile"
)

// bbolt has no checksums of its contents. The digest is the sum, modulo 2^64, of the hashes of all
// pairs except its own. It is updated with every transaction; at the next start it shows whether
// the disk has changed, lost or added a pair.

// keyDigest is the key of the digest in the bucket meta; part of the format.
var keyDigest = []byte("digest")

// hashPair returns the hash of a pair; part of the format: XXH64 of the bucket's name, 0,
// the length of the key as u32, the key and the value.
func hashPair(bucket, key, value []byte) uint64 {
	if string(bucket) == string(bucketMeta) && string(key) == string(keyDigest) {
		return 0
	}
	h := xxhash.New()
	var head [5]byte
	binary.BigEndian.PutUint32(head[1:], uint32(len(key)))
	for _, b := range [][]byte{bucket, head[:], key, value} {
		_, _ = h.Write(b) // writing to a hash never fails
	}
	return h.Sum64()
}

// verifyFile reads the whole file, page by page, and compares it with its digest. A missing or
// empty file is accepted, since it is a new one.
func verifyFile(path string) error {
	c := contents{}
	err := boltfile.Walk(path, c.add)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case c.format > formatVersion:
		return fmt.Errorf("format is %d, this program knows up to %d: %w", c.format, formatVersion, ErrUnsupported)
	case !c.any, c.digest == nil && c.format > 0 && c.format < digestFormat:
		return nil
	case c.format == 0:
		return errors.New("it is damaged: it has no format version; restore the folder from a backup")
	case c.strange != "" || c.known != len(allBuckets):
		return fmt.Errorf("it is damaged: it has a bucket %q, and %d of %d that it must have; restore the folder "+
			"from a backup", c.strange, c.known, len(allBuckets))
	case len(c.digest) != 8 || number(c.digest) != c.sum:
		return fmt.Errorf("it is damaged: the digest of its contents is %016x, want %x; restore the folder from a "+
			"backup", c.sum, c.digest)
	}
	return nil
}

// contents is the content of a file as far as it has been read.
type contents struct {
	any         bool // whether there is anything at all
	sum, format uint64
	digest      []byte // as stored in the file
	known       int    // number of required buckets
	strange     string // name of an unknown bucket
}

// add adds a bucket if key is nil, or otherwise a pair in it.
func (c *contents) add(bucket string, key, value []byte) error {
	c.any = true
	if key == nil {
		is := func(name []byte) bool { return string(name) == bucket }
		switch {
		case slices.ContainsFunc(allBuckets, is):
			c.known++
		case !slices.ContainsFunc(laterBuckets, is) && !slices.ContainsFunc(clusterBuckets, is):
			c.strange = bucket
		}
		return nil
	}
	if bucket == string(bucketMeta) {
		switch string(key) {
		case string(keyFormat):
			c.format = number(value)
		case string(keyDigest):
			c.digest = append([]byte{}, value...)
		}
	}
	c.sum += hashPair([]byte(bucket), key, value)
	return nil
}

// addDigest adds the digest to a file that was written without one.
func addDigest(tx *bbolt.Tx) error {
	sum := uint64(0)
	err := tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
		return b.ForEach(func(k, v []byte) error {
			sum += hashPair(name, k, v)
			return nil
		})
	})
	if err != nil {
		return err
	}
	return tx.Bucket(bucketMeta).Put(keyDigest, u64(sum))
}
