package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cordwood/router/access/oidc/oidctest"
)

// TestOIDC authenticates people with a provider of the test: programs by tokens, and a browser that signs in at one
// router and uses another one. A tail ends when its role loses the group, and with its token.
func TestOIDC(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	users, secret, nodes := filepath.Join(dir, "users"), filepath.Join(dir, "secret"), filepath.Join(dir, "nodes")
	for file, text := range map[string]string{
		users: "root=pw\n", secret: oidctest.Secret + "\n", nodes: strings.Repeat("secret of the nodes ", 3) + "\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	key := oidctest.EC(t, "k1")
	provider := oidctest.New(t, key)
	c := NewCluster(t, Spec{All: 3, Replication: 1, Shards: 1, Args: []string{
		"--user-file", users, "--oidc-issuer", provider.URL, "--oidc-client-id", oidctest.ClientID,
		"--oidc-client-secret-file", secret, "--cluster-secret-file", nodes,
	}})
	c.Start()
	for _, n := range c.Nodes {
		n.Client = &http.Client{Transport: signed{"root", "pw"}}
	}
	first, second := c.Nodes[0], c.Nodes[1]
	first.Rows(t, "CREATE TABLE app (ts TIMESTAMP TIME INDEX, x BIGINT)")
	first.Rows(t, "CREATE ROLE devs")
	first.Rows(t, "GRANT SELECT ON public.app TO devs")
	who := func(token string) string {
		t.Helper()
		a, err := as(second, bearer(token)).Do("GET", "/v1/access/whoami", nil)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%d %s", a.Status, a.Body)
	}
	token := provider.Token(key, "ann", "dev-team")
	if got := who(token); !strings.HasPrefix(got, "403 ") || !strings.Contains(got, "SET GROUPS") {
		t.Errorf("without a role: %s", got)
	}
	first.Rows(t, "ALTER ROLE devs SET GROUPS ('dev-team')")
	Eventually(t, Generous(10*time.Second), func() error { // the first right of the metadata comes within moments
		if got := who(token); !strings.HasPrefix(got, `200 {"user":"oidc:ann","auth":"oidc"`) ||
			!strings.Contains(got, "SELECT ON public.app") {
			return fmt.Errorf("with the role: %s", got)
		}
		return nil
	})
	browse(t, provider, first, second)
	ended := follow(t, second, token)
	first.Rows(t, "ALTER ROLE devs UNSET GROUPS")
	if last := <-ended; !strings.Contains(last, "7005") && !strings.Contains(last, "7006") {
		t.Errorf("after the role lost its group, the tail ends with %s", last)
	}
	first.Rows(t, "ALTER ROLE devs SET GROUPS ('dev-team')")
	now := time.Now()
	short := provider.Sign(key, provider.Claims(now, oidctest.Claims{
		"groups": "dev-team", "exp": now.Add(5*time.Second - time.Minute).Unix(), // a minute is for differences of clocks
	}))
	if last := <-follow(t, second, short); !strings.Contains(last, "7002") {
		t.Errorf("after the token ended, the tail ends with %s", last)
	}
	first.Rows(t, `CREATE USER "oidc:ann" DISABLED`)
	if got := who(token); !strings.HasPrefix(got, "401 ") {
		t.Errorf("a disabled person: %s", got)
	}
	var audit string
	Eventually(t, Generous(20*time.Second), func() error {
		audit = fmt.Sprint(first.Rows(t, "SELECT action, principal, auth, outcome FROM svc_private.audit ORDER BY ts"))
		for _, want := range []string{"[alter role root", "[sign in oidc:ann oidc ok]"} {
			if !strings.Contains(audit, want) {
				return fmt.Errorf("%q is missing in the audit: %s", want, audit)
			}
		}
		return nil
	})
}

// browse signs a browser in at one router, and shows the session to another.
func browse(t *testing.T, provider *oidctest.Server, first, second *Node) {
	t.Helper()
	provider.SignsIn(oidctest.Claims{"groups": []string{"dev-team", "others"}})
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, Timeout: Generous(10 * time.Second)}
	resp, err := browser.Get(first.HTTP + "/v1/session/oidc/login?to=/v1/session")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !strings.Contains(string(body), `"user":"oidc:ann"`) {
		t.Fatalf("the sign-in ends at %s: %d %s", resp.Request.URL, resp.StatusCode, body)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, second.HTTP+"/v1/session", nil)
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(first.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	for _, cookie := range jar.Cookies(at) {
		r.AddCookie(cookie)
	}
	if resp, err = http.DefaultClient.Do(r); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var session struct{ User, Auth string }
	err = json.NewDecoder(resp.Body).Decode(&session)
	if err != nil || session.User != "oidc:ann" || session.Auth != "oidc" {
		t.Errorf("another router: %d %+v %v", resp.StatusCode, session, err)
	}
}

// follow opens a tail with a token, and sends its last line when it has ended.
func follow(t *testing.T, n *Node, token string) <-chan string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Generous(30*time.Second))
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, n.HTTP+"/v1/tail?table=app", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		t.Fatalf("a tail: %d %s", resp.StatusCode, text)
	}
	ended := make(chan string, 1)
	go func() {
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		last := lines[len(lines)-1]
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			last = err.Error()
		}
		ended <- last
	}()
	return ended
}
