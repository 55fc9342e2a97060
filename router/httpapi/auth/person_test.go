package auth

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
	"cordwood/router/access"
)

// fakeVerifier knows tokens of the form aaaa.NAME.GROUPS with a dash between groups, and no other.
type fakeVerifier struct{ until time.Time }

func (f *fakeVerifier) Verify(_ context.Context, text string) (string, *access.Person, error) {
	parts := strings.Split(text, ".")
	if parts[0] == "down" {
		return "", nil, errs.New(errs.ShardNotReady, "the provider cannot be used")
	}
	if parts[0] != "aaaa" {
		return "", nil, errs.New(errs.UserPasswordMismatch, "not valid").WithStatus(http.StatusUnauthorized)
	}
	return "oidc:" + parts[1], &access.Person{Groups: strings.Split(parts[2], "-"), Until: f.until}, nil
}

// openPeople returns a Provider with the roles web, for the group devs, and boss, for the group bosses, which may do
// everything, and the time until which tokens count.
func openPeople(t *testing.T) (p *Provider, v *fakeVerifier, refused *[]access.Sender) {
	t.Helper()
	v, refused = &fakeVerifier{until: time.Now().Add(time.Hour)}, new([]access.Sender)
	p, err := Open(Config{Stored: true, OIDC: v, Refused: func(s access.Sender, _ netip.Addr, _ error) {
		*refused = append(*refused, s)
	}})
	if err != nil {
		t.Fatal(err)
	}
	apply(p, true, []*metapb.AccessPrincipal{
		{Name: "web", Role: true, Groups: []string{"devs"}, Grants: []*metapb.AccessGrant{selectOn("web")}},
		{Name: "boss", Role: true, Groups: []string{"bosses"}, Roles: []string{rights.AdminRole}},
	}, nil)
	return p, v, refused
}

// bearer returns the sender of a request with a token.
func bearer(p *Provider, token string) (access.Sender, error) {
	r := httptest.NewRequest(http.MethodPost, "/v1/sql", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	return p.Authenticate(r, here)
}

// TestPerson checks that people have the rights of the roles with their groups, and that these follow the metadata.
func TestPerson(t *testing.T) {
	p, _, refused := openPeople(t)
	s, err := bearer(p, "aaaa.ann.devs-others")
	if err != nil || s.User != "oidc:ann" || s.Proof != "oidc" || !s.May(reading("web")) || s.May(reading("app")) {
		t.Fatalf("%+v, %v", s, err)
	}
	if s, err := bearer(p, "aaaa.eve.devs-bosses"); err != nil || !s.Grants.Admin() {
		t.Errorf("an administrator by a group: %+v, %v", s, err)
	}
	if _, err := bearer(p, "aaaa.bob.none"); errs.CodeOf(err) != errs.PermissionDenied {
		t.Errorf("without a role: %v", err)
	}
	// The name can have grants and roles, and be shut out.
	one := &metapb.AccessPrincipal{Name: "oidc:bob", Grants: []*metapb.AccessGrant{selectOn("app")}}
	apply(p, false, []*metapb.AccessPrincipal{one}, nil)
	if s, err := bearer(p, "aaaa.bob.none"); err != nil || !s.May(reading("app")) || s.May(reading("web")) {
		t.Errorf("with a grant: %+v, %v", s, err)
	}
	if s, err := bearer(p, "aaaa.bob.devs"); err != nil || !s.May(reading("app")) || !s.May(reading("web")) {
		t.Errorf("with a grant and a group: %+v, %v", s, err)
	}
	if s, err := bearer(p, "aaaa.ann.devs"); err != nil || s.May(reading("app")) {
		t.Errorf("another person with the same group: %+v, %v", s, err)
	}
	for name, stored := range map[string]*metapb.AccessPrincipal{
		"disabled": {Name: "oidc:ann", Disabled: true},
		"expired":  {Name: "oidc:ann", ValidUntilUnixNano: time.Now().Add(-time.Second).UnixNano()},
	} {
		apply(p, false, []*metapb.AccessPrincipal{stored}, nil)
		if _, err := bearer(p, "aaaa.ann.devs"); errs.CodeOf(err) != errs.UserPasswordMismatch {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(*refused); n != 3 || (*refused)[0].User != "oidc:bob" || (*refused)[0].Proof != "oidc" {
		t.Errorf("%d failures are recorded: %+v", n, *refused)
	}
	// No password and no certificate stands for a person.
	if _, err := p.Check(t.Context(), "oidc:bob", "x", here); errs.CodeOf(err) != errs.UserPasswordMismatch {
		t.Errorf("a password: %v", err)
	}
	if u := p.users.Load().certified("oidc:bob"); u != nil {
		t.Errorf("a certificate stands for %+v", u.sender)
	}
}

// TestPersonLosesRights checks that open work of a person ends when a role loses a group or the right, when the name is
// disabled, and when the token ends.
func TestPersonLosesRights(t *testing.T) {
	for name, change := range map[string]func(p *Provider){
		"the role loses the group": func(p *Provider) {
			apply(p, false, []*metapb.AccessPrincipal{
				{Name: "web", Role: true, Grants: []*metapb.AccessGrant{selectOn("web")}},
			}, nil)
		},
		"the role loses the right": func(p *Provider) {
			apply(p, false, []*metapb.AccessPrincipal{{
				Name: "web", Role: true, Groups: []string{"devs"}, Grants: []*metapb.AccessGrant{selectOn("other")},
			}}, nil)
		},
		"the role is dropped": func(p *Provider) { apply(p, false, nil, []string{"web"}) },
		"the name is disabled": func(p *Provider) {
			apply(p, false, []*metapb.AccessPrincipal{{Name: "oidc:ann", Disabled: true}}, nil)
		},
		"the token ends": func(p *Provider) {
			p.now = func() time.Time { return time.Now().Add(2 * time.Hour) }
			p.EndExpired()
		},
	} {
		p, _, _ := openPeople(t)
		s, err := bearer(p, "aaaa.ann.devs")
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		w := p.Begin(s, func(err error) { ended <- err })
		if err := w.Require(reading("web")); err != nil {
			t.Fatal(err)
		}
		// A change that concerns others does not end it.
		apply(p, false, []*metapb.AccessPrincipal{principal(t, "zoe", "password of zoe", 3), {Name: "x", Role: true}}, nil)
		select {
		case err := <-ended:
			t.Fatalf("%s: it ended early: %v", name, err)
		default:
		}
		change(p)
		select {
		case err := <-ended:
			if code := errs.CodeOf(err); code != errs.AccessDenied && code != errs.UserPasswordMismatch &&
				code != errs.PermissionDenied {
				t.Errorf("%s: %v", name, err)
			}
		default:
			t.Errorf("%s: the work goes on", name)
		}
		if err := w.Require(reading("web")); err == nil {
			t.Errorf("%s: the right is still given", name)
		}
		w.End()
	}
}

// TestInvalidWebTokens checks that invalid tokens are slowed by address, that good ones still pass, and that what is no
// token of the provider has the same answer as before.
func TestInvalidWebTokens(t *testing.T) {
	p, _, _ := openPeople(t)
	for i := range maxFailures {
		if _, err := bearer(p, "bbbb.ann.devs"); errs.CodeOf(err) != errs.UserPasswordMismatch {
			t.Fatalf("attempt %d: %v", i, err)
		}
	}
	if _, err := bearer(p, "bbbb.ann.devs"); errs.CodeOf(err) != errs.RateLimited {
		t.Errorf("after too many: %v", err)
	}
	if _, err := bearer(p, "aaaa.ann.devs"); err != nil {
		t.Errorf("a good token from this address: %v", err)
	}
	if _, err := bearer(p, "down.ann.devs"); errs.CodeOf(err) != errs.ShardNotReady {
		t.Errorf("the provider cannot be used: %v", err)
	}
	for _, other := range []string{"aaaa.ann", "aaaa.ann.devs.x", "aaaa..devs", "aaaa.ann.", "a+aa.ann.devs", "x"} {
		if _, err := bearer(p, other); err == nil || !strings.Contains(err.Error(), "not one of this server") {
			t.Errorf("%s: %v", other, err)
		}
	}
	off := openStored(t)
	if _, err := bearer(off, "aaaa.ann.devs"); err == nil || !strings.Contains(err.Error(), "not one of this server") {
		t.Errorf("without a provider: %v", err)
	}
}

// TestSignInPerson checks which groups a session keeps.
func TestSignInPerson(t *testing.T) {
	p, _, refused := openPeople(t)
	who := &access.Person{Groups: []string{"none", "devs", "devs", "bosses"}, Until: time.Now().Add(time.Hour)}
	s, kept, err := p.SignInPerson("oidc:ann", who, here, nil)
	if err != nil || s.User != "oidc:ann" || strings.Join(kept.Groups, " ") != "devs bosses" ||
		!kept.Until.Equal(who.Until) {
		t.Errorf("%+v, %+v, %v", s, kept, err)
	}
	if _, _, err := p.SignInPerson("oidc:bob", &access.Person{Until: who.Until}, here, nil); errs.CodeOf(err) !=
		errs.PermissionDenied {
		t.Errorf("without groups: %v", err)
	}
	if _, _, err := p.SignInPerson("", nil, here, errs.New(errs.UserPasswordMismatch, "no").WithStatus(401)); err == nil {
		t.Error("a failure of the provider is no failure")
	}
	if len(*refused) != 2 {
		t.Errorf("%d failures are recorded", len(*refused))
	}
}

// TestRoleWithGroupKeepsLease checks that the first role with a group makes the router follow the metadata closely, as
// the first user does.
func TestRoleWithGroupKeepsLease(t *testing.T) {
	p := openStored(t)
	apply(p, true, []*metapb.AccessPrincipal{{Name: "a", Role: true}}, nil)
	if p.HasStored() {
		t.Error("a role without a group")
	}
	apply(p, false, []*metapb.AccessPrincipal{{Name: "a", Role: true, Groups: []string{"g"}}}, nil)
	if !p.HasStored() {
		t.Error("a role with a group")
	}
}
