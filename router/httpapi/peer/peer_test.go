package peer

import (
	"crypto/tls"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"testing"
)

func TestAddress(t *testing.T) {
	proxies := Proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32")}
	for _, c := range []struct {
		name, peer string
		forwarded  []string
		want       string
	}{
		{"the header of an untrusted sender is ignored", "192.0.2.1:80", []string{"203.0.113.9"}, "192.0.2.1"},
		{"a proxy without a header", "10.0.0.1:80", nil, "10.0.0.1"},
		{"one proxy", "10.0.0.1:80", []string{"203.0.113.9"}, "203.0.113.9"},
		{"the right-most that is not a proxy", "10.0.0.1:80", []string{"1.1.1.1, 203.0.113.9, 10.9.9.9"}, "203.0.113.9"},
		{
			"what the client wrote itself is not looked at", "10.0.0.1:80",
			[]string{"not an address, 203.0.113.9"},
			"203.0.113.9",
		},
		{
			"several lines are one list", "10.0.0.1:80",
			[]string{"1.1.1.1", "203.0.113.9", "10.0.0.7 , 10.0.0.8"},
			"203.0.113.9",
		},
		{"only proxies: the first of them is the client", "10.0.0.1:80", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"IPv6", "[2001:db8::1]:80", []string{"2001:4860::8, 2001:db8::2"}, "2001:4860::8"},
		{"IPv6 in brackets with a port", "10.0.0.1:80", []string{"[2001:4860::8]:4711"}, "2001:4860::8"},
		{"IPv4 with a port", "10.0.0.1:80", []string{"203.0.113.9:4711"}, "203.0.113.9"},
		{"IPv4 in IPv6 is IPv4", "[::ffff:10.0.0.1]:80", []string{"::ffff:203.0.113.9"}, "203.0.113.9"},
		{"zones are cut off", "[fe80::1%eth0]:80", nil, "fe80::1"},
		{"malformed", "10.0.0.1:80", []string{"203.0.113.9, unknown"}, "10.0.0.1"},
		{"malformed behind a proxy", "10.0.0.1:80", []string{"203.0.113.9, , 10.0.0.2"}, "10.0.0.1"},
		{"empty", "10.0.0.1:80", []string{""}, "10.0.0.1"},
		{"no address at all", "@", []string{"203.0.113.9"}, "invalid IP"},
	} {
		r := &http.Request{RemoteAddr: c.peer, Header: http.Header{"X-Forwarded-For": c.forwarded}}
		if got := proxies.Address(r).String(); got != c.want {
			t.Errorf("%s: %s with %q is %s, want %s", c.name, c.peer, c.forwarded, got, c.want)
		}
	}
}

func TestScheme(t *testing.T) {
	proxies := Proxies{netip.MustParsePrefix("10.0.0.0/8")}
	for _, c := range []struct {
		peer  string
		lines []string
		want  string
	}{
		{"192.0.2.1:80", []string{"https"}, ""},
		{"10.0.0.1:80", nil, ""},
		{"10.0.0.1:80", []string{"https"}, "https"},
		{"10.0.0.1:80", []string{"http, HTTPS "}, "https"},
		{"10.0.0.1:80", []string{"https", "http"}, "http"},
		{"10.0.0.1:80", []string{"gopher"}, ""},
	} {
		r := &http.Request{RemoteAddr: c.peer, Header: http.Header{"X-Forwarded-Proto": c.lines}}
		if got := proxies.scheme(r); got != c.want {
			t.Errorf("%s with %q has the scheme %q, want %q", c.peer, c.lines, got, c.want)
		}
		if proxies.Secure(r) != (c.want == "https") {
			t.Errorf("%s with %q: secure is %v", c.peer, c.lines, proxies.Secure(r))
		}
		r.TLS = &tls.ConnectionState{}
		if proxies.Secure(r) != (c.want != "http") {
			t.Errorf("%s with %q by TLS: secure is %v", c.peer, c.lines, proxies.Secure(r))
		}
	}
}

// FuzzAddress checks that a header never sets the client's address unless the peer is trusted, and that every header
// is parsed in one pass.
func FuzzAddress(f *testing.F) {
	for _, seed := range []string{
		"", ",", "203.0.113.9", "10.0.0.2,", "[::1]:80, 10.0.0.2", "::ffff:10.0.0.1%a,b",
		strings.Repeat("10.0.0.1,", 100),
	} {
		f.Add("10.0.0.1:80", seed)
		f.Add("192.0.2.1:80", seed)
	}
	proxies := Proxies{netip.MustParsePrefix("10.0.0.0/8")}
	f.Fuzz(func(t *testing.T, peer, forwarded string) {
		r := &http.Request{RemoteAddr: peer, Header: http.Header{"X-Forwarded-For": {forwarded}}}
		got, from := proxies.Address(r), address(r)
		if !proxies.Trust(from) && got != from {
			t.Errorf("%s with %q is %s", peer, forwarded, got)
		}
		if got.Zone() != "" || got.Is4In6() {
			t.Errorf("%s with %q is %s", peer, forwarded, got)
		}
	})
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"10.1.2.3", "10.1.2.3/32"},
		{"10.1.2.3/16", "10.1.0.0/16"},
		{" 2001:db8::1 ", "2001:db8::1/128"},
		{"fe80::1%eth0", "fe80::1/128"},
		{"::ffff:10.1.2.3", "10.1.2.3/32"},
		{"::ffff:10.1.2.3/112", "10.1.0.0/16"},
		{"::ffff:10.1.2.3/90", ""},
		{"10.1.2.3/33", ""},
		{"proxy.example.com", ""},
		{"", ""},
	} {
		got, err := Parse([]string{"192.0.2.7", c.text})
		switch {
		case c.want == "" && (err == nil || !strings.Contains(err.Error(), strconv.Quote(c.text))):
			t.Errorf("%q: %v, %v, want an error that quotes it", c.text, got, err)
		case c.want != "" && (len(got) != 2 || got[1].String() != c.want):
			t.Errorf("%q: %v, %v, want %q", c.text, got, err, c.want)
		}
	}
}
