package auth

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"sync"
)

const (
	// maxCached bounds the results that are kept, right and wrong passwords alike.
	maxCached = 4096
	// maxChecks bounds the slow checks that run at once, so that wrong passwords cannot
	// take all processors.
	maxChecks = 2
)

// cache keeps the results of slow checks. Its keys are digests of user and password
// under a secret of this process, so neither can be read from memory dumps of the map,
// nor learnt from the time that a look-up takes.
type cache struct {
	secret [sha256.Size]byte
	checks chan struct{}

	mu      sync.Mutex // guards results
	results map[[sha256.Size]byte]bool
}

func newCache() *cache {
	c := &cache{results: map[[sha256.Size]byte]bool{}, checks: make(chan struct{}, maxChecks)}
	_, _ = rand.Read(c.secret[:]) // never fails
	return c
}

func (c *cache) key(user, password string) (k [sha256.Size]byte) {
	m := hmac.New(sha256.New, c.secret[:])
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], uint64(len(user)))
	m.Write(n[:])
	m.Write([]byte(user))
	m.Write([]byte(password))
	m.Sum(k[:0])
	return k
}

func (c *cache) get(k [sha256.Size]byte) (result, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	result, found = c.results[k]
	return result, found
}

// put keeps a result; a full cache loses any other one for it.
func (c *cache) put(k [sha256.Size]byte, result bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.results) >= maxCached {
		for other := range c.results {
			delete(c.results, other)
			break
		}
	}
	c.results[k] = result
}

// verify tells whether the password is u's. The error is that of ctx.
func (l *userList) verify(ctx context.Context, u *user, password string) (bool, error) {
	if !u.password.slow() {
		return u.password.matches(password), nil
	}
	c := l.cache
	k := c.key(u.sender.User, password)
	if result, found := c.get(k); found {
		return result, nil
	}
	select {
	case c.checks <- struct{}{}:
		defer func() { <-c.checks }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	if result, found := c.get(k); found { // found while we waited
		return result, nil
	}
	result := u.password.matches(password)
	c.put(k, result)
	return result, nil
}
