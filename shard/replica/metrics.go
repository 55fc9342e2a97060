package replica

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are those of one group. Without a registerer they are kept, but nobody
// reads them.
type metrics struct {
	reg        prometheus.Registerer
	collectors []prometheus.Collector

	appendSeconds prometheus.Histogram
	appendBytes   prometheus.Counter
	failures      prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, group string) *metrics {
	m := &metrics{
		appendSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "cordwood_log_append_seconds", Help: "Time of one append to the raft log, fsync included.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 17), // 0.1 ms to 6.5 s
		}),
		appendBytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cordwood_log_append_bytes_total", Help: "Bytes of entries appended to the raft log.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cordwood_log_failures_total", Help: "Failures of the raft log that ended the replica.",
		}),
	}
	if reg != nil {
		m.reg = prometheus.WrapRegistererWith(prometheus.Labels{"group": group}, reg)
	}
	m.register(m.appendSeconds, m.appendBytes, m.failures)
	return m
}

// watch adds the gauges that are read when asked.
func (m *metrics) watch(logBytes func() int64, applied func() uint64) {
	m.register(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "cordwood_log_bytes", Help: "Bytes of entries in the raft log that no snapshot cut off.",
		}, func() float64 { return float64(logBytes()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "cordwood_applied_index", Help: "Index of the last applied command.",
		}, func() float64 { return float64(applied()) }),
	)
}

func (m *metrics) register(cs ...prometheus.Collector) {
	for _, c := range cs {
		// A second replica of the same group in a process, as in tests, goes without.
		if m.reg != nil && m.reg.Register(c) == nil {
			m.collectors = append(m.collectors, c)
		}
	}
}

func (m *metrics) unregister() {
	for _, c := range m.collectors {
		m.reg.Unregister(c)
	}
	m.collectors = nil
}

func (m *metrics) appended(d time.Duration, bytes int64) {
	m.appendSeconds.Observe(d.Seconds())
	m.appendBytes.Add(float64(bytes))
}

func (m *metrics) failed() { m.failures.Inc() }
