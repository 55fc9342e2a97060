package httpapi

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"cordwood/proto/errs"
	"cordwood/router/access"
	"cordwood/router/access/oidc"
	"cordwood/router/audit"
	"cordwood/router/httpapi/exchange"
)

// OIDC signs users of browsers in with an OpenID Connect provider. *oidc.Provider implements it.
type OIDC interface {
	// LoginURL returns the URL at the provider to which a browser is sent.
	LoginURL(ctx context.Context, a oidc.Attempt) (string, error)
	// Finish returns the name of the person who has got a code, and what the provider says about the person.
	Finish(ctx context.Context, a oidc.Attempt, code string) (name string, who *access.Person, err error)
}

// People admits people whom the OIDC provider has authenticated.
type People interface {
	// SignInPerson returns the sender for a person, and the part of who that matters. It records a failure, also if err,
	// the provider's answer, is one.
	SignInPerson(name string, who *access.Person, from netip.Addr, err error) (access.Sender, *access.Person, error)
}

const (
	oidcCallback = "/v1/session/oidc/callback"
	// maxTo is the maximum length of the address to go to after a sign-in, in bytes.
	maxTo = 1 << 10
	// maxExchanges is the number of sign-ins that ask the provider at a time.
	maxExchanges = 16
)

// pageAddress is where browsers go after a sign-in by default.
const pageAddress = "/dashboard/"

// oidcSignIn is what a router must know when the provider sends a browser back.
type oidcSignIn struct {
	oidc.Attempt
	To string
}

// oidcLogin sends a browser to the provider.
func (s *sessions) oidcLogin(w http.ResponseWriter, r *http.Request) {
	if err := s.beginOIDC(w, r); err != nil {
		exchange.WriteError(w, r, err)
	}
}

func noOIDC() error {
	return errs.New(errs.Unsupported, "this server has no OIDC provider (--oidc-issuer)")
}

func (s *sessions) beginOIDC(w http.ResponseWriter, r *http.Request) error {
	if s.oidc == nil || s.manager == nil {
		return noOIDC()
	}
	a := oidcSignIn{oidc.NewAttempt(s.redirectURL(r)), localAddress(r.URL.Query().Get("to"))}
	at, err := s.oidc.LoginURL(r.Context(), a.Attempt)
	if err != nil {
		return err
	}
	text, err := json.Marshal(a)
	if err != nil {
		return errs.Wrap(errs.Internal, err, "describe a sign-in")
	}
	cookie, err := s.manager.SealSignIn(text, s.proxies.Secure(r))
	if err != nil {
		return err
	}
	http.SetCookie(w, cookie)
	redirect(w, at)
	return nil
}

// redirectURL returns the URL of the callback as the browser reaches it.
func (s *sessions) redirectURL(r *http.Request) string {
	if s.oidcRedirect != "" {
		return s.oidcRedirect
	}
	u := url.URL{Scheme: "http", Host: r.Host, Path: oidcCallback}
	if s.proxies.Secure(r) {
		u.Scheme = "https"
	}
	return u.String()
}

// redirect sends a browser to an address. The answer is of this sign-in alone.
func redirect(w http.ResponseWriter, to string) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
}

// localAddress returns an address of this server, or that of the page. Browsers read a backslash as a slash, and two
// slashes as the beginning of another host.
func localAddress(to string) string {
	u, err := url.Parse(to)
	if err != nil || len(to) > maxTo || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") ||
		strings.Contains(to, `\`) || u.Host != "" || u.Scheme != "" {
		return pageAddress
	}
	return to
}

// oidcCallback ends a sign-in. The provider has sent the browser here.
func (s *sessions) oidcCallback(w http.ResponseWriter, r *http.Request) {
	if err := s.endOIDC(w, r); err != nil {
		exchange.WriteError(w, r, err)
	}
}

func (s *sessions) endOIDC(w http.ResponseWriter, r *http.Request) error {
	if s.oidc == nil || s.manager == nil {
		return noOIDC()
	}
	secure := s.proxies.Secure(r)
	text, remove, err := s.manager.OpenSignIn(r, secure)
	http.SetCookie(w, remove)
	if err != nil {
		return err
	}
	var a oidcSignIn
	if err := json.Unmarshal(text, &a); err != nil {
		return errs.Wrap(errs.Internal, err, "read a sign-in")
	}
	name, who, err := s.finishOIDC(r, a.Attempt)
	sender, who, err := s.people.SignInPerson(name, who, exchange.Of(r).Client, err)
	if err != nil {
		return err
	}
	cookie, err := s.manager.BeginPerson(sender.User, who, secure)
	if err != nil {
		return err
	}
	s.record(r, sender, audit.SignIn)
	http.SetCookie(w, cookie)
	redirect(w, localAddress(a.To))
	return nil
}

// finishOIDC returns the person of a sign-in.
func (s *sessions) finishOIDC(r *http.Request, a oidc.Attempt) (string, *access.Person, error) {
	q := r.URL.Query()
	unauthorized := func(format string, args ...any) error {
		return errs.New(errs.UserPasswordMismatch, format, args...).WithStatus(http.StatusUnauthorized)
	}
	switch code := q.Get("code"); {
	case subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(a.State)) != 1:
		return "", nil, unauthorized("this browser has begun another sign-in meanwhile: begin it again")
	case q.Get("error") != "" || code == "":
		why := cmp.Or(strings.TrimSpace(q.Get("error")+" "+q.Get("error_description")), "it gave no code")
		return "", nil, unauthorized("the OIDC provider refused the sign-in: %q", cutQuery(why))
	default:
		select {
		case s.exchanges <- struct{}{}:
			defer func() { <-s.exchanges }()
		case <-r.Context().Done():
			return "", nil, errs.Wrap(errs.ContextCode(r.Context().Err()), r.Context().Err(), "wait for other sign-ins")
		}
		return s.oidc.Finish(r.Context(), a, code)
	}
}

// cutQuery shortens a text that the provider or anybody else wrote into the URL.
func cutQuery(text string) string {
	const most = 200
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strings.ToValidUTF8(text, "")
}
