package parquet

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

func TestPacked(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for width := uint(0); width <= 64; width++ {
		for _, n := range []int{0, 1, 7, 8, 63, 64, 65, 1000} {
			values := make([]uint64, n)
			for i := range values {
				values[i] = r.Uint64() >> (64 - width)
			}
			b := appendPacked([]byte("before"), values, width)[6:]
			if want := (n*int(width) + 7) / 8; len(b) != want {
				t.Fatalf("%d values of %d bits take %d bytes, want %d", n, width, len(b), want)
			}
			got := make([]uint64, n)
			unpack(got, padded(slices.Clone(b)), width)
			if !slices.Equal(got, values) {
				t.Fatalf("%d values of %d bits differ after decoding", n, width)
			}
		}
	}
}

func TestHybrid(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		width := uint(r.IntN(33))
		n := r.IntN(2000)
		codes := make([]uint32, 0, n)
		for len(codes) < n {
			v := uint32(r.Uint64() >> (64 - width))
			for range min(1+r.IntN([]int{1, 2, 20, 300}[r.IntN(4)]), n-len(codes)) {
				codes = append(codes, v)
			}
		}
		b := append(appendHybrid(nil, codes, width), 77)
		got := make([]uint32, n)
		rest, err := decodeHybrid(got, padded(b), width)
		if err != nil || !slices.Equal(got, codes) {
			t.Fatalf("%d codes of %d bits: %v", n, width, err)
		}
		if len(rest) != 1 || rest[0] != 77 {
			t.Fatalf("%d codes of %d bits: %d bytes are left, want 1", n, width, len(rest))
		}
	}
}

func TestLevels(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	for range 500 {
		rows := 1 + r.IntN(3000)
		bitmap := make([]uint64, (rows+63)/64)
		for at := 0; at < rows; {
			n := min(1+r.IntN([]int{2, 20, 700}[r.IntN(3)]), rows-at)
			if r.IntN(2) == 0 {
				setBits(bitmap, at, at+n)
			}
			at += n
		}
		from := r.IntN(rows)
		to := from + 1 + r.IntN(rows-from)
		got, ones, err := decodeLevels(nil, appendLevels(nil, bitmap, from, to), to-from)
		if err != nil || ones != bitmapOnes(bitmap, from, to) {
			t.Fatalf("rows %d to %d: %d values, want %d, %v", from, to, ones, bitmapOnes(bitmap, from, to), err)
		}
		for i := range to - from {
			if want, have := bitmap[(from+i)>>6]>>((from+i)&63)&1, got[i>>6]>>(i&63)&1; want != have {
				t.Fatalf("rows %d to %d: row %d has level %d, want %d", from, to, from+i, have, want)
			}
		}
	}
	if got, ones, err := decodeLevels(nil, appendLevels(nil, nil, 0, 70), 70); err != nil || ones != 70 ||
		got[1] != 1<<6-1 {
		t.Errorf("a column without nulls: %d values, %v", ones, err)
	}
}

func TestDelta(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	for range 300 {
		n := r.IntN(600)
		wide, narrow := make([]int64, n), make([]int32, n)
		for i := range wide {
			switch r.IntN(4) {
			case 0:
				wide[i] = []int64{math.MinInt64, math.MaxInt64}[r.IntN(2)]
			case 1:
				wide[i] = int64(i)
			default:
				wide[i] = int64(r.Uint64()) >> r.IntN(64)
			}
			narrow[i] = int32(wide[i])
		}
		gotWide, gotNarrow := make([]int64, n), make([]int32, n)
		if rest, err := decodeDelta(gotWide, padded(appendDelta(nil, wide))); err != nil || len(rest) > 0 ||
			!slices.Equal(wide, gotWide) {
			t.Fatalf("%d numbers of 64 bits: %d bytes left, %v", n, len(rest), err)
		}
		if rest, err := decodeDelta(gotNarrow, padded(appendDelta(nil, narrow))); err != nil || len(rest) > 0 ||
			!slices.Equal(narrow, gotNarrow) {
			t.Fatalf("%d numbers of 32 bits: %d bytes left, %v", n, len(rest), err)
		}
		wanted := r.IntN(n + 1)
		clear(gotNarrow)
		rest, err := decodeDeltaPart(gotNarrow, wanted, padded(append(appendDelta(nil, narrow), 77)))
		if err != nil || len(rest) != 1 || rest[0] != 77 || !slices.Equal(narrow[:wanted], gotNarrow[:wanted]) {
			t.Fatalf("the first %d of %d numbers: %d bytes left, want 1, %v", wanted, n, len(rest), err)
		}
	}
}

// numbersOf returns a column of numbers, textsOf a column of byte strings.
func numbersOf(n int, f func(i int) uint64) *Values {
	v := &Values{Rows: n}
	for i := range n {
		v.Numbers = append(v.Numbers, f(i))
	}
	return v
}

func textsOf(n int, f func(i int) string) *Values {
	v := &Values{Rows: n}
	for i := range n {
		v.Data = append(v.Data, f(i)...)
		v.Ends = append(v.Ends, uint32(len(v.Data)))
	}
	return v
}

// TestPlan checks a column for each encoding.
func TestPlan(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	repeated := textsOf(2, func(i int) string { return fmt.Sprint(i) })
	repeated.Rows, repeated.Dict, repeated.Codes = 3, true, []uint32{0, 1, 0}
	for _, c := range []struct {
		name string
		kind format.Type
		v    *Values
		want format.Encoding
	}{
		{"no value", format.Int64, numbersOf(0, nil), format.Plain},
		{"booleans", format.Boolean, numbersOf(1000, func(i int) uint64 { return uint64(i & 1) }), format.Plain},
		{"few numbers", format.Int64, numbersOf(1000, func(i int) uint64 { return uint64(i % 7) }), format.RLEDictionary},
		{"too few rows", format.Int64, numbersOf(10, func(i int) uint64 { return 7 }), format.DeltaBinaryPacked},
		{
			"numbers that rise", format.Int64, numbersOf(100_000, func(i int) uint64 { return uint64(i / 4) }),
			format.DeltaBinaryPacked,
		},
		{
			"small numbers of 32 bits", format.Int32, numbersOf(1000, func(int) uint64 { return r.Uint64N(1000) }),
			format.DeltaBinaryPacked,
		},
		{
			"floats in milliseconds", format.Double,
			numbersOf(100_000, func(int) uint64 { return math.Float64bits(float64(r.IntN(2000)) / 1000) }),
			format.RLEDictionary,
		},
		{
			"floats", format.Double, numbersOf(1000, func(int) uint64 { return math.Float64bits(r.NormFloat64()) }),
			format.ByteStreamSplit,
		},
		{
			"floats of 32 bits", format.Float,
			numbersOf(1000, func(int) uint64 { return uint64(math.Float32bits(float32(r.NormFloat64()))) }),
			format.ByteStreamSplit,
		},
		{
			"times as text", format.ByteArray,
			textsOf(1000, func(i int) string { return fmt.Sprintf("2026-01-05T00:00:%08.5f", float64(i)/30) }),
			format.DeltaByteArray,
		},
		{
			"ids", format.ByteArray, textsOf(1000, func(int) string { return fmt.Sprintf("%016x", r.Uint64()) }),
			format.DeltaLengthByteArray,
		},
		{"texts with a dictionary", format.ByteArray, repeated, format.RLEDictionary},
	} {
		w := &Writer{scratch: &scratch{}}
		k := &chunk{w: w, c: &Column{Element: format.SchemaElement{Type: thrift.New(c.kind)}}, v: c.v}
		k.plan()
		if k.encoding != c.want {
			t.Errorf("%s: %v, want %v", c.name, k.encoding, c.want)
		}
	}
}

// FuzzDecode passes pages of arbitrary bytes to the decoder. It must not panic, must allocate
// limited memory, and accepted pages must be consistent.
func FuzzDecode(f *testing.F) {
	texts := textsOf(40, func(i int) string { return fmt.Sprint("value ", i*i) })
	numbers := numbersOf(40, func(i int) uint64 { return uint64(i * i * i) })
	add := func(kind format.Type, encoding format.Encoding, v *Values) {
		k := &chunk{c: &Column{Element: format.SchemaElement{Type: thrift.New(kind)}}, v: v, encoding: encoding, width: 3}
		k.codes = make([]uint32, 40)
		for i := range k.codes {
			k.codes[i] = uint32(i % 5)
		}
		body := k.appendValues(nil, 0, 40)
		f.Add(uint8(kind), uint8(encoding), uint16(40), false, body)
		levels := appendLevels([]byte{0, 0, 0, 0}, []uint64{0xFFFFFFFFFF}, 0, 50)
		binary.LittleEndian.PutUint32(levels, uint32(len(levels)-4))
		f.Add(uint8(kind), uint8(encoding), uint16(50), true, append(levels, body...))
	}
	for _, kind := range []format.Type{format.Int32, format.Int64, format.Float, format.Double} {
		for _, e := range []format.Encoding{
			format.Plain, format.RLEDictionary, format.DeltaBinaryPacked, format.ByteStreamSplit,
		} {
			add(kind, e, numbers)
		}
	}
	add(format.Boolean, format.Plain, numbersOf(40, func(i int) uint64 { return uint64(i & 1) }))
	for _, e := range []format.Encoding{
		format.Plain, format.RLEDictionary, format.DeltaLengthByteArray, format.DeltaByteArray,
	} {
		add(format.ByteArray, e, texts)
	}
	f.Fuzz(func(t *testing.T, kind, encoding uint8, rows uint16, optional bool, body []byte) {
		c := &ChunkReader{kind: format.Type(kind), optional: optional, rows: int64(rows)}
		dict := numbersOf(5, func(i int) uint64 { return uint64(i) })
		if c.kind == format.ByteArray {
			dict = textsOf(5, func(i int) string { return fmt.Sprint(i) })
		}
		c.dict = dict
		h := &format.DataPageHeader{
			NumValues:               int32(rows),
			Encoding:                format.Encoding(encoding),
			DefinitionLevelEncoding: format.RLE,
		}
		if c.data(h, body) != nil {
			return
		}
		v := &c.page
		values := v.Rows
		if v.Valid != nil {
			values = bitmapOnes(v.Valid, 0, v.Rows)
		}
		if got := v.count(c.kind != format.ByteArray); got != values {
			t.Fatalf("%d values in %d rows, want %d", got, v.Rows, values)
		}
		last := uint32(0)
		for _, end := range v.Ends {
			if end < last || int(end) > len(v.Data) {
				t.Fatalf("a byte string from %d to %d of %d bytes", last, end, len(v.Data))
			}
			last = end
		}
		for _, code := range v.Codes {
			if int(code) >= len(v.Ends) {
				t.Fatalf("code %d of %d entries", code, len(v.Ends))
			}
		}
		// The dictionary also gets arbitrary bytes.
		_ = c.dictionary(format.DictionaryPageHeader{NumValues: int32(rows), Encoding: format.Plain}, body)
	})
}
