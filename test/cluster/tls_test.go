package cluster

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"cordwood/proto/metapb"
)

// selfSigned writes a self-signed certificate and its key.
func selfSigned(t *testing.T, dir, name string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "EC PRIVATE KEY", Bytes: raw},
	} {
		if err := os.WriteFile(file+".new", pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{key, cert} {
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// subject returns the name in the certificate of a port.
func subject(addr string) (string, error) {
	dialer := &tls.Dialer{
		NetDialer: &net.Dialer{Timeout: 30 * time.Second},
		Config:    &tls.Config{InsecureSkipVerify: true}, // only the name in the certificate matters
	}
	conn, err := dialer.DialContext(context.Background(), "tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Subject.CommonName, nil
}

// TestTLS runs both ports with TLS. Users must get a renewed certificate without a restart, and the internal port
// must accept only peers with a certificate.
func TestTLS(t *testing.T) {
	t.Parallel()
	userDir, nodeDir := t.TempDir(), t.TempDir()
	cert, key := selfSigned(t, userDir, "first")
	nodeCert, nodeKey := selfSigned(t, nodeDir, "node")
	n := New(t, "--shards", "1", "--tls-cert", cert, "--tls-key", key,
		"--rpc-tls-cert", nodeCert, "--rpc-tls-key", nodeKey, "--rpc-tls-ca", nodeCert)
	n.Start()
	users := strings.TrimPrefix(n.HTTP, "https://")
	if got, err := subject(users); err != nil || got != "first" {
		t.Fatalf("the user port presents %q, %v", got, err)
	}
	selfSigned(t, userDir, "second")
	for end := time.Now().Add(Generous(20 * time.Second)); ; {
		got, err := subject(users)
		if err == nil && got == "second" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("after the renewal the user port presents %q, %v", got, err)
		}
	}

	pair, err := tls.LoadX509KeyPair(nodeCert, nodeKey)
	if err != nil {
		t.Fatal(err)
	}
	pem, err := os.ReadFile(nodeCert)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	for name, c := range map[string]struct {
		credentials credentials.TransportCredentials
		ok          bool
	}{
		"a node": {
			credentials.NewTLS(&tls.Config{
				RootCAs: roots, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12,
			}), true,
		},
		"no certificate": {credentials.NewTLS(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}), false},
		"no TLS":         {insecure.NewCredentials(), false},
	} {
		conn, err := grpc.NewClient(n.RPC, grpc.WithTransportCredentials(c.credentials))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		hello, err := metapb.NewDiscoveryClient(conn).Hello(ctx, &metapb.HelloRequest{})
		cancel()
		if cerr := conn.Close(); cerr != nil {
			t.Error(cerr)
		}
		if (err == nil) != c.ok || c.ok && hello.ClusterId == "" {
			t.Errorf("%s: %v, %v", name, hello, err)
		}
	}
	n.Stop()
}
