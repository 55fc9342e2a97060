package cluster

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// as returns a client of the router of n that sends its requests by a transport.
func as(n *Node, by http.RoundTripper) *Node {
	return &Node{HTTP: n.HTTP, Client: &http.Client{Transport: by}}
}

// accepted reports whether a router accepts a token now, and the status.
func accepted(n *Node, token string) (bool, int, error) {
	a, err := as(n, bearer(token)).Do("GET", "/v1/access/whoami", nil)
	if err != nil {
		return false, 0, err
	}
	return a.Status == http.StatusOK, a.Status, nil
}

// mayRead reports whether a user has SELECT on the table app according to a router.
func mayRead(n *Node, user string) (bool, error) {
	a, err := as(n, signed{user, "correct horse battery"}).Do("POST", "/v1/access/check",
		strings.NewReader(`[{"privilege":"SELECT","object":"public.app"}]`), "Content-Type", "application/json")
	if err == nil && a.Status != http.StatusOK {
		err = fmt.Errorf("%d %s", a.Status, a.Body)
	}
	return err == nil && strings.Contains(string(a.Body), "[true]"), err
}

// metaLeader returns the node that leads the metadata group.
func metaLeader(t *testing.T, c *Cluster, ask *Node) *Node {
	t.Helper()
	var leader *Node
	Eventually(t, 30*time.Second, func() error {
		rows, err := ask.Query("SELECT name FROM svc_private.cluster_nodes WHERE meta_role = 'leader'")
		if err != nil {
			return err
		}
		for _, n := range c.Nodes {
			if len(rows) == 1 && rows[0][0] == n.Name {
				leader = n
				return nil
			}
		}
		return fmt.Errorf("no leader: %v", rows)
	})
	return leader
}

// revocation is a statement that takes something away, and whether a router still honours it.
type revocation struct {
	sql      string
	honours  func(n *Node) (bool, error)
	answered bool // without an error
}

// TestRevokedWhileLeaderIsKilled kills the leader of the metadata group while tokens and grants are revoked. What a
// statement has revoked before it answered is refused by each router within a second, and does not come back when the
// leader is restarted. Of a statement that failed, all routers know the same outcome. A router that hears nothing of
// the metadata refuses users and tokens after --access-max-age.
func TestRevokedWhileLeaderIsKilled(t *testing.T) {
	t.Parallel()
	users := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(users, []byte("root=pw\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const maxAge = 10 * time.Second
	c := NewCluster(t, Spec{All: 3, Router: 1, Replication: 1, Shards: 1, Args: []string{
		"--user-file", users, "--access-max-age", maxAge.String(),
	}})
	router := c.Routers[len(c.Routers)-1]
	c.Start()
	for _, n := range c.Nodes {
		n.Client = &http.Client{Transport: signed{"root", "pw"}}
	}
	kept := newToken(t, router, "CREATE TOKEN kept FOR QUERY ON app")
	for round := range 3 {
		revokeWhileKilled(t, c, router, round)
	}
	for _, n := range c.Nodes[:3] {
		n.Kill()
	}
	if ok, status, err := accepted(router, kept); !ok {
		t.Errorf("a token on a router that was just cut off: %d %v", status, err)
	}
	Eventually(t, Generous(3*maxAge), func() error {
		a, err := as(router, bearer(kept)).Do("GET", "/v1/access/whoami", nil)
		if err == nil && (a.Status != http.StatusServiceUnavailable || !strings.Contains(string(a.Body), "has not heard")) {
			err = fmt.Errorf("%d %s", a.Status, a.Body)
		}
		return err
	})
	if a, err := router.Do("GET", "/v1/access/whoami", nil); err != nil || a.Status != http.StatusOK {
		t.Errorf("a user of the user file on a router that is cut off: %v %v", a, err)
	}
	for _, n := range c.Nodes[:3] {
		n.Launch()
	}
	c.AwaitReady(Generous(time.Minute))
	Eventually(t, Generous(30*time.Second), func() error {
		if ok, status, err := accepted(router, kept); !ok {
			return errors.Join(fmt.Errorf("after the cut, a token gets %d", status), err)
		}
		return nil
	})
}

// revokeWhileKilled revokes tokens and grants by the last router while the leader of the metadata group is killed.
func revokeWhileKilled(t *testing.T, c *Cluster, router *Node, round int) {
	t.Helper()
	const each = 4
	var all []*revocation
	for i := range each {
		name := fmt.Sprintf("t%d_%d", round, i)
		token := newToken(t, router, "CREATE TOKEN "+name+" FOR QUERY ON app")
		all = append(all, &revocation{sql: "DROP TOKEN " + name, honours: func(n *Node) (bool, error) {
			ok, _, err := accepted(n, token)
			return ok, err
		}})
		user := fmt.Sprintf("u%d_%d", round, i)
		router.Rows(t, "CREATE USER "+user+" PASSWORD 'correct horse battery'")
		router.Rows(t, "GRANT SELECT ON public.* TO "+user)
		all = append(all, &revocation{sql: "REVOKE SELECT ON public.* FROM " + user, honours: func(n *Node) (bool, error) {
			return mayRead(n, user)
		}})
	}
	for _, n := range c.Nodes {
		for _, r := range all {
			Eventually(t, Generous(10*time.Second), func() error {
				if ok, err := r.honours(n); !ok || err != nil {
					return errors.Join(fmt.Errorf("%s knows nothing of what is to be revoked", n.Name), err)
				}
				return nil
			})
		}
	}
	leader := metaLeader(t, c, router)
	var living []*Node
	for _, n := range c.Nodes {
		if n != leader {
			living = append(living, n)
		}
	}
	first, killed := make(chan struct{}), make(chan struct{})
	go func() {
		<-first
		leader.Kill()
		close(killed)
	}()
	answered := 0
	for i, r := range all {
		if i == 1 {
			close(first) // the next statements run before, while and after the leader dies
		}
		_, err := router.Query(r.sql)
		at := time.Now()
		if r.answered = err == nil; !r.answered {
			t.Logf("round %d: %s: %v", round, r.sql, err)
			continue
		}
		answered++
		for _, n := range living {
			refusedWithin(t, n, r, at.Add(time.Second))
		}
	}
	<-killed
	if answered < len(all)/2 {
		t.Errorf("round %d: only %d of %d statements were answered", round, answered, len(all))
	}
	leader.Launch()
	c.AwaitReady(Generous(time.Minute))
	for _, r := range all {
		Eventually(t, Generous(20*time.Second), func() error { return sameEverywhere(c, r) })
	}
}

// refusedWithin checks that a router refuses what was revoked, at the given time at the latest.
func refusedWithin(t *testing.T, n *Node, r *revocation, limit time.Time) {
	t.Helper()
	for {
		begin := time.Now()
		ok, err := r.honours(n)
		switch {
		case err != nil:
			t.Errorf("%s: %s: %v", r.sql, n.Name, err)
			return
		case !ok:
			return
		case begin.After(limit):
			t.Errorf("%s: %s still honours it a second after the answer", r.sql, n.Name)
			return
		}
	}
}

// sameEverywhere returns an error if a router honours what was revoked, or, after a statement without an answer, if
// routers disagree.
func sameEverywhere(c *Cluster, r *revocation) error {
	honour := 0
	for _, n := range c.Nodes {
		ok, err := r.honours(n)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", r.sql, n.Name, err)
		}
		if ok {
			honour++
		}
	}
	if honour > 0 && (r.answered || honour < len(c.Nodes)) {
		return fmt.Errorf("%s (answered: %t): %d of %d routers still honour it", r.sql, r.answered, honour, len(c.Nodes))
	}
	return nil
}
