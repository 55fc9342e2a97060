// Package browser decides whether to answer a request that a web browser may have sent. A page of another site must
// not send requests to a server that only its reader can reach, and must not read its answers. There are two rules.
//
// A page may only use a server of its own origin, or a server that allows the page's origin. Browsers mark requests
// of pages with Origin and Sec-Fetch-Site, which pages cannot change.
//
// A server without users only answers requests that name it by a known host name. With DNS rebinding, a page can
// make the name of its own site resolve to the address of any server, and then has the same origin as that server.
// But it cannot change the Host header, which contains the name.
//
// The package knows nothing of routes, users and proxies. Rules may be used concurrently.
package browser

import (
	"errors"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"

	"cordwood/proto/errs"
)

// Config has the settings of Rules.
type Config struct {
	// Users is set if requests need a user's password, which pages of other sites do not have. Then Host is not
	// checked.
	Users bool
	// Hosts are the names by which clients may address the server, besides the machine's own name. See ParseHost. The
	// default value is none.
	Hosts []string
	// Hostname is the name of the machine. By default os.Hostname returns it.
	Hostname string
	// Origins are the origins whose pages may use the server. See ParseOrigin. The
	// default value is none.
	Origins []string
}

// Rules decides which requests are answered. See the package comment.
type Rules struct {
	users   bool
	hosts   []host
	origins map[string]bool
	cross   *http.CrossOriginProtection
}

// New returns the rules of a server.
func New(cfg Config) (*Rules, error) {
	p := &Rules{users: cfg.Users, origins: map[string]bool{}, cross: http.NewCrossOriginProtection()}
	if cfg.Hostname == "" {
		cfg.Hostname, _ = os.Hostname() // if the machine has no name, no name is allowed
	}
	if name := strings.ToLower(strings.TrimSuffix(cfg.Hostname, ".")); name != "" {
		short, _, _ := strings.Cut(name, ".")
		p.hosts = append(p.hosts, host{name: name}, host{name: short}) // the names are the same if there is no dot
	}
	for _, text := range cfg.Hosts {
		h, err := parseHost(text)
		if err != nil {
			return nil, err
		}
		p.hosts = append(p.hosts, h)
	}
	for _, text := range cfg.Origins {
		origin, err := ParseOrigin(text)
		if err != nil {
			return nil, err
		}
		if err := p.cross.AddTrustedOrigin(origin); err != nil {
			return nil, err
		}
		p.origins[origin] = true
	}
	return p, nil
}

// Check returns an error of status 421 or 403 if the request must not be answered. client is the address of the
// client. secure is set if the request certainly arrived over TLS.
func (p *Rules) Check(r *http.Request, client netip.Addr, secure bool) error {
	if !p.users && (local(client) || marked(r)) && !p.knows(r.Host) {
		name := clip(hostName(r.Host))
		return errs.New(errs.PermissionDenied,
			"%q is not a name of this server: without users it answers browsers, and clients on its own machine, "+
				"that address it "+
				"by an IP address, localhost, the machine's name or one of --http-hosts; start it with --http-hosts=%s if "+
				"that is its name",
			name, name).WithStatus(http.StatusMisdirectedRequest)
	}
	if origin, foreign := p.foreign(r, secure); foreign {
		return errs.New(errs.PermissionDenied,
			"the request comes from a page of another site (origin %s, host %q): "+
				"add its origin to --http-cors-allowed-origins to allow it; a proxy in between must pass on the header Host",
			clip(origin), clip(r.Host)).WithStatus(http.StatusForbidden)
	}
	return nil
}

// KeepFromPages sets the headers with which browsers do not let pages of other sites load an answer as a script, a
// style sheet or an image. Over plain HTTP, such requests do not name the site that they come from, so Check accepts
// them. Pages of listed origins fetch answers by CORS, which these headers do not concern.
func KeepFromPages(h http.Header) {
	h["X-Content-Type-Options"], h["Cross-Origin-Resource-Policy"] = noSniff, sameOriginOnly
}

// The values of headers that all answers share. Code that adds a value to one of them gets a copy.
var noSniff, sameOriginOnly = []string{"nosniff"}, []string{"same-origin"}

// Origins returns the origins whose pages may use the server, in the form in which browsers send them.
func (p *Rules) Origins() []string { return slices.Sorted(maps.Keys(p.origins)) }

// foreign reports whether a page of another origin sent the request, and which origin that is.
func (p *Rules) foreign(r *http.Request, secure bool) (origin string, foreign bool) {
	if len(r.Header["Origin"]) == 0 && len(r.Header["Sec-Fetch-Site"]) == 0 {
		return "", false // no page sent it: cross.Check accepts such requests too
	}
	site := r.Header.Get("Sec-Fetch-Site")
	for _, o := range r.Header["Origin"] {
		if !p.origins[o] && site != "same-origin" && !sameOrigin(o, r.Host, secure) {
			return o, true
		}
		origin = o
	}
	if origin == "" && (site == "cross-site" || site == "same-site") {
		// Any site may link to this server. But images, scripts and other resources that a page of another site loads
		// without an Origin would only cost the server time. So only requests that are marked as something other than
		// navigation are refused.
		mode := r.Header.Get("Sec-Fetch-Mode")
		if origin = "not named"; mode != "" && mode != "navigate" {
			return origin, true
		}
	}
	return origin, p.cross.Check(r) != nil
}

// sameOrigin reports whether origin is the origin of a server with the name host. The scheme is compared only if it
// is known, because a server without TLS may be behind a proxy with TLS.
func sameOrigin(origin, host string, secure bool) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || secure && u.Scheme != "https" {
		return false
	}
	return strings.EqualFold(u.Host, host)
}

// marked reports whether a browser may have sent the request. Over plain HTTP, browsers mark a GET only by their
// User-Agent.
func marked(r *http.Request) bool {
	return len(r.Header["Origin"]) > 0 || len(r.Header["Sec-Fetch-Site"]) > 0 ||
		strings.HasPrefix(r.Header.Get("User-Agent"), "Mozilla/")
}

// local reports whether the client is on this machine. A client without an address is local.
func local(client netip.Addr) bool { return !client.IsValid() || client.IsLoopback() }

// knows reports whether a server without users accepts the name in the Host header. Browsers always send this
// header.
func (p *Rules) knows(header string) bool {
	if header == "" {
		return true
	}
	name := hostName(header)
	if name == "localhost" {
		return true
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	for _, h := range p.hosts {
		if h.matches(name) {
			return true
		}
	}
	return false
}

// hostName returns the name or address in a Host header in lower case, without the port, the brackets of IPv6 and
// the dot of the root domain. A malformed header is returned unchanged and matches no name.
func hostName(header string) string {
	name := header
	if h, port, err := net.SplitHostPort(header); err == nil {
		if strings.Trim(port, "0123456789") != "" {
			return header
		}
		name = h
		if strings.Contains(h, ":") != strings.HasPrefix(header, "[") {
			return header
		}
	} else if strings.HasPrefix(header, "[") && strings.HasSuffix(header, "]") {
		if name = header[1 : len(header)-1]; !strings.Contains(name, ":") {
			return header
		}
	}
	return strings.ToLower(strings.TrimSuffix(name, "."))
}

// clip shortens a client's text for a message.
func clip(text string) string {
	const most = 200
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// host is a name, or all names below a name.
type host struct {
	name  string
	below bool // names that end in .name
	any   bool // all names
}

func (h host) matches(name string) bool {
	if h.below {
		return strings.HasSuffix(name, "."+h.name)
	}
	return h.any || name == h.name
}

// ParseHost checks a host name: logs.example.com, *.example.com for every name below example.com, or * for every
// name.
func ParseHost(text string) error {
	_, err := parseHost(text)
	return err
}

var errHost = errors.New("want a name such as logs.example.com, *.example.com for all names below it, or * for any, " +
	"in ASCII and without a port")

func parseHost(text string) (host, error) {
	name := strings.ToLower(strings.TrimSpace(text))
	if name == "*" {
		return host{any: true}, nil
	}
	name, below := strings.CutPrefix(strings.TrimSuffix(name, "."), "*.")
	if !below {
		if a, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
			return host{name: a.String()}, nil // not needed, but allowed
		}
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return host{}, errHost
		}
	}
	return host{name: name, below: below}, nil
}

// ParseOrigin returns an origin, such as https://grafana.example.com, as browsers send it: in lower case, and
// without the default port of its scheme.
func ParseOrigin(text string) (string, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Host == "" || u.Host[0] == ':' || strings.Contains(u.Host, "*") ||
		strings.TrimSuffix(text, "/") != u.Scheme+"://"+u.Host {
		return "", errors.New("want an origin, SCHEME://HOST or SCHEME://HOST:PORT, such as https://grafana.example.com")
	}
	if port := u.Port(); u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" {
		u.Host = strings.TrimSuffix(u.Host, ":"+port)
	}
	return u.Scheme + "://" + u.Host, nil
}
