package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/node/config"
	"cordwood/node/iceberg"
	"cordwood/proto/schema"
	"cordwood/proto/words"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/cache"
	"cordwood/shard/cold/object"
	"cordwood/shard/cold/tier"
	"cordwood/shard/install"
)

const (
	// probeTimeout is the time limit of a check of object storage, and probeEvery the pause before the next one.
	probeTimeout, probeEvery = time.Minute, time.Minute
	// checkWait is how long a write waits for the check.
	checkWait = time.Minute
	// minCache is the smallest default size of the cache, unless that is more than half of the disk.
	minCache = 10 << 30
	// logTurns is how many shards store their log at the same time: each takes about three times 4 MiB of memory.
	logTurns = 8
)

// objectStorage is the object storage for old rows. Rows are read from it at any time. None are stored in it before a
// check has shown that it keeps what it is given.
type objectStorage struct {
	// once sends each request once; guard repeats them.
	once  bucket.Bucket
	guard *bucket.Guard
	// forRows is where the shards store rows, forLog where they store their log, as many at a time as logTurns allows.
	forRows, forLog bucket.Bucket
	logTurns        chan struct{}
	// note is the file that says which directory the location was, if it is one.
	note string
	// dir is the folder of the cache.
	dir    string
	reader *object.Reader
	// cache is what reader reads through, cacheBytes its configured size. It is nil without the role shard.
	cache      *cache.Cache
	cacheBytes int64

	// checked is closed after a check has succeeded. fault is why the last one failed.
	checked chan struct{}
	passed  sync.Once
	fault   atomic.Pointer[string]
	// lacks says what the service does not do that the tiering can do without.
	lacks atomic.Pointer[string]
	// lost describes the objects that the last scrub did not find, or found damaged.
	lost atomic.Pointer[[]string]
	// lostRows is the number of rows of these objects.
	lostRows atomic.Int64
	// stored is when an object was stored last, in nanoseconds since 1970; 0 if none was.
	stored atomic.Int64
}

// pass allows rows to be stored.
func (o *objectStorage) pass() { o.passed.Do(func() { close(o.checked) }) }

// openObjectStorage opens the object storage, if there is one in the settings. It does not connect. Nodes with the role
// meta store the state of the metadata and the files of Iceberg tables there, nodes with the role shard rows. Nodes
// that are only routers read the metadata files of Iceberg tables.
func (n *node) openObjectStorage() error {
	cfg := &n.cfg.Objects
	if cfg.URL == "" || n.objects != nil {
		return nil
	}
	b, err := cfg.Open()
	if err != nil {
		return fmt.Errorf("--object-storage-url: %w", err)
	}
	o := &objectStorage{
		once: b, guard: bucket.NewGuard(b, bucket.GuardConfig{}), note: n.cfg.Path(StorageFile),
		checked: make(chan struct{}),
	}
	var pace bucket.Pace
	if cfg.UploadRate > 0 {
		pace = install.NewRate(int64(cfg.UploadRate))
	}
	o.forLog = o.afterCheck(o.guard.WithWrites(moverWrites))
	o.forRows = bucket.Paced(o.forLog, pace)
	o.logTurns = make(chan struct{}, logTurns)
	if n.cfg.Has(config.RoleShard) {
		if err := n.openCache(o); err != nil {
			return err
		}
	}
	n.run("asking object storage that does not answer", o.askAgain)
	o.export(n.registry)
	n.objects = o
	n.trouble.objects.Store(o)
	if o.cache != nil {
		n.run("limiting the cache of object storage", n.limitCache)
	}
	if !n.cfg.Has(config.RoleShard) && !n.cfg.Has(config.RoleMeta) {
		o.pass() // it only reads
		return nil
	}
	n.run("checking object storage", func(ctx context.Context) error { return n.checkObjectStorage(ctx, o) })
	return nil
}

// openCache opens the cache of object storage.
func (n *node) openCache(o *objectStorage) (err error) {
	cfg := &n.cfg.Objects
	dir := n.cfg.Path("cache")
	if cfg.CacheDir != "" {
		// The cache removes files that it does not know, and other nodes may use the same folder.
		dir = filepath.Join(cfg.CacheDir, "cordwood-"+n.data.nodeID)
	}
	if o.dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	size := int64(cfg.CacheBytes)
	if size == 0 {
		disk := n.data.path
		if cfg.CacheDir != "" {
			disk = cfg.CacheDir
		}
		room, err := statDisk(disk)
		if err != nil {
			return fmt.Errorf("size of the disk of %s, for --object-storage-cache-bytes: %w", disk, err)
		}
		size = cacheBytes(int64(room.total))
	}
	kept, err := cache.Open(cache.Config{Dir: o.dir, Bytes: size, Bucket: o.guard, Logger: n.log, Registerer: n.registry})
	if err != nil {
		return fmt.Errorf("--object-storage-cache-dir: %w", err)
	}
	n.onStop("cache of object storage", func(context.Context) error { return kept.Close() })
	o.cache, o.cacheBytes = kept, size
	o.reader = object.New(object.Config{
		Cache: kept, Dir: o.dir, Bucket: o.guard, Location: o.once.Location(), Logger: n.log,
		MaxBytes: int64(n.cfg.Query.MaxColdBytes),
	})
	return nil
}

// cacheBytes returns the default size of the cache on a disk of a size.
func cacheBytes(disk int64) int64 { return min(max(disk/5, minCache), disk/2) }

// tier returns the place for old rows of this node's shards, or nil.
func (n *node) tier() *tier.Tier {
	if n.objects == nil {
		return nil
	}
	cluster, _ := n.data.Cluster()
	return &tier.Tier{
		Bucket: n.objects.forRows, Cluster: cluster,
		Node:     n.describe(),
		Tables:   func(t *schema.Table) bool { return t.Options[schema.OptionCold] != "false" },
		CutBytes: int64(n.cfg.Objects.UploadBytes), UploadAfter: n.cfg.Objects.UploadAfter,
		LocalFor: n.cfg.Objects.LocalFor, Every: min(time.Minute, n.cfg.Objects.UploadAfter),
		StateEvery: n.cfg.Objects.StateEvery(),
		LogEvery:   n.cfg.Objects.Log, LogBucket: n.objects.forLog, LogTurns: n.objects.logTurns,
	}
}

// describe returns a text by which an operator finds this node, also beside a copy of its data folder.
func (n *node) describe() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	path, err := filepath.Abs(n.data.path)
	if err != nil {
		path = n.data.path
	}
	return fmt.Sprintf("%s (%s, host %s, folder %s)", n.cfg.NodeName, n.data.nodeID, host, path)
}

// moverWrites says how the requests that move rows are repeated: for about a minute, so that a shard does its other
// work meanwhile, and tells that they fail.
var moverWrites = bucket.Policy{Tries: 7, Pause: time.Second, MaxPause: 30 * time.Second}

// icebergCatalog returns what reads the current metadata files of Iceberg tables.
func (n *node) icebergCatalog() *iceberg.Catalog {
	c := &iceberg.Catalog{Meta: n.meta, ByID: n.meta.TableByID, ByName: n.meta.Table}
	if n.objects != nil {
		c.Bucket, c.Root = n.objects.guard, n.cfg.Objects.Root()
	}
	return c
}

// readerOrNil returns what reads rows in object storage, or nil.
func (o *objectStorage) readerOrNil() *object.Reader {
	if o == nil {
		return nil
	}
	return o.reader
}

// checkObjectStorage checks the object storage until a check succeeds.
func (n *node) checkObjectStorage(ctx context.Context, o *objectStorage) error {
	for {
		err := o.check(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			o.fault.Store(nil)
			o.pass()
			n.log.Info("object storage was checked", "location", o.once.Location())
			if lacks := o.lacks.Load(); lacks != nil {
				n.log.Warn("object storage can be used, but does not do all that cordwood asks it for", "location",
					o.once.Location(), "error", *lacks)
			}
			return nil
		}
		text := err.Error()
		if before := o.fault.Swap(&text); before == nil || *before != text {
			n.log.Warn("object storage failed its check; no rows are stored there, and the check is repeated", "location",
				o.once.Location(), "error", err)
		}
		select {
		case <-time.After(probeEvery):
		case <-ctx.Done():
			return nil
		}
	}
}

// check returns the reason why no rows can be stored, or nil.
func (o *objectStorage) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if d, ok := o.once.(*bucket.Dir); ok {
		if err := d.Exists(); err != nil {
			return err // perhaps a file system that is not mounted
		}
		if err := markDirectory(o.note, d); err != nil {
			return err
		}
	}
	var faults, minor []error
	for _, s := range bucket.Probe(ctx, o.once) {
		switch {
		case s.Err == nil:
		case s.Minor:
			minor = append(minor, fmt.Errorf("%s: %w", s.Name, s.Err))
		default:
			faults = append(faults, fmt.Errorf("%s: %w", s.Name, s.Err))
		}
	}
	o.lacks.Store(nil)
	if err := errors.Join(minor...); err != nil {
		text := err.Error()
		o.lacks.Store(&text)
	}
	return errors.Join(faults...)
}

const (
	// askEvery is how often object storage is asked that does not answer, and askTime the time limit of a request.
	askEvery, askTime = time.Second, 10 * time.Second
	// askKey is the key of an object that need not exist.
	askKey = "probe/answer"
)

// askAgain asks object storage while it does not answer, so that nobody has to read for the node to learn that it
// answers again.
func (o *objectStorage) askAgain(ctx context.Context) error {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if o.guard.State().Open {
			o.ask(ctx)
		}
	}
}

// ask sends a request, if the guard lets it through. Any answer shows that the service works.
func (o *objectStorage) ask(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	_, _ = o.guard.Head(ctx, askKey) // the guard knows the outcome
}

// warnings describes what an operator should fix.
func (o *objectStorage) warnings() []string {
	list := o.failures()
	if lacks := o.lacks.Load(); lacks != nil {
		list = append(list, fmt.Sprintf("object storage %s can be used, but does not do all that cordwood asks it for: %s "+
			"(cordwood object-storage check)", o.once.Location(), *lacks))
	}
	return list
}

// failures describes why object storage cannot be used now, and what is missing in it.
func (o *objectStorage) failures() []string {
	if fault := o.fault.Load(); fault != nil {
		return []string{fmt.Sprintf("object storage %s failed its check, so no rows are stored there: %s "+
			"(cordwood object-storage check)", o.once.Location(), *fault)}
	}
	switch s := o.guard.State(); {
	case s.Forbidden != nil:
		return []string{fmt.Sprintf("object storage %s refuses access: %s", o.once.Location(), s.Forbidden)}
	case s.Open:
		return []string{fmt.Sprintf("object storage %s has not answered since %s: %s", o.once.Location(),
			s.Since.UTC().Format(time.RFC3339), s.Last)}
	}
	if lost := o.lost.Load(); lost != nil && len(*lost) > 0 {
		return []string{fmt.Sprintf("%s in object storage %s %s missing or damaged: restore from versions or a copy of the "+
			"bucket; queries fail whose rows are not in local segments, too (%s)", words.Count(len(*lost), "object"),
			o.once.Location(), words.Pick(len(*lost), "is", "are"), (*lost)[0])}
	}
	return nil
}

// export registers the metrics of the state of object storage.
func (o *objectStorage) export(reg *prometheus.Registry) {
	gauge := func(name, help string, value func() float64) {
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	gauge("cordwood_cold_storage_checked", "1 after the node's check of object storage has succeeded. Before that, no "+
		"rows are stored there.", func() float64 {
		select {
		case <-o.checked:
			return 1
		default:
			return 0
		}
	})
	gauge("cordwood_cold_storage_unreachable_seconds", "Time since object storage has not answered; 0 if it answers.",
		func() float64 {
			if s := o.guard.State(); s.Open {
				return max(time.Since(s.Since).Seconds(), 0)
			}
			return 0
		})
	gauge("cordwood_cold_storage_forbidden", "1 if object storage refused the last request that "+
		"reads, or the last one that writes.", func() float64 {
		if o.guard.State().Forbidden != nil {
			return 1
		}
		return 0
	})
	gauge("cordwood_cold_objects_lost", "Objects of the shards that the node leads that the last scrub did not find in "+
		"object storage, or found damaged.", func() float64 {
		if lost := o.lost.Load(); lost != nil {
			return float64(len(*lost))
		}
		return 0
	})
	gauge("cordwood_cold_rows_lost", "Rows of the objects that cordwood_cold_objects_lost counts. Queries do not find "+
		"them, unless local segments have them too.", func() float64 { return float64(o.lostRows.Load()) })
	gauge("cordwood_cold_storage_concurrency", "Requests to object storage that may run at once. It falls while the "+
		"service throttles.", func() float64 { return float64(o.guard.State().Concurrency) })
}
