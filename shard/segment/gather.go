package segment

import (
	"encoding/binary"
	"math"
	"slices"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/segment/parquet"
)

// run is a range of consecutive rows of one batch.
type run struct {
	batch, row, n uint32
}

// appendRuns appends the rows as runs.
func appendRuns(runs []run, rows []RowRef) []run {
	for i := 0; i < len(rows); {
		r := run{rows[i].Batch, rows[i].Row, 1}
		for i++; i < len(rows) && rows[i].Batch == r.batch && rows[i].Row == r.row+r.n; i++ {
			r.n++
		}
		runs = append(runs, r)
	}
	return runs
}

// gathered holds the values of a column of the current row group, in the order of the file. The
// zero value is empty.
type gathered struct {
	parquet.Values
	plain bool // byte strings are kept without a dictionary
	all   int  // the maximum number of rows of the row group
	dict  dictionary
	// Memory that giveUp leaves for later use.
	spareData []byte
	spareEnds []uint32
	codes     codeTables
}

// reset empties g and keeps its memory, for a row group of at most rows rows. plain disables the
// dictionary.
func (g *gathered) reset(plain bool, rows int) {
	g.all = rows
	g.Values.Reset()
	if plain == (cap(g.Data) < cap(g.spareData)) { // a dictionary needs less memory
		g.Data, g.Ends, g.spareData, g.spareEnds = g.spareData[:0], g.spareEnds[:0], g.Data[:0], g.Ends[:0]
	}
	g.plain = plain
	g.Dict = !plain
	g.dict.reset()
}

// footprint estimates the memory of g.
func (g *gathered) footprint() int {
	return cap(g.Data) + cap(g.spareData) + 8*cap(g.Numbers) +
		4*(cap(g.Ends)+cap(g.spareEnds)+cap(g.Codes)+cap(g.codes.codes)) + 8*cap(g.dict.slots)
}

// add adds rows of a column; views are the column's views, by batch.
func (g *gathered) add(typ schema.Type, views []*column.View, runs []run) {
	if typ.IsBytes() {
		g.codes.reset(len(views))
		if g.plain {
			g.room(plainBytes(views, runs))
		}
	}
	for i, r := range runs {
		v := views[r.batch]
		if v == nil {
			g.nulls(int(r.n))
			continue
		}
		nulls := g.validity(v, int(r.row), int(r.n))
		switch {
		case !typ.IsBytes():
			g.numbers(typ, v, int(r.row), int(r.n), nulls)
		case g.plain:
			g.strings(v, int(r.row), int(r.n), nulls)
		default:
			g.entries(v, r, nulls)
			if g.tooMany() {
				g.giveUp(plainBytes(views, runs[i+1:]))
			}
		}
	}
}

// nulls adds rows without a value.
func (g *gathered) nulls(n int) {
	g.bitmap()
	g.Rows += n
	g.grow()
}

// grow extends the bitmap to all rows.
func (g *gathered) grow() {
	for len(g.Valid) < (g.Rows+63)/64 {
		g.Valid = append(g.Valid, 0)
	}
}

// numbers adds the numbers of n rows.
func (g *gathered) numbers(typ schema.Type, v *column.View, row, n int, nulls bool) {
	at := len(g.Numbers)
	g.Numbers = grow(g.Numbers, n, g.all)
	out := g.Numbers[at:]
	load(out, v, row)
	if typ == schema.TimestampSecond {
		for i, t := range out {
			out[i] = uint64(thousandfold(int64(t)))
		}
	}
	if typ == schema.Float64 && v.Type != typ {
		toDoubles(v.Type, out)
	}
	if !nulls {
		return
	}
	kept := 0
	for i, x := range out {
		at := row + i
		out[kept] = x
		kept += int(v.Validity[at>>3] >> (at & 7) & 1)
	}
	g.Numbers = g.Numbers[:at+kept]
}

// load stores the numbers of len(out) rows, starting at row from, including null rows.
func load(out []uint64, v *column.View, row int) {
	base := uint64(v.Base)
	switch v.Width {
	case 0:
		for i := range out {
			out[i] = base
		}
	case 1:
		for i, b := range v.Data[row : row+len(out)] {
			out[i] = base + uint64(b)
		}
	case 2:
		data := v.Data[2*row : 2*(row+len(out))]
		for i := range out {
			out[i] = base + uint64(binary.LittleEndian.Uint16(data[2*i:]))
		}
	case 4:
		data := v.Data[4*row : 4*(row+len(out))]
		for i := range out {
			out[i] = base + uint64(binary.LittleEndian.Uint32(data[4*i:]))
		}
	default:
		data := v.Data[8*row : 8*(row+len(out))]
		for i := range out {
			out[i] = base + binary.LittleEndian.Uint64(data[8*i:])
		}
	}
}

// toDoubles replaces numbers of a type that widens to Float64 by the bits of the doubles.
func toDoubles(from schema.Type, numbers []uint64) {
	switch from {
	case schema.Float32:
		for i, n := range numbers {
			numbers[i] = math.Float64bits(float64(math.Float32frombits(uint32(n))))
		}
	case schema.Uint64:
		for i, n := range numbers {
			numbers[i] = math.Float64bits(float64(n))
		}
	default:
		for i, n := range numbers {
			numbers[i] = math.Float64bits(float64(int64(n)))
		}
	}
}

// thousandfold returns 1000*v, or the nearest representable number.
func thousandfold(v int64) int64 {
	switch {
	case v > math.MaxInt64/1000:
		return math.MaxInt64
	case v < math.MinInt64/1000:
		return math.MinInt64
	}
	return 1000 * v
}

// strings adds byte strings without a dictionary.
func (g *gathered) strings(v *column.View, row, n int, nulls bool) {
	if v.Encoding == column.Plain && !nulls {
		offsets := v.Offsets[4*row : 4*(row+n+1)]
		from := binary.LittleEndian.Uint32(offsets)
		to := binary.LittleEndian.Uint32(offsets[4*n:])
		shift := uint32(len(g.Data)) - from
		g.Data = append(g.Data, v.Data[from:to]...)
		at := len(g.Ends)
		g.Ends = grow(g.Ends, n, g.all)
		out := g.Ends[at:]
		for i := range out {
			out[i] = binary.LittleEndian.Uint32(offsets[4*i+4:]) + shift
		}
		return
	}
	for i := row; i < row+n; i++ {
		if !v.IsNull(i) {
			g.Data = append(g.Data, v.Bytes(i)...)
			g.Ends = append(g.Ends, uint32(len(g.Data)))
		}
	}
}

// grow returns s with n more elements. If it has to be moved, it gets capacity for all elements.
func grow[T any](s []T, n, all int) []T {
	if at := len(s); cap(s)-at < n {
		return slices.Grow(s, max(n, all-at))[:at+n]
	}
	return s[:len(s)+n]
}

// room makes room for n bytes. The capacity grows by the size of existing texts, never by an
// estimate of later rows, because one of the first texts may be a million times as long as all
// others. A sixteenth more is allocated, because the texts of the next row group have about the
// same size, and new memory costs a page fault for every 4 KiB.
func (g *gathered) room(n int) {
	if n += len(g.Data); n > cap(g.Data) {
		g.Data = append(make([]byte, 0, n+n/16), g.Data...)
	}
}

// entries adds byte strings by their codes in a dictionary.
func (g *gathered) entries(v *column.View, r run, nulls bool) {
	row, n := int(r.row), int(r.n)
	if v.Encoding == column.Plain {
		for i := row; i < row+n; i++ {
			if !nulls || !v.IsNull(i) {
				g.Codes = append(g.Codes, g.dict.code(&g.Values, v.Entry(i)))
			}
		}
		return
	}
	table := g.codes.of(int(r.batch), v.DictLen)
	at := len(g.Codes)
	g.Codes = grow(g.Codes, n, g.all)
	out := g.Codes[at:]
	kept := 0
	code := func(local int) uint32 {
		c := g.dict.code(&g.Values, v.Entry(local)) + 1
		table[local] = c
		return c
	}
	switch {
	case nulls:
		for i := row; i < row+n; i++ {
			if v.IsNull(i) {
				continue
			}
			local := v.Code(i)
			c := table[local]
			if c == 0 {
				c = code(local)
			}
			out[kept] = c - 1
			kept++
		}
		g.Codes = g.Codes[:at+kept]
	case v.Width == 0:
		c := code(0) - 1
		for i := range out {
			out[i] = c
		}
	case v.Width == 1:
		for i, local := range v.Codes[row : row+n] {
			c := table[local]
			if c == 0 {
				c = code(int(local))
			}
			out[i] = c - 1
		}
	default:
		codes := v.Codes[2*row : 2*(row+n)]
		for i := range out {
			local := binary.LittleEndian.Uint16(codes[2*i:])
			c := table[local]
			if c == 0 {
				c = code(int(local))
			}
			out[i] = c - 1
		}
	}
}

// codeTables holds, for each batch, a table that maps the codes of the batch's dictionary to codes
// of the row group's dictionary plus one; 0 means that the entry was not used yet.
type codeTables struct {
	starts []int32 // positions in codes; -1 without a table
	codes  []uint32
}

func (t *codeTables) reset(batches int) {
	t.codes = t.codes[:0]
	t.starts = slices.Grow(t.starts[:0], batches)[:batches]
	for i := range t.starts {
		t.starts[i] = -1
	}
}

// of returns the table of a batch.
func (t *codeTables) of(batch, entries int) []uint32 {
	at := int(t.starts[batch])
	if at < 0 {
		at = len(t.codes)
		t.codes = slices.Grow(t.codes, entries)[:at+entries]
		clear(t.codes[at:])
		t.starts[batch] = int32(at)
	}
	return t.codes[at : at+entries]
}

// Limits of a dictionary: its size in bytes, and its number of entries in percent of the rows so
// far. In a complete row group, the limit is one entry for two rows.
const maxDictionaryBytes = 1 << 20

// tooMany reports whether the byte strings repeat too rarely for a dictionary.
func (g *gathered) tooMany() bool {
	n, entries := len(g.Codes), len(g.Ends)
	switch {
	case len(g.Data)+4*entries > maxDictionaryBytes:
		return true
	case n < 4096:
		return false
	case n < 32768:
		return entries*10 > n*9
	}
	return entries*10 > n*7
}

// giveUp converts the dictionary to plain byte strings, and keeps later byte strings plain. It makes
// room for more bytes, which follow.
func (g *gathered) giveUp(more int) {
	values := g.Values
	g.plain = true
	g.Dict, g.Codes = false, g.Codes[:0]
	g.Data, g.Ends, g.spareData, g.spareEnds = g.spareData[:0], g.spareEnds[:0], g.Data, g.Ends
	size := 0
	for _, c := range values.Codes {
		size += len(values.Entry(int(c)))
	}
	g.room(size + more)
	g.Ends = grow(g.Ends, 0, g.all)[:0]
	for _, c := range values.Codes {
		g.Data = append(g.Data, values.Entry(int(c))...)
		g.Ends = append(g.Ends, uint32(len(g.Data)))
	}
}

// finish ends the row group. It drops a dictionary that saves nothing.
func (g *gathered) finish() {
	if !g.plain && (len(g.Codes) == 0 || len(g.Ends)*2 > len(g.Codes)) {
		g.giveUp(0)
	}
	if len(g.Valid) == 0 {
		g.Valid = nil
	}
}
