package codec

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/pierrec/lz4/v4"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

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
	for n := 0; s != ""; {
		token := s[0]
		s = s[1:]
		var ok bool
		literals, match := int(token>>4), int(token&15)
		if literals, s, ok = lz4Length(literals, s); !ok {
			return missing
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
		if match, s, ok = lz4Length(match, s); !ok {
			return missing
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

// lz4Length returns a length whose first four bits are n, and s without the bytes that continue it. ok is false if s
// ends before the length.
func lz4Length(n int, s string) (length int, rest string, ok bool) {
	if n < 15 {
		return n, s, true
	}
	for i := range len(s) {
		if n += int(s[i]); s[i] != 255 {
			return n, s[i+1:], true
		}
	}
	return 0, "", false
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
