package ip_test

import (
	"testing"

	"cordwood/router/vrl/vrltest"
)

func TestAddresses(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{
			Source: `[ip_aton!("0.0.0.0"), ip_aton!("255.255.255.255"), ip_aton!("192.0.2.1")]`,
			Want:   `[0,4294967295,3221225985]`,
		},
		{Source: `ip_aton!("1.2.3")`, RunError: "unable to parse IPv4 address"},
		{Source: `ip_aton!("01.2.3.4")`, RunError: "unable to parse IPv4 address"},
		{Source: `ip_aton!("::ffff:1.2.3.4")`, RunError: "unable to parse IPv4 address"},
		{Source: `[ip_ntoa!(0), ip_ntoa!(4294967295)]`, Want: `["0.0.0.0","255.255.255.255"]`},
		{Source: `ip_ntoa!(-1)`, RunError: "does not fit"},
		{Source: `ip_ntop!(ip_pton!("192.0.2.1"))`, Want: `"192.0.2.1"`},
		{Source: `ip_ntop!(ip_pton!("2001:DB8:0:0:1::1"))`, Want: `"2001:db8::1:0:0:1"`},
		{Source: `ip_ntop!(ip_pton!("::ffff:192.0.2.1"))`, Want: `"::ffff:192.0.2.1"`},
		{Source: `ip_ntop!("")`, RunError: "must be of length 4 or 16 bytes"},
		{Source: `ip_pton!("fe80::1%eth0")`, RunError: "unable to parse IP address"},
		{
			Source: `[is_ipv4("127.0.0.1"), is_ipv4("127.1"), is_ipv4(" 127.0.0.1"), is_ipv4(""), is_ipv4("::ffff:1.2.3.4")]`,
			Want:   `[true,false,false,false,false]`,
		},
		{
			Source: `[is_ipv6("::"), is_ipv6("::ffff:1.2.3.4"), is_ipv6("1::2::3"), is_ipv6("fe80::1%1"), is_ipv6("[::1]")]`,
			Want:   `[true,true,false,false,false]`,
		},
		{Source: `ip_to_ipv6!("255.0.0.1")`, Want: `"::ffff:255.0.0.1"`},
		{Source: `ip_to_ipv6!("localhost")`, RunError: "unable to parse IP address: invalid IP address syntax"},
		{Source: `ipv6_to_ipv4!("::10.1.2.3")`, Want: `"10.1.2.3"`},
		{Source: `ipv6_to_ipv4!("0:0:0:0:0:ffff:0a01:0203")`, Want: `"10.1.2.3"`},
		{Source: `ipv6_to_ipv4!("fe80::1")`, RunError: "IPV6 address fe80::1 is not compatible with IPV4"},
	})
}

func TestNetworks(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{
			Source: `[ip_subnet!("10.1.2.3", "/0"), ip_subnet!("10.1.2.3", "/32"), ip_subnet!("2001:db8:ffff::1", "/33")]`,
			Want:   `["0.0.0.0","10.1.2.3","2001:db8:8000::"]`,
		},
		{Source: `ip_subnet!("10.255.7.3", "255.240.255.0")`, Want: `"10.240.7.0"`},
		{Source: `ip_subnet!("2001:db8::1", "ffff::")`, Want: `"2001::"`},
		{Name: "no number", Source: `ip_subnet!("10.1.2.3", "/x")`, RunError: "invalid prefix length"},
		{Name: "negative", Source: `ip_subnet!("10.1.2.3", "/-1")`, RunError: "invalid prefix length"},
		{Name: "other kind", Source: `ip_subnet!("10.1.2.3", "ffff::")`, RunError: "are of different kinds"},
		{Name: "no mask", Source: `ip_subnet!("10.1.2.3", "mask")`, RunError: "unable to parse IP address"},
		{
			Source: `[ip_cidr_contains!("0.0.0.0/0", "8.8.8.8"), ip_cidr_contains!("::/0", "8.8.8.8"), ` +
				`ip_cidr_contains!("10.0.0.1", "10.0.0.1")]`,
			Want: `[true,false,true]`,
		},
		{Name: "no networks", Source: `ip_cidr_contains!([], "8.8.8.8")`, Want: `false`},
		{
			Name: "known when run", Source: `ip_cidr_contains!(.n, "10.1.2.3")`,
			Event: `{"n":["192.0.2.0/24","10.0.0.0/8"]}`, Want: `true`,
		},
		{
			Name:         "host bits",
			Source:       `ip_cidr_contains!("10.0.0.1/8", "10.1.2.3")`,
			CompileError: "host part of address was not zero",
		},
		{
			Name: "host bits when run", Source: `ip_cidr_contains!(.n, "10.1.2.3")`, Event: `{"n":"10.0.0.1/8"}`,
			RunError: "unable to parse CIDR: host part",
		},
		{Name: "no network", Source: `ip_cidr_contains!("10.0.0.0/33", "10.1.2.3")`, CompileError: "unable to parse CIDR"},
		{
			Name: "no string", Source: `ip_cidr_contains!(.n, "10.1.2.3")`, Event: `{"n":[1]}`,
			RunError: "expected string, got integer",
		},
		{Name: "no address", Source: `ip_cidr_contains!("10.0.0.0/8", "10.1.2")`, RunError: "unable to parse IP address"},
	})
}

func TestIPCrypt(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Name: "there and back", Source: `
			k = "0123456789abcdefghijklmnopqrstuv"
			map_values(["0.0.0.0", "255.255.255.255", "::", "::1", "2001:db8::ff00:42:8329"]) -> |ip| {
				[decrypt_ip!(encrypt_ip!(ip, k, "pfx"), k, "pfx") == ip,
				 decrypt_ip!(encrypt_ip!(ip, "0123456789abcdef", "aes128"), "0123456789abcdef", "aes128") == ip]
			}`, Want: `[[true,true],[true,true],[true,true],[true,true],[true,true]]`},
		{Name: "prefixes are kept", Source: `
			k = "0123456789abcdefghijklmnopqrstuv"
			a = encrypt_ip!("10.1.2.3", k, "pfx")
			b = encrypt_ip!("10.1.2.200", k, "pfx")
			c = encrypt_ip!("11.1.2.3", k, "pfx")
			[ip_subnet!(a, "/24") == ip_subnet!(b, "/24"), ip_subnet!(a, "/7") == ip_subnet!(c, "/7"), ip_subnet!(a, ` +
			`"/8") == ip_subnet!(c, "/8"), a == b]`, Want: `[true,true,false,false]`},
		{
			Name:   "IPv4 stays IPv4",
			Source: `is_ipv4(encrypt_ip!("192.0.2.7", "0123456789abcdefghijklmnopqrstuv", "pfx"))`,
			Want:   `true`,
		},
		{
			Name:     "halves are equal",
			Source:   `encrypt_ip!("192.0.2.7", "0123456789abcdef0123456789abcdef", "pfx")`,
			RunError: "halves differ",
		},
		{
			Name:     "key of the other method",
			Source:   `encrypt_ip!("::1", "0123456789abcdef", "pfx")`,
			RunError: "pfx mode requires a 32-byte key for IPv6",
		},
		{Name: "no method", Source: `decrypt_ip!("::1", "0123456789abcdef", "rot13")`, RunError: "Invalid mode 'rot13'"},
		{
			Name:     "no address",
			Source:   `decrypt_ip!("x", "0123456789abcdef", "aes128")`,
			RunError: "unable to parse IP address",
		},
	})
}
