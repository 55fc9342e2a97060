// Package node is one process of cordwood: it reads the settings, opens what its
// roles need in an order in which each part finds the ones that it calls, and
// stops them in reverse.
//
//	users ──► httpServer ─► httpapi ─┬─► ingest ─► pipeline ─► write ─┐
//	                                 └─► query ───────────────────────┤
//	                                                                  ▼
//	                                                      metaclient, shardclient
//	                                  in the process │                │ to other nodes
//	                                                 ▼                ▼
//	nodes ──► rpcport ─┬─ calls ────────────► rpcServer           registry
//	                   ├─ raft ──► network    │       │
//	                   └─ Hello ─► discovery  ▼       ▼
//	                                        meta    shard server
//	                                                  │      │
//	                                     host: shards ◄      ► query worker ══► a process of its own
//
// The port for users opens first, so that an operator can see a node that lives and
// what it waits for; it closes first too, so that nothing is asked of parts that
// are about to go. Shards close before the metadata, because their last act may
// need nothing of it, and the data folder is unlocked last. Before anything closes the
// node says that it is not ready, and hands on what it leads.
//
// DESIGN.md has the reasons.
package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"cordwood/meta"
	"cordwood/meta/metaclient"
	"cordwood/node/clocks"
	"cordwood/node/config"
	"cordwood/node/discovery"
	"cordwood/node/host"
	"cordwood/node/marks"
	"cordwood/node/reach"
	"cordwood/node/registry"
	"cordwood/node/rpcport"
	"cordwood/node/sdnotify"
	"cordwood/router/httpapi/auth"
	"cordwood/router/httpapi/browser"
	"cordwood/router/httpapi/peer"
	"cordwood/shard/replica/transport"
	"cordwood/shard/shardclient"
)

// Version is what the program was built from. Date is when the commit was made, by
// RFC 3339 in UTC.
type Version struct{ Version, Commit, Branch, Date, Go string }

// Process is what a node gets from the program around it.
type Process struct {
	// Stderr takes the log and, on a terminal, the banner.
	Stderr io.Writer
	// ConfigText is the answer of GET /config.
	ConfigText string
	Version    Version
	// Reload delivers a signal when files of settings have changed. May be nil.
	Reload <-chan os.Signal
}

// exitFailStop is the status with which the process ends when a log could not be
// written: what is in memory must not be trusted, and nothing may be closed in order.
const exitFailStop = 70

// exitCutStop is the status with which it ends when a part did not stop in time.
const exitCutStop = 71

// SettingsError is a fault of what the settings name, as a file of users that does not
// exist. Nothing was started, and no data folder was made.
type SettingsError struct{ Err error }

func (e *SettingsError) Error() string { return e.Err.Error() }

// Unwrap returns the fault.
func (e *SettingsError) Unwrap() error { return e.Err }

// Run runs a node until ctx ends, then stops it in order. It returns nil if the
// node ran and stopped as it should; then every acknowledged row is in segments. Files
// of settings that are at fault are a *SettingsError.
func Run(ctx context.Context, cfg *config.Config, proc Process) error {
	n := newNode(cfg, proc)
	log, err := newLogger(cfg, proc.Stderr, &n.level, n.lines)
	if err != nil {
		return err
	}
	n.log = log
	if n.service, err = sdnotify.Open(); err != nil {
		log.Warn("systemd will not learn how this node is", "error", err)
	}
	defer n.service.Close()
	n.wait("its files of settings and its data folder")
	err = n.start(ctx)
	if err == nil {
		n.announce()
		n.service.Ready()
		select {
		case <-ctx.Done():
			log.Info("stopping", "grace", cfg.ShutdownGrace)
		case err = <-n.failed:
		}
	} else if ctx.Err() != nil {
		// Asked to stop while still starting.
		err = nil
	}
	return errors.Join(err, n.stopInTime(context.WithoutCancel(ctx)))
}

// stopInTime is stop within the time for it; a part that hangs has the process end all the same.
func (n *node) stopInTime(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.ShutdownGrace)
	defer cancel()
	defer time.AfterFunc(n.cfg.ShutdownGrace+stopExtra, n.cutStop).Stop()
	return n.stop(ctx)
}

// stopExtra is how much longer than its time a stop may take before it is cut short. What
// keeps to the time needs a moment to give up.
const stopExtra = 5 * time.Second

// cutStop ends a process whose stop hangs. What was acknowledged is in the log, from which
// the next start takes it.
func (n *node) cutStop() {
	part, _ := n.stopping.Load().(string)
	n.log.Error("the stop took too long and is cut short; what was acknowledged is in the log, and the next start "+
		"reads it from there (not rows of tables with skip_wal)",
		"part", part, "grace", n.cfg.ShutdownGrace, "status", exitCutStop)
	exit(exitCutStop)
}

// exit is os.Exit, but for tests.
var exit = os.Exit

func newNode(cfg *config.Config, proc Process) *node {
	return &node{
		cfg: cfg, proc: proc, failed: make(chan error, 1), begin: time.Now(), process: newProcess(), lines: newLineCounter(),
		hurry: make(chan struct{}, 1), reporting: make(chan struct{}, 1),
	}
}

// node is a process under way. Its fields are set by start and do not change after.
type node struct {
	cfg   *config.Config
	proc  Process
	log   *slog.Logger
	level slog.LevelVar // of log
	begin time.Time
	// service is nil if systemd does not wait for news.
	service *sdnotify.Notifier

	data *dataDir
	// protection is how nodes prove themselves to each other.
	protection protection
	// reloads are read again on SIGHUP.
	reloads  []reload
	disk     *disk
	users    *httpServer
	usersV1  *httpServer // nil if off
	registry *prometheus.Registry
	lines    *prometheus.CounterVec // of the log, by level
	calls    *callMetrics
	tracer   trace.Tracer // nil: there are no traces

	// userList is who may use the ports for users; nil: everybody.
	userList *auth.Provider
	// proxies and browsers are whom the port for users trusts, adminBrowsers that of the
	// administrator.
	proxies                 peer.Proxies
	browsers, adminBrowsers *browser.Rules

	// process differs for each life of the process.
	process uint64
	// marks are those of the data folder.
	marks *marks.Folder
	// twinless are the addresses at which start looked for another process with this node's id.
	twinless []string
	// advertise is where other nodes reach this one.
	advertise string
	port      *rpcport.Port
	rpc       *rpcServer
	nodes     *registry.Registry
	discovery *discovery.Discovery
	network   *transport.Network
	reach     *reach.Monitor
	member    *meta.Meta // nil without the role meta
	meta      *metaclient.Client
	host      *host.Host     // nil without the role shard
	clocks    *clocks.Clocks // likewise
	shards    *shardclient.Client
	// operators answers the calls of backup and restore.
	operators *operatorServer

	// waiting is what the node waits for; empty once it serves. leaving is why it should
	// not be used although it does.
	waiting, leaving atomic.Value
	// trouble is what /ready asks before start is done.
	trouble struct {
		disk atomic.Pointer[disk]
		host atomic.Pointer[host.Host]
	}
	// alone: this node is a router only, and no other node answers it.
	alone atomic.Bool
	// stopping names the part that is being stopped.
	stopping atomic.Value
	// hurry has a report sent at once.
	hurry chan struct{}
	// reporting holds a value while a report is sent.
	reporting chan struct{}
	// failed takes the error of a part that cannot go on.
	failed chan error
	// closers are run in reverse by stop.
	closers []closer
	once    sync.Once
}

type closer struct {
	name  string
	close func(context.Context) error
}

func (n *node) onStop(name string, f func(context.Context) error) {
	n.closers = append(n.closers, closer{name, f})
}

// fail stops the node because of an error that a part cannot handle.
func (n *node) fail(err error) {
	select {
	case n.failed <- err:
	default:
	}
}

// failStop ends the process at once: a write to a log failed, and what is in
// memory may be ahead of what is on disk.
func (n *node) failStop(err error) {
	n.endAtOnce("a log cannot be trusted any more; ending at once, to start again from what is on disk", err)
}

// endAtOnce ends the process without closing anything: what it would do on its way out would be
// wrong.
func (n *node) endAtOnce(why string, err error) {
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
func (n *node) run(name string, f func(context.Context) error) {
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

// stop hands on what the node leads, finishes the requests of users, then closes what
// start opened, last opened first, and tells all that failed.
func (n *node) stop(ctx context.Context) error {
	var errs []error
	n.service.Stopping()
	n.leave("stopping")
	n.stopping.Store("leadership of groups")
	n.handOver(ctx, true)
	n.stopping.Store("requests of users")
	for _, port := range []*httpServer{n.users, n.usersV1} {
		if port != nil {
			errs = append(errs, port.close(ctx))
		}
	}
	for i := len(n.closers) - 1; i >= 0; i-- {
		c := n.closers[i]
		n.stopping.Store(c.name)
		begin := time.Now()
		err := c.close(ctx)
		n.log.Debug("stopped", "part", c.name, "took", time.Since(begin), "error", err)
		if err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", c.name, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if n.data != nil {
		n.log.Info("stopped")
	}
	return nil
}

// newID returns an id that no other call, here or elsewhere, has returned or will.
func newID() string { return ulid.Make().String() }
