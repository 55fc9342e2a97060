package ingest

import (
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/router/labels"
	"cordwood/router/pipeline"
)

// Stage is the stage at which a request failed, in the labels of metrics.
type Stage string

// The stages.
const (
	StageParameters Stage = "parameters"
	StageDisk       Stage = "disk"
	StageBusy       Stage = "busy"
	StageQuota      Stage = "quota"
	StageBody       Stage = "body"
	StagePipeline   Stage = "pipeline"
	StageWrite      Stage = "write"
)

var stages = []Stage{StageParameters, StageDisk, StageBusy, StageQuota, StageBody, StagePipeline, StageWrite}

type metrics struct {
	rows    *prometheus.CounterVec // by db, protocol
	bytes   *prometheus.CounterVec // by db, protocol
	skipped *prometheus.CounterVec // by db, kind, protocol
	dropped *prometheus.CounterVec // by db, protocol
	expired *prometheus.CounterVec // by db, protocol
	rejects *prometheus.CounterVec // by protocol
	failed  *prometheus.CounterVec // by stage, protocol
	keyed   *prometheus.CounterVec // by protocol
	// repeated has the label protocol.
	repeated *prometheus.CounterVec
	// again and cut count records. They have the label protocol.
	again, cut *prometheus.CounterVec
	stages     *prometheus.HistogramVec // by stage, protocol
	dbs        *labels.Limit

	protocols sync.Map // Protocol → *protocolMetrics
	native    *protocolMetrics
}

// protocolMetrics has the metrics of one protocol. They are looked up once, not for every request.
type protocolMetrics struct {
	all            *metrics
	protocol       string
	rejects, keyed prometheus.Counter
	// The stages of a request.
	bodySeconds, pipelineSeconds, writeSeconds prometheus.Observer
	// databases has the counters of each value of the label db. There are at most maxDatabaseLabels and one more.
	databases sync.Map // string → *databaseMetrics
}

// databaseMetrics has the counters of a database and a protocol.
type databaseMetrics struct{ rows, bytes, dropped, expired prometheus.Counter }

// database returns the counters of a database, or those of all databases beyond the limit.
func (m *protocolMetrics) database(name string) *databaseMetrics {
	if found, ok := m.databases.Load(name); ok {
		return found.(*databaseMetrics)
	}
	db := m.all.dbs.Of(name)
	if found, ok := m.databases.Load(db); ok {
		return found.(*databaseMetrics)
	}
	of := func(c *prometheus.CounterVec) prometheus.Counter { return c.WithLabelValues(db, m.protocol) }
	found, _ := m.databases.LoadOrStore(db, &databaseMetrics{
		rows: of(m.all.rows), bytes: of(m.all.bytes), dropped: of(m.all.dropped), expired: of(m.all.expired),
	})
	return found.(*databaseMetrics)
}

// maxDatabaseLabels limits the number of databases with their own counters.
const maxDatabaseLabels = 200

// of returns the metrics of a protocol. Protocols are constants, so there are few.
func (m *metrics) of(p Protocol) *protocolMetrics {
	if p == Native && m.native != nil {
		return m.native
	}
	if found, ok := m.protocols.Load(p); ok {
		return found.(*protocolMetrics)
	}
	name := string(p)
	found, _ := m.protocols.LoadOrStore(p, &protocolMetrics{
		all: m, protocol: name, rejects: m.rejects.WithLabelValues(name), keyed: m.keyed.WithLabelValues(name),
		bodySeconds: m.stages.WithLabelValues("body", name), pipelineSeconds: m.stages.WithLabelValues("pipeline", name),
		writeSeconds: m.stages.WithLabelValues("write", name),
	})
	return found.(*protocolMetrics)
}

// stored counts a batch that was stored.
func (m *protocolMetrics) stored(b *Batch, out *Outcome) {
	of := m.database(b.Database)
	of.rows.Add(float64(out.Written.Rows))
	of.bytes.Add(float64(b.Bytes))
	of.dropped.Add(float64(out.Dropped))
	of.expired.Add(float64(out.Expired))
	if out.Skipped == 0 {
		return
	}
	db := m.all.dbs.Of(b.Database)
	for _, kind := range pipeline.SkipKinds() {
		if n := out.SkippedBy[kind]; n > 0 {
			m.all.skipped.WithLabelValues(db, kind.String(), m.protocol).Add(float64(n))
		}
	}
}

// Failed counts a request or batch that failed at a stage, and returns its error.
func (s *Service) Failed(p Protocol, stage Stage, err error) error {
	s.metrics.failed.WithLabelValues(string(stage), string(p)).Inc()
	return err
}

// Received records how long it took to read and decompress a body.
func (s *Service) Received(p Protocol, seconds float64) { s.metrics.of(p).bodySeconds.Observe(seconds) }

// Repeated counts records that are left out because they are already stored.
func (s *Service) Repeated(p Protocol, n int) {
	s.metrics.again.WithLabelValues(string(p)).Add(float64(n))
}

// Cut counts a record that was shortened because the protocol limits its length.
func (s *Service) Cut(p Protocol) { s.metrics.cut.WithLabelValues(string(p)).Inc() }

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, append(labels, "protocol"))
	}
	m := &metrics{
		rows: counter("cordwood_ingest_rows_total", "Rows stored by log ingestion, by database and protocol.", "db"),
		bytes: counter("cordwood_ingest_bytes_total",
			"Bytes of log bodies, decompressed, that were stored, by database and protocol.", "db"),
		skipped: counter("cordwood_ingest_skipped_records_total",
			"Records dropped because they failed and skip_error was set, by database, protocol and step at which they failed.",
			"db", "kind"),
		dropped: counter("cordwood_ingest_dropped_records_total",
			"Records that a filter, or a program whose result is null or an empty list, dropped, by database and protocol.",
			"db"),
		expired: counter("cordwood_ingest_expired_rows_total",
			"Ingested rows that were older than the ttl of their table when they arrived, by database and "+
				"protocol.", "db"),
		rejects: counter("cordwood_ingest_rejects_stored_total",
			"Skipped records that were kept in svc_private.rejects, by protocol."),
		failed: counter("cordwood_ingest_failed_total",
			"Log requests refused or failed, by protocol and stage: parameters, disk, busy, quota, body, pipeline, write.",
			"stage"),
		keyed: counter("cordwood_ingest_keyed_requests_total",
			"Log requests with a key, for example in the header Idempotency-Key, by protocol."),
		repeated: counter("cordwood_ingest_repeated_bodies_total", "Log bodies that the same sender sent twice within 2 "+
			"minutes, by protocol of another system. Either the answer was lost, or the sender has equal bodies. "+
			"Bodies of more than 64 KiB are compared by their size and by samples."),
		again: counter("cordwood_ingest_repeated_records_total", "Repeated records that were left out because the table "+
			"has them already, by protocol."),
		cut: counter("cordwood_ingest_cut_records_total",
			"Records that were longer than their protocol allows and were therefore cut, by protocol."),
		stages: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "cordwood_ingest_stage_seconds",
			Help: "Time of the stages of log requests: body (read and decompress it), pipeline (parse records " +
				"and make rows), write (create missing tables and columns, store rows), by protocol.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 18),
		}, []string{"stage", "protocol"}),
		dbs: labels.NewLimit(maxDatabaseLabels),
	}
	for _, stage := range stages {
		m.failed.WithLabelValues(string(stage), string(Native))
	}
	m.native = m.of(Native)
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{
		m.stages, m.rows, m.bytes, m.skipped, m.dropped, m.expired, m.rejects, m.failed, m.keyed, m.repeated, m.again,
		m.cut,
	} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("ingest: register metrics: %w", err)
		}
	}
	return m, nil
}
