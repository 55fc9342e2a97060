package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Hold keeps what a query reads in the cache. Its calls may run concurrently, but not with Release.
type Hold struct {
	c *Cache
	// requests limits the requests of the query that run at once.
	requests chan struct{}

	mu   sync.Mutex // guards the fields below and the bits of held; locked before Cache.mu
	pins map[*entry]struct{}
	held map[string]*held // by key
	done Traffic
}

// Traffic is what a Hold has taken: the requests, the bytes that they returned, and the bytes that were on disk.
type Traffic struct {
	Objects, Requests int
	Bytes, Cached     int64
}

// Done returns what the Hold has taken so far.
func (h *Hold) Done() Traffic {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.done
	t.Objects = len(h.held)
	return t
}

// took adds to what the Hold has taken.
func (h *Hold) took(requests int, bytes, cached int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.done.Requests, h.done.Bytes, h.done.Cached = h.done.Requests+requests, h.done.Bytes+bytes, h.done.Cached+cached
}

// held is an object of a Hold.
type held struct {
	file *File
	o    *object
	// got are the units that the Hold has.
	got bits
}

// holdRequests is the maximum number of requests of a Hold that run at once.
const holdRequests = 16

// Hold returns a Hold of nothing.
func (c *Cache) Hold() *Hold {
	return &Hold{
		c: c, requests: make(chan struct{}, holdRequests), pins: map[*entry]struct{}{}, held: map[string]*held{},
	}
}

// Release makes all that the Hold has removable. It may be called twice.
func (h *Hold) Release() {
	h.c.mu.Lock()
	out := victims{}
	for e := range h.pins {
		h.c.unpin(e)
	}
	for e := range h.pins {
		if e.extent == tailExtent && !e.has.has(0) && e.o.pins == 0 && e.o.removal == nil && e.o.tail == e {
			h.c.takeObject(out, e.o) // without a tail the rest is of no use
		}
	}
	clear(h.pins)
	h.c.mu.Unlock()
	clear(h.held)
	h.c.clear(out)
}

// pin pins an entry for the Hold, and reports whether the Hold had it. c.mu and h.mu are held.
func (h *Hold) pin(e *entry) (had bool) {
	if _, had = h.pins[e]; !had {
		h.pins[e] = struct{}{}
		h.c.pin(e)
	}
	return had
}

// Want is a number of units of an object.
type Want struct {
	File *File
	// Units are indexes in File.List.
	Units []int
}

// bytes returns the length of the units.
func (w Want) bytes() (n int64) {
	for _, u := range w.Units {
		n += w.File.List[u].Length
	}
	return n
}

// Open makes the tails of objects available, and returns their descriptions in the order of the objects.
func (h *Hold) Open(ctx context.Context, objects ...Object) ([]*File, error) {
	out := make([]*File, len(objects))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(holdRequests)
	for i := range objects {
		g.Go(func() (err error) {
			out[i], err = h.open(ctx, objects[i])
			return err
		})
	}
	return out, g.Wait()
}

// Fetch makes units available. Then they can be read from the files until Release. After an error, some of them may be
// available. The files must be those of Open of the same Hold.
func (h *Hold) Fetch(ctx context.Context, wants ...Want) error {
	wants = slices.DeleteFunc(slices.Clone(wants), func(w Want) bool { return len(w.Units) == 0 })
	for i := range wants {
		w := &wants[i]
		if !slices.IsSorted(w.Units) {
			w.Units = slices.Sorted(slices.Values(w.Units))
		}
	}
	for try := 1; ; try++ {
		again, err := h.fetch(ctx, wants)
		if err != nil || !again {
			return err
		}
		if try == fetchTries {
			return ErrLost
		}
	}
}

// fetchTries is how often Fetch looks again for units that others fetched in vain, or whose bytes on disk were wrong.
const fetchTries = 20

// plan is what a call of fetch has to do.
type plan struct {
	// there are units on disk, of which the checksums are compared.
	there []Want
	// mine are the fetches that this call makes. others are fetches of other calls.
	mine   []*run
	others []*flight
	// until, if it is set, is closed when the caller may plan again. out is what it has to remove before.
	until <-chan struct{}
	out   victims
}

// fetch gets what it can of some units. again means that some were not got, for a reason that may be over.
func (h *Hold) fetch(ctx context.Context, wants []Want) (again bool, err error) {
	p, err := h.plan(wants)
	for err == nil && p.until != nil {
		h.c.clear(p.out)
		select {
		case <-p.until:
		case <-ctx.Done():
			return false, ctx.Err()
		}
		p, err = h.plan(wants)
	}
	if err != nil {
		return false, err
	}
	err = h.runAll(ctx, p.mine)
	if err != nil {
		return false, err
	}
	wrong, err := h.verify(ctx, p.there)
	if err != nil {
		return false, err
	}
	again = wrong
	for _, f := range p.others {
		select {
		case <-f.done:
		case <-ctx.Done():
			return false, ctx.Err()
		}
		// The other call may have been cancelled, or may lack room.
		if own := (*NoRoomError)(nil); f.err != nil && !isContext(f.err) && !errors.As(f.err, &own) {
			return false, f.err
		}
		again = true
	}
	return again, ctx.Err()
}

// verify compares units on disk with their checksums. wrong means that some differ, which have to be fetched.
func (h *Hold) verify(ctx context.Context, list []Want) (wrong bool, err error) {
	var differs atomic.Bool
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(min(runtime.GOMAXPROCS(0), maxVerifiers))
	for _, w := range list {
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			bad, err := h.c.verify(w)
			if err == nil && !bad {
				h.gain(w.File, w.Units)
				h.took(0, 0, w.bytes())
			}
			if bad {
				differs.Store(true)
			}
			return err
		})
	}
	err = g.Wait()
	return differs.Load(), err
}

// maxVerifiers is the maximum number of goroutines of a query that compare checksums.
const maxVerifiers = 4

func isContext(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// gain records units that the Hold has.
func (h *Hold) gain(f *File, units []int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	x := h.held[f.Key]
	for _, u := range units {
		x.got.add(u)
	}
}

// plan decides how to get units, pins their extents, and begins the fetches.
func (h *Hold) plan(wants []Want) (p plan, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return p, ErrClosed
	}
	need, claimed := int64(0), map[*entry]int64{}
	hits, misses := 0, 0
	for _, w := range wants {
		x := h.held[w.File.Key]
		if x == nil || x.file != w.File {
			return p, errors.New("cache of cold objects: units of an object that is not open are wanted")
		}
		if x.o.removal != nil {
			p.until = x.o.removal.done
			return p, nil
		}
		there, absent := Want{File: w.File}, Want{File: w.File}
		var last *entry
		for _, u := range w.Units {
			if u < 0 || u >= len(w.File.List) {
				return p, fmt.Errorf("cache of cold objects: unit %d of %d of an object is wanted", u, len(w.File.List))
			}
			number := int(w.File.extentOf[u])
			if x.got.has(u) || number == tailExtent {
				continue // the page indexes are a part of the tail
			}
			if last == nil || last.extent != number {
				known := x.o.entries[number] != nil
				last = c.entry(x.o, number, w.File.extents[number])
				if !h.pin(last) && known {
					last.uses = min(last.uses+1, maxUses)
				}
			}
			switch f := x.o.flights[u]; {
			case last.has.has(u - w.File.extents[number].first):
				there.Units = append(there.Units, u)
				hits++
			case f != nil:
				if !slices.Contains(p.others, f) {
					p.others = append(p.others, f)
				}
				hits++
			default:
				absent.Units = append(absent.Units, u)
				misses++
			}
		}
		if there.Units != nil {
			p.there = append(p.there, there)
		}
		for _, r := range join(absent) {
			r.o = x.o
			r.reserve(claimed)
			need += r.reserved
			p.mine = append(p.mine, r)
		}
	}
	if p.out, p.until, err = c.room(h, need); err != nil || p.until != nil {
		return p, err
	}
	c.m.hits.Add(float64(hits))
	c.m.misses.Add(float64(misses))
	for _, r := range p.mine {
		c.begin(r)
	}
	return p, nil
}

// room reserves space. If there is not enough, it chooses what the caller has to remove first, and returns a channel
// that is closed when something was removed; then the caller tries again. c.mu is held.
func (c *Cache) room(h *Hold, need int64) (out victims, until <-chan struct{}, err error) {
	over := c.used() + need - c.limit
	if over <= 0 || need == 0 {
		c.reserved += need
		return nil, nil, nil
	}
	if over -= c.leaving; over <= 0 {
		return nil, c.freed, nil
	}
	if out = c.choose(over); len(out) > 0 {
		return out, c.freed, nil
	}
	own := need
	for e := range h.pins {
		own += e.bytes
	}
	return nil, nil, &NoRoomError{Need: own, Others: c.used() - own + need, Limit: c.limit}
}

// Missing says what Fetch of units would do: the number of requests, the bytes that they return, and the bytes of the
// units that are there.
func (c *Cache) Missing(w Want) (requests int, fetch, there int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.objects[w.File.Key]
	absent := Want{File: w.File}
	for _, u := range w.Units {
		number := int(w.File.extentOf[u])
		var e *entry
		if o != nil {
			e = o.entries[number]
		}
		if number == tailExtent || e != nil && e.has.has(u-w.File.extents[number].first) {
			there += w.File.List[u].Length
		} else {
			absent.Units = append(absent.Units, u)
		}
	}
	slices.SortFunc(absent.Units, cmp.Compare[int])
	for _, r := range join(absent) {
		requests, fetch = requests+r.requests(), fetch+r.length
	}
	return requests, fetch, there
}
