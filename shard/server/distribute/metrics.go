package distribute

import (
	"errors"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/shard/query"
)

// queryMetrics count the outcomes of statements whose rows are on several nodes.
type queryMetrics struct {
	split, hauled *prometheus.CounterVec
	bytes         prometheus.Counter
}

func newQueryMetrics(reg prometheus.Registerer) *queryMetrics {
	m := &queryMetrics{
		split: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cordwood_query_split_total",
			Help: "Statements that were split over several nodes, by kind: aggregate, pairs (values of each " +
				"group with their counts), project (arguments of aggregates), top, limit, " +
				"distinct, rows, or several (queries that are split each by itself).",
		}, []string{"kind"}),
		hauled: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cordwood_query_hauled_total",
			Help: "Statements over several nodes whose rows were fetched from the other nodes, by reason: join, form (of the " +
				"statement, such as UNION), subquery, window, volatile (functions such as random), function, " +
				"aggregate, sort, names, type, refused, large (partial results, values of a subquery), failed. EXPLAIN gives " +
				"details.",
		}, []string{"reason"}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cordwood_query_partial_bytes_total",
			Help: "Bytes of partial results that nodes, including this one, returned for statements that this " +
				"node coordinates.",
		}),
	}
	for _, kind := range query.SplitKinds {
		m.split.WithLabelValues(kind)
	}
	for _, cause := range slices.Concat(query.SplitCauses, []string{causeLarge, causeFailed}) {
		m.hauled.WithLabelValues(cause)
	}
	if reg != nil {
		reg.MustRegister(m.split, m.hauled, m.bytes)
	}
	return m
}

// Causes that are found only when a split statement runs.
const (
	causeLarge  = "large"
	causeFailed = "failed"
)

// count counts an answered statement. It leaves out EXPLAIN without ANALYZE, which requests no rows.
func (m *queryMetrics) count(d *Statement, split bool) {
	switch {
	case d.split.Explain != "" && !query.Analyzes(d.split.Explain):
	case split:
		m.split.WithLabelValues(d.split.Kind).Inc()
	case errors.Is(d.failed, errTooLarge), errors.Is(d.failed, errTooMany):
		m.hauled.WithLabelValues(causeLarge).Inc()
	case d.failed != nil:
		m.hauled.WithLabelValues(causeFailed).Inc()
	default:
		m.hauled.WithLabelValues(d.split.Cause).Inc()
	}
}
