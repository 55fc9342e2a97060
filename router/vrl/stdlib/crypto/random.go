package crypto

import (
	"crypto/rand"
	"encoding/hex"
	"math"
	"math/bits"
	mathrand "math/rand/v2"

	"cordwood/router/vrl/ascii"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

var randomBool = &fn.Function{
	Name:    "random_bool",
	Group:   fn.Random,
	Doc:     "Returns true or false at random, each with the same probability.",
	Returns: kind.Boolean,
	Examples: []fn.Example{
		{Title: "a coin", Source: `random_bool()`, Any: true},
		{Title: "either", Source: `is_boolean(random_bool())`, Result: `true`},
	},
	Impl: fn.Impl{F0: func(*fn.Frame) (value.Value, bool) { return value.NewBool(mathrand.Uint64()&1 != 0), true }},
}

// maxRandom is how many random bytes a call returns at most.
const maxRandom = 64 << 10

// badLength returns why a length is invalid for random_bytes, or "" if it is valid.
func badLength(n int64) string {
	switch {
	case n < 0:
		return "Length cannot be negative"
	case n > maxRandom:
		return "Length is too large. Maximum is 64k"
	}
	return ""
}

var randomBytes = &fn.Function{
	Name:     "random_bytes",
	Group:    fn.Random,
	Doc:      "Returns random bytes that cannot be predicted, for keys and initialization vectors.",
	Params:   []fn.Param{{Name: "length", Doc: "The number of bytes, up to 65536.", Kind: kind.Integer}},
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{"the length is negative or more than 65536"},
	Examples: []fn.Example{
		{Title: "a key", Source: `encode_base64(random_bytes(32))`, Any: true},
		{Title: "their number", Source: `length(random_bytes(16))`, Result: `16`},
	},
	Type: func(c *fn.Call) fn.TypeDef {
		_, ok := c.Const(0)
		return fn.TypeDef{Kind: kind.String, Fallible: !ok}
	},
	Compile: func(c *fn.Call) (fn.Impl, error) {
		if v, ok := c.Const(0); ok && v.Kind() == value.Int {
			if problem := badLength(v.Int()); problem != "" {
				return fn.Impl{}, c.BadArgument(0, "%s", problem)
			}
		}
		return fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
			if problem := badLength(v.Int()); problem != "" {
				return f.Fail(problem)
			}
			n := int(v.Int())
			if !f.Reserve(n) || !f.Spend(n/256) {
				return value.Value{}, false
			}
			b := f.Bytes(n)
			_, _ = rand.Read(b) // it never fails
			return value.NewBytes(b), true
		}}, nil
	},
}

const badRange = "max must be greater than min"

// rangeParams returns the parameters of random_float and random_int.
func rangeParams(k kind.Kind) []fn.Param {
	return []fn.Param{
		{Name: "min", Doc: "The smallest possible result.", Kind: k},
		{Name: "max", Doc: "The limit, which is greater than all results.", Kind: k},
	}
}

// rangeType makes a call infallible if its range is known.
func rangeType(k kind.Kind) func(*fn.Call) fn.TypeDef {
	return func(c *fn.Call) fn.TypeDef {
		_, low := c.Const(0)
		_, high := c.Const(1)
		return fn.TypeDef{Kind: k, Fallible: !low || !high}
	}
}

// compileRange refuses a range that is known to be empty.
func compileRange(impl fn.Impl) func(*fn.Call) (fn.Impl, error) {
	return func(c *fn.Call) (fn.Impl, error) {
		low, known := c.Const(0)
		high, also := c.Const(1)
		if known && also {
			if n, ok := value.Compare(low, high); !ok || n >= 0 {
				return fn.Impl{}, c.BadArgument(0, "%s", badRange)
			}
		}
		return impl, nil
	}
}

var randomFloat = &fn.Function{
	Name:     "random_float",
	Group:    fn.Random,
	Doc:      "Returns a random number that is at least min and less than max.",
	Params:   rangeParams(kind.Float),
	Returns:  kind.Float,
	Fallible: true,
	Errors:   []string{"max is not greater than min"},
	Examples: []fn.Example{
		{Title: "a number", Source: `random_float(0.0, 1.0)`, Any: true},
		{Title: "its range", Source: `random_float(5.0, 6.0) >= 5.0`, Result: `true`},
	},
	Type: rangeType(kind.Float),
	Compile: compileRange(fn.Impl{F2: func(f *fn.Frame, low, high value.Value) (value.Value, bool) {
		a, b := low.Float(), high.Float()
		if !(a < b) {
			return f.Fail(badRange)
		}
		r := mathrand.Float64()
		// Halves are used so that the difference of large numbers does not overflow.
		x := 2 * (a/2 + (b/2-a/2)*r)
		if x < a || math.IsNaN(x) {
			x = a
		}
		if x >= b {
			x = math.Nextafter(b, a)
		}
		return value.NewFloat(x), true
	}}),
}

var randomInt = &fn.Function{
	Name:     "random_int",
	Group:    fn.Random,
	Doc:      "Returns a random integer that is at least min and less than max.",
	Params:   rangeParams(kind.Integer),
	Returns:  kind.Integer,
	Fallible: true,
	Errors:   []string{"max is not greater than min"},
	Examples: []fn.Example{
		{Title: "a die", Source: `random_int(1, 7)`, Any: true},
		{Title: "one left", Source: `random_int(3, 4)`, Result: `3`},
	},
	Type: rangeType(kind.Integer),
	Compile: compileRange(fn.Impl{F2: func(f *fn.Frame, low, high value.Value) (value.Value, bool) {
		a, b := low.Int(), high.Int()
		if a >= b {
			return f.Fail(badRange)
		}
		return value.NewInt(a + int64(mathrand.Uint64N(uint64(b)-uint64(a)))), true
	}}),
}

// uuidText returns a UUID as text.
func uuidText(f *fn.Frame, id [16]byte) (value.Value, bool) {
	if !f.Reserve(36) {
		return value.Value{}, false
	}
	b := f.Bytes(36)[:0]
	for i, n := range []int{4, 2, 2, 2, 6} {
		if i > 0 {
			b = append(b, '-')
		}
		at := [...]int{0, 4, 6, 8, 10}[i]
		b = hex.AppendEncode(b, id[at:at+n])
	}
	return value.NewBytes(b), true
}

// stampUUID sets the version and variant bits of a UUID.
func stampUUID(id *[16]byte, version byte) {
	id[6] = id[6]&0x0f | version<<4
	id[8] = id[8]&0x3f | 0x80
}

var uuidV4 = &fn.Function{
	Name:    "uuid_v4",
	Group:   fn.Random,
	Doc:     "Returns a random UUID (version 4).",
	Returns: kind.String,
	Examples: []fn.Example{
		{Title: "a UUID", Source: `uuid_v4()`, Any: true},
		{
			Title:  "its form",
			Source: `match(uuid_v4(), r'^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$')`,
			Result: `true`,
		},
	},
	Impl: fn.Impl{F0: func(f *fn.Frame) (value.Value, bool) {
		var id [16]byte
		_, _ = rand.Read(id[:]) // it never fails
		stampUUID(&id, 4)
		return uuidText(f, id)
	}},
}

var uuidV7 = &fn.Function{
	Name:  "uuid_v7",
	Group: fn.Random,
	Doc: "Returns a UUID that starts with a time in milliseconds and is random otherwise (version 7), " +
		"so that later UUIDs " +
		"sort after earlier ones. The time in the UUID is up to 4.3 seconds later than a given timestamp, as in other " +
		"implementations of the language, so that they agree on the id of an event.",
	Params: []fn.Param{
		{Name: "timestamp", Doc: "The time. The default value is the current time.", Kind: kind.Timestamp, Optional: true},
	},
	Returns: kind.String,
	Examples: []fn.Example{
		{Title: "now", Source: `uuid_v7()`, Any: true},
		{Title: "from a time", Source: `slice!(uuid_v7(t'2026-01-01T00:00:00Z'), 0, 8)`, Result: `"019b76da"`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		ms := uint64(f.Host.Now().UnixMilli())
		if v.IsDefined() {
			// For compatibility, the nanoseconds are the lower 32 bits of the nanoseconds since 1970, and not those since
			// the start of the second.
			sec, nsec := v.Unix()
			ms = uint64(sec*1000 + int64(uint32(sec*1e9+int64(nsec)))/1e6)
		}
		var id [16]byte
		_, _ = rand.Read(id[6:]) // it never fails
		for i := range 6 {
			id[i] = byte(ms >> (40 - 8*i))
		}
		stampUUID(&id, 7)
		return uuidText(f, id)
	}},
}

var uuidFromFriendlyID = &fn.Function{
	Name:     "uuid_from_friendly_id",
	Group:    fn.Random,
	Doc:      "Converts a Friendly ID, which is a UUID as a number of base 62, to the UUID.",
	Params:   []fn.Param{fn.ValueParam("The Friendly ID.")},
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{"the string is empty, has characters other than ASCII letters and digits, or exceeds 128 bits"},
	Examples: []fn.Example{
		{
			Title:  "an id",
			Source: `uuid_from_friendly_id!("3s87yEvnmkiPBMHsj8bwwc")`,
			Result: `"7f41deed-d5e2-8b5e-7a13-ab4ff93cfad2"`,
		},
		{Title: "not base 62", Source: `uuid_from_friendly_id!("3s-8")`, Fails: `failed to decode friendly id`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		const problem = "failed to decode friendly id: "
		s := v.Str()
		if s == "" {
			return f.Fail(problem + "it is empty")
		}
		var high, low uint64
		for i := range len(s) {
			c := s[i]
			var d uint64
			switch {
			case ascii.IsDigit(c):
				d = uint64(c - '0')
			case c >= 'A' && c <= 'Z':
				d = uint64(c-'A') + 10
			case c >= 'a' && c <= 'z':
				d = uint64(c-'a') + 36
			default:
				return f.Fail(problem + "it has a character that is not an ASCII letter or digit")
			}
			over, up := bits.Mul64(high, 62)
			carry, down := bits.Mul64(low, 62)
			var c1, c2 uint64
			low, c1 = bits.Add64(down, d, 0)
			high, c2 = bits.Add64(up, carry, c1)
			if over != 0 || c2 != 0 {
				return f.Fail(problem + "it has more than 128 bits")
			}
		}
		var id [16]byte
		for i := range 8 {
			id[i], id[8+i] = byte(high>>(56-8*i)), byte(low>>(56-8*i))
		}
		return uuidText(f, id)
	}},
}
