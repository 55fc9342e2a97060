package secret

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"sync"
	"time"
)

// A certificate is valid for 24 hours and renewed after 12 hours. Nodes accept each other's certificates if their
// clocks differ by up to clockLeeway, so that a clock in the wrong time zone does not isolate a node. This longer
// validity hardly helps an attacker: the key of the certificate is only in memory, like the secret.
const (
	validity    = 24 * time.Hour
	renewAfter  = validity / 2
	clockLeeway = 24 * time.Hour
)

// lookEvery is the interval at which Run checks the file.
const lookEvery = time.Second

// ErrDiffers is the error of a certificate that no secret of this node has signed.
var ErrDiffers = errors.New("the secret of the cluster differs")

// ErrOtherNode is the error of a certificate for another node than the intended one.
var ErrOtherNode = errors.New("it is another node")

// Config configures a Source. File and Node are required.
type Config struct {
	// File contains the secret.
	File string
	// Node is the id in this node's certificates.
	Node   string
	Logger *slog.Logger
	// Now is the clock. The default value is time.Now.
	Now func() time.Time
}

// Source authenticates this node to others, and others to this node, by the secret in a file.
type Source struct {
	cfg Config

	mu     sync.Mutex // guards the fields below
	text   []byte     // content of the file
	secret *Secret
	failed string // the reason why the file could not be read again; empty if it could
	cert   *tls.Certificate
	made   time.Time // when cert was made
	onNews []func()
}

// Open reads the file.
func Open(cfg Config) (*Source, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Source{cfg: cfg}
	if err := s.Reload(); err != nil {
		return nil, err
	}
	return s, nil
}

// File returns the path of the secret's file.
func (s *Source) File() string { return s.cfg.File }

// OnChange sets a function that is called after each change of the secret.
func (s *Source) OnChange(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onNews = append(s.onNews, f)
}

// Reload reads the file again. While the file is invalid, the previous secret is used.
func (s *Source) Reload() error {
	text, err := readFile(s.cfg.File)
	if err != nil {
		return err
	}
	s.mu.Lock()
	if s.secret != nil && bytes.Equal(text, s.text) {
		s.mu.Unlock()
		return nil
	}
	secret, err := Parse(text)
	if err != nil {
		s.mu.Unlock()
		return fmt.Errorf("secret of the cluster in %q: %w", s.cfg.File, err)
	}
	first := s.secret == nil
	s.text, s.secret, s.cert = text, secret, nil
	news := s.onNews
	s.mu.Unlock()
	if first {
		return nil
	}
	s.cfg.Logger.Info("read a changed secret of the cluster", "file", s.cfg.File, "count", len(secret.authorities))
	for _, f := range news {
		f()
	}
	return nil
}

// Run reads the file again when it changes, until ctx ends.
func (s *Source) Run(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			s.look()
		}
	}
}

// look is Reload that logs each fault only once.
func (s *Source) look() {
	err := s.Reload()
	text := ""
	if err != nil {
		text = err.Error()
	}
	s.mu.Lock()
	news := text != "" && text != s.failed
	s.failed = text
	s.mu.Unlock()
	if news {
		s.cfg.Logger.Error("the changed secret of the cluster cannot be used; the previous secret stays in use", "error", err)
	}
}

// certificate returns the current certificate of this node.
func (s *Source) certificate() (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.cfg.Now()
	// A clock that was set back also causes a new certificate.
	if age := now.Sub(s.made); s.cert != nil && age >= 0 && age < renewAfter {
		return s.cert, nil
	}
	cert, err := s.secret.authorities[0].sign(s.cfg.Node, now)
	if err != nil {
		return nil, fmt.Errorf("sign the certificate of this node: %w", err)
	}
	s.cert, s.made = cert, now
	return cert, nil
}

// sign returns a new certificate for a node.
func (a *authority) sign(node string, now time.Time) (*tls.Certificate, error) {
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial.Add(serial, big.NewInt(1)), Subject: pkix.Name{CommonName: node},
		NotBefore: now, NotAfter: now.Add(validity), BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.root, public, a.key)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}

// Server returns the configuration of a port. It admits only clients with a certificate of the same secret, and
// offers protocols by ALPN.
func (s *Source) Server(protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: protocols,
		GetCertificate:         func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.certificate() },
		ClientAuth:             tls.RequireAnyClientCert, // Trusts checks the certificate
		VerifyConnection:       s.Trusts,
		SessionTicketsDisabled: true, // a session must not live longer than the secret
	}
}

// Client returns the configuration for one connection to a node. An empty node means any node of the cluster.
func (s *Source) Client(_, node string, protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: protocols,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return s.certificate() },
		// Certificates are for ids, and the secret's authority signs them. VerifyConnection checks both.
		InsecureSkipVerify: true,
		VerifyConnection: func(c tls.ConnectionState) error {
			if err := s.Trusts(c); err != nil {
				return err
			}
			if got := s.Node(c); node != "" && got != node {
				return fmt.Errorf("%w, %s, instead of node %s: the address is out of date", ErrOtherNode, got, node)
			}
			return nil
		},
	}
}

// Node returns the authenticated id of the other side of a connection.
func (s *Source) Node(c tls.ConnectionState) string {
	if len(c.PeerCertificates) == 0 {
		return ""
	}
	return c.PeerCertificates[0].Subject.CommonName
}

// Trusts returns nil if the other side of a connection has a certificate of the current secret. The error wraps
// ErrDiffers if the certificate is of another secret.
func (s *Source) Trusts(c tls.ConnectionState) error {
	if len(c.PeerCertificates) == 0 {
		return fmt.Errorf("%w: it presents no certificate", ErrDiffers)
	}
	leaf := c.PeerCertificates[0]
	s.mu.Lock()
	authorities := s.secret.authorities
	s.mu.Unlock()
	if !signed(leaf, authorities) {
		return ErrDiffers
	}
	if leaf.Subject.CommonName == "" {
		return errors.New("its certificate contains no node id")
	}
	now := s.cfg.Now()
	if off := max(leaf.NotBefore.Sub(now), now.Sub(leaf.NotAfter)); off > clockLeeway {
		return fmt.Errorf("the clocks differ: the certificate of node %s is valid from %s to %s, but here it is %s: set the "+
			"wrong clock",
			leaf.Subject.CommonName, leaf.NotBefore.UTC().Format(time.DateTime),
			leaf.NotAfter.UTC().Format(time.DateTime), now.UTC().Format(time.DateTime))
	}
	return nil
}

func signed(leaf *x509.Certificate, authorities []*authority) bool {
	for _, a := range authorities {
		if leaf.CheckSignatureFrom(a.root) == nil {
			return true
		}
	}
	return false
}

// Keys returns keys for a purpose that every node derives from the secret. Use the first one. The second one exists
// only while the secret is being changed, and is also accepted.
func (s *Source) Keys(purpose string) [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.secret.Keys(purpose)
}

// Keys returns the keys for a purpose, as Source.Keys does.
func (s *Secret) Keys(purpose string) (out [][]byte) {
	for _, a := range s.authorities {
		out = append(out, a.derive(purpose))
	}
	return out
}
