package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cordwood/node/coordinator/operation"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/router/httpapi/clusterapi"
)

// catalog is a process's copy of the metadata.
type catalog struct {
	*process
	noLeader bool
}

func (c catalog) Status(ctx context.Context) (*metapb.StatusResponse, error) {
	if c.noLeader {
		return nil, errors.New("no leader")
	}
	return c.process.Status(ctx)
}

func (c catalog) Table(database, name string) (*schema.Table, bool) {
	for _, t := range c.Tables(database) {
		if t.Name == name && t.Database == database {
			return t, true
		}
	}
	return nil, false
}

func (c catalog) Nodes() []*metapb.Node {
	var out []*metapb.Node
	for _, n := range c.w.status().Nodes {
		out = append(out, n.Node)
	}
	return out
}

func (c catalog) Shards() []*metapb.Shard { return c.w.status().Shards }

func (c catalog) Operations() []*metapb.Operation { return c.w.status().Operations }

func (c catalog) Operation(uint64) (*metapb.Operation, bool) { return nil, false }

func (c catalog) Settings() *metapb.Settings { return c.w.settings }

func (c catalog) ClusterVersion() uint32 { return c.w.version }

func (c catalog) ClusterID() string { return "c" }

func (c catalog) text(s *clusterapi.Status) (out string) {
	for _, p := range s.Problems {
		out += p.Severity + ": " + p.Text + " -> " + p.Advice + "\n"
		for _, a := range p.Actions {
			out += fmt.Sprintf("  %s node=%s shard=%d operation=%d\n", a.Kind, a.Node, a.Shard, a.Operation)
		}
	}
	for _, n := range s.Nodes {
		out += n.Name + " " + n.State + "\n"
	}
	for _, sh := range s.Shards {
		out += fmt.Sprintf("%d %s %s\n", sh.ID, sh.State, strings.Join(sh.Unready, " "))
	}
	for _, a := range s.RowsAside {
		since := "-"
		if a.Since != nil {
			since = a.Since.Format(time.RFC3339)
		}
		out += fmt.Sprintf("aside %s %d %s %d %d %s %s\n", a.Table, a.Shard, a.Node, a.Rows, a.Bytes, a.Reason, since)
	}
	return fmt.Sprintf("%s\ntolerance %d \n%s", s.Health, s.FailureTolerance, out)
}

// TestStatusInWords checks that the status lists each problem and what to do about it.
func TestStatusInWords(t *testing.T) {
	for _, c := range []struct {
		name     string
		set      func(w *world)
		noLeader bool
		want     []string
		not      string
	}{
		{
			"all nodes work", func(w *world) { w.node("a", "b", "c").shard(3, "a", "b", "c").voting("a", "b", "c") }, false,
			[]string{"ok\n"},
			":",
		},
		{"one node is down", func(w *world) {
			w.node("a", "b", "c", "d").shard(3, "a", "b", "c").voting("a", "b", "c")
			w.down["c"] = time.Now().Add(-3 * time.Minute)
		}, false, []string{
			"degraded\n", "node node-c has not answered for 3m; its replica is replaced in 12m if another replica is left -> " +
				"start it again",
			"'cordwood node decommission node-c'; if it runs, check the network between it and node node-a, " +
				"which leads the metadata",
			"shard 1: 2 of 3 replicas answer -> nothing: the replicas are replaced when their nodes have been silent for 15m",
			"of the 3 voters of the metadata group, node-c does not answer",
			"no reports from it\n  node-decommission node=node-c ",
		}, "critical"},
		{"a node that was drained and stopped", func(w *world) {
			w.node("a", "b", "c", "d").shard(3, "a", "b", "c").voting("a", "b", "c")
			w.nodes["d"].State = metapb.NodeState_NODE_STATE_DRAINED
			w.down["d"] = time.Now().Add(-time.Minute)
		}, false, []string{
			"ok\n",
			"info: node node-d has not answered for 1m; it was drained and has no replicas -> 'cordwood node remove node-d', " +
				"if it will not come back\n  node-remove node=node-d ",
		}, "warning"},
		{"a router", func(w *world) {
			w.node("a", "b", "c", "r:router").shard(3, "a", "b", "c").voting("a", "b", "c")
			w.down["r"] = time.Now().Add(-time.Minute)
		}, false, []string{
			"degraded\n",
			"router node-r has not answered for 1m; it has no replicas -> start it again; if it is gone for good, " +
				"'cordwood node remove node-r'",
		}, "decommission"},
		{
			"one node is down, and no other node can replace it", func(w *world) {
				w.node("a", "b", "c").shard(3, "a", "b", "c").voting("a", "b", "c")
				w.down["c"] = time.Now().Add(-3 * time.Minute)
			}, false,
			[]string{
				"its replica is not replaced: all nodes that are up (2) have a replica; add a node -> start it " +
					"again; if it is lost for good, add a node, then 'cordwood node decommission node-c'",
				"  node-add ",
			},
			"are replaced when",
		},
		{"and no other node can replace it", func(w *world) {
			w.node("a", "b", "c").shard(3, "a", "b", "c").voting("a", "b", "c")
			w.down["c"] = time.Now().Add(-20 * time.Minute)
		}, false, []string{
			"its replica is not replaced: all nodes that are up (2) have a replica; add a node",
			"2 of 3 replicas answer -> node node-c is down; all nodes that are up (2) have a replica; add a node",
		}, "critical"},
		{"the only replica", func(w *world) {
			w.node("a", "b").shard(1, "a").shard(1, "b").voting("a")
			w.down["b"] = time.Now().Add(-time.Minute)
		}, false, []string{
			"broken\n",
			"shard 2 is unavailable: its only replica is on node node-b, which does not answer -> start node node-b again " +
				"with its data folder",
		}, ""},
		{"a majority", func(w *world) {
			w.node("a", "b", "c").shard(3, "a", "b", "c").voting("a")
			w.down["b"], w.down["c"] = time.Now().Add(-time.Minute), time.Now().Add(-time.Minute)
		}, false, []string{
			"broken\n",
			"shard 1 is unavailable: 2 of its 3 replicas, on node-b, node-c, do not answer, and a majority is needed -> " +
				"start nodes",
			"cordwood recover",
		}, ""},
		{"no shard yet", func(w *world) {
			w.node("r:router").voting("r")
			w.settings.InitialShards, w.began = 4, time.Now().Add(-time.Hour)
		}, false, []string{"broken\n", "there is no shard yet", "start 1 or more nodes with the role shard"}, ""},
		{
			"no leader of the metadata", func(w *world) { w.node("a", "b", "c", "r:router").shard(1, "a") }, true,
			[]string{
				"broken\n", "no leader of the metadata group answers",
				"other nodes with the role meta (node-b, node-c) run, and start the stopped ones",
			},
			"",
		},
		{
			"no leader of the metadata, and no other node", func(w *world) { w.node("a", "r:router").shard(1, "a") }, true,
			[]string{"broken\n", "no other node has the role meta: check the log of this node"},
			"start the",
		},
		{"a replica that was just started", func(w *world) {
			w.node("a", "b", "c").shard(3, "a", "b", "c").shard(3, "b", "a", "c").voting("a", "b", "c")
			w.groups[1].ready["c"] = time.Now().Add(time.Minute)
			w.groups[2].opened["c"] = time.Now().Add(time.Minute)
		}, false, []string{
			"degraded\n", "tolerance 0 ", "node node-c is not ready: its replica of shard 2 cannot be used (is not open yet); " +
				"queries go to other replicas -> ",
			"its replica of shard 1 cannot be used (copies the state of another one", "1 catching up node-c\n", "2 catching " +
				"up node-c\n",
		}, "critical"},
		{"a node that was killed a moment ago", func(w *world) {
			w.node("a", "b", "c").shard(3, "a", "b", "c").shard(1, "c").voting("a", "b", "c")
			w.down["c"] = time.Now().Add(-4 * time.Second)
			w.groups[2].leader = ""
		}, false, []string{
			"broken\n", "tolerance -1 ", "node-c silent\n",
			"shard 2 is unavailable: node node-c, which holds it, last reported 4s ago -> check whether node node-c runs",
			"node node-c last reported 4s ago; after 10s it counts as down",
		}, "node-c up"},
		{"a majority was killed a moment ago", func(w *world) {
			w.node("a", "b", "c").shard(3, "a", "b", "c").voting("a", "b", "c")
			w.down["b"], w.down["c"] = time.Now().Add(-4*time.Second), time.Now().Add(-4*time.Second)
			w.groups[1].leader = "b"
		}, false, []string{
			"broken\n",
			"shard 1 may have no leader: 2 of its 3 replicas, on node-b, node-c, last reported 4s ago -> check whether " +
				"nodes node-b, node-c run",
		}, "elect"},
		{"a leader of the metadata that has received no reports yet", func(w *world) {
			w.node("a", "b", "c").shard(3, "a", "b", "c").shard(1, "c").voting("a", "b", "c")
			w.unheard = map[string]bool{"a": true, "b": true, "c": true}
		}, false, []string{
			"unknown\n", "the state of these nodes is not known yet: node-a, node-b, node-c;",
			"ask again in a few seconds", "1 unknown", "node-b unknown",
		}, "critical"},
		{"a port that no node can reach", func(w *world) {
			w.node("a", "b", "c").shard(3, "a", "b", "c").shard(3, "a", "b", "c").voting("a", "b", "c")
			w.groups[1].leader, w.groups[2].leader = "a", "b"
			w.nodes["c"].RpcAddr, w.shut, w.unreached = "10.0.0.3:4101", map[string]bool{"c": true},
				map[string][]string{"c": {"a", "b"}}
		}, false, []string{
			"degraded\n", "tolerance 0 ", "warning: node node-c: its port 10.0.0.3:4101 cannot be reached from node-a, " +
				"node-b (dial tcp: i/o timeout), although its own connections work",
			"-> allow connections to that port: check firewalls", "node-c unreachable\n", "1 catching up node-c\n",
		}, "critical"},
		{"a port that no node can reach, of a leader that cannot be replaced", func(w *world) {
			w.node("a", "b", "c").shard(1, "c").shard(3, "a", "b", "c").voting("a", "b", "c")
			w.groups[2].leader = "a"
			w.shut, w.unreached = map[string]bool{"c": true}, map[string][]string{"c": {"a", "b"}}
		}, false, []string{
			"broken\n",
			"critical: node node-c cannot be reached, and shard 1 is led by it anyway: its rows can only be written and " +
				"read through itself",
		}, "shard 2 is led"},
		{"a port that one node cannot reach", func(w *world) {
			w.node("a", "b", "c").shard(3, "a", "b", "c").voting("a", "b", "c")
			w.unreached = map[string][]string{"c": {"b"}}
		}, false, []string{
			"degraded\n",
			"cannot be reached from node-b (dial tcp: i/o timeout), but from others -> check the network from node-b to it",
		}, "unreachable"},
		{"two nodes cannot reach each other", func(w *world) {
			w.node("a", "b", "c").shard(3, "a", "b", "c").voting("a", "b", "c")
			w.mute = map[string][]string{"b": {"c"}, "c": {"b"}}
		}, false, []string{
			"degraded\n",
			"nodes node-b and node-c do not reach each other, and others reach both -> check the network between them",
		}, "its port"},
		{"one node does not hear another, which does not report it", func(w *world) {
			w.node("a", "b", "c").shard(3, "a", "b", "c").voting("a", "b", "c")
			w.mute = map[string][]string{"b": {"c"}}
		}, false, []string{"ok\n"}, "reach"},
		{"rows that cannot be written to segments", func(w *world) {
			w.node("a", "b", "c").shard(3, "a", "b", "c").voting("a", "b", "c").table(7, nil, 1)
			w.groups[1].aside = map[string][]*metapb.AsideRows{
				"b": {
					{TableId: 7, Rows: 12, Bytes: 4096, Reason: "index out of range", SinceUnixNano: 1e18},
					{TableId: 9, Rows: 3, Reason: "another"},
				},
			}
		}, false, []string{
			"degraded\n", "warning: shard 1: 15 rows of 2 tables cannot be written to segments on node node-b -> they are " +
				"kept and queried; start a newer version, which tries again, or drop the table",
			"aside public.t7 1 node-b 12 4096 index out of range 2001-09-09T01:46:40Z\n",
			"aside table id 9 1 node-b 3 0 another -\n",
		}, "critical"},
		{"disks fill up", func(w *world) {
			w.node("a", "b", "c").shard(3, "a", "b", "c").voting("a", "b", "c")
			w.used = map[string]int64{"a": 950 << 30, "c": 1000 << 30}
		}, false, []string{
			"degraded\n", "warning: disks are filling up: node-c 98 %, node-a 93 % -> ", "  node-add ",
		}, "critical"},
		{"nodes share a disk that fills up", func(w *world) {
			w.node("a", "b", "c").shard(3, "a", "b", "c").voting("a", "b", "c")
			w.used = map[string]int64{"a": 950 << 30, "b": 950<<30 + 2, "c": 950<<30 + 1}
		}, false, []string{
			"degraded\n", "warning: disks are filling up: node-a 93 %, node-b 93 %, node-c 93 % -> ",
		}, "critical"},
		{"an operation waits", func(w *world) {
			w.node("a", "b").shard(1, "a").voting("a")
			w.ops[1] = &metapb.Operation{
				Id: 1, Kind: operation.NodeDrain, NodeId: "a", State: metapb.OperationState_OPERATION_STATE_RUNNING,
				Step: stepParts, Reason: "for a free node", UpdatedUnixNano: time.Now().Add(-time.Hour).UnixNano(),
			}
		}, false, []string{
			"operation 1 (node-drain node node-a) waits: for a free node -> resolve what it waits for, or run 'cordwood " +
				"cluster cancel 1'\n  cancel node= shard=0 operation=1\n",
		}, ""},
		{"a new node waits for replicas", func(w *world) {
			w.node("a", "b").voting("a")
			for range 6 {
				w.shard(1, "a")
			}
			w.nodes["b"].RegisteredUnixNano = time.Now().Add(-4 * time.Minute).UnixNano()
			w.began = time.Now().Add(-time.Hour)
		}, false, []string{
			"info: at 00:06:00 UTC, replicas begin to move to node node-b, which holds less than others; later, if a node " +
				"joins or leaves before -> 'cordwood rebalance' starts now\n  rebalance ",
		}, "critical"},
		{"the metadata have a new leader, which waits again", func(w *world) {
			w.node("a", "b").voting("a")
			for range 6 {
				w.shard(1, "a")
			}
			w.nodes["b"].RegisteredUnixNano = time.Now().Add(-4 * time.Minute).UnixNano()
			w.began = time.Now().Add(-time.Minute)
		}, false, []string{"at 00:09:00 UTC, replicas begin to move"}, "critical"},
		{"the emptiest node has not reported yet", func(w *world) {
			w.node("a", "b").voting("a")
			for range 6 {
				w.shard(1, "a")
			}
			w.nodes["a"].RegisteredUnixNano, w.began = time.Now().Add(-4*time.Minute).UnixNano(), time.Now().Add(-time.Second)
			w.unheard = map[string]bool{"b": true}
		}, false, []string{"the state of these nodes is not known yet: node-b"}, "replicas are moved"},
		{"a voter has stopped", func(w *world) {
			w.node("a", "b", "c", "d").shard(3, "a", "b", "c").voting("a", "b", "c")
			w.stopping["c"], w.down["c"] = true, time.Now().Add(-4*time.Second)
		}, false, []string{
			"of the 3 voters of the metadata group, node-c has stopped: if another one fails, schemas and placement cannot " +
				"change -> start it again; a voter",
			"node node-c has stopped, as announced; it last reported 4s ago -> start it again",
		}, "is stopping"},
		{"it stopped long ago", func(w *world) {
			w.node("a", "b", "c", "d").shard(3, "a", "b", "c").voting("a", "b", "c")
			w.stopping["c"], w.down["c"] = true, time.Now().Add(-3*time.Minute)
		}, false, []string{
			"group, node-c has stopped",
			"node node-c stopped, as announced, 3m ago; its replica is replaced in 12m if another replica is left -> start " +
				"it again; " +
				"if it is lost for good, 'cordwood node decommission node-c'\n",
		}, "network"},
		{"a node that is down is decommissioned", func(w *world) {
			w.node("a", "b", "c", "d").shard(3, "a", "b", "c").voting("a", "b", "c")
			w.down["c"] = time.Now().Add(-3 * time.Minute)
			w.ops[4] = &metapb.Operation{
				Id: 4, Kind: operation.NodeDecommission, NodeId: "c", State: metapb.OperationState_OPERATION_STATE_RUNNING,
				UpdatedUnixNano: time.Now().UnixNano(),
			}
		}, false, []string{
			"node node-c has not answered for 3m; operation 4 (node-decommission) removes it from the cluster -> nothing, while",
		}, "'cordwood node decommission"},
		{"the only replicas are on a node that is down", func(w *world) {
			w.node("a", "b", "c").shard(1, "a").shard(1, "c").shard(1, "c").voting("a")
			w.down["c"] = time.Now().Add(-time.Minute)
		}, false, []string{"broken\n", "node node-c has not answered for 1m -> start it again"}, "replaced"},
		{"a shard with one replica is being removed", func(w *world) {
			w.node("a", "b", "c").shard(3, "a", "b", "c").shard(1, "c").voting("a", "b", "c")
			w.shards[2].Retiring = true
		}, false, []string{"ok\n"}, "has one replica"},
		{"balancing is paused", func(w *world) {
			w.node("a", "b", "c").shard(1, "a").voting("a")
			w.settings.RebalancePaused = true
		}, false, []string{
			"ok\n", "rebalancing is paused", "shard 1 has one replica: while its node is down",
			"'cordwood shard replicas 1 3'",
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				c.set(w)
				cat := catalog{&process{w: w, leads: true}, c.noLeader}
				s, err := NewAdmin(cat).On("a").Status(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				got := cat.text(s)
				for _, want := range c.want {
					if !strings.Contains(got, want) {
						t.Errorf("no %q in\n%s", want, got)
					}
				}
				if c.not != "" && strings.Contains(got, c.not) {
					t.Errorf("%q in\n%s", c.not, got)
				}
			})
		})
	}
}

// TestStartRefuses checks that impossible operations are refused before they start.
func TestStartRefuses(t *testing.T) {
	for _, c := range []struct {
		r    clusterapi.Request
		want string // text of the error; empty if the operation is started or done
	}{
		{clusterapi.Request{Kind: "paint"}, `there is no operation "paint": there are shard-add`},
		{clusterapi.Request{Kind: operation.ShardAdd, Count: 1000}, "1 to 256 can be created"},
		{clusterapi.Request{Kind: operation.ShardAdd, Replicas: 4}, "4 replicas survive the loss of 1 node, as 3 would"},
		{clusterapi.Request{Kind: operation.ShardAdd, Replicas: 2}, "2 replicas survive the loss of 0 nodes, as 1 would"},
		{
			clusterapi.Request{Kind: operation.ShardAdd, Replicas: 7},
			"a shard of 7 replicas needs as many nodes that hold shards, and 3 are up: add 4",
		},
		{clusterapi.Request{Kind: operation.ShardAdd, Replicas: 8}, "1, 3, 5 or 7 are possible"},
		{clusterapi.Request{Kind: operation.ReplicaChange, Shard: 1, Replicas: 2}, "use 1 or 3"},
		{clusterapi.Request{Kind: operation.ReplicaChange, Shard: 1}, "1, 3, 5 or 7 are possible"},
		{clusterapi.Request{Kind: operation.ShardAdd}, ""},
		{clusterapi.Request{Kind: operation.ShardMove, Shard: 1, From: "node-a"}, "needs shard, from and to"},
		{
			clusterapi.Request{Kind: operation.ShardMove, Shard: 1, From: "node-a", To: "node-x"},
			`there is no node "node-x": there are node-a, node-b, node-c`,
		},
		{
			clusterapi.Request{Kind: operation.ShardMove, Shard: 9, From: "node-a", To: "node-b"},
			"there is no shard 9: there are 1, 2",
		},
		{clusterapi.Request{Kind: operation.ShardDrop, Shard: 9}, "there is no shard 9: there are 1, 2"},
		{clusterapi.Request{Kind: operation.ShardDrop}, "shard-drop needs shard"},
		{
			clusterapi.Request{Kind: operation.TableMove, Table: "public.t7", ToShards: []uint32{1, 30}},
			"there is no shard 30: there are 1, 2",
		},
		{
			clusterapi.Request{Kind: operation.ShardMove, Shard: 2, From: "node-a", To: "node-b"},
			"has a replica on node node-b already",
		},
		{clusterapi.Request{Kind: operation.ShardMove, Shard: 1, From: "a", To: "node-b"}, ""},
		{clusterapi.Request{Kind: operation.ReplicaChange, Shard: 1, Replicas: 5}, "shard 1 cannot have 5 replicas"},
		{clusterapi.Request{Kind: operation.TableMove, Table: "t7", ToShards: []uint32{2}}, "as DATABASE.TABLE"},
		{
			clusterapi.Request{Kind: operation.TableMove, Table: "public.t9", ToShards: []uint32{2}},
			"table public.t9 does not exist",
		},
		{clusterapi.Request{Kind: operation.TableMove, Table: "public.t8", ToShards: []uint32{2}}, ""},
		{
			clusterapi.Request{Kind: operation.TableMove, Table: "public.t7", ToShards: []uint32{2, 2}},
			"shard 2 is given twice",
		},
		{clusterapi.Request{Kind: operation.TableMove, Table: "public.t7", ToShards: []uint32{2}}, ""},
		{
			clusterapi.Request{Kind: operation.NodeDrain, Node: "node-a"},
			"node node-a cannot be drained: shard 2 wants 3 replicas, and without it 2 nodes can hold one: " +
				"add 1 node, or reduce its replicas with 'cordwood shard replicas 2 1'",
		},
		{clusterapi.Request{Kind: operation.NodeDrain, Node: "node-a", ForRestart: true}, ""},
		{
			clusterapi.Request{Kind: operation.NodeDrain, Node: "node-a", WithRows: true},
			"with_rows is only for table-move and table-partition",
		},
		{clusterapi.Request{Kind: operation.RequestRemove, Node: "node-a"}, "has a replica of shard 1"},
		{clusterapi.Request{Kind: operation.RequestUndrain, Node: "node-a"}, ""},
		{clusterapi.Request{Kind: operation.RequestPause}, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t).node("a", "b", "c").shard(1, "a").shard(3, "a", "b", "c").voting("a", "b", "c")
			w.table(7, nil, 1).table(8, map[string]string{}, 1)
			_, err := NewAdmin(catalog{&process{w: w, leads: true}, false}).Start(t.Context(), &c.r, "ann")
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v: %v, want %q", c.r, err, c.want)
			}
			if err != nil && len(w.ops) > 0 {
				t.Errorf("%+v: refused, but started", c.r)
			}
		})
	}
}

// TestVoterWithoutSuccessor checks that a voter of the metadata group which no node can replace
// leaves only by force, and that the status shows the lower tolerance.
func TestVoterWithoutSuccessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t).node("a", "b", "c", "d:shard").shard(3, "a", "b", "d").voting("a", "b", "c")
		cat := catalog{&process{w: w, leads: true}, false}
		admin := NewAdmin(cat)
		for _, kind := range []string{operation.NodeDecommission, operation.RequestRemove} {
			w.stopping["c"] = kind == operation.RequestRemove
			_, err := admin.Start(t.Context(), &clusterapi.Request{Kind: kind, Node: "c"}, "ann")
			if err == nil || !strings.Contains(err.Error(), "one of 3 voters of the metadata group, and no other node") ||
				!strings.Contains(err.Error(), "--force") {
				t.Errorf("%s: %v", kind, err)
			}
		}
		w.stopping["c"] = false
		if _, err := admin.Start(t.Context(), &clusterapi.Request{Kind: operation.NodeDecommission, Node: "c", Force: true},
			"ann"); err != nil {
			t.Fatal(err)
		}
		run(t, w, 10*time.Minute, w.idle)
		s, err := admin.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := cat.text(s); len(w.voters) != 2 || !strings.Contains(got, "tolerance 0 ") ||
			!strings.Contains(got, "warning: the metadata group has 2 voters, which tolerate no more than 1 do: "+
				"0 may fail -> add a node with the role meta") {
			t.Errorf("voters %v, status %s", w.voters, got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t).node("a", "b", "c", "e:meta").shard(1, "a").voting("a", "b", "c")
		if _, err := NewAdmin(catalog{&process{w: w, leads: true}, false}).Start(t.Context(),
			&clusterapi.Request{Kind: operation.NodeDecommission, Node: "c"}, "ann"); err != nil {
			t.Errorf("with a node that can take its place: %v", err)
		}
	})
}

// TestNodesAreEmptiedOneByOne checks that draining a node is refused if a concurrent operation leaves
// too few nodes.
func TestNodesAreEmptiedOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t).node("a", "b", "c", "d").shard(3, "a", "b", "c").voting("a", "b", "c")
		admin := NewAdmin(catalog{&process{w: w, leads: true}, false})
		if _, err := admin.Start(t.Context(), &clusterapi.Request{Kind: operation.NodeDecommission, Node: "node-d"},
			"ann"); err != nil {
			t.Fatal(err)
		}
		_, err := admin.Start(t.Context(), &clusterapi.Request{Kind: operation.NodeDecommission, Node: "node-a"}, "ann")
		if err == nil || !strings.Contains(err.Error(), "node node-a cannot be drained") {
			t.Errorf("a second node is drained: %v", err)
		}
	})
}

// TestKindsOfRequests checks that users can ask for each kind except those that only the cluster
// starts, and that the error for an unknown kind lists the kinds.
func TestKindsOfRequests(t *testing.T) {
	onlyCluster := []string{operation.ReplicaRepair}
	for _, kind := range operation.Kinds {
		if _, ok := requests[kind]; ok == slices.Contains(onlyCluster, kind) {
			t.Errorf("%s: can be asked for: %v", kind, ok)
		}
	}
	for kind := range requests {
		if !slices.Contains(operation.Kinds, kind) || !slices.Contains(kinds, kind) {
			t.Errorf("%s is missing in operation.Kinds or in the list of the error", kind)
		}
	}
}
