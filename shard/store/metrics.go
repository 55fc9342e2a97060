package store

import (
	"fmt"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the metrics of one shard. They always exist; without a registerer they are not
// exported.
type Metrics struct {
	reg prometheus.Registerer
	all []prometheus.Collector

	Entries, Rows, Duplicates, Busy prometheus.Counter
	tailsLost                       prometheus.Counter
	flushBytes                      prometheus.Counter
	taken, notTaken                 prometheus.Counter
	compactIn, compactOut           prometheus.Counter
	ClockLeaps                      prometheus.Counter
	// ColdMismatches counts offloads whose objects do not have the rows of their cut.
	ColdMismatches prometheus.Counter
	// coldJoined counts objects in whose place others have come with the rows of several.
	coldJoined prometheus.Counter
	// coldLogBytes counts the bytes of the log in object storage.
	coldLogBytes                 prometheus.Counter
	compactions                  *prometheus.CounterVec
	flushes                      *prometheus.CounterVec
	flushSeconds, compactSeconds prometheus.Histogram
	// The stages of a write on this node: the time in the queue, the time in the log including the
	// apply, and the apply alone.
	QueueSeconds, CommitSeconds, ApplySeconds prometheus.Histogram
}

// NewMetrics creates the metrics of a shard, which are not exported before Register.
func NewMetrics(cfg *Config, reg prometheus.Registerer) *Metrics {
	m := &Metrics{}
	if reg != nil {
		m.reg = prometheus.WrapRegistererWith(prometheus.Labels{"shard": strconv.FormatUint(uint64(cfg.ID), 10)}, reg)
	}
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		m.all = append(m.all, c)
		return c
	}
	m.Entries = counter("cordwood_shard_entries_total", "Entries of writes applied.")
	m.Rows = counter("cordwood_shard_rows_total", "Rows applied.")
	m.Duplicates = counter("cordwood_shard_duplicate_batches_total",
		"Batches that had been appended before and were skipped.")
	m.Busy = counter("cordwood_shard_busy_total", "Writes refused because a queue or the memtables were full.")
	m.tailsLost = counter("cordwood_shard_tails_lost_total", "Tails that were ended because their reader was too slow.")
	m.flushBytes = counter("cordwood_shard_flush_bytes_total", "Bytes of segments written by flushes.")
	m.taken = counter("cordwood_shard_segments_taken_total",
		"Segments that this replica took from the flush of the leader in place of writing them.")
	m.notTaken = counter("cordwood_shard_segments_not_taken_total",
		"Flushes in which this replica could not take the leader's segments and wrote its own.")
	m.compactIn = counter("cordwood_shard_compaction_read_bytes_total", "Bytes of segments that compactions replaced.")
	m.compactOut = counter("cordwood_shard_compaction_written_bytes_total", "Bytes of segments written by compactions.")
	m.ClockLeaps = counter("cordwood_shard_clock_leaps_total",
		"Number of times that the clock jumped ahead and rows would have expired early.")
	m.ColdMismatches = counter("cordwood_cold_mismatch_total",
		"Sets of objects that were refused because they did not have the rows of their cut.")
	m.coldJoined = counter("cordwood_cold_joined_objects_total",
		"Objects that were joined to larger ones, on each replica.")
	m.coldLogBytes = counter("cordwood_cold_log_bytes_total",
		"Bytes of the log of the shard that this replica stored in object storage.")
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
		m.all = append(m.all, h)
		return h
	}
	short := prometheus.ExponentialBuckets(0.0001, 2, 17) // 0.1 ms to 6.5 s
	m.QueueSeconds = histogram("cordwood_shard_queue_seconds",
		"Time that the oldest write of an entry waited in the leader's queue.", short)
	m.CommitSeconds = histogram("cordwood_shard_commit_seconds",
		"Time from the proposal of a log entry with writes until it is on a majority and applied, measured on "+
			"the leader.", short)
	m.ApplySeconds = histogram("cordwood_shard_apply_seconds", "Duration of the apply of one entry of writes.", short)
	m.compactSeconds = histogram("cordwood_shard_compaction_seconds", "Duration of a completed compaction.",
		prometheus.ExponentialBuckets(0.01, 2, 14))
	m.compactions = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "cordwood_shard_compactions_total",
		Help: "Compactions, by result: ok or error.",
	}, []string{"result"})
	m.flushes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "cordwood_shard_flushes_total",
		Help: "Flushes, by reason and by result: ok or error.",
	}, []string{"reason", "result"})
	m.flushSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "cordwood_shard_flush_seconds", Help: "Duration of a " +
			"flush.", Buckets: prometheus.ExponentialBuckets(0.01, 2, 14),
	})
	m.all = append(m.all, m.compactions, m.flushes, m.flushSeconds)
	for _, result := range []string{"ok", "error"} {
		m.compactions.WithLabelValues(result)
		for _, reason := range []string{flushBytes, flushAge, flushLog, flushIdle, flushBudget, FlushLeader, flushRetry} {
			m.flushes.WithLabelValues(reason, result)
		}
	}
	return m
}

// Gauge adds a gauge that is read at each scrape.
func (m *Metrics) Gauge(name, help string, value func() float64) {
	m.all = append(m.all, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
}

// Register registers the metrics. Their values are read from then on.
func (m *Metrics) Register() error {
	if m.reg == nil {
		return nil
	}
	for i, c := range m.all {
		if err := m.reg.Register(c); err != nil {
			for _, done := range m.all[:i] {
				m.reg.Unregister(done)
			}
			m.reg = nil
			return fmt.Errorf("metrics: %w", err)
		}
	}
	return nil
}

// Flushed counts a flush by its reason and result, and records its duration.
func (m *Metrics) Flushed(reason string, d time.Duration, err error) {
	result := "ok"
	if err != nil {
		result = "error"
	}
	m.flushes.WithLabelValues(reason, result).Inc()
	m.flushSeconds.Observe(d.Seconds())
}

// Unregister unregisters the metrics.
func (m *Metrics) Unregister() {
	if m.reg == nil {
		return
	}
	for _, c := range m.all {
		m.reg.Unregister(c)
	}
}
