package column

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"

	"cordwood/proto/schema"
)

// packedBuilder has a column for each way of packing. It never changes.
func packedBuilder() *Builder {
	r := rand.New(rand.NewPCG(1, 2))
	b := &Builder{}
	id, odd, text := b.Add(col(1, schema.String)), b.Add(col(2, schema.String)), b.Add(col(3, schema.String))
	seconds, cents, same := b.Add(col(4, schema.Float64)), b.Add(col(5, schema.Float64)), b.Add(col(6, schema.Float64))
	rough := b.Add(col(7, schema.Float64))
	for row := range 300 {
		id.SetString(row, fmt.Sprintf("%016x%016x", r.Uint64(), r.Uint64()))
		odd.SetString(row, fmt.Sprintf("%x", r.Uint64()>>(row%64)))
		text.SetString(row, strings.Repeat("z", row%300)+fmt.Sprint("w", r.Uint64()))
		seconds.SetFloat(row, float64(r.IntN(100_000))/1000)
		cents.SetFloat(row, -float64(r.IntN(1<<30))/100)
		same.SetFloat(row, 0.25)
		rough.SetFloat(row, r.Float64())
		b.EndRow()
	}
	return b
}

func TestPackedSections(t *testing.T) {
	floats := func(values ...float64) (out []byte) {
		for len(out) < 2*minPacked {
			for _, v := range values {
				out = binary.LittleEndian.AppendUint64(out, math.Float64bits(v))
			}
		}
		return out
	}
	offsets := func(lengths ...uint32) (out []byte) {
		at := uint32(0)
		out = binary.LittleEndian.AppendUint32(out, 0)
		for len(out) < 2*minPacked {
			for _, n := range lengths {
				at += n
				out = binary.LittleEndian.AppendUint32(out, at)
			}
		}
		return out
	}
	for _, c := range []struct {
		name    string
		how     packing
		section []byte
		size    int // packed; 0: not packed
	}{
		{"digits", packHex, bytes.Repeat([]byte("0123456789abcdef"), 20), 160},
		{"an odd number of digits", packHex, bytes.Repeat([]byte("f"), 201), 101},
		{"a capital", packHex, append(bytes.Repeat([]byte("f"), 200), 'F'), 0},
		{"not a digit at the end", packHex, append(bytes.Repeat([]byte("f"), 201), 'g'), 0},
		{"a slash among digits", packHex, append([]byte("00000000000000/0"), bytes.Repeat([]byte("0"), 200)...), 0},
		{"all of one length", packLengths, offsets(32), 4},
		{"short ones", packLengths, offsets(0, 255, 3), len(offsets(0, 255, 3))/4 - 1},
		{"longer ones", packLengths, offsets(256, 1), len(offsets(256, 1))/2 - 2},
		{"long ones", packLengths, offsets(1<<16, 1), 0},
		{"whole numbers", packDecimal, floats(1, 2, -3), 8 + len(floats(1, 2, -3))/8},
		{"thousandths", packDecimal, floats(0.001, 17.5, 3.125), 8 + len(floats(0, 0, 0))/4},
		{"large ones", packDecimal, floats(1e6, 0.5), 8 + len(floats(0, 0))/2},
		{"too far apart", packDecimal, floats(1e11, 0.5), 0},
		{"one value", packDecimal, floats(0.1), 8},
		{"a late one with more places", packDecimal, append(floats(make([]float64, 40)...), floats(0.0001)...), 0},
		{"minus zero", packDecimal, floats(math.Copysign(0, -1), 1), 0},
		{"thirds", packDecimal, floats(1.0 / 3), 0},
		{"not a number", packDecimal, floats(math.NaN()), 0},
		{"a late infinity", packDecimal, append(floats(make([]float64, 40)...), floats(math.Inf(1))...), 0},
		{"beyond exact integers", packDecimal, floats(1 << 53), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			packed, param, ok := packSection(nil, c.section, c.how)
			if ok != (c.size > 0) || ok && len(packed) != c.size {
				t.Fatalf("packed to %d bytes, %t, want %d", len(packed), ok, c.size)
			}
			if !ok {
				return
			}
			got := make([]byte, len(c.section))
			if !unpackSection(got, packed, c.how, param) || !bytes.Equal(got, c.section) {
				t.Errorf("unpacked to\n%x, want\n%x", got, c.section)
			}
			if unpackSection(got, packed[:len(packed)-1], c.how, param) || unpackSection(got, append(packed, 0), c.how, param) || unpackSection(got, packed, c.how, param+7) {
				t.Error("a wrong length or parameter was taken")
			}
		})
	}
}

// TestPackedLies gives packed bodies whose list is wrong.
func TestPackedLies(t *testing.T) {
	src := packedBuilder().Encode(nil, goldenHeader)
	packed, err := s2.Decode(nil, src[headerSize:])
	if err != nil {
		t.Fatal(err)
	}
	end := len(packed) - 4
	n := int(binary.LittleEndian.Uint32(packed[end:]))
	list := end - n*packSize
	put := func(at int, v uint32) func([]byte) []byte {
		return func(b []byte) []byte {
			binary.LittleEndian.PutUint32(b[at:], v)
			return b
		}
	}
	for name, lie := range map[string]func([]byte) []byte{
		"no list":              func([]byte) []byte { return []byte{1} },
		"no section":           put(end, 0),
		"too many sections":    put(end, 1000),
		"a section twice":      func(b []byte) []byte { copy(b[list+packSize:], b[list:list+packSize]); return b },
		"beyond the body":      put(list, 1<<30),
		"larger than the body": put(list+4, 1<<30),
		"bytes that lack":      put(list+8, 1<<30),
		"a way unknown":        put(list+12, 99),
		"a spare byte":         put(list+12, binary.LittleEndian.Uint32(packed[list+12:])|1<<24),
		"bytes left over":      func(b []byte) []byte { return append([]byte{0}, b...) },
		"bytes missing":        func(b []byte) []byte { return b[1:] },
	} {
		inner := lie(bytes.Clone(packed))
		bad := append(bytes.Clone(src[:headerSize]), s2.Encode(nil, inner)...)
		binary.LittleEndian.PutUint32(bad[offBlock:], uint32(len(bad)-headerSize))
		binary.LittleEndian.PutUint32(bad[offCRC:], checksum(bad))
		if _, err := Decode(bad, nil); err == nil || !strings.Contains(err.Error(), "corrupt") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
