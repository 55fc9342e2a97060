package ingest

import (
	"container/list"
	"context"
	"runtime"
	"sync"
	"time"

	"cordwood/proto/errs"
)

const (
	// runningWait is the default time that a request waits for its pipeline to start.
	runningWait = 2 * time.Second
	// activeFor is how long a database without requests counts as one that has them.
	activeFor = time.Second
)

// running limits the number of pipelines that run at a time. Pipelines only compute, so running more than a few for
// each processor takes more memory and saves no time.
//
// Databases share the places: while several have requests, each gets an equal part at most, and a free place goes to
// the one with the fewest running pipelines. So a flood of requests for one database does not delay another one.
type running struct {
	size int

	mu        sync.Mutex // guards the rest
	used      int
	grants    uint64
	databases map[string]*lane // databases that had requests lately
	swept     time.Time        // when databases were last removed
}

// lane has the running and waiting pipelines of a database.
type lane struct {
	running int
	waiting list.List // of chan struct{}, which is closed when the pipeline may run
	last    uint64    // number of the last grant
	seen    time.Time // when it last had requests
}

func newRunning() *running {
	return &running{size: 4 * runtime.GOMAXPROCS(0), databases: map[string]*lane{}}
}

// enter waits for a place for a pipeline of a database, for at most wait. leave frees it.
func (r *running) enter(ctx context.Context, database string, wait time.Duration) (leave func(), err error) {
	l, at := r.queue(database)
	leave = func() { r.leave(l) }
	if at == nil {
		return leave, nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-at.Value.(chan struct{}):
		return leave, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
		err = errs.New(errs.ShardBusy, "%d pipelines are running, and many requests wait: try again later",
			r.count()).WithRetryAfter(runningWait)
	}
	r.giveUp(l, at)
	return nil, err
}

// queue takes a place and returns nil, or adds a pipeline to the waiting ones and returns its element.
func (r *running) queue(database string) (*lane, *list.Element) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	r.sweep(now)
	l := r.databases[database]
	if l == nil {
		l = &lane{}
		r.databases[database] = l
	}
	l.seen = now
	if l.waiting.Len() == 0 && r.mayRun(l) {
		r.grant(l)
		return l, nil
	}
	return l, l.waiting.PushBack(make(chan struct{}))
}

// sweep removes databases without requests. r.mu must be held.
func (r *running) sweep(now time.Time) {
	if now.Sub(r.swept) < activeFor {
		return
	}
	r.swept = now
	for name, l := range r.databases {
		if l.running == 0 && l.waiting.Len() == 0 && now.Sub(l.seen) >= activeFor {
			delete(r.databases, name)
		}
	}
}

// mayRun reports whether there is a place for one more pipeline of a database. r.mu must be held.
func (r *running) mayRun(l *lane) bool {
	active := max(len(r.databases), 1)
	return r.used < r.size && l.running < max(r.size/active, 1)
}

// grant gives a place to a database. r.mu must be held.
func (r *running) grant(l *lane) {
	r.used++
	l.running++
	r.grants++
	l.last = r.grants
}

// leave frees a place.
func (r *running) leave(l *lane) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used--
	l.running--
	l.seen = time.Now()
	r.sweep(l.seen)
	r.next()
}

// next gives free places to waiting pipelines. r.mu must be held.
func (r *running) next() {
	for r.used < r.size {
		var first *lane
		for _, l := range r.databases {
			if l.waiting.Len() == 0 || !r.mayRun(l) {
				continue
			}
			if first == nil || l.running < first.running || l.running == first.running && l.last < first.last {
				first = l
			}
		}
		if first == nil {
			return
		}
		e := first.waiting.Front()
		first.waiting.Remove(e)
		r.grant(first)
		close(e.Value.(chan struct{}))
	}
}

// giveUp removes a waiting pipeline, or frees its place if it has just got one.
func (r *running) giveUp(l *lane, at *list.Element) {
	r.mu.Lock()
	select {
	case <-at.Value.(chan struct{}):
		r.mu.Unlock()
		r.leave(l)
		return
	default:
	}
	defer r.mu.Unlock()
	l.waiting.Remove(at)
}

// count returns the number of running pipelines.
func (r *running) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.used
}
