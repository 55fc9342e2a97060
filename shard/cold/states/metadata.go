package states

import (
	"encoding/binary"
	"errors"
)

// Metadata is the content of a state of the metadata.
type Metadata struct {
	// Plain has all but users, roles, grants and tokens; see the package catalog of the metadata.
	Plain []byte
	// Access has these, as Seal returned them. It is empty if the cluster has no secret.
	Access []byte
}

// Encode returns m as the state to store.
func (m *Metadata) Encode() []byte {
	b := binary.AppendUvarint(make([]byte, 0, len(m.Plain)+len(m.Access)+2*binary.MaxVarintLen64), uint64(len(m.Plain)))
	b = append(b, m.Plain...)
	return append(binary.AppendUvarint(b, uint64(len(m.Access))), m.Access...)
}

// DecodeMetadata decodes what Encode returned.
func DecodeMetadata(b []byte) (m Metadata, err error) {
	for _, part := range []*[]byte{&m.Plain, &m.Access} {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			return m, errors.New("the state of the metadata is damaged: its parts are too long")
		}
		*part, b = b[size:size+int(n)], b[size+int(n):]
	}
	if len(b) > 0 {
		return m, errors.New("the state of the metadata is damaged: it has a part too many")
	}
	return m, nil
}
