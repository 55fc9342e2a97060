package worker

import (
	"context"
	"fmt"
	"strings"
	"time"

	"cordwood/proto/errs"
	"cordwood/shard/query"
)

const (
	// leastFree is the part of Config.hardLimit that must be left to a process after a query failed for lack of
	// memory. DuckDB's own limit leaves a third.
	leastFree = 4
	// probeWait is how long probeSQL may take on a healthy process.
	probeWait = time.Second
)

// probeSQL needs a parse, a plan and some threads, but little time and memory.
const probeSQL = "SELECT count(*), max(i::VARCHAR) FROM range(10000) r(i)"

// examine checks a process after a query of it failed for lack of memory, and replaces it if other queries would
// fail too: memory that the process has freed may still count as used, in pieces that are too small. It reports
// whether the process is replaced. The user of the query is then watched, but not blamed, because the memory of
// others may not have been freed either.
//
// A process that could not write a temporary file is replaced as well: DuckDB then treats the space
// in the file as used, and the file keeps its size.
func (w *Worker) examine(p *process, share string, failure error) bool {
	p.mu.Lock()
	skip := p.examining || p.leaving || p.err != nil
	p.examining = p.examining || !skip
	pid, limit := p.pid, p.limit
	p.mu.Unlock()
	if skip {
		return p.isLeaving()
	}
	defer func() {
		p.mu.Lock()
		p.examining = false
		p.mu.Unlock()
	}()
	if strings.Contains(failure.Error(), query.SpillFailed) {
		p.exhaust(share, "error", failure)
		return true
	}
	used, err := dataSize(fmt.Sprintf("/proc/%d/status", pid))
	if err == nil && limit > 0 && limit-used < p.cfg().hardLimit()/leastFree {
		p.exhaust(share, "memory", used, "limit", limit)
		return true
	}
	if err := w.probe(p); err != nil {
		p.exhaust(share, "memory", used, "limit", limit, "error", err)
		return true
	}
	return false
}

// probe runs a cheap statement on a process.
func (w *Worker) probe(p *process) error {
	if !p.use() {
		return nil // the process is ending anyway
	}
	c, err := p.connect()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeWait)
	defer cancel()
	x := &exchange{
		ctx: ctx, query: &query.Request{SQL: probeSQL, Database: "public"},
		emit: func([]byte) error { return nil },
	}
	err = x.run(c)
	if errs.CodeOf(err) == errs.ShardBusy {
		return nil
	}
	return err
}

// exhaust replaces the process because its memory or its room for temporary files is used up. Its other queries may
// continue for Config.Drain.
func (p *process) exhaust(share string, facts ...any) {
	p.w.replace(p)
	p.mu.Lock()
	if p.leaving {
		p.mu.Unlock()
		return
	}
	p.leaving, p.exhausted = true, true
	p.w.log.Warn("query worker: the process has no more memory or disk for other queries and is replaced", append([]any{
		"pid",
		p.pid, "others", p.users,
	}, facts...)...)
	p.killIfAlone()
	p.mu.Unlock()
	p.w.userEnds.recordEnd(share, false)
	p.w.drain(p)
}

// isLeaving reports whether new queries go to another process.
func (p *process) isLeaving() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.leaving
}
