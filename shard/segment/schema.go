package segment

import (
	"reflect"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding"

	"cordwood/proto/column"
	"cordwood/proto/schema"
)

const (
	// sampleRows is how many rows decide about a column's encoding.
	sampleRows = 4096
	// A column of numbers gets a dictionary if the sample has at most so many values.
	maxNumberEntries = 256
	// A column of byte strings gets a dictionary if the sample has at most one value
	// in so many rows; it falls back to plain values beyond maxDictionaryBytes.
	rowsPerEntry       = 4
	maxDictionaryBytes = 1 << 20
	// A column with a longer value than this has no bounds in the file: they would
	// be copied, whole, into its footer.
	maxBoundBytes = 256
)

// fileColumn is a column of a file and where its values come from.
type fileColumn struct {
	Column
	table    uint64 // of the rows, in TableColumn
	required bool
	views    []*column.View // by batch; nil where the batch lacks it
	encoding encoding.Encoding
	bounds   bool // whether the smallest and largest value are kept
	// bloomBits is the size of the column's bloom filter in bits per value; 0: none.
	bloomBits uint
	fulltext  *fulltext // nil without a fulltext index
}

// choose decides about the encoding and the bounds.
func (c *fileColumn) choose(rows []RowRef) {
	step := max(1, len(rows)/sampleRows)
	sampled := 0
	c.bounds = true
	if c.Name == TableColumn {
		c.encoding = &parquet.RLEDictionary
		return
	}
	if c.Type.IsBytes() {
		distinct := map[string]struct{}{}
		for i := 0; i < len(rows); i += step {
			if v := c.views[rows[i].Batch]; v != nil && !v.IsNull(int(rows[i].Row)) {
				sampled++
				distinct[string(v.Bytes(int(rows[i].Row)))] = struct{}{}
			}
		}
		c.bounds = c.longest() <= maxBoundBytes
		c.encoding = &parquet.DeltaLengthByteArray
		if len(distinct)*rowsPerEntry <= sampled {
			c.encoding = &parquet.RLEDictionary
		}
		return
	}
	if c.Type == schema.Boolean {
		c.encoding = &parquet.Plain
		return
	}
	distinct := map[uint64]struct{}{}
	for i := 0; i < len(rows) && len(distinct) <= maxNumberEntries; i += step {
		if v := c.views[rows[i].Batch]; v != nil && !v.IsNull(int(rows[i].Row)) {
			sampled++
			distinct[ordered(c.Type, v, int(rows[i].Row))] = struct{}{}
		}
	}
	switch {
	case c.Semantic != schema.Timestamp && len(distinct) <= maxNumberEntries && len(distinct)*rowsPerEntry <= sampled:
		c.encoding = &parquet.RLEDictionary
	case c.Type.IsFloat():
		c.encoding = &parquet.Plain
	default:
		c.encoding = &parquet.DeltaBinaryPacked
	}
}

// longest is the length of the longest value.
func (c *fileColumn) longest() int {
	longest := 0
	for _, v := range c.views {
		if v == nil {
			continue
		}
		n := v.Rows
		if v.Encoding == column.Dict {
			n = v.DictLen
		}
		for i := range n {
			longest = max(longest, len(v.Entry(i)))
		}
	}
	return longest
}

// node is the column in the Parquet schema. This mapping is part of the format.
func (c *fileColumn) node() parquet.Node {
	var n parquet.Node
	switch c.Type {
	case schema.Boolean:
		n = parquet.Leaf(parquet.BooleanType)
	case schema.Int8:
		n = parquet.Int(8)
	case schema.Int16:
		n = parquet.Int(16)
	case schema.Int32:
		n = parquet.Int(32)
	case schema.Int64:
		n = parquet.Int(64)
	case schema.Uint8:
		n = parquet.Uint(8)
	case schema.Uint16:
		n = parquet.Uint(16)
	case schema.Uint32:
		n = parquet.Uint(32)
	case schema.Uint64:
		n = parquet.Uint(64)
	case schema.Float32:
		n = parquet.Leaf(parquet.FloatType)
	case schema.Float64:
		n = parquet.Leaf(parquet.DoubleType)
	case schema.String, schema.JSON:
		n = parquet.String()
	case schema.Binary:
		n = parquet.Leaf(parquet.ByteArrayType)
	case schema.TimestampSecond, schema.TimestampMillisecond:
		n = parquet.TimestampAdjusted(parquet.Millisecond, false) // Parquet has no seconds
	case schema.TimestampMicrosecond:
		n = parquet.TimestampAdjusted(parquet.Microsecond, false)
	case schema.TimestampNanosecond:
		n = parquet.TimestampAdjusted(parquet.Nanosecond, false)
	}
	n = parquet.Encoded(n, c.encoding)
	if !c.required {
		n = parquet.Optional(n)
	}
	return parquet.FieldID(n, int(int32(c.FieldID)))
}

// rootNode is the root of a schema whose columns keep their order; parquet.Group
// would sort them by name.
type rootNode []rootField

type rootField struct {
	parquet.Node
	name string
}

func (f rootField) Name() string { return f.name }

// Value is for Go values of a row, which are never used.
func (f rootField) Value(base reflect.Value) reflect.Value { return base }

func (r rootNode) Fields() []parquet.Field {
	fields := make([]parquet.Field, len(r))
	for i := range r {
		fields[i] = r[i]
	}
	return fields
}

func (r rootNode) ID() int                     { return 0 }
func (r rootNode) String() string              { return "cordwood" }
func (r rootNode) Type() parquet.Type          { return parquet.Group{}.Type() }
func (r rootNode) Optional() bool              { return false }
func (r rootNode) Repeated() bool              { return false }
func (r rootNode) Required() bool              { return true }
func (r rootNode) Leaf() bool                  { return false }
func (r rootNode) Encoding() encoding.Encoding { return nil }
func (r rootNode) Compression() compress.Codec { return nil }
func (r rootNode) GoType() reflect.Type        { return reflect.TypeFor[struct{}]() }
