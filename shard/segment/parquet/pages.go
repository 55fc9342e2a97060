package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/format"
)

// Page is the position of a data page of a chunk.
type Page struct {
	Offset int64
	// Bytes is the size of the page including its header, according to the index, which may be
	// wrong.
	Bytes int64
	// First is the page's first row, counted from the start of the row group. Rows is the number of
	// its rows.
	First, Rows int
}

// ReadPages reads the offset index of a chunk of rows rows, which has the offsets [from, end) in
// the file.
func ReadPages(r io.ReaderAt, from, end int64, rows int64) ([]Page, error) {
	var index format.OffsetIndex
	if err := readThrift(r, from, end, "offset index", &index); err != nil {
		return nil, err
	}
	pages := make([]Page, len(index.PageLocations))
	for i := range pages {
		next := rows
		if i+1 < len(pages) {
			next = index.PageLocations[i+1].FirstRowIndex
		}
		p := &index.PageLocations[i]
		if p.Offset < 0 || i == 0 && p.FirstRowIndex != 0 || p.FirstRowIndex >= next || next > rows {
			return nil, &ErrCorrupt{
				Offset: from,
				Part:   "offset index",
				Want:   fmt.Sprintf("consecutive pages up to row %d", rows),
				Got:    fmt.Sprintf("rows %d up to %d", p.FirstRowIndex, next),
			}
		}
		pages[i] = Page{
			Offset: p.Offset,
			Bytes:  int64(p.CompressedPageSize),
			First:  int(p.FirstRowIndex),
			Rows:   int(next - p.FirstRowIndex),
		}
	}
	return pages, nil
}

// ReadBounds reads the column index of a chunk of 64-bit numbers, which has the offsets [from, end)
// in the file: the smallest and the largest value of each page. It returns nil if not all pages
// have bounds.
func ReadBounds(r io.ReaderAt, from, end int64) (bounds [][2]int64, err error) {
	var index format.ColumnIndex
	if err := readThrift(r, from, end, "column index", &index); err != nil {
		return nil, err
	}
	if len(index.MinValues) != len(index.MaxValues) {
		return nil, nil
	}
	for i := range index.MinValues {
		if len(index.MinValues[i]) != 8 || len(index.MaxValues[i]) != 8 {
			return nil, nil
		}
		bounds = append(bounds, [2]int64{
			int64(binary.LittleEndian.Uint64(index.MinValues[i])), int64(binary.LittleEndian.Uint64(index.MaxValues[i])),
		})
	}
	return bounds, nil
}

// maxIndexBytes is the maximum size of a page index.
const maxIndexBytes = 64 << 20

func readThrift(r io.ReaderAt, from, end int64, part string, v any) error {
	if from <= 0 || end <= from || end-from > maxIndexBytes {
		return &ErrCorrupt{Offset: from, Part: part, Want: "one", Got: fmt.Sprintf("%d bytes", end-from)}
	}
	b := make([]byte, end-from)
	if n, err := r.ReadAt(b, from); n < len(b) && !errors.Is(err, io.EOF) {
		return err
	}
	if err := unmarshal(b, v); err != nil {
		return &ErrCorrupt{Offset: from, Part: part, Want: "one", Got: err.Error()}
	}
	return nil
}

// Span is the rows [From, To) of a page.
type Span struct{ From, To int }

// Page returns the values of one data page, which are valid until the next call. Next must not be
// called afterwards. Spans, if given, are the wanted rows in ascending order. The values of other
// rows may be wrong or missing.
func (c *ChunkReader) Page(p Page, spans []Span) (*Values, error) {
	c.spans = spans
	if o := c.md.DictionaryPageOffset; o > 0 && o < c.md.DataPageOffset && c.dict == nil {
		c.at = o
		d, err := c.load(c.md.DataPageOffset - o)
		if err != nil {
			return nil, err
		}
		if d.dict == nil {
			return nil, &ErrCorrupt{Offset: o, Part: "page", Want: "a dictionary", Got: fmt.Sprint(d.header.Type)}
		}
	}
	if p.Offset < c.md.DataPageOffset || p.Offset >= c.end {
		return nil, &ErrCorrupt{
			Offset: p.Offset,
			Part:   "page",
			Want:   fmt.Sprintf("an offset from %d up to %d", c.md.DataPageOffset, c.end),
			Got:    fmt.Sprint(p.Offset),
		}
	}
	c.at, c.rows = p.Offset, int64(p.Rows)
	loaded, err := c.load(p.Bytes)
	if err != nil {
		return nil, err
	}
	h := &loaded.header
	if h.Type != format.DataPage || !h.DataPageHeader.Valid {
		return nil, &ErrCorrupt{Offset: p.Offset, Part: "page", Want: "a data page", Got: fmt.Sprint(h.Type)}
	}
	if err := c.data(&h.DataPageHeader.V, loaded.body); err != nil {
		return nil, badPage(p.Offset, err)
	}
	if c.page.Rows != p.Rows {
		return nil, &ErrCorrupt{
			Offset: p.Offset,
			Part:   "page",
			Want:   fmt.Sprintf("%d rows", p.Rows),
			Got:    fmt.Sprint(c.page.Rows),
		}
	}
	return &c.page, nil
}
