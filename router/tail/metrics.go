package tail

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	rows  prometheus.Counter
	ended *prometheus.CounterVec // by reason
}

func newMetrics(reg prometheus.Registerer, h *Handler) (*metrics, error) {
	m := &metrics{
		rows: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cordwood_tail_rows_total", Help: "Rows sent to clients that follow a table.",
		}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cordwood_tail_ended_total", Help: "Tails that ended, by reason: client, timeout, slow, stopping, access " +
				"(the user may no longer read) or error.",
		}, []string{"reason"}),
	}
	for _, reason := range []string{"client", "timeout", "slow", "stopping", "access", "error"} {
		m.ended.WithLabelValues(reason)
	}
	if reg == nil {
		return m, nil
	}
	open := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "cordwood_tail_open", Help: "Clients that are following a table.",
	}, func() float64 { return float64(h.Open()) })
	for _, c := range []prometheus.Collector{m.rows, m.ended, open} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("tail: register metrics: %w", err)
		}
	}
	return m, nil
}
