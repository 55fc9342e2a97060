package pgwire

import (
	"net/netip"
	"sync"
	"time"

	"cordwood/router/access"
)

// The limits for wrong cancel keys: requests from one address in a minute, and addresses that are remembered.
const (
	maxWrongKeys      = 100
	maxWrongAddresses = 10_000
)

// wrongKeys counts cancel requests with a wrong key, so that keys cannot be guessed.
type wrongKeys struct {
	mu    sync.Mutex // guards the fields below
	since time.Time
	count map[netip.Addr]int
}

// tooMany reports whether requests from an address are to be ignored until the minute ends.
func (w *wrongKeys) tooMany(from netip.Addr) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count[access.Network(from)] >= maxWrongKeys && time.Since(w.since) < time.Minute
}

func (w *wrongKeys) add(from netip.Addr) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.since) >= time.Minute || len(w.count) >= maxWrongAddresses {
		w.since, w.count = time.Now(), map[netip.Addr]int{}
	}
	w.count[access.Network(from)]++
}
