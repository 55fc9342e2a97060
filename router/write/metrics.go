package write

import (
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/schema"
	"cordwood/router/labels"
)

// maxTableLabels limits the number of tables with their own counter.
const maxTableLabels = 200

type metrics struct {
	batches prometheus.Counter
	bytes   prometheus.Counter
	schemas *prometheus.CounterVec // by result: ok, conflict, error
	partial *prometheus.CounterVec // by key: yes, no
	recalls prometheus.Counter
	types   *prometheus.CounterVec // by kind: widened, aside, cast
	ensure  prometheus.Histogram
	tables  *prometheus.CounterVec // by db, table

	limit *labels.Limit
	// byTable caches the counters of tables by id: uint64 → prometheus.Counter.
	byTable sync.Map
	others  prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		batches: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cordwood_write_batches_total", Help: "Batches that shards acknowledged.",
		}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cordwood_write_encoded_bytes_total", Help: "Encoded bytes of the batches that shards " +
				"acknowledged.",
		}),
		schemas: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cordwood_write_schema_changes_total",
			Help: "Commands for new tables and columns, by result: ok, conflict or error.",
		}, []string{"result"}),
		partial: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cordwood_write_partial_total", Help: "Requests that were stored in part, by whether they " +
				"have a key (yes or no). If a request without a key is repeated, rows are stored twice.",
		}, []string{"key"}),
		recalls: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cordwood_write_recalled_batches_total",
			Help: "Batches with a key that a former shard of their table had already stored.",
		}),
	}
	m.types = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "cordwood_write_type_conflicts_total",
		Help: "Values whose type differed from the type of their column, by kind: columns of integers that " +
			"became Float64 (widened), values that were stored as text in " +
			"another column (aside), values that were converted " +
			"(cast). Refused values count as skipped records or failed requests.",
	}, []string{"kind"})
	m.ensure = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "cordwood_write_schema_seconds",
		Help:    "Duration of commands for new tables and columns.",
		Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16),
	})
	m.tables = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "cordwood_write_table_bytes_total",
		Help: "Bytes of encoded batches that shards acknowledged, by table, for the first 200 tables that this " +
			"router writes to; all other tables share one series.",
	}, []string{"db", "table"})
	m.limit, m.others = labels.NewLimit(maxTableLabels), m.tables.WithLabelValues(labels.Others, labels.Others)
	for _, result := range []string{"ok", "conflict", "error"} {
		m.schemas.WithLabelValues(result)
	}
	for _, kind := range []string{"widened", "aside", "cast"} {
		m.types.WithLabelValues(kind)
	}
	for _, key := range []string{"yes", "no"} {
		m.partial.WithLabelValues(key)
	}
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{
		m.batches, m.bytes, m.schemas, m.partial, m.recalls, m.types, m.ensure, m.tables,
	} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("write: register metrics: %w", err)
		}
	}
	return m, nil
}

// stored counts the bytes of a batch by table.
func (m *metrics) stored(t *schema.Table, bytes int) {
	c, ok := m.byTable.Load(t.ID)
	if !ok {
		if !m.limit.Has(t.Database + "\x00" + t.Name) {
			m.others.Add(float64(bytes))
			return
		}
		c, _ = m.byTable.LoadOrStore(t.ID, m.tables.WithLabelValues(t.Database, t.Name))
	}
	c.(prometheus.Counter).Add(float64(bytes))
}
