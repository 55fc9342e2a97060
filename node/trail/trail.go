package trail

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/router/audit"
	"cordwood/shard/vfs"
)

const (
	// maxQueue is the maximum number of records that wait for the files.
	maxQueue = 10_000
	// syncEvery is the longest time until a record is durable.
	syncEvery = time.Second
	// After a failure, the next write to the table waits from minPause to maxPause.
	minPause = time.Second
	maxPause = 30 * time.Second
)

// Config configures a Trail. All fields except Registerer are required.
type Config struct {
	FS  vfs.FS
	Dir string
	// Node is the name of the node in rows.
	Node string
	// Write writes rows to the table. It may write rows again.
	Write      func(ctx context.Context, rows []Row) error
	Now        func() time.Time
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Trail stores the records that a node makes. Open it, add records to it at any time, and Run it.
type Trail struct {
	cfg     Config
	metrics *metrics
	spool   *spool
	wake    chan struct{}

	mu    sync.Mutex // guards the fields below
	queue []audit.Entry
	lost  uint64 // records that were lost since the last row about losses
	why   error  // why the last one was lost

	// state is for State, and written for Mark.
	state   State
	written mark
}

// State describes a Trail.
type State struct {
	// Waiting is the number of bytes of records that are not in the table, and Lost the number of records that were
	// lost since the start.
	Waiting int64
	Lost    uint64
	// Failing is why the table cannot be written; nil if it can. Since is when this began.
	Failing error
	Since   time.Time
}

// Open opens the files of a Trail.
func Open(cfg Config) (*Trail, error) {
	t := &Trail{cfg: cfg, wake: make(chan struct{}, 1)}
	var damaged int
	var err error
	if t.spool, damaged, err = openSpool(cfg.FS, cfg.Dir, maxSpool); err != nil {
		return nil, fmt.Errorf("open the audit records in %s: %w", cfg.Dir, err)
	}
	if damaged > 0 {
		cfg.Logger.Warn("some lines of audit records are incomplete or damaged, and are left out", "dir", cfg.Dir,
			"count", damaged)
	}
	if t.spool.last.ID == 0 {
		// A node that has lost its folder does not use its earlier ids again.
		t.spool.last.ID = cfg.Now().UnixMicro()
	}
	t.state.Waiting = t.spool.waiting()
	t.metrics = newMetrics(cfg.Registerer, t)
	return t, nil
}

// Add adds a record. It does not wait. If the queue is full, the record is lost and counted.
func (t *Trail) Add(e audit.Entry) {
	t.mu.Lock()
	if len(t.queue) < maxQueue {
		t.queue = append(t.queue, e)
	} else {
		t.lose(1, errors.New("too many records at a time"))
	}
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default: // Run has not seen the last one yet
	}
}

// lose counts lost records. The caller holds mu.
func (t *Trail) lose(n uint64, why error) {
	t.lost, t.why = t.lost+n, why
	t.state.Lost += n
	t.metrics.lost.Add(float64(n))
}

// State returns the current state.
func (t *Trail) State() State {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state
}

// Mark returns the command that notes how far the records of the node with an id are in the table, or nil if none is.
func (t *Trail) Mark(nodeID string) *metapb.MarkAudit {
	t.mu.Lock()
	m, lost := t.written, t.state.Lost
	t.mu.Unlock()
	chain, err := hex.DecodeString(m.Chain)
	if m.ID == 0 || err != nil {
		return nil
	}
	return &metapb.MarkAudit{Source: nodeID, Through: uint64(m.ID), Chain: chain, Lost: lost}
}

// written is the outcome of a write to the table.
type written struct {
	rows []Row
	err  error
}

// Run stores records until ctx ends. It then writes the last ones to the files.
func (t *Trail) Run(ctx context.Context) error {
	r := run{Trail: t, results: make(chan written, 1)}
	tick := time.NewTicker(syncEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-t.wake:
			r.take()
		case <-tick.C:
			r.take()
			r.sync()
		case w := <-r.results:
			r.finished(w)
		}
		if ctx.Err() == nil {
			r.ship(ctx)
		}
	}
	return r.stop()
}

// run is the state of Run.
type run struct {
	*Trail
	results chan written
	busy    bool // whether a write to the table is on its way
	// rows are the rows of the last write if it has failed. They are written again as they are.
	rows    []Row
	pause   time.Duration
	retryAt time.Time
	// fileErr is set while the files cannot be written.
	fileErr error
}

// take moves records from the queue to the files. If the files cannot be written, the records stay in the queue.
func (r *run) take() {
	r.mu.Lock()
	batch, lost, why := r.queue, r.lost, r.why
	r.queue, r.lost = nil, 0
	r.mu.Unlock()
	for i := range batch {
		if err := r.put(&batch[i]); err != nil {
			r.keep(batch[i:], lost, err)
			return
		}
	}
	if lost > 0 {
		if err := r.putLost(lost, why); err != nil {
			r.keep(nil, lost, err)
			return
		}
		r.cfg.Logger.Error("audit records were lost", "count", lost, "error", why)
	}
	r.mu.Lock()
	r.state.Waiting = r.spool.waiting()
	r.mu.Unlock()
	if r.fileErr != nil {
		r.fileErr = nil
		r.cfg.Logger.Info("audit records can be written to files again", "dir", r.cfg.Dir)
	}
}

// lostAction is the action of a row about lost records.
const lostAction = "lose audit records"

// putLost appends a row about lost records to the files.
func (r *run) putLost(lost uint64, why error) error {
	return r.put(&audit.Entry{
		Time: r.cfg.Now(), Outcome: audit.Failed, Code: errs.Internal, Record: &metapb.AuditRecord{
			Principal: r.cfg.Node, Action: lostAction, Message: fmt.Sprintf("%d records: %v", lost, why),
		},
	})
}

// put appends a record to the files.
func (r *run) put(e *audit.Entry) error {
	row := newRow(e.Time, e.Record)
	row.Node, row.ID, row.Outcome, row.Code = r.cfg.Node, r.spool.last.ID+1, e.Outcome, int64(e.Code)
	row.Chain = row.Link(r.spool.last.Chain)
	if err := r.spool.append(&row); err != nil {
		return err
	}
	r.metrics.records.WithLabelValues(e.Outcome).Inc()
	return nil
}

// keep puts records back into the queue, and the number of lost ones that has no row yet. Records for which the queue
// has no room are lost. If the files are full, all are lost, because the table has not been written for long.
func (r *run) keep(batch []audit.Entry, lost uint64, err error) {
	if r.fileErr == nil {
		r.cfg.Logger.Error("audit records cannot be written to files", "dir", r.cfg.Dir, "error", err)
	}
	r.fileErr = err
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost += lost
	room := max(maxQueue-len(r.queue), 0)
	if errors.Is(err, errSpoolFull) {
		room = 0
	}
	if n := len(batch) - room; n > 0 {
		r.lose(uint64(n), err)
		batch = batch[:room]
	}
	r.queue = append(batch, r.queue...)
}

func (r *run) sync() {
	if err := r.spool.sync(); err != nil {
		r.cfg.Logger.Error("audit records cannot be made durable", "dir", r.cfg.Dir, "error", err)
	}
}

// ship begins a write to the table if there are rows for it.
func (r *run) ship(ctx context.Context) {
	if r.busy || r.cfg.Now().Before(r.retryAt) {
		return
	}
	if r.rows == nil {
		// A row in the table must be in the files, or its id could be used again.
		r.sync()
		rows, err := r.spool.next()
		if err != nil {
			r.failed(fmt.Errorf("read %s: %w", r.cfg.Dir, err))
			return
		}
		r.rows = rows
	}
	if len(r.rows) == 0 {
		r.rows = nil
		return
	}
	r.busy = true
	rows := r.rows
	go func() { r.results <- written{rows, r.cfg.Write(ctx, rows)} }()
}

// finished handles the outcome of a write to the table.
func (r *run) finished(w written) {
	r.busy = false
	if w.err != nil {
		r.failed(w.err)
		return
	}
	r.rows, r.pause = nil, 0
	if err := r.spool.done(w.rows); err != nil {
		r.cfg.Logger.Warn("the files of audit records that are in the table cannot be removed", "dir", r.cfg.Dir,
			"error", err)
	}
	r.mu.Lock()
	r.state.Waiting, r.written = r.spool.waiting(), r.spool.written
	was := r.state.Failing
	r.state.Failing = nil
	r.mu.Unlock()
	if was != nil {
		r.cfg.Logger.Info("audit records are written to the table again", "table", tableName)
	}
}

// tableName is the name of the table in messages.
const tableName = "svc_private.audit"

// failed notes that the table cannot be written.
func (r *run) failed(err error) {
	r.metrics.failures.Inc()
	r.pause = min(max(2*r.pause, minPause), maxPause)
	r.retryAt = r.cfg.Now().Add(r.pause)
	r.mu.Lock()
	first := r.state.Failing == nil
	if first {
		r.state.Since = r.cfg.Now()
	}
	r.state.Failing, r.state.Waiting = err, r.spool.waiting()
	r.mu.Unlock()
	if first {
		r.cfg.Logger.Warn("audit records cannot be written to the table; they are kept in files, and writing them is "+
			"tried again", "table", tableName, "dir", r.cfg.Dir, "error", err)
	}
}

// stop writes the last records to the files. The next start writes them to the table.
func (r *run) stop() error {
	if r.busy {
		r.finished(<-r.results) // its context has ended
	}
	r.take()
	return r.spool.close()
}
