package auth

import (
	"crypto/sha256"
	"net/netip"
	"strings"
	"testing"
	"time"

	"cordwood/meta/metaclient"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
	"cordwood/router/access"
	"cordwood/router/access/scram"
	"cordwood/router/access/token"
)

// TestProblem checks what is said about the user or token of a receiver that is not known, or may not store rows.
func TestProblem(t *testing.T) {
	p, err := Open(Config{Option: "static_user_provider:cmd:w:wo=pw,r:ro=pw", Stored: true})
	if err != nil {
		t.Fatal(err)
	}
	apply := func(privileges rights.Set, from ...string) string {
		text, id := token.New()
		hash := token.Hash(text)
		p.Apply(metaclient.AccessChanges{Tokens: []*metapb.AccessToken{{
			Name: id, Id: id, Hash: hash[:], From: from, IngestOnly: true,
			Grants: []*metapb.AccessGrant{{
				Kind: uint32(rights.Tables), Database: "d", Name: "*", Privileges: uint32(privileges),
			}},
		}}})
		return text
	}
	unknown, _ := token.New()
	for _, tt := range []struct{ user, password, want string }{
		{"w", "pw", ""},
		{"w", "not checked", ""},
		{"nobody", "pw", "does not exist"},
		{"r", "pw", "may not store rows"},
		{"", apply(rights.Insert), ""},
		{"", apply(rights.Insert, "192.0.2.0/24"), ""},
		{"", unknown, "is unknown"},
		{"", apply(rights.Select), "may not store rows"},
		{"", unknown[:30], "changed or cut"},
	} {
		if got := p.Problem(tt.user, tt.password); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s %s: %q, want %q", tt.user, tt.password, got, tt.want)
		} else if id, _ := token.Parse(tt.password); strings.Contains(got, "cw_") || id != "" && strings.Contains(got, id) ||
			tt.user != "" && strings.Contains(got, "user "+tt.user) || strings.Contains(got, "GRANT") {
			t.Errorf("%s %s: %q names whom anybody may not know", tt.user, tt.password, got)
		}
	}
}

// TestMaxAge checks that users and tokens of the metadata are trusted only for a time without news of the metadata,
// also by work in progress, and that users of the list still are.
func TestMaxAge(t *testing.T) {
	p, err := Open(Config{Option: "static_user_provider:cmd:listed=pw", Stored: true, MaxAge: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_700_000_000, 0)
	p.now = func() time.Time { return now }
	p.heard.Store(0)
	if p.Age() != 0 {
		t.Errorf("without users, the age is %s", p.Age())
	}
	keys, err := scram.New("a long password", 4096)
	if err != nil {
		t.Fatal(err)
	}
	text, id := token.New()
	hash := token.Hash(text)
	p.Apply(metaclient.AccessChanges{
		Whole: true, Principals: []*metapb.AccessPrincipal{{Name: "ann", Verifier: keys.String()}},
		Tokens: []*metapb.AccessToken{{
			Name: "t", Id: id, Hash: hash[:],
			Grants: []*metapb.AccessGrant{{
				Kind: uint32(rights.Tables), Database: "d", Name: "*", Privileges: uint32(rights.Select),
			}},
		}},
	})
	here := netip.MustParseAddr("192.0.2.1")
	ways := map[string]func() (access.Sender, error){
		"ann":    func() (access.Sender, error) { return p.Check(t.Context(), "ann", "a long password", here) },
		"token":  func() (access.Sender, error) { return p.Token(text, here) },
		"listed": func() (access.Sender, error) { return p.Check(t.Context(), "listed", "pw", here) },
		"session": func() (access.Sender, error) {
			return p.Session("ann", func([sha256.Size]byte) bool { return true })
		},
	}
	ended := map[string]error{}
	work := map[string]access.Work{}
	for name, sign := range ways {
		s, err := sign()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		work[name] = p.Begin(s, func(err error) { ended[name] = err })
	}
	check := func(when string, trusted bool) {
		t.Helper()
		for name, sign := range ways {
			want := errs.Success
			if !trusted && name != "listed" {
				want = errs.ShardNotReady
			}
			if _, err := sign(); errs.CodeOf(err) != want {
				t.Errorf("%s: %s signs in: %v", when, name, err)
			}
			if err := work[name].Require(access.Need{Privilege: access.SignedIn}); errs.CodeOf(err) != want {
				t.Errorf("%s: work of %s: %v", when, name, err)
			}
		}
	}
	now = now.Add(time.Minute)
	p.EndExpired()
	check("after a minute", true)
	now = now.Add(time.Second)
	check("after more than a minute", false)
	p.EndExpired()
	if len(ended) != 3 || ended["listed"] != nil {
		t.Errorf("ended: %v", ended)
	}
	p.Heard(now.Add(-time.Second))
	p.Heard(now.Add(-time.Hour)) // an answer that was overtaken
	if p.Age() != time.Second {
		t.Errorf("age %s", p.Age())
	}
	for name, sign := range ways {
		if _, err := sign(); err != nil {
			t.Errorf("after news, %s signs in: %v", name, err)
		}
	}
}
