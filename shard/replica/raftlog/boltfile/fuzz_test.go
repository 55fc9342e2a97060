package boltfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.etcd.io/bbolt"

	"cordwood/shard/replica/raftlog/damage"
)

const seedPage = 1024

// FuzzWalk reads arbitrary bytes as a bbolt file. If Walk accepts the file, the library must open
// it without a panic and find the same pairs. The test sets the checksums of both headers, so that
// changed pages are reached. The seeds in testdata are the files of a small log.
func FuzzWalk(f *testing.F) {
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		data = slices.Clone(data)
		for _, at := range []int{0, seedPage} {
			if h := at + pageHead; h+headSum+8 <= len(data) {
				sum := fnv.New64a()
				_, _ = sum.Write(data[h : h+headSum])
				binary.LittleEndian.PutUint64(data[h+headSum:], sum.Sum64())
			}
		}
		path := filepath.Join(t.TempDir(), "log.db")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		var want []string
		err := Walk(path, func(bucket string, key, value []byte) error {
			if key == nil {
				want = append(want, bucket)
			} else {
				want = append(want, fmt.Sprintf("%s %x %x", bucket, key, value))
			}
			return nil
		})
		if err != nil {
			if !errors.Is(err, damage.ErrDamaged) {
				t.Fatalf("the error does not match ErrDamaged: %v", err)
			}
			return
		}
		if len(data) == 0 {
			return
		}
		db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
		if err != nil {
			t.Fatalf("Walk accepts a file that bbolt refuses: %v", err)
		}
		defer db.Close()
		var got []string
		err = db.View(func(tx *bbolt.Tx) error {
			return tx.ForEach(func(name []byte, b *bbolt.Bucket) error { return pairs(string(name), b, &got) })
		})
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("Walk finds %q, bbolt %q: %v", want, got, err)
		}
	})
}

// pairs lists the pairs of a bucket as bbolt reads them, in the order of Walk.
func pairs(name string, b *bbolt.Bucket, out *[]string) error {
	*out = append(*out, name)
	return b.ForEach(func(k, v []byte) error {
		if v == nil {
			return pairs(name+"/"+string(k), b.Bucket(k), out)
		}
		*out = append(*out, fmt.Sprintf("%s %x %x", name, k, v))
		return nil
	})
}
