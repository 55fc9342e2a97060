package worker

import (
	"sync"

	"cordwood/proto/lru"
	"cordwood/shard/query"
)

const (
	// cachedStatements is how many statements are cached.
	cachedStatements = 256
	// cachedBytes is the maximum length of a cached statement.
	cachedBytes = 8 << 10
)

// cache caches the analyses of recently used statements: what a statement refers to depends only on
// its text and the database.
type cache struct {
	mu   sync.Mutex // guards kept
	kept *lru.Cache[statementKey, *query.Analysis]
}

type statementKey struct{ sql, database string }

func newCache(most int) *cache {
	return &cache{kept: lru.New[statementKey, *query.Analysis](int64(most))}
}

func (c *cache) get(sql, database string) *query.Analysis {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, _ := c.kept.Get(statementKey{sql, database})
	return a
}

func (c *cache) put(sql, database string, a *query.Analysis) {
	if len(sql)+len(database) > cachedBytes {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept.Put(statementKey{sql, database}, a, 1)
}
