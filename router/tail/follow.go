package tail

import (
	"context"
	"sync"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/access"
	"cordwood/router/query/format"
)

// Followed describes the rows that Follow sends: those of a table that meet a condition. An empty condition means all
// rows.
type Followed struct{ Database, Table, Where string }

// Follow passes the new rows of a table to take, in the form of /v1/tail, until ctx is done or the tail ends for
// another reason. It returns the reason. It counts as an open tail of the caller in ctx. started is called when the
// shards have accepted the condition: rows that are committed later are not missed. take is called by one goroutine
// at a time. The rows are valid until it returns. If it takes too long, the shard ends the tail.
func (h *Handler) Follow(ctx context.Context, f Followed, started func(), take func(*schema.Table, format.Rows) error,
) error {
	in := &input{database: f.Database, table: f.Table, where: f.Where}
	t, reqs, err := h.requests(ctx, in)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := newSession(h, nil, t, in, cancel)
	s.take = func(rows format.Rows) error { return take(t, rows) }
	if err := h.enter(ctx, s, access.From(ctx).Share()); err != nil {
		return err
	}
	defer h.leave(s)
	readers, err := h.follow(ctx, reqs)
	if err != nil {
		return err
	}
	h.recordRead(ctx, in, nil)
	started()
	s.ended = ctx.Done()
	var wg sync.WaitGroup
	for _, r := range readers {
		wg.Go(func() { s.cancel(s.copy(r, func() {})) })
	}
	wg.Go(func() { s.followTable(ctx, &wg, reqs) })
	<-ctx.Done()
	for _, r := range readers {
		r.Close()
	}
	wg.Wait()
	cause := context.Cause(ctx)
	h.metrics.ended.WithLabelValues(endReason(ctx, cause, errs.From(cause))).Inc()
	if errs.From(cause).Reason == errs.TableGone {
		return s.tableGone()
	}
	return cause
}

// pass passes rows to the function of Follow.
func (s *session) pass(rows format.Rows) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.ended:
		return 0, errGone
	default:
	}
	stall := time.AfterFunc(s.h.cfg.StallAfter, func() { s.cancel(errStalled) })
	defer stall.Stop()
	counted := &countedRows{Rows: rows}
	err := s.take(counted)
	return counted.n, err
}

// countedRows counts rows as they are read.
type countedRows struct {
	format.Rows
	n int64
}

// Next implements format.Rows.
func (c *countedRows) Next() bool {
	more := c.Rows.Next()
	if more {
		c.n += c.RecordBatch().NumRows()
	}
	return more
}
