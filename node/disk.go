package node

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"

	"cordwood/proto/errs"
	"cordwood/shard/store"
)

const (
	// diskEvery is the interval between checks of the free disk space.
	diskEvery = time.Second
	// maxReserve is the largest default of the reserve.
	maxReserve = 2 << 30
	// refusedFor is the retry delay in answers to refused clients.
	refusedFor = 5 * time.Second
)

// disk watches the free space of the data folder's disk. Below the reserve it refuses rows; reads and work that frees
// space continue. It accepts rows again once the free space exceeds the reserve by a sixteenth, so that the state
// does not change back and forth.
//
// Its methods are safe for concurrent use.
type disk struct {
	path    string
	reserve uint64
	log     *slog.Logger
	stat    func(path string) (diskRoom, error)

	free, total, used atomic.Uint64
	state             atomic.Int32 // a store.Space
	refused           prometheus.Counter
	wake              chan struct{}

	mu   sync.Mutex // guards full
	full func()     // called when the disk becomes full
}

// watchDisk starts watching the data folder's disk.
func (n *node) watchDisk() error {
	d := &disk{
		path: n.data.path, reserve: uint64(n.cfg.Disk.Reserve), log: n.log, stat: statDisk,
		wake: make(chan struct{}, 1), full: func() {},
	}
	d.refused = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "cordwood_disk_writes_refused_total",
		Help: "Requests with rows that were refused because the free disk space was below the reserve.",
	})
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	if err := d.look(); err != nil {
		return fmt.Errorf("check the free disk space of %s: %w", d.path, err)
	}
	n.registry.MustRegister(d.refused,
		gauge("cordwood_disk_free_bytes", "Free space on the disk of the data folder.", func() float64 {
			return float64(d.free.Load())
		}),
		gauge("cordwood_disk_total_bytes", "Size of the disk of the data folder.", func() float64 {
			return float64(d.total.Load())
		}),
		gauge("cordwood_disk_reserve_bytes", "Free disk space below which rows are refused.", func() float64 {
			return float64(d.keep())
		}),
		gauge("cordwood_disk_full", "1 while rows are refused because the free disk space is below the reserve.",
			func() float64 {
				if d.space() == store.SpaceFull {
					return 1
				}
				return 0
			}),
	)
	n.disk = d
	n.trouble.disk.Store(d)
	n.run("watching the disk", d.run)
	return nil
}

// diskRoom is the space on a disk, in bytes.
type diskRoom struct {
	free  uint64 // available to this process
	total uint64
	used  uint64 // used by files; the remaining space is reserved for root
}

func statDisk(path string) (diskRoom, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return diskRoom{}, err
	}
	return roomOf(&st), nil
}

func roomOf(st *unix.Statfs_t) diskRoom {
	block := uint64(st.Bsize)
	return diskRoom{
		free: st.Bavail * block, total: st.Blocks * block, used: (st.Blocks - min(st.Bfree, st.Blocks)) * block,
	}
}

// usage returns the used bytes of the disk and its capacity, like df: neither includes blocks that are reserved for
// root. The difference is the free space.
func (d *disk) usage() (used, capacity uint64) {
	used = d.used.Load()
	return used, used + d.free.Load()
}

// keep returns the reserve in bytes.
func (d *disk) keep() uint64 {
	if d.reserve > 0 {
		return d.reserve
	}
	return min(maxReserve, d.total.Load()/20)
}

func (d *disk) run(ctx context.Context) error {
	tick := time.NewTicker(diskEvery)
	defer tick.Stop()
	for failing := false; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-d.wake:
		}
		err := d.look()
		if err != nil && !failing {
			d.log.Warn("the free disk space cannot be checked; the last known value is used", "path", d.path, "error", err)
		}
		failing = err != nil
	}
}

// look checks the free disk space and updates the state.
func (d *disk) look() error {
	room, err := d.stat(d.path)
	if err != nil {
		return err
	}
	free := room.free
	d.free.Store(free)
	d.total.Store(room.total)
	d.used.Store(room.used)
	keep := d.keep()
	before := store.Space(d.state.Load())
	now := store.SpaceOK
	switch {
	case free < keep, before == store.SpaceFull && free < keep+keep/16:
		now = store.SpaceFull
	case free < keep+keep/2:
		now = store.SpaceLow
	}
	d.state.Store(int32(now))
	switch {
	case now == store.SpaceFull && before != now:
		d.log.Error("the disk is full up to its reserve: no rows are accepted until there is space; delete or expire "+
			"data, or make the disk larger",
			"path", d.path, "free_bytes", free, "reserve_bytes", keep)
		d.mu.Lock()
		full := d.full
		d.mu.Unlock()
		full()
	case before == store.SpaceFull && now != before:
		d.log.Info("the disk has space again: rows are accepted", "path", d.path, "free_bytes", free, "reserve_bytes", keep)
	}
	return nil
}

// onFull sets the function that is called whenever the disk becomes full. The function must not block.
func (d *disk) onFull(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full = f
}

// space returns the state of the free space, at most a second old.
func (d *disk) space() store.Space { return store.Space(d.state.Load()) }

// found handles a write that failed for lack of space. It checks the disk at once.
func (d *disk) found(error) {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// writable returns an error while the disk is full.
func (d *disk) writable() error {
	if d.space() != store.SpaceFull {
		return nil
	}
	d.refused.Inc()
	return d.refusal()
}

// noRoom is the free space below which nothing can be written, whatever the reserve is. A new log file needs more
// than this.
const noRoom = 1 << 20

// warnings returns the warnings about the disk for operators.
func (d *disk) warnings() []string {
	if free := d.free.Load(); d.space() != store.SpaceFull && free < min(noRoom, d.total.Load()) {
		return []string{
			fmt.Sprintf("the disk of %s has %s left: nothing can be written; delete other files from it, or make it "+
				"larger", d.path, mib(free)),
		}
	}
	if d.space() != store.SpaceFull {
		return nil
	}
	return []string{d.refusal().Msg}
}

func (d *disk) refusal() *errs.Error {
	return errs.New(errs.StorageUnavailable,
		"rows are refused: the disk has %s left and its reserve is %s; delete or expire data, or make the disk larger",
		mib(d.free.Load()), mib(d.keep())).WithRetryAfter(refusedFor)
}

func mib(n uint64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
