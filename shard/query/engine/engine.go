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
	// MemoryLimit is the maximum number of bytes for hash tables, sorts and buffers of all queries
	// together, and for cached pages of segments. It does not include the memtable, nor memory that
	// some functions allocate by themselves. Default: 1 GiB.
	MemoryLimit int64
	// PageCache is the part of MemoryLimit, in bytes, for cached pages and dictionaries of
	// segments. Default: a sixteenth of MemoryLimit, at most 64 MiB.
	PageCache int64
	// PartialCache is the part of MemoryLimit, in bytes, for partial results of segments, which are
	// kept for repeated statements. Default: a sixteenth of MemoryLimit, at most 256 MiB. If it is
	// negative, no partial results are kept.
	PartialCache int64
	// Threads is the number of threads that all queries share. Default: GOMAXPROCS.
	Threads int
	// Concurrency is how many queries run at the same time; further queries wait. Default: 4, or
	// twice Threads if that is more.
	Concurrency int
	// TempDir is the folder to which the engine spills what exceeds MemoryLimit. It is created when
	// needed. If it is empty, nothing is spilled.
	TempDir string
	// TempLimit is the maximum size of TempDir in bytes. Default: 8 GiB.
	TempLimit int64
	// Dirs are the folders that contain the segments. The engine cannot read any other file.
	Dirs []string
	// Logger receives messages for operators. Default: slog.Default().
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
			"memory limit, 0 for the default, or a negative number for no cache", c.PartialCache))
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
	// splits and shapes cache split statements.
	splits *kept[query.Split]
	shapes *kept[partialShape]
	// settings contains the filters of segments, pages the cached pages.
	settings *plan.Settings
	pages    *segment.PageCache
	// parts holds the partial results of segments; it is nil if none are kept.
	parts *partial.Cache
	waits *waits
	// direct counts the statements that were answered without DuckDB.
	direct atomic.Int64
	// whole counts the statements that needed columns which they did not seem to read.
	whole atomic.Int64

	mu     sync.Mutex
	closed bool
	// current takes new queries. An instance that broke down stays open until its last query has
	// returned.
	current *database
	// idle is signalled when an instance is released.
	idle *sync.Cond
	busy int
}

// database is an instance of DuckDB with the number of its users. Engine.mu guards its fields.
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

// AllocatorSettings are environment variables for a process that opens an Engine.
const AllocatorSettings = duck.AllocatorSettings

// errClosed is the error of queries after Close.
var errClosed = errs.New(errs.IllegalState, "query: the engine is closed because the process is shutting down; send "+
	"the query to another node or try again later")

// Open starts an engine. It holds one in-memory database until Close.
func Open(cfg Config) (*Engine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("query engine: %w", err)
	}
	cfg = cfg.withDefaults()
	pages := segment.NewPageCache(int(cfg.PageCache))
	e := &Engine{
		cfg: cfg, slots: make(chan struct{}, cfg.Concurrency), cache: newCache(), pages: pages,
		parts: partial.New(cfg.PartialCache), splits: newKept[query.Split](), shapes: newKept[partialShape](),
		waits: newWaits(cfg),
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

// PageCache returns the counters of the page cache.
func (e *Engine) PageCache() segment.CacheStats { return e.pages.Stats() }

// PartialCache returns the counters of the cache of partial results.
func (e *Engine) PartialCache() partial.Stats { return e.parts.Stats() }

// Close refuses new work, waits for running queries, and frees the engine. Cancel the contexts of
// the queries first if Close has to be quick. It may be called twice.
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
			return nil, errs.Wrap(errs.Internal, err, "query engine: open a new database in place of one that broke down")
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

// release ends the use that acquire began. If broken is set, the instance takes no further queries.
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
	if stopped := (*errs.Error)(nil); errors.As(context.Cause(ctx), &stopped) {
		return stopped
	}
	return errs.New(errs.Cancelled, "query: cancelled by the client")
}
