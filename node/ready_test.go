package node

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cordwood/node/config"
)

// TestReadySaysWhy checks the reason in /ready if the disk is full, while the node starts and while it serves.
func TestReadySaysWhy(t *testing.T) {
	n := newNode(&config.Config{}, Process{})
	d := &disk{path: "/data", reserve: 1}
	d.free.Store(4096)
	d.total.Store(1 << 30)
	ask := func() (int, string) {
		w := httptest.NewRecorder()
		n.operations(http.NotFoundHandler(), http.NotFound).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/ready", nil))
		return w.Code, w.Body.String()
	}
	n.waiting.Store("the shards")
	if code, body := ask(); code != http.StatusServiceUnavailable || strings.Contains(body, "disk") {
		t.Errorf("before the disk is known: %d %s", code, body)
	}
	n.trouble.disk.Store(d)
	if code, body := ask(); code != http.StatusServiceUnavailable ||
		!strings.Contains(body, "waiting for the shards") || !strings.Contains(body, "the disk of /data has 0.0 MiB left") {
		t.Errorf("while it waits: %d %s", code, body)
	}
	n.waiting.Store("")
	if code, body := ask(); code != http.StatusOK || !strings.Contains(body, `"warnings":["the disk of /data`) {
		t.Errorf("while it serves: %d %s", code, body)
	}
	d.free.Store(1 << 29)
	if code, body := ask(); code != http.StatusOK || body != "{}\n" {
		t.Errorf("with free space again: %d %s", code, body)
	}
}
