package cluster

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// basic adds a user and a password to requests.
type basic struct{ user, password string }

func (b basic) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.SetBasicAuth(b.user, b.password)
	return http.DefaultTransport.RoundTrip(r)
}

// TestFailedSignInsAreRecorded fails to sign in at each receiver of HTTP and with PostgreSQL's protocol, once with
// names that try to forge a record, and floods one receiver. Each failure has a record, the flood a bounded number, and
// only an administrator reads them.
func TestFailedSignInsAreRecorded(t *testing.T) {
	t.Parallel()
	users := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(users, []byte("boss:rw=secret\nreader:ro=secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	pg := FreeAddr(t)
	n := New(t, "--user-file", users, "--pg-addr", pg)
	n.Start()
	defer n.Stop()
	paths := []string{
		"/v1/ingest?table=x", "/v1/sql?sql=SELECT+1", "/v1/elasticsearch/_bulk", "/v1/loki/api/v1/push",
		"/v1/splunk/services/collector/event", "/v1/otlp/v1/logs", "/api/v2/logs", "/v1/firehose",
	}
	for i, path := range paths {
		r, err := http.NewRequest(http.MethodPost, n.HTTP+path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.SetBasicAuth(fmt.Sprintf("user%d\nforged", i), "wrong")
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Body.Close(); err != nil {
			t.Error(err)
		}
		if a.StatusCode/100 == 2 {
			t.Errorf("%s: %d with a wrong password", path, a.StatusCode)
		}
	}
	a, err := n.Do("POST", "/v1/session", strings.NewReader(`{"user":"page","password":"wrong"}`), "Content-Type",
		"application/json", "X-Svc-Page", "1")
	if err != nil || a.Status != http.StatusUnauthorized {
		t.Errorf("a session: %v, %v", a, err)
	}
	token := "cw_0123456789_0123456789abcdefghijABCDEFGHIJ012345"
	a, err = n.Do("GET", "/v1/sql?sql=SELECT+1", nil, "Authorization", "Bearer "+token)
	if err != nil || a.Status != http.StatusUnauthorized {
		t.Errorf("a token: %v, %v", a, err)
	}
	wrong := fmt.Sprintf("postgres://pguser:wrong@%s/public?sslmode=disable", pg)
	if _, err := pgx.Connect(t.Context(), wrong); err == nil {
		t.Error("PostgreSQL accepts a wrong password")
	}
	for range 500 {
		if _, err := n.Do("GET", "/v1/sql?sql=SELECT+1", nil, "Authorization", "Basic Zmxvb2Q6d3Jvbmc="); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := pgx.Connect(t.Context(), fmt.Sprintf("postgres://boss:secret@%s/public?sslmode=disable", pg))
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	n.Client = &http.Client{Transport: basic{"boss", "secret"}}
	Eventually(t, Generous(20*time.Second), func() error {
		rows, err := n.Query("SELECT count(*) FILTER (principal LIKE 'user_\nforged' AND outcome = 'refused'), " +
			"count(*) FILTER (principal = 'page' AND outcome = 'refused'), " +
			"count(*) FILTER (principal = 'token' AND outcome = 'refused'), " +
			"count(*) FILTER (principal = 'pguser' AND outcome = 'refused'), count(*) FILTER (principal = 'flood'), " +
			"count(*) FILTER (principal = 'boss' AND outcome = 'ok' AND action = 'sign in'), " +
			"count(*) FILTER (principal = 'boss' AND action = 'sign out') FROM svc_private.audit WHERE address = '127.0.0.1'")
		if want := fmt.Sprintf("[[%d 1 1 1 10 1 1]]", len(paths)); err == nil && fmt.Sprint(rows) != want {
			err = fmt.Errorf("records %v, want %s", rows, want)
		}
		return err
	})
	n.Client = &http.Client{Transport: basic{"reader", "secret"}}
	for _, sql := range []string{
		"SELECT * FROM svc_private.audit", "SELECT 1 FROM SVC_PRIVATE.AUDIT LIMIT 1",
		"SELECT (SELECT max(message) FROM svc_private.audit)", "EXPLAIN SELECT * FROM svc_private.audit",
		"DESCRIBE (SELECT * FROM svc_private.audit)",
	} {
		if rows, err := n.Query(sql); err == nil || !strings.Contains(err.Error(), "7006") {
			t.Errorf("%s as a reader: %v, %v", sql, rows, err)
		}
	}
	if a, err := n.Do("GET", "/v1/tail?db=svc_private&table=audit", nil); err != nil || a.Status != http.StatusForbidden {
		t.Errorf("a tail as a reader: %+v, %v", a, err)
	}
}
