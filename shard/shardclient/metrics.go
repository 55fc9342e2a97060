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

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cordwood_shardclient_writes_total", Help: "Writes to shards, by result.",
		}, []string{"result"}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cordwood_shardclient_written_bytes_total", Help: "Bytes of encoded batches that shards acknowledged.",
		}),
		retries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cordwood_shardclient_retries_total", Help: "Tries of writes that were repeated, by reason.",
		}, []string{"reason"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "cordwood_shardclient_write_seconds", Help: "Duration of writes to shards, retries included.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16),
		}),
	}
	if reg != nil {
		reg.MustRegister(m.writes, m.bytes, m.retries, m.seconds)
	}
	return m
}
