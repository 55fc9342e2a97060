package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"sync"
	"time"

	"cordwood/proto/lru"
)

// What is remembered of slow checks that ended well.
const (
	maxRemembered = 10_000
	rememberIdle  = 10 * time.Minute
	rememberMost  = 12 * time.Hour
)

// digest is a hash of a user's credentials.
type digest [sha256.Size]byte

// remembered keeps which credentials were right, so that a slow check is made once and not
// for each request. Wrong ones are not kept: they would push out the right ones. Its keys
// are digests under a secret of this process, so passwords can be read neither from a dump
// of memory nor from the time that a look-up takes.
type remembered struct {
	secret [sha256.Size]byte
	now    func() time.Time

	mu   sync.Mutex // guards kept
	kept *lru.Cache[digest, *memory]
}

type memory struct{ since, used time.Time }

func newRemembered(now func() time.Time) *remembered {
	r := &remembered{now: now, kept: lru.New[digest, *memory](maxRemembered)}
	_, _ = rand.Read(r.secret[:]) // never fails
	return r
}

// key returns the digest of credentials. version changes with the user's password, so what was
// remembered of an earlier one is never found again.
func (r *remembered) key(user string, version uint64, password string) (k digest) {
	m := hmac.New(sha256.New, r.secret[:])
	var n [16]byte
	binary.LittleEndian.PutUint64(n[:8], uint64(len(user)))
	binary.LittleEndian.PutUint64(n[8:], version)
	m.Write(n[:])
	m.Write([]byte(user))
	m.Write([]byte(password))
	m.Sum(k[:0])
	return k
}

// has reports whether the credentials were right not long ago.
func (r *remembered) has(k digest) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, ok := r.kept.Get(k)
	if !ok {
		return false
	}
	now := r.now()
	if now.Sub(m.used) > rememberIdle || now.Sub(m.since) > rememberMost {
		r.kept.Remove(k)
		return false
	}
	m.used = now
	return true
}

// put remembers credentials that were right, and forgets the ones not used for longest if there
// are too many.
func (r *remembered) put(k digest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	r.kept.Put(k, &memory{now, now}, 1)
}
