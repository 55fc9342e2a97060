package replica

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

// spaceRetry is how long a write waits before it tries a full disk again.
const spaceRetry = 250 * time.Millisecond

// guard stands between a log and its disk. The first error of a write, and a write
// that takes too long, is latched: nothing is written after it, and fail is called
// once. A full disk is neither: the write waits until there is room.
//
// Its methods may be called concurrently.
type guard struct {
	deadline time.Duration
	fail     func(error)
	// full is told of every write that finds the disk full. May be nil.
	full   func(error)
	logger *slog.Logger
	// synced is told how long each fsync of the log took. May be nil.
	synced func(time.Duration)

	broken  atomic.Pointer[error] // the latch: the first error of a write
	waiting waits
	busy    atomic.Int64 // since when a write is under way, Unix nanoseconds; 0: none is
	closed  <-chan struct{}
	end     func() // closes it
}

func newGuard(deadline time.Duration, logger *slog.Logger, full, fail func(error)) *guard {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	closed := make(chan struct{})
	return &guard{
		deadline: deadline, logger: logger, full: full, fail: fail,
		closed: closed, end: sync.OnceFunc(func() { close(closed) }),
	}
}

// close ends the waits, and stops the deadline of a write that never came back from
// counting.
func (g *guard) close() { g.end() }

func (g *guard) latch(err error) {
	if g.broken.CompareAndSwap(nil, &err) {
		g.fail(err)
	}
}

// write does one write unless an earlier one failed. Its failure, and exceeding the
// deadline, ends the replica.
func (g *guard) write(what string, do func() error) error {
	if err := g.broken.Load(); err != nil {
		return fmt.Errorf("log: %s refused after an earlier failure: %w", what, *err)
	}
	w := watch{guard: g, what: what, since: g.waiting.load()}
	w.timer = time.AfterFunc(time.Hour, w.fire) // fire resets the timer, so the field must be set before it can run
	w.timer.Reset(g.deadline)
	g.busy.Store(time.Now().UnixNano())
	err := do()
	g.busy.Store(0)
	late := !w.ended.CompareAndSwap(false, true)
	w.timer.Stop()
	if err != nil {
		err = fmt.Errorf("log: %s: %w", what, err)
		if !errors.Is(err, errWaitEnded) {
			g.latch(err)
		}
		return err
	}
	if late {
		g.latch(w.overdue()) // fire may not have got there yet
	}
	if err := g.broken.Load(); err != nil { // the deadline of this write or another one passed
		return *err
	}
	return nil
}

// watch is the deadline of one write. Either the write or the deadline ends it, whichever
// comes first.
type watch struct {
	guard *guard
	what  string
	timer *time.Timer
	since waitCount // the waits for room when the timer was set
	ended atomic.Bool
}

// fire is called when the deadline has passed. A wait for room, also one that ended since the
// timer was set, puts the deadline off: the disk has the whole of it from the end of the wait on,
// and at most twice as long.
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
		w.timer.Reset(w.guard.deadline) // if the write ends meanwhile, the next call finds that
		return
	}
	if w.ended.CompareAndSwap(false, true) {
		w.guard.latch(w.overdue())
	}
}

func (w *watch) overdue() error {
	return fmt.Errorf("log: %s: the disk did not answer within %s", w.what, w.guard.deadline)
}

// waits counts the waits for room. How many are under way and how many have ended is one word,
// so that who loads it cannot miss one that ends at that moment.
type waits struct{ count atomic.Uint64 }

func (w *waits) begin()          { w.count.Add(1) }
func (w *waits) end()            { w.count.Add(1<<32 - 1) } // one less under way, one more ended
func (w *waits) load() waitCount { return waitCount(w.count.Load()) }

// waitCount is a state of waits.
type waitCount uint64

// underWay is how many wait.
func (c waitCount) underWay() uint32 { return uint32(c) }

// busyFor is how long the write that is under way has taken. Of several it is one.
func (g *guard) busyFor() time.Duration {
	since := g.busy.Load()
	if since == 0 {
		return 0
	}
	return time.Since(time.Unix(0, since))
}

// errWaitEnded is returned for a write that waited for room when the log was closed.
var errWaitEnded = errors.New("closed while it waited for room on the disk")

// WaitForRoom does something again and again as long as it fails because the disk
// is full; full is told each time. What it does must leave nothing behind when it
// fails. It ends when stop is closed, with the last error.
func WaitForRoom(stop <-chan struct{}, logger *slog.Logger, full func(error), what string, do func() error) error {
	g := guard{closed: stop, logger: logger, full: full}
	return g.whileFull(what, writeFull, do)
}

// whileFull does something again and again as long as it fails because the disk is
// full, which full recognises. What it does must leave nothing behind when it fails.
func (g *guard) whileFull(what string, full func(error) bool, do func() error) error {
	err := do()
	if err == nil || !full(err) {
		return err
	}
	g.waiting.begin()
	defer g.waiting.end()
	g.logger.Error("the disk is full: the log waits for room; free some, or make it larger", "what", what, "error", err)
	since := time.Now()
	for full(err) {
		if g.full != nil {
			g.full(err)
		}
		select {
		case <-g.closed:
			return fmt.Errorf("%w: %w", errWaitEnded, err)
		case <-time.After(spaceRetry):
		}
		if err = do(); err == nil {
			g.logger.Info("the disk has room again: the log goes on", "what", what, "waited", time.Since(since).Round(time.Millisecond))
		}
	}
	return err
}

// writeFull tells whether err is that of a write to a file on a full disk. The same
// error of an fsync is another matter: what it leaves on disk is unknown.
func writeFull(err error) bool {
	pathErr := (*fs.PathError)(nil)
	return errors.As(err, &pathErr) && pathErr.Op != "sync" && anyFull(pathErr.Err)
}

// anyFull tells whether err says that the disk, or a quota, is used up.
func anyFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
