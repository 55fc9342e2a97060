package httpapi

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/router/labels"
)

type metrics struct {
	requests *prometheus.CounterVec   // by route, code
	seconds  *prometheus.HistogramVec // by route
	panics   prometheus.Counter

	rows    *prometheus.CounterVec // by db
	bytes   *prometheus.CounterVec // by db
	skipped *prometheus.CounterVec // by db, kind
	expired *prometheus.CounterVec // by db
	rejects prometheus.Counter
	failed  *prometheus.CounterVec // by stage
	keyed   prometheus.Counter
	stages  *prometheus.HistogramVec // by stage
	dbs     *labels.Limit
	// The stages of a request with logs.
	bodySeconds, pipelineSeconds, writeSeconds prometheus.Observer
}

// maxDatabaseLabels bounds the databases that have counters of their own.
const maxDatabaseLabels = 200

// ingestStages are where a log request may fail.
var ingestStages = []string{"parameters", "disk", "busy", "body", "pipeline", "write"}

// routeMetrics are the metrics of one route, found once instead of at every request.
type routeMetrics struct {
	route   string
	all     *prometheus.CounterVec
	ok      prometheus.Counter // the answers of status 200
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
			Name: "cordwood_http_panics_total", Help: "Requests that a bug in this program ended.",
		}),
		rows: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cordwood_ingest_rows_total", Help: "Rows stored by log ingestion, by database.",
		}, []string{"db"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cordwood_ingest_bytes_total", Help: "Bytes of log bodies, decompressed, that were stored, by database.",
		}, []string{"db"}),
		skipped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cordwood_ingest_skipped_records_total", Help: "Records dropped because they failed and skip_error was set, by database and step at which they failed.",
		}, []string{"db", "kind"}),
		expired: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cordwood_ingest_expired_rows_total", Help: "Rows of log ingestion that were older than the ttl of their table when they came, by database.",
		}, []string{"db"}),
		rejects: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cordwood_ingest_rejects_stored_total", Help: "Skipped records that were kept in svc_private.rejects.",
		}),
		failed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cordwood_ingest_failed_total", Help: "Log requests refused or failed, by stage: parameters, disk, busy, body, pipeline, write.",
		}, []string{"stage"}),
		keyed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cordwood_ingest_keyed_requests_total", Help: "Log requests with the header Idempotency-Key.",
		}),
	}
	m.stages = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "cordwood_ingest_stage_seconds",
		Help:    "Time of the stages of log requests: body (read and decompressed), pipeline (records parsed and made rows), write (schema ensured, rows stored).",
		Buckets: prometheus.ExponentialBuckets(0.0001, 2, 18),
	}, []string{"stage"})
	m.bodySeconds, m.pipelineSeconds, m.writeSeconds = m.stages.WithLabelValues("body"), m.stages.WithLabelValues("pipeline"), m.stages.WithLabelValues("write")
	for _, stage := range ingestStages {
		m.failed.WithLabelValues(stage)
	}
	m.dbs = labels.NewLimit(maxDatabaseLabels)
	for _, c := range []prometheus.Collector{
		m.stages, m.requests, m.seconds, m.panics, m.rows, m.bytes, m.skipped, m.expired, m.rejects, m.failed, m.keyed,
	} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("httpapi: register metrics: %w", err)
		}
	}
	return m, nil
}
