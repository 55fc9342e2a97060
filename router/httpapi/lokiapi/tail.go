package lokiapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/klauspost/compress/gzhttp"

	"cordwood/proto/errs"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/params"
	"cordwood/router/loki"
	"cordwood/router/loki/logql"
)

// The limits of tails. maxDelay is in seconds.
const (
	maxDelay = 5
	// maxInstructions is the maximum size of the compiled regular expressions of a tail. It keeps them as long as it is
	// open.
	maxInstructions = 20_000
)

// tailTimes are the times of tails: between messages, for the client to take a message, and between pings.
type tailTimes struct{ messageEvery, messageTime, pingEvery time.Duration }

func usualTimes() tailTimes {
	return tailTimes{messageEvery: 100 * time.Millisecond, messageTime: 10 * time.Second, pingEvery: 30 * time.Second}
}

// Tail answers tail, over a websocket.
func (h *Handler) Tail(w http.ResponseWriter, r *http.Request) {
	s := &socket{h: h, w: w, r: r}
	if err := s.serve(); err != nil && s.conn == nil {
		exchange.WriteError(w, r, err)
	}
}

// socket is a client that follows entries.
type socket struct {
	h      *Handler
	w      http.ResponseWriter
	r      *http.Request
	conn   *websocket.Conn // nil before the upgrade
	queue  *queue
	delay  time.Duration
	cancel context.CancelCauseFunc
}

// serve upgrades the connection and sends entries. It returns an error that the caller has to send if the upgrade
// failed.
func (s *socket) serve() error {
	values, err := params.Parse(s.r.URL.RawQuery)
	if err != nil {
		return err
	}
	c := &call{h: s.h, r: s.r, params: values, now: s.h.cfg.Now()}
	database := cmp.Or(params.Header(s.r.Header, "X-Svc-Db-Name"), values.Get("db"),
		exchange.Of(s.r).Caller.DefaultDatabase())
	c.reader = s.h.service.Reader(database, 0)
	req, err := s.request(c)
	if err != nil {
		return err
	}
	if s.r.Header.Get("Sec-WebSocket-Key") == "" {
		return errs.New(errs.InvalidArguments, "tail needs a websocket: send the headers Connection: Upgrade, Upgrade: "+
			"websocket, Sec-WebSocket-Version and Sec-WebSocket-Key")
	}
	ctx, cancel := context.WithCancelCause(s.r.Context())
	defer cancel(nil)
	s.cancel = cancel
	s.queue = s.h.queues.join(c.categorizes(), cancel)
	defer s.queue.leave()
	var wg sync.WaitGroup
	defer wg.Wait()
	err = c.reader.Tail(ctx, s.h.cfg.Tail, req, func() error {
		if err := s.upgrade(); err != nil {
			return err
		}
		closed := s.conn.CloseRead(ctx)
		wg.Go(func() { s.send(ctx, closed) })
		return nil
	}, s.queue.put)
	cancel(err)
	if s.conn != nil {
		s.close(err)
	}
	return err
}

// request reads the parameters of the tail.
func (s *socket) request(c *call) (*loki.Tail, error) {
	q, err := c.query()
	if err != nil {
		return nil, err
	}
	log, ok := q.(*logql.Log)
	if !ok {
		return nil, errs.New(errs.InvalidArguments,
			"only a log query can be tailed, such as {app=\"web\"}, not a metric")
	}
	if err := log.RequireMatcher(); err != nil {
		return nil, err
	}
	if log.Instructions > maxInstructions {
		return nil, errs.New(errs.InvalidArguments, "the regular expressions of the query are too large for a tail: use "+
			"smaller numbers of repetitions, or fewer expressions")
	}
	req := &loki.Tail{Query: log}
	if req.Limit, err = c.limit("limit", 100, loki.MaxEntries); err != nil {
		return nil, err
	}
	if req.Start, ok, err = c.moment("start"); err != nil {
		return nil, err
	} else if !ok {
		req.Start = c.now.Add(-lookback).UnixNano()
	}
	if text := c.params.Get("delay_for"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > maxDelay {
			return nil, errs.New(errs.InvalidArguments, "delay_for is %q: it must be a number of seconds from 0 to %d",
				clip(text),
				maxDelay)
		}
		s.delay = time.Duration(n) * time.Second
	}
	return req, nil
}

// upgrade switches the connection to the WebSocket protocol.
func (s *socket) upgrade() error {
	if s.conn != nil {
		return nil
	}
	s.w.Header().Set(gzhttp.HeaderNoCompression, "1")
	// The server has checked the origin of the request already, as for all requests of browsers.
	conn, err := websocket.Accept(s.w, s.r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return errs.New(errs.InvalidArguments, "the connection cannot become a websocket: %v", err)
	}
	s.conn = conn
	return nil
}

// errSlow ends the tail of a client that does not read.
var errSlow = errs.New(errs.RateLimited, "the client is too slow: it has not read a message in time")

// errLeft ends the tail of a client that has disconnected.
var errLeft = fmt.Errorf("the client closed the websocket: %w", context.Canceled)

// send sends messages until the tail ends.
func (s *socket) send(ctx, closed context.Context) {
	tick, ping := time.NewTicker(s.h.times.messageEvery), time.NewTicker(s.h.times.pingEvery)
	defer tick.Stop()
	defer ping.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-closed.Done():
			s.cancel(errLeft)
			return
		case <-ping.C:
			if s.timed(ctx, func(ctx context.Context) error { return s.conn.Ping(ctx) }) != nil {
				return
			}
		case <-tick.C:
			if s.sendWaiting(ctx) != nil {
				return
			}
		}
	}
}

// sendWaiting sends the entries that are due, in one or several messages.
func (s *socket) sendWaiting(ctx context.Context) error {
	for more := true; more; {
		var text []byte
		if text, more = s.queue.next(s.delay); text == nil {
			return nil
		}
		err := s.timed(ctx, func(ctx context.Context) error { return s.conn.Write(ctx, websocket.MessageText, text) })
		s.queue.sent()
		if err != nil {
			return err
		}
	}
	return nil
}

// timed calls do with a time limit, and ends the tail if do fails or takes too long.
func (s *socket) timed(ctx context.Context, do func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, s.h.times.messageTime)
	defer cancel()
	err := do(limited)
	switch {
	case err == nil:
	case limited.Err() != nil && ctx.Err() == nil:
		s.cancel(errSlow)
	default:
		s.cancel(errLeft)
	}
	return err
}

// close ends the websocket with the reason.
func (s *socket) close(err error) {
	e := errs.From(err)
	switch {
	case errors.Is(err, context.Canceled):
		_ = s.conn.CloseNow() // the connection is unusable anyway
	case e.Code == errs.RateLimited:
		_ = s.conn.Close(websocket.StatusTryAgainLater, reason(e.ClientMessage()))
	case e.Status() == http.StatusUnauthorized, e.Status() == http.StatusForbidden:
		_ = s.conn.Close(websocket.StatusPolicyViolation, reason(e.ClientMessage()))
	default:
		_ = s.conn.Close(websocket.StatusInternalError, reason(e.ClientMessage()))
	}
}

// reason shortens a text to the size of a close frame.
func reason(text string) string {
	const most = 110
	if len(text) > most {
		text = text[:most]
	}
	return exchange.HeaderText(text)
}
