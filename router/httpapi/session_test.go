package httpapi

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"cordwood/meta/metaclient"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
	"cordwood/router/access/token"
	"cordwood/router/httpapi/auth"
	"cordwood/router/httpapi/session"
)

// tokenSessions returns a server with sessions, and the function that adds a token with SELECT on public.web.
func tokenSessions(t *testing.T) (f *fixture, users *auth.Provider, add func(*metapb.AccessToken) string) {
	t.Helper()
	users, err := auth.Open(auth.Config{Stored: true, CertificateName: func(state *tls.ConnectionState) (string, error) {
		return state.PeerCertificates[0].Subject.CommonName, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	manager, err := session.New(session.Config{Users: users})
	if err != nil {
		t.Fatal(err)
	}
	f = newFixture(t, func(c *Config) { c.Auth, c.Sessions, c.SignIn = users, manager, users })
	return f, users, func(one *metapb.AccessToken) string {
		text, id := token.New()
		hash := token.Hash(text)
		one.Id, one.Hash = id, hash[:]
		one.Grants = []*metapb.AccessGrant{{
			Kind: uint32(rights.Tables), Database: "public", Name: "web", Privileges: uint32(rights.Select),
		}}
		users.Apply(metaclient.AccessChanges{Tokens: []*metapb.AccessToken{one}})
		return text
	}
}

const jsonType = "application/json"

// TestSignInWithToken signs in with a token. The session has the rights of the token, and ends with it.
func TestSignInWithToken(t *testing.T) {
	f, users, add := tokenSessions(t)
	one := &metapb.AccessToken{Name: "reader"}
	text := add(one)
	in := f.call(http.MethodPost, "/v1/session", `{"token":"`+text+`"}`, "Content-Type", jsonType)
	set := in.Header().Get("Set-Cookie")
	if in.Code != http.StatusNoContent || in.Header().Get("Cache-Control") != "no-store" ||
		!strings.Contains(set, "HttpOnly") || !strings.Contains(set, "SameSite=Strict") || strings.Contains(set, text[14:]) {
		t.Fatalf("%d %s, cookie %s", in.Code, in.Body, set)
	}
	cookie, _, _ := strings.Cut(set, ";")
	var who Whoami
	w := f.call(http.MethodGet, "/v1/access/whoami", "", "Cookie", cookie)
	if err := json.Unmarshal(w.Body.Bytes(), &who); err != nil || who.Token != one.Id || who.Auth != "token" ||
		who.User != token.Name(one.Id) || strings.Join(who.Grants, "|") != "SELECT ON public.web" {
		t.Errorf("whoami: %d %s", w.Code, w.Body)
	}
	var s Session
	w = f.call(http.MethodGet, "/v1/session", "", "Cookie", cookie)
	if err := json.Unmarshal(w.Body.Bytes(), &s); err != nil || s.Auth != "token" || !s.CanRead || s.CanWrite ||
		s.CanManage {
		t.Errorf("the session: %d %s", w.Code, w.Body)
	}
	for _, path := range []string{"/v1/saved", "/v1/pipelines", "/v1/access/users"} {
		if got := f.call(http.MethodGet, path, "", "Cookie", cookie).Header().Get("Cache-Control"); got != "no-store" {
			t.Errorf("%s: Cache-Control is %q", path, got)
		}
	}
	if w := f.call(http.MethodGet, "/v1/session", "", "Cookie", cookie, "Origin", "http://evil.test"); w.Code != 403 {
		t.Errorf("from another origin: %d %s", w.Code, w.Body)
	}
	users.Apply(metaclient.AccessChanges{DroppedTokens: []string{one.Id}})
	if w := f.call(http.MethodGet, "/v1/session", "", "Cookie", cookie); w.Code != 401 {
		t.Errorf("after the token was dropped: %d %s", w.Code, w.Body)
	}
}

// TestSessionOfAnotherCertificate checks that neither a session nor a sign-in is accepted from a client whose
// certificate stands for another user.
func TestSessionOfAnotherCertificate(t *testing.T) {
	f, _, add := tokenSessions(t)
	one := &metapb.AccessToken{Name: "reader"}
	body := `{"token":"` + add(one) + `"}`
	call := func(method, body, user, cookie string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "/v1/session", strings.NewReader(body))
		r.Header.Set("Content-Type", jsonType)
		r.Header.Set("Cookie", cookie)
		r.TLS = nil
		if user != "" {
			r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{Subject: pkix.Name{CommonName: user}}}}
		}
		w := httptest.NewRecorder()
		f.Handler().ServeHTTP(w, r)
		return w
	}
	in := call(http.MethodPost, body, "", "")
	cookie, _, _ := strings.Cut(in.Header().Get("Set-Cookie"), ";")
	for user, want := range map[string]int{"": 200, token.Name(one.Id): 200, "ann": 401} {
		if w := call(http.MethodGet, "", user, cookie); w.Code != want {
			t.Errorf("a session with the certificate of %q: %d %s, want %d", user, w.Code, w.Body, want)
		}
		if w := call(http.MethodPost, body, user, ""); (w.Code == 401) != (want == 401) {
			t.Errorf("a sign-in with the certificate of %q: %d %s", user, w.Code, w.Body)
		}
	}
}

// TestSignInWithoutToken checks the answers to tokens that are not valid, and to bodies with neither or both.
func TestSignInWithoutToken(t *testing.T) {
	f, _, add := tokenSessions(t)
	good := add(&metapb.AccessToken{Name: "good"})
	expired := add(&metapb.AccessToken{Name: "expired", ExpiresUnixNano: time.Now().Add(-time.Second).UnixNano()})
	elsewhere := add(&metapb.AccessToken{Name: "elsewhere", From: []string{"203.0.113.0/24"}})
	unknown, _ := token.New()
	for body, want := range map[string]int{
		`{"token":"` + expired + `"}`:                        401,
		`{"token":"` + elsewhere + `"}`:                      403,
		`{"token":"` + unknown + `"}`:                        401,
		`{"token":"` + good[:49] + `"}`:                      401,
		`{"token":"` + good + `","user":"ann"}`:              400,
		`{"token":"` + good + `","password":"x"}`:            400,
		`{"token":"` + good + `","user":"a","password":"x"}`: 400,

		`{"token":""}`: 400,
		`{"user":"a"}`: 400,
		`{}`:           400,
	} {
		w := f.call(http.MethodPost, "/v1/session", body, "Content-Type", jsonType)
		if w.Code != want || w.Header().Get("Set-Cookie") != "" || strings.Contains(w.Body.String(), good[14:]) {
			t.Errorf("%s: %d %s, want %d", body, w.Code, w.Body, want)
		}
	}
	for i := 0; ; i++ {
		w := f.call(http.MethodPost, "/v1/session", `{"token":"`+unknown+`"}`, "Content-Type", jsonType)
		if w.Code == 429 && w.Header().Get("Retry-After") != "" {
			break
		}
		if i > 10 {
			t.Fatalf("after %d unknown tokens: %d %s", i, w.Code, w.Body)
		}
	}
	if w := f.call(http.MethodPost, "/v1/session", `{"token":"`+good+`"}`, "Content-Type", jsonType); w.Code != 204 {
		t.Errorf("a good token from the same address: %d %s", w.Code, w.Body)
	}
}
