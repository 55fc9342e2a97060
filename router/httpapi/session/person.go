package session

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"time"

	"cordwood/proto/errs"
	"cordwood/router/access"
)

// This file has the sessions of people whom an OIDC provider has authenticated, and the cookie of their sign-in.

// person is the subject of a session of a person.
type person struct {
	Name   string   `json:"n"`
	Groups []string `json:"g,omitempty"`
	Until  int64    `json:"u"` // in seconds of Unix time
}

// longestPerson is the longest time that a session of a person may last.
const longestPerson = 12 * time.Hour

// BeginPerson returns the cookie of a new session of a person. who has only the groups that matter.
func (m *Manager) BeginPerson(name string, who *access.Person, secure bool) (*http.Cookie, error) {
	until := who.Until
	if last := m.cfg.Now().Add(longestPerson); until.After(last) {
		until = last
	}
	subject, err := json.Marshal(person{name, who.Groups, until.Unix()})
	if err != nil {
		return nil, errs.Wrap(errs.Internal, err, "describe the session of a person")
	}
	c := m.begin(ofPerson, string(subject), [sha256.Size]byte{}, secure)
	if len(c.Value) > maxToken {
		return nil, errs.New(errs.PermissionDenied, "%.100s is in %d groups that roles have, which do not fit into a "+
			"cookie: an administrator can give the roles fewer groups", name, len(who.Groups))
	}
	c.MaxAge = max(int(until.Sub(m.cfg.Now())/time.Second), 1)
	return c, nil
}

// ofPerson returns the sender of a session of a person.
func (m *Manager) ofPerson(t *token) (access.Sender, error) {
	var p person
	if err := json.Unmarshal([]byte(t.subject), &p); err != nil {
		return access.Sender{}, errToken // never happens, because the token is signed
	}
	return m.cfg.Users.Person(p.Name, &access.Person{Groups: p.Groups, Until: time.Unix(p.Until, 0)})
}

// maxSealed is the maximum size of a sealed text in bytes, and signInTime how long a sign-in may take.
const (
	maxSealed  = 3 << 10
	signInTime = 10 * time.Minute
	signInPath = "/v1/session/oidc"
)

// signInCookie returns the name of the cookie of a sign-in.
func (m *Manager) signInCookie() string { return m.CookieName() + "_oidc" }

// SealSignIn returns the cookie with what a router must know when the provider sends the browser back. Only routers can
// read it. Any router can, if the cluster has a secret.
func (m *Manager) SealSignIn(text []byte, secure bool) (*http.Cookie, error) {
	aead, err := sealer(m.cfg.Keys()[0])
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, aead.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	plain := append(binary.AppendVarint(nil, m.cfg.Now().Unix()), text...)
	sealed := aead.Seal(nonce, nonce, plain, nil)
	c := m.signIn(base64.RawURLEncoding.EncodeToString(sealed), secure)
	if len(c.Value) > maxSealed {
		return nil, errs.New(errs.InvalidArguments, "the address to go to after the sign-in is too long")
	}
	return c, nil
}

// signIn returns the cookie of a sign-in with a value. The provider's page sends the browser back, so the cookie must
// come with a link from another site.
func (m *Manager) signIn(value string, secure bool) *http.Cookie {
	return &http.Cookie{
		Name: m.signInCookie(), Value: value, Path: signInPath, HttpOnly: true, Secure: secure,
		SameSite: http.SameSiteLaxMode, MaxAge: int(signInTime / time.Second),
	}
}

// OpenSignIn returns what SealSignIn has sealed in the cookie of a request, and the cookie that removes it.
func (m *Manager) OpenSignIn(r *http.Request, secure bool) (text []byte, remove *http.Cookie, err error) {
	remove = m.signIn("", secure)
	remove.MaxAge = -1
	cookies := r.CookiesNamed(m.signInCookie())
	for _, c := range cookies[:min(len(cookies), maxCookies)] {
		for _, key := range m.cfg.Keys() {
			if text, err := m.unseal(key, c.Value); err == nil {
				return text, remove, nil
			}
		}
	}
	return nil, remove, errs.New(errs.UserPasswordMismatch, "this browser has not begun a sign-in within the last %s: "+
		"begin it again", signInTime).WithStatus(http.StatusUnauthorized)
}

func (m *Manager) unseal(key []byte, value string) ([]byte, error) {
	if len(value) > maxSealed {
		return nil, errToken
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(value)
	if err != nil {
		return nil, errToken
	}
	aead, err := sealer(key)
	if err != nil || len(sealed) < aead.NonceSize() {
		return nil, errToken
	}
	plain, err := aead.Open(nil, sealed[:aead.NonceSize()], sealed[aead.NonceSize():], nil)
	if err != nil {
		return nil, errToken
	}
	at, n := binary.Varint(plain)
	if n <= 0 {
		return nil, errToken
	}
	if age := m.cfg.Now().Sub(time.Unix(at, 0)); age > signInTime || age < -signInTime {
		return nil, errToken
	}
	return plain[n:], nil
}

// sealer returns the cipher for sign-ins with a secret of the cluster.
func sealer(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(mac(key, "sign-in", nil))
	if err != nil {
		return nil, errs.Wrap(errs.Internal, err, "prepare the cipher of sign-ins")
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, errs.Wrap(errs.Internal, err, "prepare the cipher of sign-ins")
	}
	return aead, nil
}
