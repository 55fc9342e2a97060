package auth

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/router/access"
)

// TestBarredUsersInTheAudit checks that the report about a sign-in of a disabled or expired user has the reason, and
// that the client learns nothing more than of a wrong password.
func TestBarredUsersInTheAudit(t *testing.T) {
	var reported []string
	p, err := Open(Config{Stored: true, Refused: func(_ access.Sender, _ netip.Addr, err error) {
		reported = append(reported, errs.From(err).Msg)
	}})
	if err != nil {
		t.Fatal(err)
	}
	off, ended := principal(t, "off", "password of off", 1), principal(t, "ended", "password of ended", 2)
	off.Disabled, ended.ValidUntilUnixNano = true, time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC).UnixNano()
	apply(p, true, []*metapb.AccessPrincipal{off, ended, principal(t, "ann", "password of ann", 3)}, nil)
	for name, want := range map[string]string{
		"off": "the user off is disabled", "ended": "the time of the user ended ended at 2020-01-02T00:00:00Z",
		"ann": "Username and password does not match",
	} {
		reported = nil
		password := "password of " + name
		if name == "ann" {
			password = "wrong"
		}
		_, err := p.Check(t.Context(), name, password, here)
		if err == nil || errs.From(err).Msg != "Username and password does not match, username: "+name {
			t.Errorf("%s: the client is told %v", name, err)
		}
		c, err := p.Challenge(name, here)
		if err != nil {
			t.Fatal(err)
		}
		c.Failed()
		if len(reported) != 2 || !strings.HasPrefix(reported[0], want) || reported[0] != reported[1] {
			t.Errorf("%s: reported %q, want twice %q", name, reported, want)
		}
	}
}
