package coordinator

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
)

// TestNodesDown checks that a node which was drained and stopped does not count as down, and that
// other stopped nodes do.
func TestNodesDown(t *testing.T) {
	w := newWorld(t).node("a", "b", "c", "d", "r:router").shard(3, "a", "b", "c").voting("a", "b", "c")
	for _, id := range []string{"c", "d", "r"} {
		w.down[id] = time.Now().Add(-time.Minute)
	}
	w.nodes["c"].State = metapb.NodeState_NODE_STATE_DRAINING // it still has a replica
	w.nodes["d"].State = metapb.NodeState_NODE_STATE_DRAINED
	if got, ok := gauges(t, w)["cordwood_cluster_nodes_down"]; !ok || got != 2 {
		t.Errorf("%v nodes are down, %v, want 2", got, ok)
	}
}

// TestEmptyShardAlarmsNobody checks that a retiring shard without tables neither counts as unavailable nor lowers the
// tolerance. A retiring shard with a table must count.
func TestEmptyShardAlarmsNobody(t *testing.T) {
	for _, c := range []struct {
		name                          string
		table                         uint32
		under, unavailable, tolerance float64
	}{{"empty", 1, 0, 0, 0}, {"with a table", 2, 1, 1, -1}} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t).node("a", "b").shard(1, "a").shard(1, "b").voting("a").table(7, nil, c.table)
			w.shards[2].Retiring, w.down["b"] = true, time.Now().Add(-time.Minute)
			w.settle()
			got := gauges(t, w)
			if u, n, f := got["cordwood_cluster_under_replicated_shards"], got["cordwood_cluster_unavailable_shards"],
				got["cordwood_cluster_failure_tolerance"]; u != c.under || n != c.unavailable || f != c.tolerance {
				t.Errorf("under-replicated %v, unavailable %v, tolerance %v; want %v, %v, %v", u, n, f, c.under, c.unavailable,
					c.tolerance)
			}
		})
	}
}

// gauges returns the metrics of a world by name. Of metrics with labels it returns the last one.
func gauges(t *testing.T, w *world) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	tables := slices.Collect(maps.Values(w.tables))
	newMetrics(registry).publish(snapshot.New(time.Now(), snapshot.Limits{}.WithDefaults(), w.status(), tables, nil))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			out[f.GetName()] = m.GetGauge().GetValue()
		}
	}
	return out
}
