package parse

import (
	"math/big"
	"strings"

	"cordwood/router/vrl/ascii"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// This file has the parsers of numbers with units. They compute exactly, so that 1.1 weeks are 7.7 days.

// maxNumber limits the number of digits of a number with a unit.
const maxNumber = 64

// unitNumber parses a number with an optional fraction at the start of s; "" if there is none.
func unitNumber(s string) (number, rest string) {
	n := ascii.Digits(s)
	if n < len(s) && s[n] == '.' {
		if m := ascii.Digits(s[n+1:]); m > 0 {
			n += 1 + m
		}
	}
	if n > maxNumber {
		return "", s
	}
	return s[:n], s[n:]
}

// durationUnits are the units in nanoseconds. If a text starts with two of them, the longer one counts.
var durationUnits = []struct {
	name string
	ns   int64
}{
	{"ns", 1},
	{"us", 1e3},
	{"µs", 1e3},
	{"μs", 1e3},
	{"ms", 1e6},
	{"cs", 1e7},
	{"ds", 1e8},
	{"s", 1e9},
	{"m", 60e9},
	{"h", 3600e9},
	{"d", 86400e9},
	{"w", 604800e9},
}

func durationUnit(name string) (*big.Rat, bool) {
	for _, u := range durationUnits {
		if u.name == name {
			return new(big.Rat).SetInt64(u.ns), true
		}
	}
	return nil, false
}

// cutUnit parses the unit at the start of s.
func cutUnit(s string) (unit *big.Rat, rest string, ok bool) {
	best := 0
	for _, u := range durationUnits {
		if strings.HasPrefix(s, u.name) && len(u.name) > best {
			best = len(u.name)
			unit = new(big.Rat).SetInt64(u.ns)
		}
	}
	return unit, s[best:], best > 0
}

// maxDuration is the longest duration, in nanoseconds: 2^96 seconds.
var maxDuration = new(big.Rat).SetInt(new(big.Int).Mul(new(big.Int).Lsh(big.NewInt(1), 96), big.NewInt(1e9)))

var parseDuration = &fn.Function{
	Name:  "parse_duration",
	Group: fn.Parse,
	Doc:   "Parses a duration such as `1h 30m` or `1.5s`, the sum of its parts in any order, and returns it in a unit.",
	Params: []fn.Param{
		fn.ValueParam("The duration. Each part is a number and a unit: ns, us or µs, ms, cs, ds, s, m, h, d or w."),
		{Name: "unit", Doc: "The unit of the result, one of the units above.", Kind: kind.String},
	},
	Returns:  kind.Float,
	Fallible: true,
	Errors:   []string{"the text is not a duration", "the unit is not known", "the duration is too long"},
	Examples: []fn.Example{
		{Title: "milliseconds", Source: `parse_duration!("250ms", unit: "s")`, Result: `0.25`},
		{Title: "a sum", Source: `parse_duration!("1h 30m", unit: "m")`, Result: `90.0`},
		{Title: "no duration", Source: `parse_duration!("soon", unit: "s")`, Fails: `unable to parse duration: 'soon'`},
	},
	Impl: fn.Impl{F2: func(f *fn.Frame, v, unit value.Value) (value.Value, bool) {
		out, ok := durationUnit(unit.Str())
		if !ok {
			return f.Failf("unknown unit format: '%s'", unit.Str())
		}
		s := v.Text()
		if !f.Spend(len(s)) {
			return value.Value{}, false
		}
		sum := new(big.Rat)
		for rest := s; rest != "" || s == ""; {
			if !f.Spend(50) || !f.Reserve(256) { // arithmetic with large numbers is slow
				return value.Value{}, false
			}
			number, after := unitNumber(ascii.SkipSpace(rest))
			after = skipOne(after)
			u, after, ok := cutUnit(after)
			x, valid := new(big.Rat).SetString(number)
			if !ok || !valid {
				return f.Failf("unable to parse duration: '%s'", rest)
			}
			if sum.Add(sum, x.Mul(x, u)).Cmp(maxDuration) > 0 {
				return f.Failf("unable to convert duration: '%s'", s)
			}
			rest = after
		}
		r, _ := sum.Quo(sum, out).Float64()
		return value.NewFloat(r), true
	}},
}

// skipOne skips one blank.
func skipOne(s string) string {
	if s != "" && ascii.IsSpace(s[0]) {
		return s[1:]
	}
	return s
}

// byteUnit returns how many bytes a unit is.
func byteUnit(name string, base int64) (*big.Rat, bool) {
	if name == "B" {
		return big.NewRat(1, 1), true
	}
	letter, suffix := "", ""
	if name != "" {
		letter, suffix = name[:1], name[1:]
	}
	power := strings.Index("kMGTPE", letter)
	if letter == "K" {
		power = 0
	}
	if letter == "" || power < 0 || suffix != "B" && (suffix != "iB" || base == 10) {
		return nil, false
	}
	factor := int64(1024)
	if base == 10 {
		factor = 1000
	}
	n := big.NewInt(1)
	for range power + 1 {
		n.Mul(n, big.NewInt(factor))
	}
	return new(big.Rat).SetInt(n), true
}

var parseBytes = &fn.Function{
	Name:  "parse_bytes",
	Group: fn.Parse,
	Doc:   "Parses an amount of memory such as `1.5GiB` and returns it in a unit.",
	Params: []fn.Param{
		fn.ValueParam("The amount: a number and a unit, B or one of k, M, G, T, P and E with B or, for base 2, iB."),
		{Name: "unit", Doc: "The unit of the result, one of the units above.", Kind: kind.String},
		{
			Name: "base", Doc: "Whether units are powers of 1024 or of 1000.", Kind: kind.String, Optional: true,
			Default: value.NewString("2"), Constant: true,
			Enum: []fn.Enum{{Value: "2", Doc: "1kB is 1024 bytes."}, {Value: "10", Doc: "1kB is 1000 bytes."}},
		},
	},
	Returns:  kind.Float,
	Fallible: true,
	Errors:   []string{"the text is not an amount", "the unit is not known"},
	Examples: []fn.Example{
		{Title: "base 2", Source: `parse_bytes!("1.5GiB", unit: "MiB")`, Result: `1536.0`},
		{Title: "base 10", Source: `parse_bytes!("1GB", unit: "kB", base: "10")`, Result: `1000000.0`},
		{Title: "no amount", Source: `parse_bytes!("much", unit: "B")`, Fails: `unable to parse bytes`},
	},
	Impl: fn.Impl{F3: func(f *fn.Frame, v, unit, base value.Value) (value.Value, bool) {
		b := int64(2)
		if base.Str() == "10" {
			b = 10
		}
		out, ok := byteUnit(unit.Str(), b)
		if !ok {
			return f.Failf("unknown unit format: '%s'", unit.Str())
		}
		number, rest := unitNumber(v.Str())
		in, known := byteUnit(strings.TrimSpace(rest), b)
		x, valid := new(big.Rat).SetString(number)
		if !known || !valid {
			return f.Fail("unable to parse bytes: 'invalid digit found in string'")
		}
		r, _ := x.Mul(x, in).Quo(x, out).Float64()
		return value.NewFloat(r), true
	}},
}
