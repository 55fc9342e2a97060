package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/turns"
	"cordwood/shard/query"
)

// Worker runs queries in a child process. See the package comment.
type Worker struct {
	cfg      Config
	log      *slog.Logger
	queries  *turns.Gate
	parses   *turns.Gate
	analyses *cache[query.Analysis]
	splits   *cache[query.Split]
	metrics  *metrics
	// suspects are statements that ran when processes ended.
	suspects *suspects
	// userEnds are users whose queries ran when processes ended.
	userEnds *userEnds
	usage    *cpuUsage
	// usedBy returns the CPU time of a process. Tests replace it.
	usedBy func(*process) (time.Duration, bool)

	mu     sync.Mutex // locked before process.mu
	closed bool
	main   lane
	apart  [maxApart]lane
	// freed is closed when a separate lane has become free.
	freed chan struct{}
	// draining are processes that are being replaced, the oldest first.
	draining []*process
	// alive are all processes, including those that are being replaced.
	alive   map[*process]struct{}
	started int
	// failures counts consecutive processes that did not become ready. No other process is started
	// before pause.
	failures int
	pause    time.Time
	// users are the running calls.
	users sync.WaitGroup
}

// errClosed is the error after Close: another node may run the query.
var errClosed = errs.New(errs.ShardNotReady,
	"query worker: closed; the server is shutting down").WithRetryAfter(time.Second)

// Open returns a Worker. The process is started by the first query.
func Open(cfg Config) (*Worker, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("query worker: %w", err)
	}
	cfg = cfg.withDefaults()
	w := &Worker{
		cfg: cfg, log: cfg.Logger, analyses: newCache[query.Analysis](cachedStatements),
		splits: newCache[query.Split](cachedStatements), alive: map[*process]struct{}{}, suspects: newSuspects(),
		queries: newGate(cfg), parses: newGate(cfg), freed: make(chan struct{}), usage: newCPUUsage(time.Now),
		usedBy: (*process).readCPU,
	}
	for i := range w.apart {
		w.apart[i].apart = true
	}
	if cfg.TempDir != "" {
		// Remove what killed processes left behind.
		old, err := filepath.Glob(filepath.Join(cfg.TempDir, tempPrefix+"*"))
		for _, dir := range old {
			err = errors.Join(err, os.RemoveAll(dir))
		}
		if err != nil {
			return nil, fmt.Errorf("query worker: empty the folder of temporary files: %w", err)
		}
	}
	var err error
	if w.metrics, err = newMetrics(cfg.Registerer, w); err != nil {
		return nil, fmt.Errorf("query worker: %w", err)
	}
	w.userEnds = newUserEnds(cfg, w.metrics.refusals.WithLabelValues(refusedUser))
	return w, nil
}

// newGate returns a gate. All waiting calls may belong to one user, because scans for queries of
// other nodes come in large numbers. When calls of other users come, some of them are refused to
// make room.
func newGate(cfg Config) *turns.Gate {
	return turns.New(turns.Config{
		Running: cfg.Concurrency, PerUser: cfg.PerUser, Waiting: cfg.Waiting, WaitingPerUser: cfg.Waiting,
		MaxWait: cfg.MaxWait,
	})
}

// enter waits for a slot for the database and the user of ctx. leave returns it, and may be called twice.
func enter(ctx context.Context, g *turns.Gate) (leave func(), err error) {
	s, err := enterSlot(ctx, g)
	if err != nil {
		return nil, err
	}
	return s.Leave, nil
}

// enterSlot is like enter.
func enterSlot(ctx context.Context, g *turns.Gate) (*turns.Slot, error) {
	s, err := g.Slot(ctx, turns.DatabaseOf(ctx), query.ShareOf(ctx))
	if err != nil && errs.CodeOf(err) != errs.ShardBusy {
		err = contextError(ctx)
	}
	return s, err
}

// Analyze reports what a statement refers to, without running it. The result may be shared, so it
// must not be changed.
func (w *Worker) Analyze(ctx context.Context, sql, database string) (*query.Analysis, error) {
	key := statementKey(sql, database)
	if a := w.analyses.get(key); a != nil {
		return a, nil
	}
	leave, err := enter(ctx, w.parses)
	if err != nil {
		return nil, err
	}
	defer leave()
	var a query.Analysis
	if err := w.call(&exchange{
		ctx:      ctx,
		leave:    leave,
		analyze:  analyzeRequest{SQL: sql, Database: database},
		analysis: &a,
	}); err != nil {
		return nil, err
	}
	w.analyses.put(key, &a)
	return &a, nil
}

// Needs reports what a statement reads of the request's tables, as engine.Engine does. The
// tables need no rows.
func (w *Worker) Needs(ctx context.Context, req *query.Request) ([]query.Need, error) {
	leave, err := enter(ctx, w.parses)
	if err != nil {
		return nil, err
	}
	defer leave()
	var needs []query.Need
	if err := w.call(&exchange{ctx: ctx, leave: leave, query: req, needs: &needs}); err != nil {
		return nil, err
	}
	return needs, nil
}

// Split splits a statement for several nodes, as engine.Engine does. The tables need no rows.
func (w *Worker) Split(ctx context.Context, req *query.Request) (*query.Split, error) {
	key := splitKey(req)
	if kept := w.splits.get(key); kept != nil {
		return kept.At(time.Now()), nil
	}
	leave, err := enter(ctx, w.parses)
	if err != nil {
		return nil, err
	}
	defer leave()
	var split query.Split
	if err := w.call(&exchange{ctx: ctx, leave: leave, query: req, split: &split}); err != nil {
		return nil, err
	}
	if !split.Lasting {
		return &split, nil
	}
	w.splits.put(key, &split)
	return split.At(time.Now()), nil
}

// Describe returns the columns of an answer, as engine.Engine does. The tables need no rows.
func (w *Worker) Describe(ctx context.Context, req *query.Request) (*query.Description, error) {
	leave, err := enter(ctx, w.parses)
	if err != nil {
		return nil, err
	}
	defer leave()
	var out query.Description
	if err := w.call(&exchange{ctx: ctx, leave: leave, query: req, described: &out}); err != nil {
		return nil, err
	}
	return &out, nil
}

// Query runs a SELECT, or an EXPLAIN of one, as engine.Engine does. Unlike there, the stream may be
// passed to emit in any pieces.
//
// Besides the engine's errors it returns errs.Unsupported for a statement that ran each time when
// processes ended lately, errs.RateLimited for a user whose queries ended too many processes,
// errs.ShardBusy if too many queries wait, errs.External if the process ended while the query ran,
// and errs.RuntimeResourcesExhausted if it ended for lack of memory. If a query does not stop when
// its context ends, the process is killed; Query returns when it is dead.
func (w *Worker) Query(ctx context.Context, req *query.Request, emit func(ipc []byte) error) error {
	slot, err := enterSlot(ctx, w.queries)
	if err != nil {
		return err
	}
	defer slot.Leave()
	x := &exchange{ctx: ctx, leave: slot.Leave, slot: slot, query: req, emit: emit}
	if w.cfg.Memory != nil {
		x.locate = w.cfg.Memory.Locate
	}
	return w.call(x)
}

// call runs an exchange on a process.
func (w *Worker) call(x *exchange) error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return errClosed
	}
	w.users.Add(1)
	w.mu.Unlock()
	defer w.users.Done()
	sql, database := x.statement()
	if err := w.suspects.check(sql, database); err != nil {
		w.metrics.refusals.WithLabelValues(refusedStatement).Inc()
		return err
	}
	x.share = query.ShareOf(x.ctx)
	if err := w.userEnds.check(x.share); err != nil {
		return err
	}
	l, leave, err := w.lane(x.ctx, x.share)
	if err != nil {
		return err
	}
	defer leave()
	again := false
	for {
		p, err := w.process(x.ctx, l)
		if err != nil {
			return err
		}
		p.serve(x.share)
		c, err := p.connect()
		if errors.Is(err, errGone) {
			continue // it ended a moment ago; another will be started
		}
		if err != nil {
			return errs.Wrap(errs.Internal, err, "query worker")
		}
		err = x.run(c)
		if errors.Is(err, errGone) {
			continue
		}
		if err == nil && x.emit != nil {
			w.suspects.clear(sql, database)
		}
		if !x.blamed && errs.CodeOf(err) == errs.RuntimeResourcesExhausted && w.examine(p, x.share, err) &&
			x.emit == nil && !again {
			again = true // an analysis needs little memory, so other queries used it up
			continue
		}
		return err
	}
}

// process returns a process that takes the queries of a lane, and counts the caller as its user.
func (w *Worker) process(ctx context.Context, l *lane) (*process, error) {
	deadline := time.Now().Add(w.cfg.StartWait)
	timer := time.NewTimer(w.cfg.StartWait)
	defer timer.Stop()
	var last error
	for {
		w.mu.Lock()
		p, pause := l.current, time.Until(w.pause)
		if p == nil && pause <= 0 {
			p = w.start(l)
		}
		w.mu.Unlock()
		var wait <-chan struct{}
		var paused <-chan time.Time
		if p != nil {
			if p.use() {
				return p, nil
			}
			wait = p.settled
		} else {
			paused = time.After(pause)
		}
		select {
		case <-wait:
			if p.use() {
				return p, nil
			}
			if err := p.failure(); err != nil {
				last = err
			}
			// It is no longer current after its end.
			select {
			case <-p.ended:
			case <-timer.C:
			case <-ctx.Done():
			}
		case <-paused:
		case <-timer.C:
		case <-ctx.Done():
			return nil, contextError(ctx)
		}
		if !time.Now().Before(deadline) {
			if last == nil {
				last = errors.New("it is starting")
			}
			return nil, errs.New(errs.External, "the query worker is not ready after %s: %s",
				w.cfg.StartWait, last).WithRetryAfter(time.Second)
		}
	}
}

// start starts a process. w.mu is held.
func (w *Worker) start(l *lane) *process {
	w.started++
	p := newProcess(w, w.started, l)
	l.current = p
	w.alive[p] = struct{}{}
	go p.run()
	return p
}

// replace makes new queries go to another process.
func (w *Worker) replace(p *process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.leaves(p, true)
}

// leaves removes a process from its lane. If the main lane has users, the next process is started
// at once. w.mu must be held.
func (w *Worker) leaves(p *process, next bool) {
	if p.lane.current != p {
		return
	}
	p.lane.current = nil
	if next && !w.closed && !p.lane.apart {
		w.start(p.lane)
	}
}

// over records the end of a process. reason is empty if it was asked to end.
func (w *Worker) over(p *process, wasReady bool, reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.alive, p)
	if reason != "" {
		w.metrics.restarts.WithLabelValues(reason).Inc()
	}
	if wasReady {
		w.failures = 0
	} else if reason != "" {
		// Pause before starting another process that may fail in the same way.
		w.failures++
		w.pause = time.Now().Add(min(100*time.Millisecond<<min(w.failures, 6), 5*time.Second))
	}
	w.draining = slices.DeleteFunc(w.draining, func(d *process) bool { return d == p })
	w.leaves(p, wasReady)
}

// processes returns the processes that are alive.
func (w *Worker) processes() []*process {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := make([]*process, 0, len(w.alive))
	for p := range w.alive {
		list = append(list, p)
	}
	return list
}

// Close refuses new work, waits for the queries that run, and ends the process. Cancel the contexts
// of the queries first if Close has to be quick. It may be called twice.
func (w *Worker) Close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.users.Wait()
	for _, p := range w.processes() {
		p.end()
	}
	return nil
}

// contextError returns the error of a query whose context has ended.
func contextError(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return errs.New(errs.QueryTimeout,
			"query: stopped at its deadline; give it more time with x-svc-timeout, or narrow its time range")
	}
	return errs.New(errs.Cancelled, "query: cancelled by the client")
}
