package column

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"

	"cordwood/proto/metapb"
	"cordwood/proto/schema"
)

// cutHeader is goldenHeader in a cluster whose nodes read cuts.
func cutHeader() Header {
	h := goldenHeader
	h.Protocol = metapb.ProtocolCuts
	return h
}

// cutBuilder returns a builder with a column of cuts, from a text with a few bytes between them, and other columns
// before and after it. Its content must never change.
func cutBuilder() *Builder {
	var text []byte
	var spans [][2]int
	for row := range 300 {
		text = append(text, strings.Repeat("~", row%7)...)
		from := len(text)
		text = fmt.Appendf(text, `{"level":"info","number":%d,"word":"%s"}`, row*row, strings.Repeat("é", row%90))
		if row%50 == 3 {
			text = text[:from]
		}
		spans = append(spans, [2]int{from, len(text)})
	}
	text = append(text, "the rest"...)
	return buildCuts(text, s2.EncodeSnappy(nil, text), spans)
}

// buildCuts returns a builder whose column 2 has the given parts of a text.
func buildCuts(text, block []byte, spans [][2]int) *Builder {
	b := &Builder{}
	number, line, label := b.Add(col(1, schema.Int64)), b.Add(col(2, schema.String)), b.Add(col(3, schema.String))
	line.CutFrom(&Origin{Block: block, Text: text})
	for row, s := range spans {
		number.SetInt(row, int64(row*row%1000))
		line.SetCut(row, text[s[0]:s[1]])
		label.SetString(row, fmt.Sprint("label-", row%5))
		b.EndRow()
	}
	return b
}

// isCut reports whether the block of a client is part of an encoded batch.
func isCut(src []byte) bool { return binary.LittleEndian.Uint16(src[offFlags:])&flagCuts != 0 }

// mustAgree encodes a builder with cuts and without them, and compares the results. It returns the first batch.
func mustAgree(t *testing.T, b *Builder) []byte {
	t.Helper()
	want, err := Decode(b.Encode(nil, goldenHeader), nil)
	if err != nil {
		t.Fatal(err)
	}
	var l Bodies
	defer l.Release()
	src := l.EncodeRange(b, []byte("before"), cutHeader(), 0, b.Rows())[len("before"):]
	got, err := Decode(src, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Mem, want.Mem) || got.Header != want.Header {
		t.Fatalf("the batch with cuts differs from the batch without: %+v, want %+v", got.Header, want.Header)
	}
	copied, err := l.Decode(0, src, aligned(len(want.Mem)))
	if err != nil || !bytes.Equal(copied.Mem, want.Mem) {
		t.Fatalf("the batch of the passed body differs (%v)", err)
	}
	return src
}

// TestCutsOfText checks when a batch contains the block of a client.
func TestCutsOfText(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	noise := make([]byte, 20_000)
	for i := range noise {
		noise[i] = byte(' ' + r.IntN(90))
	}
	var lines, broken, accents []byte
	for i := range 400 {
		lines = fmt.Appendf(lines, "line %d of a log, ", i*i)
		broken = fmt.Appendf(broken, "half of a character %d: \xc3, ", i)
		accents = append(append(accents, strings.Repeat("é", 20+i%13)...), byte('a'+i%2))
	}
	even := func(text []byte, size, step int) (spans [][2]int) {
		for at := 0; at+size <= len(text); at += step {
			spans = append(spans, [2]int{at, at + size})
		}
		return spans
	}
	snappy := func(text []byte) []byte { return s2.EncodeSnappy(nil, text) }
	for _, c := range []struct {
		name string
		b    func() *Builder
		want bool
	}{
		{"cuts", cutBuilder, true},
		{"no gaps", func() *Builder { return buildCuts(lines, snappy(lines), even(lines, 101, 101)) }, true},
		{"s2", func() *Builder { return buildCuts(lines, s2.Encode(nil, lines), even(lines, 101, 103)) }, true},
		{"mostly gaps", func() *Builder { return buildCuts(lines, snappy(lines), even(lines, 100, 201)) }, false},
		{"few bytes", func() *Builder {
			return buildCuts(lines[:900], snappy(lines[:900]), even(lines, 51, 51)[:17])
		}, false},
		{"hardly compressed", func() *Builder { return buildCuts(noise, snappy(noise), even(noise, 99, 99)) }, false},
		{"back in the text", func() *Builder {
			spans := even(lines, 101, 101)
			slices.Reverse(spans)
			return buildCuts(lines, snappy(lines), spans)
		}, false},
		{"overlapping", func() *Builder { return buildCuts(lines, snappy(lines), even(lines, 101, 100)) }, false},
		{"a value from elsewhere", func() *Builder {
			b := cutBuilder()
			b.Cols()[1].SetCut(b.Rows(), []byte("elsewhere"))
			b.EndRow()
			return b
		}, false},
		{"a value that is no cut", func() *Builder {
			b := cutBuilder()
			b.Cols()[1].SetString(b.Rows(), "elsewhere")
			b.EndRow()
			return b
		}, false},
		{"a row without a value", func() *Builder {
			b := cutBuilder()
			b.EndRow()
			return b
		}, false},
		{"a row that is dropped", func() *Builder {
			b := cutBuilder()
			o := b.Cols()[1].origin
			b.Cols()[1].SetCut(b.Rows(), o.Text[len(o.Text)-5:])
			b.DropRow()
			return b
		}, true},
		{"rows that are dropped", func() *Builder {
			b := cutBuilder()
			b.Rewind(280)
			return b
		}, true},
		{"invalid UTF-8", func() *Builder {
			return buildCuts(broken, snappy(broken), even(broken, 101, 101))
		}, false},
		{"a character in two values", func() *Builder {
			return buildCuts(accents, snappy(accents), even(accents, 101, 101))
		}, false},
		{"rows of another builder", func() *Builder {
			b := &Builder{}
			b.AppendRows(cutBuilder())
			return b
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := c.b()
			b.Finish()
			if src := mustAgree(t, b); isCut(src) != c.want {
				t.Errorf("the batch contains the client's block: %v, want %v", isCut(src), c.want)
			}
		})
	}
}

// TestCutsOfSome checks that only a batch of all rows, for nodes that read it, contains the client's block.
func TestCutsOfSome(t *testing.T) {
	b := cutBuilder()
	b.Finish()
	older := cutHeader()
	older.Protocol--
	for name, src := range map[string][]byte{
		"the first rows": b.EncodeRange(nil, cutHeader(), 0, 299),
		"the last rows":  b.EncodeRange(nil, cutHeader(), 1, 300),
		"older nodes":    b.Encode(nil, older),
		"unknown nodes":  b.Encode(nil, goldenHeader),
	} {
		if isCut(src) {
			t.Errorf("%s: the batch contains the client's block", name)
		}
		if _, err := Decode(src, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	sealed, err := cutBuilder().Seal().Append(nil, cutHeader())
	if err != nil || isCut(sealed) {
		t.Errorf("sealed rows: %v, contains the client's block: %v", err, isCut(sealed))
	}
	b.Restart()
	for row := range 300 {
		b.Cols()[1].SetString(row, strings.Repeat("text ", 20)+fmt.Sprint(row))
		b.EndRow()
	}
	b.Finish()
	if isCut(b.Encode(nil, cutHeader())) {
		t.Error("the rows after Restart have the block of the rows before")
	}
}

// TestWrongCuts reads packed forms that no encoder writes.
func TestWrongCuts(t *testing.T) {
	form := func(at, n uint32, gaps, text string) []byte {
		b := binary.LittleEndian.AppendUint32(nil, at)
		return append(binary.LittleEndian.AppendUint32(b, n), gaps+text...)
	}
	offsets := func(ends ...uint32) (out []byte) {
		for _, end := range ends {
			out = binary.LittleEndian.AppendUint32(out, end)
		}
		return out
	}
	right := offsets(0, 3, 3, 5)
	for _, c := range []struct {
		name string
		body []byte
		src  []byte
		line packedLine
		ok   bool
	}{
		{"right", right, form(0, 3, "\x01\x00\x02", "-abc--de---"), packedLine{how: packCuts, param: 1}, true},
		{"wide", right, form(0, 3, "\x01\x00\x00\x00\x02\x00", "-abc--de"), packedLine{how: packCuts, param: 2}, true},
		{
			"wider", right, form(0, 3, "\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00", "-abc--de"),
			packedLine{how: packCuts, param: 4},
			true,
		},
		{"too short", right, []byte{0, 0, 0}, packedLine{how: packCuts, param: 1}, false},
		{"text ends early", right, form(0, 3, "\x01\x00\x02", "-abc--d"), packedLine{how: packCuts, param: 1}, false},
		{"gap beyond the text", right, form(0, 3, "\xff\x00\x02", "-abc--de"), packedLine{how: packCuts, param: 1}, false},
		{"fewer rows", right, form(0, 2, "\x01\x00", "-abc--de"), packedLine{how: packCuts, param: 1}, false},
		{"more rows", right, form(0, 4, "\x01\x00\x02\x00", "-abc--de"), packedLine{how: packCuts, param: 1}, false},
		{"gaps are missing", right, form(0, 300, "", ""), packedLine{how: packCuts, param: 1}, false},
		{"offsets beyond", right, form(1, 3, "\x01\x00\x02", "-abc--de"), packedLine{how: packCuts, param: 1}, false},
		{"far beyond", right, form(1<<32-1, 3, "\x01\x00\x02", "-abc--de"), packedLine{how: packCuts, param: 1}, false},
		{"many rows", right, form(0, 1<<32-1, "\x01\x00\x02", "-abc--de"), packedLine{how: packCuts, param: 1}, false},
		{"width", right, form(0, 3, "\x01\x00\x02", "-abc--de"), packedLine{how: packCuts, param: 3}, false},
		{"no width", right, form(0, 3, "\x01\x00\x02", "-abc--de"), packedLine{how: packCuts}, false},
		{
			"second parameter", right, form(0, 3, "\x01\x00\x02", "-abc--de"),
			packedLine{how: packCuts, param: 1, extra: 1},
			false,
		},
		{
			"sparse", right, form(0, 3, "\x01\x00\x02", "-abc--de"),
			packedLine{how: packCuts, param: 1, sparse: true},
			false,
		},
		{
			"descending", offsets(0, 5, 3, 5), form(0, 3, "\x00\x00\x00", "abcdefgh"),
			packedLine{how: packCuts, param: 1},
			false,
		},
	} {
		got := make([]byte, 5)
		u := unpacker{body: c.body, section: got, src: c.src, packedLine: c.line}
		if ok := u.unpack(); ok != c.ok || ok && string(got) != "abcde" {
			t.Errorf("%s: %q, %v", c.name, got, ok)
		}
	}
}

// TestCutsNeedTheirFlag reads a batch with cuts without the flag for them.
func TestCutsNeedTheirFlag(t *testing.T) {
	b := cutBuilder()
	b.Finish()
	for _, flags := range []uint16{flagPacked | flagBits, flagCuts, flagPacked | flagCuts, flagBits | flagCuts} {
		src := b.Encode(nil, cutHeader())
		binary.LittleEndian.PutUint16(src[offFlags:], flags)
		binary.LittleEndian.PutUint32(src[offCRC:], checksum(src))
		if _, err := Decode(src, nil); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("flags %#x: %v", flags, err)
		}
	}
}

// FuzzCuts compares batches that contain a client's block with batches that are compressed again. The places of cuts
// come from bytes: pairs of a gap and a length.
func FuzzCuts(f *testing.F) {
	text := slices.Repeat([]byte(`{"level":"info","msg":"request completed"} `), 60)
	f.Add(text, []byte{0, 42, 1, 42}, uint8(0))
	f.Add(text, []byte{3, 200, 0, 0, 20, 100}, uint8(1))
	f.Add(append(slices.Clone(text), 0xff, 0xc3), []byte{0, 255}, uint8(2))
	f.Add(slices.Repeat([]byte("é"), 900), []byte{0, 21}, uint8(3))
	f.Fuzz(func(t *testing.T, text, places []byte, by uint8) {
		if len(text) == 0 || len(text) > 1<<16 || len(places) < 2 {
			return
		}
		encode := []func(dst, src []byte) []byte{s2.Encode, s2.EncodeSnappy, s2.EncodeBest, s2.EncodeSnappyBest}[by%4]
		block := encode(nil, text)
		decoded, err := s2.Decode(nil, block)
		if err != nil {
			t.Fatal(err)
		}
		var spans [][2]int
		for at, i := 0, 0; len(spans) < 2000; i = (i + 2) % (len(places) &^ 1) {
			from := at + int(places[i])
			to := from + int(places[i+1])
			if to > len(decoded) || to == at && len(spans) > 100 {
				break
			}
			spans, at = append(spans, [2]int{from, to}), to
		}
		b := buildCuts(decoded, block, spans)
		b.Finish()
		mustAgree(t, b)
	})
}
