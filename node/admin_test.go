package node

import (
	"bytes"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAdmin(t *testing.T) {
	var log bytes.Buffer
	n := &node{registry: newRegistry(Version{Version: "v1"})}
	n.log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: &n.level}))
	h := n.adminHandler()
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/", "", 200, "/debug/pprof/"},
		{"GET", "/elsewhere", "", 404, ""},
		{"GET", "/metrics", "", 200, "cordwood_build_info"},
		{"GET", "/log-level", "", 200, "info\n"},
		{"PUT", "/log-level", "loud", 400, `"loud" is none of debug`},
		{"PUT", "/log-level", strings.Repeat("debug", 100), 400, "is none of"},
		{"PUT", "/log-level", "DEBUG\n", 200, "debug\n"},
		{"GET", "/log-level", "", 200, "debug\n"},
		{"POST", "/log-level", "info", 405, ""},
		{"GET", "/debug/pprof/goroutine?debug=1", "", 200, "TestAdmin"},
		{"GET", "/debug/pprof/cmdline", "", 200, ""},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(c.method, c.path, strings.NewReader(c.body)))
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s %q: %d %.200q, want %d with %q", c.method, c.path, c.body, w.Code, w.Body, c.status, c.want)
		}
	}
	n.log.Debug("seen now")
	if !strings.Contains(log.String(), "seen now") || !strings.Contains(log.String(), "log level set") {
		t.Errorf("the log:\n%s", log.String())
	}
}
