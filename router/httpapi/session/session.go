// Package session signs users of the page in with a cookie, so that the page does not store their password.
//
// A session is a token that only the cluster can create. It contains the user or the id of an access token, the time of
// sign-in, the time of the last renewal, and a fingerprint of the stored password or secret. It is signed with a key
// that all routers derive. Nothing is stored on the server, so every router accepts it. A changed password, a removed
// user, and an access token that was dropped, was rotated or has expired end it. It expires after 12 hours without use,
// and after 7 days at the latest.
//
// The session of a person whom an OIDC provider has authenticated contains the name and the groups, and expires when
// what the provider said does not count any more.
//
// The cookie is HttpOnly and SameSite=Strict. It is ignored in requests from pages of other origins, even if these
// may use the server with other credentials.
//
// A Manager may be used concurrently.
package session

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"net/http"
	"net/netip"
	"time"

	"cordwood/proto/errs"
	"cordwood/router/access"
)

// The time that a session lasts without use, its maximum time, and the interval at which it is renewed.
const (
	idleLife   = 12 * time.Hour
	wholeLife  = 7 * 24 * time.Hour
	renewAfter = 5 * time.Minute
)

// Users has the users who may sign in. *auth.Provider implements it.
type Users interface {
	// Session returns the sender for a user, if check returns true for the digest of the user's stored password.
	Session(user string, check func(stored [sha256.Size]byte) bool) (access.Sender, error)
	// TokenSession returns the sender for the access token with an id at an address, if check returns true for the hash
	// of one of its valid secrets. It may call check several times, and not after it returned true.
	TokenSession(id string, from netip.Addr, check func(stored [sha256.Size]byte) bool) (access.Sender, error)
	// Person returns the sender for a person whom an OIDC provider has authenticated.
	Person(name string, who *access.Person) (access.Sender, error)
}

// Config has the settings of a Manager.
type Config struct {
	Users Users
	// Keys returns the secrets of the cluster. The first one signs, and all are accepted. By default there is one
	// random secret of this process.
	Keys func() [][]byte
	// Cluster returns the id of the cluster. The name of the cookie contains a part of it, because servers on
	// different ports of a host share cookies.
	Cluster func() string
	// Now is the clock. The default value is time.Now.
	Now func() time.Time
}

// Manager makes and checks sessions. See the package comment.
type Manager struct {
	cfg   Config
	cross *http.CrossOriginProtection
}

// New returns a Manager. Users must be set.
func New(cfg Config) (*Manager, error) {
	if cfg.Users == nil {
		return nil, errors.New("session: Config.Users must be set")
	}
	if cfg.Keys == nil {
		own := make([]byte, sha256.Size)
		_, _ = rand.Read(own) // never fails
		cfg.Keys = func() [][]byte { return [][]byte{own} }
	}
	if cfg.Cluster == nil {
		cfg.Cluster = func() string { return "" }
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Manager{cfg: cfg, cross: http.NewCrossOriginProtection()}, nil
}

// token is the content of a cookie.
type token struct {
	version byte
	// subject is the name of a user, the id of an access token, or the JSON of a person.
	subject         string
	issued, renewed time.Time
	print           []byte
}

// The versions of cookies: the subject is a user, an access token, or a person whom an OIDC provider has authenticated.
const (
	ofUser        = 1
	ofAccessToken = 2
	ofPerson      = 3
)

const (
	printBytes = 16
	maxToken   = 3072
)

// sign returns t as the text of a cookie.
func (t *token) sign(key []byte) string {
	b := append([]byte{t.version}, t.print...)
	b = binary.AppendVarint(b, t.issued.Unix())
	b = binary.AppendVarint(b, t.renewed.Unix())
	b = append(b, t.subject...)
	return base64.RawURLEncoding.EncodeToString(append(b, mac(monthKey(key, t.renewed), "token", b)...))
}

// monthKey returns the signing key of a month.
func monthKey(key []byte, at time.Time) []byte {
	return mac(key, "month", []byte(at.UTC().Format("2006-01")))
}

// mac returns an authentication code, which proves that the holder of key wrote text for a purpose.
func mac(key []byte, purpose string, text []byte) []byte {
	h := hmac.New(sha256.New, key)
	_, _ = h.Write([]byte("cordwood session " + purpose + "\x00")) // it never fails
	_, _ = h.Write(text)
	return h.Sum(nil)
}

// fingerprint returns a fingerprint of a stored password, or of the hash of an access token.
func fingerprint(key []byte, stored [sha256.Size]byte) []byte {
	return mac(key, "password", stored[:])[:printBytes]
}

var errToken = errors.New("session: not a token")

// read returns the token in a cookie, and the key that signed it.
func (m *Manager) read(text string) (*token, []byte, error) {
	if len(text) > maxToken {
		return nil, nil, errToken
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < 1+printBytes+2+sha256.Size || b[0] < ofUser || b[0] > ofPerson {
		return nil, nil, errToken
	}
	body, sum := b[:len(b)-sha256.Size], b[len(b)-sha256.Size:]
	rest := body[1+printBytes:]
	issued, n := binary.Varint(rest)
	if n <= 0 {
		return nil, nil, errToken
	}
	renewed, k := binary.Varint(rest[n:])
	if k <= 0 {
		return nil, nil, errToken
	}
	t := &token{
		version: b[0], subject: string(rest[n+k:]), print: body[1 : 1+printBytes],
		issued: time.Unix(issued, 0), renewed: time.Unix(renewed, 0),
	}
	for _, key := range m.cfg.Keys() {
		if hmac.Equal(sum, mac(monthKey(key, t.renewed), "token", body)) {
			return t, key, nil
		}
	}
	return nil, nil, errToken
}

// maxCookies limits the number of cookies of one name that are read.
const maxCookies = 8

// find returns the first valid token among the cookies of a request, and the key that signed it. Another program on
// this host may have set a cookie with the same name, because ports share cookies.
func (m *Manager) find(r *http.Request) (*token, []byte, error) {
	cookies := r.CookiesNamed(m.CookieName())
	for _, c := range cookies[:min(len(cookies), maxCookies)] {
		if t, key, err := m.read(c.Value); err == nil {
			return t, key, nil
		}
	}
	return nil, nil, errToken
}

// CookieName returns the name of the cookie.
func (m *Manager) CookieName() string {
	const shown = 8
	id := m.cfg.Cluster()
	return "cordwood_" + id[max(0, len(id)-shown):]
}

// cookie returns the cookie for a token. If value is empty, the cookie ends the session.
func (m *Manager) cookie(value string, secure bool) *http.Cookie {
	c := &http.Cookie{
		Name: m.CookieName(), Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: secure,
		MaxAge: int(wholeLife / time.Second),
	}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}

// Begin returns the cookie of a new session of a user whose password was right.
func (m *Manager) Begin(user string, secure bool) (*http.Cookie, error) {
	var digest [sha256.Size]byte
	_, err := m.cfg.Users.Session(user, func(stored [sha256.Size]byte) bool {
		digest = stored
		return true
	})
	if err != nil {
		return nil, err
	}
	return m.begin(ofUser, user, digest, secure), nil
}

// BeginToken returns the cookie of a new session of a valid access token with an id and a hash.
func (m *Manager) BeginToken(id string, hash [sha256.Size]byte, secure bool) *http.Cookie {
	return m.begin(ofAccessToken, id, hash, secure)
}

func (m *Manager) begin(version byte, subject string, stored [sha256.Size]byte, secure bool) *http.Cookie {
	key, now := m.cfg.Keys()[0], m.cfg.Now()
	t := token{version: version, subject: subject, issued: now, renewed: now, print: fingerprint(key, stored)}
	return m.cookie(t.sign(key), secure)
}

// End returns the cookie that ends a session in a browser.
func (m *Manager) End(secure bool) *http.Cookie { return m.cookie("", secure) }

// Has reports whether a request has a session cookie that may be used.
func (m *Manager) Has(r *http.Request) bool {
	_, err := r.Cookie(m.CookieName())
	return err == nil && m.sameOrigin(r)
}

// sameOrigin reports whether the request, of any method, was not sent by a page of another origin.
func (m *Manager) sameOrigin(r *http.Request) bool {
	unsafe := *r
	unsafe.Method = http.MethodPost
	return m.cross.Check(&unsafe) == nil
}

// Authenticate returns the sender of a request from its session. from is the client's address. renewed is a new cookie
// for the answer, or nil if none is needed.
func (m *Manager) Authenticate(r *http.Request, from netip.Addr, secure bool) (
	s access.Sender, renewed *http.Cookie, err error,
) {
	ended := errs.New(errs.AuthHeaderNotFound, "the session has ended: sign in again").WithStatus(http.StatusUnauthorized)
	t, key, err := m.find(r)
	if err != nil {
		return s, nil, ended
	}
	now := m.cfg.Now()
	const skew = 5 * time.Minute // between the clocks of routers
	if now.Sub(t.renewed) > idleLife || now.Sub(t.issued) > wholeLife || t.renewed.Sub(now) > skew ||
		t.renewed.Before(t.issued) {
		return s, nil, ended
	}
	var digest [sha256.Size]byte // of the password or secret of the sign-in
	check := func(stored [sha256.Size]byte) bool {
		digest = stored
		return hmac.Equal(t.print, fingerprint(key, stored))
	}
	switch t.version {
	case ofAccessToken:
		s, err = m.cfg.Users.TokenSession(t.subject, from, check)
	case ofPerson:
		s, err = m.ofPerson(t)
		if errs.CodeOf(err) == errs.PermissionDenied { // a person who has lost all roles
			return s, nil, err
		}
	default:
		s, err = m.cfg.Users.Session(t.subject, check)
	}
	if err != nil {
		return s, nil, ended
	}
	if t.version == ofPerson {
		return s, nil, nil // it ends at a fixed time
	}
	if signs := m.cfg.Keys()[0]; now.Sub(t.renewed) >= renewAfter || !hmac.Equal(signs, key) {
		t.renewed, t.print = now, fingerprint(signs, digest)
		renewed = m.cookie(t.sign(signs), secure)
	}
	return s, renewed, nil
}
