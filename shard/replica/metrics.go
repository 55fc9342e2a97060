package replica

import (
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/raft"
	"github.com/prometheus/client_golang/prometheus"
)

// metrics holds the metrics of one group. Without a registerer they are counted, but not exported.
type metrics struct {
	reg        prometheus.Registerer
	collectors []prometheus.Collector

	appendSeconds prometheus.Histogram
	fsyncSeconds  prometheus.Histogram
	appendBytes   prometheus.Counter
	failures      prometheus.Counter
	changes       prometheus.Counter
	cut           prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, group string) *metrics {
	m := &metrics{
		appendSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "cordwood_raft_log_append_seconds", Help: "Duration of one append to the raft log, including fsync.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 17), // 0.1 ms to 6.5 s
		}),
		fsyncSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "cordwood_raft_log_fsync_seconds",
			Help: "Duration of one fsync of a file of the raft log. The metadata group does not have this metric, because " +
				"its log is a database file.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 17),
		}),
		appendBytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cordwood_raft_log_append_bytes_total", Help: "Bytes of entries appended to the raft log.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cordwood_raft_log_failures_total", Help: "Failures of the raft log that ended the replica.",
		}),
		cut: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cordwood_raft_log_damage_cut_total",
			Help: "Number of times damage was found and cut off in log entries that were no longer needed. No data was lost; " +
				"replace the disk.",
		}),
		changes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cordwood_raft_leadership_changes_total",
			Help: "Number of times this member became leader of its group or stopped leading it.",
		}),
	}
	if reg != nil {
		m.reg = prometheus.WrapRegistererWith(prometheus.Labels{"group": group}, reg)
	}
	m.register(m.appendSeconds, m.fsyncSeconds, m.appendBytes, m.failures, m.changes, m.cut)
	return m
}

// watch registers the gauges that are read at collection time. The replica must be running.
func (m *metrics) watch(r *Replica) { m.register(raftCollector{r}) }

func (m *metrics) register(cs ...prometheus.Collector) {
	for _, c := range cs {
		// A second replica of the same group in one process, as in tests, does not have these
		// metrics.
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

func (m *metrics) appended(d time.Duration, bytes int64) {
	m.appendSeconds.Observe(d.Seconds())
	m.appendBytes.Add(float64(bytes))
}

func (m *metrics) synced(d time.Duration) { m.fsyncSeconds.Observe(d.Seconds()) }

// raftCollector reports the state of a member at a single moment.
type raftCollector struct{ r *Replica }

var (
	leaderDesc    = raftDesc("leader", "1 if this member leads its group.")
	knowsDesc     = raftDesc("leader_known", "1 if this member knows the leader of its group.")
	termDesc      = raftDesc("term", "Term of the group, as this member knows it; it increases with every election.")
	lastDesc      = raftDesc("last_index", "Index of the last entry of this member's log.")
	committedDesc = raftDesc("commit_index", "Index of the last entry that this member knows to be committed.")
	appliedDesc   = raftDesc("applied_index", "Index of the last command that this member has applied.")
	lagDesc       = raftDesc("apply_lag_entries", "Entries that this member knows to be committed and has not applied.")
	votersDesc    = raftDesc("voters", "Voters of the group, as known to this member.")
	learnersDesc  = raftDesc("learners",
		"Members of the group without a vote, such as new replicas, as this member knows them.")
	bytesDesc  = raftDesc("log_bytes", "Bytes of entries in the raft log.")
	oldestDesc = raftDesc("log_oldest_age_seconds", "Age of the oldest entry after the last snapshot, from which a "+
		"restart would apply entries again; 0 if there is none.")
	snapshotDesc = raftDesc("snapshot_age_seconds", "Time since the last snapshot of the group on this member; "+
		"absent until there is one. A group without writes takes no snapshots.")
	followerDesc = raftDesc("follower_lag_entries",
		"Entries that another member did not have at its last answer; only on the leader.", "peer")
	silentDesc = raftDesc("follower_silent_seconds",
		"Time since the last answer of another member; only on the leader, and absent if it never answered.", "peer")
)

func raftDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("cordwood_raft_"+name, help, labels, nil)
}

// Describe implements prometheus.Collector.
func (c raftCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		leaderDesc, knowsDesc, termDesc, lastDesc, committedDesc, appliedDesc, lagDesc, votersDesc, learnersDesc,
		bytesDesc, oldestDesc, snapshotDesc, followerDesc, silentDesc,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c raftCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.r.Stats()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	leads := s.State == raft.Leader.String()
	gauge(leaderDesc, number(leads))
	gauge(knowsDesc, number(leads || s.Leader != ""))
	gauge(termDesc, float64(s.Term))
	gauge(lastDesc, float64(s.LastIndex))
	gauge(committedDesc, float64(s.CommitIndex))
	gauge(appliedDesc, float64(s.AppliedIndex))
	lag := 0.0
	if !c.r.hasApplied(s.KnownCommit) {
		lag = float64(s.KnownCommit - min(s.AppliedIndex, s.KnownCommit))
	}
	gauge(lagDesc, lag)
	gauge(bytesDesc, float64(s.LogBytes))
	oldest := 0.0
	if since := c.r.fsm.oldest.Load(); since != 0 {
		oldest = max(time.Since(time.Unix(0, since)).Seconds(), 0)
	}
	gauge(oldestDesc, oldest)
	if taken := c.r.fsm.lastSnapshot(); !taken.IsZero() {
		gauge(snapshotDesc, max(time.Since(taken).Seconds(), 0))
	}
	voters, learners := 0, 0
	for _, m := range s.Members {
		if m.Voter {
			voters++
		} else {
			learners++
		}
		if !leads || m.NodeID == c.r.cfg.NodeID || m.Silent < 0 {
			continue
		}
		gauge(followerDesc, float64(s.LastIndex-min(m.LastIndex, s.LastIndex)), m.NodeID)
		gauge(silentDesc, m.Silent.Seconds(), m.NodeID)
	}
	gauge(votersDesc, float64(voters))
	gauge(learnersDesc, float64(learners))
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// snapshotTime returns when a snapshot was taken, from its name, or zero if the name has no time.
func snapshotTime(id string) time.Time {
	millis, err := strconv.ParseInt(id[strings.LastIndexByte(id, '-')+1:], 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(millis)
}
