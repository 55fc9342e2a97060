package ip

import (
	"errors"
	"math"
	"net/netip"
	"strconv"
	"strings"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// parseIP reads an address without a zone.
func parseIP(s string) (netip.Addr, bool) {
	a, err := netip.ParseAddr(shortAddress(s))
	return a, err == nil && a.Zone() == ""
}

// noIP makes a call fail because its argument is not an address. The message is the documented one, so it contains
// neither the text nor the reason.
func noIP(f *fn.Frame) (value.Value, bool) {
	return f.Fail("unable to parse IP address: invalid IP address syntax")
}

// address returns an address as text.
func address(f *fn.Frame, a netip.Addr) (value.Value, bool) {
	var room [48]byte
	return f.Keep(a.AppendTo(room[:0]))
}

const noIPError = "the string is not an IP address"

var ipAton = &fn.Function{
	Name:     "ip_aton",
	Group:    fn.IP,
	Doc:      "Converts an IPv4 address to an integer. The first byte of the address is the highest.",
	Params:   []fn.Param{fn.ValueParam("The address.")},
	Returns:  kind.Integer,
	Fallible: true,
	Errors:   []string{"the string is not an IPv4 address"},
	Examples: []fn.Example{
		{Title: "an address", Source: `ip_aton!("10.0.1.2")`, Result: `167772418`},
		{Title: "IPv6", Source: `ip_aton!("::1")`, Fails: `unable to parse IPv4 address`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		a, ok := parseIP(v.Str())
		if !ok || !a.Is4() {
			return f.Fail("unable to parse IPv4 address: invalid IPv4 address syntax")
		}
		b := a.As4()
		return value.NewInt(int64(b[0])<<24 | int64(b[1])<<16 | int64(b[2])<<8 | int64(b[3])), true
	}},
}

var ipNtoa = &fn.Function{
	Name:     "ip_ntoa",
	Group:    fn.IP,
	Doc:      "Converts an integer to an IPv4 address. The highest byte is the first byte of the address.",
	Params:   []fn.Param{{Name: "value", Doc: "The integer.", Kind: kind.Integer}},
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{"the integer is negative or has more than 32 bits"},
	Examples: []fn.Example{
		{Title: "an address", Source: `ip_ntoa!(167772418)`, Result: `"10.0.1.2"`},
		{Title: "too large", Source: `ip_ntoa!(4294967296)`, Fails: `cannot convert to bytes`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		i := v.Int()
		if i < 0 || i > math.MaxUint32 {
			return f.Fail("cannot convert to bytes, integer does not fit in u32")
		}
		return address(f, netip.AddrFrom4([4]byte{byte(i >> 24), byte(i >> 16), byte(i >> 8), byte(i)}))
	}},
}

var ipNtop = &fn.Function{
	Name:     "ip_ntop",
	Group:    fn.IP,
	Doc:      "Converts the 4 bytes of an IPv4 address or the 16 of an IPv6 address to text.",
	Params:   []fn.Param{fn.ValueParam("The bytes.")},
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{"the string is neither 4 nor 16 bytes long"},
	Examples: []fn.Example{
		{Title: "IPv4", Source: `ip_ntop!(decode_base16!("0a000102"))`, Result: `"10.0.1.2"`},
		{Title: "IPv6", Source: `ip_ntop!(decode_base16!("20010db8000000000000000000000001"))`, Result: `"2001:db8::1"`},
		{Title: "neither", Source: `ip_ntop!("abc")`, Fails: `must be of length 4 or 16 bytes`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		a, ok := netip.AddrFromSlice(fn.Octets(v.Str()))
		if !ok {
			return f.Fail(`"value" must be of length 4 or 16 bytes`)
		}
		return address(f, a)
	}},
}

var ipPton = &fn.Function{
	Name:     "ip_pton",
	Group:    fn.IP,
	Doc:      "Converts an IP address to its 4 or 16 bytes.",
	Params:   []fn.Param{fn.ValueParam("The address.")},
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{noIPError},
	Examples: []fn.Example{
		{Title: "IPv4", Source: `encode_base16(ip_pton!("10.0.1.2"))`, Result: `"0a000102"`},
		{Title: "IPv6", Source: `encode_base16(ip_pton!("2001:db8::1"))`, Result: `"20010db8000000000000000000000001"`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		a, ok := parseIP(v.Str())
		if !ok {
			return noIP(f)
		}
		return f.Keep(a.AsSlice())
	}},
}

var isIPv4 = &fn.Function{
	Name:    "is_ipv4",
	Group:   fn.IP,
	Doc:     "Returns whether the string is an IPv4 address.",
	Params:  []fn.Param{fn.ValueParam("The string to check.")},
	Returns: kind.Boolean,
	Examples: []fn.Example{
		{Title: "IPv4", Source: `is_ipv4("10.0.1.2")`, Result: `true`},
		{Title: "IPv6", Source: `is_ipv4("::1")`, Result: `false`},
		{Title: "neither", Source: `is_ipv4("10.0.1.256")`, Result: `false`},
	},
	Impl: fn.Impl{F1: func(_ *fn.Frame, v value.Value) (value.Value, bool) {
		a, ok := parseIP(v.Str())
		return value.NewBool(ok && a.Is4()), true
	}},
}

var isIPv6 = &fn.Function{
	Name:    "is_ipv6",
	Group:   fn.IP,
	Doc:     "Returns whether the string is an IPv6 address.",
	Params:  []fn.Param{fn.ValueParam("The string to check.")},
	Returns: kind.Boolean,
	Examples: []fn.Example{
		{Title: "IPv6", Source: `is_ipv6("2001:db8::1")`, Result: `true`},
		{Title: "IPv4", Source: `is_ipv6("10.0.1.2")`, Result: `false`},
	},
	Impl: fn.Impl{F1: func(_ *fn.Frame, v value.Value) (value.Value, bool) {
		a, ok := parseIP(v.Str())
		return value.NewBool(ok && a.Is6()), true
	}},
}

var ipToIPv6 = &fn.Function{
	Name:  "ip_to_ipv6",
	Group: fn.IP,
	Doc: "Converts an IPv4 address to its IPv4-mapped IPv6 address, and an IPv6 address to its " +
		"shortest form.",
	Params:   []fn.Param{fn.ValueParam("The address.")},
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{noIPError},
	Examples: []fn.Example{
		{Title: "IPv4", Source: `ip_to_ipv6!("10.0.1.2")`, Result: `"::ffff:10.0.1.2"`},
		{Title: "IPv6", Source: `ip_to_ipv6!("2001:0DB8:0:0::1")`, Result: `"2001:db8::1"`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		a, ok := parseIP(v.Str())
		if !ok {
			return noIP(f)
		}
		return address(f, netip.AddrFrom16(a.As16()))
	}},
}

var ipv6ToIPv4 = &fn.Function{
	Name:  "ipv6_to_ipv4",
	Group: fn.IP,
	Doc: "Converts an IPv6 address that represents an IPv4 address, such as `::ffff:10.0.1.2` or the older " +
		"`::10.0.1.2`, to " +
		"that IPv4 address. An IPv4 address stays unchanged.",
	Params:   []fn.Param{fn.ValueParam("The address.")},
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{noIPError, "the address does not represent an IPv4 address"},
	Examples: []fn.Example{
		{Title: "mapped", Source: `ipv6_to_ipv4!("::ffff:10.0.1.2")`, Result: `"10.0.1.2"`},
		{Title: "already IPv4", Source: `ipv6_to_ipv4!("10.0.1.2")`, Result: `"10.0.1.2"`},
		{
			Title:  "another one",
			Source: `ipv6_to_ipv4!("2001:db8::1")`,
			Fails:  `IPV6 address 2001:db8::1 is not compatible with IPV4`,
		},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		a, ok := parseIP(v.Str())
		if !ok {
			return noIP(f)
		}
		b := a.As16()
		if a.Is6() && !a.Is4In6() && [12]byte(b[:12]) != [12]byte{} {
			return f.Failf("IPV6 address %s is not compatible with IPV4", a)
		}
		return address(f, netip.AddrFrom4([4]byte(b[12:])))
	}},
}

var ipSubnet = &fn.Function{
	Name:  "ip_subnet",
	Group: fn.IP,
	Doc:   "Returns the address of the network that an address is in.",
	Params: []fn.Param{
		fn.ValueParam("The address."),
		{
			Name: "subnet",
			Doc:  "The number of leading bits of the network, such as `/24`, or a mask, such as `255.255.255.0`.",
			Kind: kind.String,
		},
	},
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{noIPError, "subnet is neither a valid number of bits nor a mask of the address's kind"},
	Examples: []fn.Example{
		{Title: "bits", Source: `ip_subnet!("10.1.2.3", "/16")`, Result: `"10.1.0.0"`},
		{Title: "a mask", Source: `ip_subnet!("10.1.2.3", "255.0.0.0")`, Result: `"10.0.0.0"`},
		{Title: "too many bits", Source: `ip_subnet!("10.1.2.3", "/33")`, Fails: `prefix length`},
	},
	Impl: fn.Impl{F2: func(f *fn.Frame, v, subnet value.Value) (value.Value, bool) {
		a, ok := parseIP(v.Str())
		if !ok {
			return noIP(f)
		}
		if bits, ok := strings.CutPrefix(subnet.Str(), "/"); ok {
			n, err := strconv.ParseUint(bits, 10, 8)
			if err != nil || int(n) > a.BitLen() {
				return f.Failf("subnet has an invalid prefix length %s: must be from 0 to %d", strconv.Quote(bits), a.BitLen())
			}
			p, _ := a.Prefix(int(n))
			return address(f, p.Addr())
		}
		mask, ok := parseIP(subnet.Str())
		if !ok {
			return noIP(f)
		}
		if mask.BitLen() != a.BitLen() {
			return f.Failf("the mask %s and the address %s are of different kinds", mask, a)
		}
		b, m := a.AsSlice(), mask.AsSlice()
		for i := range b {
			b[i] &= m[i]
		}
		a, _ = netip.AddrFromSlice(b)
		return address(f, a)
	}},
}

// parseCIDR parses a network such as 10.0.0.0/8. A single address is a network of one address.
func parseCIDR(s string) (netip.Prefix, error) {
	if !strings.Contains(s, "/") {
		a, ok := parseIP(s)
		if !ok {
			return netip.Prefix{}, errors.New("invalid IP address syntax")
		}
		return a.Prefix(a.BitLen())
	}
	p, err := netip.ParsePrefix(shortAddress(s))
	switch {
	case err != nil:
		return p, errors.New("invalid network syntax")
	case p != p.Masked():
		return p, errors.New("host part of address was not zero")
	}
	return p, nil
}

// networks parses v, which is a network or a list of networks.
func networks(v value.Value) ([]netip.Prefix, error) {
	list := []value.Value{v}
	if a := v.Array(); a != nil {
		list = a.Peek()
	}
	out := make([]netip.Prefix, 0, len(list))
	for _, x := range list {
		if !x.IsString() {
			return nil, errors.New("expected string, got " + x.Kind().String())
		}
		p, err := parseCIDR(x.Str())
		if err != nil {
			return nil, errors.New("unable to parse CIDR: " + err.Error())
		}
		out = append(out, p)
	}
	return out, nil
}

var ipCIDRContains = &fn.Function{
	Name:  "ip_cidr_contains",
	Group: fn.IP,
	Doc:   "Returns whether an IP address is in a network, or in any of several.",
	Params: []fn.Param{
		{
			Name: "cidr", Doc: "The network, such as `10.0.0.0/8`, or an array of them.",
			Kind: kind.Or(kind.String, kind.Array), Borrow: true,
		},
		fn.ValueParam("The address."),
	},
	Returns:  kind.Boolean,
	Fallible: true,
	Errors:   []string{noIPError, "a network cannot be parsed, or has bits set outside of its prefix"},
	Examples: []fn.Example{
		{Title: "inside", Source: `ip_cidr_contains!("10.1.0.0/16", "10.1.2.3")`, Result: `true`},
		{
			Title:  "several networks",
			Source: `ip_cidr_contains!(["10.0.0.0/8", "2001:db8::/32"], "2001:db9::1")`,
			Result: `false`,
		},
		{Title: "no address", Source: `ip_cidr_contains!("10.0.0.0/8", "localhost")`, Fails: `unable to parse IP address`},
	},
	Compile: func(c *fn.Call) (fn.Impl, error) {
		v, ok := c.Const(0)
		if !ok {
			return fn.Impl{F2: func(f *fn.Frame, cidr, v value.Value) (value.Value, bool) {
				if !f.Spend(cidr.Len() / 8) {
					return value.Value{}, false
				}
				list, err := networks(cidr)
				if err != nil {
					return f.FailErr("", err)
				}
				return within(f, list, v)
			}}, nil
		}
		list, err := networks(v)
		if err != nil {
			return fn.Impl{}, c.BadArgument(0, "%v", err)
		}
		return fn.Impl{F2: func(f *fn.Frame, _, v value.Value) (value.Value, bool) { return within(f, list, v) }}, nil
	},
}

// within reports whether the address v is in one of the networks.
func within(f *fn.Frame, list []netip.Prefix, v value.Value) (value.Value, bool) {
	a, ok := parseIP(v.Str())
	if !ok {
		return noIP(f)
	}
	if len(list) > 8 && !f.Spend(len(list)/8) {
		return value.Value{}, false
	}
	for _, p := range list {
		if contains4(p, a) {
			return value.NewBool(true), true
		}
	}
	return value.NewBool(false), true
}

// contains4 is like netip.Prefix.Contains, but does not convert IPv4-mapped IPv6 addresses to IPv4.
func contains4(p netip.Prefix, a netip.Addr) bool {
	return p.Addr().BitLen() == a.BitLen() && p.Contains(a)
}

// shortAddress returns s, or a prefix of it if it is longer than any address, because errors quote the text.
func shortAddress(s string) string {
	const longest = 256
	if len(s) > longest {
		return s[:longest] + "…"
	}
	return s
}
