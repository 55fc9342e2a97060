package pgwire

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics has the metrics of connections.
type metrics struct {
	connections  prometheus.GaugeFunc
	statements   *prometheus.CounterVec
	errors       *prometheus.CounterVec
	cancels      *prometheus.CounterVec
	bytes        prometheus.Counter
	authFailures prometheus.Counter
}

func newMetrics(r prometheus.Registerer, connections func() int) (*metrics, error) {
	m := &metrics{
		connections: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "cordwood_pg_connections", Help: "Open connections of PostgreSQL clients.",
		}, func() float64 { return float64(connections()) }),
		statements: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cordwood_pg_statements_total",
			Help: "Statements of PostgreSQL clients by kind: query, insert, change, session or empty.",
		}, []string{"kind"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cordwood_pg_errors_total", Help: "Errors sent to PostgreSQL clients by SQLSTATE.",
		}, []string{"sqlstate"}),
		cancels: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cordwood_pg_cancels_total",
			Help: "Requests of PostgreSQL clients to cancel a statement by result: found, or unknown for a wrong key.",
		}, []string{"result"}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cordwood_pg_bytes_total", Help: "Bytes of messages from and to PostgreSQL clients.",
		}),
		authFailures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cordwood_pg_auth_failures_total", Help: "Sign-ins of PostgreSQL clients that failed.",
		}),
	}
	if r == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{
		m.connections, m.statements, m.errors, m.cancels, m.bytes, m.authFailures,
	} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// verbKinds maps statements that are neither queries nor about the session to their kind.
var verbKinds = map[string]string{
	"": "empty", "INSERT": "insert", "CREATE": "change", "ALTER": "change", "DROP": "change", "TRUNCATE": "change",
	"DELETE": "change", "KILL": "change",
}

func (m *metrics) statement(verb string) {
	kind, ok := verbKinds[verb]
	if !ok {
		if kind = "query"; handlers[verb] != nil {
			kind = "session"
		}
	}
	m.statements.WithLabelValues(kind).Inc()
}

// failed counts an error. The number of different SQLSTATEs is small: they come from tables in this package.
func (m *metrics) failed(state string) { m.errors.WithLabelValues(strings.ToUpper(state)).Inc() }

func (m *metrics) cancel(found bool) {
	result := "unknown"
	if found {
		result = "found"
	}
	m.cancels.WithLabelValues(result).Inc()
}
