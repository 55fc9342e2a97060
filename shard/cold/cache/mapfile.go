package cache

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"cordwood/shard/cold/bucket"
)

// The layout of a map is part of the format: see FORMAT.md.
const (
	mapMagic    = "CWCM"
	mapVersion  = 1
	maxKeyBytes = 1024
	// maxMapBytes limits the size of a map: an object has at most 16 million units.
	maxMapBytes = 64 << 20
)

const (
	mapMain    = 1
	mapFilters = 2
)

// savedMap is the content of a map.
type savedMap struct {
	Object
	bareBytes int64
	bareCRC   uint32
	extents   []savedExtent
}

type savedExtent struct {
	number         int
	offset, length int64
	bytes          int64
	main, filters  bool
	uses           uint8
	units          int
	has            bits
}

func (m *savedMap) encode() []byte {
	le := binary.LittleEndian
	b := append([]byte(nil), mapMagic...)
	b = le.AppendUint16(b, mapVersion)
	b = le.AppendUint16(b, 0)
	b = le.AppendUint64(b, uint64(m.Bytes))
	b = le.AppendUint64(b, uint64(m.TailOffset))
	b = le.AppendUint32(b, m.TailCRC)
	b = le.AppendUint32(b, uint32(m.bareBytes))
	b = le.AppendUint32(b, m.bareCRC)
	b = le.AppendUint32(b, uint32(len(m.Key)))
	b = le.AppendUint32(b, uint32(len(m.extents)))
	b = append(b, m.Key...)
	for i := range m.extents {
		e := &m.extents[i]
		b = le.AppendUint32(b, uint32(e.number))
		b = le.AppendUint64(b, uint64(e.offset))
		b = le.AppendUint64(b, uint64(e.length))
		b = le.AppendUint64(b, uint64(e.bytes))
		flags := byte(0)
		if e.main {
			flags |= mapMain
		}
		if e.filters {
			flags |= mapFilters
		}
		b = append(b, flags, e.uses)
		b = le.AppendUint16(b, uint16(e.units))
		set := make([]byte, (e.units+7)/8)
		for u := range e.units {
			if e.has.has(u) {
				set[u/8] |= 1 << (u % 8)
			}
		}
		b = append(b, set...)
	}
	return le.AppendUint32(b, crc32.Checksum(b, bucket.Castagnoli))
}

// errShort is the error of a map that ends too early.
var errShort = errors.New("it ends too early")

// parseMap reads a map.
func parseMap(b []byte) (*savedMap, error) {
	le := binary.LittleEndian
	const head, foot = 44, 4
	if len(b) < head+foot {
		return nil, errShort
	}
	if string(b[:4]) != mapMagic {
		return nil, errors.New("it is not a map of the cache")
	}
	if v := le.Uint16(b[4:]); v != mapVersion {
		return nil, fmt.Errorf("it has version %d, this program knows version %d", v, mapVersion)
	}
	if want, got := le.Uint32(b[len(b)-foot:]), crc32.Checksum(b[:len(b)-foot], bucket.Castagnoli); want != got {
		return nil, fmt.Errorf("it has the checksum %08x, want %08x", got, want)
	}
	m := &savedMap{}
	m.Bytes, m.TailOffset, m.TailCRC = int64(le.Uint64(b[8:])), int64(le.Uint64(b[16:])), le.Uint32(b[24:])
	m.bareBytes, m.bareCRC = int64(le.Uint32(b[28:])), le.Uint32(b[32:])
	key, extents := int(le.Uint32(b[36:])), int(le.Uint32(b[40:]))
	b = b[head : len(b)-foot]
	if key > maxKeyBytes || key > len(b) {
		return nil, errShort
	}
	m.Key, b = string(b[:key]), b[key:]
	if err := m.check(); err != nil {
		return nil, err
	}
	last := tailExtent
	for range extents {
		const fixed = 32
		if len(b) < fixed {
			return nil, errShort
		}
		e := savedExtent{
			number: int(le.Uint32(b)), offset: int64(le.Uint64(b[4:])), length: int64(le.Uint64(b[12:])),
			bytes: int64(le.Uint64(b[20:])), main: b[28]&mapMain != 0, filters: b[28]&mapFilters != 0, uses: b[29],
			units: int(le.Uint16(b[30:])),
		}
		b = b[fixed:]
		n := (e.units + 7) / 8
		if len(b) < n {
			return nil, errShort
		}
		if e.number <= last || e.units == 0 || e.uses > maxUses || e.offset < 0 || e.length < 0 ||
			e.offset > m.TailOffset || e.length > m.TailOffset-e.offset || e.bytes < 0 ||
			e.bytes > e.length+int64(e.units)*2*blockBytes {
			return nil, fmt.Errorf("its extent %d is not possible", e.number)
		}
		e.has = newBits(e.units)
		for u := range e.units {
			if b[u/8]>>(u%8)&1 != 0 {
				e.has.add(u)
			}
		}
		b, last = b[n:], e.number
		m.extents = append(m.extents, e)
	}
	if len(b) > 0 {
		return nil, fmt.Errorf("it has %d bytes too many", len(b))
	}
	return m, nil
}

// Inspect prints the content of a map.
func Inspect(w io.Writer, b []byte) error {
	m, err := parseMap(b)
	if err != nil {
		return fmt.Errorf("map of the cache: %w", err)
	}
	fmt.Fprintf(w, "parts of object %s in the cache: %d bytes, tail from %d, checksum %08x\n", m.Key, m.Bytes,
		m.TailOffset, m.TailCRC)
	for i := range m.extents {
		e := &m.extents[i]
		n := 0
		for u := range e.units {
			if e.has.has(u) {
				n++
			}
		}
		what, queue := "chunks", "small"
		if e.filters {
			what = "bloom filters"
		}
		if e.main {
			queue = "main"
		}
		fmt.Fprintf(w, "extent %d: %d of %d %s in the %d bytes from %d, %d bytes on disk, queue %s, used %d times\n",
			e.number, n, e.units, what, e.length, e.offset, e.bytes, queue, e.uses)
	}
	return nil
}
