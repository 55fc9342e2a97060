package segment

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/segment/parquet"
)

// cursor is a position in a column chunk, before the next row.
type cursor struct {
	*Column
	absent bool // the column is null in all rows
	heavy  bool // batches end where its pages end
	chunk  *parquet.ChunkReader
	page   *parquet.Values
	row    int // next row of the page
	value  int // next value of the page
	local  []uint32
}

// builder builds batches from cursors. It reuses its memory, except the memory of the batches.
type builder struct {
	valid   []uint64
	rows    int
	numbers []uint64 // one for each value, not counting null rows
	plain   bool     // byte strings are in data and ends; otherwise they are entries in codes
	codes   []uint32
	used    []uint32 // entries of the page's dictionary, by their code in the batch
	local   []uint32 // scratch memory of a cursor, all zero
	data    []byte
	ends    []uint32

	mem  []byte
	last int // size of the last batch's memory
	// chunk is the last reader, whose memory is reused.
	chunk *parquet.ChunkReader
}

// batch builds a batch of the next h.Rows rows.
func (b *builder) batch(h column.Header, cols []*cursor) (*column.Batch, error) {
	b.mem = make([]byte, 0, b.last+b.last/8+4096)
	out := &column.Batch{Header: h, Cols: make([]column.View, 0, len(cols))}
	var spots []sections
	var err error
	for _, c := range cols {
		if c.absent {
			continue
		}
		if err = b.read(c, h.Rows); err != nil {
			return nil, fmt.Errorf("column %q: %w", c.Name, err)
		}
		if spots, err = b.add(out, spots, c); err != nil {
			return nil, err
		}
	}
	b.complete(out, spots)
	return out, nil
}

// add adds the current values as a column of a batch. complete sets the memory.
func (b *builder) add(out *column.Batch, spots []sections, c *cursor) ([]sections, error) {
	v, s := b.view(c, out.Rows)
	if v.Nulls == v.Rows {
		return spots, nil
	}
	if c.Semantic == schema.Timestamp {
		if v.Nulls > 0 {
			return nil, &parquet.ErrCorrupt{
				Part: fmt.Sprintf("time index %q", c.Name),
				Want: "no nulls",
				Got:  fmt.Sprint(v.Nulls),
			}
		}
		out.MinTime, out.MaxTime = b.times()
	}
	out.Cols = append(out.Cols, v)
	return append(spots, s), nil
}

// complete allocates the memory of a batch.
func (b *builder) complete(out *column.Batch, spots []sections) {
	b.mem = append(b.mem, make([]byte, 16)...)
	b.last = len(b.mem)
	for i := range out.Cols {
		spots[i].point(&out.Cols[i], b.mem)
	}
	out.Mem, b.mem = b.mem, nil
	slices.SortFunc(out.Cols, func(x, y column.View) int { return int(int64(x.ID) - int64(y.ID)) })
}

// times returns the smallest and the largest number of the current column, the time index.
func (b *builder) times() (lo, hi int64) {
	lo, hi = math.MaxInt64, math.MinInt64
	for _, t := range b.numbers {
		lo, hi = min(lo, int64(t)), max(hi, int64(t))
	}
	return lo, hi
}

// sections has the start and end of each section of a view, or 0, 0 if the section does not exist.
type sections struct{ validity, offsets, codes, data [2]int }

func (s *sections) point(v *column.View, mem []byte) {
	at := func(r [2]int) []byte {
		if r[0] == r[1] {
			return nil
		}
		return mem[r[0]:r[1]:r[1]]
	}
	v.Validity, v.Offsets, v.Codes, v.Data = at(s.validity), at(s.offsets), at(s.codes), at(s.data)
}

// section returns n zero bytes at the end of the batch's memory, aligned.
func (b *builder) section(n int) ([]byte, [2]int) {
	end := len(b.mem)
	from := (end + 7) &^ 7
	b.mem = slices.Grow(b.mem, from-end+n)[:from+n]
	clear(b.mem[end:])
	return b.mem[from:], [2]int{from, from + n}
}

// read gathers the next rows of a column.
func (b *builder) read(c *cursor, rows int) error {
	b.empty()
	for b.rows < rows {
		if c.page == nil || c.row == c.page.Rows {
			if err := b.nextPage(c, rows); err != nil {
				return err
			}
		}
		b.take(c, min(rows-b.rows, c.page.Rows-c.row))
	}
	return nil
}

// empty drops the current values.
func (b *builder) empty() {
	b.valid, b.rows, b.plain = b.valid[:0], 0, false
	b.numbers, b.codes, b.used, b.data, b.ends = b.numbers[:0], b.codes[:0], b.used[:0], b.data[:0], b.ends[:0]
}

// take adds the next n rows of the page.
func (b *builder) take(c *cursor, n int) {
	p := c.page
	values := n
	if p.Valid != nil {
		values = b.validity(p.Valid, c.row, n)
	} else if len(b.valid) > 0 {
		b.grow(b.rows + n)
		setBits(b.valid, b.rows, b.rows+n)
	}
	from, to := c.value, c.value+values
	switch {
	case !c.Type.IsBytes():
		b.numbers = append(b.numbers, p.Numbers[from:to]...)
	case p.Dict && !b.plain:
		b.entries(c, p.Codes[from:to])
	case p.Dict:
		for _, code := range p.Codes[from:to] {
			b.data = append(b.data, p.Entry(int(code))...)
			b.ends = append(b.ends, uint32(len(b.data)))
		}
	default:
		b.strings(c, from, to)
	}
	b.rows, c.row, c.value = b.rows+n, c.row+n, to
}

// nextPage moves to the next page. Codes from earlier pages keep their meaning, because the chunk
// has one dictionary.
func (b *builder) nextPage(c *cursor, rows int) error {
	p, err := c.chunk.Next()
	if errors.Is(err, io.EOF) {
		return &parquet.ErrCorrupt{
			Part: fmt.Sprintf("column %q", c.Name),
			Want: fmt.Sprintf("%d more rows", rows-b.rows),
			Got:  "the end",
		}
	}
	if err != nil {
		return err
	}
	c.open(p)
	return nil
}

// open starts a page.
func (c *cursor) open(p *parquet.Values) {
	c.page, c.row, c.value = p, 0, 0
	if p.Dict && len(c.local) < len(p.Ends) {
		c.local = make([]uint32, len(p.Ends))
	}
}

func (b *builder) grow(rows int) {
	for len(b.valid) < (rows+63)/64 {
		b.valid = append(b.valid, 0)
	}
}

// validity adds bits of a page's bitmap, and returns how many are set.
func (b *builder) validity(bitmap []uint64, row, n int) int {
	if len(b.valid) == 0 {
		b.grow(b.rows + n)
		setBits(b.valid, 0, b.rows)
	}
	b.grow(b.rows + n)
	ones := 0
	for i := 0; i < n; {
		from, to := row+i, b.rows+i
		k := min(n-i, 64-from&63, 64-to&63)
		w := bitmap[from>>6] >> (from & 63) & (^uint64(0) >> (64 - k))
		b.valid[to>>6] |= w << (to & 63)
		ones += bits.OnesCount64(w)
		i += k
	}
	return ones
}

// entries adds byte strings by their codes in the chunk's dictionary. The batch gets a dictionary
// of the values that occur.
func (b *builder) entries(c *cursor, codes []uint32) {
	at := len(b.codes)
	b.codes = slices.Grow(b.codes, len(codes))[:at+len(codes)]
	for i, code := range codes {
		l := c.local[code]
		if l == 0 {
			e := c.page.Entry(int(code))
			b.data = append(b.data, e...)
			b.ends = append(b.ends, uint32(len(b.data)))
			b.used = append(b.used, code)
			l = uint32(len(b.used))
			c.local[code] = l
		}
		b.codes[at+i] = l - 1
	}
}

// strings adds byte strings without a dictionary.
func (b *builder) strings(c *cursor, from, to int) {
	if !b.plain {
		b.toPlain()
		for _, code := range b.used {
			c.local[code] = 0
		}
		b.used = b.used[:0]
	}
	if from == to {
		return
	}
	p := c.page
	start := uint32(0)
	if from > 0 {
		start = p.Ends[from-1]
	}
	shift := uint32(len(b.data)) - start
	b.data = append(b.data, p.Data[start:p.Ends[to-1]]...)
	for _, end := range p.Ends[from:to] {
		b.ends = append(b.ends, end+shift)
	}
}

// toPlain keeps byte strings without a dictionary from now on.
func (b *builder) toPlain() {
	b.plain = true
	if len(b.codes) == 0 {
		return
	}
	entries := parquet.Values{Data: slices.Clone(b.data), Ends: slices.Clone(b.ends)}
	b.data, b.ends = b.data[:0], b.ends[:0]
	for _, code := range b.codes {
		b.data = append(b.data, entries.Entry(int(code))...)
		b.ends = append(b.ends, uint32(len(b.data)))
	}
	b.codes = b.codes[:0]
}
