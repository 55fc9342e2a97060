package sockreceiver

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Reason is the reason why received data is not stored, in the labels of metrics.
type Reason string

// The reasons that all protocols share. A protocol may have more.
const (
	// Rate: the sender exceeded its rate of datagrams.
	Rate Reason = "rate"
	// Busy: all batches were full, because rows cannot be stored fast enough.
	Busy Reason = "busy"
	// Forbidden: the sender may not store rows.
	Forbidden Reason = "forbidden"
	// Refused: the rows can never be stored.
	Refused Reason = "refused"
	// Stopped: the server stopped before the rows could be stored.
	Stopped Reason = "stopped"
	// Full: there were too many connections.
	Full Reason = "connections"
	// Crowded: a connection was closed for one of an address with fewer connections.
	Crowded Reason = "crowded"
	// Slow: a record did not arrive in time, and its connection was closed.
	Slow Reason = "slow"
)

// metrics has the metrics of one protocol. Its servers share them.
type metrics struct {
	dropped     *prometheus.CounterVec // by reason
	connections prometheus.Gauge
	batches     prometheus.Gauge
}

func newMetrics(protocol string, reg prometheus.Registerer) (*metrics, error) {
	prefix := "cordwood_" + protocol + "_"
	m := &metrics{
		dropped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "dropped_total",
			Help: "Messages, or connections, of the protocol " + protocol + " that were dropped, by reason.",
		}, []string{"reason"}),
		connections: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: prefix + "connections", Help: "Open connections of the protocol " + protocol + ".",
		}),
		batches: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: prefix + "batches", Help: "Batches of messages of the protocol " + protocol +
				" that are being filled or stored.",
		}),
	}
	var err error
	m.dropped = Register(reg, m.dropped, &err)
	m.connections = Register(reg, m.connections, &err)
	m.batches = Register(reg, m.batches, &err)
	for _, r := range []Reason{Rate, Busy, Forbidden, Refused, Stopped, Full, Crowded, Slow} {
		m.dropped.WithLabelValues(string(r))
	}
	return m, err
}

// Register registers a metric. If another server of the protocol has registered it already, it returns that one. If
// *err is set already, it does nothing.
func Register[C prometheus.Collector](reg prometheus.Registerer, c C, err *error) C {
	if reg == nil || *err != nil {
		return c
	}
	failed := reg.Register(c)
	var there prometheus.AlreadyRegisteredError
	if errors.As(failed, &there) {
		if same, ok := there.ExistingCollector.(C); ok {
			return same
		}
	}
	if failed != nil {
		*err = fmt.Errorf("register metrics: %w", failed)
	}
	return c
}
