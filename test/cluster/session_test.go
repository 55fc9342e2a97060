package cluster

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSession signs in with a cookie. Another router of the cluster must accept the cookie, and a change of the
// password must end the session.
func TestSession(t *testing.T) {
	t.Parallel()
	users := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(users, []byte("ann:ro=secret\nbo=other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	n := New(t, "--user-provider", "watch_file_user_provider:"+users)
	n.Start()
	ask := func(method, path, body string, status int, cookie string, header ...string) *Answer {
		t.Helper()
		header = append(header, "Content-Type", "application/json")
		if cookie != "" {
			header = append(header, "Cookie", cookie)
		}
		a, err := n.Do(method, path, strings.NewReader(body), header...)
		if err != nil || a.Status != status {
			t.Fatalf("%s %s: %v, %v, want %d", method, path, a, err, status)
		}
		return a
	}
	wrong := ask("POST", "/v1/session", `{"user":"ann","password":"no"}`, 401, "")
	nobody := ask("POST", "/v1/session", `{"user":"eve","password":"no"}`, 401, "")
	if message(t, wrong) != message(t, nobody) {
		t.Errorf("the answers differ for a wrong user and a wrong password: %s, %s", wrong.Body, nobody.Body)
	}
	ask("POST", "/v1/session", `{"user":"ann","password":"secret"}`, 403, "", "Origin", "http://evil.test")
	in := ask("POST", "/v1/session", `{"user":"ann","password":"secret"}`, 204, "")
	set := in.Header.Get("Set-Cookie")
	if !strings.Contains(set, "HttpOnly") || !strings.Contains(set, "SameSite=Strict") || strings.Contains(set, "Secure") {
		t.Errorf("the cookie is %s", set)
	}
	cookie, _, _ := strings.Cut(set, ";")
	var who struct {
		User, Auth string
		CanRead    bool `json:"can_read"`
		CanWrite   bool `json:"can_write"`
	}
	a := ask("GET", "/v1/session", "", 200, cookie)
	if err := json.Unmarshal(a.Body, &who); err != nil || who.User != "ann" || who.Auth != "session" || !who.CanRead ||
		who.CanWrite {
		t.Errorf("%s, %v", a.Body, err)
	}
	ask("GET", "/v1/session", "", 401, "")
	ask("GET", "/v1/session", "", 401, cookie+"A")
	ask("GET", "/v1/sql?sql=SELECT+1", "", 200, cookie)
	ask("POST", "/v1/sql?sql=CREATE+DATABASE+x", "", 403, cookie)
	ask("POST", "/v1/sql?sql=SELECT+1", "", 403, cookie, "Sec-Fetch-Site", "cross-site")
	// The password in a header takes precedence.
	ask("GET", "/v1/session", "", 401, cookie, "Authorization", "Basic YW5uOm5v")
	if out := ask("DELETE", "/v1/session", "", 204, cookie).Header.Get("Set-Cookie"); !strings.Contains(out, "Max-Age=0") {
		t.Errorf("signing out sets %s", out)
	}
	n.Stop()
	n.Start() // the key belongs to the cluster
	ask("GET", "/v1/session", "", 200, cookie)
	if err := os.WriteFile(users, []byte("ann:ro=changed\nbo=other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); ; {
		a, err := n.Do("GET", "/v1/session", nil, "Cookie", cookie)
		if err != nil {
			t.Fatal(err)
		}
		if a.Status == http.StatusUnauthorized {
			break
		}
		if time.Now().After(end) {
			t.Fatal("another password did not end the session")
		}
	}
}

func message(t *testing.T, a *Answer) string {
	t.Helper()
	var e struct{ Error string }
	if err := json.Unmarshal(a.Body, &e); err != nil {
		t.Fatal(err)
	}
	return e.Error
}
