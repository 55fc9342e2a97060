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

// exitFailStop is the exit status after a failed write to a log. The state in memory may then be ahead of the log, so
// nothing is closed in order.
const exitFailStop = 70

// exitCutStop is the exit status if a part did not stop in time.
const exitCutStop = 71

// life is what all parts of a node share: the settings, the log, the metrics, and functions that start goroutines,
// stop parts in order, and end the node.
type life struct {
	cfg   *config.Config
	proc  Process
	log   *slog.Logger
	level slog.LevelVar // level of the log
	begin time.Time
	lines *prometheus.CounterVec // lines of the log, by level
	// registry has the metrics of the process.
	registry *prometheus.Registry
	// service reports states to systemd. It is nil if systemd does not expect reports.
	service *sdnotify.Notifier
	// reloads lists the files that are read again on SIGHUP.
	reloads []reload

	// failed receives the error of a part that cannot continue.
	failed chan error
	// closers are run by stop, in reverse order.
	closers []closer
	// stopping is the name of the part that is being stopped.
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

// failStop ends the process at once: a write to a log failed, so the state in memory may be ahead of the disk.
func (n *life) failStop(err error) {
	n.endAtOnce("a write to a log failed; the process ends at once, and the next start reads what is on disk", err)
}

// endAtOnce ends the process without closing anything, because an orderly stop would do harm.
func (n *life) endAtOnce(why string, err error) {
	n.once.Do(func() {
		// The log may be on the disk that does not respond.
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

// run starts a goroutine that works until its context ends. stop ends the context.
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

// cutStop ends a process if its stop hangs. Acknowledged rows are in the log, which the next start reads.
func (n *life) cutStop() {
	part, _ := n.stopping.Load().(string)
	n.log.Error("the stop took too long, so the process ends now; acknowledged rows are in the log, and the next start "+
		"reads it from there (not rows of tables with skip_wal)",
		"part", part, "grace", n.cfg.ShutdownGrace, "status", exitCutStop)
	exit(exitCutStop)
}

// exit is os.Exit, except in tests.
var exit = os.Exit
