package chaos

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cordwood/test/cluster"
)

// authority signs certificates.
type authority struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t testing.TB, name string) *authority {
	t.Helper()
	a := &authority{t: t}
	a.cert, a.key, a.pem, _ = a.sign(name, true)
	return a
}

// sign creates a certificate and its key. It also returns the certificate in PEM form.
func (a *authority) sign(name string, ca bool) (cert *x509.Certificate, key *ecdsa.PrivateKey, certPEM, keyPEM []byte) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), BasicConstraintsValid: true, IsCA: ca,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		KeyUsage:    x509.KeyUsageDigitalSignature,
	}
	parent, by := a.cert, a.key
	if ca {
		template.KeyUsage |= x509.KeyUsageCertSign
		parent, by = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	if err != nil {
		a.t.Fatal(err)
	}
	if cert, err = x509.ParseCertificate(der); err != nil {
		a.t.Fatal(err)
	}
	raw, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: raw})
}

// replace replaces a file by rename, as tools that renew certificates do.
func (a *authority) replace(path string, data []byte) {
	a.t.Helper()
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		a.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		a.t.Fatal(err)
	}
}

// issue writes NAME.pem and NAME.key, the key first, so that for a moment they do not match.
func (a *authority) issue(dir, name, common string) {
	a.t.Helper()
	_, _, cert, key := a.sign(common, false)
	a.replace(filepath.Join(dir, name+".key"), key)
	a.replace(filepath.Join(dir, name+".pem"), cert)
}

// shown returns the name in the certificate of a port.
func shown(addr string) (string, error) {
	unverified := &tls.Config{InsecureSkipVerify: true} // only the name in the certificate matters
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: 5 * time.Second}, "tcp", addr, unverified)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].Subject.CommonName, nil
}

// TestRenewedCertificates repeatedly renews the certificates for users and for nodes while rows are written over new
// connections, and finally the authority that signs them. No request may fail and no node is restarted for this.
// After that, a restarted node must be accepted with a certificate of the new authority, and refused with a
// certificate of the old one.
func TestRenewedCertificates(t *testing.T) {
	together(t)
	first, second := newAuthority(t, "first authority"), newAuthority(t, "second authority")
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	first.replace(at("ca.pem"), first.pem)
	first.issue(dir, "user", "user 0")
	first.issue(dir, "node", "node 0")
	c := cluster.NewCluster(t, cluster.Spec{All: 3, Args: []string{
		"--tls-cert", at("user.pem"), "--tls-key", at("user.key"),
		"--rpc-tls-cert", at("node.pem"), "--rpc-tls-key", at("node.key"), "--rpc-tls-ca", at("ca.pem"),
	}})
	c.Start()
	roots := x509.NewCertPool()
	roots.AddCert(first.cert)
	roots.AddCert(second.cert)
	fresh := &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
	}
	for _, n := range c.Nodes {
		n.Client = &http.Client{Transport: fresh}
	}
	l := Start(Options{Routers: c.Routers, Keyed: 2, Once: 4, Transport: fresh})
	t.Cleanup(func() {
		if !closed(l.stop) {
			close(l.healed)
			close(l.stop)
			l.wg.Wait()
		}
	})
	l.Warm(t)
	renew := func(a *authority, round int) {
		t.Helper()
		l.Fault("renewal %d", round)
		a.issue(dir, "user", fmt.Sprint("user ", round))
		a.issue(dir, "node", fmt.Sprint("node ", round))
		for _, n := range c.Nodes {
			for addr, want := range map[string]string{
				strings.TrimPrefix(n.HTTP, "https://"): fmt.Sprint("user ", round), n.RPC: fmt.Sprint("node ", round),
			} {
				cluster.Eventually(t, 30*time.Second, func() error {
					got, err := shown(addr)
					if err == nil && got != want {
						err = fmt.Errorf("%s presents the certificate %q, want %q", addr, got, want)
					}
					return err
				})
			}
		}
		l.AwaitAcked(t, 200)
	}
	last := rounds(3, 20)
	for round := range last {
		renew(first, round+1)
	}
	// Both authorities are trusted until every node has a certificate of the new one.
	first.replace(at("ca.pem"), slices.Concat(first.pem, second.pem))
	l.AwaitAcked(t, 200)
	renew(second, last+1)
	second.replace(at("ca.pem"), second.pem)
	l.AwaitAcked(t, 200)
	l.WantAnswers(t, "certificates were renewed")

	for _, n := range c.Nodes {
		l.Fault("restart of %s", n.Name)
		n.Stop()
		n.Start()
		l.AwaitAcked(t, 200)
	}
	for _, by := range []*authority{first, second} {
		_, _, cert, key := by.sign("a visitor", false)
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range c.Nodes {
			if err := visit(n.RPC, roots, pair); (err == nil) != (by == second) {
				t.Errorf("a node with a certificate of the %s connects to %s: %v", by.cert.Subject.CommonName, n.Name, err)
			}
		}
	}
	l.Stop()
	l.Check(t, c.Routers...)
	l.Report(t, 0, 0)
}

// visit connects to a port for nodes with a certificate, and returns an error if it is refused.
func visit(addr string, roots *x509.CertPool, cert tls.Certificate) error {
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: 5 * time.Second}, "tcp", addr, &tls.Config{
		RootCAs: roots, Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12,
	})
	if err != nil {
		return err
	}
	defer conn.Close()
	// With TLS 1.3, the certificate is refused after the handshake, so wait for the refusal.
	if err := conn.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return err
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil && !os.IsTimeout(err) {
		return err
	}
	return nil
}
