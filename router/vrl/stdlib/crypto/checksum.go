package crypto

import (
	"encoding/binary"
	"math/bits"
	"strconv"

	"github.com/cespare/xxhash/v2"
	"github.com/zeebo/xxh3"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

var crc = &fn.Function{
	Name:  "crc",
	Group: fn.Checksum,
	Doc:   "Returns a cyclic redundancy check of the string as decimal digits.",
	Params: []fn.Param{
		fn.ValueParam("The string to check."),
		{
			Name: "algorithm", Doc: "Which check.", Kind: kind.String, Optional: true,
			Default: value.NewString("CRC_32_ISO_HDLC"), Enum: crcEnum(),
		},
	},
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{"algorithm is not a known check"},
	Examples: []fn.Example{
		{Title: "the checksum of gzip and Ethernet", Source: `crc("123456789")`, Result: `"3421780262"`},
		{Title: "another one", Source: `crc("123456789", algorithm: "CRC_16_MODBUS")`, Result: `"19255"`},
		{
			Title:  "unknown algorithm",
			Source: `crc!("123456789", algorithm: "CRC_33")`, Fails: `Invalid CRC algorithm: CRC_33`,
		},
	},
	Type: func(c *fn.Call) fn.TypeDef {
		v, ok := c.Const(1)
		return fn.TypeDef{Kind: kind.String, Fallible: !ok || v.Str() != crcWide && crcTables[v.Str()] == nil}
	},
	Impl: fn.Impl{F2: func(f *fn.Frame, v, algorithm value.Value) (value.Value, bool) {
		if algorithm.Str() == crcWide {
			if !f.Spend(v.Len() / 64) {
				return value.Value{}, false
			}
			return f.Keep(fn.Octets(wideSum(v.Str())))
		}
		t := crcTables[algorithm.Str()]
		if t == nil {
			return f.Failf("Invalid CRC algorithm: %s", algorithm.Text())
		}
		var room [20]byte
		return f.Keep(strconv.AppendUint(room[:0], t.sum(v.Str()), 10))
	}},
}

// xxVariants are the variants of xxhash.
var xxVariants = map[string]func(f *fn.Frame, s string) (value.Value, bool){
	"XXH32": func(_ *fn.Frame, s string) (value.Value, bool) { return value.NewInt(int64(xxh32(s))), true },
	"XXH64": func(_ *fn.Frame, s string) (value.Value, bool) {
		return value.NewInt(int64(xxhash.Sum64String(s))), true
	},
	"XXH3-64": func(_ *fn.Frame, s string) (value.Value, bool) { return value.NewInt(int64(xxh3.HashString(s))), true },
	"XXH3-128": func(f *fn.Frame, s string) (value.Value, bool) {
		x := xxh3.HashString128(s)
		return f.Keep(fn.Octets(decimal128(x.Hi, x.Lo)))
	},
}

var xxHash = &fn.Function{
	Name:  "xxhash",
	Group: fn.Checksum,
	Doc: "Returns an xxHash of the string: an integer, which may be negative if it has 64 bits, or decimal digits if it " +
		"has 128. It is fast, but does not protect against forgery.",
	Params: []fn.Param{
		fn.ValueParam("The string to hash."),
		{
			Name: "variant", Doc: "The variant.", Kind: kind.String, Optional: true, Default: value.NewString("XXH32"),
			Enum: []fn.Enum{
				{Value: "XXH32", Doc: "32 bits"},
				{Value: "XXH64", Doc: "64 bits"},
				{Value: "XXH3-64", Doc: "64 bits, faster for short strings"},
				{Value: "XXH3-128", Doc: "128 bits"},
			},
		},
	},
	Returns:  kind.Or(kind.Integer, kind.String),
	Fallible: true,
	Errors:   []string{"variant is not one of these"},
	Examples: []fn.Example{
		{Title: "by default", Source: `xxhash("foo")`, Result: `3792637401`},
		{Title: "64 bits", Source: `xxhash("foo", variant: "XXH3-64")`, Result: `-6093828362558603894`},
		{
			Title:  "128 bits",
			Source: `xxhash("foo", variant: "XXH3-128")`,
			Result: `"161745101148472925293886522910304009610"`,
		},
	},
	Type: func(c *fn.Call) fn.TypeDef {
		v, ok := c.Const(1)
		switch {
		case !ok || xxVariants[v.Str()] == nil:
			return fn.TypeDef{Kind: kind.Or(kind.Integer, kind.String), Fallible: true}
		case v.Str() == "XXH3-128":
			return fn.TypeDef{Kind: kind.String}
		}
		return fn.TypeDef{Kind: kind.Integer}
	},
	Impl: fn.Impl{F2: func(f *fn.Frame, v, variant value.Value) (value.Value, bool) {
		sum := xxVariants[variant.Str()]
		if sum == nil {
			return f.Fail("Variant must be either 'XXH32', 'XXH64', 'XXH3-64', or 'XXH3-128'")
		}
		return sum(f, v.Str())
	}},
}

// xxh32 is XXH32 with seed 0. It processes four lanes of 32 bits, and the rest by words and bytes.
func xxh32(s string) uint32 {
	const p1, p2, p3, p4, p5 uint32 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
	b := fn.Octets(s)
	h := p5
	if len(b) >= 16 {
		one := p1
		lanes := [4]uint32{one + p2, p2, 0, -one}
		for ; len(b) >= 16; b = b[16:] {
			for i := range lanes {
				lanes[i] = bits.RotateLeft32(lanes[i]+binary.LittleEndian.Uint32(b[4*i:])*p2, 13) * p1
			}
		}
		h = bits.RotateLeft32(lanes[0], 1) + bits.RotateLeft32(lanes[1], 7) + bits.RotateLeft32(lanes[2], 12) +
			bits.RotateLeft32(lanes[3], 18)
	}
	h += uint32(len(s))
	for ; len(b) >= 4; b = b[4:] {
		h = bits.RotateLeft32(h+binary.LittleEndian.Uint32(b)*p3, 17) * p4
	}
	for _, c := range b {
		h = bits.RotateLeft32(h+uint32(c)*p5, 11) * p1
	}
	h = (h ^ h>>15) * p2
	h = (h ^ h>>13) * p3
	return h ^ h>>16
}
