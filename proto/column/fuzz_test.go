package column

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"unicode/utf8"

	"github.com/klauspost/compress/s2"

	"cordwood/proto/schema"
)

// FuzzDecode decodes arbitrary bytes, both unchanged and with a correct checksum and sizes, so that
// later checks are reached. A decoded batch must be readable.
func FuzzDecode(f *testing.F) {
	f.Add(golden(f, "v1.batch", nil), false)
	f.Add(golden(f, "v2-invented.batch", nil), false)
	f.Add([]byte(magic), false)
	for seed := range uint64(6) {
		b := randomBuilder(rand.New(rand.NewPCG(seed, 3)), int(seed*13))
		src := b.Encode(nil, Header{TableID: seed})
		f.Add(src, false)
		batch, err := Decode(src, nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(append(src[:headerSize:headerSize], batch.Mem...), true)
	}
	for _, name := range []string{"v1-packed.batch", "v1-bits.batch", "v1-cuts.batch"} {
		packed := golden(f, name, nil)
		inner, err := s2.Decode(nil, packed[headerSize:])
		if err != nil {
			f.Fatal(err)
		}
		f.Add(packed, false)
		f.Add(append(packed[:headerSize:headerSize], inner...), true)
	}
	f.Fuzz(func(t *testing.T, src []byte, raw bool) {
		if raw {
			src = sealRaw(src)
		}
		size, err := InflatedSize(src)
		if err == nil && size > 1<<24 {
			t.Skip("too large for fuzzing")
		}
		h, headerErr := DecodeHeader(src)
		b, err := Decode(src, nil)
		if err != nil {
			return
		}
		if headerErr != nil || h != b.Header || len(b.Mem) != size {
			t.Fatalf("header %+v (%v), batch %+v", h, headerErr, b.Header)
		}
		readAll(t, b)
		if err := Inspect(&bytes.Buffer{}, src); err != nil {
			t.Fatal(err)
		}
	})
}

// sealRaw uses src as a header and an inflated body, and sets sizes and checksum.
func sealRaw(src []byte) []byte {
	if len(src) < headerSize || len(src) > 1<<20 {
		return src
	}
	body := src[headerSize:]
	packed := src[offFlags]&flagPacked != 0 // the header contains the inflated size
	if !packed {
		body = body[:len(body)&^7]
	}
	out := append(bytes.Clone(src[:headerSize]), s2.Encode(nil, body)...)
	if !packed {
		binary.LittleEndian.PutUint32(out[offBody:], uint32(len(body)))
	}
	binary.LittleEndian.PutUint32(out[offBlock:], uint32(len(out)-headerSize))
	binary.LittleEndian.PutUint32(out[offCRC:], checksum(out))
	return out
}

// readAll reads every row of every column as readers do.
func readAll(t *testing.T, b *Batch) {
	budget := 1 << 22 // rows of width 0 take no bytes, but reading them takes time
	for i := range b.Cols {
		v := &b.Cols[i]
		if b.Column(v.ID) != v {
			t.Fatalf("column %d is not found", v.ID)
		}
		_, lo, hi := numberLimits(v.Type)
		nulls := 0
		for row := range min(b.Rows, max(budget, 0)) {
			if v.IsNull(row) {
				nulls++
			}
			switch {
			case v.Type.IsBytes():
				_ = utf8.Valid(v.Bytes(row))
			case v.Type.IsFloat():
				_ = v.Float(row)
			case v.Int(row) < lo || v.Int(row) > hi:
				t.Fatalf("column %d row %d: %d does not fit %s", v.ID, row, v.Int(row), v.Type)
			}
		}
		if budget >= b.Rows && nulls != v.Nulls {
			t.Fatalf("column %d has %d nulls, the header has %d", v.ID, nulls, v.Nulls)
		}
		budget -= b.Rows
	}
}

// FuzzRoundTrip builds rows from bytes and checks that they survive encoding and decoding.
func FuzzRoundTrip(f *testing.F) {
	f.Add(uint64(1), 10, []byte("some text"))
	f.Add(uint64(2), 130, []byte{0xff, 0, 0xc3})
	f.Fuzz(func(t *testing.T, seed uint64, rows int, text []byte) {
		rows = min(max(rows, 0), 300)
		b := randomBuilder(rand.New(rand.NewPCG(seed, 4)), rows)
		b.Finish()
		c := b.Add(col(50_000, schema.Binary))
		c.Pin()
		for row := range rows {
			c.SetBytes(row, text[:row%(len(text)+1)])
		}
		got, err := Decode(b.Encode(nil, Header{}), nil)
		if err != nil {
			t.Fatal(err)
		}
		mustMatch(t, b, 0, rows, got)
	})
}
