package turns

import (
	"container/list"
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Places limits work that only computes, such as running a pipeline or decoding rows. Doing more of it at a time than
// there are processors takes more memory and saves no time.
//
// Databases share the places. A database that is alone may use all of them. While several have work, each has an equal
// part at most, and not more than one place for each processor, because each step of another database would wait behind
// all the work that can run. Beyond its part, it gets places as long as there are processors without work. A free
// place goes to the database with the fewest places, and among equals to the one that got its last place earliest.
// So a database without a place never waits for a flood of another one.
//
// It is safe for concurrent use.
type Places struct {
	size, most int

	crowded atomic.Bool // several databases have work

	mu     sync.Mutex // guards the rest
	used   int
	grants uint64
	lanes  map[string]*lane // databases that had work lately
	swept  time.Time        // when databases were last removed
}

// lane has the places and the waiting work of a database.
type lane struct {
	running int
	waiting list.List // of chan struct{}, which is closed when the work may begin
	last    uint64    // number of the last grant
	seen    time.Time // when it last had work
}

const (
	// placesEach is the number of places for each processor. Work often pauses, for example for the garbage collector.
	placesEach = 4
	// workedLately is how long a database without work counts as one that has it.
	workedLately = time.Second
	// maxLanes limits the number of databases with their own queue. Further ones share one, so that giving a place away
	// does not take longer and longer.
	maxLanes = 256
	// sharedLane is the queue of further databases. No database has this name.
	sharedLane = "\x00"
)

// ErrNoPlace means that work has waited for a place for too long.
var ErrNoPlace = errors.New("turns: no place became free in time")

// NewPlaces returns Places for the processors of the program.
func NewPlaces() *Places {
	n := runtime.GOMAXPROCS(0)
	return &Places{size: placesEach * n, most: n, lanes: map[string]*lane{}}
}

// Place is a place of Places. A nil Place has left.
type Place struct {
	of   atomic.Pointer[Places] // nil if it has left
	lane *lane
}

// Enter waits for a place for work of a database, for at most wait. The error is ErrNoPlace or the error of ctx.
func (p *Places) Enter(ctx context.Context, database string, wait time.Duration) (*Place, error) {
	l, at := p.queue(database)
	place := &Place{lane: l}
	place.of.Store(p)
	if at == nil {
		return place, nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	var err error
	select {
	case <-at.Value.(chan struct{}):
		return place, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
		err = ErrNoPlace
	}
	p.giveUp(place, at)
	return nil, err
}

// Leave frees the place. Further calls do nothing.
func (pl *Place) Leave() {
	if pl == nil {
		return
	}
	if p := pl.of.Swap(nil); p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.leave(pl.lane)
	}
}

// Yield lets other goroutines run, if other databases have work. Long work calls it about every millisecond, because
// otherwise the steps of others wait until the scheduler interrupts it, after 10 ms.
func (p *Places) Yield() {
	if p.crowded.Load() {
		runtime.Gosched()
	}
}

// Count returns the number of places in use.
func (p *Places) Count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used
}

// queue takes a place and returns nil, or adds work to the waiting work and returns its element.
func (p *Places) queue(database string) (*lane, *list.Element) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.sweep(now)
	l := p.lanes[database]
	if l == nil && len(p.lanes) >= maxLanes {
		database = sharedLane
		l = p.lanes[database]
	}
	if l == nil {
		p.grants++
		l = &lane{last: p.grants} // of two new databases, the first one goes first
		p.lanes[database] = l
		p.crowded.Store(len(p.lanes) > 1)
	}
	l.seen = now
	if l.waiting.Len() == 0 && p.mayRun(l) {
		p.grant(l)
		return l, nil
	}
	return l, l.waiting.PushBack(make(chan struct{}))
}

// sweep removes databases without work. p.mu must be held.
func (p *Places) sweep(now time.Time) {
	if now.Sub(p.swept) < workedLately {
		return
	}
	p.swept = now
	for name, l := range p.lanes {
		if l.running == 0 && l.waiting.Len() == 0 && now.Sub(l.seen) >= workedLately {
			delete(p.lanes, name)
		}
	}
	p.crowded.Store(len(p.lanes) > 1)
}

// mayRun reports whether there is a place for more work of a database. p.mu must be held.
func (p *Places) mayRun(l *lane) bool {
	most := p.size
	if active := len(p.lanes); active > 1 {
		most = min(max(p.size/active, 1), p.most)
	}
	// A processor without work takes that of any database. Otherwise many databases with little work would slow down one
	// that has much.
	return p.used < p.size && (l.running < most || p.used < p.size/placesEach)
}

// grant gives a place to a database. p.mu must be held.
func (p *Places) grant(l *lane) {
	p.used++
	l.running++
	p.grants++
	l.last = p.grants
}

// leave frees a place of a database. p.mu must be held.
func (p *Places) leave(l *lane) {
	p.used--
	l.running--
	l.seen = time.Now()
	p.sweep(l.seen)
	p.next()
}

// next gives free places to waiting work. p.mu must be held.
func (p *Places) next() {
	for p.used < p.size {
		var first *lane
		for _, l := range p.lanes {
			if l.waiting.Len() == 0 || !p.mayRun(l) {
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
		p.grant(first)
		close(e.Value.(chan struct{}))
	}
}

// giveUp removes waiting work, or frees its place if it has just got one.
func (p *Places) giveUp(place *Place, at *list.Element) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-at.Value.(chan struct{}):
		p.leave(place.lane)
	default:
		place.lane.waiting.Remove(at)
	}
}

// The database of some work, and its place, are values of its context, because the layers in between do not use them.
type (
	// DatabaseKey is the key of the database, a string. It is exported for contexts that have it in a field.
	DatabaseKey struct{}
	placeKey    struct{}
)

// WithDatabase returns a context for work of a database.
func WithDatabase(ctx context.Context, database string) context.Context {
	return context.WithValue(ctx, DatabaseKey{}, database)
}

// DatabaseOf returns the database of the work, or "".
func DatabaseOf(ctx context.Context) string {
	database, _ := ctx.Value(DatabaseKey{}).(string)
	return database
}

// WithPlace returns a context for work that has a place and will call Leave.
func WithPlace(ctx context.Context, place *Place) context.Context {
	return context.WithValue(ctx, placeKey{}, place)
}

// Leave frees the place of WithPlace. It is called when the computing is done, or is about to wait for something else.
func Leave(ctx context.Context) {
	place, _ := ctx.Value(placeKey{}).(*Place)
	place.Leave()
}
