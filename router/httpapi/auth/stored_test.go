package auth

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"cordwood/meta/metaclient"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
	"cordwood/router/access"
	"cordwood/router/access/scram"
)

var here = netip.MustParseAddr("192.0.2.1")

// apply changes users and roles.
func apply(p *Provider, whole bool, principals []*metapb.AccessPrincipal, dropped []string) {
	p.Apply(metaclient.AccessChanges{Whole: whole, Principals: principals, Dropped: dropped})
}

// principal returns a user of the metadata.
func principal(
	t *testing.T, name, password string, version uint64, grants ...*metapb.AccessGrant,
) *metapb.AccessPrincipal {
	t.Helper()
	keys, err := scram.New(password, scram.Iterations)
	if err != nil {
		t.Fatal(err)
	}
	return &metapb.AccessPrincipal{Name: name, Verifier: keys.String(), PasswordVersion: version, Grants: grants}
}

func selectOn(name string) *metapb.AccessGrant {
	return &metapb.AccessGrant{
		Kind: uint32(rights.Tables), Database: "public", Name: name, Privileges: uint32(rights.Select),
	}
}

func reading(name string) access.Need {
	return access.Need{
		Privilege: access.Select, Object: access.Object{Kind: access.Table, Database: "public", Name: name},
	}
}

func openStored(t *testing.T) *Provider {
	t.Helper()
	p, err := Open(Config{Stored: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestStoredUsers checks that users of the metadata sign in, and their grants follow changes of the user and of roles.
func TestStoredUsers(t *testing.T) {
	p := openStored(t)
	if _, err := p.Check(t.Context(), "ann", "x", here); errs.CodeOf(err) != errs.UserNotFound {
		t.Errorf("without users: %v", err)
	}
	ann := principal(t, "ann", "password of ann", 7, selectOn("a"))
	role := &metapb.AccessPrincipal{Name: "team", Role: true, Grants: []*metapb.AccessGrant{selectOn("b")}}
	apply(p, true, []*metapb.AccessPrincipal{ann, role}, nil)
	s, err := p.Check(t.Context(), "ann", "password of ann", here)
	if err != nil || !s.May(reading("a")) || s.May(reading("b")) {
		t.Fatalf("%v, %v", s, err)
	}
	for _, wrong := range []string{"ann", "nobody"} {
		if _, err := p.Check(t.Context(), wrong, "wrong", here); errs.CodeOf(err) != errs.UserPasswordMismatch ||
			err.Error() != "Username and password does not match, username: "+wrong {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	with := &metapb.AccessPrincipal{
		Name: "ann", Verifier: ann.Verifier, PasswordVersion: 7, Grants: ann.Grants, Roles: []string{"team"},
	}
	apply(p, false, []*metapb.AccessPrincipal{with}, nil)
	if now := p.Current(s); !now.May(reading("b")) || now.Version != s.Version {
		t.Errorf("%v", now)
	}
	changed := &metapb.AccessPrincipal{Name: "team", Role: true, Grants: []*metapb.AccessGrant{selectOn("c")}}
	apply(p, false, []*metapb.AccessPrincipal{changed}, nil)
	if now := p.Current(s); now.May(reading("b")) || !now.May(reading("c")) {
		t.Errorf("after a change of the role: %v", now)
	}
	apply(p, false, nil, []string{"team"})
	if now := p.Current(s); now.May(reading("c")) {
		t.Errorf("after the role was dropped: %v", now)
	}
	apply(p, true, nil, nil)
	if _, err := p.Check(t.Context(), "ann", "password of ann", here); err == nil {
		t.Error("a user that is gone signs in")
	}
}

// TestDefaultDatabase checks that requests of a user, of a token of the user, and of a person that name no database use
// the one of the user, also after a change, and that a token's own database has precedence.
func TestDefaultDatabase(t *testing.T) {
	p := openStored(t)
	ann := principal(t, "ann", "password of ann", 7, selectOn("a"))
	ann.DefaultDatabase = "app"
	person := &metapb.AccessPrincipal{Name: "oidc:bob", DefaultDatabase: "shop", Grants: ann.Grants}
	apply(p, true, []*metapb.AccessPrincipal{ann, person}, nil)
	s, err := p.Check(t.Context(), "ann", "password of ann", here)
	if err != nil || s.DefaultDatabase() != "app" {
		t.Fatalf("%v, %v", s, err)
	}
	bob, err := p.Person("oidc:bob", &access.Person{Until: time.Now().Add(time.Hour)})
	if err != nil || bob.DefaultDatabase() != "shop" {
		t.Errorf("%v, %v", bob, err)
	}
	token := access.Sender{User: "ann", Token: "AbCdEfGhIj"}
	if now := p.Current(token); now.DefaultDatabase() != "app" {
		t.Errorf("a token of the user: %v", now)
	}
	token.Fixed.Database = "web"
	if now := p.Current(token); now.DefaultDatabase() != "web" {
		t.Errorf("a token with a database: %v", now)
	}
	changed := principal(t, "ann", "password of ann", 7, selectOn("a"))
	changed.Verifier = ann.Verifier
	apply(p, false, []*metapb.AccessPrincipal{changed}, nil)
	if now := p.Current(s); now.DefaultDatabase() != "public" {
		t.Errorf("after NO DEFAULT DATABASE: %v", now)
	}
}

// TestWorkEndsWithGrant checks that work ends when its user loses a right that it needs, and continues after other
// changes. Work of a user who is disabled, dropped, or has another password ends.
func TestWorkEndsWithGrant(t *testing.T) {
	ann := func(t *testing.T) *metapb.AccessPrincipal {
		return principal(t, "ann", "password of ann", 7, selectOn("a"), selectOn("b"))
	}
	for _, tt := range []struct {
		name   string
		change func(p *Provider, u *metapb.AccessPrincipal)
		code   errs.Code
	}{
		{"another grant", func(p *Provider, u *metapb.AccessPrincipal) {
			u.Grants = u.Grants[:1]
			apply(p, false, []*metapb.AccessPrincipal{u}, nil)
		}, 0},
		{"its grant", func(p *Provider, u *metapb.AccessPrincipal) {
			u.Grants = u.Grants[1:]
			apply(p, false, []*metapb.AccessPrincipal{u}, nil)
		}, errs.AccessDenied},
		{"disabled", func(p *Provider, u *metapb.AccessPrincipal) {
			u.Disabled = true
			apply(p, false, []*metapb.AccessPrincipal{u}, nil)
		}, errs.UserPasswordMismatch},
		{
			"dropped", func(p *Provider, _ *metapb.AccessPrincipal) { apply(p, false, nil, []string{"ann"}) },
			errs.UserPasswordMismatch,
		},
		{"another password", func(p *Provider, u *metapb.AccessPrincipal) {
			u.PasswordVersion++
			apply(p, false, []*metapb.AccessPrincipal{u}, nil)
		}, errs.UserPasswordMismatch},
	} {
		p := openStored(t)
		u := ann(t)
		apply(p, true, []*metapb.AccessPrincipal{u}, nil)
		s, err := p.Check(t.Context(), "ann", "password of ann", here)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		work := p.Begin(s, func(err error) { ended <- err })
		if err := work.Require(reading("a")); err != nil {
			t.Fatal(err)
		}
		changed := &metapb.AccessPrincipal{
			Name: u.Name, Verifier: u.Verifier, PasswordVersion: u.PasswordVersion, Grants: u.Grants,
		}
		tt.change(p, changed)
		var got error
		select {
		case got = <-ended: // Apply ends work before it returns
		default:
		}
		if errs.CodeOf(got) != tt.code {
			t.Errorf("%s: %v", tt.name, got)
		}
		if err := work.Require(reading("a")); (err == nil) != (tt.code == 0) {
			t.Errorf("%s: later needs: %v", tt.name, err)
		}
		work.End()
	}
}

// TestListHidesStoredUsers checks that a user of the users file takes precedence over a user of the metadata with the
// same name.
func TestListHidesStoredUsers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(file, []byte("ann:ro=of the file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := Open(Config{UserFile: file, Stored: true})
	if err != nil {
		t.Fatal(err)
	}
	apply(p, true, []*metapb.AccessPrincipal{principal(t, "ann", "of the metadata", 1)}, nil)
	if s, err := p.Check(t.Context(), "ann", "of the file", here); err != nil || s.Right != access.ReadOnly {
		t.Errorf("%v, %v", s, err)
	}
	if _, err := p.Check(t.Context(), "ann", "of the metadata", here); err == nil || !p.Listed("ann") {
		t.Error("the user of the metadata signs in")
	}
	if err := os.WriteFile(file, []byte("bob=secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.Reload(); err != nil {
		t.Fatal(err)
	}
	if s, err := p.Check(t.Context(), "ann", "of the metadata", here); err != nil || s.Grants == nil {
		t.Errorf("after the file has changed: %v, %v", s, err)
	}
}

// TestStoredUserExpires checks that a user who expires loses running work without a change of the metadata.
func TestStoredUserExpires(t *testing.T) {
	p := openStored(t)
	u := principal(t, "ann", "password of ann", 1)
	u.ValidUntilUnixNano = time.Now().Add(300 * time.Millisecond).UnixNano()
	apply(p, true, []*metapb.AccessPrincipal{u}, nil)
	s, err := p.Check(context.Background(), "ann", "password of ann", here)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	defer p.Begin(s, func(err error) { ended <- err }).End()
	if err := <-ended; errs.CodeOf(err) != errs.UserPasswordMismatch {
		t.Error(err)
	}
	if _, err := p.Check(context.Background(), "ann", "password of ann", here); err == nil {
		t.Error("an expired user signs in")
	}
}

// TestStoredUserByScram checks that a user of the metadata can sign in with SCRAM.
func TestStoredUserByScram(t *testing.T) {
	p := openStored(t)
	apply(p, true, []*metapb.AccessPrincipal{principal(t, "ann", "password of ann", 1)}, nil)
	c, err := p.Challenge("ann", here)
	if err != nil || !c.Keys.Matches("password of ann") {
		t.Fatalf("%v", err)
	}
	if s, ok := c.Passed(); !ok || s.User != "ann" {
		t.Error(s)
	}
}
