package crypto

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha3"
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"hash"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// hexText returns bytes as a string of hexadecimal digits.
func hexText(f *fn.Frame, sum []byte) (value.Value, bool) {
	if !f.Reserve(2 * len(sum)) {
		return value.Value{}, false
	}
	return value.NewBytes(hex.AppendEncode(f.Bytes(2 * len(sum))[:0], sum)), true
}

var md5Sum = &fn.Function{
	Name:    "md5",
	Group:   fn.Cryptography,
	Doc:     "Returns the MD5 hash of the string in hexadecimal digits. It does not protect against forgery.",
	Params:  []fn.Param{fn.ValueParam("The string to hash.")},
	Returns: kind.String,
	Examples: []fn.Example{
		{Title: "a hash", Source: `md5("cord")`, Result: `"a5fdad9de7faf3a0492812b9cb818d85"`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		sum := md5.Sum(fn.Octets(v.Str()))
		return hexText(f, sum[:])
	}},
}

var sha1Sum = &fn.Function{
	Name:    "sha1",
	Group:   fn.Cryptography,
	Doc:     "Returns the SHA-1 hash of the string in hexadecimal digits. It does not protect against forgery.",
	Params:  []fn.Param{fn.ValueParam("The string to hash.")},
	Returns: kind.String,
	Examples: []fn.Example{
		{Title: "a hash", Source: `sha1("cord")`, Result: `"3d72b32fffbc94bb6296e9edbccc005958d6bee5"`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		sum := sha1.Sum(fn.Octets(v.Str()))
		return hexText(f, sum[:])
	}},
}

// A digest appends the hash of s to b.
type digest func(b, s []byte) []byte

var sha2Variants = map[string]digest{
	"SHA-224":     func(b, s []byte) []byte { x := sha256.Sum224(s); return append(b, x[:]...) },
	"SHA-256":     func(b, s []byte) []byte { x := sha256.Sum256(s); return append(b, x[:]...) },
	"SHA-384":     func(b, s []byte) []byte { x := sha512.Sum384(s); return append(b, x[:]...) },
	"SHA-512":     func(b, s []byte) []byte { x := sha512.Sum512(s); return append(b, x[:]...) },
	"SHA-512/224": func(b, s []byte) []byte { x := sha512.Sum512_224(s); return append(b, x[:]...) },
	"SHA-512/256": func(b, s []byte) []byte { x := sha512.Sum512_256(s); return append(b, x[:]...) },
}

var sha3Variants = map[string]digest{
	"SHA3-224": func(b, s []byte) []byte { x := sha3.Sum224(s); return append(b, x[:]...) },
	"SHA3-256": func(b, s []byte) []byte { x := sha3.Sum256(s); return append(b, x[:]...) },
	"SHA3-384": func(b, s []byte) []byte { x := sha3.Sum384(s); return append(b, x[:]...) },
	"SHA3-512": func(b, s []byte) []byte { x := sha3.Sum512(s); return append(b, x[:]...) },
}

// variantOf compiles a call of sha2 or sha3. The second argument selects the variant.
func variantOf(variants map[string]digest) func(c *fn.Call) (fn.Impl, error) {
	return func(c *fn.Call) (fn.Impl, error) {
		name, _ := c.Const(1)
		sum := variants[name.Str()]
		return fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
			var room [64]byte
			return hexText(f, sum(room[:0], fn.Octets(v.Str())))
		}}, nil
	}
}

var sha2Sum = &fn.Function{
	Name:  "sha2",
	Group: fn.Cryptography,
	Doc:   "Returns a SHA-2 hash of the string in hexadecimal digits.",
	Params: []fn.Param{
		fn.ValueParam("The string to hash."),
		{
			Name: "variant", Doc: "The variant.", Kind: kind.String, Optional: true,
			Default: value.NewString("SHA-512/256"), Constant: true,
			Enum: []fn.Enum{
				{Value: "SHA-224", Doc: "224 bits"},
				{Value: "SHA-256", Doc: "256 bits"},
				{Value: "SHA-384", Doc: "384 bits"},
				{Value: "SHA-512", Doc: "512 bits"},
				{Value: "SHA-512/224", Doc: "224 bits, by the algorithm for SHA-512"},
				{Value: "SHA-512/256", Doc: "256 bits, by the algorithm for SHA-512"},
			},
		},
	},
	Returns: kind.String,
	Examples: []fn.Example{
		{
			Title:  "by default",
			Source: `sha2("cord")`,
			Result: `"4f6ad00532b9655311c2498d36c92a9ccd1ef360e5211b65d70e03905a075628"`,
		},
		{
			Title:  "SHA-256",
			Source: `sha2("cord", variant: "SHA-256")`,
			Result: `"19dbaf77a5ecfc85a6afde766a8851bbd7e3b9af3947072ca978d87179817d75"`,
		},
	},
	Compile: variantOf(sha2Variants),
}

var sha3Sum = &fn.Function{
	Name:  "sha3",
	Group: fn.Cryptography,
	Doc:   "Returns a SHA-3 hash of the string in hexadecimal digits.",
	Params: []fn.Param{
		fn.ValueParam("The string to hash."),
		{
			Name: "variant", Doc: "The variant.", Kind: kind.String, Optional: true,
			Default: value.NewString("SHA3-512"), Constant: true,
			Enum: []fn.Enum{
				{Value: "SHA3-224", Doc: "224 bits"},
				{Value: "SHA3-256", Doc: "256 bits"},
				{Value: "SHA3-384", Doc: "384 bits"},
				{Value: "SHA3-512", Doc: "512 bits"},
			},
		},
	},
	Returns: kind.String,
	Examples: []fn.Example{
		{
			Title:  "SHA3-256",
			Source: `sha3("cord", variant: "SHA3-256")`,
			Result: `"9957b37a5f36d98ca4c7af1165727a28ab33e16f2de3ce9139b70a7d6fb464fa"`,
		},
	},
	Compile: variantOf(sha3Variants),
}

// hmacHashes are the hash functions of hmac by name.
var hmacHashes = map[string]func() hash.Hash{
	"SHA1": sha1.New, "SHA-224": sha256.New224, "SHA-256": sha256.New, "SHA-384": sha512.New384, "SHA-512": sha512.New,
}

var hmacSum = &fn.Function{
	Name:  "hmac",
	Group: fn.Cryptography,
	Doc:   "Returns the bytes of the message authentication code (HMAC) of the string under a key.",
	Params: []fn.Param{
		fn.ValueParam("The string to authenticate."),
		{Name: "key", Doc: "The secret key.", Kind: kind.String},
		{
			Name: "algorithm", Doc: "The hash function.", Kind: kind.String, Optional: true, Default: value.NewString("SHA-256"),
			Enum: []fn.Enum{
				{Value: "SHA1", Doc: "160 bits"},
				{Value: "SHA-224", Doc: "224 bits"},
				{Value: "SHA-256", Doc: "256 bits"},
				{Value: "SHA-384", Doc: "384 bits"},
				{Value: "SHA-512", Doc: "512 bits"},
			},
		},
	},
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{"algorithm is not a known hash function"},
	Examples: []fn.Example{
		{
			Title:  "by default",
			Source: `encode_base16(hmac("cord", "secret"))`,
			Result: `"1bfc3f1bbeaa9d9a528fb65b2fca7e22effefcaffefb108d98f3d103f9674522"`,
		},
		{
			Title:  "another hash",
			Source: `encode_base16(hmac("cord", "secret", algorithm: "SHA1"))`,
			Result: `"7f2b86240763938d823e2a846c6273d2e458c623"`,
		},
	},
	Type: func(c *fn.Call) fn.TypeDef {
		name, ok := c.Const(2)
		return fn.TypeDef{Kind: kind.String, Fallible: !ok || hmacHashes[name.Str()] == nil}
	},
	Impl: fn.Impl{F3: func(f *fn.Frame, v, key, algorithm value.Value) (value.Value, bool) {
		h := hmacHashes[algorithm.Str()]
		if h == nil {
			return f.Failf("Invalid algorithm: %s", algorithm.Text())
		}
		m := hmac.New(h, fn.Octets(key.Str()))
		_, _ = m.Write(fn.Octets(v.Str())) // hashes do not fail
		var room [64]byte
		return f.Keep(m.Sum(room[:0]))
	}},
}

var seaHash = &fn.Function{
	Name:  "seahash",
	Group: fn.Cryptography,
	Doc: "Returns the SeaHash of the string, 64 bits, as an integer, which may be negative. " +
		"It is fast, but does not protect against forgery.",
	Params:  []fn.Param{fn.ValueParam("The string to hash.")},
	Returns: kind.Integer,
	Examples: []fn.Example{
		{Title: "a hash", Source: `seahash("foobar")`, Result: `5348458858952426560`},
	},
	Impl: fn.Impl{F1: func(_ *fn.Frame, v value.Value) (value.Value, bool) {
		return value.NewInt(int64(sumSeaHash(fn.Octets(v.Str())))), true
	}},
}

// sumSeaHash is SeaHash with its usual seeds: eight bytes at a time, the lowest first, are
// mixed into four lanes in turn.
func sumSeaHash(s []byte) uint64 {
	mix := func(x uint64) uint64 {
		const prime = 0x6eed0e9da4d94a4f
		x *= prime
		x ^= x >> 32 >> (x >> 60)
		return x * prime
	}
	lanes := [4]uint64{0x16f11fe89b0d677c, 0xb480a793d8e6c86c, 0x6fe2e5aaf078ebc9, 0x14f994a4c5259381}
	n, i := uint64(len(s)), 0
	for ; len(s) >= 8; s = s[8:] {
		lanes[i&3] = mix(lanes[i&3] ^ binary.LittleEndian.Uint64(s))
		i++
	}
	if len(s) > 0 {
		var last [8]byte
		copy(last[:], s)
		lanes[i&3] = mix(lanes[i&3] ^ binary.LittleEndian.Uint64(last[:]))
	}
	return mix(lanes[0] ^ lanes[1] ^ lanes[2] ^ lanes[3] ^ n)
}
