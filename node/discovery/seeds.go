package discovery

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"slices"
	"strings"
	"time"
)

// dnsSeed is the prefix of a seed that is a DNS name. All addresses of the name are seeds.
const dnsSeed = "dns:"

// CheckSeed returns an error unless a seed is HOST:PORT or dns:NAME:PORT.
func CheckSeed(seed string) error {
	host, port, err := net.SplitHostPort(strings.TrimPrefix(seed, dnsSeed))
	if err != nil || host == "" || port == "" {
		return fmt.Errorf("%q: want HOST:PORT, or dns:NAME:PORT for all addresses of a name", seed)
	}
	return nil
}

// resolve lists the addresses of the seeds without duplicates, and the seeds that have no address
// now, with the reason.
func (d *Discovery) resolve(ctx context.Context) (addrs, faults []string) {
	for _, seed := range d.cfg.Seeds {
		name, ok := strings.CutPrefix(seed, dnsSeed)
		if !ok {
			addrs = append(addrs, seed)
			continue
		}
		host, port, err := net.SplitHostPort(name)
		var found []string
		if err == nil {
			found, err = d.cfg.Resolve(ctx, host)
		}
		switch {
		case err != nil:
			faults = append(faults, fmt.Sprintf("%s (%v)", seed, err))
		case len(found) == 0:
			faults = append(faults, fmt.Sprintf("%s (the name has no address)", seed))
		}
		for _, ip := range found {
			addr := net.JoinHostPort(ip, port)
			addrs = append(addrs, addr)
			d.mu.Lock()
			d.names[addr] = host
			d.mu.Unlock()
		}
	}
	slices.Sort(addrs)
	return slices.Compact(addrs), faults
}

// Try asks each seed for its identity, as a node without an id, which seeds do not record. It yields the seeds that
// do not answer in time.
func (d *Discovery) Try(ctx context.Context, limit time.Duration) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		addrs, faults := d.resolve(ctx)
		for _, fault := range faults {
			if !yield(fault, errors.New("its name has no address")) {
				return
			}
		}
		for _, addr := range addrs {
			if _, err := d.hello(ctx, addr); err != nil && !yield(addr, err) {
				return
			}
		}
	}
}

// nameOf returns the name that was resolved to an address. The certificate at the address must contain this name. It
// is empty if the seed is an address itself.
func (d *Discovery) nameOf(addr string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.names[addr]
}
