package shard

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/schemapb"
	"cordwood/shard/compaction"
	"cordwood/shard/query"
)

// mergingDef returns def(1) with a version and options that make it merge rows or keep them all.
func mergingDef(version uint32, options map[string]string) *schemapb.Table {
	d := def(1)
	d.Version, d.Options = version, options
	return d
}

// TestReplicasMergeAlike runs three replicas that flush and compact at different times; one gets its
// rows as files. Rows that were replaced before the table changed to append mode are gone on every
// replica, and rows that were kept are there. Only the leader decides which rows have expired.
func TestReplicasMergeAlike(t *testing.T) {
	t.Parallel()
	g := newGroup(t, func(_ string, cfg *Config) {
		cfg.TrailingBytes, cfg.trailing = 1, 1
		cfg.Compaction = compaction.NewLimiter(1, 0)
	}, "n1", "n2", "n3")
	leader := g.leader()
	followers := g.followers(leader)
	near, away := followers[0], followers[1]
	define := func(d *schemapb.Table) {
		t.Helper()
		if err := leader.DefineTable(wait(t), d); err != nil {
			t.Fatal(err)
		}
	}
	define(mergingDef(1, map[string]string{"append_mode": "false"}))
	g.put(batch(head(1, 8, 1), "old", "stays"))
	g.barrier(leader, near)
	near.flush()
	g.barrier(leader, away)
	g.node(away.cfg.NodeID).setCut(true)
	g.put(batch(head(1, 9, 1), "new"))
	g.barrier(leader, near)
	define(mergingDef(2, map[string]string{"append_mode": "true"}))
	g.put(batch(head(1, 10, 1), "beside"))
	leader.flush()
	g.put(batch(head(1, 11, 1), "beside too"))
	leader.flush()
	g.node(away.cfg.NodeID).setCut(false)

	want := []string{"beside", "beside too", "new", "stays"}
	check := func(what string, o *opened) {
		t.Helper()
		g.caughtUp(o)
		p, err := o.Pin(wait(t))
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		for i := range p.Merging {
			for k := range p.Merging[i].Eras {
				e := &p.Merging[i].Eras[k]
				switch {
				case k == 0 && e.Merge == query.LastRow && e.Before < math.MaxUint64:
				case k == 1 && e.Merge == query.Append && e.Before == math.MaxUint64:
				default:
					t.Errorf("%s, node %s: era %d is %+v", what, o.cfg.NodeID, k, *e)
				}
			}
		}
		if len(p.Merging) != 1 || len(p.Merging[0].Eras) != 2 {
			t.Errorf("%s, node %s: pinned with %+v, want two eras of one table", what, o.cfg.NodeID, p.Merging)
		}
		if err := o.Compact(wait(t)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, o.rows(1)); diff != "" {
			t.Errorf("%s, node %s (-want +got):\n%s", what, o.cfg.NodeID, diff)
		}
	}
	for _, o := range []*opened{leader, near, away} {
		check("at first", o)
	}
	id := near.cfg.NodeID
	g.stop(id)
	near = g.open(id, nil)
	check("started again", near)

	define(mergingDef(3, map[string]string{"append_mode": "true", "ttl": "1d"}))
	leader = g.leader()
	for _, o := range g.followers(leader) {
		g.barrier(leader, o)
		if some, err := o.clock.expireBy(wait(t), time.Now()); some || err != nil {
			t.Errorf("node %s, which does not lead, expires rows: %v, %v", o.cfg.NodeID, some, err)
		}
	}
	if some, err := leader.clock.expireBy(wait(t), time.Now()); !some || err != nil {
		t.Fatalf("the leader: %v, %v", some, err)
	}
	for _, o := range append(g.followers(leader), leader) {
		g.barrier(leader, o)
		o.flush()
		if rows := o.rows(1); len(rows) > 0 {
			t.Errorf("node %s still has %v", o.cfg.NodeID, rows)
		}
	}
}
