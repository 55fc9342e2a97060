package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestAuthMatrix sends every described operation as every kind of user. Requests without a user or
// with a wrong password get 401, users without the permission 403, and others another status. Tests
// of router/httpapi compare the description with the table of routes, so a new route is included
// automatically.
func TestAuthMatrix(t *testing.T) {
	t.Parallel()
	s := start(t, "--metrics-open=false")
	may := map[string][]string{
		"signed-in":      {"ingest", "query", "admin"},
		"insert":         {"ingest", "admin"},
		"select":         {"query", "admin"},
		"pipeline-read":  {"query", "admin"},
		"pipeline-write": {"admin"},
		"pipeline-try":   {"query", "admin"},
		"delete":         {"admin"},
		"monitor":        {"query", "admin"},
		"operate":        {"admin"},
		"backup":         {"query", "admin"},
		"query":          {"query", "admin"},
		"manage-access":  {"admin"},
		"read-audit":     {"admin"},
	}
	n, guessed := 0, 0
	for path, item := range s.doc.Paths.Map() {
		for method, op := range item.Operations() {
			permission := op.Extensions["x-permission"].(string)
			if path == "/metrics" { // --metrics-open=false
				permission = "monitor"
			}
			if path == "/v1/logs" && method == http.MethodPost { // without a query in the body
				permission = "insert"
			}
			if permission != "open" && may[permission] == nil {
				t.Errorf("%s %s: unknown permission %q", method, path, permission)
				continue
			}
			// The requests change nothing, because the named objects do not exist.
			at := strings.NewReplacer("{name}", "none", "{id}", "1000").Replace(path)
			for _, user := range []string{"-", "wrong", "ingest", "query", "admin"} {
				n++
				want := 0
				switch {
				case permission == "open":
				case user == "-" || user == "wrong":
					want = http.StatusUnauthorized
				case !slices.Contains(may[permission], user):
					want = http.StatusForbidden
				}
				a := s.send(t, request{method: method, path: at, user: user})
				what := fmt.Sprintf("%s %s as %s", method, at, user)
				if a.status == http.StatusTooManyRequests && user == "wrong" && want != 0 && guessed >= 10 {
					continue // guesses of this user's password from this address are slowed down
				}
				if user == "wrong" && a.status == want {
					guessed++
				}
				if refused := a.status == 401 || a.status == 403; refused != (want != 0) || want != 0 && a.status != want {
					t.Errorf("%s: %d, want %d (0: any but 401 and 403): %.200s", what, a.status, want, a.body)
				}
				if a.status == 401 && a.header.Get("WWW-Authenticate") != `Basic realm="cordwood"` {
					t.Errorf("%s: browsers would not ask for a password", what)
				}
				if a.status >= 500 {
					t.Errorf("%s: %d %.200s", what, a.status, a.body)
				}
			}
		}
	}
	if n < 200 {
		t.Errorf("only %d requests were sent", n)
	}
	// Send the same header under its other name, which takes precedence.
	if a := s.send(t, request{
		method: "GET", path: "/v1/pipelines", user: "-", header: []string{"x-svc-auth", credentials("query")},
	}); a.status != 200 {
		t.Errorf("x-svc-auth: %d", a.status)
	}
	if a := s.send(t, request{
		method: "GET", path: "/v1/pipelines", user: "query", header: []string{"x-svc-auth", "Basic cXVlcnk6eA=="},
	}); a.status != 401 {
		t.Errorf("a wrong x-svc-auth next to a good Authorization: %d", a.status)
	}
	// The permission that a request with SQL needs depends on the statement.
	for user, want := range map[string][2]int{"query": {200, 403}, "ingest": {403, 403}, "admin": {200, 200}} {
		for i, statement := range []string{"SELECT+1", "CREATE+DATABASE+IF+NOT+EXISTS+shop"} {
			if a := s.send(t, request{method: "POST", path: "/v1/sql?sql=" + statement, user: user}); a.status != want[i] {
				t.Errorf("%s as %s: %d, want %d", statement, user, a.status, want[i])
			}
		}
	}
}
