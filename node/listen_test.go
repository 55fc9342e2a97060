package node

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestDrainEndsConnections has clients that keep their connections told, while a node is drained,
// to make new ones: a load balancer sends those elsewhere.
func TestDrainEndsConnections(t *testing.T) {
	s, err := listenHTTP("127.0.0.1:0", nil, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "here")
	}), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	n := &node{registry: newRegistry(Version{}), hurry: make(chan struct{}, 1), disk: &disk{}, data: &dataDir{}, cfg: &Config{}, users: s, log: slog.New(slog.DiscardHandler)}
	admin := n.adminHandler()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	for _, step := range []struct {
		method string // of /drain, if any
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
			t.Errorf("after %q /drain: %q, %v, the connection is to be closed: %v, want %v", step.method, body, err, resp.Close, step.close)
		}
	}
}

// TestHTTPFaultsAreLogged: what goes wrong before a request is one is in the form of all other lines.
func TestHTTPFaultsAreLogged(t *testing.T) {
	r, w := io.Pipe()
	s, err := listenHTTP("127.0.0.1:0", nil, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("on purpose") }),
		slog.New(slog.NewJSONHandler(w, nil)))
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
	if err := json.NewDecoder(r).Decode(&line); err != nil || line.Level != "WARN" || !strings.Contains(line.Msg, "on purpose") {
		t.Errorf("logged %+v, %v", line, err)
	}
	_ = r.Close() // further lines go nowhere
}
