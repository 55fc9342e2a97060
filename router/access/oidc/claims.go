package oidc

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"cordwood/proto/rights"
)

// claims is what a token says.
type claims struct {
	name   string // with rights.PersonPrefix
	groups []string
	// party is the client for which the token was made, or empty.
	party                      string
	issued, expires, notBefore time.Time
}

// read reads the claims of a token whose signature, issuer and audience are right.
func (p *Provider) read(t *oidc.IDToken) (*claims, error) {
	var all map[string]json.RawMessage
	if err := t.Claims(&all); err != nil {
		return nil, fmt.Errorf("its claims cannot be read: %w", err)
	}
	if all["events"] != nil {
		return nil, errors.New("it reports an event, such as a sign-out, and is not for signing in")
	}
	c := &claims{issued: t.IssuedAt, expires: t.Expiry}
	if raw := all["nbf"]; raw != nil {
		var seconds float64
		if json.Unmarshal(raw, &seconds) != nil || seconds < 0 || seconds > 1<<40 {
			return nil, errors.New("the claim nbf is not a time")
		}
		c.notBefore = time.Unix(int64(seconds), 0)
	}
	_ = json.Unmarshal(all["azp"], &c.party) // it is optional
	var err error
	if c.name, err = p.nameIn(all); err != nil {
		return nil, err
	}
	c.groups, err = groupsIn(all[p.cfg.GroupsClaim], p.cfg.GroupsClaim)
	return c, err
}

// nameIn returns the name of the person.
func (p *Provider) nameIn(all map[string]json.RawMessage) (string, error) {
	claim := p.cfg.UserClaim
	var name string
	if json.Unmarshal(all[claim], &name) != nil || name == "" {
		return "", fmt.Errorf("it has no text in the claim %s (--oidc-user-claim)", claim)
	}
	if raw := all["email_verified"]; claim == "email" && raw != nil {
		// Anybody could claim the address of another person otherwise. Some providers write a text.
		if text := string(raw); text != "true" && text != `"true"` {
			return "", errors.New("the provider has not verified the e-mail address in it")
		}
	}
	name = rights.PersonPrefix + name
	return name, rights.CheckPersonName(name)
}

// groupsIn reads the groups of a person: a list of texts, or one text.
func groupsIn(raw json.RawMessage, claim string) (groups []string, err error) {
	if raw == nil || string(raw) == "null" {
		return nil, nil
	}
	if json.Unmarshal(raw, &groups) == nil {
		return groups, nil
	}
	var one string
	if json.Unmarshal(raw, &one) != nil {
		return nil, fmt.Errorf("the claim %s is not a list of texts (--oidc-groups-claim)", claim)
	}
	return []string{one}, nil
}

// current returns an error with status 401 if the claims do not count at a time, or if they were made too long before.
func (c *claims) current(now time.Time, most time.Duration) error {
	switch {
	case c.expires.IsZero() || c.expires.Unix() <= 0:
		return invalid(errors.New("it has no time in the claim exp"))
	case !now.Before(c.expires.Add(skew)):
		return invalid(fmt.Errorf("it expired at %s", c.expires.UTC().Format(time.RFC3339)))
	case now.Add(skew).Before(c.notBefore):
		return invalid(fmt.Errorf("it is not valid before %s", c.notBefore.UTC().Format(time.RFC3339)))
	}
	return c.fresh(now, most)
}

// fresh returns an error with status 401 if the claims were made too long before a time, or after it.
func (c *claims) fresh(now time.Time, most time.Duration) error {
	issued := c.issued.UTC().Format(time.RFC3339)
	switch {
	case c.issued.IsZero() || c.issued.Unix() <= 0:
		return invalid(errors.New("it has no time in the claim iat"))
	case now.Add(skew).Before(c.issued):
		return invalid(fmt.Errorf("it was issued at %s, which is in the future", issued))
	case !now.Before(c.issued.Add(most + skew)):
		return invalid(fmt.Errorf("it was issued at %s, and its groups count for %s (--oidc-max-age): get a new one", issued,
			most))
	}
	return nil
}

// until returns when the claims do not count any more.
func (c *claims) until(most time.Duration) time.Time {
	at := c.issued.Add(most)
	if c.expires.Before(at) {
		at = c.expires
	}
	return at.Add(skew)
}
