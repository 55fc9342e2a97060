package node

import (
	"bytes"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"cordwood/node/config"
	"cordwood/router/audit"
)

func TestAdmin(t *testing.T) {
	var log bytes.Buffer
	n := newNode(&config.Config{NodeName: "n1"}, Process{})
	n.registry, n.disk, n.data = newRegistry(Version{Version: "v1"}), &disk{}, &dataDir{}
	n.log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: &n.level}))
	n.changes = audit.New(n.log, nil)
	h := n.admin().adminHandler()
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/", "", 200, "/debug/pprof/"},
		{"GET", "/elsewhere", "", 404, ""},
		{"GET", "/metrics", "", 200, "cordwood_build_info"},
		{"GET", "/health", "", 200, "{}\n"},
		{"GET", "/ready", "", 200, "{}\n"},
		{"GET", "/log-level", "", 200, "info\n"},
		{"PUT", "/log-level", "loud", 400, `"loud" is not debug`},
		{"PUT", "/log-level", strings.Repeat("debug", 100), 400, "is not debug"},
		{"PUT", "/log-level", "DEBUG\n", 200, "debug\n"},
		{"GET", "/log-level", "", 200, "debug\n"},
		{"POST", "/log-level", "info", 405, ""},
		{"POST", "/drain?wait=soon", "", 400, "want a duration"},
		{"POST", "/drain?wait=1h", "", 400, "want a duration"},
		{"POST", "/drain?wait=0s", "", 200, "drained\n"},
		{"GET", "/drain?wait=1ms", "", 405, "use POST, as 'cordwood admin drain' does"},
		{"HEAD", "/drain?wait=1ms", "", 405, ""},
		{"GET", "/ready", "", 503, "drained by the administrator"},
		{"GET", "/health", "", 200, "{}\n"},
		{"GET", "/debug/pprof/goroutine?debug=1", "", 200, "TestAdmin"},
		{"GET", "/debug/pprof/cmdline", "", 200, ""},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(c.method, c.path, strings.NewReader(c.body)))
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s %q: %d %.200q, want %d with %q", c.method, c.path, c.body, w.Code, w.Body, c.status, c.want)
		}
	}
	if why := strings.Join(n.unready(), "; "); !strings.Contains(why, "drained by the administrator") ||
		!n.newReport().Stopping {
		t.Errorf("after /drain the node waits for %q", why)
	}
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("DELETE", "/drain", nil))
	if why := n.unready(); why != nil {
		t.Errorf("after the drain was cancelled, the node is not ready: %v", why)
	}
	n.log.Debug("seen now")
	if !strings.Contains(log.String(), "seen now") || !strings.Contains(log.String(), "log level set") {
		t.Errorf("the log:\n%s", log.String())
	}
	for _, change := range []string{
		`auth=admin-addr address=192.0.2.1 action="set log level" object_kind=node database="" object=n1 ` +
			`statement=loud outcome=failed code=1004`,
		`action="set log level" object_kind=node database="" object=n1 statement=DEBUG outcome=ok code=0`,
		`action="drain node" object_kind=node database="" object=n1 statement="" outcome=failed code=1004`,
		`action="drain node" object_kind=node database="" object=n1 statement="" outcome=ok code=0`,
		`action="undrain node" object_kind=node database="" object=n1 statement="" outcome=ok code=0`,
	} {
		if !strings.Contains(log.String(), change) {
			t.Errorf("the log lacks %s:\n%s", change, log.String())
		}
	}
}
