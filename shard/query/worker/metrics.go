package worker

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/shard/segment"
)

// Values of the reason label of refusals because of earlier faults.
const (
	refusedStatement = "statement"
	refusedUser      = "user"
)

type metrics struct {
	restarts *prometheus.CounterVec // by reason
	refusals *prometheus.CounterVec // by what is refused
	pages    *prometheus.CounterVec // by result
	evicted  prometheus.Counter
	parts    *prometheus.CounterVec // by result
}

func newMetrics(reg prometheus.Registerer, w *Worker) (*metrics, error) {
	m := &metrics{restarts: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "cordwood_query_worker_restarts_total",
		Help: "Query workers that ended and were replaced, by reason: crash, memory (the system gave no more), " +
			"stuck (a query did not stop), start (it could not start).",
	}, []string{"reason"})}
	for _, reason := range []string{reasonCrash, reasonMemory, reasonStuck, reasonStart} {
		m.restarts.WithLabelValues(reason)
	}
	m.refusals = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "cordwood_query_refused_total",
		Help: "Queries refused because processes of the query worker ended: statement (it was running each time), " +
			"user (queries of this user ended too many processes).",
	}, []string{"what"})
	for _, what := range []string{refusedStatement, refusedUser} {
		m.refusals.WithLabelValues(what)
	}
	m.pages = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "cordwood_query_page_cache_requests_total",
		Help: "Pages of segments read by queries for single rows and by counts: hit (cached from another query) or miss " +
			"(read from the file).",
	}, []string{"result"})
	m.pages.WithLabelValues("hit")
	m.pages.WithLabelValues("miss")
	m.evicted = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "cordwood_query_page_cache_evictions_total",
		Help: "Pages that the query worker removed from its cache to make room for others.",
	})
	m.parts = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "cordwood_query_kept_partials_total",
		Help: "Lookups of a segment's partial result of an aggregate in the cache: hit or miss.",
	}, []string{"result"})
	m.parts.WithLabelValues("hit")
	m.parts.WithLabelValues("miss")
	if reg == nil {
		return m, nil
	}
	gauge := func(name, help string, f func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, f)
	}
	// held returns the total number of bytes in a cache over all processes.
	held := func(bytes func(p *process) int64) func() float64 {
		return func() float64 {
			var sum int64
			for _, p := range w.processes() {
				p.mu.Lock()
				sum += bytes(p)
				p.mu.Unlock()
			}
			return float64(sum)
		}
	}
	// field returns the sum of a size over all processes.
	field := func(name string) func() float64 {
		return func() float64 {
			var sum int64
			for _, p := range w.processes() {
				if pid := p.processID(); pid != 0 {
					n, _ := statusField(fmt.Sprintf("/proc/%d/status", pid), name)
					sum += n
				}
			}
			return float64(sum)
		}
	}
	for _, c := range []prometheus.Collector{
		m.restarts, m.refusals, m.pages, m.evicted, m.parts,
		gauge("cordwood_query_running", "Queries that are running in the query worker.",
			func() float64 { running, _ := w.queries.Counts(); return float64(running) }),
		gauge("cordwood_query_waiting", "Queries that wait for a slot of the query worker.",
			func() float64 { _, waiting := w.queries.Counts(); return float64(waiting) }),
		gauge("cordwood_query_memory_limit_bytes", "Maximum memory of all queries of this node together.",
			func() float64 { return float64(w.cfg.MemoryLimit) }),
		gauge("cordwood_query_worker_processes", "Processes of the query worker; more than one while a process is being "+
			"replaced.",
			func() float64 { return float64(len(w.processes())) }),
		gauge("cordwood_query_worker_resident_bytes", "Memory of the query worker, including memory shared with the server.",
			field("VmRSS")),
		gauge("cordwood_query_page_cache_bytes",
			"Memory of the query worker for cached pages of segments.",
			held(func(p *process) int64 { return p.pages.Bytes })),
		gauge("cordwood_query_kept_partials_bytes",
			"Memory of the query worker for cached partial results of segments.",
			held(func(p *process) int64 { return p.parts.Bytes })),
		gauge("cordwood_query_worker_private_bytes", "Private memory of the query worker.", field("RssAnon")),
	} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

func (p *process) processID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pid
}

// report records the cache counters of a process, which count from its start. If two queries end at
// once, their reports may arrive in the wrong order.
func (p *process) report(e ended) {
	p.reportPages(e.Pages)
	p.mu.Lock()
	was := p.parts
	newer := e.Parts.Hits+e.Parts.Misses >= was.Hits+was.Misses
	if newer {
		p.parts = e.Parts
	}
	p.mu.Unlock()
	if newer {
		p.w.metrics.parts.WithLabelValues("hit").Add(float64(max(e.Parts.Hits-was.Hits, 0)))
		p.w.metrics.parts.WithLabelValues("miss").Add(float64(max(e.Parts.Misses-was.Misses, 0)))
	}
}

func (p *process) reportPages(pages segment.CacheStats) {
	p.mu.Lock()
	was := p.pages
	newer := pages.Hits+pages.Misses >= was.Hits+was.Misses
	if newer {
		p.pages = pages
	}
	p.mu.Unlock()
	if !newer {
		return
	}
	m := p.w.metrics
	m.pages.WithLabelValues("hit").Add(float64(max(pages.Hits-was.Hits, 0)))
	m.pages.WithLabelValues("miss").Add(float64(max(pages.Misses-was.Misses, 0)))
	m.evicted.Add(float64(max(pages.Evictions-was.Evictions, 0)))
}
