package codec_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"cordwood/router/vrl"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/value"
	"cordwood/router/vrl/vrltest"
)

func zeros(n int) string { return strings.Repeat("0", n) }

func TestCompress(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{
			Name:   "two members",
			Source: `decode_gzip!(decode_base64!("H4sIAAAAAAACA8vPS1UAAElhrCMEAAAAH4sIAAAAAAACAyspzwcAZorKEQMAAAA="))`,
			Want:   `"one two"`,
		},
		{
			Name:     "wrong checksum",
			Source:   `decode_gzip!(decode_base64!("H4sIAAAAAAACA8vPSwUAAAAAAAAAAAA="))`,
			RunError: "unable to decode value with Gzip decoder",
		},
		{
			Name:     "cut off",
			Source:   `decode_gzip!(decode_base64!("H4sIAAAAAAACA8vP"))`,
			RunError: "unable to decode value with Gzip decoder",
		},
		{Name: "empty", Source: `decode_gzip!("")`, RunError: "unable to decode value with Gzip decoder"},
		{Source: `decode_zlib!(decode_base64!("eNpLTMQEAE+mB5U="))`, Want: `"aaaaaaaaaaaaaaaaaaaa"`},
		{Name: "empty", Source: `decode_zlib!("")`, RunError: "unable to decode value with Zlib decoder"},
		{
			Name:     "cut off",
			Source:   `decode_zlib!(decode_base64!("eNpLTMQE"))`,
			RunError: "unable to decode value with Zlib decoder",
		},
		{Name: "level not known", Source: `encode_gzip("a", compression_level: int!(.l))`, CompileError: "E100"},
		{
			Name: "level refused at run time", Source: `encode_zlib!("a", compression_level: int!(.l))`,
			Event: `{"l":99}`, RunError: "compression level must be <= 10",
		},
		{
			Name:     "cut off",
			Source:   `decode_zstd!(decode_base64!("KLUv/QBYIQAAY28="))`,
			RunError: "unable to decode value with Zstd decoder",
		},
		{
			Name:     "length too large",
			Source:   `decode_snappy!(decode_base16!("ffffffff0f00"))`,
			RunError: "unable to decode value with Snappy decoder",
		},
		{
			Name:     "no length",
			Source:   `decode_lz4!("abc", prepended_size: true)`,
			RunError: "the length before the block is missing",
		},
		{
			Name:     "a length too short",
			Source:   `decode_lz4!(decode_base64!("AwAAAEBjb3Jk"), prepended_size: true)`,
			RunError: "unable to decode value with lz4 block decoder",
		},
		{Name: "empty", Source: `decode_lz4!("")`, RunError: "unable to decode value with lz4 block decoder"},
		{
			Name:     "literals cut off",
			Source:   `decode_lz4!(decode_base16!("406162"))`,
			RunError: "literal is out of bounds of the input",
		},
		{
			Name:     "length cut off",
			Source:   `decode_lz4!(decode_base16!("f0ff"))`,
			RunError: "expected another byte, found none",
		},
		{
			Name:     "offset cut off",
			Source:   `decode_lz4!(decode_base16!("106101"))`,
			RunError: "expected another byte, found none",
		},
		{
			Name:     "offset too far",
			Source:   `decode_lz4!(decode_base16!("1061020000"))`,
			RunError: "the offset to copy is not contained",
		},
		{
			Name:     "a copy too long",
			Source:   `decode_lz4!(decode_base16!("1061010000"), buf_size: 3)`,
			RunError: "output is too small for the decompressed data, actual 3, expected 5",
		},
		{Name: "negative", Source: `decode_lz4!("a", buf_size: -1)`, RunError: "must not be negative"},
		{
			Name:     "frame cut off",
			Source:   `decode_lz4!(decode_base64!("BCJNGGBAgg=="))`,
			RunError: "unable to decode value with lz4 frame decoder",
		},
	})
}

// texts returns texts of several kinds and many lengths.
func texts() []string {
	random := rand.New(rand.NewPCG(1, 2))
	list := []string{""}
	for n := 1; n < 1<<18; n = n*3/2 + 1 {
		noise := make([]byte, n)
		for i := range noise {
			noise[i] = byte(random.Uint32())
		}
		words := make([]byte, 0, n)
		for len(words) < n {
			words = append(words, []string{"GET ", "/index ", "200 ", "ok\n"}[random.IntN(4)]...)
		}
		list = append(list, string(noise), string(words[:n]), strings.Repeat("a", n))
	}
	return list
}

func TestCompressRoundTrip(t *testing.T) {
	for _, source := range []string{
		`decode_gzip!(encode_gzip!(.v))`, `decode_gzip!(encode_gzip!(.v, compression_level: 0))`,
		`decode_gzip!(encode_gzip!(.v, compression_level: 1))`, `decode_gzip!(encode_gzip!(.v, compression_level: 10))`,
		`decode_zlib!(encode_zlib!(.v))`, `decode_zlib!(encode_zlib!(.v, compression_level: 3))`,
		`decode_zstd!(encode_zstd!(.v))`, `decode_zstd!(encode_zstd!(.v, compression_level: 22))`,
		`decode_zstd!(encode_zstd!(.v, compression_level: -7))`, `decode_snappy!(encode_snappy!(.v))`,
		`decode_lz4!(encode_lz4!(.v), prepended_size: true)`, `decode_lz4!(encode_lz4!(.v, prepend_size: false))`,
		`decode_base64!(encode_base64!(.v))`, `decode_base16!(encode_base16!(.v))`,
	} {
		t.Run(source, func(t *testing.T) {
			for _, text := range texts() {
				got, err := vrltest.Text(t, source, text, fn.Budget{})
				if err != nil || got != text {
					t.Fatalf("%d bytes are decoded as %d: %v", len(text), len(got), err)
				}
			}
		})
	}
}

// The decoders of the standard library can read the results, which are one block where that is promised.
func TestDeflateContainers(t *testing.T) {
	for _, text := range texts() {
		z, err := vrltest.Text(t, `encode_gzip!(.v)`, text, fn.Budget{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := gzip.NewReader(strings.NewReader(z))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != text {
			t.Fatalf("gzip of %d bytes: %v", len(text), err)
		}
		z, err = vrltest.Text(t, `encode_zlib!(.v)`, text, fn.Budget{})
		if err != nil {
			t.Fatal(err)
		}
		rz, err := zlib.NewReader(strings.NewReader(z))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(rz); err != nil || string(got) != text {
			t.Fatalf("zlib of %d bytes: %v", len(text), err)
		}
	}
}

// Frames as other programs write them.
func TestDecodeFrames(t *testing.T) {
	text := strings.Repeat("a line of a log, ", 50_000)
	var b bytes.Buffer
	w := lz4.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := vrltest.Text(t, `decode_lz4!(.v)`, b.String(), fn.Budget{}); err != nil || got != text {
		t.Errorf("lz4 frame: %d bytes, %v", len(got), err)
	}
	b.Reset()
	for range 2 {
		e, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(e, text)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := vrltest.Text(t, `decode_zstd!(.v)`, b.String(), fn.Budget{}); err != nil || got != text+text {
		t.Errorf("zstd frames: %d bytes, %v", len(got), err)
	}
}

// A few bytes must not expand beyond the budget.
func TestCompressionBombs(t *testing.T) {
	const size = 32 << 20
	huge := strings.Repeat("\x00", size)
	var gz, zl, l4 bytes.Buffer
	for _, w := range []io.WriteCloser{gzip.NewWriter(&gz), zlib.NewWriter(&zl), lz4.NewWriter(&l4)} {
		_, _ = io.WriteString(w, huge)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	block := make([]byte, lz4.CompressBlockBound(size))
	n, err := lz4.CompressBlock([]byte(huge), block, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ source, v string }{
		{`decode_gzip!(.v)`, gz.String()},
		{`decode_zlib!(.v)`, zl.String()},
		{`decode_lz4!(.v)`, l4.String()},
		{`decode_lz4!(.v, buf_size: 33554432)`, string(block[:n])},
		{`decode_zstd!(.v)`, string(e.EncodeAll([]byte(huge), nil))},
	} {
		t.Run(c.source, func(t *testing.T) {
			_, err := vrltest.Text(t, c.source, c.v, fn.Budget{Steps: 1 << 20, Bytes: 1 << 20})
			var failed *vrl.Error
			if !errors.As(err, &failed) || failed.Reason != vrl.Exhausted {
				t.Errorf("%d bytes: %v; want the budget used up", len(c.v), err)
			}
		})
	}
}

// TestEncodeBombs checks that one long string that occurs many times cannot exceed the budget.
func TestEncodeBombs(t *testing.T) {
	const blow = `l = [.v, .v, .v, .v, .v, .v, .v, .v]; l = [l, l, l, l, l, l, l, l]; l = [l, l, l, l, l, l, l, l]; `
	for _, source := range []string{
		blow + `encode_json(l)`, blow + `encode_json(l, pretty: true)`, blow + `encode_key_value({"l": l})`,
		`l = [.v, .v, .v, .v, .v, .v, .v, .v]; l = append(append(l, l), append(l, l)); encode_csv!(l)`,
	} {
		t.Run(source, func(t *testing.T) {
			_, err := vrltest.Text(t, source, zeros(64<<10), fn.Budget{Steps: 1 << 20, Bytes: 1 << 20})
			var failed *vrl.Error
			if !errors.As(err, &failed) || failed.Reason != vrl.Exhausted {
				t.Errorf("%v; want the budget used up", err)
			}
		})
	}
}

func FuzzDecoders(f *testing.F) {
	var programs []*vrl.Program
	for _, source := range []string{
		`decode_gzip!(.v)`, `decode_zlib!(.v)`, `decode_zstd!(.v)`, `decode_snappy!(.v)`, `decode_lz4!(.v)`,
		`decode_lz4!(.v, prepended_size: true)`, `decode_base64!(.v)`, `decode_base16!(.v)`, `decode_percent!(.v)`,
		`decode_punycode!(.v)`, `decode_punycode!(.v, validate: false)`, `encode_punycode!(.v)`, `decode_mime_q!(.v)`,
		`decode_charset!(.v, "iso-2022-jp")`, `decode_charset!(.v, "utf-16")`, `encode_charset!(.v, "gb18030")`,
		`ip_cidr_contains!(.v, .v)`, `ip_subnet!("10.0.0.1", .v)`, `uuid_from_friendly_id!(.v)`,
		`format_timestamp!(t'2026-01-01T00:00:00Z', .v)`,
		`decrypt!(.v, "AES-128-CBC-PKCS7", key: "0123456789abcdef", iv: "0123456789abcdef")`,
		`decrypt!(.v, "AES-128-SIV", key: "0123456789abcdef0123456789abcdef", iv: "0123456789abcdef")`,
		`decrypt!(.v, "XSALSA20-POLY1305", key: "0123456789abcdef0123456789abcdef", iv: "0123456789abcdef01234567")`,
	} {
		p, _, err := vrl.Compile(source, vrl.Options{Budget: fn.Budget{Steps: 1 << 16, Bytes: 1 << 18}})
		if err != nil {
			f.Fatal(err)
		}
		programs = append(programs, p)
	}
	for _, seed := range []string{
		"", "cord", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x4b\xce\x2f\x4a\x01\x00",
		"\x78\x9c\x4b\xce\x2f\x4a\x01\x00\x04\x25\x01\xa9",
		"\x28\xb5\x2f\xfd\x00\x58\x21\x00\x00cord", "\x04\x0ccord",
		"\x04\x22\x4d\x18\x60\x40\x82\x00\x00\x00\x00", "\x40cord",
		"xn--bcher-kva.example", "=?utf-8?q?=C3=BC?=", "10.0.0.0/8", "%Y-%m-%dT%H:%M:%S%.3f%:z", "3s87yEvnmkiPBMHsj8bwwc",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, v string) {
		for _, p := range programs {
			event := value.ObjectOf(value.Field{Key: "v", Value: value.NewString(v)})
			meta := value.ObjectOf()
			out, err := p.Run(&event, &meta)
			if err == nil && out.Len() > 1<<18 {
				t.Errorf("%d bytes become %d", len(v), out.Len())
			}
		}
	})
}

// A truncated frame is an error, wherever it ends.
func TestDecodeCutOff(t *testing.T) {
	text := strings.Repeat("a line of a log, ", 10)
	var b bytes.Buffer
	w := lz4.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ encode, decode string }{
		{`encode_gzip!(.v)`, `decode_gzip!(.v)`},
		{`encode_zlib!(.v)`, `decode_zlib!(.v)`},
		{`encode_zstd!(.v)`, `decode_zstd!(.v)`},
		{`encode_snappy!(.v)`, `decode_snappy!(.v)`},
		{``, `decode_lz4!(.v)`},
	} {
		whole := b.String()
		if c.encode != "" {
			var err error
			if whole, err = vrltest.Text(t, c.encode, text, fn.Budget{}); err != nil {
				t.Fatal(err)
			}
		}
		for n := 5; n < len(whole); n++ {
			if got, err := vrltest.Text(t, c.decode, whole[:n], fn.Budget{}); err == nil {
				t.Errorf("%s: %d of %d bytes give %q", c.decode, n, len(whole), got)
			}
		}
	}
}
