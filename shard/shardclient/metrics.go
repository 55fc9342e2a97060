package shardclient

import (
	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	writes  *prometheus.CounterVec // by result: ok, error
	bytes   prometheus.Counter
	retries *prometheus.CounterVec // by reason
	seconds prometheus.Histogram
}

func newMetrics(reg prometheus.Registerer, c *Client) *metrics {
	m := &metrics{
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cordwood_shardclient_writes_total", Help: "Writes to shards, by result: ok or error.",
		}, []string{"result"}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cordwood_shardclient_written_bytes_total", Help: "Bytes of encoded batches that shards acknowledged.",
		}),
		retries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cordwood_shardclient_retries_total",
			Help: "Repeated attempts of writes, by reason: UNREACHABLE, or the answer of the shard.",
		}, []string{"reason"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "cordwood_shardclient_write_seconds", Help: "Duration of writes to shards, including retries.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16),
		}),
	}
	for _, result := range []string{"ok", "error"} {
		m.writes.WithLabelValues(result)
	}
	m.retries.WithLabelValues(reasonUnreachable)
	if reg != nil {
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "cordwood_shardclient_queue_bytes",
			Help: "Bytes of writes that are being sent to shards or wait to be sent.",
		}, func() float64 { return float64(c.load()) }))
		reg.MustRegister(m.writes, m.bytes, m.retries, m.seconds)
	}
	return m
}
