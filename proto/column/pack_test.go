package column

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"

	"cordwood/proto/schema"
)

// packedBuilder returns a builder with a column for each method of packing. Its content must never
// change.
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

// bitsBuilder returns a builder with columns for all methods of packing, with rows without a value.
// Its content must never change.
func bitsBuilder() *Builder {
	r := rand.New(rand.NewPCG(3, 4))
	b := &Builder{}
	few, some, number := b.Add(col(1, schema.String)), b.Add(col(2, schema.String)), b.Add(col(3, schema.Int64))
	rare, address, stamp := b.Add(col(4, schema.Int64)), b.Add(col(5, schema.String)), b.Add(col(6, schema.String))
	ratio, share, words := b.Add(col(7, schema.Float64)), b.Add(col(8, schema.Float64)), b.Add(col(9, schema.String))
	yes, id, steady := b.Add(col(10, schema.Boolean)), b.Add(col(11, schema.String)), b.Add(col(12, schema.Float64))
	at := time.Date(2026, 12, 31, 23, 59, 59, 990_000_000, time.UTC)
	for row := range 700 {
		at = at.Add(time.Duration(r.IntN(200)-20) * 100 * time.Microsecond)
		few.SetString(row, fmt.Sprint("host-", r.IntN(12)))
		number.SetInt(row, r.Int64N(1<<40)-1<<39)
		address.SetString(row, fmt.Sprintf("%d.%d.%d.%d", r.IntN(256), r.IntN(256), r.IntN(256), r.IntN(256)))
		stamp.SetString(row, at.Format("2006-01-02T15:04:05.0000Z"))
		ratio.SetFloat(row, float64(r.IntN(10_000))/1000)
		words.SetString(row, strings.Repeat("word ", r.IntN(5))+fmt.Sprint(r.Uint64()))
		id.SetString(row, fmt.Sprintf("%016x", r.Uint64()))
		steady.SetFloat(row, float64(row/300)/2)
		if r.IntN(6) == 0 {
			some.SetString(row, fmt.Sprint("user-", r.IntN(40)))
			rare.SetInt(row, r.Int64N(5_000))
			share.SetFloat(row, -float64(r.IntN(300))/4)
			yes.SetInt(row, r.Int64N(2))
		}
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
	numbers := func(width uint8, values ...uint64) (out []byte) {
		for len(out) < 8*minPacked {
			for _, v := range values {
				out = binary.LittleEndian.AppendUint64(out, v)[:len(out)+int(width)]
			}
		}
		return out
	}
	text := func(s string) []byte { return []byte(s) }
	times := func(layout string, steps ...time.Duration) (out []byte) {
		at := time.Date(2026, 2, 28, 23, 59, 58, 0, time.UTC)
		for range 40 {
			for _, step := range steps {
				at = at.Add(step)
				out = at.AppendFormat(out, layout)
			}
		}
		return out
	}
	addresses := func(n int) (out []byte) {
		r := rand.New(rand.NewPCG(5, 6))
		for range n {
			out = fmt.Appendf(out, "%d.%d.%d.%d", r.IntN(256), r.IntN(256), r.IntN(256), r.IntN(256))
		}
		return out
	}
	// nth returns the validity of rows of which every nth has a value, and the section without the
	// other rows.
	nth := func(n int, width uint8, section []byte) ([]byte, []byte) {
		rows := len(section) / int(width)
		validity := make([]byte, validitySize(rows))
		for row := range rows {
			if row%n == 0 {
				validity[row/8] |= 1 << (row % 8)
			} else {
				clear(section[row*int(width) : (row+1)*int(width)])
			}
		}
		return validity, section
	}
	const milli = "2006-01-02T15:04:05.000Z"
	for _, c := range []struct {
		name    string
		kind    sectionKind
		width   uint8
		every   int // one of every rows has a value; 0 means all
		section []byte
		how     packing // 0 means not packed
		size    int
	}{
		{"digits", textSection, 0, 0, bytes.Repeat(text("0123456789abcdef"), 20), packHex, 160},
		{"an odd number of digits", textSection, 0, 0, bytes.Repeat(text("f"), 201), packHex, 101},
		{"a capital", textSection, 0, 0, append(bytes.Repeat(text("f"), 200), 'F'), 0, 0},
		{"not a digit at the end", textSection, 0, 0, append(bytes.Repeat(text("f"), 201), 'g'), 0, 0},
		{"a slash among digits", textSection, 0, 0, append(text("00000000000000/0"), bytes.Repeat(text("0"), 200)...), 0, 0},
		{"all of one length", offsetSection, 0, 0, offsets(32), packLengths, 4},
		{"short ones", offsetSection, 0, 0, offsets(0, 255, 3), packLengths, len(offsets(0, 255, 3))/4 - 1},
		{"longer ones", offsetSection, 0, 0, offsets(256, 1), packLengthBits, bitsSize(len(offsets(256, 1))/4-1, 9)},
		{"lengths that repeat", offsetSection, 0, 0, append(offsets(255, 255, 255, 255, 255, 255, 255, 255)[:4*16],
			offsets(1)[4*16:]...), 0, 0},
		{"long ones", offsetSection, 0, 0, offsets(1<<16, 1), 0, 0},
		{"whole numbers", floatSection, 8, 0, floats(1, 2, -3), packDecimalBits, 8 + bitsSize(len(floats(1, 2, -3))/8, 3)},
		{
			"thousandths", floatSection, 8, 0, floats(0.001, 17.5, 3.125), packDecimalBits,
			8 + bitsSize(len(floats(0, 0, 0))/8, 15),
		},
		{"large ones", floatSection, 8, 0, floats(1e6, 0.5), packDecimalBits, 8 + bitsSize(len(floats(0, 0))/8, 24)},
		{
			"some", floatSection, 8, 3, floats(0.25, 7, 0.75, 0.5), packDecimalBits,
			4 + 8 + bitsSize((len(floats(0, 0, 0, 0))/8+2)/3, 10),
		},
		{
			"floats that repeat", floatSection, 8, 0, append(floats(make([]float64, 100)...), floats(1000)...),
			packDecimal, 8 + (len(floats(make([]float64, 100)...))+len(floats(1000)))/4,
		},
		{"too far apart", floatSection, 8, 0, floats(1e11, 0.5), 0, 0},
		{"one value", floatSection, 8, 0, floats(0.1), packDecimal, 8},
		{
			"a late one with more places", floatSection, 8, 0,
			append(floats(make([]float64, 201)...), floats(0.0001)[:8]...), 0, 0,
		},
		{"minus zero", floatSection, 8, 0, floats(math.Copysign(0, -1), 1), 0, 0},
		{"thirds", floatSection, 8, 0, floats(1.0 / 3), 0, 0},
		{"not a number", floatSection, 8, 0, floats(math.NaN()), 0, 0},
		{"a late infinity", floatSection, 8, 0, append(floats(make([]float64, 40)...), floats(math.Inf(1))...), 0, 0},
		{"beyond exact integers", floatSection, 8, 0, floats(1 << 53), 0, 0},
		{"codes", numberSection, 1, 0, numbers(1, 0, 5, 1, 7, 2), packBits, bitsSize(len(numbers(1, 0, 0, 0, 0, 0)), 3)},
		{
			"codes of two bytes", numberSection, 2, 0, numbers(2, 300, 1, 511), packBits,
			bitsSize(len(numbers(2, 0, 0, 0))/2, 9),
		},
		{"numbers of four bytes", numberSection, 4, 0, numbers(4, 1<<20, 3), packBits, bitsSize(len(numbers(4, 0, 0))/4, 21)},
		{
			"numbers of eight bytes", numberSection, 8, 0, numbers(8, 1<<40, 3), packBits,
			bitsSize(len(numbers(8, 0, 0))/8, 41),
		},
		{
			"as many bits as there are", numberSection, 8, 0, numbers(8, 1<<56, 3), packBits,
			bitsSize(len(numbers(8, 0, 0))/8, 57),
		},
		{"too many bits", numberSection, 8, 0, numbers(8, 1<<57, 3), 0, 0},
		{"whole bytes", numberSection, 1, 0, numbers(1, 255, 3), 0, 0},
		{"codes that repeat", numberSection, 1, 0, append(numbers(1, 3), numbers(1, 4)...), 0, 0},
		{
			"codes of some rows", numberSection, 1, 7, numbers(1, 9, 5, 12), packBits,
			4 + bitsSize((len(numbers(1, 9, 5, 12))+6)/7, 4),
		},
		{
			"numbers of some rows", numberSection, 4, 5, numbers(4, 1<<17, 2, 3), packBits,
			4 + bitsSize((len(numbers(4, 1, 1, 1))/4+4)/5, 18),
		},
		{
			"bytes of some rows", numberSection, 1, 3, numbers(1, 200, 200, 9, 9), packBits,
			4 + bitsSize((len(numbers(1, 0, 0, 0, 0))+2)/3, 8),
		},
		{"addresses", textSection, 0, 0, addresses(40), packLetters, 11 + (len(addresses(40))+1)/2},
		{
			"an odd number of letters", textSection, 0, 0,
			append(addresses(40), addresses(39)[:1-len(addresses(40))&1]...), packLetters, 11 + len(addresses(40))/2 + 1,
		},
		{"16 letters", textSection, 0, 0, append(addresses(40), "abcde"...), packLetters, 16 + (len(addresses(40))+6)/2},
		{"17 letters", textSection, 0, 0, append(addresses(40), "abcdex"...), 0, 0},
		{"letters that repeat", textSection, 0, 0, bytes.Repeat(addresses(1), 40), 0, 0},
		{
			"times", textSection, 0, 0, times(milli, 7*time.Millisecond, 0, 1031*time.Millisecond), packTimes,
			1 + 24 + bitsSize(119, 12),
		},
		{"times that go back", textSection, 0, 0, times("2006-01-02 15:04:05,000000+01:00", -3*time.Hour,
			time.Microsecond), packTimes, 1 + 32 + bitsSize(79, 35)},
		{
			"times of whole seconds", textSection, 0, 0, times("2006-01-02T15:04:05", time.Second), packTimes,
			1 + 19 + bitsSize(39, 2),
		},
		{"nanoseconds over years", textSection, 0, 0, times("2006-01-02T15:04:05.000000000Z", 123456*time.Second,
			-time.Nanosecond), packTimes, 1 + 30 + bitsSize(79, 48)},
		{"no such day", textSection, 0, 0, append(times(milli, time.Second), "2026-02-30T00:00:00.000Z"...), 0, 0},
		{"a leap second", textSection, 0, 0, append(times(milli, time.Second), "2026-06-30T23:59:60.000Z"...), 0, 0},
		{"another zone", textSection, 0, 0, append(times(milli, time.Second), "2026-06-30T23:59:59.000z"...), 0, 0},
		{"another mark", textSection, 0, 0, append(times(milli, time.Second), "2026-06-30t23:59:59.000Z"...), 0, 0},
		{
			"a letter in the fraction", textSection, 0, 0,
			append(times(milli, time.Second), "2026-06-30T23:59:59.0x0Z"...), 0, 0,
		},
		{"a time cut short", textSection, 0, 0, append(times(milli, time.Second), "2026-06-30T23:59:59.000"...), 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var validity []byte
			if c.every > 0 {
				validity, c.section = nth(c.every, c.width, c.section)
			}
			e := &encoder{}
			packed, line, ok := e.packSection(nil, c.section, candidate{kind: c.kind, width: c.width}, validity)
			if line.how != c.how && ok || ok != (c.how != 0) || ok && len(packed) != c.size {
				t.Fatalf("packed to %d bytes, method %d, %t, want %d, method %d", len(packed), line.how, ok, c.size, c.how)
			}
			if !ok {
				return
			}
			got := bytes.Repeat([]byte{0xee}, len(c.section))
			unpacked := func(src []byte, line packedLine) bool {
				src = append(bytes.Clone(src), make([]byte, bitsSlack)...)[:len(src)]
				u := unpacker{body: validity, section: got, src: src, numbers: new([]uint64), packedLine: line}
				return u.unpack()
			}
			if !unpacked(packed, line) || !bytes.Equal(got, c.section) {
				t.Errorf("unpacked to\n%x, want\n%x", got, c.section)
			}
			wrong := line
			wrong.param += 7
			if unpacked(packed[:len(packed)-1], line) || unpacked(append(packed, 0), line) || unpacked(packed, wrong) {
				t.Error("a wrong length or parameter was accepted")
			}
			if wrong = line; line.how >= packBits && c.kind != floatSection { // other decimals are floats, too
				wrong.extra += 3
				if unpacked(packed, wrong) {
					t.Error("a wrong second parameter was accepted")
				}
			}
		})
	}
}

// TestPackedWrongList reads packed bodies with a wrong list.
func TestPackedWrongList(t *testing.T) {
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
	for name, damage := range map[string]func([]byte) []byte{
		"no list":              func([]byte) []byte { return []byte{1} },
		"no section":           put(end, 0),
		"too many sections":    put(end, 1000),
		"a section twice":      func(b []byte) []byte { copy(b[list+packSize:], b[list:list+packSize]); return b },
		"beyond the body":      put(list, 1<<30),
		"larger than the body": put(list+4, 1<<30),
		"bytes that lack":      put(list+8, 1<<30),
		"unknown method":       put(list+12, 99),
		"a spare byte":         put(list+12, binary.LittleEndian.Uint32(packed[list+12:])|1<<24),
		"bytes left over":      func(b []byte) []byte { return append([]byte{0}, b...) },
		"bytes missing":        func(b []byte) []byte { return b[1:] },
	} {
		inner := damage(bytes.Clone(packed))
		bad := append(bytes.Clone(src[:headerSize]), s2.Encode(nil, inner)...)
		binary.LittleEndian.PutUint32(bad[offBlock:], uint32(len(bad)-headerSize))
		binary.LittleEndian.PutUint32(bad[offCRC:], checksum(bad))
		if _, err := Decode(bad, nil); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestInserts checks batches whose long texts are compressed as separate blocks, and not much larger for it. Batches in
// which nothing is packed are one block.
func TestInserts(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	words := func(n int) string {
		var text []byte
		for len(text) < n {
			text = fmt.Appendf(text, "word %d of %d, ", r.IntN(1000), r.IntN(10))
		}
		return string(text)
	}
	for _, c := range []struct{ rows, size, inserts int }{{1000, 300, 2}, {1, 200_000, 0}, {1000, 10, 0}} {
		b := &Builder{}
		first, id, second := b.Add(col(1, schema.String)), b.Add(col(2, schema.String)), b.Add(col(3, schema.String))
		for row := range c.rows {
			first.SetString(row, words(c.size))
			id.SetString(row, fmt.Sprintf("%016x", r.Uint64()))
			second.SetString(row, words(c.size))
			b.EndRow()
		}
		var dst []byte
		e := b.encodeRange(&dst, goldenHeader, 0, c.rows)
		if len(e.inserts) != c.inserts {
			t.Errorf("%d rows of %d bytes have %d separate blocks, want %d", c.rows, c.size, len(e.inserts), c.inserts)
		}
		batch, err := Decode(dst, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(batch.Mem, e.body) {
			t.Errorf("%d rows of %d bytes are different after decoding", c.rows, c.size)
		}
		if whole := len(s2.Encode(nil, e.body)); len(dst) > whole*21/20 {
			t.Errorf("%d bytes, %d as one block without packing", len(dst), whole)
		}
		e.release()
	}
}

// TestNoRoomForText checks that a text that has no hexadecimal digits needs no memory to find this out.
func TestNoRoomForText(t *testing.T) {
	text := bytes.Repeat([]byte("a text without digits "), 10_000)
	if out, ok := appendHex(make([]byte, 0, 8), text); ok || cap(out) != 8 {
		t.Errorf("packed: %v, in a buffer of %d bytes", ok, cap(out))
	}
}
