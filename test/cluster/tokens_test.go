package cluster

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
)

// bearer adds a token to requests.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// newToken runs a statement and returns the token in its answer.
func newToken(t *testing.T, n *Node, sql string) string {
	t.Helper()
	rows := n.Rows(t, sql)
	if len(rows) != 1 || len(rows[0]) != 4 {
		t.Fatalf("%s: %v", sql, rows)
	}
	return rows[0][2].(string)
}

// revoked sends requests with a token to a router until the token is dropped, and counts what was accepted.
type revoked struct {
	mu       sync.Mutex // guards the fields below
	dropped  bool
	accepted int
	late     int // requests that began after the token was dropped
	enough   chan struct{}
}

// mostAccepted is the number of requests after which a token is dropped.
const mostAccepted = 90

// pushes are requests that ingest a row into the table app, by several protocols.
var pushes = []struct{ path, body string }{
	{"/v1/ingest?table=app&pipeline_name=svc_identity", `[{"n":1}]`},
	{"/v1/loki/api/v1/push?table=app", `{"streams":[{"stream":{"app":"a"},"values":[["1700000000000000000","x"]]}]}`},
	{"/v1/elasticsearch/app/_bulk", "{\"create\":{}}\n{\"n\":1}\n"},
	{"/v1/splunk/services/collector/event?table=app", `{"event":"x"}`},
	{"/v1/datadog/api/v2/logs?table=app", `[{"message":"x"}]`},
}

// send sends requests until one has begun after the token was dropped. It returns an unexpected answer.
func (v *revoked) send(n *Node, first int) error {
	for i := first; ; i++ {
		v.mu.Lock()
		after := v.dropped
		v.mu.Unlock()
		push := pushes[i%len(pushes)]
		a, err := n.Do("POST", push.path, strings.NewReader(push.body), "Content-Type", "application/json")
		switch {
		case err != nil:
			return err
		case a.Status == http.StatusUnauthorized, a.Status == http.StatusTooManyRequests && after,
			a.Status == http.StatusForbidden && strings.Contains(string(a.Body), "is not valid"):
			return nil
		case a.Status/100 != 2:
			return fmt.Errorf("%s: %d %s", push.path, a.Status, a.Body)
		}
		v.mu.Lock()
		if v.accepted++; v.accepted == mostAccepted {
			close(v.enough)
		}
		if after {
			v.late++
		}
		v.mu.Unlock()
		if after {
			return nil
		}
	}
}

// awaitToken returns when the router of n knows its token. The router of the statement that created the token knows it
// when the statement returns, and others soon after.
func awaitToken(n *Node) error {
	for begin := time.Now(); ; {
		a, err := n.Do("GET", "/v1/openapi.json", nil)
		switch {
		case err != nil:
			return err
		case a.Status == http.StatusOK:
			return nil
		case time.Since(begin) > 10*time.Second:
			return fmt.Errorf("a new token is refused: %d %s", a.Status, a.Body)
		}
	}
}

// TestTokensRevokedUnderLoad drops tokens while requests with them run on three routers. No request that begins after
// the statement has returned is accepted, and tails end within a second.
func TestTokensRevokedUnderLoad(t *testing.T) {
	t.Parallel()
	users := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(users, []byte("root=pw\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := NewCluster(t, Spec{All: 3, Replication: 1, Shards: 3, Args: []string{"--user-file", users}})
	pg := FreeAddr(t)
	c.Nodes[2].set("--pg-addr", pg)
	c.Start()
	for _, n := range c.Nodes {
		n.Client = &http.Client{Transport: signed{"root", "pw"}}
	}
	root := c.Nodes[0]
	root.Rows(t, "CREATE TABLE app (svc_timestamp TIMESTAMP(9) TIME INDEX, n BIGINT)")
	for round := range 2 {
		name := fmt.Sprintf("t%d", round)
		revokeUnderLoad(t, c, pg, root, name, "DROP TOKEN "+name, "DROP TOKEN r"+name)
	}
	// Tokens also end when their creator loses the right to create them.
	root.Rows(t, "CREATE USER eve PASSWORD 'correct horse battery'")
	root.Rows(t, "GRANT ALL ON public.* TO eve WITH GRANT OPTION")
	root.Rows(t, "GRANT USE ON PIPELINE * TO eve")
	eve := &Node{HTTP: root.HTTP, Client: &http.Client{Transport: signed{"eve", "correct horse battery"}}}
	const revoke = " ON public.* FROM eve CASCADE"
	revokeUnderLoad(t, c, pg, eve, "t2", "REVOKE INSERT"+revoke, "REVOKE GRANT OPTION FOR SELECT"+revoke)
	// A token of a user ends with the user.
	root.Rows(t, "CREATE USER ann")
	root.Rows(t, "GRANT SELECT ON public.* TO ann")
	own := newToken(t, root, "CREATE TOKEN own FOR USER ann")
	ann := &Node{HTTP: c.Nodes[2].HTTP, Client: &http.Client{Transport: bearer(own)}}
	if err := awaitToken(ann); err != nil {
		t.Fatal(err)
	}
	if _, err := ann.Query("SELECT count(*) FROM app"); err != nil {
		t.Error(err)
	}
	root.Rows(t, "DROP USER ann")
	if _, err := ann.Query("SELECT count(*) FROM app"); err == nil ||
		!strings.Contains(err.Error(), "is not valid") && !strings.Contains(err.Error(), "too many failed sign-ins") {
		t.Error(err)
	}
	for _, n := range c.Nodes {
		if strings.Contains(n.Log(), own[14:]) {
			t.Error("a log has the secret of a token")
		}
	}
}

// revokeUnderLoad creates a token that ingests and one that reads, and uses them on all routers while the statements
// endIngest and endRead revoke them.
func revokeUnderLoad(t *testing.T, c *Cluster, pg string, creator *Node, name, endIngest, endRead string) {
	root := c.Nodes[0]
	ingest := newToken(t, creator, "CREATE TOKEN "+name+" FOR INGEST INTO app")
	read := newToken(t, creator, "CREATE TOKEN r"+name+" FOR QUERY ON app")
	ends := make(chan string, len(c.Nodes))
	for _, n := range c.Nodes {
		for _, token := range []string{ingest, read} {
			if err := awaitToken(&Node{HTTP: n.HTTP, Client: &http.Client{Transport: bearer(token)}}); err != nil {
				t.Fatal(err)
			}
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.HTTP+"/v1/tail?table=app", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := bearer(read).RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		if resp.StatusCode != http.StatusOK {
			t.Fatal(resp.Status)
		}
		go func() {
			last := ""
			for s := bufio.NewScanner(resp.Body); s.Scan(); {
				last = s.Text()
			}
			ends <- last
		}()
	}
	session, err := pgx.Connect(t.Context(), fmt.Sprintf("postgres://token:%s@%s/public?sslmode=disable", read, pg))
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close(context.Background())
	if _, err := session.Exec(t.Context(), "SELECT count(*) FROM app"); err != nil {
		t.Fatal(err)
	}
	v := &revoked{enough: make(chan struct{})}
	var senders errgroup.Group
	for _, n := range c.Nodes {
		for first := range 2 {
			senders.Go(func() error {
				return v.send(&Node{HTTP: n.HTTP, Client: &http.Client{Transport: bearer(ingest)}}, first)
			})
		}
	}
	select {
	case <-v.enough:
	case <-time.After(30 * time.Second):
		t.Fatal("the routers accept too few requests")
	}
	root.Rows(t, endIngest)
	v.mu.Lock()
	v.dropped = true
	v.mu.Unlock()
	root.Rows(t, endRead)
	if _, err := session.Exec(t.Context(), "SELECT count(*) FROM app"); err == nil {
		t.Error("a PostgreSQL session reads rows after its token was dropped")
	}
	late := time.After(time.Second)
	for range c.Nodes {
		select {
		case last := <-ends:
			if !strings.Contains(last, "is not valid") {
				t.Errorf("a tail ended with %q", last)
			}
		case <-late:
			t.Fatal("a tail continues after its token was dropped")
		}
	}
	if err := senders.Wait(); err != nil {
		t.Error(err)
	}
	if v.late > 0 {
		t.Errorf("%d requests were accepted after the token was dropped", v.late)
	}
}
