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

// The limits of remembered slow checks that succeeded.
const (
	maxRemembered = 10_000
	rememberIdle  = 10 * time.Minute
	rememberMost  = 12 * time.Hour
)

// digest is a hash of a user's credentials.
type digest [sha256.Size]byte

// remembered stores credentials that were right, so that each is checked slowly only once and not for each request.
// Wrong credentials are not stored, because they would displace right ones. The keys are digests with a secret of
// this process. So passwords cannot be read from a memory dump, nor guessed from the time of a look-up.
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

// key returns the digest of credentials. version changes with the user's password, so results for an earlier
// password are never found again.
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

// has reports whether the credentials were right recently.
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

// put stores credentials that were right. If there are too many, it removes the least recently used ones.
func (r *remembered) put(k digest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	r.kept.Put(k, &memory{now, now}, 1)
}
