package rpcport

import (
	"cmp"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"cordwood/node/certs"
	"cordwood/node/secret"
)

// Credentials determine how nodes prove to each other that they belong to the cluster. *secret.Source and Files
// implement it.
type Credentials interface {
	// Server returns the TLS configuration for incoming connections. It offers protocols by ALPN.
	Server(protocols ...string) *tls.Config
	// Client returns the TLS configuration for a connection to a node. host is the host of its address, or the name
	// that was resolved to it. node is its id, or empty if any node of the cluster is accepted.
	Client(host, node string, protocols ...string) *tls.Config
	// Node returns the authenticated id of the other side. It is empty if certificates contain no ids.
	Node(tls.ConnectionState) string
	// Trusts returns nil if the certificate of a connection is still valid.
	Trusts(tls.ConnectionState) error
}

// Files are credentials in files: any certificate of the authority is accepted as a node of the
// cluster.
type Files struct {
	*certs.Source
	// ServerName, if not empty, is the name that the certificates of all nodes must contain, whatever their addresses
	// are. It is for nodes whose addresses cannot be in certificates.
	ServerName string
}

// Client implements Credentials. The certificate of the other side must contain host, or ServerName.
func (f Files) Client(host, _ string, protocols ...string) *tls.Config {
	return f.Source.Client(cmp.Or(f.ServerName, host), protocols...)
}

// Node returns an empty text: the certificates contain addresses, not ids.
func (f Files) Node(tls.ConnectionState) string { return "" }

// Trusts returns nil: a certificate is checked only once, in the handshake.
func (f Files) Trusts(tls.ConnectionState) error { return nil }

// These warnings are about connections between nodes that do not authenticate each other.
const (
	adviceSecret = "give both nodes a copy of the cluster's secret: --cluster-secret-file"

	reasonPlain = "this cluster accepts only nodes that prove that they belong to it, and the calling node does not: " +
		"give it a copy of the cluster's secret (--cluster-secret-file), " +
		"or certificates (--rpc-tls-cert, --rpc-tls-key, --rpc-tls-ca) if this cluster uses those"
	reasonTLS = "it starts with TLS, and this node has neither the cluster's secret nor certificates: " +
		adviceSecret + ", or both certificates"
)

// Unproven is the error of a connection on which one node did not prove to the other that it
// belongs to the cluster. Its text includes advice.
type Unproven struct {
	Reason string
	Err    error // the cause; may be nil
}

func (e *Unproven) Error() string { return e.Reason }

// Unwrap returns the cause.
func (e *Unproven) Unwrap() error { return e.Err }

// explain makes the failure of a TLS handshake readable. called means that this node opened the connection.
func explain(err error, credentials Credentials, called bool) error {
	_, bySecret := credentials.(*secret.Source)
	switch text := err.Error(); {
	case bySecret && errors.Is(err, secret.ErrDiffers):
		return &Unproven{"the secret of the cluster differs; " + adviceSecret, err}
	case errors.Is(err, secret.ErrOtherNode):
		return err
	case bySecret && strings.Contains(text, "remote error: tls: "):
		// The text of an alert contains no more detail.
		return &Unproven{"the other side does not accept the certificate of this node; the secret of the cluster " +
			"differs, or the clocks differ: " + adviceSecret, err}
	case bySecret && strings.Contains(text, "didn't provide a certificate"):
		return &Unproven{"the calling node presents no certificate; " + adviceSecret, err}
	case called && answersHTTP(err):
		return errors.New("an HTTP server answers there, perhaps the port of a node for clients (--http-addr): " +
			"give the address of its port for nodes (--rpc-addr)")
	case called && isNoTLS(err):
		return &Unproven{"the other side does not speak TLS: it has neither the cluster's secret nor a certificate, or " +
			"is an older version; " + adviceSecret, err}
	}
	return err
}

// answersHTTP reports whether the other side answered a handshake like an HTTP server.
func answersHTTP(err error) bool {
	header := tls.RecordHeaderError{}
	return errors.As(err, &header) && string(header.RecordHeader[:]) == "HTTP/"
}

// isNoTLS reports whether a handshake failed because the other side does not use TLS.
func isNoTLS(err error) bool {
	header := tls.RecordHeaderError{}
	return errors.As(err, &header) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// nodeAddr is the address of a connection whose other side has authenticated as a node.
type nodeAddr struct {
	net.Addr
	node string
}

// NodeOf returns the authenticated node id of the other side of a connection with this address, or an empty text.
func NodeOf(addr net.Addr) string {
	a, _ := addr.(nodeAddr)
	return a.node
}
