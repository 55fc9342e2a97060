// Package tail is the handler of /v1/tail: it sends the rows of one table that fit a condition to
// a client as they are committed, for as long as the client listens.
//
// It does not look at rows: the shards of the table run the condition, by the engine of
// queries, and send what fits; here it becomes NDJSON or server-sent events. It keeps
// next to nothing in memory. A client that does not read makes the shard's bounded queue
// overflow, or one write take too long; either way it loses its place with a final event
// of code 6001, and no write ever waits for it. DESIGN.md of package router has the reasons.
//
// A Handler has no goroutines beyond its requests. Close ends open tails, and every later one at
// once.
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
	"cordwood/proto/words"
	"cordwood/router/access"
	"cordwood/router/query/statement"
)

// Meta is the part of the metadata client that a Handler needs.
type Meta interface {
	Database(name string) (*schemapb.Database, bool)
	Table(database, name string) (*schema.Table, bool)
	TableByID(id uint64) (*schema.Table, bool)
	// Changed is closed at the next change of any of them.
	Changed() <-chan struct{}
}

// Reader reads the answers of a shard, one Arrow IPC stream after another;
// *shardclient.TailReader is one.
type Reader interface {
	Read(p []byte) (int, error)
	// Next waits for the next answer.
	Next() error
	// Err is why the tail ended.
	Err() error
	Close()
}

// Config says what a Handler works with, and its limits.
type Config struct {
	Meta Meta
	// Follow asks a shard. What is wrong with the condition is its error.
	Follow func(ctx context.Context, req *shardpb.TailRequest) (Reader, error)
	// Analyze reports which tables a SELECT reads.
	Analyze func(ctx context.Context, req *shardpb.AnalyzeRequest) (*shardpb.AnalyzeResponse, error)
	// WriteError answers a request with an error.
	WriteError func(w http.ResponseWriter, r *http.Request, err error)

	// MaxOpen bounds the tails that are open at a time. The default value is 64.
	MaxOpen int
	// MaxOpenPerUser bounds the tails of one user, or, without authentication, of one client's
	// address. The default value is half of MaxOpen.
	MaxOpenPerUser int
	// Heartbeat is how often a client without rows gets an empty line, or a comment, so that each side
	// knows that the other is there. The default value is 10 s.
	Heartbeat time.Duration
	// StallAfter is how long one write may take before the client loses its place. The
	// default value is 10 s.
	StallAfter time.Duration
	// LingerAfter is how much longer it may take before the connection is cut, if the client does not
	// take the final event. The default value is 2 min.
	LingerAfter time.Duration
	// Now is the clock. The default value is time.Now.
	Now func() time.Time

	// Logger takes what an operator should know. The default value discards it.
	Logger *slog.Logger
	// Registerer takes the metrics. The default value is none.
	Registerer prometheus.Registerer
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

	mu     sync.Mutex
	open   map[*session]string // to whose share each one counts
	shares map[string]int      // how many each has
	closed bool
}

// New returns a Handler. Meta, Follow, Analyze and WriteError must be set.
func New(cfg Config) (*Handler, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	h := &Handler{cfg: cfg, open: map[*session]string{}, shares: map[string]int{}}
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

// errStopping ends the tails of a server that stops.
var errStopping = errs.New(errs.ShardNotReady, "the server is stopping; follow again in a moment").
	WithRetryAfter(time.Second)

// enter counts a session among the open ones, and to a user's share of them.
func (h *Handler) enter(s *session, share string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return errStopping
	case len(h.open) >= h.cfg.MaxOpen:
		return errs.New(errs.RateLimited, "%s open, which is the most that --max-tails allows; end one, "+
			"or try again later",
			words.Say(len(h.open), "tail is", "tails are")).WithRetryAfter(5 * time.Second)
	case h.shares[share] >= h.cfg.MaxOpenPerUser:
		return errs.New(errs.RateLimited, "%s open, which is the most that are allowed for one "+
			"(--max-tails-per-user); end one, or try again later",
			words.Say(h.shares[share], "tail of this user is", "tails of this user are")).WithRetryAfter(5 * time.Second)
	}
	h.open[s] = share
	h.shares[share]++
	return nil
}

func (h *Handler) leave(s *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	share := h.open[s]
	delete(h.open, s)
	if h.shares[share]--; h.shares[share] <= 0 {
		delete(h.shares, share)
	}
}

// Open returns how many tails are open.
func (h *Handler) Open() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.open)
}

// ServeHTTP implements http.Handler. The sender must be allowed to read.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := h.serve(w, r); err != nil {
		h.cfg.WriteError(w, r, err)
	}
}

// serve answers, or returns the error to answer with.
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
	if err := h.enter(s, access.From(r.Context()).Share()); err != nil {
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
	s.run(ctx, readers, reqs)
	return nil
}

// follow begins to follow on every shard. It returns once each has looked at the condition.
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
