package browser

import (
	"bufio"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"cordwood/proto/errs"
)

var (
	outside  = netip.MustParseAddr("192.0.2.9")
	loopback = netip.MustParseAddr("127.0.0.1")
)

func rules(t testing.TB, users bool) *Rules {
	t.Helper()
	p, err := New(Config{
		Users: users, Hostname: "Box.Example.Org", Hosts: []string{"logs.example.com", "*.corp.example"},
		Origins: []string{"https://grafana.example.com"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// status returns the status that the rules give to a request, or 200 if they allow it.
func status(t testing.TB, p *Rules, r *http.Request, client netip.Addr, secure bool) int {
	t.Helper()
	err := p.Check(r, client, secure)
	if err == nil {
		return http.StatusOK
	}
	e := (*errs.Error)(nil)
	if !errors.As(err, &e) || e.Code != errs.PermissionDenied || len(e.Msg) > 1000 {
		t.Errorf("%v: no error of code 7006", err)
		return 0
	}
	return e.Status()
}

// The headers that a browser adds to requests.
var marks = map[string]string{
	"agent":       "User-Agent: Mozilla/5.0 (X11; Linux x86_64)",
	"same-origin": "Sec-Fetch-Site: same-origin",
	"none":        "Sec-Fetch-Site: none",
}

// TestHost addresses a server by all kinds of names: with and without users, over loopback and other networks, from
// browsers and other clients.
func TestHost(t *testing.T) {
	for header, known := range map[string]bool{
		"": true, "localhost": true, "LocalHost:4000": true, "localhost.": true, "localhost.:4000": true,
		"127.0.0.1": true, "127.0.0.1:4000": true, "127.0.0.1.": true, "10.1.2.3:80": true, "192.0.2.1": true,
		"[::1]": true, "[::1]:4000": true, "[2001:db8::7]:4000": true, "[::ffff:127.0.0.1]:4000": true,
		"box.example.org": true, "BOX.EXAMPLE.ORG:4000": true, "box": true, "box:4000": true,
		"logs.example.com": true, "logs.example.com.:4000": true, "a.corp.example": true, "a.b.corp.example:1": true,
		"evil.example": false, "evil.example:4000": false, "corp.example": false, "notcorp.example": false,
		"localhost.evil.example": false, "127.0.0.1.evil.example": false, "127.0.0.1.nip.io": false, "evil.localhost": false,
		"logs.example.com.evil.example": false, "cordwood": false, "cordwood:4000": false, "box.evil": false,
		"127.1": false, "2130706433": false, "0x7f000001": false, "0177.0.0.1": false,
		"localhost:4000:4000": false, "localhost:http": false, "localhost@evil.example": false,
		"evil.example@localhost": false,
		"[localhost]":            false, "[localhost]:80": false, "[::1": false, "localhost..": false, ".": false,
		":4000": false, "*": false,
	} {
		for _, users := range []bool{false, true} {
			p := rules(t, users)
			for _, client := range []netip.Addr{outside, loopback, netip.MustParseAddr("::1"), {}} {
				for mark, line := range marks {
					for _, method := range []string{"GET", "HEAD", "POST", "DELETE", "OPTIONS"} {
						r := httptest.NewRequest(method, "/", nil)
						r.Host = header
						want := http.StatusOK
						if !users && !known {
							want = http.StatusMisdirectedRequest
						}
						name, value, _ := strings.Cut(line, ": ")
						r.Header.Set(name, value)
						if got := status(t, p, r, client, false); got != want {
							t.Errorf("%s by a browser (%s) for %q from %v, users %v: %d, want %d", method, mark, header, client,
								users, got, want)
						}
						// Clients that are not browsers may use any name, but not over loopback.
						r.Header = http.Header{"User-Agent": {"Fluent-Bit"}, "Sec-Fetch-Mode": {"cors"}}
						if client == outside {
							want = http.StatusOK
						}
						if got := status(t, p, r, client, false); got != want {
							t.Errorf("%s by a shipper for %q from %v, users %v: %d, want %d", method, header, client, users, got, want)
						}
					}
				}
			}
		}
	}
}

// TestTarget checks that the name in the request line takes precedence over the header.
func TestTarget(t *testing.T) {
	for text, want := range map[string]int{
		"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n":      421,
		"GET http://localhost:4000/ HTTP/1.1\r\nHost: evil.example\r\n\r\n": 200,
		"GET http://user@127.0.0.1/ HTTP/1.1\r\nHost: evil.example\r\n\r\n": 200,
		"GET / HTTP/1.0\r\n\r\n":                                                              200,
		"GET / HTTP/1.0\r\nHost: evil.example\r\n\r\n":                                        421,
		"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://evil.example\r\n\r\n":            403,
		"GET http://[::1]:4000/ HTTP/1.1\r\nHost: x\r\nOrigin: http://[::1]:4000\r\n\r\n":     200,
		"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-Host: 127.0.0.1\r\n\r\n":            200,
		"GET / HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: 127.0.0.1\r\n\r\n":         421,
		"GET / HTTP/1.1\r\nHost: evil.example\r\nForwarded: for=1.1.1.1;host=localhost\r\n\r": 421,
	} {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text + "\n")))
		if err != nil {
			t.Fatal(err)
		}
		if got := status(t, rules(t, false), r, loopback, false); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// TestOrigin sends requests from pages of all kinds of sites.
func TestOrigin(t *testing.T) {
	type headers = map[string]string
	for _, c := range []struct {
		name, host string
		headers    headers
		secure     bool
		// read and change are the answers to GET, HEAD and OPTIONS, and to other methods.
		read, change int
	}{
		{"no browser", "127.0.0.1:4000", nil, false, 200, 200},
		{"Node", "127.0.0.1:4000", headers{"Sec-Fetch-Mode": "cors", "User-Agent": "node"}, false, 200, 200},
		{"its own page", "127.0.0.1:4000", headers{"Origin": "http://127.0.0.1:4000"}, false, 200, 200},
		{
			"its own page, marked", "127.0.0.1:4000",
			headers{"Origin": "http://127.0.0.1:4000", "Sec-Fetch-Site": "same-origin"},
			false, 200, 200,
		},
		{
			"its own page by HTTPS of a proxy", "logs.example.com",
			headers{"Origin": "https://logs.example.com"},
			false,
			200, 200,
		},
		{
			"its own page, behind a proxy with another Host", "127.0.0.1:4000",
			headers{"Origin": "https://logs.example.com", "Sec-Fetch-Site": "same-origin"},
			false, 200, 200,
		},
		{
			"the address bar", "127.0.0.1:4000",
			headers{"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"},
			false,
			200, 200,
		},
		{"another site", "127.0.0.1:4000", headers{"Origin": "http://evil.example"}, false, 403, 403},
		{
			"another site, marked", "127.0.0.1:4000",
			headers{"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"},
			false, 403, 403,
		},
		{
			"another port", "localhost:4000",
			headers{"Origin": "http://localhost:3000", "Sec-Fetch-Site": "same-site"},
			false, 403, 403,
		},
		{"another name of the same server", "localhost:4000", headers{"Origin": "http://127.0.0.1:4000"}, false, 403, 403},
		{
			"a name that begins alike", "127.0.0.1:4000",
			headers{"Origin": "http://127.0.0.1:4000.evil.example"},
			false,
			403, 403,
		},
		{"a sandbox or a file", "127.0.0.1:4000", headers{"Origin": "null"}, false, 403, 403},
		{"a host alone", "127.0.0.1:4000", headers{"Origin": "127.0.0.1:4000"}, false, 403, 403},
		{"nonsense", "127.0.0.1:4000", headers{"Origin": "%%%"}, false, 403, 403},
		{
			"an extension", "127.0.0.1:4000",
			headers{"Origin": "chrome-extension://abc", "Sec-Fetch-Site": "none"},
			false, 403, 403,
		},
		{
			"a form of another site", "127.0.0.1:4000",
			headers{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
			false, 200, 403,
		},
		{
			"a form of a neighbour", "127.0.0.1:4000",
			headers{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate"},
			false, 200, 403,
		},
		{
			"an image in another site", "127.0.0.1:4000",
			headers{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
			false, 403, 403,
		},
		{
			"an image in a neighbour", "127.0.0.1:4000",
			headers{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"},
			false, 403, 403,
		},
		{
			"a WebSocket of another site", "127.0.0.1:4000",
			headers{"Origin": "http://evil.example", "Sec-Fetch-Mode": "websocket", "Upgrade": "websocket"},
			false, 403,
			403,
		},
		{
			"an allowed origin", "127.0.0.1:4000",
			headers{"Origin": "https://grafana.example.com", "Sec-Fetch-Site": "cross-site"},
			false, 200, 200,
		},
		{"an allowed origin by HTTP", "127.0.0.1:4000", headers{"Origin": "http://grafana.example.com"}, false, 403, 403},
		{"below an allowed origin", "127.0.0.1:4000", headers{"Origin": "https://x.grafana.example.com"}, false, 403, 403},
		{"HTTPS", "logs.example.com", headers{"Origin": "https://logs.example.com"}, true, 200, 200},
		{
			"a page by HTTP of a server with HTTPS", "logs.example.com",
			headers{"Origin": "http://logs.example.com"},
			true, 403, 403,
		},
	} {
		for _, users := range []bool{false, true} {
			p := rules(t, users)
			for _, client := range []netip.Addr{outside, loopback} {
				for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"} {
					r := httptest.NewRequest(method, "/", nil)
					r.Host = c.host
					for k, v := range c.headers {
						r.Header.Set(k, v)
					}
					want := c.change
					if method == "GET" || method == "HEAD" || method == "OPTIONS" {
						want = c.read
					}
					if got := status(t, p, r, client, c.secure); got != want {
						t.Errorf("%s: %s from %s, users %v: %d, want %d", c.name, method, client, users, got, want)
					}
				}
			}
		}
	}
	// One foreign origin among several is enough for a refusal.
	r := httptest.NewRequest("GET", "/", nil)
	r.Host, r.Header["Origin"] = "127.0.0.1:4000", []string{"http://127.0.0.1:4000", "http://evil.example"}
	if got := status(t, rules(t, true), r, outside, false); got != 403 {
		t.Errorf("two origins: %d", got)
	}
}

func TestParseHost(t *testing.T) {
	for text, good := range map[string]bool{
		"logs.example.com": true, "Logs.Example.com.": true, "*.example.com": true, "*": true, "cordwood": true,
		"my_host-1": true, "[::1]": true, "10.0.0.1": true,
		"": false, ".": false, "a..b": false, "*.": false, "*.*.example": false, "a.*.example": false, "host:4000": false,
		"http://host": false, "bücher.example": false, "a b": false,
	} {
		if err := ParseHost(text); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
	p, err := New(Config{Hostname: "h", Hosts: []string{"*"}})
	if err != nil || !p.knows("evil.example:80") {
		t.Errorf("* does not allow every name (%v)", err)
	}
	if _, err := New(Config{Hosts: []string{"a:1"}}); err == nil {
		t.Error("an invalid name was accepted")
	}
}

func TestParseOrigin(t *testing.T) {
	for text, want := range map[string]string{
		"https://grafana.example.com":    "https://grafana.example.com",
		" HTTPS://Grafana.example.com/ ": "https://grafana.example.com",
		"http://localhost:3000":          "http://localhost:3000", "https://a.example:443": "https://a.example",
		"http://a.example:80":  "http://a.example",
		"https://a.example:80": "https://a.example:80", "http://[::1]:3000": "http://[::1]:3000",
		"chrome-extension://abc": "chrome-extension://abc",
		"":                       "", "*": "", "null": "", "a.example": "", "https://": "", "https://:443": "",
		"https://a.example/path": "", "https://a.example?x": "", "https://*.example.com": "", "https://u@a.example": "",
	} {
		if got, err := ParseOrigin(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	if _, err := New(Config{Origins: []string{"*"}}); err == nil {
		t.Error("an invalid origin was accepted")
	}
}

// FuzzCheck checks that requests of browsers for an unknown name are always refused.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		"evil.example", "[::1]:80", "localhost.", "127.0.0.1:", "a:b:c", "[", "]:", "%", "*.corp.example", "\x00",
		"x.CORP.example",
	} {
		f.Add(seed, seed)
		f.Add(seed, "http://"+seed)
	}
	p := rules(f, false)
	f.Fuzz(func(t *testing.T, header, origin string) {
		r := &http.Request{Method: "POST", Host: header, Header: http.Header{"Origin": {origin}}}
		if p.Check(r, outside, false) != nil {
			return
		}
		if name := strings.ToLower(header); strings.Contains(name, "evil") && !strings.Contains(name, "corp.example") {
			t.Errorf("answered for %q", header)
		}
		if origin != "https://grafana.example.com" && !strings.Contains(strings.ToLower(origin), strings.ToLower(header)) {
			t.Errorf("a page of %q uses %q", origin, header)
		}
	})
}
