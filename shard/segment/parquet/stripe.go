package parquet

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// The layout of striped files. Readers do not depend on these numbers: a file lists its stripes.
const (
	// StripeGroups is the maximum number of row groups of a stripe. The chunks of a column in a stripe lie side by side,
	// so that one request to object storage reads all of them.
	StripeGroups = 24
	// apartGroups is the number of row groups at the end of a file that are stripes by themselves, so that one request
	// reads all columns of the newest rows.
	apartGroups = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Stripes returns the first row group of each stripe of a file with a number of row groups.
func Stripes(groups int) []int {
	var firsts []int
	for at := 0; at < groups-apartGroups; at += StripeGroups {
		firsts = append(firsts, at)
	}
	for at := max(groups-apartGroups, 0); at < groups; at++ {
		firsts = append(firsts, at)
	}
	return firsts
}

// Sums are the CRC-32C checksums of a striped file.
type Sums struct {
	// Stripes has the first row group of each stripe.
	Stripes []int
	// Chunks has the checksums of the column chunks, by row group and column.
	Chunks [][]uint32
	// Filters has the checksums of the bloom filters with their headers, by row group and column. It is 0 where there is
	// none.
	Filters [][]uint32
	// Index is the checksum of the page indexes, which begin at IndexOffset and end at the footer.
	Index       uint32
	IndexOffset int64
}

// File is a file of Size bytes.
type File struct {
	R    io.ReaderAt
	Size int64
}

// Stripe writes a file of this package anew: the chunks of a column in a stripe side by side, then the bloom filters by
// column, the page indexes and the footer. The caller must have checked the file. more, which may be nil, is a file
// with the same row groups, whose columns follow those of the first one. describe returns keys and values for the
// metadata of the new file, and may change its schema.
func Stripe(w io.Writer, from File, more *File,
	describe func(s []format.SchemaElement, sums Sums) ([]format.KeyValue, error),
) error {
	md, err := ReadFooter(from.R, from.Size)
	if err != nil {
		return err
	}
	s := &striper{out: bufio.NewWriterSize(w, 256<<10), files: []File{from}, own: len(md.Schema) - 1, md: md}
	if more != nil {
		if err := s.add(*more); err != nil {
			return err
		}
	}
	s.sums.Stripes = Stripes(len(md.RowGroups))
	s.write([]byte(magic))
	for _, part := range []func() error{s.chunks, s.filters, s.index} {
		if err := part(); err != nil {
			return err
		}
	}
	list, err := describe(md.Schema, s.sums)
	if err != nil {
		return err
	}
	kept := slices.DeleteFunc(md.KeyValueMetadata, func(had format.KeyValue) bool {
		return slices.ContainsFunc(list, func(kv format.KeyValue) bool { return kv.Key == had.Key })
	})
	md.KeyValueMetadata = append(kept, list...)
	n, err := s.thrift(md)
	if err != nil {
		return fmt.Errorf("footer: %w", err)
	}
	s.write(binary.LittleEndian.AppendUint32(nil, uint32(n)))
	s.write([]byte(magic))
	if s.err == nil {
		s.err = s.out.Flush()
	}
	return s.err
}

// striper writes a striped file.
type striper struct {
	out    *bufio.Writer
	offset int64
	crc    uint32 // of the bytes since it was set to 0
	err    error  // of the first failed write

	files []File // the second one has the columns from own on
	own   int
	md    *format.FileMetaData // of the files, and gradually of the new file
	sums  Sums
	pages [][]pageIndex // by row group and column
	piece []byte
}

func (s *striper) write(b []byte) {
	if s.err == nil {
		_, s.err = s.out.Write(b)
	}
	s.offset += int64(len(b))
	s.crc = crc32.Update(s.crc, castagnoli, b)
}

func (s *striper) thrift(v any) (int, error) {
	b, err := thrift.Marshal(new(thrift.CompactProtocol), v)
	if err != nil {
		return 0, err
	}
	s.write(b)
	return len(b), s.err
}

// add adds the columns of another file.
func (s *striper) add(more File) error {
	md, err := ReadFooter(more.R, more.Size)
	if err != nil {
		return err
	}
	if len(md.RowGroups) != len(s.md.RowGroups) {
		return fmt.Errorf("the file with further columns has %d row groups, want %d", len(md.RowGroups), len(s.md.RowGroups))
	}
	s.files = append(s.files, more)
	s.md.Schema = append(s.md.Schema, md.Schema[1:]...)
	s.md.Schema[0].NumChildren = thrift.New(int32(len(s.md.Schema) - 1))
	s.md.ColumnOrders = append(s.md.ColumnOrders, md.ColumnOrders...)
	for i := range md.RowGroups {
		g, m := &s.md.RowGroups[i], &md.RowGroups[i]
		if g.NumRows != m.NumRows {
			return fmt.Errorf("row group %d of the file with further columns has %d rows, want %d", i, m.NumRows, g.NumRows)
		}
		g.Columns = append(g.Columns, m.Columns...)
		g.TotalByteSize += m.TotalByteSize
		g.TotalCompressedSize += m.TotalCompressedSize
	}
	return nil
}

// file returns the file that has a column.
func (s *striper) file(column int) *File {
	if column >= s.own {
		return &s.files[1]
	}
	return &s.files[0]
}

// chunks writes the column chunks, stripe by stripe.
func (s *striper) chunks() error {
	groups, columns := len(s.md.RowGroups), len(s.md.Schema)-1
	s.sums.Chunks, s.pages = grid[uint32](groups, columns), grid[pageIndex](groups, columns)
	s.sums.Filters = grid[uint32](groups, columns)
	for g := range s.md.RowGroups {
		if n := len(s.md.RowGroups[g].Columns); n != columns {
			return &ErrCorrupt{
				Part: fmt.Sprintf("number of columns in row group %d", g), Want: fmt.Sprint(columns), Got: fmt.Sprint(n),
			}
		}
	}
	for i, first := range s.sums.Stripes {
		end := groups
		if i+1 < len(s.sums.Stripes) {
			end = s.sums.Stripes[i+1]
		}
		for c := range columns {
			for g := first; g < end; g++ {
				if err := s.chunk(g, c); err != nil {
					return fmt.Errorf("row group %d, column %d: %w", g, c, err)
				}
			}
		}
	}
	return s.err
}

func grid[T any](rows, columns int) [][]T {
	out := make([][]T, rows)
	for i := range out {
		out[i] = make([]T, columns)
	}
	return out
}

// chunk writes a column chunk, and moves its offsets and those of its pages.
func (s *striper) chunk(group, column int) error {
	chunk := &s.md.RowGroups[group].Columns[column]
	f := s.file(column)
	if !(Source{R: f.R, Chunk: chunk}).Whole() {
		return fmt.Errorf("the file was written by a version that did not record the offsets of all parts")
	}
	x := &s.pages[group][column]
	if err := readThrift(f.R, chunk.OffsetIndexOffset, chunk.OffsetIndexOffset+int64(chunk.OffsetIndexLength),
		"offset index", &x.pages); err != nil {
		return err
	}
	if chunk.ColumnIndexLength > 0 {
		x.bounds = &format.ColumnIndex{}
		if err := readThrift(f.R, chunk.ColumnIndexOffset, chunk.ColumnIndexOffset+int64(chunk.ColumnIndexLength),
			"column index", x.bounds); err != nil {
			return err
		}
	}
	from := ChunkStart(&chunk.MetaData)
	by := s.offset - from
	if column == 0 {
		s.md.RowGroups[group].FileOffset = s.offset
	}
	if err := s.copy(f, from, chunk.MetaData.TotalCompressedSize, &s.sums.Chunks[group][column]); err != nil {
		return err
	}
	chunk.MetaData.DataPageOffset += by
	if chunk.MetaData.DictionaryPageOffset > 0 {
		chunk.MetaData.DictionaryPageOffset += by
	}
	for i := range x.pages.PageLocations {
		x.pages.PageLocations[i].Offset += by
	}
	return nil
}

// ChunkStart returns the offset of a column chunk.
func ChunkStart(md *format.ColumnMetaData) int64 {
	if d := md.DictionaryPageOffset; d > 0 && d < md.DataPageOffset {
		return d
	}
	return md.DataPageOffset
}

// copy writes n bytes of a file, and sets their checksum.
func (s *striper) copy(f *File, from, n int64, sum *uint32) error {
	if from < 0 || n < 0 || n > f.Size-from {
		return &ErrCorrupt{Offset: from, Part: "length", Want: fmt.Sprintf("at most %d", f.Size-from), Got: fmt.Sprint(n)}
	}
	const piece = 256 << 10
	if s.piece == nil {
		s.piece = make([]byte, piece)
	}
	s.crc = 0
	for n > 0 && s.err == nil {
		b := s.piece[:min(n, piece)]
		if got, err := f.R.ReadAt(b, from); got < len(b) {
			return fmt.Errorf("read %d bytes at offset %d: %w", len(b), from, err)
		}
		s.write(b)
		from, n = from+int64(len(b)), n-int64(len(b))
	}
	*sum = s.crc
	return s.err
}

// filters writes the bloom filters, column by column.
func (s *striper) filters() error {
	for c := range len(s.md.Schema) - 1 {
		for g := range s.md.RowGroups {
			md := &s.md.RowGroups[g].Columns[c].MetaData
			if md.BloomFilterOffset <= 0 {
				continue
			}
			at := s.offset
			if err := s.copy(s.file(c), md.BloomFilterOffset, int64(md.BloomFilterLength), &s.sums.Filters[g][c]); err != nil {
				return fmt.Errorf("row group %d, bloom filter of column %d: %w", g, c, err)
			}
			md.BloomFilterOffset = at
		}
	}
	return nil
}

// index writes the page indexes in the usual order: all column indexes, then all offset indexes.
func (s *striper) index() error {
	s.sums.IndexOffset, s.crc = s.offset, 0
	for g := range s.pages {
		for c := range s.pages[g] {
			bounds := s.pages[g][c].bounds
			if bounds == nil {
				continue
			}
			chunk := &s.md.RowGroups[g].Columns[c]
			chunk.ColumnIndexOffset = s.offset
			n, err := s.thrift(bounds)
			if err != nil {
				return fmt.Errorf("column index: %w", err)
			}
			chunk.ColumnIndexLength = int32(n)
		}
	}
	for g := range s.pages {
		for c := range s.pages[g] {
			chunk := &s.md.RowGroups[g].Columns[c]
			chunk.OffsetIndexOffset = s.offset
			n, err := s.thrift(&s.pages[g][c].pages)
			if err != nil {
				return fmt.Errorf("offset index: %w", err)
			}
			chunk.OffsetIndexLength = int32(n)
		}
	}
	s.sums.Index = s.crc
	return nil
}
