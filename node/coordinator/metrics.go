package coordinator

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
)

// metrics are the metrics of the cluster as a whole. Only the coordinating node has the gauges; the
// counters count what this process did.
type metrics struct {
	last  atomic.Pointer[snapshot.Snapshot]
	moved *prometheus.CounterVec
	done  *prometheus.CounterVec
	fails *prometheus.CounterVec
	sized *prometheus.CounterVec
}

var (
	underReplicatedDesc = prometheus.NewDesc("cordwood_cluster_under_replicated_shards",
		"Shards that have fewer replicas than configured on nodes that answer and are not stopping. "+
			"New shards that are starting are not counted.", nil, nil)
	toleranceDesc = prometheus.NewDesc("cordwood_cluster_failure_tolerance",
		"How many more nodes may fail in the worst case before a shard or the metadata group stops; negative if "+
			"one has stopped already. Nodes that are stopping count as missing.", nil, nil)
	unavailableDesc = prometheus.NewDesc("cordwood_cluster_unavailable_shards",
		"Shards that can be neither written nor read, because they have had no leader for longer than an election "+
			"takes. New shards that are starting are not counted.", nil, nil)
	operationsDesc = prometheus.NewDesc("cordwood_cluster_operations",
		"Recorded operations, by kind and state: running, done, failed or cancelled.",
		[]string{"kind", "state"}, nil)
	nodesDownDesc = prometheus.NewDesc("cordwood_cluster_nodes_down",
		"Nodes that do not answer, except nodes that were emptied.", nil, nil)
	nodesDesc  = prometheus.NewDesc("cordwood_cluster_nodes", "Nodes of the cluster.", nil, nil)
	shardsDesc = prometheus.NewDesc("cordwood_cluster_shards", "Shards of the cluster.", nil, nil)
	oldestDesc = prometheus.NewDesc("cordwood_cluster_operation_oldest_age_seconds",
		"Age of the oldest operation that has not ended; 0 if there is none.", nil, nil)
	epochDesc = prometheus.NewDesc("cordwood_cluster_table_epoch_max",
		"Highest epoch of all tables. A table begins with epoch 1, and each change of its shards adds 1.", nil,
		nil)
	movedTablesDesc = prometheus.NewDesc("cordwood_cluster_tables_several_placements",
		"Tables with rows on shards that no longer take their writes.", nil, nil)
	coordinatesDesc = prometheus.NewDesc("cordwood_cluster_coordinates", "1 on the node that coordinates the cluster, "+
		"0 on other nodes with the role meta. Only the coordinating node has the other metrics of the cluster.", nil, nil)
)

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		moved: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cordwood_cluster_moved_bytes_total",
			Help: "Bytes of replicas that operations moved to other nodes, by kind of operation.",
		}, []string{"kind"}),
		done: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cordwood_cluster_operations_ended_total",
			Help: "Operations that ended while this node coordinated, by kind and state: done, failed or cancelled.",
		}, []string{"kind", "state"}),
		fails: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cordwood_cluster_steps_failed_total",
			Help: "Failed calls for steps of operations, which are repeated, by kind of operation and step.",
		}, []string{"kind", "step"}),
	}
	m.sized = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "cordwood_cluster_size_expired_bytes_total",
		Help: "Bytes of files and objects whose rows expired because of a limit of size, while this node coordinated, by " +
			"option: max_size of a table, or --max-size of the cluster.",
	}, []string{"option"})
	for _, option := range []string{schema.OptionMaxSize, "--max-size"} {
		m.sized.WithLabelValues(option)
	}
	for _, kind := range []string{operation.ShardMove, operation.ReplicaRepair, operation.ReplicaRebuild} {
		m.moved.WithLabelValues(kind)
	}
	for _, kind := range operation.Kinds {
		for _, state := range []string{"done", "failed", "cancelled"} {
			m.done.WithLabelValues(kind, state)
		}
	}
	if r != nil {
		r.MustRegister(m, m.moved, m.done, m.fails, m.sized)
	}
	return m
}

// publish sets the gauges from a snapshot. They have no values if it is nil.
func (m *metrics) publish(snap *snapshot.Snapshot) {
	if snap != nil {
		shown := *snap
		shown.Trusting = true
		snap = &shown
	}
	m.last.Store(snap)
}

func (m *metrics) failed(kind, step string) { m.fails.WithLabelValues(kind, step).Inc() }

func (m *metrics) ended(op *metapb.Operation) {
	m.done.WithLabelValues(op.Kind, operation.StateName(op.State)).Inc()
	if op.State == metapb.OperationState_OPERATION_STATE_DONE && (op.Kind == operation.ShardMove ||
		op.Kind == operation.ReplicaRepair || op.Kind == operation.ReplicaRebuild) && op.ToNode != "" {
		m.moved.WithLabelValues(op.Kind).Add(float64(max(op.TotalBytes, 0)))
	}
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		underReplicatedDesc, toleranceDesc, unavailableDesc, operationsDesc, nodesDownDesc, nodesDesc, shardsDesc,
		oldestDesc, epochDesc, movedTablesDesc, coordinatesDesc,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v int, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), labels...)
	}
	snap := m.last.Load()
	if snap == nil {
		gauge(coordinatesDesc, 0)
		return
	}
	gauge(coordinatesDesc, 1)
	under, unavailable, down := failing(snap)
	gauge(underReplicatedDesc, under)
	gauge(unavailableDesc, unavailable)
	gauge(nodesDownDesc, down)
	tolerance, _ := snapshot.ClusterTolerance(snap)
	gauge(toleranceDesc, tolerance)
	gauge(nodesDesc, len(snap.Status.Nodes))
	gauge(shardsDesc, len(snap.Status.Shards))
	counts := map[[2]string]int{}
	// Start each counter at 0: otherwise a missing counter could mean zero or unknown.
	for _, kind := range operation.Kinds {
		counts[[2]string{kind, "running"}] = 0
	}
	oldest := time.Duration(0)
	for _, op := range snap.Operations {
		counts[[2]string{op.Kind, operation.StateName(op.State)}]++
		if op.State == metapb.OperationState_OPERATION_STATE_RUNNING {
			oldest = max(oldest, time.Since(time.Unix(0, op.CreatedUnixNano)))
		}
	}
	ch <- prometheus.MustNewConstMetric(oldestDesc, prometheus.GaugeValue, oldest.Seconds())
	epoch, moved := uint64(0), 0
	for _, t := range snap.Tables {
		epoch = max(epoch, uint64(t.Writable().Epoch))
		if len(t.Shards()) > len(t.Writable().Shards()) {
			moved++
		}
	}
	gauge(epochDesc, int(epoch))
	gauge(movedTablesDesc, moved)
	for key, n := range counts {
		gauge(operationsDesc, n, key[0], key[1])
	}
}

// failing counts the shards that lack a replica, the shards that cannot be used, and the nodes that
// are down.
func failing(snap *snapshot.Snapshot) (under, unavailable, down int) {
	for _, s := range snap.Status.Shards {
		if snap.Empty(s) {
			continue // no rows can be lost
		}
		switch snap.Condition(s) {
		// Nothing can be missing, or it is not known.
		case snapshot.ConditionStarting, snapshot.ConditionUnknown:
			continue
		case snapshot.ConditionNone:
			unavailable++
		}
		if len(snap.LivingReplicas(s)) < snapshot.Want(s) {
			under++
		}
	}
	for _, n := range snap.Status.Nodes {
		if n.Down && !snap.Emptied(n.GetNode().GetId()) {
			down++
		}
	}
	return under, unavailable, down
}
