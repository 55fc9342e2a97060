package node

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/node/config"
	"cordwood/node/sdnotify"
)

// exitFailStop is the status with which the process ends when a log could not be
// written: what is in memory must not be trusted, and nothing may be closed in order.
const exitFailStop = 70

// exitCutStop is the status with which it ends when a part did not stop in time.
const exitCutStop = 71

// life is what every part of a node has: the settings, the log, the metrics, and ways to start
// goroutines, to be stopped in order, and to end the node.
type life struct {
	cfg   *config.Config
	proc  Process
	log   *slog.Logger
	level slog.LevelVar // of log
	begin time.Time
	lines *prometheus.CounterVec // of the log, by level
	// registry holds the metrics of the process.
	registry *prometheus.Registry
	// service is nil if systemd does not wait for news.
	service *sdnotify.Notifier
	// reloads are read again on SIGHUP.
	reloads []reload

	// failed takes the error of a part that cannot continue.
	failed chan error
	// closers are run in reverse by stop.
	closers []closer
	// stopping names the part that is being stopped.
	stopping atomic.Value
	once     sync.Once
}

type closer struct {
	name  string
	close func(context.Context) error
}

func (n *life) onStop(name string, f func(context.Context) error) {
	n.closers = append(n.closers, closer{name, f})
}

// fail stops the node because of an error that a part cannot handle.
func (n *life) fail(err error) {
	select {
	case n.failed <- err:
	default:
	}
}

// failStop ends the process at once: a write to a log failed, and memory may be ahead of the disk.
func (n *life) failStop(err error) {
	n.endAtOnce("a log cannot be trusted any more; ending at once, to start again from what is on disk", err)
}

// endAtOnce ends the process without closing anything: what it would do on its way out would be
// wrong.
func (n *life) endAtOnce(why string, err error) {
	n.once.Do(func() {
		// The log may go to the disk that does not answer.
		said := make(chan struct{})
		go func() {
			n.log.Error(why, "error", err, "status", exitFailStop)
			close(said)
		}()
		select {
		case <-said:
		case <-time.After(time.Second):
		}
		os.Exit(exitFailStop)
	})
}

// run starts a goroutine that works until its context ends, which stop does.
func (n *life) run(name string, f func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := f(ctx); err != nil && ctx.Err() == nil {
			n.fail(fmt.Errorf("%s: %w", name, err))
		}
	}()
	n.onStop(name, func(ctx context.Context) error {
		cancel()
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// cutStop ends a process whose stop hangs. What was acknowledged is in the log, from which
// the next start takes it.
func (n *life) cutStop() {
	part, _ := n.stopping.Load().(string)
	n.log.Error("the stop took too long and is cut short; what was acknowledged is in the log, and the next start "+
		"reads it from there (not rows of tables with skip_wal)",
		"part", part, "grace", n.cfg.ShutdownGrace, "status", exitCutStop)
	exit(exitCutStop)
}

// exit is os.Exit, except in tests.
var exit = os.Exit
