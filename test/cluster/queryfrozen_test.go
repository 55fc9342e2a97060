package cluster

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestFrozenNode suspends one of three nodes of a table with one replica. The time limit of the queries is below the
// timeout of a connection. A query must fail with the node and its shards, or get a partial answer if it allows that.
func TestFrozenNode(t *testing.T) {
	t.Parallel()
	s := newSpread(t, 1, 3*spreadBody)
	user := s.Nodes[0]
	victim := s.leading(t, user)
	const (
		groups  = "SELECT host, count(*) FROM spread GROUP BY host ORDER BY host"
		fetched = "SELECT count(*), sum(id) FROM spread WHERE v < 500 AND random() < 2"
	)
	user.Rows(t, groups)
	victim.Pause()
	defer victim.Continue()
	for _, tt := range []struct {
		params, sql string
		partial     bool
	}{
		{"", groups, false},
		{"consistency=any&", groups, false},
		{"", fetched, false},
		{"allow_partial=true&", groups, true},
		{"allow_partial=true&", fetched, true},
	} {
		begin := time.Now()
		a, err := user.Do("POST", fmt.Sprintf("/v1/sql?%ssql=%s", tt.params, url.QueryEscape(tt.sql)), nil,
			"x-svc-timeout", "12s")
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s%s: %d after %v: %q %.400s", tt.params, tt.sql, a.Status, time.Since(begin),
			a.Header.Get("x-svc-partial"), a.Body)
		if tt.partial {
			if a.Status != 200 || !strings.Contains(a.Header.Get("x-svc-partial"), "shard") {
				t.Errorf("%s%s: status %d, partial %q: %s", tt.params, tt.sql, a.Status, a.Header.Get("x-svc-partial"), a.Body)
			}
			continue
		}
		if body := string(a.Body); a.Status != 503 || !strings.Contains(body, "node "+victim.Name) ||
			!strings.Contains(body, "shard") {
			t.Errorf("%s%s: status %d: %s", tt.params, tt.sql, a.Status, body)
		}
	}
}
