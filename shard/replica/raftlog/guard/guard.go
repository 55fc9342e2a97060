// Package guard controls the writes of a log to its disk: it ends the log at the first write that
// fails or takes too long, and makes writes wait while the disk is full.
package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"cordwood/shard/vfs"
)

// Config configures a Guard.
type Config struct {
	// Deadline is how long one write may take. Waiting for disk space does not count, nor does time in which the process
	// is suspended.
	Deadline time.Duration
	// Fail is called once, with the first error of a write, and must not block.
	Fail func(error)
	// Full is called repeatedly while a write waits for disk space. It must not block. The default
	// value does nothing.
	Full func(error)
	// Logger gets a message when a write starts to wait for disk space and when it continues. The
	// default value discards it.
	Logger *slog.Logger
}

// Guard lets writes through to a disk until one of them fails. The first error is latched, and so
// is the first write that exceeds the deadline: Config.Fail is called, and every later write is
// refused. A full disk does not count as an error: the write is repeated until there is space.
//
// Its methods may be called concurrently.
type Guard struct {
	cfg Config

	broken  atomic.Pointer[error] // the first error of a write, which is latched
	waiting waits
	busy    atomic.Int64 // when the running write began, in Unix nanoseconds; 0 if none is running
	closed  <-chan struct{}
	end     func() // closes it
}

// New returns a Guard. Fail is required.
func New(cfg Config) *Guard {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Full == nil {
		cfg.Full = func(error) {}
	}
	closed := make(chan struct{})
	return &Guard{cfg: cfg, closed: closed, end: sync.OnceFunc(func() { close(closed) })}
}

// Close ends waits for disk space, and the deadline of a write that has not returned. It does not
// wait for this write.
func (g *Guard) Close() { g.end() }

// Latch records err as the error of the log, unless there is an earlier one. Every later write is
// refused.
func (g *Guard) Latch(err error) {
	if g.broken.CompareAndSwap(nil, &err) {
		g.cfg.Fail(err)
	}
}

// Write does one write, and latches the error if it fails or exceeds the deadline. After an earlier
// failure it refuses the write. what describes the write in errors.
func (g *Guard) Write(what string, do func() error) error {
	if err := g.broken.Load(); err != nil {
		return fmt.Errorf("log: %s refused after an earlier failure: %w", what, *err)
	}
	w := watch{guard: g, what: what, since: g.waiting.load()}
	w.timer = vfs.AfterFunc(time.Hour, w.fire) // fire resets the timer, so the field must be set before fire can run
	w.timer.Reset(g.cfg.Deadline)
	g.busy.Store(time.Now().UnixNano())
	err := do()
	g.busy.Store(0)
	late := !w.ended.CompareAndSwap(false, true)
	w.timer.Stop()
	if err != nil {
		err = fmt.Errorf("log: %s: %w", what, err)
		if !errors.Is(err, ErrClosed) {
			g.Latch(err)
		}
		return err
	}
	if late {
		g.Latch(w.overdue()) // fire may not have run yet
	}
	if err := g.broken.Load(); err != nil { // the deadline of this write or another one passed
		return *err
	}
	return nil
}

// watch is the deadline of one write. The write or the deadline ends it, whichever comes
// first.
type watch struct {
	guard *Guard
	what  string
	timer *vfs.Timer
	since waitCount // the waits for disk space when the timer was set
	ended atomic.Bool
}

// fire runs when the deadline has passed. If a wait for disk space is running, or ended after the
// timer was set, it extends the deadline: after the wait the disk gets at least the whole deadline
// again, and at most twice as much.
func (w *watch) fire() {
	select {
	case <-w.guard.closed:
		return
	default:
	}
	if w.ended.Load() {
		return
	}
	if now := w.guard.waiting.load(); now.underWay() > 0 || now != w.since {
		w.since = now
		w.timer.Reset(w.guard.cfg.Deadline) // if the write ends meanwhile, the next call finds that
		return
	}
	if w.ended.CompareAndSwap(false, true) {
		w.guard.Latch(w.overdue())
	}
}

func (w *watch) overdue() error {
	return fmt.Errorf("log: %s: the disk did not answer within %s", w.what, w.guard.cfg.Deadline)
}

// waits counts the waits for disk space. The number of running waits and the number of ended waits
// are in one word, so that a reader cannot miss a wait that ends at that moment.
type waits struct{ count atomic.Uint64 }

func (w *waits) begin()          { w.count.Add(1) }
func (w *waits) end()            { w.count.Add(1<<32 - 1) } // one less is running, one more has ended
func (w *waits) load() waitCount { return waitCount(w.count.Load()) }

// waitCount is a value of waits.
type waitCount uint64

// underWay returns how many waits are running.
func (c waitCount) underWay() uint32 { return uint32(c) }

// Waiting reports whether a write waits for disk space.
func (g *Guard) Waiting() bool { return g.waiting.load().underWay() > 0 }

// BusyFor returns how long the running write has taken so far, or 0 if none is running. If several
// are running it returns the time of one of them.
func (g *Guard) BusyFor() time.Duration {
	since := g.busy.Load()
	if since == 0 {
		return 0
	}
	return time.Since(time.Unix(0, since))
}

// ErrClosed is the error of a write that was waiting for disk space when the guard was closed.
var ErrClosed = errors.New("closed while it waited for disk space")

// retryFull is how long a write waits before it tries a full disk again.
const retryFull = 250 * time.Millisecond

// WaitForRoom calls do until it does not fail for lack of disk space, and returns its error. A do
// that fails must leave nothing behind. After each such failure it calls full, if not nil. It ends
// when stop is closed, with an error that matches ErrClosed. what describes the write in logger,
// which may be nil.
func WaitForRoom(stop <-chan struct{}, logger *slog.Logger, full func(error), what string, do func() error) error {
	g := New(Config{Logger: logger, Full: full})
	g.closed = stop
	return g.WhileFull(what, WriteFull, do)
}

// WhileFull calls do until it does not fail with an error that isFull accepts, and returns its
// error. A do that fails must leave nothing behind. what describes the write in the log.
func (g *Guard) WhileFull(what string, isFull func(error) bool, do func() error) error {
	err := do()
	if err == nil || !isFull(err) {
		return err
	}
	g.waiting.begin()
	defer g.waiting.end()
	g.cfg.Logger.Error("the disk is full: the log waits for space; remove other files from the disk, or enlarge "+
		"it", "what",
		what, "error", err)
	since := time.Now()
	for isFull(err) {
		g.cfg.Full(err)
		select {
		case <-g.closed:
			return fmt.Errorf("%w: %w", ErrClosed, err)
		case <-time.After(retryFull):
		}
		if err = do(); err == nil {
			g.cfg.Logger.Info("the disk has space again: the log continues", "what", what, "waited",
				time.Since(since).Round(time.Millisecond))
		}
	}
	return err
}

// WriteFull reports whether err is the error of a write to a file on a full disk. An fsync that
// fails with the same error does not count: it is unknown what such an fsync leaves on the disk.
func WriteFull(err error) bool {
	pathErr := (*fs.PathError)(nil)
	return errors.As(err, &pathErr) && pathErr.Op != "sync" && AnyFull(pathErr.Err)
}

// AnyFull reports whether err means that the disk is full or a quota is used up.
func AnyFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
