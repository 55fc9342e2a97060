package segment

import (
	"bytes"
	"hash/maphash"
	"math/bits"

	"cordwood/shard/segment/parquet"
)

// dictionary finds the entries of a row group's dictionary of byte strings. The Values store the
// entries.
type dictionary struct {
	// slots are indexed by hash. A slot contains the high half of the hash, and the entry's number
	// plus one. The number of slots is a power of two, and at most half of them are used.
	slots []uint64
}

var dictionarySeed = maphash.MakeSeed()

const minSlots = 1 << 10

func (d *dictionary) reset() {
	if len(d.slots) > 8*minSlots {
		d.slots = d.slots[:8*minSlots]
	}
	clear(d.slots)
}

// code returns the number of an entry, and adds the entry if it is missing.
func (d *dictionary) code(v *parquet.Values, value []byte) uint32 {
	if 2*len(v.Ends) >= len(d.slots) {
		d.rehash(v)
	}
	hash := maphash.Bytes(dictionarySeed, value)
	mask := uint64(len(d.slots) - 1)
	for at := hash & mask; ; at = (at + 1) & mask {
		s := d.slots[at]
		if s == 0 {
			v.Data = append(v.Data, value...)
			v.Ends = append(v.Ends, uint32(len(v.Data)))
			d.slots[at] = hash>>32<<32 | uint64(len(v.Ends))
			return uint32(len(v.Ends) - 1)
		}
		if s>>32 == hash>>32 {
			if code := uint32(s) - 1; bytes.Equal(v.Entry(int(code)), value) {
				return code
			}
		}
	}
}

// rehash doubles the slots.
func (d *dictionary) rehash(v *parquet.Values) {
	size := max(minSlots, 1<<bits.Len(uint(2*len(v.Ends))))
	if cap(d.slots) >= size {
		d.slots = d.slots[:size]
		clear(d.slots)
	} else {
		d.slots = make([]uint64, size)
	}
	mask := uint64(size - 1)
	for i := range v.Ends {
		hash := maphash.Bytes(dictionarySeed, v.Entry(i))
		at := hash & mask
		for d.slots[at] != 0 {
			at = (at + 1) & mask
		}
		d.slots[at] = hash>>32<<32 | uint64(i+1)
	}
}
