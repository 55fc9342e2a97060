// Package oidc authenticates people with an OpenID Connect provider: it verifies JSON Web Tokens, and signs users of
// browsers in by the authorization code flow.
//
// Settings and keys of the provider are fetched when they are first needed, and kept while the provider cannot be
// reached. A token with an unknown key causes a new attempt at most once a minute. A verified token is remembered
// for at most five minutes. Answers of the provider are limited in size and time.
//
// A Provider may be used concurrently.
package oidc

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"cordwood/proto/errs"
	"cordwood/proto/lru"
	"cordwood/router/access"
)

// Config has the settings of a Provider.
type Config struct {
	// Issuer is the URL of the provider. It must be an https URL, except on this machine.
	Issuer string
	// ClientID is the id of this server at the provider, and Secret returns its secret. Without Secret, there is none.
	ClientID string
	Secret   func() (string, error)
	// Audience is the audience that tokens of programs must have. The default value is ClientID.
	Audience string
	// UserClaim and GroupsClaim are the claims with the name and with the groups of a person. The default values are sub
	// and groups.
	UserClaim, GroupsClaim string
	// MaxAge is how long after a token was issued its claims count. The default value is an hour.
	MaxAge time.Duration
	// Client sends requests to the provider. The default value is http.DefaultClient.
	Client *http.Client
	// Now is the clock. The default value is time.Now.
	Now func() time.Time
}

// Provider is an OpenID Connect provider. See the package comment.
type Provider struct {
	cfg  Config
	keys *keys

	mu         sync.Mutex // guards remembered
	remembered *lru.Cache[[sha256.Size]byte, verified]
}

// verified is a verified token.
type verified struct {
	name string
	who  *access.Person
	at   time.Time
}

const (
	// maxToken is the maximum size of a token in bytes.
	maxToken = 16 << 10
	// rememberFor is how long a verified token is remembered, and maxRemembered the size of all of them in bytes.
	rememberFor   = 5 * time.Minute
	maxRemembered = 16 << 20
	// skew is how much the clocks of the provider and of this machine may differ.
	skew = time.Minute
)

// CheckIssuer returns an error if a URL cannot be that of a provider, because it is not encrypted.
func CheckIssuer(issuer string) error {
	u, err := url.Parse(issuer)
	switch {
	case err != nil:
		return errors.New("it is not a URL")
	case u.Host == "", u.User != nil, u.RawQuery != "", u.Fragment != "":
		return errors.New("it must be a URL such as https://login.example.com/realms/logs")
	}
	return checkURL(issuer)
}

// checkURL returns an error if a URL is neither encrypted nor on this machine.
func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return errors.New("it is not a URL")
	}
	host := u.Hostname()
	local := host == "localhost"
	if ip := net.ParseIP(host); ip != nil {
		local = ip.IsLoopback()
	}
	if u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !local) {
		return fmt.Errorf("%.200q must begin with https://, except for addresses of this machine", text)
	}
	return nil
}

// New returns a Provider. Issuer and ClientID must be set. It does not send requests yet.
func New(cfg Config) (*Provider, error) {
	if err := CheckIssuer(cfg.Issuer); err != nil {
		return nil, fmt.Errorf("oidc: the issuer: %w", err)
	}
	if cfg.ClientID == "" {
		return nil, errors.New("oidc: Config.ClientID must be set")
	}
	if cfg.Audience == "" {
		cfg.Audience = cfg.ClientID
	}
	if cfg.UserClaim == "" {
		cfg.UserClaim = "sub"
	}
	if cfg.GroupsClaim == "" {
		cfg.GroupsClaim = "groups"
	}
	if cfg.MaxAge == 0 {
		cfg.MaxAge = time.Hour
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Client = limitedClient(cfg.Client)
	p := &Provider{
		cfg: cfg, keys: newKeys(cfg.Issuer, cfg.Client, cfg.Now),
		remembered: lru.New[[sha256.Size]byte, verified](maxRemembered),
	}
	return p, nil
}

// Reach asks the provider about itself and for its keys, unless it has answered before. The error says why it cannot be
// used.
func (p *Provider) Reach(ctx context.Context) error {
	_, err := p.keys.endpoints(ctx)
	return err
}

// attempt is the KeySet of one token. The library passes on only the text of an error, so the error is kept here.
type attempt struct {
	*keys
	err error
}

// VerifySignature implements oidc.KeySet.
func (a *attempt) VerifySignature(ctx context.Context, token string) (content []byte, err error) {
	content, a.err = a.keys.VerifySignature(ctx, token)
	return content, a.err
}

// check checks the signature, the issuer and the audience of a token, and reads its claims. The error is that of
// Verify.
func (p *Provider) check(ctx context.Context, audience, token string) (*oidc.IDToken, *claims, error) {
	if len(token) > maxToken {
		return nil, nil, invalid(fmt.Errorf("it has %d bytes; at most %d are possible", len(token), maxToken))
	}
	a := &attempt{keys: p.keys}
	// claims.go checks the times, because the library allows no difference between clocks for exp, and five minutes for
	// nbf.
	t, err := oidc.NewVerifier(p.cfg.Issuer, a, &oidc.Config{
		ClientID: audience, SupportedSigningAlgs: algorithmNames(), SkipExpiryCheck: true,
	}).Verify(ctx, token)
	if unreachable, ok := errors.AsType[*errs.Error](a.err); ok {
		return nil, nil, unreachable
	}
	if err != nil {
		return nil, nil, invalid(err)
	}
	c, err := p.read(t)
	if err != nil {
		return nil, nil, invalid(err)
	}
	return t, c, nil
}

// Verify returns the name of the person whom a token is about, with PersonPrefix, and what the token says. The error is
// UserPasswordMismatch with status 401 if the token is not valid, and ShardNotReady if the provider cannot be reached.
func (p *Provider) Verify(ctx context.Context, token string) (name string, who *access.Person, err error) {
	key, now := sha256.Sum256([]byte(token)), p.cfg.Now()
	p.mu.Lock()
	v, found := p.remembered.Get(key)
	p.mu.Unlock()
	if found && now.Sub(v.at) < rememberFor && now.Before(v.who.Until) {
		return v.name, v.who, nil
	}
	_, c, err := p.check(ctx, p.cfg.Audience, token)
	if err == nil {
		err = c.current(now, p.cfg.MaxAge)
	}
	if err != nil {
		return "", nil, err
	}
	who = &access.Person{Groups: c.groups, Until: c.until(p.cfg.MaxAge)}
	weight := int64(len(token)) // more than the claims in it
	p.mu.Lock()
	p.remembered.Put(key, verified{c.name, who, now}, weight)
	p.mu.Unlock()
	return c.name, who, nil
}

func invalid(why error) error {
	return errs.New(errs.UserPasswordMismatch, "the token of the OIDC provider is not valid: %s", cut(why)).
		WithStatus(http.StatusUnauthorized)
}

// cut returns the text of an error, shortened, because it may contain an answer of the provider or a part of a token.
func cut(err error) string {
	const most = 300
	s := err.Error()
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.ToValidUTF8(s, "")
}
