package oidc

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"cordwood/proto/errs"
	"cordwood/router/access/oidc/oidctest"
)

// place is a provider with a client, whose clock a test can set.
type place struct {
	*Provider
	server *oidctest.Server
	key    oidctest.Key
	now    time.Time
}

// firstKey returns the key of all providers of this package, because it takes long to make one.
var firstKey = sync.OnceValue(func() oidctest.Key {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return oidctest.Key{Private: k, ID: "k1", Algorithm: jose.RS256}
})

func newPlace(t *testing.T, change func(c *Config)) *place {
	t.Helper()
	p := &place{key: firstKey(), now: time.Now()}
	p.server = oidctest.New(t, p.key)
	cfg := Config{
		Issuer: p.server.URL, ClientID: oidctest.ClientID, Secret: func() (string, error) { return oidctest.Secret, nil },
		Now: func() time.Time { return p.now },
	}
	if change != nil {
		change(&cfg)
	}
	var err error
	if p.Provider, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestVerify tries tokens that are wrong in one thing.
func TestVerify(t *testing.T) {
	p := newPlace(t, nil)
	other := oidctest.RSA(t, "k1")
	signed := func(changes oidctest.Claims) string { return p.server.Sign(p.key, p.server.Claims(p.now, changes)) }
	at := func(d time.Duration) int64 { return p.now.Add(d).Unix() }
	encode := base64.RawURLEncoding.EncodeToString
	public, err := x509.MarshalPKIXPublicKey(p.key.Private.(*rsa.PrivateKey).Public())
	if err != nil {
		t.Fatal(err)
	}
	secret := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	good := signed(nil)
	parts := strings.Split(good, ".")
	for name, c := range map[string]struct{ token, want string }{
		"valid":                 {good, ""},
		"several audiences":     {signed(oidctest.Claims{"aud": []string{"x", oidctest.ClientID}}), ""},
		"expired in the skew":   {signed(oidctest.Claims{"exp": at(-50 * time.Second)}), ""},
		"early in the skew":     {signed(oidctest.Claims{"nbf": at(50 * time.Second)}), ""},
		"no groups":             {signed(oidctest.Claims{"groups": nil}), ""},
		"another issuer":        {signed(oidctest.Claims{"iss": "https://evil.example.com"}), "different provider"},
		"the issuer with a /":   {signed(oidctest.Claims{"iss": p.server.URL + "/"}), "different provider"},
		"another audience":      {signed(oidctest.Claims{"aud": "other"}), "expected audience"},
		"no audience":           {signed(oidctest.Claims{"aud": nil}), "expected audience"},
		"expired":               {signed(oidctest.Claims{"exp": at(-61 * time.Second)}), "it expired at"},
		"without exp":           {signed(oidctest.Claims{"exp": nil}), "claim exp"},
		"not yet valid":         {signed(oidctest.Claims{"nbf": at(90 * time.Second)}), "not valid before"},
		"nbf is a text":         {signed(oidctest.Claims{"nbf": "tomorrow"}), "not valid: "},
		"issued in the future":  {signed(oidctest.Claims{"iat": at(90 * time.Second)}), "in the future"},
		"issued long ago":       {signed(oidctest.Claims{"iat": at(-62 * time.Minute)}), "--oidc-max-age"},
		"without iat":           {signed(oidctest.Claims{"iat": nil}), "claim iat"},
		"without a name":        {signed(oidctest.Claims{"sub": nil}), "--oidc-user-claim"},
		"a name of a number":    {signed(oidctest.Claims{"sub": 7}), "not valid: "},
		"a name with a newline": {signed(oidctest.Claims{"sub": "a\nb"}), "cannot be printed"},
		"a long name":           {signed(oidctest.Claims{"sub": strings.Repeat("a", 300)}), "not the name of a person"},
		"groups of numbers":     {signed(oidctest.Claims{"groups": []int{1}}), "--oidc-groups-claim"},
		"a sign-out":            {signed(oidctest.Claims{"events": map[string]any{"x": nil}}), "reports an event"},
		"another key, same id":  {p.server.Sign(other, p.server.Claims(p.now, nil)), "signature is wrong"},
		"an unknown key":        {p.server.Sign(oidctest.EC(t, "k9"), p.server.Claims(p.now, nil)), `no key "k9"`},
		"no algorithm": {
			encode([]byte(`{"alg":"none","kid":"k1"}`)) + "." + parts[1] + "." + parts[2], "not valid: ",
		},
		"no algorithm, unsigned": {encode([]byte(`{"alg":"none"}`)) + "." + parts[1] + ".", "not valid: "},
		"HS256, the public key": {p.server.Sign(oidctest.Key{Private: secret, ID: "k1", Algorithm: jose.HS256},
			p.server.Claims(p.now, nil)), "not valid: "},
		"HS256, the key's bytes": {p.server.Sign(oidctest.Key{Private: public, ID: "k1", Algorithm: jose.HS256},
			p.server.Claims(p.now, nil)), "not valid: "},
		"RS512": {p.server.Sign(oidctest.Key{Private: p.key.Private, ID: "k1", Algorithm: jose.RS512},
			p.server.Claims(p.now, nil)), "not valid: "},
		"PS256": {p.server.Sign(oidctest.Key{Private: p.key.Private, ID: "k1", Algorithm: jose.PS256},
			p.server.Claims(p.now, nil)), "not valid: "},
		"other claims": {parts[0] + "." + encode([]byte(`{"sub":"root"}`)) + "." + parts[2], "signature is wrong"},
		"its own key": {
			encode([]byte(`{"alg":"RS256","kid":"k1","jwk":{"kty":"RSA","n":"AQAB","e":"AQAB"}}`)) + "." + parts[1] + "." +
				parts[2], "not valid: ",
		},
		"huge": {good + strings.Repeat("A", maxToken), "at most 16384"},
	} {
		who, person, err := p.Verify(t.Context(), c.token)
		switch {
		case c.want == "":
			if err != nil || who != "oidc:ann" || person.Until.Before(p.now) {
				t.Errorf("%s: %q, %v, %v", name, who, person, err)
			}
		case err == nil || !strings.Contains(err.Error(), c.want) || errs.From(err).Status() != http.StatusUnauthorized:
			t.Errorf("%s: %q, %v; want an error with %q", name, who, err, c.want)
		case strings.Contains(err.Error(), parts[2]):
			t.Errorf("%s: the error shows the token", name)
		}
	}
}

// TestAlgorithms checks that all algorithms of the provider's keys are accepted.
func TestAlgorithms(t *testing.T) {
	p := newPlace(t, nil)
	ec, ed := oidctest.EC(t, "k2"), oidctest.Ed25519(t, "k3")
	nameless := oidctest.EC(t, "")
	p.server.SetKeys(p.key, ec, ed, nameless)
	for _, k := range []oidctest.Key{p.key, ec, ed, nameless} {
		if _, _, err := p.Verify(t.Context(), p.server.Sign(k, p.server.Claims(p.now, nil))); err != nil {
			t.Errorf("%s: %v", k.Algorithm, err)
		}
	}
}

// TestClaims checks names and groups from other claims.
func TestClaims(t *testing.T) {
	p := newPlace(t, func(c *Config) {
		c.UserClaim, c.GroupsClaim, c.Audience = "email", "https://example.com/roles", "api"
	})
	for name, c := range map[string]struct {
		claims oidctest.Claims
		groups []string
		want   string
	}{
		"a list":         {oidctest.Claims{"https://example.com/roles": []string{"a", "b"}}, []string{"a", "b"}, ""},
		"one text":       {oidctest.Claims{"https://example.com/roles": "a"}, []string{"a"}, ""},
		"verified":       {oidctest.Claims{"email_verified": true}, nil, ""},
		"verified, text": {oidctest.Claims{"email_verified": "true"}, nil, ""},
		"not verified":   {oidctest.Claims{"email_verified": false}, nil, "has not verified the e-mail address"},
		"the client":     {oidctest.Claims{"aud": oidctest.ClientID}, nil, "expected audience"},
	} {
		claims := p.server.Claims(p.now, oidctest.Claims{"email": "ann@example.com", "aud": "api"})
		for k, v := range c.claims {
			claims[k] = v
		}
		who, person, err := p.Verify(t.Context(), p.server.Sign(p.key, claims))
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || who != "oidc:ann@example.com" || !reflect.DeepEqual(person.Groups, c.groups) {
			t.Errorf("%s: %q, %v, %v", name, who, person, err)
		}
	}
}

// TestEnds checks until when a remembered token counts.
func TestEnds(t *testing.T) {
	p := newPlace(t, nil)
	begin := p.now
	long := p.server.Sign(p.key, p.server.Claims(begin, oidctest.Claims{"exp": begin.Add(24 * time.Hour).Unix()}))
	short := p.server.Sign(p.key, p.server.Claims(begin, oidctest.Claims{"exp": begin.Add(2 * time.Minute).Unix()}))
	for _, c := range []struct {
		after  time.Duration
		token  string
		accept bool
	}{
		{0, short, true},
		{2 * time.Minute, short, true},
		{3*time.Minute + time.Second, short, false},
		{0, long, true},
		{time.Hour, long, true},
		{61*time.Minute + time.Second, long, false},
	} {
		p.now = begin.Add(c.after)
		if _, who, err := p.Verify(t.Context(), c.token); (err == nil) != c.accept || err == nil && !p.now.Before(who.Until) {
			t.Errorf("after %s: %v, %v", c.after, who, err)
		}
	}
}

// TestRotation checks that a new key is accepted, that unknown keys do not cause more than a request a minute, and that
// a key that the provider has withdrawn is forgotten.
func TestRotation(t *testing.T) {
	p := newPlace(t, nil)
	verify := func(k oidctest.Key) error {
		_, _, err := p.Verify(t.Context(), p.server.Sign(k, p.server.Claims(p.now, oidctest.Claims{"jti": p.now.String()})))
		return err
	}
	if err := verify(p.key); err != nil {
		t.Fatal(err)
	}
	second := oidctest.EC(t, "k2")
	for range 100 {
		if err := verify(second); err == nil {
			t.Fatal("a key that the provider does not have is accepted")
		}
	}
	if n := p.server.Asked("/keys"); n != 1 {
		t.Errorf("100 tokens with an unknown key caused %d requests within a minute", n)
	}
	p.server.SetKeys(second)
	p.now = p.now.Add(unknownKeyWait)
	if err := verify(second); err != nil {
		t.Errorf("a minute later, the new key is not accepted: %v", err)
	}
	if n := p.server.Asked("/keys"); n != 2 {
		t.Errorf("the keys were fetched %d times", n)
	}
	if err := verify(p.key); err == nil {
		t.Error("a withdrawn key is accepted")
	}
	third := oidctest.EC(t, "k3")
	p.server.SetKeys(third)
	p.now = p.now.Add(refreshAfter)
	if err := verify(second); err != nil { // and fetches the keys in the background
		t.Errorf("a known key is not accepted: %v", err)
	}
	p.keys.wait()
	if err := verify(second); err == nil {
		t.Error("a withdrawn key is accepted after the refresh")
	}
}

// wait waits until no attempt to fetch keys runs.
func (k *keys) wait() {
	k.mu.Lock()
	running := k.running
	k.mu.Unlock()
	if running != nil {
		<-running
	}
}

// TestProviderDown checks that known keys go on while the provider answers wrongly, and that the error says so while no
// key is known.
func TestProviderDown(t *testing.T) {
	known := map[string]bool{"huge keys": true, "no usable": true} // the provider describes itself
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request){
		"status 500": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "down", http.StatusInternalServerError) },
		"no JSON":    func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"huge":       func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, maxAnswer+1)) },
		"huge keys":  func(w http.ResponseWriter, r *http.Request) { hugeKeys(w, r) },
		"no usable":  func(w http.ResponseWriter, r *http.Request) { onlySecretKeys(w, r) },
		"plain http": func(w http.ResponseWriter, r *http.Request) { namesPlainHTTP(w, r) },
		"redirects":  func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.String(), http.StatusFound) },
		"another name": func(w http.ResponseWriter, r *http.Request) {
			describe(w, "https://other.example.com", "https://x.test/k")
		},
	} {
		p := newPlace(t, nil)
		token := func() string {
			return p.server.Sign(p.key, p.server.Claims(p.now, oidctest.Claims{"jti": p.now.String()}))
		}
		down := func(w http.ResponseWriter, r *http.Request) bool { answer(w, r); return true }
		p.server.SetAnswer(down)
		if _, _, err := p.Verify(t.Context(), token()); errs.CodeOf(err) != errs.ShardNotReady || len(err.Error()) > 600 {
			t.Errorf("%s, before any answer: %v", name, err)
		}
		_, err := p.LoginURL(t.Context(), NewAttempt("http://127.0.0.1/x"))
		if known[name] && err != nil || !known[name] && errs.CodeOf(err) != errs.ShardNotReady {
			t.Errorf("%s: a sign-in: %v", name, err)
		}
		p.server.SetAnswer(nil)
		p.now = p.now.Add(noKeysWait)
		if _, _, err := p.Verify(t.Context(), token()); err != nil {
			t.Errorf("%s, when the provider is back: %v", name, err)
		}
		p.server.SetAnswer(down)
		p.now = p.now.Add(time.Hour)
		for range 3 {
			if _, _, err := p.Verify(t.Context(), token()); err != nil {
				t.Errorf("%s, with known keys: %v", name, err)
			}
			p.keys.wait()
		}
	}
}

// TestProviderSilent checks that a request waits for a silent provider only until its own end.
func TestProviderSilent(t *testing.T) {
	p := newPlace(t, nil)
	release := make(chan struct{})
	p.server.SetAnswer(func(http.ResponseWriter, *http.Request) bool {
		<-release
		return true
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, _, err := p.Verify(ctx, p.server.Sign(p.key, p.server.Claims(p.now, nil)))
		done <- err
	}()
	cancel()
	if err := <-done; err == nil {
		t.Error("a token was accepted without keys")
	}
	close(release)
	p.keys.wait()
}

func hugeKeys(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/keys" {
		describe(w, "http://"+r.Host, "http://"+r.Host+"/keys")
		return
	}
	_, _ = w.Write([]byte(`{"keys":[`))
	_, _ = w.Write([]byte(strings.Repeat(`{"kty":"oct","k":"AAAA"},`, maxAnswer/20)))
	_, _ = w.Write([]byte(`{}]}`))
}

func onlySecretKeys(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/keys" {
		describe(w, "http://"+r.Host, "http://"+r.Host+"/keys")
		return
	}
	_, _ = w.Write([]byte(`{"keys":[{"kty":"oct","k":"AAAA","kid":"k1"},{"kty":"new"},7]}`))
}

func namesPlainHTTP(w http.ResponseWriter, r *http.Request) {
	describe(w, "http://"+r.Host, "http://keys.example.com/keys")
}

func describe(w http.ResponseWriter, issuer, keys string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"issuer":"` + issuer + `","authorization_endpoint":"https://x.test/a",` +
		`"token_endpoint":"https://x.test/t","jwks_uri":"` + keys + `"}`))
}

// TestLogin signs in as a browser does, and tries sign-ins that are wrong in one thing.
func TestLogin(t *testing.T) {
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	const redirect = "http://127.0.0.1:1/v1/session/oidc/callback"
	for name, c := range map[string]struct {
		claims oidctest.Claims
		change func(p *place, a *Attempt, code *string)
		want   string
	}{
		"right":              {},
		"another nonce":      {oidctest.Claims{"nonce": "x"}, nil, "belongs to another sign-in"},
		"no nonce":           {oidctest.Claims{"nonce": ""}, nil, "belongs to another sign-in"},
		"for several":        {oidctest.Claims{"aud": []string{oidctest.ClientID, "b"}}, nil, "made for several clients"},
		"for this of two":    {oidctest.Claims{"aud": []string{oidctest.ClientID, "b"}, "azp": oidctest.ClientID}, nil, ""},
		"for another":        {oidctest.Claims{"aud": "b"}, nil, "expected audience"},
		"another proof":      {nil, func(_ *place, a *Attempt, _ *string) { a.Verifier = "x" }, "refused the code"},
		"another code":       {nil, func(_ *place, _ *Attempt, code *string) { *code += "x" }, "refused the code"},
		"a wrong secret":     {nil, func(p *place, _ *Attempt, _ *string) { p.cfg.Secret = nil }, "refused the code"},
		"another redirect":   {nil, func(_ *place, a *Attempt, _ *string) { a.Redirect += "x" }, "refused the code"},
		"the provider fails": {nil, func(p *place, _ *Attempt, _ *string) { p.server.SetAnswer(failing) }, "cannot be used"},
	} {
		p := newPlace(t, nil)
		p.server.SignsIn(c.claims)
		a := NewAttempt(redirect)
		login, err := p.LoginURL(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := browser.Get(login)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		back, err := url.Parse(resp.Header.Get("Location"))
		if err != nil || back.Query().Get("state") != a.State || !strings.HasPrefix(back.String(), redirect) {
			t.Fatalf("%s: the browser is sent to %q, %v", name, back, err)
		}
		code := back.Query().Get("code")
		if c.change != nil {
			c.change(p, &a, &code)
		}
		who, person, err := p.Finish(t.Context(), a, code)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || who != "oidc:ann" || !reflect.DeepEqual(person.Groups, []string{"devs"}) {
			t.Errorf("%s: %q, %v, %v", name, who, person, err)
		}
		if left := time.Until(person.Until); left < 59*time.Minute || left > time.Hour {
			t.Errorf("%s: the sign-in counts for %s", name, left)
		}
	}
}

func failing(w http.ResponseWriter, _ *http.Request) bool {
	http.Error(w, "down", http.StatusBadGateway)
	return true
}

func TestNew(t *testing.T) {
	for issuer, want := range map[string]string{
		"https://login.example.com/realms/a": "", "http://127.0.0.1:1": "", "http://localhost:1": "", "http://[::1]:1": "",
		"http://login.example.com": "https://", "": "URL", "https://u:p@x.test": "URL", "https://x.test/?a=b": "URL",
		"ftp://x.test": "https://",
	} {
		_, err := New(Config{Issuer: issuer, ClientID: "a"})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", issuer, err)
		}
	}
	if _, err := New(Config{Issuer: "https://x.test"}); err == nil {
		t.Error("no client id")
	}
}

// TestReach checks that a provider which cannot be used is noticed before anybody signs in.
func TestReach(t *testing.T) {
	if err := newPlace(t, nil).Reach(t.Context()); err != nil {
		t.Error(err)
	}
	p := newPlace(t, nil)
	p.server.SetAnswer(func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusBadGateway)
		return true
	})
	if err := p.Reach(t.Context()); err == nil || !strings.Contains(err.Error(), p.server.URL) {
		t.Errorf("%v, want an error that names %s", err, p.server.URL)
	}
}
