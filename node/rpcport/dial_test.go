package rpcport

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"cordwood/node/certs"
)

// named opens a source with a certificate that contains only the given name, and with an authority of its own.
func named(t *testing.T, name string) *certs.Source {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour),
		IsCA:     true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files := certs.Files{
		Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), CA: filepath.Join(dir, "cert.pem"),
	}
	for file, block := range map[string]*pem.Block{
		files.Cert: {Type: "CERTIFICATE", Bytes: der}, files.Key: {Type: "EC PRIVATE KEY", Bytes: raw},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	source, err := certs.Open(files, nil)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// TestServerName checks that a node whose address is in no certificate is reached if its certificate has the common
// server name.
func TestServerName(t *testing.T) {
	source := named(t, "nodes.example")
	p, err := Listen(Config{Addr: "127.0.0.1:0", Credentials: Files{Source: source}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, c := range []struct {
		server, found string
		ok            bool
	}{
		{"nodes.example", "", true},
		{"nodes.example", "found.example", true},
		{"", "nodes.example", true},
		{"", "", false},
		{"others.example", "nodes.example", false},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		conn, err := Dialer{Credentials: Files{source, c.server}}.Dial(ctx, Target{Addr: p.Addr().String(), Name: c.found})
		cancel()
		if (err == nil) != c.ok {
			t.Errorf("server name %q, found as %q: %v", c.server, c.found, err)
		}
		if err == nil {
			conn.Close()
		}
	}
}
