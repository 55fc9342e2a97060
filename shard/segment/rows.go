package segment

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/parquet-go/parquet-go/format"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/segment/parquet"
)

// This file reads some rows of some columns of a row group. With the page index it reads only the
// pages that contain them.

// Run is a range of rows of a row group. First is counted from the start of the row group.
type Run struct{ First, Rows int }

// PageBounds is the rows of a page, and its smallest and largest value.
type PageBounds struct {
	Run
	Min, Max int64
}

// chunkID identifies a column chunk.
type chunkID struct {
	group int
	field uint32
}

// chunkPlace is the position of a column chunk and of its page index in the file.
type chunkPlace struct {
	dict, data          int64 // offsets
	bytes, uncompressed int64
	rows                int64
	pages, bounds       int64 // offsets of the offset index and of the column index
	pagesEnd, boundsEnd int64
	kind                format.Type
	readable, allNull   bool
	optional            bool
}

func placeOf(e *format.SchemaElement, c *format.ColumnChunk) chunkPlace {
	md := &c.MetaData
	return chunkPlace{
		dict: md.DictionaryPageOffset, data: md.DataPageOffset, bytes: md.TotalCompressedSize,
		uncompressed: md.TotalUncompressedSize,
		rows:         md.NumValues,
		pages:        c.OffsetIndexOffset, pagesEnd: c.OffsetIndexOffset + int64(c.OffsetIndexLength),
		bounds: c.ColumnIndexOffset, boundsEnd: c.ColumnIndexOffset + int64(c.ColumnIndexLength),
		kind: md.Type, readable: md.Codec == format.Zstd && c.OffsetIndexLength > 0 && e.RepetitionType.V != format.Repeated,
		allNull:  md.Statistics.NullCount == md.NumValues && md.NumValues > 0,
		optional: e.RepetitionType.V == format.Optional,
	}
}

// maxGroupRows is the maximum number of rows of a row group that is read with the page index. Every
// writer of segments so far has used less than half of it.
const maxGroupRows = 1 << 22

// within returns an error unless the chunk and its indexes are within a file of size bytes. This
// limits the memory for reading them.
func (p *chunkPlace) within(size int64) error {
	start := p.data
	if p.hasDict() {
		start = p.dict
	}
	switch {
	case start < 0 || p.bytes < 0 || start > size || p.bytes > size-start:
		return fmt.Errorf("a chunk of %d bytes at %d in a file of %d", p.bytes, start, size)
	case p.pages < 0 || p.pagesEnd < p.pages || p.pagesEnd > size:
		return fmt.Errorf("an offset index from %d up to %d in a file of %d", p.pages, p.pagesEnd, size)
	case p.bounds < 0 || p.boundsEnd < p.bounds || p.boundsEnd > size:
		return fmt.Errorf("a column index from %d up to %d in a file of %d", p.bounds, p.boundsEnd, size)
	}
	return nil
}

// hasDict reports whether values may be codes of a dictionary.
func (p *chunkPlace) hasDict() bool { return p.dict > 0 && p.dict < p.data }

// indexBytes estimates the memory of the chunk's page index in bytes.
func (p *chunkPlace) indexBytes() int { return int(3*(p.pagesEnd-p.pages) + p.boundsEnd - p.bounds) }

// pageIndex holds the pages of a chunk. bounds is nil if the bounds were not requested or do not
// exist.
type pageIndex struct {
	pages  []parquet.Page
	bounds [][2]int64
}

// errNoIndex is the error for chunks that cannot be read page by page.
var errNoIndex = errors.New("the chunk has no page index, or was written by another program")

// pages returns the page index of a chunk. It reads the index once.
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

// PageBounds returns the pages of a column of 64-bit numbers in a row group, with bounds in the
// file's unit. r is the file.
func (f *Filters) PageBounds(r io.ReaderAt, field uint32, group int) ([]PageBounds, error) {
	x, err := f.pages(r, chunkID{group, field}, true)
	if err != nil {
		return nil, fmt.Errorf("read the pages of field %d in row group %d: %w", field, group, err)
	}
	out := make([]PageBounds, len(x.pages))
	for i, p := range x.pages {
		out[i] = PageBounds{Run{p.First, p.Rows}, x.bounds[i][0], x.bounds[i][1]}
	}
	return out, nil
}

// maxRowsBytes is the maximum memory of the rows that Rows returns.
const maxRowsBytes = 64 << 20

// readers keeps builders for later calls.
var readers = sync.Pool{New: func() any { return new(builder) }}

// release returns memory for other calls.
func (b *builder) release() {
	b.mem = nil
	if cap(b.data)+8*cap(b.numbers) <= maxScratchBytes {
		readers.Put(b)
	}
}

// Rows reads some rows of some columns of a row group, in a file of one table. The runs must ascend
// and not overlap. r is the file; several goroutines may read it concurrently. The batch's header
// contains the number of rows and, if the time index is among the columns, their times. A column
// that is null in all rows, or not in the file, is absent. The columns need not be in one piece of
// memory. It fails if the result would exceed 64 MiB or 65,536 rows. If the file is damaged, it
// fails with a *parquet.ErrCorrupt.
func (f *Filters) Rows(r io.ReaderAt, group int, columns []Column, runs []Run) (*column.Batch, error) {
	h := column.Header{}
	for i, run := range runs {
		if run.First < 0 || run.Rows <= 0 || i > 0 && run.First < runs[i-1].First+runs[i-1].Rows ||
			int64(run.First+run.Rows) > f.Groups[group].Rows {
			return nil, fmt.Errorf("run %d of %d: %d rows from %d in a row group of %d", i, len(runs), run.Rows, run.First,
				f.Groups[group].Rows)
		}
		h.Rows += run.Rows
	}
	if h.Rows > maxBatchRows {
		return nil, fmt.Errorf("%d rows at once; at most %d are allowed", h.Rows, maxBatchRows)
	}
	// Several goroutines share the columns; the slowest columns come first.
	todo := slices.Clone(columns)
	slices.SortStableFunc(todo, func(a, b Column) int { return cmp.Compare(f.cost(group, b), f.cost(group, a)) })
	workers := min(len(todo)/minColumns, maxReaders, runtime.GOMAXPROCS(0))
	parts := make([]*column.Batch, max(workers, 1))
	failed := make([]error, len(parts))
	var bytes, next atomic.Int64
	var wg sync.WaitGroup
	for i := range parts {
		read := func() {
			parts[i], failed[i] = f.readColumns(r, group, h, runs, &bytes, func() *Column {
				if n := int(next.Add(1)) - 1; n < len(todo) {
					return &todo[n]
				}
				return nil
			})
		}
		if i == len(parts)-1 {
			read()
			break
		}
		wg.Go(read)
	}
	wg.Wait()
	out := parts[0]
	for i, part := range parts {
		if failed[i] != nil {
			return nil, failed[i]
		}
		if i == 0 {
			continue
		}
		if slices.ContainsFunc(part.Cols, func(v column.View) bool { return isTime(columns, v.ID) }) {
			out.MinTime, out.MaxTime = part.MinTime, part.MaxTime
		}
		out.Cols = append(out.Cols, part.Cols...)
	}
	slices.SortFunc(out.Cols, func(x, y column.View) int { return cmp.Compare(x.ID, y.ID) })
	return out, nil
}

func isTime(columns []Column, id uint32) bool {
	return slices.ContainsFunc(columns, func(c Column) bool { return c.ID == id && c.Semantic == schema.Timestamp })
}

const (
	// maxReaders is the maximum number of goroutines that read columns at a time, each at least
	// minColumns.
	maxReaders = 4
	minColumns = 2
)

// cost estimates the time to read a column of a row group, in bytes.
func (f *Filters) cost(group int, c Column) int64 {
	return f.Groups[group].columns[c.FieldID].chunk.bytes
}

// readColumns reads the columns that next returns until there are none. bytes counts the bytes that
// all goroutines of one call have read.
func (f *Filters) readColumns(r io.ReaderAt, group int, h column.Header, runs []Run, bytes *atomic.Int64,
	next func() *Column,
) (*column.Batch, error) {
	b := readers.Get().(*builder)
	defer b.release()
	b.mem = make([]byte, 0, 2*h.Rows+4096)
	out := &column.Batch{Header: h}
	var spots []sections
	for c := next(); c != nil; c = next() {
		p := &pageCursor{cursor: cursor{Column: c}}
		err := p.find(f, r, group)
		if err == nil && !p.absent {
			if b.chunk != nil {
				p.chunk.Reuse(b.chunk)
			}
			before := len(b.mem)
			p.local, b.local = b.local, nil
			if err = b.runs(p, runs, bytes); err == nil {
				if spots, err = b.add(out, spots, &p.cursor); err == nil {
					b.local = p.local
				}
			}
			bytes.Add(int64(len(b.mem) - before))
			b.keep(p.chunk)
		}
		if err != nil {
			return nil, fmt.Errorf("row group %d, column %q: %w", group, c.Name, err)
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

// pageCursor is a cursor that can move to any page.
type pageCursor struct {
	cursor
	index *pageIndex
	at    int   // the current page, or -1
	runs  []Run // the wanted rows from the current page on
	spans []parquet.Span
}

// find finds the chunk.
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
	if err != nil {
		return err
	}
	c.chunk.Cached(f.cache, f.file)
	return nil
}

// seek moves to a row of the row group. It does not move backwards.
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
		v, err := c.chunk.Page(p, c.wanted(p))
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
		c.value += countOnes(c.page.Valid, c.row, skip)
	}
	c.row = skip
	return nil
}

// wanted returns the wanted rows of a page. It does not go backwards.
func (c *pageCursor) wanted(p parquet.Page) []parquet.Span {
	c.spans = c.spans[:0]
	for len(c.runs) > 0 {
		run := c.runs[0]
		from, to := max(run.First-p.First, 0), min(run.First+run.Rows-p.First, p.Rows)
		if from < to {
			c.spans = append(c.spans, parquet.Span{From: from, To: to})
		}
		if run.First+run.Rows > p.First+p.Rows {
			break
		}
		c.runs = c.runs[1:]
	}
	return c.spans
}

// countOnes counts the set bits in the range [from, to).
func countOnes(bitmap []uint64, from, to int) int {
	n := 0
	for from < to {
		k := min(to-from, 64-from&63)
		n += bits.OnesCount64(bitmap[from>>6] >> (from & 63) & (^uint64(0) >> (64 - k)))
		from += k
	}
	return n
}

// runs gathers the rows of some runs. bytes counts the bytes that this and concurrent calls have
// read.
func (b *builder) runs(c *pageCursor, runs []Run, bytes *atomic.Int64) error {
	b.empty()
	c.runs = runs
	for _, run := range runs {
		for row, end := run.First, run.First+run.Rows; row < end; {
			if err := c.seek(row); err != nil {
				return err
			}
			n := min(end-row, c.page.Rows-c.row)
			b.take(&c.cursor, n)
			row += n
			if bytes.Load()+int64(len(b.data)) > maxRowsBytes {
				b.forget(&c.cursor)
				return fmt.Errorf("more than %d bytes at once", maxRowsBytes)
			}
		}
	}
	return nil
}

// forget resets the cursor as if no entry of its dictionary had been used.
func (b *builder) forget(c *cursor) {
	for _, code := range b.used {
		c.local[code] = 0
	}
	b.used = b.used[:0]
}
