package store

import (
	"cordwood/proto/column"
	"cordwood/shard/memtable"
)

// NoMemory is the error for a batch that does not fit into the memory of the system.
type NoMemory struct{ error }

func (e NoMemory) Unwrap() error { return e.error }

// DecodeInto decodes a batch into the memory of a memtable. The caller must hold a reference to the
// memtable. The error is a NoMemory if the system has no memory.
func DecodeInto(m *memtable.Memtable, data []byte) (*column.Batch, error) {
	return DecodeBody(m, nil, 0, data)
}

// DecodeBody is like DecodeInto, for batch i, whose uncompressed body may be in bodies.
func DecodeBody(m *memtable.Memtable, bodies *column.Bodies, i int, data []byte) (*column.Batch, error) {
	size, err := column.InflatedSize(data)
	if err != nil {
		return nil, err
	}
	mem, err := m.Alloc(size)
	if err != nil {
		return nil, NoMemory{err}
	}
	return bodies.Decode(i, data, mem)
}

// HeaderOf returns the header of b, or if b is nil, the header of the encoded batch.
func HeaderOf(b *column.Batch, data []byte) (column.Header, error) {
	if b != nil {
		return b.Header, nil
	}
	return column.DecodeHeader(data)
}
