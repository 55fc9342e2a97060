package column

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"slices"
)

// hashSeed is secret, so that no client can choose colliding values.
var hashSeed = maphash.MakeSeed()

// hashSecret is the secret for short values.
var hashSecret = [4]uint64{
	maphash.String(hashSeed, "0"), maphash.String(hashSeed, "1"), maphash.String(hashSeed, "2"),
	maphash.String(hashSeed, "3"),
}

// span is a value in a column's bytes.
type span struct{ from, to uint32 }

const (
	// If a column has more than sampleLimit different values among the first sampleSize, it is
	// considered to have few repetitions, like a column of request ids.
	sampleSize  = 64
	sampleLimit = 60
)

// dictionary encodes the rows with a dictionary and reports whether it did. If the dictionary would
// not be smaller than the plain form, it gives up, early if that is foreseeable, and leaves e.body
// unchanged.
func (e *encoder) dictionary(d *entry, c *Col, start uint32, from, to int) bool {
	rows := to - from
	plain := 4*(rows+1) + int(c.ends[to-1]-start)
	e.words = e.words[:0]
	if d.nulls == 0 && c.constant(start, from, to) {
		e.words = append(e.words, span{start, c.ends[from]})
		if size := 8 + int(c.ends[from]-start); size >= plain {
			return false
		}
		e.putDictionary(d, c, c.ends[to-1], 0)
		return true
	}
	e.codes = slices.Grow(e.codes[:0], rows)[:rows]
	if !e.assignCodes(d.nulls, c, start, from, to, plain) {
		return false
	}
	width := uint8(0)
	switch n := len(e.words); {
	case n > 256:
		width = 2
	case n > 1:
		width = 1
	}
	e.putDictionary(d, c, c.ends[to-1], width)
	return true
}

// constant reports whether all values of the range are equal.
func (c *Col) constant(start uint32, from, to int) bool {
	n := c.ends[from] - start
	rows := uint64(to - from)
	end := c.ends[to-1]
	if uint64(end-start) != uint64(n)*rows {
		return false
	}
	// All lengths must be n, and the bytes must repeat with period n.
	at := start
	for _, v := range c.ends[from:to] {
		if v-at != n {
			return false
		}
		at = v
	}
	return n == 0 || string(c.bytes[start:end-n]) == string(c.bytes[start+n:end])
}

// assignCodes fills e.codes and e.words. Null rows have code 0.
func (e *encoder) assignCodes(nulls int, c *Col, start uint32, from, to, plain int) bool {
	rows := to - from
	budget := plain - rows - 8 // maximum size of the offsets and entries of the dictionary
	present := rows - nulls
	e.resetSlots(min(present, maxDictLen))
	mask := uint64(len(e.slots) - 1)
	data, ends, codes := c.bytes, c.ends[from:to], e.codes
	if nulls > 0 {
		clear(codes)
	}
	seen := 0
	last, lastCode := []byte(nil), -1
	word, set := -1, uint64(0) // the current word of the validity, and its remaining bits
	for i := 0; ; i++ {
		if nulls > 0 {
			for set == 0 {
				if word++; word == len(e.valid) {
					return true
				}
				set = e.valid[word]
			}
			i = word<<6 + bits.TrailingZeros64(set)
			set &= set - 1
		} else if i == rows {
			return true
		}
		at, end := start, ends[i]
		if i > 0 {
			at = ends[i-1]
		}
		v := data[at:end]
		if seen++; lastCode >= 0 && string(v) == string(last) {
			codes[i] = uint16(lastCode)
			continue
		}
		hash := hashOf(v)
		tag := hash &^ (1<<32 - 1)
		slot := hash & mask
		for {
			s := e.slots[slot]
			if s == 0 {
				if budget -= 4 + len(v); budget < 0 || len(e.words) == maxDictLen {
					return false
				}
				if len(e.words) == 256 {
					if budget -= rows; budget < 0 {
						return false
					}
				}
				lastCode = len(e.words)
				e.words = append(e.words, span{at, end})
				e.slots[slot] = tag | uint64(lastCode+1)
				break
			}
			if s&^(1<<32-1) == tag {
				k := int(uint32(s)) - 1
				if w := e.words[k]; string(data[w.from:w.to]) == string(v) {
					lastCode = k
					break
				}
			}
			slot = (slot + 1) & mask
		}
		codes[i], last = uint16(lastCode), v
		if seen == sampleSize && len(e.words) > sampleLimit {
			return false
		}
	}
}

// hashOf returns a hash of v that no client can predict.
func hashOf(v []byte) uint64 {
	n := len(v)
	if n > 16 || n < 4 {
		return maphash.Bytes(hashSeed, v)
	}
	// For most values: two overlapping words, each combined with a secret, multiplied and folded.
	le := binary.LittleEndian
	var a, b uint64
	if n >= 8 {
		a, b = le.Uint64(v), le.Uint64(v[n-8:])
	} else {
		a, b = uint64(le.Uint32(v)), uint64(le.Uint32(v[n-4:]))
	}
	hi, lo := bits.Mul64(a^hashSecret[0], b^hashSecret[1]^uint64(n)<<56)
	hi, lo = bits.Mul64(hi^hashSecret[2], lo^hashSecret[3])
	return hi ^ lo
}

// resetSlots empties the hash table and makes room for n entries.
func (e *encoder) resetSlots(n int) {
	size := 1 << bits.Len(uint(2*n))
	e.slots = slices.Grow(e.slots[:0], size)[:size]
	clear(e.slots)
}

// putDictionary appends offsets, codes and entries. end is the end of the encoded rows in the column's bytes.
func (e *encoder) putDictionary(d *entry, c *Col, end uint32, width uint8) {
	le := binary.LittleEndian
	d.encoding, d.width, d.dictLen = Dict, width, len(e.words)
	d.offsets = len(e.body)
	e.body = le.AppendUint32(e.body, 0)
	size := uint32(0)
	for _, w := range e.words {
		size += w.to - w.from
		e.body = le.AppendUint32(e.body, size)
	}
	e.offer(candidate{kind: offsetSection, at: d.offsets, size: len(e.body) - d.offsets})
	e.endSection()
	if width > 0 {
		d.codes = len(e.body)
		e.body = e.body[:d.codes+len(e.codes)*int(width)]
		out := e.body[d.codes:]
		if width == 1 {
			out = out[:len(e.codes)]
			for i, code := range e.codes {
				out[i] = byte(code)
			}
		} else {
			for i, code := range e.codes {
				le.PutUint16(out[2*i:], code)
			}
		}
		e.offer(candidate{kind: numberSection, width: width, at: d.codes, size: len(out), validity: d.validity})
		e.endSection()
	}
	d.data = len(e.body)
	for _, w := range e.words {
		e.body = append(e.body, c.bytes[w.from:w.to]...)
	}
	e.endValues(d, c.validUTF8(end))
	e.offer(candidate{kind: textSection, at: d.data, size: d.dataLen})
}
