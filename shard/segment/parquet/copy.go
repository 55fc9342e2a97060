package parquet

import (
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/format"
)

// Source is a column chunk of another file.
type Source struct {
	R     io.ReaderAt
	Chunk *format.ColumnChunk
}

// Whole reports whether CopyColumn can copy the chunk. Files of earlier versions may lack the
// offsets of its parts.
func (s Source) Whole() bool {
	md := &s.Chunk.MetaData
	return s.Chunk.OffsetIndexLength > 0 && md.TotalCompressedSize > 0 &&
		(md.BloomFilterOffset <= 0 || md.BloomFilterLength > 0)
}

// CopyColumn copies a chunk of another file as the next column of the row group: its pages, index
// and bloom filter. The other file's column must have the same type and must also be required or
// optional. The caller must have checked its bytes.
func (w *Writer) CopyColumn(s Source) error {
	g := &w.groups[len(w.groups)-1]
	c := &w.columns[len(g.Columns)]
	if err := w.copyColumn(s, c, len(w.groups)-1, len(g.Columns)); err != nil {
		return fmt.Errorf("column %q: copy: %w", c.Element.Name, err)
	}
	return w.endColumn(g)
}

func (w *Writer) copyColumn(s Source, c *Column, group, column int) error {
	md := s.Chunk.MetaData // a copy; its slices are not changed
	if md.Type != c.kind() || md.NumValues != int64(w.rows) || md.Codec != format.Zstd {
		return fmt.Errorf("%d values of type %v, compressed by %v, in a row group of %d rows of type %v", md.NumValues,
			md.Type, md.Codec, w.rows, c.kind())
	}
	from := md.DataPageOffset
	if d := md.DictionaryPageOffset; d > 0 && d < from {
		from = d
	}
	x := pageIndex{group: group, column: column}
	if err := readThrift(s.R, s.Chunk.OffsetIndexOffset, s.Chunk.OffsetIndexOffset+int64(s.Chunk.OffsetIndexLength),
		"offset index", &x.pages); err != nil {
		return err
	}
	if s.Chunk.ColumnIndexLength > 0 {
		x.bounds = &format.ColumnIndex{}
		if err := readThrift(s.R, s.Chunk.ColumnIndexOffset, s.Chunk.ColumnIndexOffset+int64(s.Chunk.ColumnIndexLength),
			"column index", x.bounds); err != nil {
			return err
		}
	}
	by := w.offset - from
	for i := range x.pages.PageLocations {
		x.pages.PageLocations[i].Offset += by
	}
	md.PathInSchema = []string{c.Element.Name}
	md.DataPageOffset += by
	if md.DictionaryPageOffset > 0 {
		md.DictionaryPageOffset += by
	}
	if md.BloomFilterOffset > 0 {
		w.filters = append(w.filters, filter{
			group:  group,
			column: column,
			from:   s.R,
			offset: md.BloomFilterOffset,
			length: int64(md.BloomFilterLength),
		})
		md.BloomFilterOffset = 0
	}
	if err := w.copy(s.R, from, md.TotalCompressedSize); err != nil {
		return err
	}
	w.indexes = append(w.indexes, x)
	g := &w.groups[group]
	g.Columns = append(g.Columns, format.ColumnChunk{MetaData: md})
	return nil
}

// copy writes bytes of another file.
func (w *Writer) copy(r io.ReaderAt, from, n int64) error {
	const piece = 256 << 10
	for n > 0 && w.err == nil {
		size := int(min(n, piece))
		if cap(w.body) < size {
			w.body = make([]byte, size)
		}
		b := w.body[:size]
		if got, err := r.ReadAt(b, from); got < size {
			return fmt.Errorf("read %d bytes at offset %d: %w", size, from, err)
		}
		w.write(b)
		from, n = from+int64(size), n-int64(size)
	}
	return w.err
}
