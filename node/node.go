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
	"os"
	"time"

	"github.com/oklog/ulid/v2"

	"cordwood/node/clocks"
	"cordwood/node/config"
	"cordwood/node/reach"
	"cordwood/node/rpcport"
	"cordwood/node/sdnotify"
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

// stopInTime is stop within the time for it; a part that hangs has the process end anyway.
func (n *node) stopInTime(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.ShutdownGrace)
	defer cancel()
	defer time.AfterFunc(n.cfg.ShutdownGrace+stopExtra, n.cutStop).Stop()
	return n.stop(ctx)
}

// stopExtra is how much longer than its time a stop may take before it is cut short. What
// keeps to the time needs a moment to give up.
const stopExtra = 5 * time.Second

func newNode(cfg *config.Config, proc Process) *node {
	l := &life{cfg: cfg, proc: proc, failed: make(chan error, 1), begin: time.Now(), lines: newLineCounter()}
	r := &readiness{life: l}
	m := &membership{readiness: r, process: newProcess()}
	n := &node{life: l, readiness: r, front: &front{readiness: r}, membership: m}
	n.reports = newReporter(m, n.newReport)
	return n
}

// node is a process under way: the parts that open each other in start, each after the parts that
// it calls. What several parts need of it is a struct of its own. A struct embeds those below it:
//
//	front, membership ──► readiness ──► life
//
// Its fields are set by start and do not change after.
type node struct {
	*life
	*readiness
	*front
	*membership

	// protection is how nodes prove themselves to each other.
	protection protection
	disk       *disk
	calls      *callMetrics
	traces     traces

	port    *rpcport.Port
	rpc     *rpcServer
	network *transport.Network
	reach   *reach.Monitor
	reports *reporter
	clocks  *clocks.Clocks // nil without the role shard
	shards  *shardclient.Client
	// operators answers the calls of backup and restore.
	operators *operatorServer
}

// stop hands on what the node leads, finishes the requests of users, then closes what start
// opened, last opened first, and returns all errors.
func (n *node) stop(ctx context.Context) error {
	var errs []error
	n.service.Stopping()
	n.leave("stopping")
	n.stopping.Store("leadership of groups")
	n.handOver(ctx, true)
	n.stopping.Store("requests of users")
	errs = append(errs, n.closePorts(ctx))
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
