package query

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/errs"
	"cordwood/proto/turns"
	"cordwood/router/query/statement"
)

type metrics struct {
	statements *prometheus.CounterVec   // by kind and code
	seconds    *prometheus.HistogramVec // by kind and protocol
}

func newMetrics(reg prometheus.Registerer, g *turns.Gate) (*metrics, error) {
	m := &metrics{
		statements: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cordwood_sql_statements_total", Help: "SQL statements run, by kind and error code (0: success).",
		}, []string{"kind", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "cordwood_sql_seconds", Help: "Duration of SQL statements, including the time to write the " +
				"answer, by kind and by the protocol of the client: http or pg.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 8),
		}, []string{"kind", "protocol"}),
	}
	if reg == nil {
		return m, nil
	}
	running := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "cordwood_sql_running", Help: "SELECT statements that run now.",
	}, func() float64 { running, _ := g.Counts(); return float64(running) })
	waiting := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "cordwood_sql_waiting", Help: "SELECT statements that wait for a slot.",
	}, func() float64 { _, waiting := g.Counts(); return float64(waiting) })
	for _, c := range []prometheus.Collector{m.statements, m.seconds, running, waiting} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("query: register metrics: %w", err)
		}
	}
	return m, nil
}

func (m *metrics) observe(st statement.Statement, protocol string, err error, took time.Duration) {
	kind := kindName(st)
	m.statements.WithLabelValues(kind, strconv.Itoa(int(errs.CodeOf(err)))).Inc()
	m.seconds.WithLabelValues(kind, cmp.Or(protocol, "http")).Observe(took.Seconds())
}

// kindName returns the name of the statement's type, for example query or createtable.
func kindName(st statement.Statement) string {
	name := fmt.Sprintf("%T", st)
	return strings.ToLower(name[strings.LastIndexByte(name, '.')+1:])
}
