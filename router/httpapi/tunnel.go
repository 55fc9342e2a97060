package httpapi

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"strings"

	"cordwood/proto/errs"
	"cordwood/router/access"

	"cordwood/router/httpapi/exchange"
)

// TunnelProtocol is what a client upgrades its connection to, to call the parts of the
// node that backup and restore need.
const TunnelProtocol = "cordwood-rpc"

// handleTunnel turns the connection of a request into one for calls. It is not below
// /v1/, and so not on the public listener.
func (s *Server) handleTunnel(w http.ResponseWriter, r *http.Request) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), TunnelProtocol) ||
		!strings.EqualFold(r.Header.Get("Connection"), "upgrade") {
		w.Header().Set("Upgrade", TunnelProtocol)
		exchange.WriteError(w, r, errs.New(errs.InvalidArguments,
			"this path is for 'cordwood backup' and 'cordwood restore': it takes requests with the header Upgrade: %s",
			TunnelProtocol).
			WithStatus(http.StatusUpgradeRequired))
		return
	}
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		exchange.WriteError(w, r, errs.Wrap(errs.Unsupported, err, "the connection cannot be used for calls: use HTTP/1.1"))
		return
	}
	x := exchange.Of(r)
	x.Status = http.StatusSwitchingProtocols
	_, err = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " +
		TunnelProtocol + "\r\n\r\n")
	if err = errors.Join(err, rw.Flush()); err != nil {
		conn.Close()
		return
	}
	// The request ends here, and the connection continues: it is followed by itself.
	caller, c := x.Caller, &tunnelConn{Conn: conn, r: rw.Reader}
	if s.cfg.Auth != nil {
		c.work = s.cfg.Auth.Begin(caller.Sender, func(error) { conn.Close() })
		caller.Work = c.work
	}
	if err := caller.Require(x.Need); err != nil {
		_ = c.Close() // nothing was done on it
		return
	}
	s.cfg.Tunnel(c, &caller)
}

// tunnelConn is a connection whose first bytes may have been read already, and which
// closes when its user may no longer use it.
type tunnelConn struct {
	net.Conn
	r    *bufio.Reader
	work access.Work // nil: its user may do everything
}

// Close implements net.Conn.
func (c *tunnelConn) Close() error {
	if c.work != nil {
		c.work.End()
	}
	return c.Conn.Close()
}

func (c *tunnelConn) Read(p []byte) (int, error) {
	if c.r.Buffered() > 0 {
		return c.r.Read(p)
	}
	return c.Conn.Read(p)
}
