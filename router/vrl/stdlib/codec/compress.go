package codec

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"hash/adler32"
	"hash/crc32"
	"io"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// This file has gzip and zlib. All decoders here and in block.go take the memory for their output from the run's
// budget before they write it, because a few bytes may decode to gigabytes.

// readAll reads all of r, which decodes n bytes. The second result is false if the budget is too small.
func readAll(f *fn.Frame, r io.Reader, n int) ([]byte, bool, error) {
	size := max(min(4*n, 1<<20), 512)
	if !f.Reserve(size) {
		return nil, false, nil
	}
	b := make([]byte, 0, size)
	for {
		m, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+m]
		switch {
		case errors.Is(err, io.EOF):
			return b, true, nil
		case err != nil:
			return nil, true, err
		}
		if len(b) == cap(b) {
			if !f.Reserve(cap(b)) {
				return nil, false, nil
			}
			b = append(make([]byte, 0, 2*cap(b)), b...)
		}
	}
}

// decoded returns what a reader decodes, as the result of a call.
func decoded(f *fn.Frame, r io.Reader, n int, problem string) (value.Value, bool) {
	b, ok, err := readAll(f, r, n)
	switch {
	case !ok:
		return value.Value{}, false
	case err != nil:
		return f.FailErr(problem, err)
	}
	return value.NewBytes(b), true
}

var gzipReaders = sync.Pool{New: func() any { return new(gzip.Reader) }}

var decodeGzip = &fn.Function{
	Name:     "decode_gzip",
	Group:    fn.Codec,
	Doc:      "Decompresses all members of gzip data.",
	Params:   []fn.Param{fn.ValueParam("The compressed bytes.")},
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{"the string is not gzip data, or damaged"},
	Examples: []fn.Example{
		{Title: "a text", Source: `decode_gzip!(decode_base64!("H4sIAAAAAAAA/0vOL0oBANm1ihwEAAAA"))`, Result: `"cord"`},
		{Title: "no gzip data", Source: `decode_gzip!("cord")`, Fails: `unable to decode value with Gzip decoder`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		const problem = "unable to decode value with Gzip decoder: "
		r := gzipReaders.Get().(*gzip.Reader)
		defer gzipReaders.Put(r)
		if err := r.Reset(strings.NewReader(v.Str())); err != nil {
			return f.FailErr(problem, err)
		}
		return decoded(f, r, v.Len(), problem)
	}},
}

var zlibReaders sync.Pool

var decodeZlib = &fn.Function{
	Name:     "decode_zlib",
	Group:    fn.Codec,
	Doc:      "Decompresses zlib data.",
	Params:   []fn.Param{fn.ValueParam("The compressed bytes.")},
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{"the string is not zlib data, or damaged"},
	Examples: []fn.Example{
		{Title: "a text", Source: `decode_zlib!(decode_base64!("eJxLzi9KAQAEJQGp"))`, Result: `"cord"`},
		{Title: "no zlib data", Source: `decode_zlib!("cord")`, Fails: `unable to decode value with Zlib decoder`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		const problem = "unable to decode value with Zlib decoder: "
		in := strings.NewReader(v.Str())
		r, _ := zlibReaders.Get().(io.Reader)
		var err error
		if r == nil {
			r, err = zlib.NewReader(in)
		} else {
			err = r.(zlib.Resetter).Reset(in, nil)
		}
		if err != nil {
			return f.FailErr(problem, err)
		}
		defer zlibReaders.Put(r)
		return decoded(f, r, v.Len(), problem)
	}},
}

// compressionLevel is the parameter of encode_gzip and encode_zlib.
var compressionLevel = fn.Param{
	Name: "compression_level", Doc: "The level, from 0 (not compressed) to 10 " +
		"(smallest).", Kind: kind.Integer, Optional: true,
	Default: value.NewInt(6),
}

const badLevel = "compression level must be <= 10"

// levelType makes a call infallible if the level is known and valid.
func levelType(c *fn.Call) fn.TypeDef {
	v, ok := c.Const(1)
	return fn.TypeDef{Kind: kind.String, Fallible: !ok || v.Int() < 0 || v.Int() > 10}
}

var encodeGzip = &fn.Function{
	Name:     "encode_gzip",
	Group:    fn.Codec,
	Doc:      "Compresses the string to gzip data.",
	Params:   []fn.Param{fn.ValueParam("The string to compress."), compressionLevel},
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{"the level is not from 0 to 10"},
	Examples: []fn.Example{
		{Title: "a text", Source: `encode_base64(encode_gzip("cord"))`, Result: `"H4sIAAAAAAAA/0vOL0oBANm1ihwEAAAA"`},
		{Title: "a level that does not exist", Source: `encode_gzip!("cord", compression_level: 11)`, Fails: badLevel},
	},
	Type: levelType,
	Impl: fn.Impl{F2: func(f *fn.Frame, v, level value.Value) (value.Value, bool) {
		n := level.Int()
		if n < 0 || n > 10 {
			return f.Fail(badLevel)
		}
		head := []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}
		switch {
		case n >= 9:
			head[8] = 2 // smallest
		case n <= 1:
			head[8] = 4 // fastest
		}
		s := v.Str()
		b, ok := deflate(f, head, s, int(n))
		if !ok {
			return value.Value{}, false
		}
		b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(fn.Octets(s)))
		return value.NewBytes(binary.LittleEndian.AppendUint32(b, uint32(len(s)))), true
	}},
}

var encodeZlib = &fn.Function{
	Name:     "encode_zlib",
	Group:    fn.Codec,
	Doc:      "Compresses the string to zlib data.",
	Params:   []fn.Param{fn.ValueParam("The string to compress."), compressionLevel},
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{"the level is not from 0 to 10"},
	Examples: []fn.Example{
		{Title: "a text", Source: `encode_base64(encode_zlib("cord"))`, Result: `"eJxLzi9KAQAEJQGp"`},
		{Title: "a level that does not exist", Source: `encode_zlib!("cord", compression_level: -1)`, Fails: badLevel},
	},
	Type: levelType,
	Impl: fn.Impl{F2: func(f *fn.Frame, v, level value.Value) (value.Value, bool) {
		n := level.Int()
		if n < 0 || n > 10 {
			return f.Fail(badLevel)
		}
		head := []byte{0x78, 0xda}
		switch {
		case n <= 1:
			head[1] = 0x01
		case n <= 5:
			head[1] = 0x5e
		case n == 6:
			head[1] = 0x9c
		}
		s := v.Str()
		b, ok := deflate(f, head, s, int(n))
		if !ok {
			return value.Value{}, false
		}
		return value.NewBytes(binary.BigEndian.AppendUint32(b, adler32.Checksum(fn.Octets(s)))), true
	}},
}

// deflaters are compressors by level. The standard library's encoder finds the shortest form of
// short texts.
var deflaters [flate.BestCompression + 1]sync.Pool

// deflate compresses s after the header of its container. The result has room for the checksum after it.
func deflate(f *fn.Frame, head []byte, s string, level int) ([]byte, bool) {
	level = min(level, flate.BestCompression)
	// Compressed data is never much longer than the original, because incompressible data is stored in blocks.
	if !f.Reserve(len(s) + len(s)/1000 + 64) {
		return nil, false
	}
	out := bytes.NewBuffer(make([]byte, 0, len(head)+len(s)/2+64))
	out.Write(head)
	w, _ := deflaters[level].Get().(*flate.Writer)
	if w == nil {
		w, _ = flate.NewWriter(out, level) // fails for levels out of range only
	} else {
		w.Reset(out)
	}
	// Writing to a buffer does not fail.
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	deflaters[level].Put(w)
	b := out.Bytes()
	if s != "" && len(s) < oneBlock && level > 0 {
		b = markLast(b, len(head))
	}
	return b, true
}

// oneBlock is a length that the compressor certainly does not split into several blocks.
const oneBlock = 1 << 13

// markLast marks the only block in b, which begins at byte at, as the last one. It removes the empty block after
// it, which otherwise marks the end.
func markLast(b []byte, at int) []byte {
	const emptyBlock = "\x00\x00\xff\xff"
	end := len(b) - len(emptyBlock)
	if end <= at || string(b[end:]) != emptyBlock {
		return b
	}
	// The highest bit that is set marks the empty block as the last one.
	for end--; end > at && b[end] == 0; end-- {
	}
	bit := byte(0x80)
	for ; bit != 0 && b[end]&bit == 0; bit >>= 1 {
	}
	if end == at && bit <= 4 {
		return b
	}
	b[at] |= 1
	b[end] &^= bit
	if bit == 1 {
		return b[:end]
	}
	return b[:end+1]
}
