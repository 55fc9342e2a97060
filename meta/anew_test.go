package meta

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cordwood/meta/catalog"
	"cordwood/proto/metapb"
	"cordwood/proto/schemapb"
)

// TestAnew makes a cluster from an exported state. It knows what the shards know better, and nothing of nodes.
func TestAnew(t *testing.T) {
	m := mustOpen(t, Config{})
	for _, line := range []string{
		fmt.Sprintf("bootstrap c1 shards=3 version=%d", metapb.MaxProtocol), "node n1", "node n2",
		"create kept time:ts9! append_mode=true", "create altered time:ts9! append_mode=true",
		"create dropped time:ts9! append_mode=true", "create later time:ts9! append_mode=true",
	} {
		propose(t, m, line)
	}
	proposeAudited(t, m, accessCommand("boss", createOne("ann", false)))
	e, err := m.Export()
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(e.Plain, []byte("ann")) || !bytes.Contains(e.Access, []byte("ann")) {
		t.Error("the user ann is in the wrong part")
	}
	var altered, later *schemapb.Table
	if err := m.catalog.View(func(tx *catalog.Tx) (err error) {
		if altered, err = tx.Tables.ByName("public", "altered"); err != nil {
			return err
		}
		later, err = tx.Tables.ByName("public", "later")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	altered.Version++
	altered.NextColumnId += 3
	later.Id, later.Name, later.Placement = 40, "kept", nil // a name that is in use

	for _, withAccess := range []bool{true, false} {
		state := *e
		if !withAccess {
			state.Access = nil
		}
		dir := filepath.Join(t.TempDir(), "meta")
		a := Anew{Dir: dir, NodeID: "n1", ClusterID: "c2", State: &state, Now: time.Unix(1000, 0), Shards: []AnewShard{
			{ID: 1, Incarnation: 1, Tables: []*schemapb.Table{altered, later}, Dropped: []uint64{3}},
			{ID: 9, Incarnation: 4, Tables: []*schemapb.Table{later}},
		}}
		r, err := a.Create()
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(r.Empty)
		if fmt.Sprint(r.Incarnations) != "map[1:2 9:5]" || fmt.Sprint(r.Empty) != "[2 3]" || len(r.Notes) != 4 ||
			len(r.Tables) != 4 {
			t.Errorf("%+v", r)
		}
		if _, err := a.Create(); err == nil {
			t.Error("the folder is in use, and was used again")
		}
		n := mustOpen(t, Config{Dir: dir})
		check := func(tx *catalog.Tx) error {
			if id, nodes, users := tx.ClusterID(), tx.Nodes.Count(), tx.Principals.Totals().Users; id != "c2" || nodes != 0 ||
				users != map[bool]uint64{true: 1}[withAccess] {
				t.Errorf("cluster %s with %d nodes and %d users", id, nodes, users)
			}
			s, err := tx.Shards.Get(2)
			if err != nil {
				return err
			}
			if s.Incarnation != 1+recreateStep || s.AnewIncarnation != s.Incarnation ||
				!slices.Equal(s.Replicas, []string{"n1"}) {
				t.Errorf("shard 2 is %v", s)
			}
			got := map[string]string{}
			for id := range r.Tables {
				t, err := tx.Tables.ByID(id)
				if err != nil {
					return err
				}
				got[t.Name] = fmt.Sprintf("%d v%d %v", t.Id, t.Version, catalog.Writable(t))
			}
			for name, want := range map[string]string{
				"kept": "1 v1 [1]", "altered": "2 v2 [2]", "later": "4 v1 [2]", "kept_recovered_40": "40 v1 [1 9]",
			} {
				if got[name] != want {
					t.Errorf("table %s is %q, want %q", name, got[name], want)
				}
			}
			return nil
		}
		if err := n.catalog.View(check); err != nil {
			t.Fatal(err)
		}
		if got := propose(t, n, "create newest time:ts9! append_mode=true"); !strings.HasPrefix(got, "newest=1048581 ") {
			t.Errorf("the next table is %s", got)
		}
		propose(t, n, "node n1")
	}
}
