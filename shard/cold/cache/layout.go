package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"math"
	"slices"

	"cordwood/shard/cold/bucket"
	"cordwood/shard/segment"
)

// Object identifies an object, and the part of it from which all else about it is known. These facts come from the
// shard's log.
type Object struct {
	// Key is the object's key in the bucket. It is never used for another object.
	Key   string
	Bytes int64
	// TailOffset is where the page indexes and the footer begin. TailCRC is the CRC-32C from there to the end.
	TailOffset int64
	TailCRC    uint32
}

// check returns an error for an object that cannot exist.
func (o *Object) check() error {
	if o.Bytes <= 0 || o.Bytes > bucket.MaxPut || o.TailOffset <= 0 || o.TailOffset >= o.Bytes ||
		o.Bytes-o.TailOffset > bucket.MaxRange {
		return fmt.Errorf("cold object %s: %d bytes with a tail from %d on are not possible", o.Key, o.Bytes, o.TailOffset)
	}
	return bucket.CheckKey(o.Key)
}

// name returns the name of the object's files, without the suffix.
func (o *Object) name() string {
	sum := sha256.Sum256([]byte(o.Key))
	return hex.EncodeToString(sum[:16])
}

const (
	dataSuffix = ".parquet"
	mapSuffix  = ".map"
	tempSuffix = ".tmp"
)

// FileName returns the name of the object's file in the folder of the cache.
func FileName(key string) string {
	o := Object{Key: key}
	return o.name() + dataSuffix
}

// File is an object with its tail. It does not change.
type File struct {
	Object
	// Path is the file that has the object's bytes, and behind them a footer for the engine. Only units that a Hold got
	// may be read from it.
	Path string
	// List has the units of the object in the order of its bytes.
	List []segment.Unit

	bareBytes int64
	bareCRC   uint32
	extents   []extent
	extentOf  []int32 // by unit
}

// tailExtent is the number of the extent of the tail and the bare footer.
const tailExtent = 0

// extent is a series of units of an object that lie side by side. The cache removes whole extents.
type extent struct {
	first, units   int // in List
	offset, length int64
	filters        bool
}

// newFile describes an object by its tail. It also returns what is in the file from TailOffset on.
func newFile(o Object, path string, tail []byte) (*File, []byte, error) {
	t, err := segment.ReadTail(o.Key, tail, o.TailOffset)
	if err != nil {
		return nil, nil, err
	}
	f := &File{Object: o, Path: path, List: t.List, bareBytes: int64(len(t.Bare))}
	f.bareCRC = crc32.Checksum(t.Bare, bucket.Castagnoli)
	f.extentOf = make([]int32, len(t.List))
	f.extents = append(f.extents, extent{offset: o.TailOffset, length: o.Bytes + f.bareBytes - o.TailOffset})
	var last segment.Unit
	lastStripe := -1
	for i := range t.List {
		u := &t.List[i]
		if u.Kind == segment.IndexUnit {
			continue // its extent is the tail
		}
		stripe := -1
		if u.Kind == segment.ChunkUnit {
			at, found := slices.BinarySearch(t.Stripes, u.Group)
			if stripe = at; !found {
				stripe--
			}
		}
		if e := &f.extents[len(f.extents)-1]; i > 0 && e.units < math.MaxUint16 && last.Kind == u.Kind &&
			last.Field == u.Field && stripe == lastStripe {
			e.units, e.length = e.units+1, u.Offset+u.Length-e.offset
		} else {
			f.extents = append(f.extents, extent{
				first: i, units: 1, offset: u.Offset, length: u.Length, filters: u.Kind == segment.FilterUnit,
			})
		}
		f.extentOf[i] = int32(len(f.extents) - 1)
		last, lastStripe = *u, stripe
	}
	return f, append(slices.Clone(tail), t.Bare...), nil
}

// memory estimates the memory of f in bytes.
func (f *File) memory() int64 { return int64(200 + len(f.List)*52 + len(f.extents)*40) }

// parts returns the checksums of the tail and the bare footer.
func (f *File) parts() []part {
	return []part{{f.TailOffset, f.Bytes - f.TailOffset, f.TailCRC}, {f.Bytes, f.bareBytes, f.bareCRC}}
}

// charge returns the space on disk that a part of a file may take.
func charge(offset, length int64) int64 {
	if length <= 0 {
		return 0
	}
	return roundUp(offset+length) - roundDown(offset)
}

func roundDown(n int64) int64 { return n &^ (blockBytes - 1) }

func roundUp(n int64) int64 { return roundDown(n + blockBytes - 1) }

// bits is a set of the units of an extent.
type bits []uint64

func newBits(n int) bits { return make(bits, (n+63)/64) }

func (b bits) has(i int) bool { return b[i/64]>>(i%64)&1 != 0 }

func (b bits) add(i int) { b[i/64] |= 1 << (i % 64) }

func (b bits) drop(i int) { b[i/64] &^= 1 << (i % 64) }
