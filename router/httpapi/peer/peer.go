// Package peer returns the address that a request comes from: the address that connects or, behind trusted proxies,
// the address in their headers.
package peer

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// Proxies are the addresses of trusted proxies, whose X-Forwarded-For and X-Forwarded-Proto are used. If there are
// none, the client's address is the one that connects.
type Proxies []netip.Prefix

// Parse parses addresses and networks such as 10.1.0.0/16.
func Parse(list []string) (Proxies, error) {
	var out Proxies
	for _, text := range list {
		p, err := parseNetwork(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("%q: want an address or a network, such as 10.1.2.3 or 10.1.0.0/16", text)
		}
		out = append(out, p)
	}
	return out, nil
}

// Address returns the address of the client. It is the peer's address or, behind trusted proxies, the right-most
// address in X-Forwarded-For that is not a trusted proxy. The client may have written all addresses to the left of
// it, so they prove nothing.
//
// The address has no zone, and IPv4-mapped IPv6 addresses become IPv4. If the connection has no IP address, such as
// a Unix socket, it is the zero Addr, which is not valid.
func (p Proxies) Address(r *http.Request) netip.Addr {
	peer := address(r)
	if !p.Trust(peer) {
		return peer
	}
	lines := r.Header["X-Forwarded-For"]
	client := peer
	for i := len(lines) - 1; i >= 0; i-- {
		rest, more := lines[i], true
		for more {
			var last string
			if comma := strings.LastIndexByte(rest, ','); comma >= 0 {
				rest, last = rest[:comma], rest[comma+1:]
			} else {
				last, more = rest, false
			}
			a, ok := forwarded(last)
			if !ok {
				return peer // a malformed header is ignored
			}
			client = a
			if !p.Trust(a) {
				return client
			}
		}
	}
	return client
}

// Secure reports whether the client is known to have connected over TLS.
func (p Proxies) Secure(r *http.Request) bool {
	if scheme := p.scheme(r); scheme != "" {
		return scheme == "https"
	}
	return r.TLS != nil
}

// scheme returns the scheme that the client used according to a trusted proxy, http or https. It is empty if no
// trusted proxy gives a scheme.
func (p Proxies) scheme(r *http.Request) string {
	lines := r.Header["X-Forwarded-Proto"]
	if len(lines) == 0 || !p.Trust(address(r)) {
		return ""
	}
	// The last proxy appends to the header, as it does for addresses, or replaces it.
	last := lines[len(lines)-1]
	last = strings.ToLower(strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:]))
	if last != "http" && last != "https" {
		return ""
	}
	return last
}

// Trust reports whether an address belongs to a trusted proxy.
func (p Proxies) Trust(a netip.Addr) bool {
	for _, network := range p {
		if network.Contains(a) {
			return true
		}
	}
	return false
}

// address returns the address at the other end of the connection.
func address(r *http.Request) netip.Addr {
	a, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return a.Addr().Unmap().WithZone("")
}

// forwarded parses one element of X-Forwarded-For: an address, to which some proxies add a port.
func forwarded(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	if a, err := netip.ParseAddr(text); err == nil {
		return a.Unmap().WithZone(""), true
	}
	if a, err := netip.ParseAddrPort(text); err == nil {
		return a.Addr().Unmap().WithZone(""), true
	}
	return netip.Addr{}, false
}

// parseNetwork parses a network, or an address as a network of one address. IPv4-mapped IPv6 addresses become IPv4,
// because addresses of clients are compared in this form.
func parseNetwork(text string) (netip.Prefix, error) {
	if !strings.Contains(text, "/") {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return netip.Prefix{}, err
		}
		a = a.Unmap().WithZone("")
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	if a := p.Addr(); a.Is4In6() {
		if p.Bits() < 96 {
			return netip.Prefix{}, fmt.Errorf("%s is wider than all of IPv4", text)
		}
		p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
	}
	return p.Masked(), nil
}
