package pipeline

import (
	"cordwood/proto/schema"
)

// valueKind is the kind of a value of a record.
type valueKind uint8

const (
	kindNone valueKind = iota
	kindString
	kindInt
	kindFloat
	kindBool
	kindText // JSON text of an array or an object, stored as a string
	kindNull
	kindTime
	kindJSON // JSON text of an array or an object, stored as JSON
	kindUint // integer outside int64, in cell.i as the bits of a uint64
	kindBig  // integer that neither uint64 nor float64 represents exactly, as its digits
)

// columnType returns the type of a new column for a value of this kind.
func (k valueKind) columnType() schema.Type {
	switch k {
	case kindInt:
		return schema.Int64
	case kindUint:
		return schema.Uint64
	case kindFloat:
		return schema.Float64
	case kindBool:
		return schema.Boolean
	case kindTime:
		return schema.TimestampNanosecond
	case kindJSON:
		return schema.JSON
	}
	return schema.String
}

// cell is one value of a record that is being stored.
type cell struct {
	kind  valueKind
	i     int64 // kindInt; kindBool: 0 or 1; kindTime: in unit
	f     float64
	bytes []byte // kindString, kindText, kindJSON; valid until the next value is read
	unit  schema.Type
}
