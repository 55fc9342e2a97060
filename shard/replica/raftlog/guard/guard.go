// Package guard stands between a log and its disk: it ends the log with the first write that
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
)

// Config configures a Guard.
type Config struct {
	// Deadline is how long one write may take; time spent waiting for room does not count.
	Deadline time.Duration
	// Fail is called once, with the first error of a write, and must not block.
	Fail func(error)
	// Full is called, again and again, while a write waits for room. It must not block. The
	// default value does nothing.
	Full func(error)
	// Logger gets a line when a write begins to wait for room and when it continues. The default
	// value discards.
	Logger *slog.Logger
}

// Guard lets writes through to a disk until one of them fails. The first error, or a write
// that exceeds the deadline, is latched: Config.Fail is called, and every later write is
// refused. A full disk is not an error: the write is repeated until there is room.
//
// Its methods may be called concurrently.
type Guard struct {
	cfg Config

	broken  atomic.Pointer[error] // the latch: the first error of a write
	waiting waits
	busy    atomic.Int64 // when the write under way began, Unix nanoseconds; 0: none is under way
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

// Close ends the waits for room, and the deadline of a write that has not returned. It does
// not wait for that write.
func (g *Guard) Close() { g.end() }

// Latch refuses every write from now on, because of err, unless an earlier error did so
// already.
func (g *Guard) Latch(err error) {
	if g.broken.CompareAndSwap(nil, &err) {
		g.cfg.Fail(err)
	}
}

// Write does one write, and latches the error if it fails or exceeds the deadline. It
// refuses to do it after an earlier failure. what names the write in errors.
func (g *Guard) Write(what string, do func() error) error {
	if err := g.broken.Load(); err != nil {
		return fmt.Errorf("log: %s refused after an earlier failure: %w", what, *err)
	}
	w := watch{guard: g, what: what, since: g.waiting.load()}
	w.timer = time.AfterFunc(time.Hour, w.fire) // fire resets the timer, so the field must be set before it can run
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
		g.Latch(w.overdue()) // fire may not have got there yet
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
	timer *time.Timer
	since waitCount // the waits for room when the timer was set
	ended atomic.Bool
}

// fire runs when the deadline has passed. A wait for room that is under way, or that ended
// since the timer was set, extends the deadline: after the wait the disk gets the whole
// deadline again, and at most twice as long.
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

// waits counts the waits for room. The number under way and the number that have ended share
// one word, so that a reader of it cannot miss a wait that ends at that moment.
type waits struct{ count atomic.Uint64 }

func (w *waits) begin()          { w.count.Add(1) }
func (w *waits) end()            { w.count.Add(1<<32 - 1) } // one less under way, one more ended
func (w *waits) load() waitCount { return waitCount(w.count.Load()) }

// waitCount is a value of waits.
type waitCount uint64

// underWay returns how many waits are under way.
func (c waitCount) underWay() uint32 { return uint32(c) }

// Waiting reports whether a write waits for room.
func (g *Guard) Waiting() bool { return g.waiting.load().underWay() > 0 }

// BusyFor returns how long the write that is under way has taken so far, 0 if none is. If
// several are under way it picks one of them.
func (g *Guard) BusyFor() time.Duration {
	since := g.busy.Load()
	if since == 0 {
		return 0
	}
	return time.Since(time.Unix(0, since))
}

// ErrClosed is the error of a write that waited for room when the guard was closed.
var ErrClosed = errors.New("closed while it waited for room on the disk")

// retryFull is how long a write waits before it tries a full disk again.
const retryFull = 250 * time.Millisecond

// WaitForRoom calls do until it does not fail for lack of room, and returns its error; a do
// that fails must leave nothing behind. It calls full, if not nil, after each such failure. It
// ends when stop is closed, with an error that matches ErrClosed. what names the write in
// logger, which may be nil.
func WaitForRoom(stop <-chan struct{}, logger *slog.Logger, full func(error), what string, do func() error) error {
	g := New(Config{Logger: logger, Full: full})
	g.closed = stop
	return g.WhileFull(what, WriteFull, do)
}

// WhileFull calls do until it does not fail with an error that isFull accepts, and returns
// its error. A do that fails must leave nothing behind. what names the write in the log.
func (g *Guard) WhileFull(what string, isFull func(error) bool, do func() error) error {
	err := do()
	if err == nil || !isFull(err) {
		return err
	}
	g.waiting.begin()
	defer g.waiting.end()
	g.cfg.Logger.Error("the disk is full: the log waits for room; free some, or make it larger", "what",
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
			g.cfg.Logger.Info("the disk has room again: the log goes on", "what", what, "waited",
				time.Since(since).Round(time.Millisecond))
		}
	}
	return err
}

// WriteFull reports whether err is the error of a write to a file on a full disk. An fsync
// that fails with the same error does not count: what it leaves on the disk is unknown.
func WriteFull(err error) bool {
	pathErr := (*fs.PathError)(nil)
	return errors.As(err, &pathErr) && pathErr.Op != "sync" && AnyFull(pathErr.Err)
}

// AnyFull reports whether err says that the disk, or a quota, is used up.
func AnyFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
