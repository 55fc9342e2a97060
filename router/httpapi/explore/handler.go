// Package explore has the handlers of /v1/explore, which serve the page for logs. They read a request, call the
// packages below router/explore, and write the answer.
//
// A Handler has no goroutines of its own and nothing to close. It may be used concurrently.
package explore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/turns"
	"cordwood/router/access"
	"cordwood/router/explore/budget"
	"cordwood/router/explore/fields"
	"cordwood/router/explore/scope"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/query"
)

// maxBody limits the size of a request, in bytes.
const maxBody = 64 << 10

// Config has the settings of a Handler.
type Config struct {
	// Source finds tables and runs SQL. Required.
	Source scope.Source
	// Gate limits the requests at a time, until their answers are sent. The default value is newGate's.
	Gate *turns.Gate
	// Timeout limits the time of requests without the header x-svc-timeout. The default value is 30 s.
	Timeout time.Duration
	// Now is the clock. The default value is time.Now.
	Now func() time.Time
}

// Handler answers /v1/explore. See the package comment.
type Handler struct {
	cfg    Config
	fields *fields.Service
}

// New returns a Handler. Source must be set.
func New(cfg Config) (*Handler, error) {
	if cfg.Source == nil {
		return nil, errors.New("explore: Config.Source must be set")
	}
	cfg.Timeout = cmp.Or(cfg.Timeout, 30*time.Second)
	cfg.Gate = cmp.Or(cfg.Gate, newGate())
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	extents := budget.NewExtents(budget.Ask(cfg.Source), cfg.Now)
	cfg.Source = cachedExtents{cfg.Source, extents}
	return &Handler{cfg: cfg, fields: fields.New(cfg.Now)}, nil
}

// newGate returns a limit for the requests of all clients and of each. An answer may have 16 MiB. Without the limit,
// clients that do not read theirs would fill the memory, because queries are only limited while they run.
func newGate() *turns.Gate {
	const atATime, waiting, maxWait = 32, 128, 10 * time.Second
	return turns.New(turns.Config{Running: atATime, Waiting: waiting, MaxWait: maxWait})
}

// enter waits until a request may begin.
func (h *Handler) enter(ctx context.Context) (leave func(), err error) {
	leave, err = h.cfg.Gate.Enter(ctx, access.From(ctx).Share())
	if errs.CodeOf(err) == errs.ShardBusy {
		err = errs.New(errs.RateLimited, "too many requests to explore are in progress, or their answers are not read: try "+
			"again later, or send fewer at the same time").WithRetryAfter(time.Second)
	}
	return leave, err
}

// cachedExtents is a source that caches the extents of tables for a short time.
type cachedExtents struct {
	scope.Source
	extents *budget.Extents
}

// Extents implements scope.Source.
func (r cachedExtents) Extents(ctx context.Context, tables []*schema.Table) (map[uint64]*query.Extent, error) {
	return r.extents.Of(ctx, tables)
}

// call is one request in progress.
type call struct {
	h       *Handler
	r       *http.Request
	start   time.Time
	now     time.Time
	timeout time.Duration
}

// answering returns a handler for requests of type T. do returns the answer, which is written as JSON.
func answering[T any](h *Handler, do func(ctx context.Context, c *call, req *T) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := exchange.Of(r)
		c := &call{h: h, r: r, start: x.Start, now: h.cfg.Now()}
		ctx := r.Context()
		if deadline, ok := ctx.Deadline(); ok {
			c.timeout = time.Until(deadline)
		} else {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, h.cfg.Timeout)
			defer cancel()
		}
		leave := func() {}
		defer func() { leave() }() // when the answer is sent
		out, err := func() ([]byte, error) {
			req := new(T)
			if err := decode(w, r, req); err != nil {
				return nil, err
			}
			left, err := h.enter(ctx)
			if err != nil {
				return nil, err
			}
			leave = left
			v, err := do(ctx, c, req)
			if err != nil {
				return nil, err
			}
			return json.Marshal(v)
		}()
		if err != nil {
			exchange.WriteError(w, r, err)
			return
		}
		exchange.WriteJSON(w, http.StatusOK, out)
	}
}

// decode decodes the body of a request, which must be a JSON object.
func decode(w http.ResponseWriter, r *http.Request, to any) error {
	if kind := r.Header.Get("Content-Type"); kind != "" {
		if media, _, err := mime.ParseMediaType(kind); err != nil || media != "application/json" {
			return errs.New(errs.InvalidArguments, "invalid content type: %.80s, expected application/json", kind)
		}
	}
	body, err := exchange.ReadBody(w, r, maxBody, "request")
	if err != nil {
		return err
	}
	return exchange.DecodeJSON(body, to)
}

// scope resolves the scope of a request.
func (c *call) scope(ctx context.Context, req scope.Request) (*scope.Scope, error) {
	req.DB = cmp.Or(req.DB, access.From(ctx).DefaultDatabase())
	if _, err := budget.Time(req.BudgetMillis); err != nil {
		return nil, err
	}
	return scope.Resolve(ctx, c.h.cfg.Source, req, c.now, c.timeout)
}

// countingScope resolves the scope of a request that counts rows. It also returns how long an exact count may take
// before a sample is used.
func (c *call) countingScope(ctx context.Context, req scope.Request) (*scope.Scope, time.Duration, error) {
	s, err := c.scope(ctx, req)
	if err != nil {
		return nil, 0, err
	}
	limit, err := budget.Time(req.BudgetMillis)
	return s, limit, err
}
