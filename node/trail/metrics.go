package trail

import (
	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the metrics of a Trail.
type metrics struct {
	records  *prometheus.CounterVec
	lost     prometheus.Counter
	failures prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, t *Trail) *metrics {
	m := &metrics{
		records: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cordwood_audit_records_total",
			Help: "Audit records that this node made and wrote to its files, by outcome: ok, refused, failed.",
		}, []string{"outcome"}),
		lost: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cordwood_audit_lost_total",
			Help: "Audit records that were lost because the queue or the files were full.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cordwood_audit_write_failures_total",
			Help: "Failed writes of audit records to svc_private.audit. They are tried again.",
		}),
	}
	if reg != nil {
		reg.MustRegister(m.records, m.lost, m.failures, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "cordwood_audit_waiting_bytes",
			Help: "Size of the files with audit records that are not yet in svc_private.audit.",
		}, func() float64 { return float64(t.State().Waiting) }))
	}
	return m
}
