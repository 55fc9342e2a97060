// Package column implements the typed columnar batch: collecting rows (Builder), their format on
// the wire and in a shard's log (Encode, FORMAT.md), and reading them in place (Decode, View).
//
// A batch is encoded once, in the router. The same bytes go through gRPC and the log; a shard
// inflates them once, or copies the body that a router of the same process passes (Bodies), and all
// later steps read views of that memory.
//
// It knows nothing of tables except the ids and types of columns: the caller decides the names of
// columns, the required columns and the conversion of values. It opens no files and starts no
// goroutines.
//
// A Builder belongs to one goroutine until it is finished; then ranges of it may be encoded
// concurrently. A Batch is immutable and may be read concurrently as long as the memory that was
// given to Decode stays.
package column

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"cordwood/proto/schema"
)

// Header describes a batch, except its columns.
type Header struct {
	TableID       uint64
	Epoch         uint32
	SchemaVersion uint32
	// Session and Seq identify the batch permanently: a shard appends a given pair once. For a request with a key
	// they are a hash; see KeyedSession.
	Session uint64
	Seq     uint64
	Rows    int
	// Smallest and largest time index, in its unit. Encode sets them.
	MinTime, MaxTime int64
	// Protocol limits Encode to methods that programs of this protocol version can read; 0 means the newest version.
	// Decode leaves it 0.
	Protocol uint32
}

// KeyedBit is set in the session of a batch that belongs to a request with a key. In this case the
// session and the sequence number are a hash of the key, not a session of a writer.
const KeyedBit = 1 << 63

// KeyedSession reports whether a session is part of the hash of a request's key.
func KeyedSession(session uint64) bool { return session&KeyedBit != 0 }

// KeyedByUser returns the session of a batch that belongs to a request with a key: 63 bits of a hash of the
// key, with the upper 16 replaced by a hash of the user's name, so that a shard can distinguish users.
func KeyedByUser(key uint64, user uint16) uint64 {
	return KeyedBit | uint64(user)<<keyedUserAt | key&(1<<keyedUserAt-1)
}

const keyedUserAt = 47

// KeyedUser returns the part of a KeyedByUser session that comes from the user.
func KeyedUser(session uint64) uint16 { return uint16(session >> keyedUserAt & 0xffff) } //nolint:gosec // 16 bits

// KeyedSeq returns the sequence number of a batch whose session is the hash of a request's key. It
// starts with a hash of the body.
func KeyedSeq(body uint64, rest uint32) uint64 { return body>>32<<32 | uint64(rest) }

// KeyedBody returns the part of a KeyedSeq number that comes from the body.
func KeyedBody(seq uint64) uint32 { return uint32(seq >> 32) }

// Batch is an immutable batch of rows, read in place. It may be read concurrently.
type Batch struct {
	Header
	// Cols are in ascending order of ID.
	Cols []View
	// Mem is the inflated memory to which the views point. At least 16 bytes may be read at the
	// start of any value.
	Mem []byte
}

// Encoding is the layout of a View's values in memory.
type Encoding uint8

// The encodings; the numbers are part of the format.
const (
	// Fixed: value i is Base + the unsigned little-endian number of Width bytes (0, 1,
	// 2, 4 or 8) at Data[i*Width], modulo 2^64; with Width 0 every value is Base.
	// Floats have Base 0 and hold their IEEE 754 bits: Width 8 for Float64, 4 for
	// Float32, or 0 if all are +0. Booleans are 0 or 1.
	Fixed Encoding = 1
	// Plain: value i is Data[Offsets[i]:Offsets[i+1]]; Offsets are uint32.
	Plain Encoding = 2
	// Dict: value i is entry Codes[i] of a dictionary laid out as Plain with DictLen
	// entries. Codes have Width 1 or 2 bytes; with Width 0 every value is entry 0.
	Dict Encoding = 3
)

// View is one column of a batch. Its slices point into Batch.Mem and start at multiples of 8 bytes
// there. A null row has an arbitrary value, but its code and its offsets are valid.
type View struct {
	ID   uint32
	Type schema.Type
	Rows int
	// Nulls is the number of null rows.
	Nulls int
	// Validity has bit i&7 of byte i>>3 set if row i is not null; nil if none is null.
	// It consists of whole 64-bit words; bits past the last row are 0.
	Validity []byte
	Encoding Encoding
	Width    uint8
	Base     int64
	DictLen  int
	Data     []byte
	Offsets  []byte
	Codes    []byte
}

// Column returns the view of the column with that id, or nil if the batch lacks it.
func (b *Batch) Column(id uint32) *View {
	i, found := slices.BinarySearchFunc(b.Cols, id, func(v View, id uint32) int { return cmp.Compare(v.ID, id) })
	if !found {
		return nil
	}
	return &b.Cols[i]
}

// Exact reports whether a Float64 can hold all values of a column of integers.
func (v *View) Exact() bool {
	if v.Encoding != Fixed {
		return true // all values are null
	}
	least, most := int64(-schema.MaxExact), int64(schema.MaxExact)
	if v.Type == schema.Uint64 {
		least = 0 // integers from 2^63 on are negative here
	}
	if v.Width <= 4 && v.Base >= least && v.Base <= most-1<<32 {
		return true
	}
	for i := range v.Rows {
		if n := v.Int(i); !v.IsNull(i) && (n > most || n < least) {
			return false
		}
	}
	return true
}

// IsNull reports whether row i is null.
func (v *View) IsNull(i int) bool {
	return v.Validity != nil && v.Validity[i>>3]&(1<<(i&7)) == 0
}

// Int returns row i of a Fixed column that is not a float: an integer, a timestamp, 0 or 1.
func (v *View) Int(i int) int64 {
	return v.Base + int64(v.raw(i))
}

// Float returns row i of a column of floats or integers as a double. For an integer beyond
// schema.MaxExact it is the nearest double.
func (v *View) Float(i int) float64 {
	switch v.Type {
	case schema.Float64:
		return math.Float64frombits(v.raw(i))
	case schema.Float32:
		return float64(math.Float32frombits(uint32(v.raw(i))))
	case schema.Uint64:
		return float64(uint64(v.Int(i)))
	}
	return float64(v.Int(i))
}

func (v *View) raw(i int) uint64 {
	switch v.Width {
	case 0:
		return 0
	case 1:
		return uint64(v.Data[i])
	case 2:
		return uint64(binary.LittleEndian.Uint16(v.Data[2*i:]))
	case 4:
		return uint64(binary.LittleEndian.Uint32(v.Data[4*i:]))
	}
	return binary.LittleEndian.Uint64(v.Data[8*i:])
}

// Bytes returns row i of a Plain or Dict column, in place.
func (v *View) Bytes(i int) []byte {
	if v.Encoding == Dict {
		i = v.Code(i)
	}
	return v.Entry(i)
}

// Code returns the dictionary entry of row i of a Dict column.
func (v *View) Code(i int) int {
	switch v.Width {
	case 0:
		return 0
	case 1:
		return int(v.Codes[i])
	}
	return int(binary.LittleEndian.Uint16(v.Codes[2*i:]))
}

// Entry returns entry i of a Dict column's dictionary, or value i of a Plain column.
func (v *View) Entry(i int) []byte {
	from := binary.LittleEndian.Uint32(v.Offsets[4*i:])
	to := binary.LittleEndian.Uint32(v.Offsets[4*i+4:])
	return v.Data[from:to]
}
