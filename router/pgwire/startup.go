package pgwire

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"net"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgproto3"

	"cordwood/router/access"
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

// handshake is what comes before a session: TLS, the start-up packet and signing in.
type handshake struct {
	cfg  *Config
	link *link
	say  *answers
	// cancel handles a request to cancel the statement of another connection.
	cancel func(body []byte)
	// authFailed counts a sign-in that failed.
	authFailed func()

	binding []byte // the channel binding of TLS for SCRAM, or nil
	sender  access.Sender
}

// open authenticates the client, and returns the parameters of its start-up packet. sender is then the client's user.
func (h *handshake) open() (map[string]string, error) {
	params, err := h.start()
	if err != nil {
		return nil, err
	}
	user := params["user"]
	if user == "" {
		return nil, fatal("28000", "no PostgreSQL user name specified in startup packet")
	}
	return params, h.signIn(user)
}

// start reads the first packets of a client up to the start-up packet, and returns its parameters.
func (h *handshake) start() (map[string]string, error) {
	if first, err := h.link.in.Peek(); err == nil && first == tlsHandshake {
		if err := h.directTLS(); err != nil {
			return nil, err
		}
	}
	var askedSSL, askedGSS bool
	for {
		body, err := h.link.in.Startup()
		if err != nil {
			return nil, h.notAStartup(err)
		}
		code := binary.BigEndian.Uint32(body)
		switch {
		case code == codeSSL && !askedSSL && h.link.tls == nil:
			askedSSL = true
			if err := h.answerSSL(); err != nil {
				return nil, err
			}
		case code == codeGSS && !askedGSS:
			askedGSS = true
			if _, err := h.link.net.Write([]byte{'N'}); err != nil {
				return nil, err
			}
		case code == codeCancel:
			h.cancel(body[4:]) // the client gets no response
			return nil, errNoSession
		case code>>16 == version3:
			return h.parameters(body[4:], code&0xffff)
		default:
			return nil, fatal("0A000", "unsupported frontend protocol %d.%d: server supports 3.0", code>>16, code&0xffff)
		}
	}
}

// notAStartup answers clients of other protocols.
func (h *handshake) notAStartup(err error) error {
	var bad wire.ProtocolError
	if !errors.As(err, &bad) {
		return err
	}
	if head := h.link.in.Head(); head == "GET " || head == "POST" || head == "HEAD" || head == "PUT " {
		_, _ = h.link.net.Write([]byte("HTTP/1.0 400 Bad Request\r\n\r\nthis is the PostgreSQL port\n")) // nobody may read it
		return errNoSession
	}
	return fatal("08P01", "%s", bad)
}

// answerSSL starts TLS if there is a certificate.
func (h *handshake) answerSSL() error {
	if h.link.in.Buffered() {
		// Such data is not encrypted, so an attacker may have inserted it.
		return fatal("08P01", "received unencrypted data after SSL request")
	}
	if h.cfg.TLS == nil {
		_, err := h.link.net.Write([]byte{'N'})
		return err
	}
	if _, err := h.link.net.Write([]byte{'S'}); err != nil {
		return err
	}
	return h.beginTLS(h.link.net, false)
}

// directTLS starts TLS without an SSLRequest.
func (h *handshake) directTLS() error {
	if h.cfg.TLS == nil {
		return errNoSession
	}
	return h.beginTLS(&buffered{Conn: h.link.net, in: h.link.in}, true)
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
func (h *handshake) beginTLS(nc net.Conn, mustName bool) error {
	cfg := h.cfg.TLS.Clone()
	var shown *tls.Certificate
	choose := cfg.GetConfigForClient
	cfg.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if (mustName || len(hello.SupportedProtos) > 0) && !slices.Contains(hello.SupportedProtos, alpn) {
			return nil, errors.New("the client does not offer the protocol postgresql")
		}
		own := h.cfg.TLS
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
	h.link.useTLS(t)
	if shown != nil {
		if cert, err := x509.ParseCertificate(shown.Certificate[0]); err == nil {
			h.binding = scram.Binding(cert)
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
func (h *handshake) parameters(body []byte, minor uint32) (map[string]string, error) {
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
		h.say.send(&pgproto3.NegotiateProtocolVersion{NewestMinorProtocol: 0, UnrecognizedOptions: unknown})
	}
	if r := strings.ToLower(params["replication"]); r != "" && r != "false" && r != "off" && r != "0" {
		return nil, fatal("0A000", "replication is not supported")
	}
	delete(params, "replication")
	return params, nil
}

func newKey() uint32 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint32(b[:])
}
