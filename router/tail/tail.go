// Package tail is the handler of /v1/tail. It sends the rows of a table that meet a condition to a client as soon
// as they are committed, while the client listens.
//
// The package does not test rows. The shards of the table run the condition in the query engine and send the rows
// that meet it. The package writes them as NDJSON or server-sent events. It needs very little memory. If a client
// does not read, the bounded queue of the shard overflows, or a write to the client takes too long. In both cases the
// tail ends with a final event of code 6001, and no write to the table waits. DESIGN.md of package router has the
// reasons.
//
// A Handler has no goroutines beyond its requests. Close ends all open tails, and later ones end at once.
package tail

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/router/access"
	"cordwood/router/audit"
	"cordwood/router/query/statement"
)

// Meta is the part of the metadata client that a Handler needs.
type Meta interface {
	Databases() []*schemapb.Database
	Database(name string) (*schemapb.Database, bool)
	Tables(database string) []*schema.Table
	Table(database, name string) (*schema.Table, bool)
	TableByID(id uint64) (*schema.Table, bool)
	// Changed returns a channel that is closed when one of them changes.
	Changed() <-chan struct{}
}

// Reader reads the answers of a shard, one Arrow IPC stream after another. *shardclient.TailReader implements it.
type Reader interface {
	Read(p []byte) (int, error)
	// Next waits for the next answer.
	Next() error
	// Err returns the reason why the tail ended.
	Err() error
	Close()
}

// Config has the settings and limits of a Handler.
type Config struct {
	Meta Meta
	// Follow sends a request to a shard. If the condition is invalid, it returns an error.
	Follow func(ctx context.Context, req *shardpb.TailRequest) (Reader, error)
	// Analyze reports which tables a SELECT reads.
	Analyze func(ctx context.Context, req *shardpb.AnalyzeRequest) (*shardpb.AnalyzeResponse, error)
	// WriteError answers a request with an error.
	WriteError func(w http.ResponseWriter, r *http.Request, err error)

	// Changes makes the records of tails in databases with the option audit.reads. By default nothing is recorded.
	Changes *audit.Log

	// MaxOpen limits the number of open tails. The default value is 64.
	MaxOpen int
	// MaxOpenPerUser limits the number of open tails of one user or, without authentication, of one client's address.
	// The default value is half of MaxOpen.
	MaxOpenPerUser int
	// Quotas limits the tails of a database in the cluster. By default nothing does.
	Quotas Quotas
	// Heartbeat is how often a client gets an empty line or a comment if there are no rows, so that both sides notice
	// a broken connection. The default value is 10 s.
	Heartbeat time.Duration
	// StallAfter is how long one write may take before the tail ends. The default value is 10 s.
	StallAfter time.Duration
	// LingerAfter is how much longer the write may take before the connection is closed. Within this time the client
	// can still read the final event. The default value is 2 min.
	LingerAfter time.Duration
	// Now is the clock. The default value is time.Now.
	Now func() time.Time

	// Logger logs messages for the operator. By default nothing is logged.
	Logger *slog.Logger
	// Registerer registers the metrics. By default they are not registered.
	Registerer prometheus.Registerer
}

// Quotas are the limits of databases. *quota.Keeper implements it.
type Quotas interface {
	// TailLimit returns the number of tails of a database that may be open here at a time; ok is false if there is no
	// limit. OverTails returns the error for more.
	TailLimit(database string) (n int, ok bool)
	OverTails(database string) error
}

func (c Config) withDefaults() (Config, error) {
	if c.Meta == nil || c.Follow == nil || c.Analyze == nil || c.WriteError == nil {
		return c, errors.New("tail: Config.Meta, Follow, Analyze and WriteError must be set")
	}
	c.MaxOpen = cmp.Or(c.MaxOpen, 64)
	c.MaxOpenPerUser = cmp.Or(c.MaxOpenPerUser, max(1, c.MaxOpen/2))
	c.Heartbeat = cmp.Or(c.Heartbeat, 10*time.Second)
	c.StallAfter = cmp.Or(c.StallAfter, 10*time.Second)
	c.LingerAfter = cmp.Or(c.LingerAfter, 2*time.Minute)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// Handler answers /v1/tail. See the package comment.
type Handler struct {
	cfg     Config
	metrics *metrics

	mu        sync.Mutex          // guards the rest
	open      map[*session]string // the key of the user's share, by session
	shares    map[string]int      // how many sessions each share has
	databases map[string]*tenant  // databases with open or waiting tails
	closed    bool
}

// New returns a Handler. Meta, Follow, Analyze and WriteError must be set.
func New(cfg Config) (*Handler, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	h := &Handler{cfg: cfg, open: map[*session]string{}, shares: map[string]int{}, databases: map[string]*tenant{}}
	h.metrics, err = newMetrics(cfg.Registerer, h)
	return h, err
}

// Close ends the tails that are open, with a final event, and refuses others. It does
// not wait for their requests to end.
func (h *Handler) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for s := range h.open {
		s.cancel(errStopping)
	}
}

// errStopping ends the tails when the server stops.
var errStopping = errs.New(errs.ShardNotReady, "the server is stopping; follow again in a moment").
	WithRetryAfter(time.Second)

// ServeHTTP implements http.Handler. The sender must be allowed to read.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := h.serve(w, r); err != nil {
		h.cfg.WriteError(w, r, err)
	}
}

// serve answers a request, or returns the error for the answer.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request) error {
	in, err := h.read(r)
	if err != nil {
		return err
	}
	t, reqs, err := h.requests(r.Context(), in)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	if in.timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, in.timeout)
		defer stop()
	}
	s := newSession(h, w, t, in, cancel)
	if err := h.enter(ctx, s, access.From(r.Context()).Share()); err != nil {
		return err
	}
	defer h.leave(s)
	readers, err := h.follow(ctx, reqs)
	if err != nil {
		if errors.Is(context.Cause(ctx), errStopping) {
			return errStopping
		}
		return err
	}
	h.recordRead(r.Context(), in, nil)
	s.run(ctx, readers, reqs)
	return nil
}

// follow starts to follow on every shard. It returns when each shard has accepted or refused the condition.
func (h *Handler) follow(ctx context.Context, reqs []*shardpb.TailRequest) ([]Reader, error) {
	readers := make([]Reader, len(reqs))
	failed := make([]error, len(reqs))
	var wg sync.WaitGroup
	for i, req := range reqs {
		wg.Go(func() { readers[i], failed[i] = h.cfg.Follow(ctx, req) })
	}
	wg.Wait()
	for _, err := range failed {
		if err == nil {
			continue
		}
		for i, r := range readers {
			if failed[i] == nil {
				r.Close()
			}
		}
		return nil, statement.InCondition(err, len(selectHead(reqs[0].Name.Database, reqs[0].Name.Name)))
	}
	return readers, nil
}
