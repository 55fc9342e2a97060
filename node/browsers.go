package node

import (
	"fmt"
	"net/http"

	"cordwood/router/access/oidc"
	"cordwood/router/httpapi/auth"
	"cordwood/router/httpapi/browser"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/peer"
)

// front contains the ports for users, and what they share: authentication, browser rules, and the answers until the
// router exists.
type front struct {
	*readiness
	auditing
	users   *httpServer
	usersV1 *httpServer // nil if off
	// listeners are the separate ports for protocols of other systems.
	listeners []*listener
	// sockets are the ports for protocols without HTTP.
	sockets []*socket
	// userList authenticates on the ports for users; nil if every client is admitted.
	userList *auth.Provider
	// oidc is the OpenID Connect provider; nil if there is none.
	oidc *oidc.Provider
	// adminVerifier is the verifier of the password of the administrator to create; empty without --bootstrap-admin.
	adminVerifier string
	// bootstrapFile is the file with the token for the first administrator; empty if there is none. ownKey is the key of
	// the token on a node without a secret of the cluster; nil if it has made none.
	bootstrapFile string
	ownKey        []byte
	// postgres is the port for PostgreSQL clients; nil if it is off.
	postgres *postgres
	// proxies and browsers are the trusted proxies and the browser rules of the port for users. adminBrowsers are the
	// browser rules of the administrator's port.
	proxies                 peer.Proxies
	browsers, adminBrowsers *browser.Rules
}

// openRules creates the browser rules of the port for users, which may authenticate, and of the port for
// administrators, which never does.
func (n *front) openRules(users bool) (err error) {
	if n.proxies, err = peer.Parse(n.cfg.HTTP.TrustedProxies); err != nil {
		return fmt.Errorf("--trusted-proxies %w", err)
	}
	n.browsers, err = browser.New(browser.Config{
		Users: users, Hosts: n.cfg.HTTP.Hosts, Origins: n.cfg.HTTP.CORSAllowedOrigins,
	})
	if err == nil {
		n.adminBrowsers, err = browser.New(browser.Config{Hosts: n.cfg.HTTP.Hosts})
	}
	if err != nil {
		return fmt.Errorf("rules for browsers: %w", err)
	}
	return nil
}

// guard returns a handler that passes requests to h only if the rules allow them.
func (n *front) guard(rules *browser.Rules, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		browser.KeepFromPages(w.Header())
		if err := rules.Check(r, n.proxies.Address(r), n.proxies.Secure(r)); err != nil {
			exchange.WriteError(w, r, err)
			return
		}
		h.ServeHTTP(w, r)
	})
}
