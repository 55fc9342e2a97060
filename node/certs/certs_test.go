package certs

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{cert, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// issue writes a certificate for localhost, its key and the authority into dir.
func (a *authority) issue(t *testing.T, dir, name string, expires time.Time) Files {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		DNSNames:  []string{"localhost"},
		NotBefore: expires.Add(-2 * time.Hour), NotAfter: expires,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	f := Files{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), CA: filepath.Join(dir, "ca.pem")}
	for file, text := range map[string][]byte{
		f.Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		f.Key:  pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: raw}),
		f.CA:   a.pem,
	} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func open(t *testing.T, f Files, log io.Writer) *Source {
	t.Helper()
	s, err := Open(f, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// shake does a TLS handshake and returns the name in the server's certificate.
func shake(t *testing.T, server, client *tls.Config) (string, error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	served := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			defer conn.Close()
			_, err = tls.Server(conn, server).Write([]byte("x")) // this completes the handshake
		}
		served <- err
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	c := tls.Client(conn, client)
	_, err = io.ReadFull(c, make([]byte, 1)) // the server reports a refusal only after the handshake
	conn.Close()
	if serr := <-served; err == nil {
		err = serr
	}
	if err != nil {
		return "", err
	}
	return c.ConnectionState().PeerCertificates[0].Subject.CommonName, nil
}

func TestMutual(t *testing.T) {
	ours, foreign := newAuthority(t, "ours"), newAuthority(t, "foreign")
	later := time.Now().Add(time.Hour)
	server := open(t, ours.issue(t, t.TempDir(), "server", later), io.Discard).Server()
	for _, c := range []struct {
		name   string
		client *tls.Config
		ok     bool
	}{
		{"a node of the cluster", open(t, ours.issue(t, t.TempDir(), "node", later), io.Discard).Client("localhost"), true},
		{"another name", open(t, ours.issue(t, t.TempDir(), "node", later), io.Discard).Client("elsewhere"), false},
		{"a foreign authority", open(t, foreign.issue(t, t.TempDir(), "node", later), io.Discard).Client("localhost"), false},
		{"a certificate of a foreign authority", foreignCert(t, ours, foreign), false},
		{"an expired certificate", open(t, ours.issue(t, t.TempDir(), "node", time.Now().Add(-time.Minute)),
			io.Discard).Client("localhost"), false},
		{"no certificate", &tls.Config{RootCAs: pool(ours), ServerName: "localhost", MinVersion: tls.VersionTLS12}, false},
		{"an old version of TLS", &tls.Config{
			RootCAs: pool(ours), ServerName: "localhost", MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11,
		}, false},
	} {
		if name, err := shake(t, server, c.client); (err == nil) != c.ok || c.ok && name != "server" {
			t.Errorf("%s: %q, %v", c.name, name, err)
		}
	}
}

// foreignCert trusts the right authority but presents a certificate of another one.
func foreignCert(t *testing.T, ours, foreign *authority) *tls.Config {
	c := open(t, foreign.issue(t, t.TempDir(), "node", time.Now().Add(time.Hour)), io.Discard).Client("localhost")
	c.RootCAs = pool(ours)
	return c
}

func pool(a *authority) *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

// TestRenewal checks that a changed certificate is used for the next connection, and that an
// unreadable one changes nothing.
func TestRenewal(t *testing.T) {
	a := newAuthority(t, "ours")
	dir := t.TempDir()
	files := a.issue(t, dir, "first", time.Now().Add(time.Hour))
	var log bytes.Buffer
	s := open(t, files, &log)
	clock := time.Now()
	s.now = func() time.Time { return clock }
	server := s.Server("h2")
	client := func() *tls.Config {
		return open(t, a.issue(t, t.TempDir(), "client", time.Now().Add(time.Hour)), io.Discard).Client("localhost", "h2")
	}
	check := func(want string) {
		t.Helper()
		clock = clock.Add(2 * lookAgain)
		if got, err := shake(t, server, client()); err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	check("first")
	a.issue(t, dir, "second", time.Now().Add(time.Hour))
	touch(t, files, 5*time.Second)
	check("second")
	if err := os.WriteFile(files.Key, []byte("not a key"), 0o600); err != nil {
		t.Fatal(err)
	}
	touch(t, files, 10*time.Second)
	check("second")
	if !strings.Contains(log.String(), "stays in use") {
		t.Errorf("the log does not report it:\n%s", log.String())
	}
	a.issue(t, dir, "third", time.Now().Add(time.Hour))
	touch(t, files, 15*time.Second)
	check("third")
}

// touch makes the modification times of the files differ from before, even if the file system's clock is coarse.
func touch(t *testing.T, f Files, by time.Duration) {
	t.Helper()
	at := time.Now().Add(by)
	for _, file := range []string{f.Cert, f.Key} {
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOpenNamesTheFile(t *testing.T) {
	f := newAuthority(t, "ours").issue(t, t.TempDir(), "x", time.Now().Add(time.Hour))
	for _, c := range []struct {
		change func(*Files)
		want   string
	}{
		{func(f *Files) { f.Cert = "nowhere.pem" }, "nowhere.pem"},
		{func(f *Files) { f.Key = f.Cert }, f.Cert},
		{func(f *Files) { f.CA = "nobody.pem" }, "nobody.pem"},
		{func(f *Files) { f.CA = f.Key }, "none in PEM form"},
	} {
		bad := f
		c.change(&bad)
		if _, err := Open(bad, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}
