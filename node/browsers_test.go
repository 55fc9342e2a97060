package node

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/node/config"
	"cordwood/router/httpapi/auth"
)

// TestMetricsWithoutRouter checks that nodes without the role router apply the same rules to metrics.
func TestMetricsWithoutRouter(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(file, []byte("ann=secret\nship:wo=shipped\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	users, err := auth.Open(auth.Config{UserFile: file})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = users.Close() })
	for _, c := range []struct {
		users  *auth.Provider
		open   bool
		as     string
		status int
		want   string
	}{
		{nil, true, "", 200, `rows_total{db="shop"} 1`},
		{users, true, "", 200, `rows_total{db=""} 1`},
		{users, true, "ann:secret", 200, `rows_total{db=""} 1`},
		{users, false, "", 401, "7003"},
		{users, false, "ann:wrong", 401, "7002"},
		{users, false, "ship:shipped", 403, "7006"},
		{users, false, "ann:secret", 200, `rows_total{db="shop"} 1`},
	} {
		n := newNode(&config.Config{Users: config.Users{MetricsOpen: c.open}}, Process{})
		n.userList, n.registry = c.users, prometheus.NewRegistry()
		rows := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "rows_total", Help: "Rows."}, []string{"db"})
		n.registry.MustRegister(rows)
		rows.WithLabelValues("shop").Inc()
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		if name, password, ok := strings.Cut(c.as, ":"); ok {
			r.SetBasicAuth(name, password)
		}
		w := httptest.NewRecorder()
		n.operations(n.metricsOfUserPort(), http.NotFound).ServeHTTP(w, r)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("users %v, open %v, as %q: %d %s, want %d with %s", c.users != nil, c.open, c.as, w.Code, w.Body,
				c.status, c.want)
		}
		// The administrator's port needs no authentication, and shows all metrics.
		w = httptest.NewRecorder()
		if n.admin().adminHandler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil)); w.Code != 200 ||
			!strings.Contains(w.Body.String(), `rows_total{db="shop"} 1`) {
			t.Errorf("the administrator's port: %d %s", w.Code, w.Body)
		}
	}
}
