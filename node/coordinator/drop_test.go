package coordinator

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/router/httpapi/clusterapi"
)

// TestShardDrop checks that the rows of a shard are given up only if no node that answers has them,
// and only with the shard's number as confirmation. Afterwards the shard works on other nodes without
// its rows, and the lost node can be removed.
func TestShardDrop(t *testing.T) {
	for _, c := range []struct {
		name    string
		set     func(w *world)
		confirm string
		// refused is a part of the error. asks is a part of the text to confirm.
		refused, asks string
	}{
		{"the shard works", func(*world) {}, "2", "shard 2 works: node node-b leads it; nothing is lost", ""},
		{"its node reported a moment ago", func(w *world) {
			w.down["b"] = time.Now().Add(-4 * time.Second)
			w.groups[2].leader = ""
		}, "2", "node node-b reported 4s ago, and may be alive", ""},
		{
			"without a confirmation", func(w *world) { w.down["b"] = time.Now().Add(-time.Minute) }, "", "",
			"all rows of public.t7, older rows of public.t8 (about 10485760 bytes, up to entry 1000 of its log; " +
				"on node node-b, last reported 1m ago)",
		},
		{
			"with a wrong confirmation", func(w *world) { w.down["b"] = time.Now().Add(-time.Minute) }, "3", "",
			"The rows of shard 2 are given up for good",
		},
		{"another replica exists", func(w *world) {
			w.shards[2].Replicas, w.shards[2].Want = []string{"a", "b", "c"}, 3
			w.groups[2].voters, w.groups[2].leader = []string{"a", "b", "c"}, ""
			w.groups[2].opened["a"], w.groups[2].ready["a"] = time.Now(), time.Now()
			w.down["b"], w.down["c"] = time.Now().Add(-time.Minute), time.Now().Add(-time.Minute)
		}, "2", "shard 2 still has a replica on node-a, with its rows", ""},
		{
			"an older cluster", func(w *world) { w.version = 2; w.down["b"] = time.Now().Add(-time.Minute) }, "2",
			"cannot be created again before the cluster uses protocol version 3", "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := lostWorld(t)
				c.set(w)
				answer, err := NewAdmin(catalog{&process{w: w, leads: true}, false}).Start(t.Context(),
					&clusterapi.Request{Kind: operation.ShardDrop, Shard: 2, Confirm: c.confirm}, "ann")
				switch {
				case c.refused != "":
					if err == nil || !strings.Contains(err.Error(), c.refused) {
						t.Errorf("got %v, want %q", err, c.refused)
					}
				case err != nil || answer.Confirm != "2" || answer.Operation != nil || !strings.Contains(answer.Message, c.asks):
					t.Errorf("got %+v, %v; want to be asked: %q", answer, err, c.asks)
				}
				if len(w.ops) > 0 {
					t.Errorf("an operation was started: %v", w.ops)
				}
			})
		})
	}
}

func lostWorld(t *testing.T) *world {
	w := newWorld(t).node("a", "b", "c").shard(1, "a").shard(1, "b").voting("a")
	return w.table(7, nil, 2).table(8, nil, 1).moved(8, 2)
}

// moved makes the world record that a table was moved from another shard.
func (w *world) moved(table uint64, from uint32) *world {
	t := *w.tables[table]
	old := t.Placement[0]
	old.ShardID = from
	next := t.Placement[0]
	next.Epoch = 2
	t.Placement = append(slices.Clone(t.Placement[:0]), old, next)
	w.tables[table] = &t
	return w
}

// TestShardDropLetsANodeGo checks that a decommission that waits for a lost shard reports this, and that it ends
// after the shard is dropped, even if an operation of that shard waited.
func TestShardDropLetsANodeGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := lostWorld(t)
		w.down["b"] = time.Now().Add(-time.Minute)
		admin := NewAdmin(catalog{&process{w: w, leads: true}, false})
		begin := func(r clusterapi.Request) uint64 {
			t.Helper()
			answer, err := admin.Start(t.Context(), &r, "ann")
			if err != nil || answer.Operation == nil {
				t.Fatalf("%+v: %+v, %v", r, answer, err)
			}
			return answer.Operation.ID
		}
		gone := begin(clusterapi.Request{Kind: operation.NodeDecommission, Node: "b"})
		until := func(done func() bool) { t.Helper(); run(t, w, 10*time.Minute, done) }
		until(func() bool { return strings.Contains(w.ops[gone].Reason, "'cordwood shard drop 2' gives its rows up") })
		drop := begin(clusterapi.Request{Kind: operation.ShardDrop, Shard: 2, Confirm: "2"})
		until(func() bool { return w.ops[drop].State == metapb.OperationState_OPERATION_STATE_DONE })
		if op := w.ops[drop]; !strings.Contains(op.Reason,
			"shard 2 was created again without rows on node-c; lost are all rows of public.t7") || op.RequestedBy != "ann" {
			t.Errorf("the record is %v", op)
		}
		until(func() bool {
			return w.ops[gone].State == metapb.OperationState_OPERATION_STATE_DONE && w.nodes["b"] == nil
		})
		if s := w.shards[2]; !slices.Equal(s.Replicas, []string{"c"}) || s.Incarnation != 1001 || w.groups[2].leader != "c" {
			t.Errorf("the shard is %v", s)
		}
	})
}

// TestLossOfNothing checks that no unknown size is mentioned if a shard has no table.
func TestLossOfNothing(t *testing.T) {
	w := newWorld(t).node("a", "b").shard(1, "a").shard(1, "b").table(7, nil, 1)
	w.down["b"] = time.Now().Add(-time.Minute)
	tables := []*schema.Table{w.tables[7]}
	snap := snapshot.New(time.Now(), snapshot.Limits{}.WithDefaults(), w.status(), tables, nil)
	for id, want := range map[uint32]string{
		1: "all rows of public.t7 (", 2: "no rows: it holds no table (on node node-b, last reported 1m ago)",
	} {
		if got := lossWords(snap, snap.Shards[id]); !strings.HasPrefix(got, want) || id == 2 && got != want {
			t.Errorf("shard %d: %q, want %q", id, got, want)
		}
	}
}
