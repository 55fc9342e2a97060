package cache

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"cordwood/proto/lru"
	"cordwood/shard/cold/bucket"
)

// Config configures a Cache.
type Config struct {
	// Dir is the folder of the cache. It is created when it is needed. Nothing else may be in it.
	Dir string
	// Bytes is the maximum space on disk, not counting the lists of what is there, which take a thousandth of it.
	Bytes int64
	// Bucket has the objects. It repeats requests and limits how many run at once, as a bucket.Guard does.
	Bucket bucket.Bucket
	Logger *slog.Logger
	// Registerer is for the metrics. It may be nil.
	Registerer prometheus.Registerer

	fault func(op, name string) error // see disk
}

const (
	// metaShare is the share of the cache that tails and bloom filters may always take, in percent.
	metaShare = 10
	// filesBytes is the memory for descriptions of objects.
	filesBytes = 64 << 20
	// fetchMemory is the maximum size of all answers of the bucket that are in memory.
	fetchMemory = 128 << 20
)

// Cache keeps parts of objects. See the package comment.
type Cache struct {
	cfg    Config
	log    *slog.Logger
	disk   disk
	m      *metrics
	memory *semaphore.Weighted

	mu      sync.Mutex // guards all fields below, and those of objects and entries. No I/O is done under it.
	objects map[string]*object
	// meta has tails and bloom filters, data has column chunks.
	meta, data queues
	limit      int64
	// reserved is the space of what is being fetched, leaving that of what is being removed.
	reserved, leaving int64
	pinned            int64
	files             *lru.Cache[string, *File]
	// wholly means that the file system cannot make holes, so that only whole objects are removed.
	wholly  bool
	changed map[*object]struct{}
	closed  bool
	// freed is closed, and replaced, when a removal is over.
	freed chan struct{}

	wake   chan struct{}
	stop   chan struct{}
	keeper sync.WaitGroup
}

// object is an object of which the cache has something, or fetches something.
type object struct {
	Object
	name      string
	bareBytes int64
	bareCRC   uint32
	// entries are the extents of which something is there or in use.
	entries map[int]*entry
	tail    *entry // entries[tailExtent]
	// begun means that the file exists.
	begun bool
	// flights are the fetches under way, by unit.
	flights map[int]*flight
	// pins is the sum over the entries.
	pins int
	// removal is set while files of the object are removed or get holes. Nothing is fetched meanwhile.
	removal *removal
}

// tailUnit stands for the tail among the units of an object.
const tailUnit = -1

// entry is an extent of an object.
type entry struct {
	o              *object
	extent         int
	offset, length int64 // in the file
	has            bits
	units          int
	meta           bool

	queued
	// pins counts the Holds and fetches that use it.
	pins int
	// reused is the space of forgotten units that fetches under way take.
	reused int64
}

// flight is a fetch of some units. done is closed when err is set.
type flight struct {
	done chan struct{}
	err  error
}

// Errors that callers distinguish, by errors.Is.
var (
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("the cache of cold objects is closed; the server is shutting down")
	// ErrLost means that files of the cache were removed or changed while they were used. It can be tried again.
	ErrLost = errors.New("files of the cache of cold objects are missing; try again")
)

// NoRoomError means that what queries use at once does not fit into the cache.
type NoRoomError struct {
	// Need is what the query uses and asks for, in bytes. Others is what other queries use.
	Need, Others, Limit int64
}

func (e *NoRoomError) Error() string {
	if e.Need > e.Limit {
		return fmt.Sprintf("it needs %d bytes from object storage at once, and the cache has %d; narrow the time range, "+
			"read fewer columns, or enlarge the cache", e.Need, e.Limit)
	}
	return fmt.Sprintf("it needs %d bytes from object storage at once, and other queries use %d of the %d bytes of the "+
		"cache; try again later", e.Need, e.Others, e.Limit)
}

// Open opens a cache. It reads the lists of what is there, and removes files that are of no use.
func Open(cfg Config) (*Cache, error) {
	if cfg.Dir == "" || cfg.Bytes <= 0 || cfg.Bucket == nil {
		return nil, fmt.Errorf("cache of cold objects: it needs a folder, a size and a bucket; got %q, %d", cfg.Dir,
			cfg.Bytes)
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Cache{
		cfg: cfg, log: cfg.Logger, disk: disk{dir: cfg.Dir, fault: cfg.fault}, limit: cfg.Bytes,
		memory: semaphore.NewWeighted(fetchMemory), objects: map[string]*object{}, changed: map[*object]struct{}{},
		files: lru.New[string, *File](filesBytes), wake: make(chan struct{}, 1), stop: make(chan struct{}),
		freed: make(chan struct{}),
	}
	var err error
	if c.m, err = newMetrics(cfg.Registerer, c); err != nil {
		return nil, fmt.Errorf("cache of cold objects: %w", err)
	}
	if err := c.load(); err != nil {
		c.m.unregister(cfg.Registerer)
		return nil, fmt.Errorf("cache of cold objects: %w", err)
	}
	c.keeper.Go(c.keep)
	return c, nil
}

// Close writes what is there, and makes further calls fail. Holds have to be released before. It may be called twice.
func (c *Cache) Close() error {
	c.mu.Lock()
	closed := c.closed
	c.closed = true
	c.mu.Unlock()
	if closed {
		return nil
	}
	close(c.stop)
	c.keeper.Wait()
	c.m.unregister(c.cfg.Registerer)
	return nil
}

// SetLimit changes the maximum space on disk, and removes what exceeds it and is not in use.
func (c *Cache) SetLimit(bytes int64) {
	c.mu.Lock()
	c.limit = bytes
	out := c.choose(c.used() - c.leaving - bytes)
	c.mu.Unlock()
	c.clear(out)
}

// Forget removes what is there of objects that no longer exist. What is in use stays until it would be removed
// otherwise.
func (c *Cache) Forget(keys ...string) {
	out := victims{}
	c.mu.Lock()
	for _, key := range keys {
		c.files.Remove(key)
		if o := c.objects[key]; o != nil && o.pins == 0 && o.removal == nil {
			c.takeObject(out, o)
		}
	}
	c.mu.Unlock()
	c.clear(out)
}

// Stats describes what is there.
type Stats struct {
	// Objects is the number of objects of which something is there.
	Objects int
	// Bytes is the space on disk, Pinned the part that is in use, Limit the maximum.
	Bytes, Pinned, Limit int64
}

// Stats returns what is there.
func (c *Cache) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Stats{Objects: len(c.objects), Bytes: c.used(), Pinned: c.pinned, Limit: c.limit}
}

// used returns the space on disk that is taken or reserved. c.mu is held.
func (c *Cache) used() int64 { return c.meta.bytes + c.data.bytes + c.reserved + c.leaving }

// queue returns the queues of an entry.
func (c *Cache) queue(e *entry) *queues {
	if e.meta {
		return &c.meta
	}
	return &c.data
}

// object returns the state of an object, and makes it if there is none. c.mu is held.
func (c *Cache) object(o Object) *object {
	ob := c.objects[o.Key]
	if ob == nil {
		ob = &object{Object: o, name: o.name(), entries: map[int]*entry{}, flights: map[int]*flight{}}
		c.objects[o.Key] = ob
		ob.tail = c.entry(ob, tailExtent, extent{offset: o.TailOffset, length: o.Bytes - o.TailOffset, units: 1})
	}
	return ob
}

// entry returns the state of an extent of an object, and makes it if there is none. The caller pins it at once. c.mu is
// held.
func (c *Cache) entry(o *object, number int, x extent) *entry {
	e := o.entries[number]
	if e == nil {
		e = &entry{
			o: o, extent: number, offset: x.offset, length: x.length, units: x.units, has: newBits(x.units),
			meta: number == tailExtent || x.filters,
		}
		o.entries[number] = e
		c.queue(e).enter(e)
	}
	return e
}

// pin marks an entry as used. c.mu is held.
func (c *Cache) pin(e *entry) {
	if e.pins == 0 {
		c.queue(e).use(e)
		c.pinned += e.bytes
	}
	e.pins++
	e.o.pins++
}

// unpin is the opposite of pin. c.mu is held.
func (c *Cache) unpin(e *entry) {
	e.pins--
	e.o.pins--
	if e.pins > 0 {
		return
	}
	c.pinned -= e.bytes
	if e.bytes > 0 || e.extent == tailExtent {
		c.queue(e).rest(e)
		return
	}
	c.queue(e).leave(e)
	delete(e.o.entries, e.extent)
}

// grow changes the space that an entry takes. c.mu is held.
func (c *Cache) grow(e *entry, by int64) {
	c.queue(e).grow(e, by)
	if e.pins > 0 {
		c.pinned += by
	}
}

// change makes the keeper write the list of an object. c.mu is held.
func (c *Cache) change(o *object) {
	c.changed[o] = struct{}{}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}
