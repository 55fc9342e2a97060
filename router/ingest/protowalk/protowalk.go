// Package protowalk walks through protobuf messages field by field, without generated types and without copies. It is
// for receivers whose records go straight into columns.
package protowalk

import (
	"encoding/binary"
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// ErrMalformed means that the bytes are not a protobuf message.
var ErrMalformed = errors.New("the bytes are not a protobuf message")

// Field is a field of a message: Data of bytes, or the Bits of a number. Fields of other kinds have neither.
type Field struct {
	Number protowire.Number
	Kind   protowire.Type
	Data   []byte // points into the message
	Bits   uint64
}

// IsBytes reports whether the field has the number and contains bytes.
func (f *Field) IsBytes(number protowire.Number) bool {
	return f.Number == number && f.Kind == protowire.BytesType
}

// IsVarint reports whether the field has the number and contains a varint.
func (f *Field) IsVarint(number protowire.Number) bool {
	return f.Number == number && f.Kind == protowire.VarintType
}

// Next removes the first field from a message. ok is false at the end of the message, and if the error is
// ErrMalformed.
func Next(msg *[]byte, f *Field) (ok bool, err error) {
	// Nearly all fields of logs have a tag of one byte, and lengths of one or two.
	m := *msg
	if len(m) < 2 || m[0] >= 0x80 || m[0] < 8 {
		return anyField(msg, f)
	}
	number, kind := protowire.Number(m[0]>>3), protowire.Type(m[0]&7)
	switch kind {
	case protowire.BytesType:
		n, at := int(m[1]), 2
		if n >= 0x80 {
			if len(m) == 2 || m[2] >= 0x80 {
				return anyField(msg, f)
			}
			n, at = n&0x7f|int(m[2])<<7, 3
		}
		if n > len(m)-at {
			return false, ErrMalformed
		}
		*f = Field{Number: number, Kind: kind, Data: m[at : at+n]}
		*msg = m[at+n:]
		return true, nil
	case protowire.VarintType:
		if m[1] < 0x80 {
			*f = Field{Number: number, Kind: kind, Bits: uint64(m[1])}
			*msg = m[2:]
			return true, nil
		}
	case protowire.Fixed64Type:
		if len(m) >= 9 {
			*f = Field{Number: number, Kind: kind, Bits: binary.LittleEndian.Uint64(m[1:])}
			*msg = m[9:]
			return true, nil
		}
	}
	return anyField(msg, f)
}

// anyField is like Next, without the fast path.
func anyField(msg *[]byte, f *Field) (ok bool, err error) {
	if len(*msg) == 0 {
		return false, nil
	}
	num, typ, n := protowire.ConsumeTag(*msg)
	if n < 0 {
		return false, ErrMalformed
	}
	*f = Field{Number: num, Kind: typ}
	rest := (*msg)[n:]
	switch typ {
	case protowire.BytesType:
		f.Data, n = protowire.ConsumeBytes(rest)
	case protowire.VarintType:
		f.Bits, n = protowire.ConsumeVarint(rest)
	case protowire.Fixed64Type:
		f.Bits, n = protowire.ConsumeFixed64(rest)
	case protowire.Fixed32Type:
		var bits uint32
		bits, n = protowire.ConsumeFixed32(rest)
		f.Bits = uint64(bits)
	default:
		n = protowire.ConsumeFieldValue(num, typ, rest)
	}
	if n < 0 {
		return false, ErrMalformed
	}
	*msg = rest[n:]
	return true, nil
}
