package httpapi

import (
	"net/http"
	"net/netip"
)

// clientAddress returns the address of the client that sent the request, which may be
// behind trusted proxies. See peer.Proxies.
func (s *Server) clientAddress(r *http.Request) netip.Addr { return s.cfg.Proxies.Address(r) }
