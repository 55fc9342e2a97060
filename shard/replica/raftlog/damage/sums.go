package damage

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"

	"github.com/hashicorp/raft"
)

// Castagnoli is the table of CRC-32C, the checksum of all formats of a replica except raft's own.
var Castagnoli = crc32.MakeTable(crc32.Castagnoli)

const sumBytes = 4

// SealValue returns one of raft's values as it is stored: with the CRC-32C of key and value
// appended. See FORMAT.md.
func SealValue(key, val []byte) []byte {
	return binary.LittleEndian.AppendUint32(append([]byte(nil), val...), valueSum(key, val))
}

// OpenValue is the inverse of SealValue. It returns an error that matches ErrDamaged if key and
// value do not match the checksum.
func OpenValue(key, stored []byte) ([]byte, error) {
	n := len(stored) - sumBytes
	if n < 0 || valueSum(key, stored[:n]) != binary.LittleEndian.Uint32(stored[n:]) {
		return nil, Errorf("value of %q, % x, is damaged: it does not match its checksum", key, stored)
	}
	return stored[:n], nil
}

func valueSum(key, val []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, Castagnoli), Castagnoli, val)
}

// SealEntries returns copies of entries that carry their checksums in the field Extensions, which
// raft leaves to the store. The entries themselves are not changed, because raft still uses them.
func SealEntries(logs []*raft.Log) []*raft.Log {
	out := make([]*raft.Log, len(logs))
	for i, l := range logs {
		c := *l
		c.Extensions = entrySum(l)
		out[i] = &c
	}
	return out
}

// OpenEntry checks an entry that SealEntries sealed and removes its checksum. It returns an error
// that matches ErrDamaged if the entry does not match the checksum.
func OpenEntry(l *raft.Log) error {
	if want := entrySum(l); !bytes.Equal(l.Extensions, want) {
		return Errorf("log: entry %d is damaged: its checksum is %x, want %x; restore the directory from a replica "+
			"or a backup",
			l.Index, l.Extensions, want)
	}
	l.Extensions = nil
	return nil
}

func entrySum(l *raft.Log) []byte {
	var b [17]byte
	binary.LittleEndian.PutUint64(b[:], l.Index)
	binary.LittleEndian.PutUint64(b[8:], l.Term)
	b[16] = byte(l.Type)
	crc := crc32.Update(crc32.Checksum(b[:], Castagnoli), Castagnoli, l.Data)
	return binary.LittleEndian.AppendUint32(nil, crc)
}
