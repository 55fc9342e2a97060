package partial

import (
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"cordwood/proto/lru"
)

const (
	// MaxRows is the maximum number of rows of partials that are kept for a segment.
	MaxRows = 4096
	// MaxBytes is the maximum number of bytes of partials that are kept for a segment.
	MaxBytes = 256 << 10
	// again is the time within which a statement must be repeated for its partials to be kept.
	again = 10 * time.Minute
	// keptStatements is the maximum number of remembered statements.
	keptStatements = 1024
	// overhead is an estimate of an entry's bytes without its rows.
	overhead = 512
)

// Key identifies partials.
type Key struct {
	// Statement is the statement with the relevant part of its table's definition.
	Statement string
	// Segment is a file and the checksum of its content, or an object of a bucket.
	Segment string
	CRC     uint32
}

// Cache keeps partials by statement and segment. It is safe for concurrent use.
type Cache struct {
	mu         sync.Mutex // guards the fields below
	limit      int64
	kept       *lru.Cache[Key, arrow.RecordBatch]
	statements *lru.Cache[string, statement]
	stats      Stats
}

// statement is the cache's record of a statement.
type statement struct {
	seen time.Time
	// large reports that its partials are too large to be kept.
	large bool
}

// Stats counts the uses of a cache since it was created.
type Stats struct {
	// Hits and Misses count segments whose partials were requested.
	Hits, Misses int64
	// Bytes is the size of the cache.
	Bytes int64
}

// New returns a cache of at most limit bytes. If limit is 0, New returns nil, a cache that keeps nothing.
func New(limit int64) *Cache {
	if limit <= 0 {
		return nil
	}
	return &Cache{
		limit: limit, kept: lru.New[Key, arrow.RecordBatch](limit), statements: lru.New[string, statement](keptStatements),
	}
}

// Stats returns the counters of the cache.
func (c *Cache) Stats() Stats {
	if c == nil {
		return Stats{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.stats
	out.Bytes = c.kept.Weight()
	return out
}

// Asked records that a statement is run now. It reports whether its partials should be kept: it was
// run recently, and they are not too large.
func (c *Cache) Asked(sql string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, _ := c.statements.Get(sql)
	lately := now.Sub(known.seen) < again
	known.large = known.large && lately
	if !known.large { // keep the time of the attempt
		known.seen = now
	}
	c.statements.Put(sql, known, 1)
	return lately && !known.large
}

// TooLarge records that the partials of a statement are too large to be kept. It is not tried again for a while.
func (c *Cache) TooLarge(sql string, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.statements.Put(sql, statement{seen: now, large: true}, 1)
}

// IsTooLarge reports whether TooLarge was called for a statement recently.
func (c *Cache) IsTooLarge(sql string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, _ := c.statements.Peek(sql)
	return known.large
}

// Get returns the partials of a segment.
func (c *Cache) Get(k Key) (arrow.RecordBatch, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rec, ok := c.kept.Get(k)
	if ok {
		c.stats.Hits++
	} else {
		c.stats.Misses++
	}
	return rec, ok
}

// Has reports whether the partials of a segment are kept. It does not count as a use.
func (c *Cache) Has(k Key) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.kept.Peek(k)
	return ok
}

// Put keeps the partials of a segment unless they are too large. They must not change, must be on the Go heap, and
// must not share memory with other rows.
func (c *Cache) Put(k Key, rec arrow.RecordBatch) bool {
	size := Size(rec)
	if rec.NumRows() > MaxRows || size > MaxBytes {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	weight := size + overhead + int64(len(k.Segment))
	if weight <= c.limit {
		c.kept.Put(k, rec, weight)
	}
	return true
}

// Size returns the memory that the rows take, in bytes.
func Size(rec arrow.RecordBatch) (size int64) {
	for _, column := range rec.Columns() {
		for _, b := range column.Data().Buffers() {
			if b != nil {
				size += int64(b.Len())
			}
		}
	}
	return size
}
