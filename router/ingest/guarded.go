package ingest

import (
	"context"
	"fmt"
	"runtime/debug"

	"cordwood/proto/errs"
)

// This file keeps a panic while a batch is stored from ending the process.

// guarded is charged, but a panic fails the batch only. Many batches are not stored by the goroutine of an HTTP
// request, and in another one it would end the process.
func (s *Service) guarded(ctx context.Context, q *Request, b *Batch, m Memory, out *Outcome) {
	defer func() {
		if p := recover(); p != nil {
			s.log.ErrorContext(ctx, "panic while storing a batch", "table", b.Table, "panic", fmt.Sprint(p), "stack",
				string(debug.Stack()))
			*out = Outcome{Err: s.Failed(q.Protocol, StagePipeline, errs.New(errs.Internal,
				"panic while storing rows of table %s: %v", b.Table, p))}
		}
	}()
	s.charged(ctx, q, b, m, out)
}
