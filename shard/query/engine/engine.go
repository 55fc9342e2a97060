package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"

	"cordwood/proto/errs"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/duck"
	"cordwood/shard/query/engine/plan"
	"cordwood/shard/query/engine/sql"
	"cordwood/shard/query/partial"
	"cordwood/shard/segment"
)

// Config configures an Engine.
type Config struct {
	// MemoryLimit is how many bytes the engine may take for hash tables, sorts and
	// buffers of all queries together, and for pages of segments that are kept. It does not
	// count the memtable, nor what some functions allocate by themselves. Default: 1 GiB.
	MemoryLimit int64
	// PageCache is the part of MemoryLimit, in bytes, that pages and dictionaries of
	// segments may take which were read lately. Default: a sixteenth of it, at most 64 MiB.
	PageCache int64
	// PartialCache is the part of MemoryLimit, in bytes, that partial results of segments may take which are kept for
	// statements that are asked again. Default: a sixteenth of it, at most 256 MiB. Less than 0: nothing is kept.
	PartialCache int64
	// Threads is how many threads queries run on, all together. Default: GOMAXPROCS.
	Threads int
	// Concurrency is how many queries run at a time; more of them wait.
	// Default: 4, or twice Threads if that is more.
	Concurrency int
	// TempDir is where the engine spills what exceeds MemoryLimit; it is made when
	// needed. Empty: no spilling.
	TempDir string
	// TempLimit is how many bytes may lie in TempDir. Default: 8 GiB.
	TempLimit int64
	// Dirs are the directories under which segments lie. No other file can be read.
	Dirs []string
	// Logger takes what an operator should know. Default: slog.Default().
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.MemoryLimit == 0 {
		c.MemoryLimit = 1 << 30
	}
	if c.PageCache == 0 {
		c.PageCache = min(c.MemoryLimit/16, 64<<20)
	}
	if c.PartialCache == 0 {
		c.PartialCache = min(c.MemoryLimit/16, 256<<20)
	}
	if c.Threads == 0 {
		c.Threads = runtime.GOMAXPROCS(0)
	}
	if c.Concurrency == 0 {
		c.Concurrency = max(4, 2*c.Threads)
	}
	if c.TempLimit == 0 {
		c.TempLimit = 8 << 30
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// Validate reports all faults of c at once.
func (c Config) Validate() error {
	var faults []error
	if c.MemoryLimit < 0 || c.MemoryLimit > 0 && c.MemoryLimit < 16<<20 {
		faults = append(faults, fmt.Errorf("memory limit of %d bytes: give at least 16 MiB", c.MemoryLimit))
	}
	if c.PageCache < 0 || c.PageCache > c.withDefaults().MemoryLimit/2 {
		faults = append(faults,
			fmt.Errorf("page cache of %d bytes: give at most half of the memory limit, or 0 for the default", c.PageCache))
	}
	if c.PartialCache > c.withDefaults().MemoryLimit/4 {
		faults = append(faults, fmt.Errorf("cache of partial results of %d bytes: give at most a quarter of the "+
			"memory limit, 0 for the default, or less for none", c.PartialCache))
	}
	if c.Threads < 0 {
		faults = append(faults, fmt.Errorf("%d threads: give a positive number, or 0 for one per CPU", c.Threads))
	}
	if c.Concurrency < 0 {
		faults = append(faults, fmt.Errorf("concurrency %d: give a positive number, or 0 for the default", c.Concurrency))
	}
	if c.TempLimit < 0 {
		faults = append(faults, fmt.Errorf("temporary space of %d bytes: give a positive number, or 0 for the default",
			c.TempLimit))
	}
	return errors.Join(faults...)
}

// Engine runs SELECT statements over segments and batches. All methods may be called
// concurrently.
type Engine struct {
	cfg   Config
	slots chan struct{}
	cache *cache
	// splits and shapes are of statements that were taken apart.
	splits *kept[query.Split]
	shapes *kept[partialShape]
	// settings has the filters of segments, pages what was read of these.
	settings *plan.Settings
	pages    *segment.PageCache
	// parts are partial results of segments; nil: none are kept.
	parts *partial.Cache
	// direct counts the statements that were answered without DuckDB.
	direct atomic.Int64

	mu     sync.Mutex
	closed bool
	// current takes new queries; instances that broke down live on until their last
	// query has returned.
	current *database
	// idle is signalled when an instance is released.
	idle *sync.Cond
	busy int
}

// database is an instance of DuckDB, and the count of its users. Engine.mu guards its fields.
type database struct {
	*duck.Instance
	users  int
	broken bool
	closed bool
}

func (d *database) close() {
	d.closed = true
	d.Instance.Close()
}

func openDatabase(cfg Config) (*database, error) {
	in, err := duck.Open(duck.Config{
		MemoryLimit: cfg.MemoryLimit - cfg.PageCache - max(cfg.PartialCache, 0), Threads: cfg.Threads,
		TempDir: cfg.TempDir, TempLimit: cfg.TempLimit,
		Dirs: cfg.Dirs, MaxExpressionDepth: sql.MaxExpressionDepth,
	})
	if err != nil {
		return nil, err
	}
	return &database{Instance: in}, nil
}

// AllocatorSettings is what the environment of a process that opens an Engine should have.
const AllocatorSettings = duck.AllocatorSettings

// errClosed is answered after Close.
var errClosed = errs.New(errs.IllegalState, "query engine: closed; the process is shutting down")

// Open starts an engine. It holds one in-memory database until Close.
func Open(cfg Config) (*Engine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("query engine: %w", err)
	}
	cfg = cfg.withDefaults()
	pages := segment.NewPageCache(int(cfg.PageCache))
	e := &Engine{
		cfg: cfg, slots: make(chan struct{}, cfg.Concurrency), cache: newCache(256), pages: pages,
		parts: partial.New(cfg.PartialCache), splits: newKept[query.Split](), shapes: newKept[partialShape](),
		settings: &plan.Settings{
			Filters: plan.NewFilterCache(plan.MaxFilterBytes, pages), Threads: cfg.Threads,
			MinAttempt: plan.MinAttempt, MinKept: plan.MinKept, MinByParts: plan.MinByParts, Off: map[string]bool{},
		},
	}
	e.idle = sync.NewCond(&e.mu)
	in, err := openDatabase(cfg)
	if err != nil {
		return nil, fmt.Errorf("query engine: %w", err)
	}
	e.current = in
	return e, nil
}

// PageCache says what the cache of pages did so far.
func (e *Engine) PageCache() segment.CacheStats { return e.pages.Stats() }

// PartialCache says what the cache of partial results did so far.
func (e *Engine) PartialCache() partial.Stats { return e.parts.Stats() }

// Close refuses new work, waits for the queries that run, and frees the engine.
// Cancel their contexts first to make it short. It may be called twice.
func (e *Engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	for e.busy > 0 {
		e.idle.Wait()
	}
	if e.current != nil {
		e.current.close()
		e.current = nil
	}
	return nil
}

// acquire waits for a slot and returns the instance to run on. release gives both back.
func (e *Engine) acquire(ctx context.Context) (*database, error) {
	select {
	case e.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, contextError(ctx)
	}
	in, err := e.checkOut()
	if err != nil {
		<-e.slots
		return nil, err
	}
	return in, nil
}

func (e *Engine) checkOut() (*database, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, errClosed
	}
	if e.current.broken {
		next, err := openDatabase(e.cfg)
		if err != nil {
			return nil, errs.Wrap(errs.Internal, err, "query engine: replace a database that broke down")
		}
		if e.current.users == 0 {
			e.current.close()
		}
		e.current = next
	}
	e.current.users++
	e.busy++
	return e.current, nil
}

// release ends what acquire began. broken means that the instance cannot be used any more.
func (e *Engine) release(in *database, broken bool) {
	e.mu.Lock()
	in.users--
	e.busy--
	if broken && !in.broken {
		in.broken = true
		e.cfg.Logger.Error("query engine: the database broke down; the next query gets a new one")
	}
	if in.users == 0 && in != e.current {
		in.close()
	}
	e.idle.Broadcast()
	e.mu.Unlock()
	<-e.slots
}

// contextError returns the error of a query whose context has ended.
func contextError(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errs.New(errs.QueryTimeout,
			"query: stopped at its deadline; give it more time with x-svc-timeout, or narrow its time range")
	}
	return errs.New(errs.Cancelled, "query: cancelled by the client")
}
