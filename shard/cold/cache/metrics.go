package cache

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Values of the label why.
const (
	whyTail   = "tail"
	whyFilter = "filter"
	whyChunk  = "chunk"
)

type metrics struct {
	hits, misses, evicted, damaged, requests prometheus.Counter
	fetched                                  *prometheus.CounterVec // by why
	all                                      []prometheus.Collector
}

func newMetrics(reg prometheus.Registerer, c *Cache) (*metrics, error) {
	m := &metrics{}
	counter := func(name, help string) prometheus.Counter {
		x := prometheus.NewCounter(prometheus.CounterOpts{Name: "cordwood_cold_" + name, Help: help})
		m.all = append(m.all, x)
		return x
	}
	m.hits = counter("cache_hits_total", "Parts of cold objects that queries asked for and the cache had.")
	m.misses = counter("cache_misses_total",
		"Parts of cold objects that queries asked for and that were fetched from object storage.")
	m.evicted = counter("cache_evicted_bytes_total", "Bytes that the cache of cold objects removed to make room.")
	m.damaged = counter("cache_damaged_total",
		"Parts of cold objects whose bytes in the cache had a wrong checksum. They were fetched again.")
	m.requests = counter("fetch_requests_total", "Ranges of cold objects that were read from object storage.")
	m.fetched = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "cordwood_cold_fetched_bytes_total",
		Help: "Bytes of cold objects that were read from object storage, by what they are: tail (page indexes and footer), " +
			"filter (bloom filters) or chunk (columns).",
	}, []string{"why"})
	for _, why := range []string{whyTail, whyFilter, whyChunk} {
		m.fetched.WithLabelValues(why)
	}
	gauge := func(name, help string, value func(s Stats) int64) {
		m.all = append(m.all, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "cordwood_cold_" + name, Help: help},
			func() float64 { return float64(value(c.Stats())) }))
	}
	gauge("cache_bytes", "Space on disk of the cache of cold objects.", func(s Stats) int64 { return s.Bytes })
	gauge("cache_limit_bytes", "Maximum space on disk of the cache of cold objects.",
		func(s Stats) int64 { return s.Limit })
	gauge("cache_pinned_bytes", "Space on disk of the parts of cold objects that queries use at the moment.",
		func(s Stats) int64 { return s.Pinned })
	m.all = append(m.all, m.fetched)
	if reg == nil {
		return m, nil
	}
	for _, x := range m.all {
		if err := reg.Register(x); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

func (m *metrics) unregister(reg prometheus.Registerer) {
	if reg == nil {
		return
	}
	for _, x := range m.all {
		reg.Unregister(x)
	}
}
