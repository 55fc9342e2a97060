package cluster

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// signed adds a user to requests that name none.
type signed struct{ user, password string }

func (s signed) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Authorization") == "" {
		r = r.Clone(r.Context())
		r.SetBasicAuth(s.user, s.password)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// TestRightLostOverNodes takes the right to read away from a user, or removes the user, while a statement of this user
// runs on three nodes. The statement must fail with the reason, and all nodes must stop within 100 ms.
func TestRightLostOverNodes(t *testing.T) {
	t.Parallel()
	users := filepath.Join(t.TempDir(), "users")
	change := func(list string) {
		t.Helper()
		next := users + ".next" // the server never sees a file that is written in part
		if err := os.WriteFile(next, []byte(list), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, users); err != nil {
			t.Fatal(err)
		}
	}
	list := "root=pw\nann:ro=pw\nbob:ro=pw\neve:ro=pw\nzoe:ro=pw\n"
	change(list)
	c := NewCluster(t, Spec{All: 3, Replication: 1, Shards: 6, Args: []string{
		"--query-threads", "1", "--user-provider", "watch_file_user_provider:" + users,
	}})
	for _, n := range c.Nodes {
		n.Client = &http.Client{Transport: signed{"root", "pw"}}
	}
	s := fillSpread(t, c, 900_000)
	for _, st := range []struct {
		name, sql   string
		user, after string // the user's line in the file when the statement runs
		nodes       int    // as of awaitWork
		status      int
		code        int
		says        string
	}{
		{
			"aggregate", "SELECT max(" + slowly + ") FROM spread", "ann", "ann:wo=pw\n", 3, 403, 7005,
			"the right query was withdrawn from ann",
		},
		{
			"several", "SELECT max(" + slowly + ") FROM spread UNION ALL SELECT min(" + slowly + ") FROM spread",
			"bob", "", 3, 401, 7002, "bob was removed",
		},
		{
			"subquery", "SELECT count(*) FROM spread WHERE id > (SELECT max(" + slowly + ") FROM spread)",
			"eve", "eve=other\n", 3, 401, 7002, "the password of eve was changed",
		},
		{
			"hauled", "SELECT max(" + slowly + ") FROM spread WHERE random() < 2", "zoe", "zoe:wo=pw\n", 0, 403, 7005,
			"the right query was withdrawn from zoe",
		},
	} {
		t.Run(st.name, func(t *testing.T) {
			user := &Node{HTTP: s.Nodes[0].HTTP, Client: &http.Client{Transport: signed{st.user, "pw"}}}
			answer := user.later(t, st.sql)
			s.awaitWork(t, s.Nodes[0], st.nodes)
			list = strings.Replace(list, st.user+":ro=pw\n", st.after, 1)
			change(list)
			a := <-answer
			ticks := s.ticks()
			wantFailure(t, a, st.status, st.code, st.says)
			s.awaitIdle(t)
			if used := time.Duration(s.ticks()-ticks) * 10 * time.Millisecond; used > 3*100*time.Millisecond {
				t.Errorf("the query processes continued for %s", used)
			}
			if strings.Contains(string(a.Body), `"rows"`) {
				t.Errorf("the answer has rows: %s", a.Body)
			}
		})
	}
}
