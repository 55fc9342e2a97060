package codec

import (
	"io"
	"strings"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// This file holds Zstandard and Snappy. Their decoders write into a buffer, like the decoders of LZ4 in lz4.go.

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
