// Package oidctest is an OpenID Connect provider for tests. It has its own keys, and signs every token that a test
// wants. It may be used concurrently.
package oidctest

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// ClientID is the client that the provider knows, and Secret its secret.
const (
	ClientID = "cordwood-test"
	Secret   = "a secret of the client"
)

// Key is a private key of the provider.
type Key struct {
	Private   any
	ID        string
	Algorithm jose.SignatureAlgorithm
}

// RSA returns a new RSA key.
func RSA(t testing.TB, id string) Key {
	t.Helper()
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return Key{k, id, jose.RS256}
}

// EC returns a new key of the curve P-256.
func EC(t testing.TB, id string) Key {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return Key{k, id, jose.ES256}
}

// Ed25519 returns a new Ed25519 key.
func Ed25519(t testing.TB, id string) Key {
	t.Helper()
	_, k, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return Key{k, id, jose.EdDSA}
}

// Claims are the claims of a token.
type Claims map[string]any

// Server is a provider.
type Server struct {
	*httptest.Server
	t testing.TB

	mu     sync.Mutex // guards the fields below
	keys   []Key
	answer func(w http.ResponseWriter, r *http.Request) bool
	asked  map[string]int // requests, by path
	codes  map[string]login
	claims Claims // of whoever signs in with a browser
}

// login is a sign-in whose code was not exchanged yet.
type login struct {
	redirect, challenge, nonce string
}

// New starts a provider with keys. It ends with the test.
func New(t testing.TB, keys ...Key) *Server {
	t.Helper()
	s := &Server{t: t, keys: keys, asked: map[string]int{}, codes: map[string]login{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

// SetKeys replaces the keys.
func (s *Server) SetKeys(keys ...Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = keys
}

// SetAnswer sets a function that may answer requests instead of the server, and then returns true. nil removes it.
func (s *Server) SetAnswer(f func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = f
}

// Asked returns the number of requests with a path.
func (s *Server) Asked(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[path]
}

// SignsIn sets the claims of the person who signs in with a browser.
func (s *Server) SignsIn(c Claims) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.claims = c
}

// Claims returns claims of a token that is issued at a time and valid for ten minutes, with changes. A nil value
// removes a claim.
func (s *Server) Claims(at time.Time, changes Claims) Claims {
	c := Claims{
		"iss": s.URL, "aud": ClientID, "sub": "ann", "iat": at.Unix(), "exp": at.Add(10 * time.Minute).Unix(),
		"groups": []string{"devs"},
	}
	maps.Copy(c, changes)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// Sign returns a token with claims, signed with a key.
func (s *Server) Sign(k Key, c Claims) string {
	s.t.Helper()
	options := (&jose.SignerOptions{}).WithType("JWT")
	if k.ID != "" {
		options = options.WithHeader("kid", k.ID)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: k.Algorithm, Key: k.Private}, options)
	if err != nil {
		s.t.Fatal(err)
	}
	text, err := json.Marshal(c)
	if err != nil {
		s.t.Fatal(err)
	}
	jws, err := signer.Sign(text)
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := jws.CompactSerialize()
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// Token returns a token of the person sub in groups, which is valid now.
func (s *Server) Token(k Key, sub string, groups ...string) string {
	s.t.Helper()
	return s.Sign(k, s.Claims(time.Now(), Claims{"sub": sub, "groups": groups}))
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[r.URL.Path]++
	if s.answer != nil && s.answer(w, r) {
		return
	}
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		write(w, Claims{
			"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token",
			"jwks_uri": s.URL + "/keys", "scopes_supported": []string{"openid", "profile", "groups"},
			"id_token_signing_alg_values_supported": []string{"RS256", "HS256"},
		})
	case "/keys":
		write(w, s.public())
	case "/authorize":
		s.authorize(w, r)
	case "/token":
		s.exchange(w, r)
	default:
		http.NotFound(w, r)
	}
}

// public returns the public keys.
func (s *Server) public() jose.JSONWebKeySet {
	var set jose.JSONWebKeySet
	for _, k := range s.keys {
		var public any
		switch p := k.Private.(type) {
		case *rsa.PrivateKey:
			public = p.Public()
		case *ecdsa.PrivateKey:
			public = p.Public()
		case ed25519.PrivateKey:
			public = p.Public()
		}
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: public, KeyID: k.ID, Use: "sig", Algorithm: string(k.Algorithm)})
	}
	return set
}

// authorize signs the person in without a question, and sends the browser back with a code.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != ClientID || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" {
		http.Error(w, "bad request of a client", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	s.codes[code] = login{q.Get("redirect_uri"), q.Get("code_challenge"), q.Get("nonce")}
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil {
		http.Error(w, "bad redirect_uri", http.StatusBadRequest)
		return
	}
	back.RawQuery = url.Values{"code": {code}, "state": {q.Get("state")}}.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

// exchange gives a token for a code, if the client and the proof of the sign-in are right.
func (s *Server) exchange(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	if id == "" {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	secret, _ = url.QueryUnescape(secret)
	l, known := s.codes[r.PostFormValue("code")]
	proof := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if id != ClientID || secret != Secret || !known || r.PostFormValue("redirect_uri") != l.redirect ||
		base64.RawURLEncoding.EncodeToString(proof[:]) != l.challenge {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":"invalid_grant","error_description":"the code is not valid"}`))
		return
	}
	delete(s.codes, r.PostFormValue("code"))
	c := s.Claims(time.Now(), Claims{"nonce": l.nonce})
	maps.Copy(c, s.claims)
	write(w, Claims{"access_token": "opaque", "token_type": "Bearer", "expires_in": 600, "id_token": s.Sign(s.keys[0], c)})
}

func write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}
