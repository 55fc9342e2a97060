package node

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"cordwood/meta/metaclient"
	"cordwood/proto/metapb"
)

// TestUnchecked checks that a node that does not check users warns once in its log when the first user appears, and on
// /ready as long as there are users.
func TestUnchecked(t *testing.T) {
	var log bytes.Buffer
	u := &unchecked{log: slog.New(slog.NewTextHandler(&log, nil))}
	ann, bob := &metapb.AccessPrincipal{Name: "ann"}, &metapb.AccessPrincipal{Name: "bob"}
	for _, step := range []struct {
		change   metaclient.AccessChanges
		warnings int
		logged   int
	}{
		{metaclient.AccessChanges{Whole: true}, 0, 0},
		{metaclient.AccessChanges{Principals: []*metapb.AccessPrincipal{{Name: "team", Role: true}}}, 0, 0},
		{metaclient.AccessChanges{Principals: []*metapb.AccessPrincipal{ann}}, 1, 1},
		{metaclient.AccessChanges{Principals: []*metapb.AccessPrincipal{ann, bob}}, 1, 1},
		{metaclient.AccessChanges{Dropped: []string{"ann"}}, 1, 1},
		{metaclient.AccessChanges{Dropped: []string{"bob"}}, 0, 1},
		{metaclient.AccessChanges{Whole: true, Principals: []*metapb.AccessPrincipal{bob}}, 1, 2},
		{metaclient.AccessChanges{Whole: true}, 0, 2},
	} {
		u.apply(step.change)
		logged := strings.Count(log.String(), "--auth=on")
		if got := u.warnings(); len(got) != step.warnings || logged != step.logged {
			t.Errorf("after %+v: warnings %q, %d log lines", step.change, got, logged)
		}
	}
}
