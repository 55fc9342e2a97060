// Package certs loads a certificate, its key and the certificates of an authority. It reads their files again when
// they change, so that certificates can be renewed without a restart.
//
// Open a Source once. The configurations that it returns remain valid and may be used concurrently. It has no
// goroutine: a new connection triggers a check of the files, at most once a second.
package certs

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Files lists the files of a Source, all in PEM form.
type Files struct {
	// Cert is the file of the certificate with its chain, and Key the file of its key.
	Cert, Key string
	// CA, if not empty, is a file with the certificates of the authorities that may sign certificates of the other
	// side.
	CA string
}

// lookAgain is the minimum interval between checks of the files.
const lookAgain = time.Second

// Source is a certificate that is kept up to date.
type Source struct {
	files  Files
	logger *slog.Logger
	now    func() time.Time

	mu      sync.Mutex // guards the fields below
	looked  time.Time
	stamps  [3]stamp
	current *material
}

// material is the content of the files, all read at the same time.
type material struct {
	cert tls.Certificate
	pool *x509.CertPool // nil without CA
}

// stamp identifies a version of a file without reading it.
type stamp struct {
	modified time.Time
	size     int64
}

// Open reads the files. Its error contains the file that causes it.
func Open(files Files, logger *slog.Logger) (*Source, error) {
	s := &Source{files: files, logger: logger, now: time.Now}
	stamps := s.stat()
	m, err := files.read()
	if err != nil {
		return nil, err
	}
	s.current, s.stamps, s.looked = m, stamps, s.now()
	return s, nil
}

func (f Files) read() (*material, error) {
	cert, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, fmt.Errorf("read certificate %s and key %s: %w", f.Cert, f.Key, err)
	}
	m := &material{cert: cert}
	if f.CA != "" {
		pem, err := os.ReadFile(f.CA)
		if err != nil {
			return nil, fmt.Errorf("read certificates of the authority: %w", err)
		}
		m.pool = x509.NewCertPool()
		if !m.pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read certificates of the authority %s: it holds none in PEM form", f.CA)
		}
	}
	return m, nil
}

// stat returns the stamps of the files. The stamp of a file that does not exist is empty.
func (s *Source) stat() (stamps [3]stamp) {
	for i, file := range []string{s.files.Cert, s.files.Key, s.files.CA} {
		if file == "" {
			continue
		}
		if info, err := os.Stat(file); err == nil {
			stamps[i] = stamp{info.ModTime(), info.Size()}
		}
	}
	return stamps
}

// latest returns the present content of the files. If they cannot be read or do not match, it returns the previous
// content. They do not match, for example, between the renewal of the certificate and of the key.
func (s *Source) latest() *material {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if now.Sub(s.looked) < lookAgain {
		return s.current
	}
	s.looked = now
	stamps := s.stat()
	if stamps == s.stamps {
		return s.current
	}
	m, err := s.files.read()
	if err != nil {
		s.logger.Warn("a changed certificate cannot be used; the previous certificate stays in use", "error", err)
		return s.current
	}
	s.current, s.stamps = m, stamps
	s.logger.Info("read a changed certificate", "file", s.files.Cert, "expires", expiry(&m.cert))
	return m
}

func expiry(cert *tls.Certificate) time.Time {
	if cert.Leaf == nil {
		return time.Time{}
	}
	return cert.Leaf.NotAfter
}

// Server returns the configuration of a listener for TLS 1.2 and later. With a CA, it requires client certificates
// signed by that CA. It offers protocols by ALPN.
func (s *Source) Server(protocols ...string) *tls.Config {
	base := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: protocols}
	base.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		m := s.latest()
		c := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: protocols, Certificates: []tls.Certificate{m.cert}}
		if m.pool != nil {
			c.ClientCAs, c.ClientAuth = m.pool, tls.RequireAndVerifyClientCert
		}
		return c, nil
	}
	// This is never called, because GetConfigForClient handles every client. But net/http requires a certificate
	// before it listens.
	base.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &s.latest().cert, nil }
	return base
}

// Client returns the configuration for one connection to a server with a name. It presents the certificate. With a
// CA, it trusts only that CA.
func (s *Source) Client(serverName string, protocols ...string) *tls.Config {
	m := s.latest()
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: protocols, ServerName: serverName,
		Certificates: []tls.Certificate{m.cert}, RootCAs: m.pool,
	}
}
