package ingest

import (
	"sync"
	"time"

	"github.com/zeebo/xxh3"

	"cordwood/router/access"
)

const (
	// repeatedWithin is the time for which a body is remembered, to count repeated bodies.
	repeatedWithin = 2 * time.Minute
	// maxBodies limits the number of bodies that are remembered.
	maxBodies = 10_000
	// samples and sampleBytes are the number and size of the parts that identify a long body.
	samples     = 32
	sampleBytes = 1 << 10
)

// bodies remembers recent bodies. If a protocol has no keys, the second of two equal bodies may have been sent again
// because the answer was lost.
type bodies struct {
	mu  sync.Mutex // guards the fields below
	now map[bodyOf]struct{}
	// last has the bodies of the previous period. So each body is remembered for between one half of repeatedWithin
	// and all of it.
	last  map[bodyOf]struct{}
	since time.Time
}

type bodyOf struct {
	protocol Protocol
	sender   string
	hash     uint64
}

// again records a body, and reports whether it was sent recently.
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

// hashOf returns a hash that identifies a body. A long body is identified by its length and by samples at equal
// distances, from the first byte to the last, because reading all of it took 2 % of the time of a bulk request.
// Two different bodies with the same samples count as equal, which only affects a metric.
func hashOf(data []byte) uint64 {
	if len(data) <= 2*samples*sampleBytes {
		return xxh3.Hash(data)
	}
	hash := uint64(len(data))
	for i := range samples {
		at := (len(data) - sampleBytes) / (samples - 1) * i
		if i == samples-1 {
			at = len(data) - sampleBytes
		}
		hash = xxh3.HashSeed(data[at:at+sampleBytes], hash)
	}
	return hash
}

// NoteBody counts a body that the same sender sent recently.
func (s *Service) NoteBody(p Protocol, caller *access.Caller, data []byte) {
	if len(data) > 0 && s.bodies.again(bodyOf{p, caller.Share(), hashOf(data)}, time.Now()) {
		s.metrics.repeated.WithLabelValues(string(p)).Inc()
	}
}
