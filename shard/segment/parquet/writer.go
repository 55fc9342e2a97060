// Package parquet writes Parquet files column by column from arrays of values, and reads them back
// into arrays. It implements only the part of the format that segments need: flat schemas, one
// codec, and no rows.
//
// One goroutine at a time uses a Writer: NewWriter, then for each row group BeginGroup and one
// WriteColumn or CopyColumn per column, then Close. The functions that read keep no state, and may
// be called concurrently.
package parquet

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"github.com/parquet-go/parquet-go/bloom"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

const (
	magic = "PAR1"
	// pageRows is the maximum number of rows of a page, and pages end at multiples of it. For
	// dictionary codes, and for byte strings with common prefixes, the maximum is widePageRows,
	// because they compress worse in small pages and are decoded fast.
	pageRows     = 8192
	widePageRows = 20_480
	// pageBytes is the approximate maximum size of the values in a page, before compression.
	pageBytes = 1 << 20
	// maxBoundBytes is the maximum length of a value that is stored as a bound, because bounds are
	// copied in full to the footer.
	maxBoundBytes = 256
)

// Column describes how a column of a file is written.
type Column struct {
	// Element is the column in the schema. Its type must be BOOLEAN, INT32, INT64, FLOAT, DOUBLE or
	// BYTE_ARRAY, and it must be required or optional. FIXED_LEN_BYTE_ARRAY is possible for unsigned
	// integers as decimals of DecimalBytes, which this package cannot read.
	Element format.SchemaElement
	// Unsigned means that integers are unsigned.
	Unsigned bool
	// Rising means that numbers rarely repeat and mostly ascend, as times do.
	Rising bool
	// BloomBits is the size of bloom filters in bits per value; 0 means that there are none.
	BloomBits uint
	// AutoBloomBits is the size of bloom filters for row groups whose values look like identifiers,
	// if BloomBits is 0.
	AutoBloomBits uint
}

// kind returns the column's physical type.
func (c *Column) kind() format.Type { return c.Element.Type.V }

func (c *Column) required() bool { return c.Element.RepetitionType.V == format.Required }

// Writer writes one file.
type Writer struct {
	offset  int64
	columns []Column
	level   int // zstd level
	sorting []format.SortingColumn

	groups  []format.RowGroup
	rows    int // rows of the current row group
	indexes []pageIndex
	filters []filter
	err     error

	*scratch
}

// scratch is memory that is reused from page to page and from chunk to chunk.
type scratch struct {
	out          *bufio.Writer
	body, packed []byte // a page before and after compression
	saved        []byte // what chunk.inPlace restores
	codes        []uint32
	numbers      numberDict
}

// maxPageScratch is the maximum page memory that is kept for the next file.
const maxPageScratch = 8 << 20

var scratches = sync.Pool{New: func() any { return &scratch{out: bufio.NewWriterSize(nil, 256<<10)} }}

// Release returns memory for use by other files. w must not be used afterwards. It may be called
// twice.
func (w *Writer) Release() {
	s := w.scratch
	if w.scratch = nil; s == nil {
		return
	}
	s.out.Reset(nil)
	if cap(s.body)+cap(s.packed)+cap(s.saved) <= maxPageScratch {
		scratches.Put(s)
	}
}

// pageIndex is the page index of a column chunk. Bounds is nil if there are none.
type pageIndex struct {
	group, column int
	pages         format.OffsetIndex
	bounds        *format.ColumnIndex
}

// filter is the bloom filter of a column chunk.
type filter struct {
	group, column int
	bits          bloom.SplitBlockFilter
	// from, if set, is the file that contains it, including its header.
	from           io.ReaderAt
	offset, length int64
}

// NewWriter begins a file. Level is the level of zstd, 1 to 22.
func NewWriter(w io.Writer, columns []Column, sorting []format.SortingColumn, level int) *Writer {
	f := &Writer{columns: columns, sorting: sorting, level: level, scratch: scratches.Get().(*scratch)}
	f.out.Reset(w)
	f.write([]byte(magic))
	return f
}

func (w *Writer) write(b []byte) {
	if w.err == nil {
		_, w.err = w.out.Write(b)
	}
	w.offset += int64(len(b))
}

// BeginGroup begins a row group.
func (w *Writer) BeginGroup(rows int) {
	w.rows = rows
	w.groups = append(w.groups, format.RowGroup{
		NumRows: int64(rows), SortingColumns: w.sorting, FileOffset: w.offset, Ordinal: int16(min(len(w.groups), 1<<15-1)),
	})
}

// WriteColumn writes the next column of the row group. It may modify v. When it has returned, the caller may reuse
// v.
func (w *Writer) WriteColumn(v *Values) error {
	g := &w.groups[len(w.groups)-1]
	c := &w.columns[len(g.Columns)]
	if v.Rows != w.rows {
		return fmt.Errorf("column %q: %d rows in a row group of %d", c.Element.Name, v.Rows, w.rows)
	}
	k := &chunk{w: w, c: c, v: v, group: len(w.groups) - 1, column: len(g.Columns)}
	md, err := k.write()
	if err == nil {
		err = w.err
	}
	if err != nil {
		return fmt.Errorf("column %q: %w", c.Element.Name, err)
	}
	g.Columns = append(g.Columns, format.ColumnChunk{MetaData: md})
	return w.endColumn(g)
}

// endColumn counts a written column, and ends the row group after the last one.
func (w *Writer) endColumn(g *format.RowGroup) error {
	md := &g.Columns[len(g.Columns)-1].MetaData
	g.TotalByteSize += md.TotalUncompressedSize
	g.TotalCompressedSize += md.TotalCompressedSize
	if len(g.Columns) < len(w.columns) {
		return nil
	}
	// The row group is complete. Its bloom filters follow at once, so that they need not be kept in
	// memory.
	for i := range w.filters {
		if err := w.filter(&w.filters[i]); err != nil {
			return fmt.Errorf("bloom filter: %w", err)
		}
	}
	clear(w.filters)
	w.filters = w.filters[:0]
	return nil
}

// page writes a page: its header, and the compressed body. It returns the sizes including the
// header.
func (w *Writer) page(h *format.PageHeader, body []byte) (size, uncompressed int, err error) {
	if int64(len(body)) > 1<<31-1 {
		return 0, 0, fmt.Errorf("a page has %d bytes, more than the format allows", len(body))
	}
	w.packed = compress(w.packed[:0], body, w.level)
	h.UncompressedPageSize, h.CompressedPageSize = int32(len(body)), int32(len(w.packed))
	h.CRC = int32(crc32.ChecksumIEEE(w.packed))
	head, err := thrift.Marshal(new(thrift.CompactProtocol), h)
	if err != nil {
		return 0, 0, fmt.Errorf("page header: %w", err)
	}
	w.write(head)
	w.write(w.packed)
	return len(head) + len(w.packed), len(head) + len(body), w.err
}

// Close writes the page index and the footer after the row groups. It does not close the underlying
// file.
func (w *Writer) Close(createdBy string, metadata []format.KeyValue) error {
	for _, x := range w.indexes {
		if x.bounds == nil {
			continue
		}
		c := &w.groups[x.group].Columns[x.column]
		c.ColumnIndexOffset = w.offset
		n, err := w.thrift(x.bounds)
		if err != nil {
			return fmt.Errorf("column index: %w", err)
		}
		c.ColumnIndexLength = int32(n)
	}
	for _, x := range w.indexes {
		c := &w.groups[x.group].Columns[x.column]
		c.OffsetIndexOffset = w.offset
		n, err := w.thrift(&x.pages)
		if err != nil {
			return fmt.Errorf("offset index: %w", err)
		}
		c.OffsetIndexLength = int32(n)
	}
	md := &format.FileMetaData{Version: 2, CreatedBy: createdBy, KeyValueMetadata: metadata, RowGroups: w.groups}
	md.Schema = append(md.Schema, format.SchemaElement{Name: "cordwood", NumChildren: thrift.New(int32(len(w.columns)))})
	for i := range w.columns {
		md.Schema = append(md.Schema, w.columns[i].Element)
		md.ColumnOrders = append(md.ColumnOrders, format.ColumnOrder{Value: new(format.TypeDefinedOrder)})
	}
	for i := range w.groups {
		md.NumRows += w.groups[i].NumRows
	}
	n, err := w.thrift(md)
	if err != nil {
		return fmt.Errorf("footer: %w", err)
	}
	w.write(binary.LittleEndian.AppendUint32(nil, uint32(n)))
	w.write([]byte(magic))
	if w.err == nil {
		w.err = w.out.Flush()
	}
	return w.err
}

func (w *Writer) filter(f *filter) error {
	md := &w.groups[f.group].Columns[f.column].MetaData
	md.BloomFilterOffset = w.offset
	if f.from != nil {
		return w.copy(f.from, f.offset, f.length)
	}
	b := f.bits.Bytes()
	n, err := w.thrift(&format.BloomFilterHeader{
		NumBytes:    int32(len(b)),
		Algorithm:   format.BloomFilterAlgorithm{Value: new(format.SplitBlockAlgorithm)},
		Hash:        format.BloomFilterHash{Value: new(format.XxHash)},
		Compression: format.BloomFilterCompression{Value: new(format.BloomFilterUncompressed)},
	})
	if err != nil {
		return err
	}
	w.write(b)
	md.BloomFilterLength = int32(n + len(b))
	return nil
}

func (w *Writer) thrift(v any) (int, error) {
	b, err := thrift.Marshal(new(thrift.CompactProtocol), v)
	if err != nil {
		return 0, err
	}
	w.write(b)
	return len(b), w.err
}
