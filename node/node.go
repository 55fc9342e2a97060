// Package node is one process of cordwood: it reads the settings, opens the parts that its
// roles need, each after the parts that it calls, and stops them in reverse order.
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
// The port for users opens first, so that an operator sees a live node and what it waits for.
// It closes first too, so that no request reaches parts that are about to close. Shards close
// before the metadata, because closing a shard needs none, and the data folder is unlocked last.
// Before anything closes, the node reports that it is not ready and transfers its leaderships.
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
	"cordwood/proto/turns"
	"cordwood/router/audit"
	"cordwood/shard/replica/transport"
	"cordwood/shard/shardclient"
)

// Version describes the build of the program. Date is the time of the commit, in RFC 3339 format and UTC.
type Version struct{ Version, Commit, Branch, Date, Go string }

// Process is what a node receives from the program that runs it.
type Process struct {
	// Stderr receives the log and, on a terminal, the banner.
	Stderr io.Writer
	// ConfigText is the answer to GET /config.
	ConfigText string
	Version    Version
	// Reload receives a signal when settings files have changed. It may be nil.
	Reload <-chan os.Signal
}

// SettingsError is an error in a file that the settings refer to, such as a missing user file. When it is returned,
// nothing was started and no data folder was created.
type SettingsError struct{ Err error }

func (e *SettingsError) Error() string { return e.Err.Error() }

func (e *SettingsError) Unwrap() error { return e.Err }

// Run runs a node until ctx ends, and then stops it in order. It returns nil if the node ran and stopped without an
// error. Then every acknowledged row is in segments. An error in a settings file is a *SettingsError.
func Run(ctx context.Context, cfg *config.Config, proc Process) error {
	n := newNode(cfg, proc)
	log, err := newLogger(cfg, proc.Stderr, &n.level, n.lines)
	if err != nil {
		return err
	}
	n.log = log
	if n.service, err = sdnotify.Open(); err != nil {
		log.Warn("systemd receives no reports from this node", "error", err)
	}
	defer n.service.Close()
	n.wait("its settings files and its data folder")
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
		// The stop signal came during the start.
		err = nil
	}
	return errors.Join(err, n.stopInTime(context.WithoutCancel(ctx)))
}

// stopInTime runs stop within its time limit. If a part hangs, the process ends anyway.
func (n *node) stopInTime(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.ShutdownGrace)
	defer cancel()
	defer time.AfterFunc(n.cfg.ShutdownGrace+stopExtra, n.cutStop).Stop()
	return n.stop(ctx)
}

// stopExtra is the time by which a stop may exceed its limit before the process ends. Parts that observe the limit
// need a moment to finish.
const stopExtra = 5 * time.Second

func newNode(cfg *config.Config, proc Process) *node {
	l := &life{cfg: cfg, proc: proc, failed: make(chan error, 1), begin: time.Now(), lines: newLineCounter()}
	r := &readiness{life: l}
	m := &membership{readiness: r, process: newProcess()}
	n := &node{places: turns.NewPlaces(), life: l, readiness: r, front: &front{readiness: r}, membership: m}
	n.changes = audit.New(nil, nil) // until openAudit
	n.reports = newReporter(m, n.newReport)
	return n
}

// node is a running process: the parts that start opens, each after the parts that it calls. State that several parts
// need is in structs of its own. Each struct embeds the next one:
//
// front, membership ──► readiness ──► life
//
// start sets the fields. They do not change after that.
type node struct {
	*life
	*readiness
	*front
	*membership

	// protection is how nodes authenticate each other.
	protection protection
	// crashed is whether the former process on the data folder crashed by itself.
	crashed bool
	disk    *disk
	calls   *callMetrics
	traces  traces

	port     *rpcport.Port
	rpc      *rpcServer
	network  *transport.Network
	reach    *reach.Monitor
	sessions *sessions
	reports  *reporter
	stored   storedBytes
	// queryCPU returns the CPU time of queries by database in the last minute. It is nil if no process runs queries.
	queryCPU func() map[string]time.Duration
	clocks   *clocks.Clocks // nil without the role shard
	shards   *shardclient.Client
	// objects is the object storage for old rows, or nil. states stores the metadata there, on members of their group.
	objects *objectStorage
	states  *metadataStore
	places  *turns.Places
	// operators answers the calls of backup and restore.
	operators *operatorServer
}

// stop transfers the node's leaderships, finishes the requests of users, and then closes everything that start
// opened, in reverse order. It returns all errors.
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

// newID returns a unique id.
func newID() string { return ulid.Make().String() }
