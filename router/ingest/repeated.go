package ingest

import (
	"sync"
	"time"

	"github.com/zeebo/xxh3"

	"cordwood/router/access"
)

const (
	// repeatedWithin is how long a body is remembered, to count bodies that come again.
	repeatedWithin = 2 * time.Minute
	// maxBodies bounds the bodies that are remembered.
	maxBodies = 10_000
)

// bodies remembers which bodies came lately. Where a protocol has no keys, equal bodies may be one that was
// sent again because its answer was lost.
type bodies struct {
	mu  sync.Mutex // guards all below
	now map[bodyOf]struct{}
	// last has the bodies of the period before, so that each is remembered for one to two times of repeatedWithin/2.
	last  map[bodyOf]struct{}
	since time.Time
}

type bodyOf struct {
	protocol Protocol
	sender   string
	hash     uint64
}

// again notes a body and reports whether it came lately.
func (b *bodies) again(k bodyOf, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Sub(b.since) > repeatedWithin/2 || len(b.now) >= maxBodies/2 {
		b.last = b.now
		if now.Sub(b.since) > repeatedWithin {
			b.last = nil
		}
		b.now, b.since = map[bodyOf]struct{}{}, now
	}
	_, yes := b.now[k]
	if !yes {
		_, yes = b.last[k]
	}
	b.now[k] = struct{}{}
	return yes
}

// NoteBody counts a body that the same sender sent not long ago.
func (s *Service) NoteBody(p Protocol, caller *access.Caller, data []byte) {
	if len(data) > 0 && s.bodies.again(bodyOf{p, caller.Share(), xxh3.Hash(data)}, time.Now()) {
		s.metrics.repeated.WithLabelValues(string(p)).Inc()
	}
}
