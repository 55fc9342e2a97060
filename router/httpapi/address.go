package httpapi

import (
	"net/http"
	"net/netip"
	"strings"
)

// clientAddress returns the address of the client that sent the request: that of the peer,
// or behind trusted proxies the right-most address of X-Forwarded-For that is no trusted
// proxy. What stands left of that address was written by the client and proves nothing.
//
// The address has no zone, and IPv4 in IPv6 is unwrapped. It is the zero Addr, which is
// not valid, if the connection has no IP address, as a Unix socket.
func (s *Server) clientAddress(r *http.Request) netip.Addr {
	peer := peerAddress(r)
	if !s.trusts(peer) {
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
			a, ok := forwardedAddress(last)
			if !ok {
				return peer // a header that is malformed counts for nothing
			}
			client = a
			if !s.trusts(a) {
				return client
			}
		}
	}
	return client
}

// forwardedScheme returns the scheme by which a trusted proxy says that its client came,
// http or https. It is empty if no trusted proxy says so.
func (s *Server) forwardedScheme(r *http.Request) string {
	lines := r.Header["X-Forwarded-Proto"]
	if len(lines) == 0 || !s.trusts(peerAddress(r)) {
		return ""
	}
	// The last proxy appends, as with addresses, or replaces what its client sent.
	last := lines[len(lines)-1]
	last = strings.ToLower(strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:]))
	if last != "http" && last != "https" {
		return ""
	}
	return last
}

// trusts reports whether the address is that of a trusted proxy.
func (s *Server) trusts(a netip.Addr) bool {
	for _, p := range s.cfg.TrustedProxies {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// peerAddress returns the address at the other end of the request's connection.
func peerAddress(r *http.Request) netip.Addr {
	a, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return a.Addr().Unmap().WithZone("")
}

// forwardedAddress reads one element of X-Forwarded-For: an address, with a port behind
// some proxies.
func forwardedAddress(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	if a, err := netip.ParseAddr(text); err == nil {
		return a.Unmap().WithZone(""), true
	}
	if a, err := netip.ParseAddrPort(text); err == nil {
		return a.Addr().Unmap().WithZone(""), true
	}
	return netip.Addr{}, false
}
