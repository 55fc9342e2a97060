package snapshot

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/hashicorp/raft"

	"cordwood/shard/replica/raftlog/damage"
)

// The header before the content of a snapshot; see FORMAT.md. These constants are part of the
// format.
const (
	headerMagic   = "CWSN"
	headerVersion = 1
	// HeaderBytes is the length of the header.
	HeaderBytes = 24
)

// Header precedes the content of a snapshot.
type Header struct {
	// Index and Term are the index and term of the last command in the state. Raft records a higher
	// index for the snapshot if raft's own entries follow that command.
	Index, Term uint64
	// Sum is the checksum of raft's metadata of the snapshot; 0 if it is not known.
	Sum uint32
}

// Encode returns the header as it is stored.
func (h Header) Encode() []byte {
	b := make([]byte, HeaderBytes)
	copy(b, headerMagic)
	binary.LittleEndian.PutUint32(b[4:], h.Sum<<8)
	b[4] = headerVersion
	binary.LittleEndian.PutUint64(b[8:], h.Index)
	binary.LittleEndian.PutUint64(b[16:], h.Term)
	return b
}

// ReadHeader reads the header of a snapshot. The error for a higher version matches
// damage.ErrUnsupported.
func ReadHeader(r io.Reader) (Header, error) {
	var b [HeaderBytes]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return Header{}, fmt.Errorf("snapshot header: %w", err)
	}
	if string(b[:4]) != headerMagic {
		return Header{}, fmt.Errorf("snapshot header: magic is %q, want %q", b[:4], headerMagic)
	}
	if b[4] != headerVersion {
		return Header{}, fmt.Errorf("snapshot header: version is %d, want %d: %w", b[4], headerVersion, damage.ErrUnsupported)
	}
	le := binary.LittleEndian
	return Header{Index: le.Uint64(b[8:]), Term: le.Uint64(b[16:]), Sum: le.Uint32(b[4:]) >> 8}, nil
}

// notesSum returns the checksum of the fields of raft's metadata that are used: 24 bits of a
// CRC-32C, for which the header had space, never 0. See FORMAT.md.
func notesSum(m *raft.SnapshotMeta) uint32 {
	var b []byte
	//nolint:gosec // a small number
	for _, v := range []uint64{
		uint64(m.Version), m.Index, m.Term, m.ConfigurationIndex, uint64(len(m.Configuration.Servers)),
	} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	for _, s := range m.Configuration.Servers {
		b = binary.LittleEndian.AppendUint64(b, uint64(s.Suffrage)) //nolint:gosec // a small number
		for _, text := range []string{string(s.ID), string(s.Address)} {
			b = append(binary.LittleEndian.AppendUint64(b, uint64(len(text))), text...)
		}
	}
	return max(crc32.Checksum(b, damage.Castagnoli)&0xffffff, 1)
}
