package rpcport

import (
	"errors"
	"fmt"
	"net"
)

// httpMethods are the first bytes of HTTP/1 requests.
var httpMethods = map[string]bool{
	"GET ": true, "HEAD": true, "POST": true, "PUT ": true, "PATC": true, "DELE": true, "OPTI": true, "TRAC": true,
	"CONN": true,
}

const httpText = "this is the port between nodes (--rpc-addr): users and their tools use the port of " +
	"--http-addr, 4000 " +
	"by default\n"

// notANode returns the error of a connection that starts with head, which no node sends. An HTTP client receives an
// answer that the port is the wrong one.
func notANode(conn net.Conn, head string) error {
	if !httpMethods[head] {
		return fmt.Errorf("it starts with %q: not a connection of a node", head)
	}
	wrong := errors.New("a request of HTTP, which is for the port for users")
	_, err := fmt.Fprintf(conn, "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"+
		"Content-Length: %d\r\nConnection: close\r\n\r\n%s", len(httpText), httpText)
	if err == nil { // otherwise the client has disconnected
		linger(conn)
	}
	return wrong
}
