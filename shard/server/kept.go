package server

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/lru"
	"cordwood/proto/shardpb"
	"cordwood/shard/server/distribute"
	"cordwood/shard/store"
)

// This file keeps the answers to parts of queries in the memory of the server. A part is a function of the rows that it
// reads: it has no functions such as now() or random(). So as long as these rows stay the same, so does its answer, and
// neither the rows nor the query process are needed.

const (
	// maxKeptAnswer is the maximum size of an answer that is kept, in bytes.
	maxKeptAnswer = 256 << 10
	// keptAgain is the time within which a part must be repeated for its answer to be kept.
	keptAgain = 10 * time.Minute
	// keptOverhead and keptSegment are estimates of the memory of an entry without its answer, and of the description of
	// a segment that no longer exists, in bytes.
	keptOverhead, keptSegment = 512, 512
)

// keptAnswers keeps the answers to parts of queries that are repeated. A nil pointer keeps nothing. It is safe for
// concurrent use.
type keptAnswers struct {
	limit   int64
	lookups *prometheus.CounterVec

	mu    sync.Mutex // guards parts
	parts *lru.Cache[string, *keptPart]
}

// keptPart is a part of a query over rows of some shards. It is immutable once it is in the cache.
type keptPart struct {
	key string
	// rows identifies the rows of each shard. oldest is the smallest time of them.
	rows   []store.Stored
	oldest int64
	asked  time.Time
	// again means that the part was asked before, and that its rows have not changed since.
	again bool
	// answer is nil as long as the part was asked only once.
	answer []byte
}

// newKeptAnswers returns a cache of at most limit bytes, or nil if limit is 0.
func newKeptAnswers(limit int64, reg prometheus.Registerer) *keptAnswers {
	if limit <= 0 {
		return nil
	}
	k := &keptAnswers{
		limit: limit, parts: lru.New[string, *keptPart](limit),
		lookups: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cordwood_query_kept_answers_total",
			Help: "Parts of queries over several nodes that read only rows in segments, by whether this node knew the answer: " +
				"hit or miss.",
		}, []string{"result"}),
	}
	k.lookups.WithLabelValues("hit")
	k.lookups.WithLabelValues("miss")
	if reg != nil {
		reg.MustRegister(k.lookups, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "cordwood_query_kept_answers_bytes",
			Help: "Memory for the answers to parts of queries over several nodes.",
		}, func() float64 {
			k.mu.Lock()
			defer k.mu.Unlock()
			return float64(k.parts.Weight())
		}))
	}
	return k
}

// find returns the answer to a part of a query if it is known. Otherwise it returns the part for a later put, or nil if
// its answer cannot be kept.
func (k *keptAnswers) find(req *shardpb.QueryRequest, views map[uint32]*store.View) (answer []byte, p *keptPart) {
	if k == nil || !keeps(req) {
		return nil, nil
	}
	t := req.Tables[0]
	p = &keptPart{key: keptKey(req), asked: time.Now()}
	for _, id := range distribute.ShardsOf(t) {
		v := views[id]
		if v == nil {
			return nil, nil // another node has the rows
		}
		rows, ok := v.Stored(t.Table.Id)
		if !ok {
			return nil, nil
		}
		p.rows = append(p.rows, rows)
	}
	known := k.get(p)
	if known != nil {
		p.oldest, p.again = known.oldest, p.asked.Sub(known.asked) < keptAgain
	} else {
		p.measure(t.Table.Id)
	}
	if t.ExpiredBefore != nil && p.oldest < *t.ExpiredBefore {
		return nil, nil // the rows that have not expired change all the time
	}
	if known != nil && known.answer != nil {
		k.lookups.WithLabelValues("hit").Inc()
		return known.answer, nil
	}
	k.lookups.WithLabelValues("miss").Inc()
	return nil, p
}

// keeps reports whether the request is a part whose answer may be kept. EXPLAIN reads all rows.
func keeps(req *shardpb.QueryRequest) bool {
	return req.Part && len(req.Tables) == 1 && !req.Tables[0].Inline && len(req.Tables[0].LeftOut) == 0 && !req.Stages &&
		!strings.HasPrefix(req.Sql, "EXPLAIN ")
}

// keptKey identifies a part without its rows. The version of a table changes with its columns.
func keptKey(req *shardpb.QueryRequest) string {
	t := req.Tables[0]
	b := make([]byte, 0, len(req.Sql)+128)
	number := func(n uint64) { b = append(strconv.AppendUint(b, n, 10), ' ') }
	number(t.Table.Id)
	number(uint64(t.Table.Version))
	number(req.Limit)
	for _, id := range distribute.ShardsOf(t) {
		number(uint64(id))
	}
	for _, text := range []string{t.Name.Database, t.Name.Name, req.Database, req.Timezone} {
		number(uint64(len(text)))
		b = append(b, text...)
	}
	return string(append(b, req.Sql...))
}

// measure determines the smallest time of the rows.
func (p *keptPart) measure(table uint64) {
	for i := range p.rows {
		if oldest := p.rows[i].Oldest(table); i == 0 || oldest < p.oldest {
			p.oldest = oldest
		}
	}
}

// get returns the entry of the same part over the same rows, or nil.
func (k *keptAnswers) get(p *keptPart) *keptPart {
	k.mu.Lock()
	defer k.mu.Unlock()
	known, ok := k.parts.Get(p.key)
	if !ok || !slices.EqualFunc(known.rows, p.rows, store.Stored.Same) {
		return nil
	}
	return known
}

// put keeps the answer to a part. If the part was asked for the first time, there is no answer yet, and put only
// remembers the part.
func (k *keptAnswers) put(p *keptPart, answer []byte) {
	if p == nil {
		return
	}
	p.answer = answer
	weight := int64(keptOverhead + len(p.key) + len(answer))
	for _, rows := range p.rows {
		weight += int64(rows.Segments()) * keptSegment
	}
	if weight > k.limit {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.parts.Put(p.key, p, weight)
}
