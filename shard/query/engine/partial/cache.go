package partial

import (
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"cordwood/proto/lru"
)

const (
	// MaxRows bounds the partials of a segment that are kept.
	MaxRows = 4096
	// MaxBytes bounds them as well.
	MaxBytes = 256 << 10
	// again is how soon a statement must be asked again for its partials to be kept.
	again = 10 * time.Minute
	// keptStatements is how many statements are remembered.
	keptStatements = 1024
	// overhead is about what an entry takes beside its rows.
	overhead = 512
)

// Key tells partials from others.
type Key struct {
	// Statement is what was asked, of a table of which columns.
	Statement string
	// Segment is what the rows were: a file and the checksum of its content, or an object of a bucket.
	Segment string
	CRC     uint32
}

// Cache keeps partials by statement and segment. It is safe for concurrent use.
type Cache struct {
	mu         sync.Mutex // guards what is below
	limit      int64
	kept       *lru.Cache[Key, arrow.RecordBatch]
	statements *lru.Cache[string, statement]
	stats      Stats
}

// statement is what is known of a statement.
type statement struct {
	seen time.Time
	// large tells that its partials are too large to be kept.
	large bool
}

// Stats is what a cache did since it was made.
type Stats struct {
	// Hits and Misses count segments whose partials were asked for.
	Hits, Misses int64
	// Bytes is what the cache holds.
	Bytes int64
}

// New returns a cache of at most so many bytes; for 0 nil, which keeps nothing.
func New(limit int64) *Cache {
	if limit <= 0 {
		return nil
	}
	return &Cache{
		limit: limit, kept: lru.New[Key, arrow.RecordBatch](limit), statements: lru.New[string, statement](keptStatements),
	}
}

// Stats returns what the cache did so far.
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

// Asked notes that a statement is asked now. It returns whether it was asked lately and its partials are not too large:
// then it is worth while to keep them.
func (c *Cache) Asked(sql string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, _ := c.statements.Get(sql)
	lately := now.Sub(known.seen) < again
	known.large = known.large && lately
	if !known.large { // the time of the attempt stays
		known.seen = now
	}
	c.statements.Put(sql, known, 1)
	return lately && !known.large
}

// TooLarge notes that the partials of a statement are too large to be kept. It is not tried again for a while.
func (c *Cache) TooLarge(sql string, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.statements.Put(sql, statement{seen: now, large: true}, 1)
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

// Put keeps the partials of a segment, which must not change, unless they are too large. Their memory must be that
// of the Go heap, and not be shared with other rows.
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

// Size returns how much memory rows take.
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
