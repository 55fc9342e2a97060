package node

import (
	"fmt"
	"net/netip"
	"strings"
)

// validateHTTP reports the faults of what the user port trusts.
func (c *Config) validateHTTP(bad func(format string, args ...any)) {
	if _, err := c.HTTP.trustedProxies(); err != nil {
		bad("%w", err)
	}
}

// trustedProxies returns the networks of the proxies whose headers count.
func (c *HTTPConfig) trustedProxies() ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range c.TrustedProxies {
		p, err := parseNetwork(text)
		if err != nil {
			return nil, fmt.Errorf("--trusted-proxies %q: want an address or a network, as 10.1.2.3 or 10.1.0.0/16", text)
		}
		out = append(out, p)
	}
	return out, nil
}

// parseNetwork reads a network, or an address as the network of itself. What is IPv4 in
// IPv6 becomes IPv4, which is how addresses of clients are compared.
func parseNetwork(text string) (netip.Prefix, error) {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "/") {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return netip.Prefix{}, err
		}
		a = a.Unmap().WithZone("")
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	if a := p.Addr(); a.Is4In6() {
		if p.Bits() < 96 {
			return netip.Prefix{}, fmt.Errorf("%s is wider than all of IPv4", text)
		}
		p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
	}
	return p.Masked(), nil
}
