package column

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/s2"

	"cordwood/proto/metapb"
	"cordwood/proto/schema"
)

var update = flag.Bool("update", false, "write missing golden files")

// goldenBuilder returns the contents of the golden files. It must never change.
func goldenBuilder() *Builder {
	b := &Builder{}
	ts := b.Add(schema.Column{
		ID: 1, Name: "ts", Type: schema.TimestampMillisecond, Semantic: schema.Timestamp, NotNull: true,
	})
	var cols []*Col
	for _, t := range schema.Types() {
		cols = append(cols, b.Add(col(100-uint32(t), t)))
	}
	sparse, none := b.Add(col(200, schema.String)), b.Add(col(201, schema.String))
	noNumber := b.Add(col(202, schema.Int64))
	for row := range 70 {
		ts.SetInt(row, 1_700_000_000_000+int64(row)*1500)
		for _, c := range cols {
			switch {
			case row%7 == 3:
				c.SetNull(row)
			case c.Type == schema.Boolean:
				c.SetInt(row, int64(row%2))
			case c.Type == schema.String:
				c.SetString(row, []string{"GET", "POST", "größer"}[row%3])
			case c.Type.IsBytes():
				c.SetString(row, `"`+strings.Repeat(string(rune('a'+row%26)), row%5)+`"`)
			case c.Type.IsFloat():
				c.SetFloat(row, float64(row)/4-2)
			case c.Type == schema.Uint64:
				c.SetInt(row, -1-int64(row))
			default:
				_, lo, hi := numberLimits(c.Type)
				c.SetInt(row, []int64{lo, hi, 0, 1}[row%4])
			}
		}
		if row == 69 {
			sparse.SetString(row, "only here")
		}
		none.SetNull(row)
		noNumber.SetNull(row)
		b.EndRow()
	}
	return b
}

var goldenHeader = Header{TableID: 1 << 40, Epoch: 2, SchemaVersion: 3, Session: 0xfedcba9876543210, Seq: 5}

// futureBatch returns a batch of an imagined version 2 with a different header.
func futureBatch() []byte {
	src := make([]byte, 64)
	copy(src, magic)
	binary.LittleEndian.PutUint16(src[offVersion:], 2)
	copy(src[envelopeSize:], "a header as nobody knows it yet")
	binary.LittleEndian.PutUint32(src[offCRC:], checksum(src))
	return src
}

func golden(t testing.TB, name string, write func() []byte) []byte {
	t.Helper()
	path := filepath.Join("testdata", name)
	src, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && *update {
		src = write()
		err = os.WriteFile(path, src, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func TestGoldenV1(t *testing.T) {
	src := golden(t, "v1.batch", func() []byte { return goldenBuilder().Encode(nil, goldenHeader) })
	got, err := Decode(src, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := goldenBuilder()
	b.Finish()
	mustMatch(t, b, 0, 70, got)
	want := goldenHeader
	want.Rows, want.MinTime, want.MaxTime = 70, 1_700_000_000_000, 1_700_000_103_500
	if diff := cmp.Diff(want, got.Header); diff != "" {
		t.Error(diff)
	}
	// The compressed bytes may change from release to release; the uncompressed ones must not.
	again, err := Decode(b.Encode(nil, goldenHeader), nil)
	if err != nil || !bytes.Equal(again.Mem, got.Mem) {
		t.Errorf("the same rows are laid out differently now (%v); that needs a new version", err)
	}
}

// TestGoldenPacked reads batches with sections packed by every method: one batch by the first
// three, one by those of later programs, one with cuts of a client's text.
func TestGoldenPacked(t *testing.T) {
	for _, c := range []struct {
		file    string
		build   func() *Builder
		header  Header
		flags   uint16
		methods string
	}{
		{"v1-packed.batch", packedBuilder, goldenHeader, flagPacked, "1 2 3"},
		{"v1-bits.batch", bitsBuilder, goldenHeader, flagPacked | flagBits, "1 2 3 4 5 6 7 8"},
		{"v1-cuts.batch", cutBuilder, cutHeader(), flagPacked | flagBits | flagCuts, "2 4 9"},
	} {
		src := golden(t, c.file, func() []byte { return c.build().Encode(nil, c.header) })
		got, err := Decode(src, nil)
		if err != nil {
			t.Fatal(c.file, err)
		}
		b := c.build()
		b.Finish()
		mustMatch(t, b, 0, b.Rows(), got)
		if flags := binary.LittleEndian.Uint16(src[offFlags:]); flags != c.flags {
			t.Errorf("%s: flags %#x", c.file, flags)
		}
		if methods := methodsOf(t, src); methods != c.methods {
			t.Errorf("%s is packed by the methods %s, want %s", c.file, methods, c.methods)
		}
		again, err := Decode(b.Encode(nil, c.header), nil)
		if err != nil || !bytes.Equal(again.Mem, got.Mem) {
			t.Errorf("%s: the same rows are laid out differently now (%v)", c.file, err)
		}
	}
}

// TestOlder encodes for programs that know only flagPacked. The batch must not use another flag.
func TestOlder(t *testing.T) {
	for name, b := range map[string]*Builder{"packed": packedBuilder(), "bits": bitsBuilder()} {
		h := goldenHeader
		h.Protocol = metapb.ProtocolPacking - 1
		src := b.Encode(nil, h)
		flags, methods := binary.LittleEndian.Uint16(src[offFlags:]), methodsOf(t, src)
		if flags != flagPacked || methods != "1" {
			t.Errorf("%s: flags %#x, packed by the methods %s", name, flags, methods)
		}
		got, err := Decode(src, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		mustMatch(t, b, 0, b.Rows(), got)
	}
}

// methodsOf lists the methods by which sections of a batch are packed.
func methodsOf(t *testing.T, src []byte) string {
	packed, err := s2.Decode(nil, src[headerSize:])
	if err != nil {
		t.Fatal(err)
	}
	end := len(packed) - 4
	methods := map[string]bool{}
	for at := end - packSize*int(binary.LittleEndian.Uint32(packed[end:])); at < end; at += packSize {
		methods[strconv.Itoa(int(packed[at+12]))] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(methods)), " ")
}

func TestGoldenFuture(t *testing.T) {
	src := golden(t, "v2-invented.batch", futureBatch)
	const want = "column batch: written by a newer version of this program: format version 2, this one reads " +
		"versions 1 to 1; upgrade this node to a release that knows it"
	_, err1 := DecodeHeader(src)
	_, err2 := Decode(src, nil)
	_, err3 := InflatedSize(src)
	for _, err := range []error{err1, err2, err3, Inspect(&bytes.Buffer{}, src)} {
		var unsupported *ErrUnsupported
		if !errors.As(err, &unsupported) || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	// A damaged batch of an unknown version is still a damaged one.
	src[40] ^= 1
	var corrupt *ErrCorrupt
	if _, err := DecodeHeader(src); !errors.As(err, &corrupt) || corrupt.Part != "checksum" {
		t.Errorf("error %v, want an error about the checksum", err)
	}
	if IsSupportedVersion(0) || !IsSupportedVersion(1) || IsSupportedVersion(2) {
		t.Error("the supported versions are not only version 1")
	}
}

func TestUnknownFlags(t *testing.T) {
	src := goldenBuilder().Encode(nil, goldenHeader)
	src[offFlags] = 8
	binary.LittleEndian.PutUint32(src[offCRC:], checksum(src))
	var unsupported *ErrUnsupported
	if _, err := Decode(src, nil); !errors.As(err, &unsupported) ||
		!strings.Contains(err.Error(), "unknown flags 0x0008") {
		t.Errorf("error %v", err)
	}
}

// TestEveryBitFlip flips every bit of a batch: each change must be detected.
func TestEveryBitFlip(t *testing.T) {
	src := goldenBuilder().Encode(nil, goldenHeader)
	for i := range src {
		for bit := range 8 {
			src[i] ^= 1 << bit
			_, err := Decode(src, nil)
			src[i] ^= 1 << bit
			var corrupt *ErrCorrupt
			var unsupported *ErrUnsupported
			if !errors.As(err, &corrupt) && !errors.As(err, &unsupported) {
				t.Fatalf("byte %d, bit %d: error %v", i, bit, err)
			}
		}
	}
	for n := range src {
		if _, err := Decode(src[:n], nil); err == nil {
			t.Fatalf("the first %d of %d bytes decode", n, len(src))
		}
	}
	if _, err := Decode(append(src, 0), nil); err == nil {
		t.Fatal("an additional byte is not detected")
	}
}

// reseal returns an encoded batch with a header and a body, valid or not.
func reseal(h Header, columns int, body []byte) []byte {
	dst := append(make([]byte, headerSize), s2.Encode(nil, body)...)
	putHeader(dst, h, 0, columns, len(body))
	return dst
}

// TestWrongContents reads batches with a correct checksum and wrong contents.
func TestWrongContents(t *testing.T) {
	b := &Builder{}
	n, s, f := b.Add(col(1, schema.Int16)), b.Add(col(2, schema.String)), b.Add(col(3, schema.Float64))
	bo, p := b.Add(col(4, schema.Boolean)), b.Add(col(5, schema.Binary))
	x := b.Add(col(6, schema.Int64))
	for row := range 3 * 64 {
		n.SetInt(row, int64(row)-100)
		s.SetString(row, []string{"one", "two", "three"}[row%3])
		f.SetFloat(row, 1)
		bo.SetInt(row, int64(row&1))
		p.SetBytes(row, []byte{byte(row), byte(row >> 1), byte(row)})
		if row == 0 {
			x.SetInt(row, 5)
		}
		b.EndRow()
	}
	x2, x3 := b.Add(col(7, schema.Int8)), b.Add(col(8, schema.String))
	x2.SetNull(b.Rows())
	x3.SetNull(b.Rows())
	b.EndRow()
	src := b.Encode(nil, Header{})
	sound, err := Decode(src, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := func(i int) entry { return getEntry(sound.Mem[i*entrySize:]) }
	edit := func(i int, change func(e *entry)) func([]byte) {
		return func(body []byte) {
			e := getEntry(body[i*entrySize:])
			change(&e)
			e.put(body[i*entrySize:])
		}
	}
	put32 := func(at int, v uint32) func([]byte) {
		return func(body []byte) { binary.LittleEndian.PutUint32(body[at:], v) }
	}
	for _, c := range []struct {
		name, part string
		damage     func(body []byte)
	}{
		{"no damage", "", func([]byte) {}},
		{"id twice", "column 2: column id", edit(2, func(e *entry) { e.id = 2 })},
		{"id zero", "column 0: column id", edit(0, func(e *entry) { e.id = 0 })},
		{"type zero", "column 1: type", edit(0, func(e *entry) { e.typ = 0 })},
		{"type unknown", "column 1: type", edit(0, func(e *entry) { e.typ = 99 })},
		{"spare byte", "column 1: directory spare", func(b []byte) { b[7] = 1 }},
		{"spare word", "column 1: directory spare", func(b []byte) { b[47] = 1 }},
		{"string as fixed", "column 2: encoding", edit(1, func(e *entry) { e.encoding = Fixed })},
		{"int as dict", "column 1: validity offset", edit(0, func(e *entry) { e.encoding, e.validity = Dict, 8 })},
		{"encoding unknown", "column 3: encoding", edit(2, func(e *entry) { e.encoding = 9 })},
		{"width 3", "column 1: width", edit(0, func(e *entry) { e.width = 3 })},
		{"width beyond the type", "column 1: width", edit(0, func(e *entry) { e.width = 4 })},
		{"float of width 4", "column 3: width", edit(2, func(e *entry) { e.width = 4 })},
		{"float with base", "column 3: base", edit(2, func(e *entry) { e.base = 1 })},
		{"base beyond the type", "column 1: base", edit(0, func(e *entry) { e.base = math.MaxInt16 + 1 })},
		{"numbers beyond the type", "column 1: data", edit(0, func(e *entry) { e.base = math.MaxInt16 })},
		{"boolean of 2", "column 4: data", func(b []byte) { b[at(3).data] = 2 }},
		{"boolean base", "column 4: data", edit(3, func(e *entry) { e.base = 1 })},
		{"data length", "column 1: data length", edit(0, func(e *entry) { e.dataLen-- })},
		{"data offset", "column 1: data offset", edit(0, func(e *entry) { e.data += 8 })},
		{"fixed with offsets", "column 1: directory entry", edit(0, func(e *entry) { e.offsets = 8 })},
		{"too many nulls", "column 1: null count", edit(0, func(e *entry) { e.nulls = 9999 })},
		{"null count", "column 6: validity", edit(5, func(e *entry) { e.nulls-- })},
		{"null count zero", "column 6: validity offset", edit(5, func(e *entry) { e.nulls = 0 })},
		{"validity bit", "column 6: validity", func(b []byte) { b[at(5).validity] ^= 3 << 3 }},
		{"validity past the end", "column 6: validity", func(b []byte) { b[at(5).validity] ^= 1; b[at(5).validity+25] |= 2 }},
		{"dictionary empty", "column 2: dictionary", edit(1, func(e *entry) { e.dictLen = 0 })},
		{"dictionary too long", "column 2: dictionary", edit(1, func(e *entry) { e.dictLen = 257 })},
		{"dictionary base", "column 2: base", edit(1, func(e *entry) { e.base = 1 })},
		{"code width", "column 2: code width", edit(1, func(e *entry) { e.width = 4 })},
		{"constant of three", "column 2: dictionary", edit(1, func(e *entry) { e.width = 0 })},
		{"code", "column 2: codes", func(b []byte) { b[at(1).codes+100] = 4 }},
		{"codes offset", "column 2: codes offset", edit(1, func(e *entry) { e.codes-- })},
		{"plain with width", "column 5: directory entry", edit(4, func(e *entry) { e.width = 1 })},
		{"first offset", "column 5: offsets", put32(at(4).offsets, 1)},
		{"falling offsets", "column 5: offsets", put32(at(4).offsets+40, 2)},
		{"high offset", "column 5: offsets", put32(at(4).offsets+40, math.MaxUint32)},
		{"last offset", "column 5: offsets", put32(at(4).offsets+4*b.Rows(), 3*192-1)},
		{"plain length", "column 5: offsets", edit(4, func(e *entry) { e.dataLen += 8 })},
		{"plain length huge", "column 5: data", edit(4, func(e *entry) { e.dataLen = math.MaxUint32 })},
		{"null section", "column 7: validity", func(b []byte) { b[at(6).validity] = 1 }},
		{"null section elsewhere", "column 8: column of nulls", edit(7, func(e *entry) { e.validity -= 8 })},
		{"null column with data", "column 8: column of nulls", edit(7, func(e *entry) { e.dataLen = 8 })},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := bytes.Clone(sound.Mem)
			c.damage(body)
			_, err := Decode(reseal(sound.Header, len(sound.Cols), body), nil)
			if c.part == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var corrupt *ErrCorrupt
			if !errors.As(err, &corrupt) || corrupt.Part != c.part {
				t.Errorf("error %v, want an error about %q", err, c.part)
			}
		})
	}
	t.Run("bytes after the sections", func(t *testing.T) {
		body := append(bytes.Clone(sound.Mem), make([]byte, 8)...)
		if _, err := Decode(reseal(sound.Header, len(sound.Cols), body), nil); err == nil ||
			!strings.Contains(err.Error(), "sections") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("no room for the directory", func(t *testing.T) {
		if _, err := Decode(reseal(sound.Header, MaxColumns, sound.Mem), nil); err == nil ||
			!strings.Contains(err.Error(), "inflated size") {
			t.Errorf("error %v", err)
		}
	})
}

func TestHeaderLimits(t *testing.T) {
	src := golden(t, "v1.batch", nil) // a batch whose body is not packed
	for _, c := range []struct {
		part   string
		offset int
		value  uint32
	}{
		{"row count", offRows, MaxRows + 1},
		{"column count", offColumns, MaxColumns + 1},
		{"inflated size", offBody, MaxInflated + 8},
		{"inflated size", offBody, 1001},
		{"inflated size", offBody, 0},
		{"block", offBody, 1 << 20},
		{"block size", offBlock, 1},
		{"header spare", offSpare, 1},
		{"magic", 0, 0},
	} {
		bad := bytes.Clone(src)
		binary.LittleEndian.PutUint32(bad[c.offset:], c.value)
		binary.LittleEndian.PutUint32(bad[offCRC:], checksum(bad))
		for _, decode := range []func() error{
			func() error { _, err := DecodeHeader(bad); return err },
			func() error { _, err := InflatedSize(bad); return err },
			func() error { _, err := Decode(bad, nil); return err },
		} {
			var corrupt *ErrCorrupt
			if err := decode(); !errors.As(err, &corrupt) || corrupt.Part != c.part {
				t.Errorf("%s = %d: error %v", c.part, c.value, err)
			}
		}
	}
}

func TestCorruptText(t *testing.T) {
	src := goldenBuilder().Encode(nil, goldenHeader)
	src[30] ^= 1
	_, err := DecodeHeader(src)
	if err == nil || !strings.HasPrefix(err.Error(), "column batch is damaged: checksum at offset 8: want 0x") ||
		!strings.Contains(err.Error(), ", got 0x") {
		t.Errorf("error %v", err)
	}
	_, err = DecodeHeader([]byte("PAR1 and so on"))
	if want := `column batch is damaged: magic at offset 0: want "CWCB", got "PAR1"`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestDecodeMemory(t *testing.T) {
	src := goldenBuilder().Encode(nil, goldenHeader)
	size, err := InflatedSize(src)
	if err != nil {
		t.Fatal(err)
	}
	mem := make([]byte, size+8)
	b, err := Decode(src, mem[:0:size])
	if err != nil || &b.Mem[0] != &mem[0] || len(b.Mem) != size {
		t.Errorf("the given memory is not used: %v", err)
	}
	if _, err := Decode(src, mem[:size-1:size-1]); err == nil || !strings.Contains(err.Error(), "ask InflatedSize") {
		t.Errorf("too little memory: error %v", err)
	}
	if _, err := Decode(src, mem[1:]); err == nil || !strings.Contains(err.Error(), "multiple of 8") {
		t.Errorf("misaligned memory: error %v", err)
	}
}

func TestInspect(t *testing.T) {
	var out bytes.Buffer
	src := golden(t, "v1.batch", nil)
	if err := Inspect(&out, src); err != nil {
		t.Fatal(err)
	}
	want := golden(t, "v1.txt", out.Bytes)
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Error(diff)
	}
	out.Reset()
	src[offTable] ^= 1
	if err := Inspect(&out, src); err == nil || !strings.Contains(out.String(), "rows 70  columns 22") {
		t.Errorf("of a damaged batch: %v\n%s", err, out.String())
	}
}
