// Package tunnel converts the connection of a request into a connection over which backup and restore call the
// parts of a node.
package tunnel

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

// Protocol is the protocol to which a client upgrades its connection.
const Protocol = "cordwood-rpc"

// Handler takes connections for calls.
type Handler struct {
	// Serve answers calls on a connection. It checks the caller's rights before each call, and must not block for
	// long.
	Serve func(conn net.Conn, caller *access.Caller)
	// Begin starts work for a sender (see httpapi.Authenticator); nil means that authentication is off.
	Begin func(s access.Sender, end func(error)) access.Work
}

// ServeHTTP converts the connection of a request. Its path is not below /v1/, so it does not exist on the public
// listener.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), Protocol) ||
		!strings.EqualFold(r.Header.Get("Connection"), "upgrade") {
		w.Header().Set("Upgrade", Protocol)
		exchange.WriteError(w, r, errs.New(errs.InvalidArguments,
			"this path is for 'cordwood backup' and 'cordwood restore': it takes requests with the header Upgrade: %s",
			Protocol).
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
		Protocol + "\r\n\r\n")
	if err = errors.Join(err, rw.Flush()); err != nil {
		conn.Close()
		return
	}
	// The request ends here, but the connection continues, so it is separate work.
	caller, c := x.Caller, &connection{Conn: conn, r: rw.Reader}
	if h.Begin != nil {
		c.work = h.Begin(caller.Sender, func(error) { conn.Close() })
		caller.Work = c.work
	}
	if err := caller.Require(x.Need); err != nil {
		_ = c.Close() // nothing was done over it
		return
	}
	h.Serve(c, &caller)
}

// connection is a connection whose first bytes may have been read already. It is closed when its user loses the
// right to use the tunnel.
type connection struct {
	net.Conn
	r    *bufio.Reader
	work access.Work // nil if its user may do everything
}

// Close implements net.Conn.
func (c *connection) Close() error {
	if c.work != nil {
		c.work.End()
	}
	return c.Conn.Close()
}

func (c *connection) Read(p []byte) (int, error) {
	if c.r.Buffered() > 0 {
		return c.r.Read(p)
	}
	return c.Conn.Read(p)
}
