package pgwire

import (
	"crypto/tls"
	"errors"
	"strings"
	"testing"

	"cordwood/router/httpapi/auth"
)

// TestSignInOfTwoUsers checks that a client whose certificate stands for another user than its password is refused.
func TestSignInOfTwoUsers(t *testing.T) {
	p, err := auth.Open(auth.Config{
		Option: "static_user_provider:cmd:ann=secret,bob=secret", Scram: true,
		CertificateName: func(*tls.ConnectionState) (string, error) { return "bob", nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	f := start(t, func(c *Config) { c.Users, c.TLS = p, certificate(t) })
	if _, err := f.dial("user=bob password=secret sslmode=require"); err != nil {
		t.Errorf("the user of the certificate: %v", err)
	}
	_, err = f.dial("user=ann password=secret sslmode=require")
	if err == nil || !strings.Contains(err.Error(), "28000") ||
		!strings.Contains(err.Error(), "certificate is of the user bob") {
		t.Errorf("the password of another user: %v", err)
	}
}

// TestMissingDefaultDatabase checks that a session does not begin in another database than the default one of the user,
// if that does not exist.
func TestMissingDefaultDatabase(t *testing.T) {
	cfg := Config{}.withDefaults()
	for _, name := range []string{"", "postgres", "ann"} {
		s := newSession(&cfg, "ann", false, func(name string) bool { return name == "shop" })
		err := s.open(map[string]string{"user": "ann", "database": name}, "gone")
		var refused *Error
		if !errors.As(err, &refused) || refused.State != "3D000" ||
			!strings.Contains(refused.Text, `default database "gone"`) {
			t.Errorf("database %q: %v, want 3D000 that names the default", name, err)
		}
		if err := s.open(map[string]string{"user": "ann", "database": name}, "shop"); err != nil || s.schema() != "shop" {
			t.Errorf("database %q with a default that exists: %v, %s", name, err, s.schema())
		}
	}
	s := newSession(&cfg, "ann", false, func(name string) bool { return name == "shop" })
	if err := s.open(map[string]string{"database": "shop"}, "gone"); err != nil || s.schema() != "shop" {
		t.Errorf("a database that the client names: %v", err)
	}
}
