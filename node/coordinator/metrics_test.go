package coordinator

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
)

// TestNodesDown: a node that was emptied and stopped alarms nobody; the others do.
func TestNodesDown(t *testing.T) {
	w := newWorld(t).node("a", "b", "c", "d", "r:router").shard(3, "a", "b", "c").voting("a", "b", "c")
	for _, id := range []string{"c", "d", "r"} {
		w.down[id] = time.Now().Add(-time.Minute)
	}
	w.nodes["c"].State = metapb.NodeState_NODE_STATE_DRAINING // it still has a replica
	w.nodes["d"].State = metapb.NodeState_NODE_STATE_DRAINED
	registry := prometheus.NewRegistry()
	newMetrics(registry).publish(snapshot.New(time.Now(), snapshot.Limits{}.WithDefaults(), w.status(), nil, nil))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "cordwood_cluster_nodes_down" {
			if got := f.Metric[0].GetGauge().GetValue(); got != 2 {
				t.Errorf("%v nodes are down, want 2", got)
			}
			return
		}
	}
	t.Error("no cordwood_cluster_nodes_down")
}
