package oidc

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"cordwood/proto/errs"
)

const (
	// unknownKeyWait is the time between two attempts because of tokens with unknown keys, and noKeysWait while no key
	// is known.
	unknownKeyWait = time.Minute
	noKeysWait     = 5 * time.Second
	// refreshAfter is the age of keys at which they are fetched again, so that keys that the provider has withdrawn are
	// forgotten.
	refreshAfter = 15 * time.Minute
	// maxKeys is the maximum number of keys that are used, and minRSA and maxRSA the number of bits of RSA keys.
	maxKeys        = 100
	minRSA, maxRSA = 2048, 8192
)

// algorithms are the signature algorithms that are accepted: with public keys only.
func algorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.EdDSA}
}

func algorithmNames() (out []string) {
	for _, a := range algorithms() {
		out = append(out, string(a))
	}
	return out
}

// endpoints has what the provider says about itself.
type endpoints struct {
	*oidc.Provider
	jwks   string
	scopes []string
}

// keys has the keys of the provider. It implements oidc.KeySet.
type keys struct {
	issuer string
	client *http.Client
	now    func() time.Time

	mu      sync.Mutex // guards the fields below
	found   *endpoints
	list    []jose.JSONWebKey
	fetched time.Time // when list was fetched
	tried   time.Time // when the last attempt to fetch keys began
	failure error     // of the last attempt
	running chan struct{}
}

func newKeys(issuer string, client *http.Client, now func() time.Time) *keys {
	return &keys{issuer: issuer, client: client, now: now}
}

// VerifySignature implements oidc.KeySet: it returns the content of a token that one of the keys has signed.
func (k *keys) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	jws, err := jose.ParseSignedCompact(token, algorithms())
	if err != nil {
		return nil, errors.New("it is malformed, or has another algorithm than RS256, ES256 or EdDSA")
	}
	header := jws.Signatures[0].Header
	list, err := k.matching(ctx, header.KeyID)
	if err != nil {
		return nil, err
	}
	for _, key := range list {
		if key.Algorithm != "" && key.Algorithm != header.Algorithm {
			continue
		}
		if content, err := jws.Verify(key.Key); err == nil {
			return content, nil
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("the provider has no key %.100q", header.KeyID)
	}
	return nil, errors.New("its signature is wrong")
}

// matching returns the keys with an id, or all keys if the id is empty. If there is none, it asks the provider.
func (k *keys) matching(ctx context.Context, id string) ([]jose.JSONWebKey, error) {
	k.mu.Lock()
	list, now := k.withID(id), k.now()
	var wait chan struct{}
	switch since := now.Sub(k.tried); {
	case len(list) == 0 && k.running != nil:
		wait = k.running
	case len(list) == 0 && len(k.list) == 0 && since >= noKeysWait, len(list) == 0 && since >= unknownKeyWait:
		wait = k.fetch(now)
	case k.running == nil && now.Sub(k.fetched) >= refreshAfter && since >= unknownKeyWait:
		k.fetch(now) // in the background: known keys go on
	}
	failure, known := k.failure, len(k.list) > 0
	k.mu.Unlock()
	if wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, errs.Wrap(errs.ContextCode(ctx.Err()), ctx.Err(), "waiting for the keys of the OIDC provider")
		}
		k.mu.Lock()
		list, failure, known = k.withID(id), k.failure, len(k.list) > 0
		k.mu.Unlock()
	}
	if len(list) == 0 && !known && failure != nil {
		return nil, k.unreachable(failure)
	}
	return list, nil
}

// unreachable returns the error while nothing is known about the provider.
func (k *keys) unreachable(why error) *errs.Error {
	return errs.New(errs.ShardNotReady, "the OIDC provider %s cannot be used, so its tokens cannot be checked: %s",
		k.issuer, cut(why)).WithRetryAfter(noKeysWait)
}

// withID returns the keys with an id, or all keys if the id is empty. mu must be held.
func (k *keys) withID(id string) []jose.JSONWebKey {
	if id == "" {
		return k.list
	}
	for i := range k.list {
		if k.list[i].KeyID == id {
			return k.list[i : i+1]
		}
	}
	return nil
}

// fetch starts an attempt to fetch the keys, and returns a channel that is closed at its end. mu must be held.
func (k *keys) fetch(now time.Time) chan struct{} {
	done := make(chan struct{})
	k.tried, k.running = now, done
	found := k.found
	go func() {
		// The attempt serves all requests that wait for it, so it does not end with one of them.
		ctx, cancel := context.WithTimeout(context.Background(), answerTime)
		defer cancel()
		list, err := []jose.JSONWebKey(nil), error(nil)
		if found == nil {
			found, err = k.discover(ctx)
		}
		if err == nil {
			list, err = k.download(ctx, found.jwks)
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		k.failure, k.running = err, nil
		if err == nil {
			k.list, k.fetched = list, k.now()
		}
		if found != nil {
			k.found = found
		}
		close(done)
	}()
	return done
}

// endpoints returns what the provider says about itself.
func (k *keys) endpoints(ctx context.Context) (*endpoints, error) {
	k.mu.Lock()
	found, wait := k.found, k.running
	if found == nil && wait == nil && k.now().Sub(k.tried) >= noKeysWait {
		wait = k.fetch(k.now())
	}
	failure := k.failure
	k.mu.Unlock()
	if found == nil && wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, errs.Wrap(errs.ContextCode(ctx.Err()), ctx.Err(), "waiting for the OIDC provider")
		}
		k.mu.Lock()
		found, failure = k.found, k.failure
		k.mu.Unlock()
	}
	if found == nil {
		return nil, k.unreachable(failure)
	}
	return found, nil
}

// discover asks the provider about itself.
func (k *keys) discover(ctx context.Context) (*endpoints, error) {
	p, err := oidc.NewProvider(oidc.ClientContext(ctx, k.client), k.issuer)
	if err != nil {
		return nil, err
	}
	var more struct {
		JWKS   string   `json:"jwks_uri"`
		Scopes []string `json:"scopes_supported"`
	}
	if err := p.Claims(&more); err != nil {
		return nil, fmt.Errorf("read what the provider says about itself: %w", err)
	}
	for _, u := range []string{more.JWKS, p.Endpoint().AuthURL, p.Endpoint().TokenURL} {
		if err := checkURL(u); err != nil {
			return nil, fmt.Errorf("an address that the provider names: %w", err)
		}
	}
	return &endpoints{p, more.JWKS, more.Scopes}, nil
}

// download fetches the keys that can verify signatures. Others, such as secret keys, are left out.
func (k *keys) download(ctx context.Context, from string) ([]jose.JSONWebKey, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	resp, err := k.client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("fetch keys: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("fetch keys from %s: the status is %d", from, resp.StatusCode)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("fetch keys from %s: %w", from, err)
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("keys from %s: %w", from, err)
	}
	var list []jose.JSONWebKey
	for _, one := range set.Keys {
		var key jose.JSONWebKey
		if json.Unmarshal(one, &key) == nil && usable(&key) && len(list) < maxKeys {
			list = append(list, key)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("keys from %s: none of %d can verify signatures with RS256, ES256 or EdDSA", from,
			len(set.Keys))
	}
	return list, nil
}

// usable reports whether a key verifies signatures of one of the algorithms.
func usable(key *jose.JSONWebKey) bool {
	if key.Use != "" && key.Use != "sig" {
		return false
	}
	switch k := key.Key.(type) {
	case *rsa.PublicKey:
		n := k.N.BitLen()
		return n >= minRSA && n <= maxRSA
	case *ecdsa.PublicKey:
		return k.Curve == elliptic.P256()
	case ed25519.PublicKey:
		return len(k) == ed25519.PublicKeySize
	}
	return false
}
