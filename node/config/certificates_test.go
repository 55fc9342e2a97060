package config

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"net/url"
	"strings"
	"testing"
)

// TestCertified checks for which user a certificate stands.
func TestCertified(t *testing.T) {
	full := &x509.Certificate{
		Subject: pkix.Name{CommonName: "ann", Names: []pkix.AttributeTypeAndValue{
			{Type: commonName, Value: "ann"}, {Type: asn1.ObjectIdentifier{2, 5, 4, 10}, Value: "example"},
		}}, DNSNames: []string{"web1.test"}, EmailAddresses: []string{"ann@test"},
		URIs: []*url.URL{{Scheme: "spiffe", Host: "test", Path: "/web1"}},
	}
	two := &x509.Certificate{DNSNames: []string{"a.test", "b.test"}}
	twice := &x509.Certificate{Subject: pkix.Name{CommonName: "boss", Names: []pkix.AttributeTypeAndValue{
		{Type: commonName, Value: "ann"}, {Type: commonName, Value: "boss"},
	}}}
	for _, c := range []struct {
		part       string
		cert       *x509.Certificate
		name, fail string
	}{
		{"cn", full, "ann", ""},
		{"san-dns", full, "web1.test", ""},
		{"san-email", full, "ann@test", ""},
		{"san-uri", full, "spiffe://test/web1", ""},
		{"off", full, "", ""},
		{"", full, "", ""},
		{"cn", two, "", ""},
		{"san-email", two, "", ""},
		{"san-dns", two, "", "has 2 DNS names"},
		{"cn", twice, "", "has 2 common names"},
	} {
		u := Users{Certificate: c.part}
		got, err := u.Certified(&tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{c.cert}}})
		if got != c.name || (err != nil) != (c.fail != "") || err != nil && !strings.Contains(err.Error(), c.fail) {
			t.Errorf("%s of %v: %q %v", c.part, c.cert.DNSNames, got, err)
		}
		// A certificate that --tls-client-ca has not signed proves nothing.
		got, err = u.Certified(&tls.ConnectionState{PeerCertificates: []*x509.Certificate{c.cert}})
		if got != "" || err != nil {
			t.Errorf("%s of a certificate of another authority: %q %v", c.part, got, err)
		}
		if got, err = u.Certified(nil); got != "" || err != nil {
			t.Errorf("%s without TLS: %q %v", c.part, got, err)
		}
	}
}
