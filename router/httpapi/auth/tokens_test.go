package auth

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"cordwood/meta/metaclient"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
	"cordwood/router/access"
	"cordwood/router/access/token"
)

// newStored returns a provider without a list of users, whose time the test sets.
func newStored(t *testing.T) (*Provider, *time.Time) {
	t.Helper()
	p, err := Open(Config{Stored: true})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	p.now = func() time.Time { return now }
	p.guesses, p.remembered = newGuesses(p.now), newRemembered(p.now)
	return p, &now
}

// stored returns a new token with INSERT on app.web, and its stored form.
func stored(name string) (string, *metapb.AccessToken) {
	text, id := token.New()
	hash := token.Hash(text)
	return text, &metapb.AccessToken{
		Name: name, Id: id, Hash: hash[:], IngestOnly: true,
		Grants: []*metapb.AccessGrant{{
			Kind: uint32(rights.Tables), Database: "app", Name: "web", Privileges: uint32(rights.Insert | rights.Create),
		}},
	}
}

func cloneToken(one *metapb.AccessToken) *metapb.AccessToken { return proto.CloneOf(one) }

func addTokens(p *Provider, all ...*metapb.AccessToken) {
	p.Apply(metaclient.AccessChanges{Tokens: all})
}

func with(header string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/v1/ingest", nil)
	r.Header.Set("Authorization", header)
	return r
}

// TestTokenForms checks the headers in which a token is accepted.
func TestTokenForms(t *testing.T) {
	p, _ := newStored(t)
	text, one := stored("x")
	addTokens(p, one)
	other, _ := token.New()
	for header, code := range map[string]errs.Code{
		"Bearer " + text: 0, "bearer  " + text: 0, basic("anybody:" + text): 0, basic(":" + text): 0,
		"Bearer " + other: errs.UserPasswordMismatch, "Bearer " + text[:49]: errs.InvalidAuthHeader,
		"Bearer a.b.c": errs.UserPasswordMismatch, "Token " + text: errs.InvalidAuthHeader,
		// A token as user, and a password that is not quite a token, are a user and a password.
		basic(text + ":x"): errs.UserNotFound, basic("anybody:" + text + "x"): errs.UserNotFound,
	} {
		s, err := p.Authenticate(with(header), here)
		if errs.CodeOf(err) != code {
			t.Errorf("%s: %v", header, err)
		}
		if err != nil {
			if strings.Contains(err.Error(), text[14:]) || errs.From(err).Status() != 401 {
				t.Errorf("%s: the error is %v", header, err)
			}
			continue
		}
		if s.User != token.Name(one.Id) || s.Token != one.Id || s.Proof != "token" || !s.IngestOnly ||
			s.Fixed != (access.Fixed{Database: "app", Table: "web"}) {
			t.Errorf("%s: %+v", header, s)
		}
	}
	two := with("Bearer " + text)
	two.Header.Add("Authorization", "Bearer "+other)
	if _, err := p.Authenticate(two, here); errs.CodeOf(err) != errs.InvalidAuthHeader {
		t.Errorf("two headers: %v", err)
	}
}

// TestTokenEnds checks that open work ends, and new requests are refused, when a token ends.
func TestTokenEnds(t *testing.T) {
	old, _ := token.New()
	for name, tt := range map[string]struct {
		change func(p *Provider, one *metapb.AccessToken, now *time.Time)
		code   errs.Code
	}{
		"dropped": {func(p *Provider, one *metapb.AccessToken, _ *time.Time) {
			p.Apply(metaclient.AccessChanges{DroppedTokens: []string{one.Id}})
		}, errs.UserPasswordMismatch},
		"missing in the whole state": {func(p *Provider, _ *metapb.AccessToken, _ *time.Time) {
			p.Apply(metaclient.AccessChanges{Whole: true})
		}, errs.UserPasswordMismatch},
		"expired": {func(p *Provider, _ *metapb.AccessToken, now *time.Time) {
			*now = now.Add(time.Hour)
			p.EndExpired()
		}, errs.UserPasswordMismatch},
		"rotated": {func(p *Provider, one *metapb.AccessToken, now *time.Time) {
			other := token.Hash(old)
			one.OldHash, one.OldUntilUnixNano, one.Hash = one.Hash, now.UnixNano(), other[:]
			addTokens(p, one)
		}, errs.UserPasswordMismatch},
		"an overlap passed": {func(p *Provider, one *metapb.AccessToken, now *time.Time) {
			other := token.Hash(old)
			one.OldHash, one.OldUntilUnixNano, one.Hash = one.Hash, now.Add(time.Minute).UnixNano(), other[:]
			addTokens(p, one)
			*now = now.Add(time.Minute)
			p.EndExpired()
		}, errs.UserPasswordMismatch},
		"another address": {func(p *Provider, one *metapb.AccessToken, _ *time.Time) {
			one.From = []string{"198.51.100.0/24"}
			addTokens(p, one)
		}, errs.PermissionDenied},
	} {
		p, now := newStored(t)
		text, one := stored("x")
		one.ExpiresUnixNano = now.Add(time.Hour).UnixNano()
		addTokens(p, one)
		s, err := p.Token(text, here)
		if err != nil {
			t.Fatal(err)
		}
		var ended error
		w := p.Begin(s, func(err error) { ended = err })
		need := access.Need{Privilege: access.Insert, Object: access.Object{Kind: access.Table, Database: "app", Name: "web"}}
		if err := w.Require(need); err != nil {
			t.Fatal(err)
		}
		tt.change(p, cloneToken(one), now)
		if errs.CodeOf(ended) != tt.code {
			t.Errorf("%s: the work ended with %v", name, ended)
		}
		if err := w.Require(need); errs.CodeOf(err) != tt.code {
			t.Errorf("%s: the work continues with %v", name, err)
		}
		if _, err := p.Token(text, here); errs.CodeOf(err) != tt.code {
			t.Errorf("%s: a new request gets %v", name, err)
		}
	}
}

// TestOverlap checks that both secrets are accepted until the overlap has passed.
func TestOverlap(t *testing.T) {
	p, now := newStored(t)
	oldText, one := stored("x")
	newText := token.Rotate(one.Id)
	hash := token.Hash(newText)
	one.OldHash, one.OldUntilUnixNano, one.Hash = one.Hash, now.Add(time.Minute).UnixNano(), hash[:]
	addTokens(p, one)
	for _, text := range []string{oldText, newText} {
		if _, err := p.Token(text, here); err != nil {
			t.Error(err)
		}
	}
	*now = now.Add(time.Minute)
	if _, err := p.Token(oldText, here); errs.CodeOf(err) != errs.UserPasswordMismatch {
		t.Error(err)
	}
	if _, err := p.Token(newText, here); err != nil {
		t.Error(err)
	}
}

// TestTokenOfUser checks that a token of a user has the user's present rights, and ends with the user.
func TestTokenOfUser(t *testing.T) {
	ann := principal(t, "ann", "a long password", 1)
	grant := &metapb.AccessGrant{
		Kind: uint32(rights.Tables), Database: "app", Name: "web", Privileges: uint32(rights.Select),
	}
	reads := access.Need{Privilege: access.Select, Object: access.Object{Kind: access.Table, Database: "app", Name: "web"}}
	for name, end := range map[string]func(p *Provider){
		"dropped":  func(p *Provider) { apply(p, false, nil, []string{"ann"}) },
		"disabled": func(p *Provider) { ann.Disabled = true; apply(p, false, []*metapb.AccessPrincipal{ann}, nil) },
		"hidden by the list of users": func(p *Provider) {
			users, _ := parseFile("ann:rw=secret")
			p.publish(users)
		},
	} {
		p, _ := newStored(t)
		ann.Disabled, ann.Grants = false, nil
		ann.Verifier = "" // a user without a password may have tokens
		apply(p, true, []*metapb.AccessPrincipal{ann}, nil)
		text, one := stored("x")
		one.User, one.Grants, one.IngestOnly = "ann", nil, false
		addTokens(p, one)
		s, err := p.Token(text, here)
		if err != nil || s.User != "ann" || s.May(reads) {
			t.Fatalf("%s: %+v %v", name, s, err)
		}
		reader := proto.CloneOf(ann)
		reader.Grants = []*metapb.AccessGrant{grant}
		apply(p, false, []*metapb.AccessPrincipal{reader}, nil)
		if s, err = p.Token(text, here); err != nil || !s.May(reads) {
			t.Errorf("%s: %v", name, err)
		}
		var ended error
		p.Begin(s, func(err error) { ended = err })
		end(p)
		if _, err := p.Token(text, here); errs.CodeOf(err) != errs.UserPasswordMismatch || ended == nil {
			t.Errorf("%s: %v, the work ended with %v", name, err, ended)
		}
	}
}

// TestGuessedTokens checks that guessing is slowed for the address only, and that valid tokens pass.
func TestGuessedTokens(t *testing.T) {
	p, _ := newStored(t)
	text, one := stored("x")
	addTokens(p, one)
	elsewhere := netip.MustParseAddr("192.0.2.77")
	var last error
	for range maxFailures + 1 {
		unknown, _ := token.New()
		_, last = p.Token(unknown, here)
	}
	if errs.CodeOf(last) != errs.RateLimited || errs.From(last).RetryAfter <= 0 {
		t.Errorf("after many: %v", last)
	}
	if _, err := p.Token(text, here); err != nil {
		t.Errorf("a valid token: %v", err)
	}
	unknown, _ := token.New()
	if _, err := p.Token(unknown, elsewhere); errs.CodeOf(err) != errs.UserPasswordMismatch {
		t.Errorf("elsewhere: %v", err)
	}
}

// TestAddresses checks the address ranges of a token.
func TestAddresses(t *testing.T) {
	p, _ := newStored(t)
	text, one := stored("x")
	one.From = []string{"192.0.2.0/24", "2001:db8::/32", "::ffff:198.51.100.0/120"}
	addTokens(p, one)
	for address, ok := range map[string]bool{
		"192.0.2.9": true, "::ffff:192.0.2.9": true, "198.51.100.7": true, "192.0.3.1": false,
		"2001:db8:1::1": true, "2001:db9::1": false,
		"fe80::1%eth0": false, "198.51.101.7": false,
	} {
		_, err := p.Token(text, netip.MustParseAddr(address))
		if (err == nil) != ok || err != nil && errs.From(err).Status() != 403 {
			t.Errorf("%s: %v", address, err)
		}
	}
	if _, err := p.Token(text, netip.Addr{}); err == nil {
		t.Error("a client without an address is accepted")
	}
}

// TestTokenUses checks that uses are noted once an hour.
func TestTokenUses(t *testing.T) {
	p, now := newStored(t)
	text, one := stored("x")
	addTokens(p, one)
	use := func() int {
		if _, err := p.Token(text, here); err != nil {
			t.Fatal(err)
		}
		uses := p.TokenUses()
		for _, u := range uses {
			if u.Name != "x" || u.Id != one.Id || u.Address != here.String() || u.UsedUnixNano%int64(time.Hour) != 0 {
				t.Error(u)
			}
			seen := cloneToken(one)
			seen.UsedUnixNano = u.UsedUnixNano
			addTokens(p, seen)
		}
		return len(uses)
	}
	if first, second := use(), use(); first != 1 || second != 0 {
		t.Errorf("%d and %d uses", first, second)
	}
	*now = now.Add(time.Hour)
	if n := use(); n != 1 {
		t.Errorf("%d uses after an hour", n)
	}
}

// TestFirstStored checks that the first user or token is noticed once, and is not forgotten when all are gone.
func TestFirstStored(t *testing.T) {
	p, _ := newStored(t)
	p.Apply(metaclient.AccessChanges{Whole: true})
	if p.HasStored() {
		t.Error("there is nothing")
	}
	_, one := stored("x")
	for range 2 {
		addTokens(p, one)
		p.Apply(metaclient.AccessChanges{Whole: true})
	}
	if !p.HasStored() || len(p.FirstStored()) != 1 {
		t.Error(p.HasStored(), len(p.FirstStored()))
	}
}

// TestPostgresToken checks the sign-in of the user token.
func TestPostgresToken(t *testing.T) {
	p, _ := newStored(t)
	text, one := stored("x")
	addTokens(p, one)
	ch, err := p.Challenge(TokenUser, here)
	if err != nil || !ch.Token || !ch.Password {
		t.Fatal(ch, err)
	}
	if s, err := ch.Cleartext(t.Context(), text); err != nil || s.Token != one.Id {
		t.Error(s, err)
	}
	if _, err := ch.Cleartext(t.Context(), "password"); errs.CodeOf(err) != errs.InvalidAuthHeader {
		t.Error(err)
	}
}

func BenchmarkToken(b *testing.B) {
	p, err := Open(Config{Stored: true})
	if err != nil {
		b.Fatal(err)
	}
	text, one := stored("x")
	addTokens(p, one)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Token(text, here); err != nil {
			b.Fatal(err)
		}
	}
}
