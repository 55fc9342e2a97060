package pgwire

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgproto3"

	"cordwood/router/access/scram"
	"cordwood/router/pgwire/wire"
)

// The codes of start-up packets.
const (
	codeCancel   = 80877102
	codeSSL      = 80877103
	codeGSS      = 80877104
	version3     = 3
	tlsHandshake = 0x16
	alpn         = "postgresql"
	// maxParameters is the maximum number of parameters in a start-up packet.
	maxParameters = 64
)

// errNoSession ends a connection without a session, such as a cancel request.
var errNoSession = errors.New("there is no session to begin")

// start reads the first packets of a client up to the start-up packet, and returns its parameters.
func (c *conn) start() (map[string]string, error) {
	if first, err := c.in.Peek(); err == nil && first == tlsHandshake {
		if err := c.directTLS(); err != nil {
			return nil, err
		}
	}
	var askedSSL, askedGSS bool
	for {
		body, err := c.in.Startup()
		if err != nil {
			return nil, c.notAStartup(err)
		}
		code := binary.BigEndian.Uint32(body)
		switch {
		case code == codeSSL && !askedSSL && c.tls == nil:
			askedSSL = true
			if err := c.answerSSL(); err != nil {
				return nil, err
			}
		case code == codeGSS && !askedGSS:
			askedGSS = true
			if _, err := c.net.Write([]byte{'N'}); err != nil {
				return nil, err
			}
		case code == codeCancel:
			c.cancelOther(body[4:])
			return nil, errNoSession
		case code>>16 == version3:
			return c.parameters(body[4:], code&0xffff)
		default:
			return nil, fatal("0A000", "unsupported frontend protocol %d.%d: server supports 3.0", code>>16, code&0xffff)
		}
	}
}

// notAStartup answers clients of other protocols.
func (c *conn) notAStartup(err error) error {
	var bad wire.ProtocolError
	if !errors.As(err, &bad) {
		return err
	}
	if head := c.in.Head(); head == "GET " || head == "POST" || head == "HEAD" || head == "PUT " {
		_, _ = c.net.Write([]byte("HTTP/1.0 400 Bad Request\r\n\r\nthis is the PostgreSQL port\n")) // nobody may read it
		return errNoSession
	}
	return fatal("08P01", "%s", bad)
}

// answerSSL starts TLS if there is a certificate.
func (c *conn) answerSSL() error {
	if c.in.Buffered() {
		// Such data is not encrypted, so an attacker may have inserted it.
		return fatal("08P01", "received unencrypted data after SSL request")
	}
	if c.srv.cfg.TLS == nil {
		_, err := c.net.Write([]byte{'N'})
		return err
	}
	if _, err := c.net.Write([]byte{'S'}); err != nil {
		return err
	}
	return c.beginTLS(c.net, false)
}

// directTLS starts TLS without an SSLRequest.
func (c *conn) directTLS() error {
	if c.srv.cfg.TLS == nil {
		return errNoSession
	}
	return c.beginTLS(&buffered{Conn: c.net, in: c.in}, true)
}

// buffered is a connection with data that was read ahead.
type buffered struct {
	net.Conn
	in *wire.Reader
}

// Read returns the data that was read ahead first.
func (b *buffered) Read(p []byte) (int, error) { return b.in.Source().Read(p) }

// beginTLS starts TLS on the connection. The client's ALPN protocol must be PostgreSQL's; it may be missing unless
// mustName is set.
func (c *conn) beginTLS(nc net.Conn, mustName bool) error {
	cfg := c.srv.cfg.TLS.Clone()
	var shown *tls.Certificate
	choose := cfg.GetConfigForClient
	cfg.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if (mustName || len(hello.SupportedProtos) > 0) && !slices.Contains(hello.SupportedProtos, alpn) {
			return nil, errors.New("the client does not offer the protocol postgresql")
		}
		own := c.srv.cfg.TLS
		if choose != nil {
			chosen, err := choose(hello)
			if err != nil {
				return nil, err
			}
			if chosen != nil {
				own = chosen
			}
		}
		own = own.Clone()
		own.GetConfigForClient = nil
		own.NextProtos = []string{alpn}
		shown = certificateOf(own, hello)
		return own, nil
	}
	t := tls.Server(nc, cfg)
	if err := t.Handshake(); err != nil {
		return errNoSession // TLS has sent an alert to the client
	}
	c.tls = t
	c.use(t)
	if shown != nil {
		if cert, err := x509.ParseCertificate(shown.Certificate[0]); err == nil {
			c.binding = scram.Binding(cert)
		}
	}
	return nil
}

// certificateOf returns the certificate that the client receives, or nil if it is unknown.
func certificateOf(cfg *tls.Config, hello *tls.ClientHelloInfo) *tls.Certificate {
	if cfg.GetCertificate != nil {
		if cert, err := cfg.GetCertificate(hello); err == nil && cert != nil {
			return cert
		}
	}
	if len(cfg.Certificates) == 1 {
		return &cfg.Certificates[0]
	}
	return nil
}

// parameters parses the parameters of a start-up packet of version 3.minor.
func (c *conn) parameters(body []byte, minor uint32) (map[string]string, error) {
	params, unknown := map[string]string{}, []string{}
	text := string(body)
	for {
		name, rest, found := strings.Cut(text, "\x00")
		if !found {
			return nil, fatal("08P01", "invalid startup packet layout: expected terminator as last byte")
		}
		if name == "" {
			break
		}
		val, rest, found := strings.Cut(rest, "\x00")
		switch {
		case !found:
			return nil, fatal("08P01", "invalid startup packet layout: a parameter has no value")
		case !utf8.ValidString(name) || !utf8.ValidString(val):
			return nil, fatal("22021", "invalid byte sequence for encoding \"UTF8\" in the start-up packet")
		case len(params)+len(unknown) >= maxParameters:
			return nil, fatal("08P01", "the start-up packet has more than %d parameters", maxParameters)
		case strings.HasPrefix(name, "_pq_."):
			unknown = append(unknown, name)
		default:
			params[name] = val
		}
		text = rest
	}
	if minor != 0 || len(unknown) > 0 {
		c.out.Send(&pgproto3.NegotiateProtocolVersion{NewestMinorProtocol: 0, UnrecognizedOptions: unknown})
	}
	if r := strings.ToLower(params["replication"]); r != "" && r != "false" && r != "off" && r != "0" {
		return nil, fatal("0A000", "replication is not supported")
	}
	delete(params, "replication")
	return params, nil
}

// cancelOther handles a cancel request. The client gets no response.
func (c *conn) cancelOther(body []byte) {
	if c.srv.guessed.tooMany(c.address) {
		c.srv.metrics.cancel(false)
		return
	}
	found := len(body) == 8 && c.srv.cancelAnywhere(binary.BigEndian.Uint32(body), binary.BigEndian.Uint32(body[4:]))
	if !found {
		c.srv.guessed.add(c.address)
	}
	c.srv.metrics.cancel(found)
}

func newKey() uint32 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint32(b[:])
}

// addressOf returns the address of a client.
func addressOf(nc net.Conn) netip.Addr {
	if from, err := netip.ParseAddrPort(nc.RemoteAddr().String()); err == nil {
		return from.Addr().Unmap()
	}
	return netip.Addr{}
}

// stalling writes to a connection whose client has to read some data in time.
type stalling struct {
	net.Conn
	most time.Duration

	mu   sync.Mutex // guards last and the write deadline
	last time.Time  // the end of all writing; zero means no end
}

// Write writes within the time limit.
func (s *stalling) Write(p []byte) (int, error) {
	if err := s.setDeadline(); err != nil {
		return 0, err
	}
	return s.Conn.Write(p)
}

func (s *stalling) setDeadline() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	until := time.Now().Add(s.most)
	if !s.last.IsZero() && s.last.Before(until) {
		until = s.last
	}
	return s.SetWriteDeadline(until)
}

// endAt ends all writing at a time; zero removes the limit.
func (s *stalling) endAt(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last = at; !at.IsZero() {
		_ = s.SetWriteDeadline(at) // it fails if the connection has ended
	}
}
