package worker

import (
	"fmt"
	"strconv"
	"sync"

	"cordwood/proto/lru"
	"cordwood/shard/query"
)

const (
	// cachedStatements is the maximum number of cached statements. A statement counts once more for each cachedUnit bytes
	// of its key.
	cachedStatements = 512
	cachedUnit       = 1 << 10
	// cachedBytes is the maximum length of the key of a cached statement.
	cachedBytes = 128 << 10
)

// cache keeps results of the child about recently used statements, so that the child need not compute them again.
// The tables that a statement refers to, and how it is split, depend only on the parts of the key. A cache is safe
// for concurrent use.
type cache[V any] struct {
	mu   sync.Mutex // guards kept
	kept *lru.Cache[string, *V]
}

func newCache[V any](most int) *cache[V] {
	return &cache[V]{kept: lru.New[string, *V](int64(most))}
}

// get returns the cached result for a key, or nil. The result must not be changed.
func (c *cache[V]) get(key string) *V {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, _ := c.kept.Get(key)
	return v
}

func (c *cache[V]) put(key string, v *V) {
	if len(key) > cachedBytes {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept.Put(key, v, 1+int64(len(key))/cachedUnit)
}

// statementKey returns the key of a statement. Its texts are preceded by their lengths, so that different lists of
// texts make different keys.
func statementKey(texts ...string) string {
	n := 0
	for _, s := range texts {
		n += len(s) + 8
	}
	b := make([]byte, 0, n)
	for _, s := range texts {
		b = append(append(strconv.AppendInt(b, int64(len(s)), 10), ' '), s...)
	}
	return string(b)
}

// splitKey returns the key of a statement that is split for several nodes. The version of a table changes with its
// columns.
func splitKey(req *query.Request) string {
	texts := []string{req.SQL, req.Database, req.Timezone, strconv.FormatUint(req.Limit, 10)}
	for i := range req.Tables {
		t := &req.Tables[i]
		texts = append(texts, t.Database, t.Name, strconv.FormatUint(t.Schema.ID, 10),
			strconv.FormatUint(uint64(t.Schema.Version), 10))
	}
	for _, v := range req.Values {
		texts = append(texts, fmt.Sprint(v.Null, v.Exists, len(v.Texts)))
		texts = append(texts, v.Texts...)
	}
	return statementKey(texts...)
}
