package segment

import (
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/segment/parquet"
)

// fileColumn is a column of a file being written.
type fileColumn struct {
	Column
	required bool
	fulltext *fulltext // nil without a fulltext index
	bloom    bool      // whether an index requires bloom filters
	// plain means that byte strings rarely repeated in the previous row group.
	plain bool
	views []*column.View // views of the current batches; nil if a batch lacks the column
	// longest holds, for each batch, the length of the longest text in the view's dictionary, or -1
	// if it is not known.
	longest []int
	// staged holds the values of the current row group, if they arrive in pieces.
	staged *gathered
}

// parquet returns the description of the column for the Parquet encoder.
func (c *fileColumn) parquet(def *schema.Column) parquet.Column {
	p := parquet.Column{Element: element(&c.Column, c.required)}
	switch c.Type {
	case schema.Uint8, schema.Uint16, schema.Uint32, schema.Uint64:
		p.Unsigned = true
	}
	p.Rising = c.Semantic == schema.Timestamp
	if def != nil {
		p.BloomBits, p.AutoBloomBits = bloomBits(def), autoBloomBits(def)
	}
	return p
}

// integers describes the integer types in the Parquet schema.
var integers = map[schema.Type]struct {
	kind      format.Type
	width     int8
	signed    bool
	converted deprecated.ConvertedType
}{
	schema.Int8:   {format.Int32, 8, true, deprecated.Int8},
	schema.Int16:  {format.Int32, 16, true, deprecated.Int16},
	schema.Int32:  {format.Int32, 32, true, deprecated.Int32},
	schema.Int64:  {format.Int64, 64, true, deprecated.Int64},
	schema.Uint8:  {format.Int32, 8, false, deprecated.Uint8},
	schema.Uint16: {format.Int32, 16, false, deprecated.Uint16},
	schema.Uint32: {format.Int32, 32, false, deprecated.Uint32},
	schema.Uint64: {format.Int64, 64, false, deprecated.Uint64},
}

// element returns the description of a column in the Parquet schema. This mapping is part of the
// format.
func element(c *Column, required bool) format.SchemaElement {
	e := format.SchemaElement{Name: c.Name, FieldID: int32(c.FieldID), RepetitionType: thrift.New(format.Optional)}
	if required {
		e.RepetitionType = thrift.New(format.Required)
	}
	if c.Hidden() && c.Type == schema.Uint64 {
		e.Type, e.TypeLength = thrift.New(format.FixedLenByteArray), thrift.New(int32(parquet.DecimalBytes))
		e.LogicalType.Value = &format.DecimalType{Precision: decimalDigits}
		e.ConvertedType = thrift.New(deprecated.Decimal)
		e.Precision, e.Scale = thrift.New(int32(decimalDigits)), thrift.New(int32(0))
		return e
	}
	if x, ok := integers[c.Type]; ok {
		e.Type = thrift.New(x.kind)
		e.LogicalType.Value = &format.IntType{BitWidth: x.width, IsSigned: x.signed}
		e.ConvertedType = thrift.New(x.converted)
		return e
	}
	timestamp := func(unit format.TimeUnitValue) {
		e.Type = thrift.New(format.Int64)
		e.LogicalType.Value = &format.TimestampType{Unit: format.TimeUnit{Value: unit}}
	}
	switch c.Type {
	case schema.Boolean:
		e.Type = thrift.New(format.Boolean)
	case schema.Float32:
		e.Type = thrift.New(format.Float)
	case schema.Float64:
		e.Type = thrift.New(format.Double)
	case schema.String, schema.JSON:
		e.Type = thrift.New(format.ByteArray)
		e.LogicalType.Value = new(format.StringType)
		e.ConvertedType = thrift.New(deprecated.UTF8)
	case schema.Binary:
		e.Type = thrift.New(format.ByteArray)
	case schema.TimestampSecond, schema.TimestampMillisecond: // Parquet has no seconds
		timestamp(new(format.MilliSeconds))
	case schema.TimestampMicrosecond:
		timestamp(new(format.MicroSeconds))
	case schema.TimestampNanosecond:
		timestamp(new(format.NanoSeconds))
	}
	return e
}
