package iceberg

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go/format"

	"cordwood/proto/schema"
	"cordwood/shard/cold"
	"cordwood/shard/segment"
	"cordwood/shard/segment/parquet"
)

const (
	// maxColumns is the number of columns whose statistics are in manifests, as with other writers: entries are written
	// again with each commit of their day.
	maxColumns = 100
	// maxBound is the maximum size of a bound in a manifest. A lower bound may be shortened to it.
	maxBound = 64
)

// File is an object as a part of an Iceberg table.
type File struct {
	// Path is the absolute location of the object.
	Path        string
	Bytes, Rows int64
	// Day is the UTC day of its rows, in days since 1970. If the object has rows of several days, it is not partitioned by
	// days: Days is set and Day is 0.
	Day  int32
	Days bool
	// Joined means that the rows of the file were in other ones before. A State does not have it.
	Joined bool
	// Fields describes up to 100 columns by the ids of their fields, as far as the object has them. A State does not have
	// them.
	Fields map[int32]FieldStats
	// Splits are the offsets at which readers may divide the object. A State does not have them.
	Splits []int64
}

// brief returns what a State has of a file: a table may have very many.
func (f *File) brief() File {
	return File{Path: f.Path, Bytes: f.Bytes, Rows: f.Rows, Day: f.Day, Days: f.Days}
}

// FieldStats describes the values of a field in a file.
type FieldStats struct {
	Bytes, Values, Nulls int64
	// Lower and Upper are nil if they are not known.
	Lower, Upper []byte
}

// Footer returns the footer of an object from its tail.
func Footer(o *cold.Object, tail []byte) (*format.FileMetaData, error) {
	return segment.ReadFooter(tail, o.TailOffset)
}

// Nulls returns a function that counts the nulls of a column in a file.
func Nulls(md *format.FileMetaData) func(id uint32) int64 {
	at := make(map[int32]int, len(md.Schema))
	for i := range md.Schema[1:] {
		at[md.Schema[1+i].FieldID] = i
	}
	return func(id uint32) (nulls int64) {
		i, ok := at[int32(id)]
		if !ok {
			return 0
		}
		for g := range md.RowGroups {
			nulls += md.RowGroups[g].Columns[i].MetaData.Statistics.NullCount
		}
		return nulls
	}
}

// NewFile describes an object of a table with the schema s. path is its absolute location.
func NewFile(o *cold.Object, path string, md *format.FileMetaData, s *Schema, unit schema.Type) File {
	perDay := unit.UnitsPerSecond() * 86400
	f := File{
		Path: path, Bytes: o.Meta.Bytes, Rows: o.Meta.Rows, Day: int32(schema.FloorDiv(o.Meta.MinTime, perDay)),
		Fields: map[int32]FieldStats{}, Splits: splits(md), Joined: Joined(o) && o.Kind != cold.Day,
	}
	if schema.FloorDiv(o.Meta.MaxTime, perDay) != int64(f.Day) {
		f.Day, f.Days = 0, true
	}
	at := make(map[int32]int, len(md.Schema))
	for i := range md.Schema[1:] {
		at[md.Schema[1+i].FieldID] = i
	}
	describe := func(field *Field) {
		i, ok := at[field.ID]
		if !ok || len(f.Fields) >= maxColumns {
			return
		}
		stats := fieldStats(md, i)
		stats.Lower, stats.Upper = boundsOf(field.Type, stats.Lower, stats.Upper)
		f.Fields[field.ID] = stats
	}
	for i := range s.Fields {
		if s.Fields[i].Required { // the time index, which most queries have a condition on
			describe(&s.Fields[i])
		}
	}
	for i := range s.Fields {
		if !s.Fields[i].Required {
			describe(&s.Fields[i])
		}
	}
	return f
}

// splits returns where the stripes of an object begin: row groups of a stripe lie side by side, and readers that divide
// a file assign each row group by where it begins.
func splits(md *format.FileMetaData) (offsets []int64) {
	for _, first := range parquet.Stripes(len(md.RowGroups)) {
		offsets = append(offsets, parquet.ChunkStart(&md.RowGroups[first].Columns[0].MetaData))
	}
	return offsets
}

// fieldStats adds up the chunks of a column. Its bounds are as Parquet has them.
func fieldStats(md *format.FileMetaData, at int) (s FieldStats) {
	e := &md.Schema[1+at]
	less := comparison(e)
	known := less != nil
	for g := range md.RowGroups {
		m := &md.RowGroups[g].Columns[at].MetaData
		s.Bytes += m.TotalCompressedSize
		s.Values += m.NumValues
		s.Nulls += m.Statistics.NullCount
		if m.Statistics.NullCount == m.NumValues || !known {
			continue
		}
		lo, hi := m.Statistics.MinValue, m.Statistics.MaxValue
		if lo == nil || hi == nil {
			known = false
			continue
		}
		if s.Lower == nil || less(lo, s.Lower) {
			s.Lower = lo
		}
		if s.Upper == nil || less(s.Upper, hi) {
			s.Upper = hi
		}
	}
	if !known {
		s.Lower, s.Upper = nil, nil
	}
	return s
}

// comparison returns the order of the bounds of a column, or nil for types without bounds in manifests. Floats have
// none: their order has exceptions.
func comparison(e *format.SchemaElement) func(a, b []byte) bool {
	switch e.Type.V {
	case format.Int32:
		return func(a, b []byte) bool {
			return len(a) == 4 && len(b) == 4 && int32(binary.LittleEndian.Uint32(a)) < int32(binary.LittleEndian.Uint32(b))
		}
	case format.Int64:
		return func(a, b []byte) bool {
			return len(a) == 8 && len(b) == 8 && int64(binary.LittleEndian.Uint64(a)) < int64(binary.LittleEndian.Uint64(b))
		}
	case format.ByteArray, format.FixedLenByteArray:
		return func(a, b []byte) bool { return bytes.Compare(a, b) < 0 }
	}
	return nil
}

// boundsOf converts bounds of Parquet to those of Iceberg.
func boundsOf(typ string, lower, upper []byte) (lo, hi []byte) {
	switch typ {
	case "string":
		if len(lower) > maxBound {
			n := maxBound
			for n > 0 && !utf8.RuneStart(lower[n]) {
				n--
			}
			lower = lower[:n]
		}
		if len(upper) > maxBound {
			upper = nil
		}
	case "binary":
		lower = lower[:min(len(lower), maxBound)]
		if len(upper) > maxBound {
			upper = nil
		}
	case "decimal(20, 0)":
		return shortest(lower), shortest(upper)
	}
	return lower, upper
}

// shortest removes leading zeros of a number that is not negative, as long as its first bit stays 0.
func shortest(b []byte) []byte {
	for len(b) > 1 && b[0] == 0 && b[1] < 0x80 {
		b = b[1:]
	}
	return b
}
