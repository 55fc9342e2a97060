package httpapi

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	requests *prometheus.CounterVec   // by route, code
	seconds  *prometheus.HistogramVec // by route
	panics   prometheus.Counter
}

// routeMetrics has the metrics of one route. They are looked up once, not for every request.
type routeMetrics struct {
	route   string
	all     *prometheus.CounterVec
	ok      prometheus.Counter // counts answers with status 200
	seconds prometheus.Observer
}

func (m *metrics) route(path string) *routeMetrics {
	return &routeMetrics{
		route: path, all: m.requests, ok: m.requests.WithLabelValues(path, "200"), seconds: m.seconds.WithLabelValues(path),
	}
}

// answered counts a request.
func (m *routeMetrics) answered(status int, took time.Duration) {
	if status == http.StatusOK {
		m.ok.Inc()
	} else {
		m.all.WithLabelValues(m.route, strconv.Itoa(status)).Inc()
	}
	m.seconds.Observe(took.Seconds())
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cordwood_http_requests_total", Help: "HTTP requests answered, by route and status.",
		}, []string{"route", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "cordwood_http_request_seconds", Help: "Duration of HTTP requests, by route.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16),
		}, []string{"route"}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cordwood_http_panics_total", Help: "Requests that failed because of a bug in this program (a " +
				"panic).",
		}),
	}
	for _, c := range []prometheus.Collector{m.requests, m.seconds, m.panics} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("httpapi: register metrics: %w", err)
		}
	}
	return m, nil
}
