package worker

import (
	"container/list"
	"sync"

	"cordwood/shard/query"
)

const (
	// cachedStatements is how many statements' analyses are kept.
	cachedStatements = 256
	// cachedBytes is how long a statement may be to be kept.
	cachedBytes = 8 << 10
)

// cache keeps the analyses of the statements used last: what a statement refers to
// depends on nothing but its text and the database.
type cache struct {
	mu    sync.Mutex
	most  int
	order *list.List // of *cached, used last in front
	byKey map[statementKey]*list.Element
}

type statementKey struct{ sql, database string }

type cached struct {
	key      statementKey
	analysis *query.Analysis
}

func newCache(most int) *cache {
	return &cache{most: most, order: list.New(), byKey: map[statementKey]*list.Element{}}
}

func (c *cache) get(sql, database string) *query.Analysis {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[statementKey{sql, database}]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached).analysis
}

func (c *cache) put(sql, database string, a *query.Analysis) {
	if len(sql)+len(database) > cachedBytes {
		return
	}
	key := statementKey{sql, database}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey[key] != nil {
		return
	}
	c.byKey[key] = c.order.PushFront(&cached{key, a})
	if c.order.Len() > c.most {
		last := c.order.Back()
		delete(c.byKey, c.order.Remove(last).(*cached).key)
	}
}
