package oidc

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"cordwood/proto/errs"
	"cordwood/router/access"
)

// Attempt is a sign-in that a browser has begun. Its fields except Redirect are random secrets.
type Attempt struct {
	// Redirect is the URL to which the provider sends the browser back.
	Redirect string
	// State comes back from the provider, and Nonce in its token. Verifier proves that the sign-in ends where it began.
	State, Nonce, Verifier string
}

// NewAttempt returns a new sign-in.
func NewAttempt(redirect string) Attempt {
	// Each of the three has 256 random bits.
	return Attempt{redirect, oauth2.GenerateVerifier(), oauth2.GenerateVerifier(), oauth2.GenerateVerifier()}
}

// LoginURL returns the URL at the provider to which a browser is sent.
func (p *Provider) LoginURL(ctx context.Context, a Attempt) (string, error) {
	found, err := p.keys.endpoints(ctx)
	if err != nil {
		return "", err
	}
	c := p.client(found, a)
	return c.AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), nil
}

// client returns this server as a client of the provider. It asks for the scopes that may be needed for the claims, if
// the provider has them.
func (p *Provider) client(found *endpoints, a Attempt) *oauth2.Config {
	scopes := []string{oidc.ScopeOpenID}
	for _, one := range []string{"profile", "email", "groups"} {
		if slices.Contains(found.scopes, one) {
			scopes = append(scopes, one)
		}
	}
	return &oauth2.Config{ClientID: p.cfg.ClientID, Endpoint: found.Endpoint(), RedirectURL: a.Redirect, Scopes: scopes}
}

// Finish exchanges the code that the provider gave to a browser for a token, and returns the name of the person and
// what the token says, which counts for MaxAge. The error is that of Verify.
func (p *Provider) Finish(ctx context.Context, a Attempt, code string) (string, *access.Person, error) {
	found, err := p.keys.endpoints(ctx)
	if err != nil {
		return "", nil, err
	}
	c := p.client(found, a)
	if p.cfg.Secret != nil {
		if c.ClientSecret, err = p.cfg.Secret(); err != nil {
			return "", nil, errs.Wrap(errs.Internal, err, "read the secret of the OIDC provider (--oidc-client-secret-file)")
		}
	}
	answer, err := c.Exchange(oidc.ClientContext(ctx, p.cfg.Client), code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		if refusal, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refusal.Response.StatusCode < 500 {
			return "", nil, invalid(fmt.Errorf("the provider refused the code of the sign-in: %s %.200s", refusal.ErrorCode,
				refusal.ErrorDescription))
		}
		return "", nil, p.keys.unreachable(err)
	}
	raw, _ := answer.Extra("id_token").(string)
	if raw == "" {
		return "", nil, invalid(errors.New("the provider answered without an ID token"))
	}
	t, claims, err := p.check(ctx, p.cfg.ClientID, raw)
	if err != nil {
		return "", nil, err
	}
	now := p.cfg.Now()
	if err := claims.current(now, p.cfg.MaxAge); err != nil {
		return "", nil, err
	}
	switch {
	case subtle.ConstantTimeCompare([]byte(t.Nonce), []byte(a.Nonce)) != 1:
		return "", nil, invalid(errors.New("it belongs to another sign-in"))
	case len(t.Audience) > 1 && claims.party != p.cfg.ClientID:
		return "", nil, invalid(errors.New("it was made for several clients, and not at the request of this one"))
	}
	return claims.name, &access.Person{Groups: claims.groups, Until: claims.issued.Add(p.cfg.MaxAge)}, nil
}
