package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"cordwood/meta/metaclient"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
	"cordwood/router/access/oidc"
	"cordwood/router/access/oidc/oidctest"
	"cordwood/router/httpapi/auth"
	"cordwood/router/httpapi/session"
)

// oidcServer returns a server whose users an OIDC provider authenticates. The group devs may read public.web.
func oidcServer(t *testing.T) (f *fixture, provider *oidctest.Server, key oidctest.Key, users *auth.Provider) {
	t.Helper()
	key = oidctest.EC(t, "k1")
	provider = oidctest.New(t, key)
	people, err := oidc.New(oidc.Config{
		Issuer: provider.URL, ClientID: oidctest.ClientID, Secret: func() (string, error) { return oidctest.Secret, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if users, err = auth.Open(auth.Config{Stored: true, OIDC: people}); err != nil {
		t.Fatal(err)
	}
	manager, err := session.New(session.Config{Users: users})
	if err != nil {
		t.Fatal(err)
	}
	users.Apply(metaclient.AccessChanges{Principals: []*metapb.AccessPrincipal{{
		Name: "web", Role: true, Groups: []string{"devs"}, Grants: []*metapb.AccessGrant{{
			Kind: uint32(rights.Tables), Database: "public", Name: "web", Privileges: uint32(rights.Select),
		}},
	}}})
	f = newFixture(t, func(c *Config) {
		c.Auth, c.Sessions, c.SignIn, c.People, c.OIDC = users, manager, users, users, people
	})
	return f, provider, key, users
}

// TestOIDCBearer sends tokens of the provider in the places for credentials.
func TestOIDCBearer(t *testing.T) {
	f, provider, key, users := oidcServer(t)
	token := provider.Token(key, "ann", "devs")
	for _, header := range []string{"Authorization", "x-svc-auth"} {
		var who Whoami
		w := f.call(http.MethodGet, "/v1/access/whoami", "", header, "bearer "+token)
		if err := json.Unmarshal(w.Body.Bytes(), &who); err != nil || who.User != "oidc:ann" || who.Auth != "oidc" ||
			strings.Join(who.Grants, "|") != "SELECT ON public.web" {
			t.Errorf("%s: %d %s", header, w.Code, w.Body)
		}
	}
	for name, c := range map[string]struct {
		token string
		want  int
	}{
		"no role":      {provider.Token(key, "bob", "none"), 403},
		"no groups":    {provider.Token(key, "bob"), 403},
		"another key":  {provider.Sign(oidctest.EC(t, "k1"), oidctest.Claims{"sub": "ann"}), 401},
		"cut":          {token[:len(token)-4], 401},
		"another kind": {"abc", 401},
	} {
		w := f.call(http.MethodGet, "/v1/access/whoami", "", "Authorization", "Bearer "+c.token)
		if w.Code != c.want || strings.Contains(w.Body.String(), c.token) && len(c.token) > 10 {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	password := base64.StdEncoding.EncodeToString([]byte("x:" + token))
	w := f.call(http.MethodGet, "/v1/access/whoami", "", "Authorization", "Basic "+password)
	if w.Code != 401 {
		t.Errorf("as a password: %d %s", w.Code, w.Body)
	}
	users.Apply(metaclient.AccessChanges{Principals: []*metapb.AccessPrincipal{{Name: "oidc:ann", Disabled: true}}})
	if w := f.call(http.MethodGet, "/v1/access/whoami", "", "Authorization", "Bearer "+token); w.Code != 401 {
		t.Errorf("a disabled person: %d %s", w.Code, w.Body)
	}
}

// signIn goes to the provider and back, and returns the cookie of the sign-in and the callback's path with its query.
func signIn(t *testing.T, f *fixture, to string) (cookie, callback string) {
	t.Helper()
	w := f.call(http.MethodGet, "/v1/session/oidc/login?to="+url.QueryEscape(to), "")
	if w.Code != http.StatusSeeOther || w.Header().Get("Cache-Control") != "no-store" {
		t.Fatalf("login: %d %s", w.Code, w.Body)
	}
	cookie, _, _ = strings.Cut(w.Header().Get("Set-Cookie"), ";")
	stay := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := stay.Get(w.Header().Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	back, err := url.Parse(resp.Header.Get("Location"))
	if err != nil || back.Path != oidcCallback {
		t.Fatalf("the provider sends the browser to %s, %v", back, err)
	}
	return cookie, back.RequestURI()
}

// TestOIDCSignIn signs a browser in, and checks where it goes and that the session ends with the rights.
func TestOIDCSignIn(t *testing.T) {
	f, provider, _, users := oidcServer(t)
	for to, want := range map[string]string{
		"/dashboard/#/sql?q=a": "/dashboard/#/sql?q=a", "": "/dashboard/", "//evil.test/": "/dashboard/",
		"https://evil.test/": "/dashboard/", `/\evil.test`: "/dashboard/", "/\t/evil.test": "/dashboard/",
		"dashboard": "/dashboard/", "/" + strings.Repeat("a", maxTo): "/dashboard/",
	} {
		cookie, callback := signIn(t, f, to)
		w := f.call(http.MethodGet, callback, "", "Cookie", cookie, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode",
			"navigate")
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != want {
			t.Errorf("%q: %d %q %s", to, w.Code, w.Header().Get("Location"), w.Body)
		}
	}
	cookie, callback := signIn(t, f, "")
	w := f.call(http.MethodGet, callback, "", "Cookie", cookie)
	var session string
	for _, c := range w.Result().Cookies() {
		if c.MaxAge > 0 {
			session = c.Name + "=" + c.Value
			if c.MaxAge > 3600 || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode {
				t.Errorf("the cookie is %s", c)
			}
		}
	}
	var s Session
	w = f.call(http.MethodGet, "/v1/session", "", "Cookie", session)
	if err := json.Unmarshal(w.Body.Bytes(), &s); err != nil || s.User != "oidc:ann" || s.Auth != "oidc" || !s.CanRead ||
		s.CanWrite {
		t.Errorf("the session: %d %s", w.Code, w.Body)
	}
	if w := f.call(http.MethodGet, callback, "", "Cookie", cookie); w.Code != 401 {
		t.Errorf("the same code again: %d %s", w.Code, w.Body)
	}
	users.Apply(metaclient.AccessChanges{Principals: []*metapb.AccessPrincipal{{Name: "web", Role: true}}})
	if w := f.call(http.MethodGet, "/v1/session", "", "Cookie", session); w.Code != 403 {
		t.Errorf("after the role lost its group: %d %s", w.Code, w.Body)
	}
	provider.SignsIn(oidctest.Claims{"groups": []string{"none"}})
	cookie, callback = signIn(t, f, "")
	if w := f.call(http.MethodGet, callback, "", "Cookie", cookie); w.Code != 403 {
		t.Errorf("a person without a role: %d %s", w.Code, w.Body)
	}
}

// TestOIDCSignInRefused tries callbacks that no sign-in of this browser causes.
func TestOIDCSignInRefused(t *testing.T) {
	f, _, _, _ := oidcServer(t)
	cookie, callback := signIn(t, f, "")
	other, _ := signIn(t, f, "")
	for name, c := range map[string]struct{ cookie, callback string }{
		"without a cookie":      {"", callback},
		"of another sign-in":    {other, callback},
		"another state":         {cookie, strings.Replace(callback, "state=", "state=x", 1)},
		"no state":              {cookie, oidcCallback + "?code=x"},
		"a refusal without it":  {cookie, oidcCallback + "?error=access_denied"},
		"nothing":               {cookie, oidcCallback},
		"another code":          {cookie, strings.Replace(callback, "code=", "code=x", 1)},
		"a cookie that is long": {cookie + strings.Repeat("A", 5000), callback},
	} {
		w := f.call(http.MethodGet, c.callback, "", "Cookie", c.cookie)
		if w.Code != 401 || w.Header().Get("Location") != "" {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		for _, set := range w.Result().Cookies() {
			if set.MaxAge >= 0 {
				t.Errorf("%s: the cookie %s is set", name, set.Name)
			}
		}
	}
	if w := f.call(http.MethodGet, callback, "", "Cookie", cookie); w.Code != http.StatusSeeOther {
		t.Errorf("the right one after all that: %d %s", w.Code, w.Body)
	}
	plain := newFixture(t)
	for _, path := range []string{"/v1/session/oidc/login", oidcCallback} {
		if w := plain.call(http.MethodGet, path, ""); w.Code != 400 {
			t.Errorf("%s without a provider: %d %s", path, w.Code, w.Body)
		}
	}
	w := f.call(http.MethodGet, "/v1/session", "", "X-Svc-Page", "1")
	if w.Code != 401 || w.Header().Get("X-Svc-OIDC") != "1" {
		t.Errorf("the page is not told: %d %v", w.Code, w.Header())
	}
}
