package column

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cordwood/proto/schema"
)

// col makes a column for tests.
func col(id uint32, t schema.Type) schema.Column {
	return schema.Column{ID: id, Name: fmt.Sprintf("c%d", id), Type: t, Semantic: schema.Field}
}

// cell returns the text of a row of a builder's column; "null" if it is null.
func (c *Col) cell(row int) string {
	switch {
	case row >= c.Len() || c.IsNull(row):
		return "null"
	case c.Type.IsBytes():
		return fmt.Sprintf("%q", c.Bytes(row))
	case c.Type == schema.Float32:
		return fmt.Sprintf("%#x", math.Float32bits(float32(c.Float(row))))
	case c.Type.IsFloat():
		return fmt.Sprintf("%#x", math.Float64bits(c.Float(row)))
	}
	return fmt.Sprint(c.Int(row))
}

// cell returns the text of a row of a view, in the same form.
func (v *View) cell(row int) string {
	switch {
	case v.IsNull(row):
		return "null"
	case v.Type.IsBytes():
		return fmt.Sprintf("%q", v.Bytes(row))
	case v.Type == schema.Float32:
		return fmt.Sprintf("%#x", math.Float32bits(float32(v.Float(row))))
	case v.Type.IsFloat():
		return fmt.Sprintf("%#x", math.Float64bits(v.Float(row)))
	}
	return fmt.Sprint(v.Int(row))
}

// mustMatch checks that the batch has the rows from ≤ i < to of b.
func mustMatch(t *testing.T, b *Builder, from, to int, got *Batch) {
	t.Helper()
	if got.Rows != to-from || len(got.Cols) != len(b.Cols()) {
		t.Fatalf("batch has %d rows, %d columns; want %d, %d", got.Rows, len(got.Cols), to-from, len(b.Cols()))
	}
	for _, c := range b.Cols() {
		v := got.Column(c.ID)
		if v == nil {
			t.Fatalf("column %d is missing", c.ID)
		}
		if v.Type != c.Type {
			t.Fatalf("column %d is %s, want %s", c.ID, v.Type, c.Type)
		}
		nulls := 0
		for row := from; row < to; row++ {
			want := c.cell(row)
			if want == "null" {
				nulls++
			}
			if have := v.cell(row - from); have != want {
				t.Fatalf("column %d (%s, encoding %d, width %d) row %d: got %s, want %s", c.ID, c.Type, v.Encoding,
					v.Width, row, have, want)
			}
		}
		if v.Nulls != nulls {
			t.Fatalf("column %d: %d nulls, want %d", c.ID, v.Nulls, nulls)
		}
	}
	checkPlacement(t, got)
}

// checkPlacement checks what C code relies on: alignment, padding, readable bytes.
func checkPlacement(t *testing.T, b *Batch) {
	t.Helper()
	for i := range b.Cols {
		v := &b.Cols[i]
		for _, s := range [][]byte{v.Validity, v.Data, v.Offsets, v.Codes} {
			if len(s) == 0 {
				continue
			}
			at := offsetIn(b.Mem, s)
			if at < 0 || at%8 != 0 || at+len(s)+tailSize > len(b.Mem) {
				t.Fatalf("column %d: section at %d of %d bytes in memory of %d", v.ID, at, len(s), len(b.Mem))
			}
		}
	}
}

func offsetIn(mem, s []byte) int {
	for at := 0; at+len(s) <= len(mem); at += 8 {
		if &mem[at] == &s[0] {
			return at
		}
	}
	return -1
}

// randomBuilder fills a builder with rows of random shape, drops some, and returns it with the
// expected text: row → column id → text.
func randomBuilder(r *rand.Rand, rows int) *Builder {
	b := &Builder{}
	types := schema.Types()
	var style []int
	for row := 0; row < rows; {
		if n := len(b.Cols()); n == 0 || n < 30 && r.IntN(40) == 0 {
			// The ids are not in the order of the columns.
			id := uint32(1 + (n*7919+13)%10007)
			c := b.Add(col(id, types[r.IntN(len(types))]))
			style = append(style, r.IntN(6))
			if r.IntN(5) == 0 {
				c.Pin()
			}
		}
		drop := r.IntN(20) == 0
		for i, c := range b.Cols() {
			if s := style[i%len(style)]; s == 5 || s == 4 && r.IntN(30) != 0 {
				continue
			}
			randomValue(r, c, row, style[i%len(style)])
		}
		if drop {
			b.DropRow()
			continue
		}
		b.EndRow()
		row++
	}
	return b
}

func randomValue(r *rand.Rand, c *Col, row, style int) {
	if style == 3 && r.IntN(3) == 0 {
		c.SetNull(row)
		return
	}
	switch {
	case c.Type == schema.Boolean:
		c.SetInt(row, int64(r.IntN(min(style+1, 2))))
	case c.Type.IsBytes():
		switch style {
		case 0:
			c.SetString(row, "always the same")
		case 1:
			c.SetString(row, fmt.Sprintf("%016x", r.Uint64()))
		case 2:
			c.SetBytes(row, []byte("ωδ"[:2*r.IntN(3)]))
		default:
			c.SetString(row, fmt.Sprintf("value %d", r.IntN(400)))
		}
	case c.Type.IsFloat():
		c.SetFloat(row, []float64{
			0, r.NormFloat64(), math.Inf(1), math.NaN(), math.Copysign(0, -1),
			7,
		}[min(style, r.IntN(6))])
	default:
		c.SetInt(row, randomInt(r, c.Type, style))
	}
}

func randomInt(r *rand.Rand, t schema.Type, style int) int64 {
	_, lo, hi := numberLimits(t)
	span := []uint64{1, 200, 60_000, 4 << 30, 1 << 62, math.MaxUint64}[style]
	if limit := uint64(hi - lo); span > limit && limit != math.MaxUint64 {
		span = limit + 1
	}
	return lo + int64(r.Uint64N(span))
}

func TestRoundTripRandom(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		rows := []int{0, 1, 2, 63, 64, 65, 127, 300, 1000}[r.IntN(9)]
		b := randomBuilder(r, rows)
		src := b.Encode([]byte("before"), Header{
			TableID: seed, Epoch: 3, SchemaVersion: 9, Session: math.MaxUint64, Seq: seed,
		})
		got, err := Decode(src[6:], nil)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		mustMatch(t, b, 0, rows, got)
		h, err := DecodeHeader(src[6:])
		if err != nil || h != got.Header || h.TableID != seed || h.Session != math.MaxUint64 {
			t.Fatalf("seed %d: header %+v, %v", seed, h, err)
		}
		for range 5 {
			from := r.IntN(rows + 1)
			to := from + r.IntN(rows-from+1)
			size, err := InflatedSize(b.EncodeRange(nil, Header{}, from, to))
			if err != nil || size > b.SizeBound(from, to) {
				t.Fatalf("seed %d: inflated size %d (%v), bound %d", seed, size, err, b.SizeBound(from, to))
			}
			got, err := Decode(b.EncodeRange(nil, Header{}, from, to), make([]byte, size))
			if err != nil {
				t.Fatalf("seed %d: rows %d to %d: %v", seed, from, to, err)
			}
			mustMatch(t, b, from, to, got)
		}
	}
}

func TestEncodeInPlaceAndAside(t *testing.T) {
	b := randomBuilder(rand.New(rand.NewPCG(1, 2)), 200)
	aside := b.Encode(nil, Header{TableID: 1})
	inPlace := b.Encode(make([]byte, 0, 1<<20), Header{TableID: 1})
	if !slices.Equal(aside, inPlace) {
		t.Error("a large destination changes the bytes")
	}
	if cap(aside) > 2*len(aside) {
		t.Errorf("%d bytes are in an allocation of %d", len(aside), cap(aside))
	}
}

// TestExact checks integers around 2^53, and floats of columns of integers.
func TestExact(t *testing.T) {
	for _, c := range []struct {
		typ    schema.Type
		values []int64
		want   bool
	}{
		{schema.Int64, nil, true},
		{schema.Int64, []int64{0, 1, -5}, true},
		{schema.Int64, []int64{1 << 53, -1 << 53}, true},
		{schema.Int64, []int64{1<<53 + 1}, false},
		{schema.Int64, []int64{1<<53 + 1, 1<<53 + 2}, false},
		{schema.Int64, []int64{-1<<53 - 1, 3}, false},
		{schema.Int64, []int64{1<<53 - 3, 1<<53 + 3}, false},
		{schema.Int64, []int64{-1 << 63, 1<<63 - 1}, false},
		{schema.Uint64, []int64{0, 1 << 53}, true},
		{schema.Uint64, []int64{-1}, false}, // 2^64-1
		{schema.Uint64, []int64{-3, -2}, false},
		{schema.Uint64, []int64{7, -1 << 63}, false},
		{schema.Int32, []int64{-1 << 31, 1<<31 - 1}, true},
		{schema.Uint32, []int64{1<<32 - 1}, true},
	} {
		var b Builder
		col := b.Add(schema.Column{ID: 1, Type: c.typ})
		for i, v := range c.values {
			col.SetInt(2*i, v) // every other row is null
			b.EndRow()
			b.EndRow()
		}
		b.Finish()
		batch, err := Decode(b.Encode(nil, Header{}), nil)
		if err != nil {
			t.Fatal(err)
		}
		v := batch.Column(1)
		if v.Exact() != c.want {
			t.Errorf("%s %d: exact %v, want %v", c.typ, c.values, v.Exact(), c.want)
		}
		for i, n := range c.values {
			want := float64(n)
			if c.typ == schema.Uint64 {
				want = float64(uint64(n))
			}
			if got := v.Float(2 * i); got != want {
				t.Errorf("%s %d as a double: %v, want %v", c.typ, n, got, want)
			}
		}
	}
}
