package column

import (
	"math"
	"slices"
	"sync"

	"cordwood/proto/schema"
)

// Builder collects rows of one table, column by column. A scanner may set the fields of a row in
// any order. A column that a row does not set is filled with nulls when it is next written, so a
// row costs only its own fields.
//
// The current row has the index Rows(). It ends with EndRow, or with DropRow, which removes
// everything that the row wrote, including new columns. A Builder is not safe for concurrent use.
type Builder struct {
	cols []*Col
	rows int
	free []*Col
	idle []*Col // columns that OmitUnused left out
	past int    // the number of rows that Seal removed
}

// Col is one column of a Builder. All byte strings of a column together must be below 4 GiB;
// readers of request bodies limit them to far less.
type Col struct {
	schema.Column

	first int // the row that added the column
	n     int // number of rows written or filled so far
	nulls int
	// past is the number of rows that Seal removed, and pastNulls the number of removed rows without a value.
	past, pastNulls int
	ints            integers
	widening        widening

	valid []uint64 // used only if there are nulls; empty until the first one
	fixed []uint64 // numbers, booleans and timestamps; floats as their bits
	ends  []uint32 // byte strings: end of value i in bytes
	bytes []byte
	// marked is the end of the values, from the first one on, that MarkValid marked.
	marked uint32

	// origin is the text from which all values were cut (CutFrom); nil: there is none. starts has
	// the offset of each row's value in it.
	origin *Origin
	starts []uint32
}

// Limits of what Reset keeps: a request with many or huge columns must not keep memory for as long
// as the builder lives.
const (
	maxFreeColumns = 1024
	maxFreeBytes   = 1 << 20 // per column
)

// Reset empties b for the next table, and keeps its memory unless that is unusually large. Earlier
// columns must not be used afterwards.
func (b *Builder) Reset() {
	b.cols = append(b.cols, b.idle...)
	// Add takes the last one first, so a column gets the memory of the column at its place in the last table.
	for _, c := range slices.Backward(b.cols) {
		b.recycle(c)
	}
	clear(b.cols)
	clear(b.idle)
	b.cols, b.idle, b.rows, b.past = b.cols[:0], b.idle[:0], 0, 0
}

// Restart empties b for more rows of the same table. Its columns stay, followed by the columns that
// OmitUnused left out, and all are pinned. Memory is kept unless it is unusually large.
func (b *Builder) Restart() {
	b.cols = append(b.cols, b.idle...)
	clear(b.idle)
	b.idle, b.rows, b.past = b.idle[:0], 0, 0
	for _, c := range b.cols {
		if c.shareTexts() {
			*c = Col{Column: c.Column}
		}
		c.empty()
		c.first = -1
	}
}

// OmitUnused leaves out the columns without values, until Restart or Reset.
func (b *Builder) OmitUnused() {
	used := b.cols[:0]
	for _, c := range b.cols {
		if c.Used() {
			used = append(used, c)
		} else {
			b.idle = append(b.idle, c)
		}
	}
	clear(b.cols[len(used):])
	b.cols = used
}

// recycle keeps the memory of a column for Add.
func (b *Builder) recycle(c *Col) {
	if c.shareTexts() || len(b.free) == maxFreeColumns {
		return
	}
	c.empty() // its name and origin may keep a request body alive
	c.Column = schema.Column{}
	b.free = append(b.free, c)
}

// empty removes all rows, and keeps the memory. It sets the fields one by one, because a copy of the whole column costs
// more than a small request needs for its rows.
func (c *Col) empty() {
	c.first, c.n, c.nulls, c.past, c.pastNulls, c.marked = 0, 0, 0, 0, 0, 0
	c.ints, c.widening = integers{}, widening{}
	c.valid, c.fixed, c.ends, c.bytes, c.starts = c.valid[:0], c.fixed[:0], c.ends[:0], c.bytes[:0], c.starts[:0]
	if c.origin != nil {
		c.origin = nil
	}
}

// shareTexts makes large memory of texts available to other builders, and reports whether the column still has more
// memory than may be kept.
func (c *Col) shareTexts() bool {
	if n := cap(c.bytes); n > maxFreeBytes && n <= maxSharedBytes {
		large := c.bytes[:0]
		largeTexts.Put(&large)
		c.bytes = nil
	}
	return 8*(cap(c.fixed)+cap(c.valid))+4*(cap(c.ends)+cap(c.starts))+cap(c.bytes) > maxFreeBytes
}

// largeTexts is a pool of memory for columns of long texts. New memory costs a page fault for every
// 4 KiB.
var largeTexts sync.Pool

// maxSharedBytes is the maximum size of a column's memory in largeTexts.
const maxSharedBytes = 16 << 20

// Rows returns the number of complete rows, which is the index of the current row.
func (b *Builder) Rows() int { return b.rows }

// Cols returns the columns, in the order in which they were added.
func (b *Builder) Cols() []*Col { return b.cols }

// SetCols replaces the order of the columns; cols must be a permutation of Cols().
func (b *Builder) SetCols(cols []*Col) { b.cols = cols }

// Add adds a column in the current row.
func (b *Builder) Add(c schema.Column) *Col {
	var col *Col
	if n := len(b.free); n > 0 {
		col, b.free = b.free[n-1], b.free[:n-1]
		col.empty()
	} else {
		col = &Col{}
	}
	col.Column, col.first = c, b.rows
	col.past, col.pastNulls = b.past, b.past
	b.cols = append(b.cols, col)
	return col
}

// EndRow completes the current row.
func (b *Builder) EndRow() { b.rows++ }

// DropRow removes the current row. Columns that it added are removed too unless they are pinned,
// and must not be used any more.
func (b *Builder) DropRow() {
	kept := b.cols[:0]
	for _, c := range b.cols {
		if c.first == b.rows {
			b.recycle(c)
			continue
		}
		if c.Has(b.rows) {
			c.pop()
		}
		kept = append(kept, c)
	}
	clear(b.cols[len(kept):])
	b.cols = kept
}

// Rewind removes the current row, and all complete rows from the given one on, like DropRow.
func (b *Builder) Rewind(rows int) {
	b.DropRow()
	kept := b.cols[:0]
	for _, c := range b.cols {
		if c.first >= rows {
			b.recycle(c)
			continue
		}
		for c.n > rows {
			c.pop()
		}
		kept = append(kept, c)
	}
	clear(b.cols[len(kept):])
	b.cols, b.rows = kept, rows
}

// Pin keeps the column even if the row that added it is dropped.
func (c *Col) Pin() { c.first = -1 }

// FirstRow returns the row that added the column, or -1 if the column is pinned.
func (c *Col) FirstRow() int { return c.first }

// Finish fills every column up to the same length. Encode calls it.
func (b *Builder) Finish() {
	for _, c := range b.cols {
		c.settle()
		c.pad(b.rows)
	}
}

// Has reports whether the row has set a value or a null in the column.
func (c *Col) Has(row int) bool { return c.n == row+1 }

// Len returns the number of rows written or filled so far.
func (c *Col) Len() int { return c.n }

// Nulls returns the number of null rows written or filled so far.
func (c *Col) Nulls() int { return c.nulls }

// pad appends nulls until the column has n rows.
func (c *Col) pad(n int) {
	if c.n < n {
		c.padMore(n)
	}
}

func (c *Col) padMore(n int) {
	more := n - c.n
	if c.nulls == 0 {
		c.valid = ones(c.valid[:0], c.n)
	}
	c.nulls += more
	if c.Type.IsBytes() {
		end := uint32(len(c.bytes))
		c.ends = slices.Grow(c.ends, more)[:c.n+more]
		fill := c.ends[c.n:]
		for i := range fill {
			fill[i] = end
		}
	} else {
		c.fixed = slices.Grow(c.fixed, more)[:c.n+more]
		clear(c.fixed[c.n:])
	}
	if words := (n+63)>>6 - len(c.valid); words > 0 {
		c.valid = append(c.valid, make([]uint64, words)...)
	}
	c.n = n
}

// ones appends a bitmap of n bits that are all set.
func ones(words []uint64, n int) []uint64 {
	for ; n >= 64; n -= 64 {
		words = append(words, math.MaxUint64)
	}
	if n > 0 {
		words = append(words, 1<<n-1)
	}
	return words
}

// mark extends the column to the given row, and records that the row has a value.
func (c *Col) mark(row int) {
	c.n = row + 1
	if c.nulls > 0 {
		c.setValid(row)
	}
}

func (c *Col) setValid(row int) {
	if row>>6 >= len(c.valid) {
		c.valid = append(c.valid, 0)
	}
	c.valid[row>>6] |= 1 << (row & 63)
}

func (c *Col) pop() {
	row := c.n - 1
	c.ints.forget(row)
	if c.nulls > 0 {
		if c.valid[row>>6]&(1<<(row&63)) == 0 {
			c.nulls--
		}
		c.valid[row>>6] &^= 1 << (row & 63)
		c.valid = c.valid[:(row+63)>>6]
		if c.nulls == 0 {
			c.valid = c.valid[:0]
		}
	}
	if c.Type.IsBytes() {
		c.ends = c.ends[:row]
		end := uint32(0)
		if row > 0 {
			end = c.ends[row-1]
		}
		c.bytes, c.marked = c.bytes[:end], min(c.marked, end)
		c.starts = c.starts[:min(row, len(c.starts))]
	} else {
		c.fixed = c.fixed[:row]
	}
	c.n = row
}

// IsNull reports whether the row, which must be below Len, is null.
func (c *Col) IsNull(row int) bool { return c.nulls > 0 && c.valid[row>>6]&(1<<(row&63)) == 0 }

// Int returns the row's integer, timestamp or boolean.
func (c *Col) Int(row int) int64 { return int64(c.fixed[row]) }

// Float returns the row's float.
func (c *Col) Float(row int) float64 { return math.Float64frombits(c.fixed[row]) }

// Bytes returns the row's byte string, valid until the next write.
func (c *Col) Bytes(row int) []byte {
	from := uint32(0)
	if row > 0 {
		from = c.ends[row-1]
	}
	return c.bytes[from:c.ends[row]]
}

// ByteSize estimates the memory that the column's values take, in bytes.
func (c *Col) ByteSize() int {
	return 8*(len(c.fixed)+len(c.valid)) + 4*len(c.ends) + len(c.bytes)
}

// ByteSize estimates the memory that all values take, in bytes.
func (b *Builder) ByteSize() int {
	n := 0
	for _, c := range b.cols {
		n += c.ByteSize()
	}
	return n
}
