package manifest

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"
)

// Key is an appended batch of a request with a key.
type Key struct {
	Session, Seq uint64
	// At is the replicated clock at the append, in nanoseconds since 1970.
	At int64
}

// appendKeys encodes keys compactly, in the order in which they were appended, because a shard may
// remember hundreds of thousands.
func appendKeys(b []byte, keys []Key) []byte {
	last := int64(0)
	for _, k := range keys {
		b = binary.LittleEndian.AppendUint64(b, k.Session)
		b = binary.LittleEndian.AppendUint64(b, k.Seq)
		b = protowire.AppendVarint(b, protowire.EncodeZigZag(k.At-last))
		last = k.At
	}
	return b
}

// keys is the inverse of appendKeys.
func (r *reader) keys(b []byte) []Key {
	keys := make([]Key, 0, len(b)/17)
	last := int64(0)
	for len(b) > 0 {
		if len(b) < 17 {
			r.corrupt("a key of 16 bytes and its time")
			return nil
		}
		k := Key{Session: binary.LittleEndian.Uint64(b), Seq: binary.LittleEndian.Uint64(b[8:])}
		v, n := protowire.ConsumeVarint(b[16:])
		if n < 0 {
			r.corrupt("the time of a key")
			return nil
		}
		last += protowire.DecodeZigZag(v)
		k.At = last
		keys, b = append(keys, k), b[16+n:]
	}
	return keys
}
