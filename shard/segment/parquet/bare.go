package parquet

import (
	"encoding/binary"
	"fmt"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// BareFooter returns a footer for the same row groups without bloom filters, page indexes and key-value metadata. With
// its length and the magic number after it, it can stand behind a file of which only some column chunks are there:
// a reader that follows it looks at column chunks alone. It changes md.
func BareFooter(md *format.FileMetaData) ([]byte, error) {
	md.KeyValueMetadata = nil
	for g := range md.RowGroups {
		for i := range md.RowGroups[g].Columns {
			c := &md.RowGroups[g].Columns[i]
			c.OffsetIndexOffset, c.OffsetIndexLength = 0, 0
			c.ColumnIndexOffset, c.ColumnIndexLength = 0, 0
			c.MetaData.BloomFilterOffset, c.MetaData.BloomFilterLength = 0, 0
		}
	}
	b, err := thrift.Marshal(new(thrift.CompactProtocol), md)
	if err != nil {
		return nil, fmt.Errorf("footer: %w", err)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(b)))
	return append(b, magic...), nil
}
