package httpapi

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"strings"

	"cordwood/proto/errs"
)

// TunnelProtocol is what a client upgrades its connection to, to call the parts of the
// node that backup and restore need.
const TunnelProtocol = "cordwood-rpc"

// handleTunnel turns the connection of a request into one for calls. It is not below
// /v1/, and so not on the public listener.
func (s *Server) handleTunnel(w http.ResponseWriter, r *http.Request) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), TunnelProtocol) || !strings.EqualFold(r.Header.Get("Connection"), "upgrade") {
		w.Header().Set("Upgrade", TunnelProtocol)
		WriteError(w, r, errs.New(errs.InvalidArguments, "this path is for 'cordwood backup' and 'cordwood restore': it takes requests with the header Upgrade: %s", TunnelProtocol).
			WithStatus(http.StatusUpgradeRequired))
		return
	}
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		WriteError(w, r, errs.Wrap(errs.Unsupported, err, "the connection cannot be used for calls: use HTTP/1.1"))
		return
	}
	x := exchangeOf(r)
	x.status = http.StatusSwitchingProtocols
	_, err = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + TunnelProtocol + "\r\n\r\n")
	if err = errors.Join(err, rw.Flush()); err != nil {
		conn.Close()
		return
	}
	caller := x.caller // the exchange ends before the connection
	s.cfg.Tunnel(&bufferedConn{conn, rw.Reader}, &caller)
}

// bufferedConn is a connection of which something may have been read already.
type bufferedConn struct {
	net.Conn
	r *bufio.Reader
}

func (c *bufferedConn) Read(p []byte) (int, error) {
	if c.r.Buffered() > 0 {
		return c.r.Read(p)
	}
	return c.Conn.Read(p)
}
