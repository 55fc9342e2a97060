package stdlib

import (
	"encoding/binary"
	"errors"
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

// maxWindow is the farthest that Zstandard data may refer back, that of its highest level.
const maxWindow = 1 << 27

// zstdDecoder decodes for any number of goroutines. It writes no more than there is room
// for in the buffer that it is given.
var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
})

var decodeZstd = &fn.Function{
	Name:     "decode_zstd",
	Group:    fn.Codec,
	Doc:      "Decompresses Zstandard data, all frames of it.",
	Params:   []fn.Param{valueParam("The compressed bytes.")},
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{"the string is not Zstandard data, or damaged, or refers back farther than 128 MiB"},
	Examples: []fn.Example{
		{Title: "a text", Source: `decode_zstd!(decode_base64!("KLUv/QBYIQAAY29yZA=="))`, Result: `"cord"`},
		{Title: "no Zstandard data", Source: `decode_zstd!("cord")`, Fails: `unable to decode value with Zstd decoder`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		const problem = "unable to decode value with Zstd decoder: "
		d, err := zstdDecoder()
		if err != nil {
			return f.FailErr(problem, err)
		}
		in := octets(v.Str())
		// The header may lie about the length, so it only helps to guess it.
		size := max(4*len(in), 512)
		var h zstd.Header
		if h.Decode(in) == nil && h.HasFCS {
			size = int(min(h.FrameContentSize, uint64(max(64*len(in), 64<<10))))
		}
		for {
			if !f.Reserve(size) {
				return value.Value{}, false
			}
			b, err := d.DecodeAll(in, make([]byte, 0, size))
			switch {
			case err == nil:
				return value.NewBytes(b), true
			case !errors.Is(err, zstd.ErrDecoderSizeExceeded):
				return f.FailErr(problem, err)
			}
			size = max(4*size, 512)
		}
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
		e.Encoder, e.err = zstd.NewWriter(nil, zstd.WithEncoderLevel(speed), zstd.WithEncoderCRC(false), zstd.WithWindowSize(2<<20),
			zstd.WithSingleSegment(false), zstd.WithZeroFrames(true), zstd.WithLowerEncoderMem(true))
	})
	return e.Encoder, e.err
}

var encodeZstd = &fn.Function{
	Name:  "encode_zstd",
	Group: fn.Codec,
	Doc:   "Compresses the string to Zstandard data.",
	Params: []fn.Param{
		valueParam("What to compress."),
		{
			Name: "compression_level", Doc: "From 1, fastest, to 22, smallest; the nearest of four that differ is taken.", Kind: kind.Integer,
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
		in := octets(v.Str())
		if !f.Reserve(e.MaxEncodedSize(len(in))) {
			return value.Value{}, false
		}
		b := e.EncodeAll(in, make([]byte, 0, len(in)/2+64))
		// The header says how far back the data refers. Zstandard's own tools say 2 MiB
		// however short the content is, so that its length does not show.
		b[5] = 0x58
		return value.NewBytes(b), true
	}},
}

var decodeSnappy = &fn.Function{
	Name:     "decode_snappy",
	Group:    fn.Codec,
	Doc:      "Decompresses a block of Snappy data, which is data without the frames of Snappy's streams.",
	Params:   []fn.Param{valueParam("The compressed bytes.")},
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{"the string is not a block of Snappy data, or damaged"},
	Examples: []fn.Example{
		{Title: "a text", Source: `decode_snappy!(decode_base64!("BAxjb3Jk"))`, Result: `"cord"`},
		{Title: "no Snappy data", Source: `decode_snappy!("cord")`, Fails: `unable to decode value with Snappy decoder`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		const problem = "unable to decode value with Snappy decoder: "
		in := octets(v.Str())
		n, err := s2.DecodedLen(in)
		// The densest code is a copy of 64 bytes in three.
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
	Params:   []fn.Param{valueParam("What to compress.")},
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{"the string is longer than 4 GiB"},
	Examples: []fn.Example{
		{Title: "a text", Source: `encode_base64(encode_snappy!("cord"))`, Result: `"BAxjb3Jk"`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		in := octets(v.Str())
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

const lz4Problem = "unable to decode value with lz4 block decoder: "

var decodeLZ4 = &fn.Function{
	Name:  "decode_lz4",
	Group: fn.Codec,
	Doc: "Decompresses LZ4 data: frames, if the string starts as one, and else a block. How long a block's content is " +
		"may be told by four bytes before it, the lowest first.",
	Params: []fn.Param{
		valueParam("The compressed bytes."),
		{Name: "buf_size", Doc: "The longest content of a block without its length.", Kind: kind.Integer, Optional: true, Default: value.NewInt(1_000_000)},
		{Name: "prepended_size", Doc: "Whether the length comes before a block.", Kind: kind.Boolean, Optional: true, Default: value.NewBool(false)},
	},
	Returns:  kind.String,
	Fallible: true,
	Errors: []string{
		"the string is not LZ4 data, or damaged", "the content is longer than the length before it, or than buf_size", "buf_size is negative",
	},
	Examples: []fn.Example{
		{Title: "a block with its length", Source: `decode_lz4!(decode_base64!("BAAAAEBjb3Jk"), prepended_size: true)`, Result: `"cord"`},
		{Title: "a block", Source: `decode_lz4!(decode_base64!("QGNvcmQ="))`, Result: `"cord"`},
		{Title: "too long", Source: `decode_lz4!(decode_base64!("QGNvcmQ="), buf_size: 3)`, Fails: `unable to decode value with lz4 block decoder`},
	},
	Impl: fn.Impl{F3: func(f *fn.Frame, v, size, prepended value.Value) (value.Value, bool) {
		const frameMagic = "\x04\x22\x4d\x18"
		s := v.Str()
		if strings.HasPrefix(s, frameMagic) {
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
			n = int64(binary.LittleEndian.Uint32(octets(s)))
			s = s[4:]
		}
		// A byte of a block stands for 255 of the content at most.
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

// lz4Block decodes a block and returns how much it wrote, or what is wrong.
func lz4Block(dst []byte, s string) (int, string) {
	if s == "" {
		return 0, lz4Problem + "expected another byte, found none"
	}
	n, err := lz4.UncompressBlock(octets(s), dst)
	switch {
	case err == nil:
		return n, ""
	case len(dst) == 0:
		return 0, lz4Problem + "provided output is too small for the decompressed data, actual 0"
	}
	return 0, lz4Problem + "the data is damaged, or its content longer than the room given"
}

var encodeLZ4 = &fn.Function{
	Name:  "encode_lz4",
	Group: fn.Codec,
	Doc:   "Compresses the string to a block of LZ4 data.",
	Params: []fn.Param{
		valueParam("What to compress."),
		{Name: "prepend_size", Doc: "Whether the length of the string comes first, in four bytes, the lowest first.", Kind: kind.Boolean, Optional: true, Default: value.NewBool(true)},
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
		in := octets(v.Str())
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

// lz4Literals returns the block that holds in as it is.
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
