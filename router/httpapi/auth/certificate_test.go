package auth

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/router/access"
)

// ofName returns the state of a connection whose client has a certificate with a common name.
func ofName(name string) *tls.ConnectionState {
	return &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{{Subject: pkix.Name{CommonName: name}}}}}
}

// openCertified returns a Provider with users in the file and in the metadata, where common names are names of users.
func openCertified(t *testing.T) (p *Provider, refused *int) {
	t.Helper()
	file, n := filepath.Join(t.TempDir(), "users"), 0
	if err := os.WriteFile(file, []byte("look:ro=secret of look\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := Open(Config{
		Stored: true, UserFile: file, Refused: func(access.Sender, netip.Addr, error) { n++ },
		CertificateName: func(state *tls.ConnectionState) (string, error) {
			name := state.VerifiedChains[0][0].Subject.CommonName
			if name == "two" {
				return "", errors.New("two names")
			}
			return name, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	apply(p, true, []*metapb.AccessPrincipal{
		{Name: "ship", Grants: []*metapb.AccessGrant{selectOn("a")}}, // without a password
		{Name: "gone", Disabled: true}, principal(t, "ann", "password of ann", 7), {Name: "team", Role: true},
	}, nil)
	return p, &n
}

// TestCertificate checks that a certificate stands for the user of its name, with the rights of this user only, and for
// nobody if this user does not exist or is disabled.
func TestCertificate(t *testing.T) {
	p, refused := openCertified(t)
	for name, may := range map[string]bool{"ship": true, "ann": false, "look": true} {
		s, err := p.Certificate(ofName(name), here)
		if err != nil || s.User != name || s.Proof != "certificate" || s.May(reading("a")) != may {
			t.Errorf("%s: %+v %v", name, s, err)
		}
		if s.May(access.Need{Privilege: access.Insert}) {
			t.Errorf("%s may write, which nobody has granted", name)
		}
	}
	if *refused != 0 {
		t.Errorf("%d sign-ins are refused", *refused)
	}
	for _, name := range []string{"gone", "nobody", "team", "two"} {
		if _, err := p.Certificate(ofName(name), here); err == nil || errs.From(err).Status() != 401 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if *refused != 4 {
		t.Errorf("%d of 4 sign-ins are recorded as refused", *refused)
	}
	for what, state := range map[string]*tls.ConnectionState{"no TLS": nil, "no name": ofName("")} {
		if _, err := p.Certificate(state, here); errs.CodeOf(err) != errs.AuthHeaderNotFound ||
			errs.From(err).Status() != 401 {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestCertificateOfRequest checks requests with a certificate: without credentials they are of the user of the
// certificate, and credentials of another user are refused.
func TestCertificateOfRequest(t *testing.T) {
	p, _ := openCertified(t)
	for _, c := range []struct {
		certificate, user, password string
		want                        string // the user; empty: refused
	}{
		{"ship", "", "", "ship"},
		{"nobody", "", "", ""},
		{"ann", "ann", "password of ann", "ann"},
		{"ann", "ann", "wrong", ""},
		{"ship", "ann", "password of ann", ""},
		{"nobody", "ann", "password of ann", ""},
		{"", "ann", "password of ann", "ann"},
		{"", "", "", ""},
	} {
		r := httptest.NewRequest("GET", "/v1/sql", nil)
		r.TLS = ofName(c.certificate)
		if c.user != "" {
			r.SetBasicAuth(c.user, c.password)
		}
		s, err := p.Authenticate(r, here)
		if (err == nil) != (c.want != "") || err == nil && s.User != c.want || err != nil && errs.From(err).Status() != 401 {
			t.Errorf("%+v: %s %v", c, s.User, err)
		}
	}
}

// TestCertificateEnds checks that work of a certificate's user ends when the user is disabled or loses a right.
func TestCertificateEnds(t *testing.T) {
	p, _ := openCertified(t)
	for what, change := range map[string]*metapb.AccessPrincipal{
		"lost a right": {Name: "ship"}, "was disabled": {Name: "ship", Disabled: true},
	} {
		apply(p, false, []*metapb.AccessPrincipal{{Name: "ship", Grants: []*metapb.AccessGrant{selectOn("a")}}}, nil)
		s, err := p.Certificate(ofName("ship"), here)
		if err != nil {
			t.Fatal(err)
		}
		var ended error
		work := p.Begin(s, func(err error) { ended = err })
		if err := work.Require(reading("a")); err != nil {
			t.Fatal(err)
		}
		apply(p, false, []*metapb.AccessPrincipal{change}, nil)
		if ended == nil {
			t.Errorf("work continues after its user %s", what)
		}
		work.End()
	}
}

// TestNameInCertificate checks that a user can have another name in the certificates, and then has none with the name
// of the user.
func TestNameInCertificate(t *testing.T) {
	p, _ := openCertified(t)
	apply(p, false, []*metapb.AccessPrincipal{
		{Name: "ship", Certificate: "spiffe://example.com/ship", Grants: []*metapb.AccessGrant{selectOn("a")}},
		{Name: "thief", Certificate: "look"}, // a user of the file
	}, nil)
	s, err := p.Certificate(ofName("spiffe://example.com/ship"), here)
	if err != nil || s.User != "ship" || !s.May(reading("a")) {
		t.Fatalf("%+v, %v", s, err)
	}
	if _, err := p.Certificate(ofName("ship"), here); errs.CodeOf(err) != errs.UserNotFound {
		t.Errorf("by the name of the user: %v", err)
	}
	if s, err := p.Certificate(ofName("look"), here); err != nil || s.User != "look" {
		t.Errorf("the user of the file: %+v, %v", s, err)
	}
	ended := make(chan error, 1)
	w := p.Begin(s, func(err error) { ended <- err })
	defer w.End()
	apply(p, false, []*metapb.AccessPrincipal{{Name: "ship", Grants: []*metapb.AccessGrant{selectOn("a")}}}, nil)
	select {
	case err := <-ended:
		if err == nil {
			t.Error("work ended without an error")
		}
	default:
		t.Error("work goes on after the name in the certificate was taken away")
	}
	r := httptest.NewRequest("GET", "/", nil)
	r.TLS = ofName("spiffe://example.com/ann")
	r.SetBasicAuth("ann", "password of ann")
	if _, err := p.Authenticate(r, here); errs.CodeOf(err) != errs.UserPasswordMismatch {
		t.Errorf("credentials of another user: %v", err)
	}
	ann := principal(t, "ann", "password of ann", 7)
	ann.Certificate = "spiffe://example.com/ann"
	apply(p, false, []*metapb.AccessPrincipal{ann}, nil)
	if s, err := p.Authenticate(r, here); err != nil || s.User != "ann" {
		t.Errorf("credentials of the same user: %+v, %v", s, err)
	}
}
