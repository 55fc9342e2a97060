package pgwire

import (
	"net/netip"
	"sync"
	"time"

	"cordwood/router/access"
)

// The bounds of wrong keys to cancel statements: of an address in a minute, and of addresses that are remembered.
const (
	maxWrongKeys      = 100
	maxWrongAddresses = 10_000
)

// wrongKeys counts requests to cancel whose key was wrong, so that keys cannot be guessed.
type wrongKeys struct {
	mu    sync.Mutex // guards what follows
	since time.Time
	count map[netip.Addr]int
}

// tooMany reports whether requests of an address are not looked at until the minute ends.
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
