package distribute

import (
	"sync"
	"time"

	"cordwood/proto/lru"
)

const (
	// keptFor is how long a statement is remembered. kept is the maximum number of remembered
	// statements.
	keptFor = 10 * time.Minute
	kept    = 256
)

// recent remembers statements for a while. It is safe for concurrent use.
type recent struct {
	mu   sync.Mutex // guards seen
	seen *lru.Cache[string, time.Time]
}

func newRecent() *recent { return &recent{seen: lru.New[string, time.Time](kept)} }

func (l *recent) add(sql string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen.Put(sql, time.Now(), 1)
}

func (l *recent) has(sql string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, ok := l.seen.Get(sql)
	return ok && time.Since(at) < keptFor
}
