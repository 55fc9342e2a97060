// Package pipelines caches the compiled form of stored pipelines, and finds their newest versions.
//
// A version never changes, so its compiled form is kept while there is room. If many requests ask for it at the
// same time, it is compiled once. Only the newest version of a name changes. It is looked up in the local view of
// the metadata for each request, so a router uses a new version as soon as its local view has it.
//
// The package does not know what a pipeline is. A function of package router/pipeline compiles texts, and the
// metadata client reads them. The package starts no goroutines. All methods may be called concurrently.
package pipelines

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"

	"cordwood/proto/errs"
	"cordwood/proto/lru"
	"cordwood/proto/metapb"
	"cordwood/proto/nearest"
)

// Meta is the part of the metadata client that a Cache needs.
type Meta interface {
	// Pipeline returns the newest version of a name in the local view.
	Pipeline(name string) (*metapb.PipelineVersion, bool)
	PipelineVersion(name string, version int64) (*metapb.PipelineVersion, bool)
	// PipelineText reads the text of a version.
	PipelineText(ctx context.Context, name string, version int64) ([]byte, error)
}

// Config has the settings of a Cache. P is the type of a compiled pipeline, which many requests use concurrently.
type Config[P any] struct {
	Meta Meta
	// Compile compiles a text.
	Compile func(source []byte) (P, error)
	// Size estimates the memory of a compiled pipeline, in bytes. The default value is 16 KiB plus 32 times the length
	// of its text.
	Size func(p P, source []byte) int64
	// Known returns the names that an error may suggest to the caller in ctx instead of an unknown name. By default
	// no name is suggested.
	Known func(ctx context.Context) []string
	// MaxBytes limits the memory of all compiled pipelines, not counting the one used last. The default value is 256
	// MiB.
	MaxBytes int64
	// Timeout limits the time for reading and compiling a version. The default value is 10 s.
	Timeout time.Duration
	// Registerer takes the metrics. The default value is none.
	Registerer prometheus.Registerer
}

// Cache holds compiled pipelines. See the package comment.
type Cache[P any] struct {
	cfg    Config[P]
	flight singleflight.Group

	compiled prometheus.Counter
	failed   prometheus.Counter
	seconds  prometheus.Histogram

	mu   sync.Mutex // guards kept
	kept *lru.Cache[key, *entry[P]]
}

type key struct {
	name    string
	version int64
}

type entry[P any] struct {
	key      key
	pipeline P
	err      error // the reason why a text that was accepted earlier does not compile here
	bytes    int64
}

// New returns an empty Cache. Meta and Compile must be set.
func New[P any](cfg Config[P]) (*Cache[P], error) {
	if cfg.Meta == nil || cfg.Compile == nil {
		return nil, errors.New("pipelines: Config.Meta and Config.Compile must be set")
	}
	if cfg.Size == nil {
		cfg.Size = func(_ P, source []byte) int64 { return 16<<10 + 32*int64(len(source)) }
	}
	if cfg.Known == nil {
		cfg.Known = func(context.Context) []string { return nil }
	}
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = 256 << 20
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Second
	}
	c := &Cache[P]{cfg: cfg, kept: lru.New[key, *entry[P]](cfg.MaxBytes)}
	return c, c.register(cfg.Registerer)
}

func (c *Cache[P]) register(reg prometheus.Registerer) error {
	c.compiled = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "cordwood_pipelines_compiled_total", Help: "Stored pipelines that were compiled for use; uploads " +
			"are not counted.",
	})
	c.failed = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "cordwood_pipelines_failed_total", Help: "Stored pipelines that could not be read or compiled.",
	})
	c.seconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "cordwood_pipelines_load_seconds", Help: "Time to read and compile a stored pipeline.",
		Buckets: prometheus.ExponentialBuckets(0.0001, 4, 9),
	})
	held := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "cordwood_pipelines_cached", Help: "Compiled pipelines in memory.",
	}, func() float64 { n, _ := c.held(); return float64(n) })
	bytes := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "cordwood_pipelines_cached_bytes", Help: "Approximate memory of compiled pipelines.",
	}, func() float64 { _, b := c.held(); return float64(b) })
	if reg == nil {
		return nil
	}
	for _, m := range []prometheus.Collector{c.compiled, c.failed, c.seconds, held, bytes} {
		if err := reg.Register(m); err != nil {
			return fmt.Errorf("pipelines: register metrics: %w", err)
		}
	}
	return nil
}

func (c *Cache[P]) held() (n int, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept.Len(), c.kept.Weight()
}

// Latest returns the newest version of a pipeline.
func (c *Cache[P]) Latest(ctx context.Context, name string) (p P, version int64, err error) {
	for {
		newest, ok := c.cfg.Meta.Pipeline(name)
		if !ok {
			return p, 0, c.NotFound(ctx, name, "latest")
		}
		p, err = c.get(ctx, key{name, newest.Version})
		if err == nil {
			return p, newest.Version, nil
		}
		if _, still := c.cfg.Meta.PipelineVersion(name, newest.Version); still {
			return p, 0, err
		}
		// The version was deleted meanwhile, so the one before it is now the newest.
	}
}

// Version returns one version of a pipeline.
func (c *Cache[P]) Version(ctx context.Context, name string, version int64) (p P, err error) {
	if _, ok := c.cfg.Meta.PipelineVersion(name, version); !ok {
		return p, c.NotFound(ctx, name, FormatVersion(version))
	}
	p, err = c.get(ctx, key{name, version})
	if _, still := c.cfg.Meta.PipelineVersion(name, version); err != nil && !still {
		err = c.NotFound(ctx, name, FormatVersion(version)) // the version was deleted meanwhile
	}
	return p, err
}

// Add adds a version that was compiled when it was uploaded.
func (c *Cache[P]) Add(name string, version int64, p P, source []byte) {
	c.put(&entry[P]{key: key{name, version}, pipeline: p, bytes: c.cfg.Size(p, source)})
}

// NotFound returns the error for a pipeline that does not exist, and suggests the most similar known name. version
// is a version's text, or "latest".
func (c *Cache[P]) NotFound(ctx context.Context, name, version string) error {
	return NotFound(name, version, c.cfg.Known(ctx))
}

// NotFound returns the error for a pipeline that does not exist, and suggests the most similar known name.
func NotFound(name, version string, known []string) error {
	like := nearest.DidYouMean("; ", name, known)
	if slices.Contains(known, name) {
		like = "" // the pipeline has other versions
	}
	return &errs.Error{Code: errs.InvalidArguments, Err: ErrNotFound, Msg: fmt.Sprintf(
		"Pipeline not found, name: %s, version: %s%s", name, version, like)}
}

// ErrNotFound is wrapped by the errors of NotFound.
var ErrNotFound = errors.New("pipelines: there is no such pipeline")

// get returns a version that exists. It compiles the version if the cache does not have it.
func (c *Cache[P]) get(ctx context.Context, k key) (p P, err error) {
	if e := c.find(k); e != nil {
		return e.pipeline, e.err
	}
	done := c.flight.DoChan(fmt.Sprint(k.version, " ", k.name), func() (any, error) {
		if e := c.find(k); e != nil {
			return e, nil
		}
		// The load is shared, so it must not end with the request that started it.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.cfg.Timeout)
		defer cancel()
		return c.load(ctx, k)
	})
	select {
	case r := <-done:
		if r.Err != nil {
			return p, r.Err
		}
		e := r.Val.(*entry[P])
		return e.pipeline, e.err
	case <-ctx.Done():
		return p, fmt.Errorf("pipeline %s: %w", k.name, ctx.Err())
	}
}

// load reads and compiles a version. A failure to compile is cached too.
func (c *Cache[P]) load(ctx context.Context, k key) (*entry[P], error) {
	start := time.Now()
	source, err := c.cfg.Meta.PipelineText(ctx, k.name, k.version)
	if err != nil {
		c.failed.Inc()
		return nil, err
	}
	e := &entry[P]{key: k}
	if e.pipeline, e.err = c.cfg.Compile(source); e.err != nil {
		c.failed.Inc()
		e.err = errs.Wrap(errs.InvalidArguments, e.err,
			"pipeline %s, version %s, does not compile with this version of the program",
			k.name, FormatVersion(k.version))
		e.bytes = int64(len(e.err.Error()))
	} else {
		c.compiled.Inc()
		e.bytes = c.cfg.Size(e.pipeline, source)
	}
	c.seconds.Observe(time.Since(start).Seconds())
	c.put(e)
	return e, nil
}

func (c *Cache[P]) find(k key) *entry[P] {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, _ := c.kept.Get(k)
	return e
}

// put caches e, unless the version is cached already.
func (c *Cache[P]) put(e *entry[P]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.kept.Peek(e.key); !ok {
		c.kept.Put(e.key, e, e.bytes)
	}
}
