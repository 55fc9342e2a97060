package config

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"fmt"

	"cordwood/proto/words"
)

// certificatesOff is the value of Users.Certificate if certificates stand for nobody.
const certificatesOff = "off"

// commonName is the type of a common name in the name of a certificate's subject (RFC 5280, appendix A.1).
var commonName = asn1.ObjectIdentifier{2, 5, 4, 3}

// certificateName describes a part of a certificate that can be the name of a user.
type certificateName struct {
	what [2]string // singular and plural
	of   func(*x509.Certificate) []string
}

// certificateNames has the part for each value of Users.Certificate but off.
var certificateNames = map[string]*certificateName{
	"cn": {[2]string{"common name", "common names"}, func(c *x509.Certificate) (out []string) {
		// CommonName has only the last one of several.
		for _, part := range c.Subject.Names {
			if name, ok := part.Value.(string); ok && name != "" && part.Type.Equal(commonName) {
				out = append(out, name)
			}
		}
		return out
	}},
	"san-dns": {
		[2]string{"DNS name", "DNS names"}, func(c *x509.Certificate) []string { return c.DNSNames },
	},
	"san-email": {
		[2]string{"e-mail address", "e-mail addresses"}, func(c *x509.Certificate) []string { return c.EmailAddresses },
	},
	"san-uri": {[2]string{"URI", "URIs"}, func(c *x509.Certificate) (out []string) {
		for _, u := range c.URIs {
			out = append(out, u.String())
		}
		return out
	}},
}

// certificates reports whether client certificates stand for users.
func (u *Users) certificates() bool { return u.Certificate != "" && u.Certificate != certificatesOff }

// Certified returns the name of the user for whom the certificate of a client stands, which --tls-client-ca has signed.
// It returns "" if the client has no certificate with a name, or if certificates stand for nobody.
func (u *Users) Certified(state *tls.ConnectionState) (string, error) {
	part := certificateNames[u.Certificate]
	if part == nil || state == nil || len(state.VerifiedChains) == 0 {
		return "", nil
	}
	switch names := part.of(state.VerifiedChains[0][0]); len(names) {
	case 0:
		return "", nil
	case 1:
		return names[0], nil
	default:
		return "", fmt.Errorf("the client's certificate has %s, and it must have one, which is the name of its user: see "+
			"--tls-client-user=%s", words.Say(len(names), part.what[0], part.what[1]), u.Certificate)
	}
}
