package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"sync"

	"github.com/parquet-go/parquet-go/format"

	"cordwood/proto/column"
	"cordwood/shard/segment/parquet"
)

// This file reads some rows of some columns of a row group, by the page index: only the
// pages that hold them are read.

// Run are rows of a row group from First on, which is counted from its beginning.
type Run struct{ First, Rows int }

// PageBounds are the rows of a page, and the smallest and the largest value there.
type PageBounds struct {
	Run
	Min, Max int64
}

// chunkID names a column chunk.
type chunkID struct {
	group int
	field uint32
}

// chunkPlace says where a column chunk and its index of pages lie.
type chunkPlace struct {
	dict, data          int64 // offsets
	bytes, uncompressed int64
	rows                int64
	pages, bounds       int64 // offsets of the offset index, of the column index
	pagesEnd, boundsEnd int64
	kind                format.Type
	readable, allNull   bool
	optional            bool
}

func placeOf(e *format.SchemaElement, c *format.ColumnChunk) chunkPlace {
	md := &c.MetaData
	return chunkPlace{
		dict: md.DictionaryPageOffset, data: md.DataPageOffset, bytes: md.TotalCompressedSize, uncompressed: md.TotalUncompressedSize,
		rows:  md.NumValues,
		pages: c.OffsetIndexOffset, pagesEnd: c.OffsetIndexOffset + int64(c.OffsetIndexLength),
		bounds: c.ColumnIndexOffset, boundsEnd: c.ColumnIndexOffset + int64(c.ColumnIndexLength),
		kind: md.Type, readable: md.Codec == format.Zstd && c.OffsetIndexLength > 0 && e.RepetitionType.V != format.Repeated,
		allNull:  md.Statistics.NullCount == md.NumValues && md.NumValues > 0,
		optional: e.RepetitionType.V == format.Optional,
	}
}

// indexBytes is about how many bytes of memory the index of its pages takes.
func (p *chunkPlace) indexBytes() int { return int(3*(p.pagesEnd-p.pages) + p.boundsEnd - p.bounds) }

// pageIndex are the pages of a chunk; bounds are nil if they were not asked for, or
// are not there.
type pageIndex struct {
	pages  []parquet.Page
	bounds [][2]int64
}

// errNoIndex is the error for chunks that cannot be read page by page.
var errNoIndex = errors.New("it has no page index, or is of another writer")

// pages returns the index of a chunk's pages, which is read once.
func (f *Filters) pages(r io.ReaderAt, id chunkID, bounds bool) (*pageIndex, error) {
	f.mu.Lock()
	x := f.index[id]
	f.mu.Unlock()
	if x != nil && (x.bounds != nil || !bounds) {
		return x, nil
	}
	c, ok := f.Groups[id.group].columns[id.field]
	if !ok || !c.chunk.readable {
		return nil, errNoIndex
	}
	x = &pageIndex{}
	var err error
	if x.pages, err = parquet.ReadPages(r, c.chunk.pages, c.chunk.pagesEnd, c.chunk.rows); err != nil {
		return nil, err
	}
	if bounds && c.chunk.boundsEnd > c.chunk.bounds {
		if x.bounds, err = parquet.ReadBounds(r, c.chunk.bounds, c.chunk.boundsEnd); err != nil {
			return nil, err
		}
	}
	if bounds && len(x.bounds) != len(x.pages) {
		return nil, errNoIndex
	}
	f.mu.Lock()
	f.index[id] = x
	f.mu.Unlock()
	return x, nil
}

// PageBounds returns the pages of a column of 64-bit numbers in a row group, in the
// file's unit. r is the file.
func (f *Filters) PageBounds(r io.ReaderAt, field uint32, group int) ([]PageBounds, error) {
	x, err := f.pages(r, chunkID{group, field}, true)
	if err != nil {
		return nil, fmt.Errorf("pages of field %d in row group %d: %w", field, group, err)
	}
	out := make([]PageBounds, len(x.pages))
	for i, p := range x.pages {
		out[i] = PageBounds{Run{p.First, p.Rows}, x.bounds[i][0], x.bounds[i][1]}
	}
	return out, nil
}

// maxRowsBytes is the most memory of the rows that Rows returns.
const maxRowsBytes = 64 << 20

// readers keeps memory from one call to the next.
var readers = sync.Pool{New: func() any { return new(builder) }}

// Rows reads the rows of some runs, which ascend and do not overlap, of some columns of
// a row group of one table's file. r is the file. The batch's header has the number of
// rows and, if the time index is among the columns, their times; a column that is null
// in all of them, or not in the file, is absent. It fails if that were more than 64
// MiB or 65,536 rows, and with a *parquet.ErrCorrupt for damage.
func (f *Filters) Rows(r io.ReaderAt, group int, columns []Column, runs []Run) (*column.Batch, error) {
	h := column.Header{}
	for i, run := range runs {
		if run.First < 0 || run.Rows <= 0 || i > 0 && run.First < runs[i-1].First+runs[i-1].Rows || int64(run.First+run.Rows) > f.Groups[group].Rows {
			return nil, fmt.Errorf("run %d of %d: %d rows from %d in a row group of %d", i, len(runs), run.Rows, run.First, f.Groups[group].Rows)
		}
		h.Rows += run.Rows
	}
	if h.Rows > maxBatchRows {
		return nil, fmt.Errorf("%d rows at once; there may be %d", h.Rows, maxBatchRows)
	}
	b := readers.Get().(*builder)
	defer func() {
		b.mem = nil
		if cap(b.data)+8*cap(b.numbers) <= maxScratchBytes {
			readers.Put(b)
		}
	}()
	b.mem = make([]byte, 0, 128*h.Rows+4096)
	out := &column.Batch{Header: h, Cols: make([]column.View, 0, len(columns))}
	var spots []sections
	for i := range columns {
		p := &pageCursor{cursor: cursor{Column: &columns[i]}}
		err := p.find(f, r, group)
		if err == nil && !p.absent {
			if b.chunk != nil {
				p.chunk.Reuse(b.chunk)
			}
			err = b.runs(p, runs)
			b.keep(p.chunk)
		}
		if err == nil && !p.absent {
			spots, err = b.add(out, spots, &p.cursor)
		}
		if err != nil {
			return nil, fmt.Errorf("row group %d, column %q: %w", group, columns[i].Name, err)
		}
	}
	b.complete(out, spots)
	return out, nil
}

// keep keeps the memory of a reader for the next one.
func (b *builder) keep(r *parquet.ChunkReader) {
	b.chunk = new(parquet.ChunkReader)
	b.chunk.Reuse(r)
}

// pageCursor is a cursor that can go to any page.
type pageCursor struct {
	cursor
	index *pageIndex
	at    int // the page at hand; -1
	end   int // the row before which the last wanted one is
}

// find looks up the chunk.
func (c *pageCursor) find(f *Filters, r io.ReaderAt, group int) error {
	place, ok := f.Groups[group].columns[c.FieldID]
	if !ok || place.chunk.allNull {
		c.absent = true
		return nil
	}
	p := &place.chunk
	if p.rows != f.Groups[group].Rows || p.kind != element(c.Column, false).Type.V {
		return errNoIndex
	}
	var err error
	if c.index, err = f.pages(r, chunkID{group, c.FieldID}, false); err != nil {
		return err
	}
	e := element(c.Column, !p.optional)
	c.at = -1
	c.chunk, err = parquet.NewChunkReader(r, &e, &format.ColumnMetaData{
		Type: p.kind, Codec: format.Zstd, NumValues: p.rows, DictionaryPageOffset: p.dict, DataPageOffset: p.data,
		TotalCompressedSize: p.bytes, TotalUncompressedSize: p.uncompressed,
	})
	return err
}

// seek goes to a row of the row group, no earlier one than before.
func (c *pageCursor) seek(row int) error {
	at, found := slices.BinarySearchFunc(c.index.pages, row, func(p parquet.Page, row int) int { return p.First - row })
	if !found {
		at--
	}
	if at < 0 {
		return errNoIndex
	}
	p := c.index.pages[at]
	if at != c.at {
		v, err := c.chunk.Page(p, row-p.First, min(c.end-p.First, p.Rows))
		if err != nil {
			return err
		}
		c.at = at
		c.open(v)
	}
	skip := row - p.First
	if c.page.Valid == nil {
		c.value += skip - c.row
	} else {
		c.value += ones(c.page.Valid, c.row, skip)
	}
	c.row = skip
	return nil
}

// ones counts the bits that are set from up to to.
func ones(bitmap []uint64, from, to int) int {
	n := 0
	for from < to {
		k := min(to-from, 64-from&63)
		n += bits.OnesCount64(bitmap[from>>6] >> (from & 63) & (^uint64(0) >> (64 - k)))
		from += k
	}
	return n
}

// runs gathers the rows of some runs.
func (b *builder) runs(c *pageCursor, runs []Run) error {
	b.empty()
	if n := len(runs); n > 0 {
		c.end = runs[n-1].First + runs[n-1].Rows
	}
	for _, run := range runs {
		for row, end := run.First, run.First+run.Rows; row < end; {
			if err := c.seek(row); err != nil {
				return err
			}
			n := min(end-row, c.page.Rows-c.row)
			b.take(&c.cursor, n)
			row += n
			if len(b.mem)+len(b.data) > maxRowsBytes {
				b.forget(&c.cursor)
				return fmt.Errorf("more than %d bytes at once", maxRowsBytes)
			}
		}
	}
	return nil
}

// forget leaves the cursor as if no entry had been taken from its dictionary.
func (b *builder) forget(c *cursor) {
	for _, code := range b.used {
		c.local[code] = 0
	}
	b.used = b.used[:0]
}

// Find returns the rows of a row group whose value in a column is one of some values, as
// runs of one row, ascending. Values are the bytes of a text, or the little-endian bytes
// of a number as it lies in the file. more tells that there are more than limit; then the first ones are returned. r is the
// file.
func (f *Filters) Find(r io.ReaderAt, group int, c Column, values [][]byte, limit int) (runs []Run, more bool, err error) {
	p := &pageCursor{cursor: cursor{Column: &c}}
	if err := p.find(f, r, group); err != nil {
		return nil, false, fmt.Errorf("row group %d, column %q: %w", group, c.Name, err)
	}
	if p.absent {
		return nil, false, nil
	}
	b := readers.Get().(*builder)
	if b.chunk != nil {
		p.chunk.Reuse(b.chunk)
	}
	defer func() {
		b.keep(p.chunk)
		readers.Put(b)
	}()
	for _, page := range p.index.pages {
		v, err := p.chunk.Page(page, 0, page.Rows)
		if err != nil {
			return nil, false, fmt.Errorf("row group %d, column %q: %w", group, c.Name, err)
		}
		for _, n := range matching(v, values) {
			if len(runs) == limit {
				return runs, true, nil
			}
			runs = append(runs, Run{page.First + rowOf(v, n), 1})
		}
	}
	return runs, false, nil
}

// matching are the numbers of the values of a page that are one of some.
func matching(v *parquet.Values, values [][]byte) (out []int) {
	among := func(b []byte) bool {
		for _, value := range values {
			if len(value) == len(b) && bytes.Equal(value, b) {
				return true
			}
		}
		return false
	}
	switch {
	case v.Dict:
		entries := make([]bool, len(v.Ends))
		met := false
		for i := range v.Ends {
			entries[i] = among(v.Entry(i))
			met = met || entries[i]
		}
		if !met {
			return nil
		}
		for i, code := range v.Codes {
			if entries[code] {
				out = append(out, i)
			}
		}
	case v.Numbers != nil:
		for _, value := range values {
			for i, n := range v.Numbers {
				if len(value) == 8 && n == binary.LittleEndian.Uint64(value) || len(value) == 4 && uint32(n) == binary.LittleEndian.Uint32(value) {
					out = append(out, i)
				}
			}
		}
		slices.Sort(out)
		out = slices.Compact(out)
	default:
		from := uint32(0)
		for i, end := range v.Ends {
			if among(v.Data[from:end]) {
				out = append(out, i)
			}
			from = end
		}
	}
	return out
}

// rowOf is the row of a page that has value n.
func rowOf(v *parquet.Values, n int) int {
	if v.Valid == nil {
		return n
	}
	for i, w := range v.Valid {
		k := bits.OnesCount64(w)
		if n >= k {
			n -= k
			continue
		}
		for ; n > 0; n-- {
			w &= w - 1
		}
		return 64*i + bits.TrailingZeros64(w)
	}
	return v.Rows
}
