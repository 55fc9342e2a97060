package lokiapi

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// register registers the metrics of the queues. reg may be nil.
func (all *queues) register(reg prometheus.Registerer) error {
	if reg == nil {
		return nil
	}
	for _, c := range []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "cordwood_tail_waiting_bytes",
			Help: "Memory of the entries that wait for clients of Loki's tails, with messages being sent.",
		}, func() float64 {
			size, _ := all.held()
			return float64(size)
		}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "cordwood_tail_dropped_total",
			Help: "Entries that were dropped because clients of Loki's tails read too slowly.",
		}, func() float64 {
			_, dropped := all.held()
			return float64(dropped)
		}),
	} {
		if err := reg.Register(c); err != nil {
			return fmt.Errorf("lokiapi: register metrics: %w", err)
		}
	}
	return nil
}
