package codec

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// This file holds Zstandard, Snappy and LZ4, whose decoders write into a buffer.

// maxWindow limits the window of Zstandard data. The format recommends that decoders support this size.
const maxWindow = 8 << 20

// zstdReaders decode in the calling goroutine, on demand, and never ahead.
var zstdReaders sync.Pool

func zstdReader(r io.Reader) (*zstd.Decoder, error) {
	if d, ok := zstdReaders.Get().(*zstd.Decoder); ok {
		return d, d.Reset(r)
	}
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecodeBuffersBelow(0))
}

var decodeZstd = &fn.Function{
	Name:     "decode_zstd",
	Group:    fn.Codec,
	Doc:      "Decompresses all frames of Zstandard data.",
	Params:   []fn.Param{fn.ValueParam("The compressed bytes.")},
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{"the string is not Zstandard data, or damaged, or refers back farther than 8 MiB"},
	Examples: []fn.Example{
		{Title: "a text", Source: `decode_zstd!(decode_base64!("KLUv/QBYIQAAY29yZA=="))`, Result: `"cord"`},
		{Title: "no Zstandard data", Source: `decode_zstd!("cord")`, Fails: `unable to decode value with Zstd decoder`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		const problem = "unable to decode value with Zstd decoder: "
		var h zstd.Header
		if err := h.Decode(fn.Octets(v.Str())); err == nil && !h.Skippable && !f.Reserve(int(min(h.WindowSize, maxWindow))) {
			return value.Value{}, false
		}
		d, err := zstdReader(strings.NewReader(v.Str()))
		if err != nil {
			return f.FailErr(problem, err)
		}
		out, ok := decoded(f, d, v.Len(), problem)
		if d.Reset(nil) == nil { // it drops the text
			zstdReaders.Put(d)
		}
		return out, ok
	}},
}

// zstdEncoders encode for any number of goroutines, one for each speed.
var zstdEncoders [zstd.SpeedBestCompression + 1]struct {
	sync.Once
	*zstd.Encoder
	err error
}

func zstdEncoder(level int64) (*zstd.Encoder, error) {
	speed := zstd.EncoderLevelFromZstd(int(max(min(level, 22), 0)))
	e := &zstdEncoders[speed]
	e.Do(func() {
		e.Encoder, e.err = zstd.NewWriter(nil, zstd.WithEncoderLevel(speed), zstd.WithEncoderCRC(false),
			zstd.WithWindowSize(2<<20),
			zstd.WithSingleSegment(false), zstd.WithZeroFrames(true), zstd.WithLowerEncoderMem(true))
	})
	return e.Encoder, e.err
}

var encodeZstd = &fn.Function{
	Name:  "encode_zstd",
	Group: fn.Codec,
	Doc:   "Compresses the string to Zstandard data.",
	Params: []fn.Param{
		fn.ValueParam("The string to compress."),
		{
			Name: "compression_level", Doc: "The level, from 1 (fastest) to 22 (smallest). The nearest of four distinct " +
				"levels is used.",
			Kind:     kind.Integer,
			Optional: true, Default: value.NewInt(3),
		},
	},
	Returns: kind.String,
	Examples: []fn.Example{
		{Title: "a text", Source: `encode_base64(encode_zstd("cord"))`, Result: `"KLUv/QBYIQAAY29yZA=="`},
	},
	Impl: fn.Impl{F2: func(f *fn.Frame, v, level value.Value) (value.Value, bool) {
		if level.Int() == 0 {
			level = value.NewInt(3)
		}
		e, err := zstdEncoder(level.Int())
		if err != nil {
			return f.FailErr("unable to compress: ", err)
		}
		in := fn.Octets(v.Str())
		if !f.Reserve(e.MaxEncodedSize(len(in))) {
			return value.Value{}, false
		}
		b := e.EncodeAll(in, make([]byte, 0, len(in)/2+64))
		// The header contains the window size. Zstandard's own tools write 2 MiB even for short content, so that the
		// length is not visible.
		const singleSegment = 1 << 5 // then the header has no window size
		if b[4]&singleSegment == 0 {
			b[5] = 0x58
		}
		return value.NewBytes(b), true
	}},
}

var decodeSnappy = &fn.Function{
	Name:     "decode_snappy",
	Group:    fn.Codec,
	Doc:      "Decompresses a block of Snappy data, which has no stream frames.",
	Params:   []fn.Param{fn.ValueParam("The compressed bytes.")},
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{"the string is not a block of Snappy data, or damaged"},
	Examples: []fn.Example{
		{Title: "a text", Source: `decode_snappy!(decode_base64!("BAxjb3Jk"))`, Result: `"cord"`},
		{Title: "no Snappy data", Source: `decode_snappy!("cord")`, Fails: `unable to decode value with Snappy decoder`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		const problem = "unable to decode value with Snappy decoder: "
		in := fn.Octets(v.Str())
		n, err := s2.DecodedLen(in)
		// The densest code copies 64 bytes with three.
		if err == nil && n > 32*len(in)+64 {
			err = s2.ErrCorrupt
		}
		if err != nil {
			return f.FailErr(problem, err)
		}
		if !f.Reserve(n) {
			return value.Value{}, false
		}
		b, err := s2.Decode(make([]byte, n), in)
		if err != nil {
			return f.FailErr(problem, err)
		}
		return value.NewBytes(b), true
	}},
}

var encodeSnappy = &fn.Function{
	Name:     "encode_snappy",
	Group:    fn.Codec,
	Doc:      "Compresses the string to a block of Snappy data.",
	Params:   []fn.Param{fn.ValueParam("The string to compress.")},
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{"the string is longer than 4 GiB"},
	Examples: []fn.Example{
		{Title: "a text", Source: `encode_base64(encode_snappy!("cord"))`, Result: `"BAxjb3Jk"`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		in := fn.Octets(v.Str())
		n := s2.MaxEncodedLen(len(in))
		if n < 0 {
			return f.Fail("unable to encode value with Snappy encoder: it is longer than 4 GiB")
		}
		if !f.Reserve(n) {
			return value.Value{}, false
		}
		return value.NewBytes(s2.EncodeSnappy(make([]byte, n), in)), true
	}},
}

// lz4Magic is the magic number at the start of an LZ4 frame.
const lz4Magic = "\x04\x22\x4d\x18"

// lz4Complete reports whether the first frame of s has its end, because the decoder does not always check this.
func lz4Complete(s string) bool {
	const (
		fixed         = 7 // magic, flags, block size, checksum of the header
		blockSums     = 1 << 4
		contentLength = 1 << 3
		contentSum    = 1 << 2
		dictionary    = 1 << 0
		stored        = 1 << 31
	)
	if len(s) < fixed {
		return false
	}
	flags, n := s[4], fixed
	if flags&contentLength != 0 {
		n += 8
	}
	if flags&dictionary != 0 {
		n += 4
	}
	for n+4 <= len(s) {
		block := int(binary.LittleEndian.Uint32(fn.Octets(s[n:])) &^ stored)
		n += 4
		if block == 0 {
			if flags&contentSum != 0 {
				n += 4
			}
			return n <= len(s)
		}
		n += block
		if flags&blockSums != 0 {
			n += 4
		}
	}
	return false
}

const lz4Problem = "unable to decode value with lz4 block decoder: "

var decodeLZ4 = &fn.Function{
	Name:  "decode_lz4",
	Group: fn.Codec,
	Doc: "Decompresses LZ4 data: frames if the string starts with one, otherwise a block. Four bytes before a " +
		"block, the lowest first, may contain the length of its content.",
	Params: []fn.Param{
		fn.ValueParam("The compressed bytes."),
		{
			Name: "buf_size", Doc: "The maximum size of the content of a block without a length.", Kind: kind.Integer,
			Optional: true, Default: value.NewInt(1_000_000),
		},
		{
			Name: "prepended_size", Doc: "Whether a block is preceded by the length of its " +
				"content.", Kind: kind.Boolean, Optional: true,
			Default: value.NewBool(false),
		},
	},
	Returns:  kind.String,
	Fallible: true,
	Errors: []string{
		"the string is not LZ4 data, or damaged", "the content is longer than the length before it or buf_size",
		"buf_size is negative",
	},
	Examples: []fn.Example{
		{
			Title:  "a block with its length",
			Source: `decode_lz4!(decode_base64!("BAAAAEBjb3Jk"), prepended_size: true)`,
			Result: `"cord"`,
		},
		{Title: "a block", Source: `decode_lz4!(decode_base64!("QGNvcmQ="))`, Result: `"cord"`},
		{
			Title:  "too long",
			Source: `decode_lz4!(decode_base64!("QGNvcmQ="), buf_size: 3)`,
			Fails:  `unable to decode value with lz4 block decoder`,
		},
	},
	Impl: fn.Impl{F3: func(f *fn.Frame, v, size, prepended value.Value) (value.Value, bool) {
		s := v.Str()
		if strings.HasPrefix(s, lz4Magic) {
			if !lz4Complete(s) {
				return f.Fail("unable to decode value with lz4 frame decoder: the data is cut off")
			}
			return decoded(f, lz4.NewReader(strings.NewReader(s)), len(s), "unable to decode value with lz4 frame decoder: ")
		}
		n := size.Int()
		if n < 0 {
			return f.Failf("buf_size must not be negative, got %d", n)
		}
		if prepended.Bool() {
			if len(s) < 4 {
				return f.Fail(lz4Problem + "the length before the block is missing")
			}
			n = int64(binary.LittleEndian.Uint32(fn.Octets(s)))
			s = s[4:]
		}
		// A byte of a block produces at most 255 bytes of content.
		n = min(n, 255*int64(len(s))+64)
		if !f.Reserve(int(n)) {
			return value.Value{}, false
		}
		b := make([]byte, n)
		m, problem := lz4Block(b, s)
		if problem != "" {
			return f.Fail(problem)
		}
		return value.NewBytes(b[:m]), true
	}},
}

// lz4Block decodes a block. It returns the number of bytes written, or a description of the fault.
func lz4Block(dst []byte, s string) (int, string) {
	if s != "" {
		if n, err := lz4.UncompressBlock(fn.Octets(s), dst); err == nil {
			return n, ""
		}
	}
	return 0, lz4Problem + lz4Fault(s, len(dst))
}

// lz4Fault returns the reason why a block cannot be decoded to room bytes.
func lz4Fault(s string, room int) string {
	const missing = "expected another byte, found none"
	// more reads the continuation of a length.
	more := func(n int) (int, bool) {
		for {
			if s == "" {
				return 0, false
			}
			c := s[0]
			s = s[1:]
			if n += int(c); c != 255 {
				return n, true
			}
		}
	}
	for n := 0; s != ""; {
		token := s[0]
		s = s[1:]
		var ok bool
		literals, match := int(token>>4), int(token&15)
		if literals == 15 {
			if literals, ok = more(literals); !ok {
				return missing
			}
		}
		if literals > len(s) {
			return "literal is out of bounds of the input"
		}
		s = s[literals:]
		if n += literals; n > room {
			return fmt.Sprintf("provided output is too small for the decompressed data, actual %d, expected %d", room, n)
		}
		if s == "" {
			return "the data is damaged"
		}
		if len(s) < 2 {
			return missing
		}
		offset := int(s[0]) | int(s[1])<<8
		s = s[2:]
		if match == 15 {
			if match, ok = more(match); !ok {
				return missing
			}
		}
		if offset == 0 || offset > n {
			return "the offset to copy is not contained in the decompressed buffer"
		}
		const least = 4
		if n += match + least; n > room {
			return fmt.Sprintf("provided output is too small for the decompressed data, actual %d, expected %d", room, n)
		}
	}
	return missing
}

var encodeLZ4 = &fn.Function{
	Name:  "encode_lz4",
	Group: fn.Codec,
	Doc:   "Compresses the string to a block of LZ4 data.",
	Params: []fn.Param{
		fn.ValueParam("The string to compress."),
		{
			Name: "prepend_size", Doc: "Whether the result starts with the length of the string, in four bytes, the lowest " +
				"first.",
			Kind: kind.Boolean, Optional: true, Default: value.NewBool(true),
		},
	},
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{"the string is longer than 2 GiB"},
	Examples: []fn.Example{
		{Title: "with its length", Source: `encode_base64(encode_lz4!("cord"))`, Result: `"BAAAAEBjb3Jk"`},
		{Title: "without", Source: `encode_base64(encode_lz4!("cord", prepend_size: false))`, Result: `"QGNvcmQ="`},
	},
	Impl: fn.Impl{F2: func(f *fn.Frame, v, prepend value.Value) (value.Value, bool) {
		const problem = "unable to encode value with lz4 block encoder: "
		in := fn.Octets(v.Str())
		if len(in) > 0x7e000000 {
			return f.Fail(problem + "it is longer than 2 GiB")
		}
		room := lz4.CompressBlockBound(len(in)) + 4
		if !f.Reserve(room) {
			return value.Value{}, false
		}
		b := make([]byte, room)
		binary.LittleEndian.PutUint32(b, uint32(len(in)))
		n, err := lz4.CompressBlock(in, b[4:], nil)
		if err != nil {
			return f.FailErr(problem, err)
		}
		if n == 0 { // nothing to compress: one run of literals
			n = copy(b[4:], lz4Literals(in))
		}
		if prepend.Bool() {
			return value.NewBytes(b[:4+n]), true
		}
		return value.NewBytes(b[4 : 4+n]), true
	}},
}

// lz4Literals returns a block that stores in uncompressed.
func lz4Literals(in []byte) []byte {
	n := len(in)
	if n < 15 {
		return append([]byte{byte(n) << 4}, in...)
	}
	b := []byte{0xf0}
	for n -= 15; n >= 255; n -= 255 {
		b = append(b, 255)
	}
	return append(append(b, byte(n)), in...)
}
