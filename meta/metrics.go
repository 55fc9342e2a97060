package meta

import (
	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// metrics are the metrics of a member of the metadata group.
type metrics struct {
	reg        prometheus.Registerer
	collectors []prometheus.Collector

	commands *prometheus.CounterVec
	watches  prometheus.Gauge
	refused  prometheus.Counter
	quotas   prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		reg: reg,
		commands: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cordwood_meta_commands_total",
			Help: "Metadata commands proposed here, by kind and outcome: applied, refused or failed.",
		}, []string{"kind", "outcome"}),
		watches: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "cordwood_meta_watches", Help: "Open watches of the metadata.",
		}),
	}
	m.refused = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "cordwood_meta_refused_nodes_total", Help: "Starts of nodes that the metadata group refused " +
			"because of an outdated data folder, a removed node or a program that is too old.",
	})
	m.quotas = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "cordwood_meta_quota_refusals_total",
		Help: "New tables and columns that this member refused because of a quota of their database.",
	})
	m.register(m.commands, m.watches, m.refused, m.quotas)
	return m
}

func (m *metrics) watch(s *machine) {
	m.register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "cordwood_meta_tables", Help: "Tables in the metadata.",
	}, func() float64 { return float64(s.tables.Load()) }))
}

func (m *metrics) register(cs ...prometheus.Collector) {
	for _, c := range cs {
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

func (m *metrics) proposed(kind string, resp *metapb.ProposeResponse, err error) {
	outcome := "applied"
	switch {
	case err != nil:
		outcome = "failed"
	case resp.Result.ErrorCode != 0:
		outcome = "refused"
		if errs.Code(resp.Result.ErrorCode) == errs.RateLimited {
			m.quotas.Inc()
		}
	}
	m.commands.WithLabelValues(kind, outcome).Inc()
}
