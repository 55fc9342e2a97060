package node

import (
	"fmt"
	"net/http"

	"cordwood/router/httpapi/auth"
	"cordwood/router/httpapi/browser"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/peer"
)

// front is the ports for users: their users, and their answers while there is no router.
type front struct {
	*readiness
	users   *httpServer
	usersV1 *httpServer // nil if off
	// listeners are the ports of their own for protocols of other systems.
	listeners []*listener
	// sockets are the ports for protocols without HTTP.
	sockets []*socket
	// userList has the users of the ports for users; nil: every client is admitted.
	userList *auth.Provider
	// postgres is the port for clients of PostgreSQL; nil: there is none.
	postgres *postgres
	// proxies and browsers are whom the port for users trusts, adminBrowsers are whom the port of
	// the administrator trusts.
	proxies                 peer.Proxies
	browsers, adminBrowsers *browser.Rules
}

// openRules makes the rules by which the ports answer browsers: the port for users, which may know
// some users, and the port for the administrator, which never does.
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

// guard has h answer only what the rules let through.
func (n *front) guard(rules *browser.Rules, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := rules.Check(r, n.proxies.Address(r), n.proxies.Secure(r)); err != nil {
			exchange.WriteError(w, r, err)
			return
		}
		h.ServeHTTP(w, r)
	})
}
