package node

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"cordwood/node/config"
	"cordwood/router/httpapi/peer"
)

// TestDrainEndsConnections checks that clients with open connections are asked to reconnect while a node is drained,
// so that a load balancer can send them to another node.
func TestDrainEndsConnections(t *testing.T) {
	s, err := userPort{addr: "127.0.0.1:0", before: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "here")
	})}.open(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	n := newNode(&config.Config{}, Process{})
	n.registry, n.disk, n.data, n.users = newRegistry(Version{}), &disk{}, &dataDir{}, s
	n.log = slog.New(slog.DiscardHandler)
	admin := n.admin().adminHandler()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	for _, step := range []struct {
		method string // method of the request to /drain, if any
		close  bool
	}{{"", false}, {"POST", true}, {"", true}, {"DELETE", false}} {
		if step.method != "" {
			admin.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(step.method, "/drain?wait=0s", nil))
		}
		resp, err := client.Get("http://" + s.addr.String() + "/")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || string(body) != "here" || resp.Close != step.close {
			t.Errorf("after %q /drain: %q, %v, the connection is to be closed: %v, want %v", step.method, body, err,
				resp.Close, step.close)
		}
	}
}

// TestProxyProtocol checks that connections of trusted proxies must begin with the client's address, and that other
// connections must not.
func TestProxyProtocol(t *testing.T) {
	open := func(network string) string {
		port := userPort{addr: "127.0.0.1:0", proxies: peer.Proxies{netip.MustParsePrefix(network)}}
		port.before = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, r.RemoteAddr)
		})
		s, err := port.open(slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.close(t.Context()); err != nil && t.Context().Err() == nil {
				t.Error(err)
			}
		})
		return s.addr.String()
	}
	trusting, other := open("127.0.0.0/8"), open("10.0.0.0/8")
	const request = "GET / HTTP/1.0\r\n\r\n"
	v2 := "\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c\xcb\x00\x71\x09\xc0\x00\x02\x01\x00\x50\x0f\xa0"
	for _, c := range []struct{ name, addr, text, want, lack string }{
		{"a header of version 1", trusting, "PROXY TCP4 203.0.113.9 192.0.2.1 80 4000\r\n" + request, "200 OK", "127.0.0.1"},
		{"its address", trusting, "PROXY TCP4 203.0.113.9 192.0.2.1 80 4000\r\n" + request, "203.0.113.9:80", "127.0.0.1"},
		{"a header of version 2", trusting, v2 + request, "203.0.113.9:80", "127.0.0.1"},
		{"a check of the proxy itself", trusting, "PROXY UNKNOWN\r\n" + request, "127.0.0.1:", "400 Bad"},
		{"a trusted proxy without a header", trusting, request, "", "200 OK"},
		{"an invalid header", trusting, "PROXY TCP4 garbage\r\n" + request, "", "200 OK"},
		{
			"another client with a header", other, "PROXY TCP4 203.0.113.9 192.0.2.1 80 4000\r\n" + request, "400 Bad Request",
			"203.0.113.9",
		},
		{"another client without a header", other, request, "127.0.0.1:", "400 Bad"},
	} {
		conn, err := net.Dial("tcp", c.addr)
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, c.text); err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(conn) // some connections are reset
		if got := string(answer); !strings.Contains(got, c.want) || strings.Contains(got, c.lack) {
			t.Errorf("%s: %q, %v; want %q, not %q", c.name, got, err, c.want, c.lack)
		}
		_ = conn.Close()
	}
}

// TestHTTPFaultsAreLogged checks that errors before a request is complete are logged in the usual
// format.
func TestHTTPFaultsAreLogged(t *testing.T) {
	r, w := io.Pipe()
	port := userPort{
		addr:   "127.0.0.1:0",
		before: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("intended by the test") }),
	}
	s, err := port.open(slog.New(slog.NewJSONHandler(w, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	go func() {
		if resp, err := http.Get("http://" + s.addr.String() + "/"); err == nil {
			_ = resp.Body.Close()
		}
	}()
	var line struct{ Level, Msg string }
	if err := json.NewDecoder(r).Decode(&line); err != nil || line.Level != "WARN" ||
		!strings.Contains(line.Msg, "intended by the test") {
		t.Errorf("logged %+v, %v", line, err)
	}
	_ = r.Close() // further log lines are discarded
}

// TestSilentProxy checks that connections of a proxy that do not begin with an address do not keep others waiting.
func TestSilentProxy(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := behindProxies(inner, peer.Proxies{netip.MustParsePrefix("127.0.0.0/8")})
	dial := func() net.Conn {
		nc, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = nc.Close() })
		return nc
	}
	for range 3 {
		dial()
	}
	if _, err := io.WriteString(dial(), "PROXY TCP4 192.0.2.1 127.0.0.1 4000 5432\r\nhello"); err != nil {
		t.Fatal(err)
	}
	nc, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	text := make([]byte, 5)
	_, err = io.ReadFull(nc, text)
	if err != nil || nc.RemoteAddr().String() != "192.0.2.1:4000" || string(text) != "hello" {
		t.Errorf("the first connection is from %v and sends %q: %v", nc.RemoteAddr(), text, err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if nc, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after closing: %v, %v", nc, err)
	}
}
