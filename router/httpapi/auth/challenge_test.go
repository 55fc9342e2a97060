package auth

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"cordwood/proto/errs"
	"cordwood/router/access"
	"cordwood/router/access/scram"
)

// TestChallenge signs in with each stored form of a password.
func TestChallenge(t *testing.T) {
	keys, err := scram.New("secret", scram.Iterations)
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.StdEncoding.EncodeToString
	derived, err := deriveHex("secret")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Join([]string{
		"plain=secret", "prefixed=plain:secret", "pbkdf=" + derived, "text=" + keys.String(),
		fmt.Sprintf("pg=pg_scram_sha256:%d:%s:%s:%s", keys.Iterations, b64(keys.Salt), b64(keys.Stored), b64(keys.Server)),
		"bcrypt=" + hashBcrypt(t, "secret"), "mysql=mysql_native_password:" + strings.Repeat("0", 40),
	}, ",")
	p, err := Open(Config{Option: "static_user_provider:cmd:" + lines, Scram: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"plain", "prefixed", "pbkdf", "text", "pg"} {
		c, err := p.Challenge(name, home)
		if err != nil || !c.Keys.Matches("secret") || c.Keys.Matches("wrong") || c.Password {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if s, ok := c.Passed(); !ok || s.User != name || s.Right != access.ReadWrite || s.Proof != "password" {
			t.Errorf("%s: %+v", name, s)
		}
		if code(p, name, "secret", "192.0.2.7") != 0 {
			t.Errorf("%s cannot sign in by Basic authentication", name)
		}
	}
	for name, password := range map[string]bool{"bcrypt": true, "mysql": false, "nobody": false} {
		c, err := p.Challenge(name, home)
		if err != nil || c.Password != password || c.Keys.Iterations != scram.Iterations {
			t.Errorf("%s: %+v, %v", name, c, err)
			continue
		}
		if _, ok := c.Passed(); ok {
			t.Errorf("%s signs in by SCRAM", name)
		}
		again, _ := p.Challenge(name, home)
		if string(again.Keys.Salt) != string(c.Keys.Salt) {
			t.Errorf("%s: the salt changes, so names can be probed", name)
		}
	}
	if got := p.users.Load().byName["plain"].text; got != "" {
		t.Error("the password is still stored")
	}
}

// deriveHex returns a password in the form pbkdf2_sha256.
func deriveHex(password string) (string, error) {
	salted, err := pbkdf2.Key(sha256.New, password, []byte("salt"), 1000, keyBytes)
	return "pbkdf2_sha256:1000:" + hex.EncodeToString([]byte("salt")) + ":" + hex.EncodeToString(salted), err
}

// TestChallengeWithoutScram checks that keys are not computed unless they are requested.
func TestChallengeWithoutScram(t *testing.T) {
	p := inline(t, "ann=secret")
	c, err := p.Challenge("ann", home)
	if err != nil || c.Keys.Matches("secret") {
		t.Error("keys were made", err)
	}
}

// TestChallengesAreLocked checks that failures of SCRAM count together with failures of other sign-ins.
func TestChallengesAreLocked(t *testing.T) {
	p, clock := timed(t, "ann=secret")
	for range maxFailures {
		c, err := p.Challenge("ann", home)
		if err != nil {
			t.Fatal(err)
		}
		c.Failed()
		clock.move(time.Second)
	}
	if _, err := p.Challenge("ann", home); errs.CodeOf(err) != errs.RateLimited {
		t.Errorf("got %v", err)
	}
	if code(p, "ann", "secret", "192.0.2.7") != errs.RateLimited {
		t.Error("Basic authentication accepts the locked pair")
	}
	if _, err := p.Challenge("ann", netip.MustParseAddr("198.51.100.1")); err != nil {
		t.Errorf("another address: %v", err)
	}
}

// TestIterations checks that keys are derived with the configured number of iterations, and that the challenge of an
// unknown name has the same number.
func TestIterations(t *testing.T) {
	p, err := Open(Config{Option: "static_user_provider:cmd:ann=secret", Scram: true, Iterations: 4096})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ann", "nobody"} {
		c, err := p.Challenge(name, home)
		if err != nil || c.Keys.Iterations != 4096 || c.Keys.Matches("secret") != (name == "ann") {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}

// TestUnknownUsersAreAlike checks that a name without a user has the same salt on routers with the same secret, and
// another one with another secret.
func TestUnknownUsersAreAlike(t *testing.T) {
	salt := func(secret string) string {
		p := inline(t, "ann=secret")
		if secret != "" {
			p.HideUnknown(func() []byte { return []byte(secret) })
		}
		c, err := p.Challenge("nobody", home)
		if err != nil {
			t.Fatal(err)
		}
		return string(c.Keys.Salt)
	}
	own, a := salt(""), salt("a")
	if salt("a") != a || salt("b") == a || salt("") == own {
		t.Error("the salts do not depend on the secret alone")
	}
}
