// Package body reads and decompresses the bodies of requests. The size of each body is limited, and a budget limits
// the memory of all bodies together.
//
// A Reader lives as long as the server and may be used by any number of goroutines. The caller may use the bytes that
// Read returns until it calls the release function. Then the bytes return to a pool, and nothing may read them.
//
// Databases share the memory, so that bodies for one do not use it up for others (tenants.go). The database of a body
// is in its context (turns.DatabaseOf).
//
// The limit counts decompressed bytes while they are produced, so reading stops early if a small body inflates to a
// very large one. Memory is reserved in the budget before it is filled: first the announced length, if that much is
// free, then more in steps. Memory that is reserved but not filled is given to waiting requests. While requests wait,
// bodies that arrive too slowly are refused (budget.go). Buffer sizes are powers of two, so the allocated memory is
// at most twice the budget, plus maxAhead for bodies that have announced their length. Pools keep at most a few
// megabytes of each size until the next garbage collections.
package body

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/turns"

	"github.com/prometheus/client_golang/prometheus"
)

// Pad is the number of zero bytes after the body that Read provides, so that scanners may read a few words beyond
// its end.
const Pad = 16

// Policy decides what happens to a request if the budget is exhausted.
type Policy uint8

const (
	// Wait makes the request wait for others to finish, for at most Config.MaxWait.
	Wait Policy = iota
	// Fail refuses the request at once.
	Fail
)

// Config has the limits. The zero Config has none.
type Config struct {
	// MaxBytes is the maximum size of one body after decompression; 0 means no limit.
	MaxBytes int64
	// MaxInFlight is the maximum size of all bodies that are not released yet; 0 means no limit.
	MaxInFlight int64
	// Policy decides what happens when MaxInFlight is reached.
	Policy Policy
	// MaxWait is the total time that a request waits under policy Wait; 0 means 10 seconds.
	MaxWait time.Duration
	// Patience is how long Receive and Bound wait for the first part of a body; 0 means 30 seconds.
	Patience time.Duration
	// Known reports whether there is a database of a name. By default there is none. The bodies of others are not told
	// apart, so that a client cannot get further parts of the memory by invented names.
	Known func(database string) bool
	// Registerer takes the metrics; nil keeps them unpublished.
	Registerer prometheus.Registerer
}

// Stopper is a body whose read another goroutine can end. A Reader refuses a slow body only if it is a Stopper.
type Stopper interface {
	// Stop makes the current read and later ones fail soon. It must not block, and is not called after Read has
	// returned.
	Stop()
}

// Reader reads bodies.
type Reader struct {
	cfg     Config
	budget  *budget
	ahead   ahead
	refused *prometheus.CounterVec
}

// New returns a Reader. It fails only if the metrics are registered already.
func New(cfg Config) (*Reader, error) {
	if cfg.MaxWait <= 0 {
		cfg.MaxWait = 10 * time.Second
	}
	if cfg.Patience <= 0 {
		cfg.Patience = defaultPatience
	}
	r := &Reader{cfg: cfg, budget: newBudget(cfg.MaxInFlight)}
	r.ahead.limit = maxAhead
	if r.budget.limited() {
		r.ahead.limit = min(maxAhead, r.budget.size/8)
	}
	r.refused = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "cordwood_http_bodies_refused_total",
		Help: "Request bodies refused, by reason: too_large, in_flight, slow, rows, encoding, corrupt, broken.",
	}, []string{"reason"})
	for _, reason := range []string{"too_large", "in_flight", "slow", "rows", "encoding", "corrupt", "broken"} {
		r.refused.WithLabelValues(reason)
	}
	if cfg.Registerer == nil {
		return r, nil
	}
	inFlight := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "cordwood_http_bodies_in_flight_bytes",
		Help: "Memory that is reserved for request bodies and for the rows made from them, in bytes.",
	}, func() float64 { return float64(r.budget.used.Load()) })
	for _, c := range []prometheus.Collector{r.refused, inFlight} {
		if err := cfg.Registerer.Register(c); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// InFlight returns the number of reserved bytes.
func (r *Reader) InFlight() int64 { return r.budget.used.Load() }

// MaxBytes returns the limit of a decompressed body; 0 means no limit.
func (r *Reader) MaxBytes() int64 { return r.cfg.MaxBytes }

// MaxInFlight returns the limit of all bodies together; 0 means no limit.
func (r *Reader) MaxInFlight() int64 { return r.cfg.MaxInFlight }

// Read reads and decompresses the whole body of req. At least Pad bytes of capacity
// follow the data, and the first Pad of them are zero.
//
// The caller must call the release function when it no longer needs the data. Further calls of it do nothing. After
// an error there is nothing to release.
//
// Errors are *errs.Error: status 413 for a body larger than the limit or the whole budget; 415 (Unsupported) for an
// unknown encoding; 429 (RateLimited) if the budget is exhausted, or if the body arrived too slowly while it was;
// 400 (InvalidArguments) for a corrupt or truncated body; Cancelled or DeadlineExceeded if the request's context
// ended.
func (r *Reader) Read(req *http.Request) (data []byte, release func(), err error) {
	b, err := r.Open(req)
	if err != nil {
		return nil, nil, err
	}
	return b.Data, b.Release, nil
}

// Open is like Read, but returns the body with its share of the budget. The caller may add memory for rows to the
// share.
func (r *Reader) Open(req *http.Request) (*Body, error) {
	encodings, err := parseEncodings(req.Header.Values("Content-Encoding"))
	if err != nil {
		r.refused.WithLabelValues("encoding").Inc()
		return nil, err
	}
	if req.Body == nil || req.Body == http.NoBody {
		b := r.newBody(req.Context())
		b.Data = make([]byte, 0, Pad)
		return b, nil
	}
	if len(encodings) == 0 && r.cfg.MaxBytes > 0 && req.ContentLength > r.cfg.MaxBytes {
		return nil, r.tooLarge()
	}
	ctx := req.Context()
	b := r.newBody(ctx)
	res := &b.res
	res.stop, _ = req.Body.(Stopper)
	buf, n, err := r.readAll(ctx, req, encodings, res)
	if err != nil {
		if buf != nil {
			buf.release()
		}
		res.release()
		if res.broken.Load() {
			err = errSlow // instead of the error of the read
		}
		if res.cut != nil && !errors.Is(res.cut, context.Canceled) && errors.Is(ctx.Err(), context.Canceled) &&
			!errors.Is(err, errSlow) {
			r.refused.WithLabelValues("broken").Inc()
			return nil, errs.Wrap(errs.InvalidArguments, res.cut,
				"reading the request body: the connection failed after %d bytes; nothing was stored", n)
		}
		return nil, r.explain(ctx, err)
	}
	res.end(int64(n))
	clear(buf.bytes[n : n+Pad])
	b.Data, b.buf = buf.bytes[:n], buf
	return b, nil
}

// newBody returns a body of the database in ctx (turns.DatabaseOf) without data and memory.
func (r *Reader) newBody(ctx context.Context) *Body {
	database := turns.DatabaseOf(ctx)
	if r.cfg.Known == nil || !r.cfg.Known(database) {
		database = ""
	}
	return &Body{reader: r, res: reservation{
		budget: r.budget, policy: r.cfg.Policy, maxWait: r.cfg.MaxWait, database: database,
	}}
}

// readAll returns a buffer with the decompressed body, and the body's length.
func (r *Reader) readAll(ctx context.Context, req *http.Request, encodings []encoding,
	res *reservation,
) (*buffer, int, error) {
	hint := max(req.ContentLength, 0)
	if r.cfg.MaxBytes > 0 {
		hint = min(hint, r.cfg.MaxBytes)
	}
	if err := res.begin(ctx, hint); err != nil {
		return nil, 0, err
	}
	src := &source{r: req.Body, left: -1, res: res}
	if len(encodings) == 0 {
		return r.fill(ctx, src, res, hint)
	}
	if r.cfg.MaxBytes > 0 {
		// Long compressed data may decompress to almost nothing, so its length is limited too.
		src.left = r.cfg.MaxBytes + r.cfg.MaxBytes/8 + 64<<10
	}
	dec, err := open(src, encodings)
	if err != nil {
		return nil, 0, err
	}
	defer dec.close()
	buf, n, err := r.fill(ctx, dec, res, hint)
	if err == nil {
		err = dec.finish()
	}
	return buf, n, err
}

// fill reads src to its end. It returns the buffer even if it returns an error.
func (r *Reader) fill(ctx context.Context, src io.Reader, res *reservation, hint int64) (*buffer, int, error) {
	// The declared length may be wrong, so most memory is allocated as bytes arrive.
	first := min(hint, maxFirstBuffer)
	if hint > first && r.ahead.take(hint) {
		first = hint
		defer r.ahead.giveBack(hint)
	}
	buf := newBuffer(int(first) + 1 + Pad)
	n, idle := 0, 0
	for {
		if len(buf.bytes)-Pad == n {
			buf = buf.grow(n)
		}
		end := len(buf.bytes) - Pad
		if int64(n) >= res.window {
			if err := res.advance(ctx, int64(n)); err != nil {
				return buf, n, err
			}
		}
		if r.budget.limited() {
			end = int(min(int64(end), res.window+1)) // one byte more, to see the end
		}
		if r.cfg.MaxBytes > 0 {
			end = int(min(int64(end), r.cfg.MaxBytes+1))
		}
		m, err := src.Read(buf.bytes[n:end])
		n += m
		res.filled.Store(int64(n))
		if r.cfg.MaxBytes > 0 && int64(n) > r.cfg.MaxBytes {
			return buf, n, errTooLarge
		}
		switch {
		case err == io.EOF:
			return buf, n, nil
		case err != nil:
			return buf, n, err
		case m > 0:
			idle = 0
		default:
			if idle++; idle == 100 {
				return buf, n, io.ErrNoProgress
			}
		}
	}
}

var errTooLarge = errors.New("too large")

func (r *Reader) tooLarge() *errs.Error {
	r.refused.WithLabelValues("too_large").Inc()
	return errs.New(errs.InvalidArguments,
		"reading the request body: more than %d bytes after decompression: send smaller batches or raise --http-body-limit",
		r.cfg.MaxBytes).WithStatus(http.StatusRequestEntityTooLarge)
}

// explain converts a read error into an error for the client.
func (r *Reader) explain(ctx context.Context, err error) error {
	var tooLarge *http.MaxBytesError
	var transport *transportError
	switch {
	case errors.Is(err, errBudget):
		r.refused.WithLabelValues("in_flight").Inc()
		return errs.New(errs.RateLimited,
			"reading the request body: %d bytes of requests are in flight already: try again later",
			r.cfg.MaxInFlight).WithRetryAfter(time.Second)
	case errors.Is(err, errSlow):
		r.refused.WithLabelValues("slow").Inc()
		return errs.New(errs.RateLimited, "reading the request body: it arrived too slowly while all memory for bodies, "+
			"%d bytes, was in use: send it again later, or in smaller batches",
			r.cfg.MaxInFlight).WithRetryAfter(time.Second)
	case errors.Is(err, errNeverFits):
		r.refused.WithLabelValues("too_large").Inc()
		return errs.New(errs.InvalidArguments, "reading the request body: it is larger than the memory for all bodies, "+
			"%d bytes: send smaller batches or raise --http-inflight-limit",
			r.cfg.MaxInFlight).WithStatus(http.StatusRequestEntityTooLarge)
	case ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return errs.Wrap(errs.DeadlineExceeded, ctx.Err(), "reading the request body")
	case ctx.Err() != nil:
		return errs.Wrap(errs.Cancelled, ctx.Err(), "reading the request body")
	case errors.Is(err, errTooLarge) || errors.As(err, &tooLarge):
		return r.tooLarge()
	case errors.As(err, &transport):
		return errs.Wrap(errs.InvalidArguments, transport.err, "reading the request body")
	default:
		r.refused.WithLabelValues("corrupt").Inc()
		return errs.Wrap(errs.InvalidArguments, err, "decompressing the request body as its Content-Encoding says: "+
			"it is corrupt, truncated, or not compressed in this way")
	}
}
