package write

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	batches prometheus.Counter
	bytes   prometheus.Counter
	schemas *prometheus.CounterVec // by result: ok, conflict, error
	partial *prometheus.CounterVec // by key: yes, no
	recalls prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		batches: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cordwood_write_batches_total", Help: "Batches that shards acknowledged.",
		}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cordwood_write_encoded_bytes_total", Help: "Bytes of the batches that shards acknowledged, encoded.",
		}),
		schemas: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cordwood_write_schema_changes_total", Help: "Commands for new tables and columns, by result.",
		}, []string{"result"}),
		partial: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cordwood_write_partial_total", Help: "Requests that were stored in part, by whether they have a key; the repetition of those that have none doubles rows.",
		}, []string{"key"}),
		recalls: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cordwood_write_recalled_batches_total", Help: "Batches of requests with a key that a shard which took their table's writes before has stored.",
		}),
	}
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.batches, m.bytes, m.schemas, m.partial, m.recalls} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("write: register metrics: %w", err)
		}
	}
	return m, nil
}
