package api

import (
	"strings"
	"testing"

	"cordwood/test/cluster"
)

// TestBrowsers sends requests like pages of other sites to all ports of a server without users, over loopback.
func TestBrowsers(t *testing.T) {
	t.Parallel()
	admin, v1 := cluster.FreeAddr(t), cluster.FreeAddr(t)
	s := &server{
		Node: cluster.New(t, "--admin-addr", admin, "--http-v1-addr", v1, "--http-hosts", "cordwood.test",
			"--http-cors-allowed-origins", "https://y.example"),
	}
	s.Start()
	ports := map[string]string{s.HTTP: "/v1/health", "http://" + v1: "/v1/health", "http://" + admin: "/health"}
	for port, path := range ports {
		at := &server{Node: &cluster.Node{HTTP: port}}
		own := strings.TrimPrefix(port, "http://")
		for _, c := range []struct {
			host, headers string
			status        int
		}{
			{own, "", 200},
			{"localhost", "", 200},
			{"cordwood.test:80", "", 200},
			{"evil.example", "", 421},
			{"evil.example", "User-Agent: Mozilla/5.0", 421},
			{own, "Origin: http://" + own, 200},
			{own, "Origin: http://evil.example", 403},
			{own, "Origin: null", 403},
			{own, "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors", 403},
			{own, "Sec-Fetch-Site: none\r\nSec-Fetch-Mode: navigate", 200},
		} {
			for _, method := range []string{"GET", "HEAD"} {
				head := method + " " + path + " HTTP/1.1\r\nHost: " + c.host + "\r\nConnection: close\r\n"
				if c.headers != "" {
					head += c.headers + "\r\n"
				}
				answers := at.talk(t, head+"\r\n", method)
				if len(answers) != 1 || answers[0].status != c.status {
					t.Errorf("%s of %s with %q at %s: %+v, want %d", method, c.host, c.headers, port, answers, c.status)
				}
			}
		}
		if answers := at.talk(t, "GET "+path+" HTTP/1.0\r\n\r\n", "GET"); len(answers) != 1 || answers[0].status != 200 {
			t.Errorf("a probe without Host at %s: %+v", port, answers)
		}
	}
	// Pages of the configured origin may use the port for users, and no other port.
	for port, path := range ports {
		at := &server{Node: &cluster.Node{HTTP: port}}
		a := at.send(t, request{
			method: "GET", path: path, user: "-",
			header: []string{"Origin", "https://y.example", "Sec-Fetch-Site", "cross-site"},
		})
		want, allowed := 200, "https://y.example"
		if port == "http://"+admin {
			want, allowed = 403, ""
		}
		if a.status != want || a.header.Get("Access-Control-Allow-Origin") != allowed ||
			a.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("a configured origin, at %s: %d %v", port, a.status, a.header)
		}
	}
}
