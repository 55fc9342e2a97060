package node

import (
	"fmt"
	"net/http"

	"cordwood/router/httpapi/browser"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/peer"
)

// validateHTTP reports the faults of whom the user port and that of the administrator trust.
func (c *Config) validateHTTP(bad func(format string, args ...any)) {
	if _, err := peer.Parse(c.HTTP.TrustedProxies); err != nil {
		bad("--trusted-proxies %w", err)
	}
	if c.HTTP.ProxyProtocol && len(c.HTTP.TrustedProxies) == 0 {
		bad("--proxy-protocol needs --trusted-proxies: from nobody else such headers are taken")
	}
	for _, name := range c.HTTP.Hosts {
		if err := browser.ParseHost(name); err != nil {
			bad("--http-hosts %q: %w", name, err)
		}
	}
	for _, origin := range c.HTTP.CORSAllowedOrigins {
		if _, err := browser.ParseOrigin(origin); err != nil {
			bad("--http-cors-allowed-origins %q: %w", origin, err)
		}
	}
}

// openRules makes the rules by which the ports answer browsers: that of users, which knows
// some or not, and that of the administrator, which never does.
func (n *node) openRules(users bool) (err error) {
	if n.proxies, err = peer.Parse(n.cfg.HTTP.TrustedProxies); err != nil {
		return fmt.Errorf("--trusted-proxies %w", err)
	}
	n.browsers, err = browser.New(browser.Config{Users: users, Hosts: n.cfg.HTTP.Hosts, Origins: n.cfg.HTTP.CORSAllowedOrigins})
	if err == nil {
		n.adminBrowsers, err = browser.New(browser.Config{Hosts: n.cfg.HTTP.Hosts})
	}
	if err != nil {
		return fmt.Errorf("rules for browsers: %w", err)
	}
	return nil
}

// guard has h answer only what the rules let through.
func (n *node) guard(rules *browser.Rules, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := rules.Check(r, n.proxies.Address(r), n.proxies.Secure(r)); err != nil {
			exchange.WriteError(w, r, err)
			return
		}
		h.ServeHTTP(w, r)
	})
}
