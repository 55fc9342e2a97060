package worker

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/lru"
)

const (
	// maxSuspects is the maximum number of remembered statements that ran when a process ended.
	maxSuspects = 256
	// refuseAt is the number of such ends after which a statement is refused. refuseFor is how long it is refused
	// after the last end.
	refuseAt  = 2
	refuseFor = 5 * time.Minute
)

// suspects records the statements that ran when a process ended; one of them was probably the cause. Clients repeat
// failed statements, so a statement that crashes the process, and ends the queries of others with it, would do this
// again and again. A statement that was answered is no longer suspect. It is safe for concurrent use.
type suspects struct {
	now func() time.Time
	// count is the number of remembered statements, so that check is cheap as long as it is 0.
	count atomic.Int64

	mu    sync.Mutex // guards known
	known *lru.Cache[suspectKey, *suspect]
}

type suspectKey [sha256.Size]byte

type suspect struct {
	ends int
	last time.Time
}

func newSuspects() *suspects {
	return &suspects{now: time.Now, known: lru.New[suspectKey, *suspect](maxSuspects)}
}

func keyOf(sql, database string) suspectKey {
	return sha256.Sum256([]byte(fmt.Sprintf("%d\x00%s%s", len(database), database, sql)))
}

// check returns the error for a statement that is refused.
func (s *suspects) check(sql, database string) error {
	if s.count.Load() == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.known.Peek(keyOf(sql, database))
	if !ok {
		return nil
	}
	left := refuseFor - s.now().Sub(found.last)
	if found.ends < refuseAt || left <= 0 {
		return nil
	}
	left = max(left.Round(time.Second), time.Second)
	return errs.New(errs.Unsupported,
		"this statement was running each of the last %d times that a query process ended, and is refused for %s; "+
			"write it in another way, or narrow its time range", found.ends, left)
}

// blame notes that the statement ran on a process that ended.
func (s *suspects) blame(sql, database string) {
	key := keyOf(sql, database)
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.known.Get(key)
	if !ok {
		found = &suspect{}
		s.known.Put(key, found, 1)
	}
	found.ends++
	found.last = s.now()
	s.count.Store(int64(s.known.Len()))
}

// clear forgets a statement that was answered.
func (s *suspects) clear(sql, database string) {
	if s.count.Load() == 0 {
		return
	}
	key := keyOf(sql, database)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known.Remove(key)
	s.count.Store(int64(s.known.Len()))
}
