package lokiapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/klauspost/compress/gzhttp"

	"cordwood/proto/errs"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/params"
	"cordwood/router/loki"
	"cordwood/router/loki/lines"
	"cordwood/router/loki/logql"
)

// The limits of tails. Entries wait in a queue for the next message. Sizes are in bytes of memory, and maxDelay is in
// seconds.
const (
	maxWaiting     = 10_000
	maxWaitingSize = 8 << 20
	// maxAllWaitingSize is the size from which on only tails with less than their share queue more entries.
	maxAllWaitingSize = 64 << 20
	// entrySize is about how much memory an entry takes in addition to its texts, mostly for its maps.
	entrySize      = 800
	maxMessageSize = 1 << 20
	maxDropped     = 1000
	maxDroppedSize = 1 << 20
	maxDelay       = 5
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
	apart  bool
	delay  time.Duration
	cancel context.CancelCauseFunc

	mu      sync.Mutex // guards the fields below
	waiting []arrived
	size    int
	dropped []*lines.Entry
	// droppedSize is the size of the dropped entries, in bytes.
	droppedSize int
}

// queues counts the queues of all tails of a Handler.
type queues struct{ open, size atomic.Int64 }

// full reports whether a queue of the given size takes no more entries.
func (q *queues) full(size int) bool {
	all := q.size.Load()
	return size >= maxWaitingSize || all >= maxAllWaitingSize && int64(size) >= all/max(1, q.open.Load())
}

// memory returns about how much memory an entry takes in a queue, in bytes.
func memory(e *lines.Entry) int { return entrySize + e.Size() }

// arrived is an entry that is queued for the next message.
type arrived struct {
	entry *lines.Entry
	at    time.Time
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
	s.apart = c.categorizes()
	ctx, cancel := context.WithCancelCause(s.r.Context())
	defer cancel(nil)
	s.cancel = cancel
	s.h.queues.open.Add(1)
	defer s.leave()
	var wg sync.WaitGroup
	defer wg.Wait()
	err = c.reader.Tail(ctx, s.h.cfg.Tail, req, func() error {
		if err := s.upgrade(); err != nil {
			return err
		}
		closed := s.conn.CloseRead(ctx)
		wg.Go(func() { s.send(ctx, closed) })
		return nil
	}, s.take)
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

// take queues entries for the next message. Entries beyond the limits are dropped.
func (s *socket) take(list []*lines.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for _, e := range list {
		if len(s.waiting) >= maxWaiting || s.h.queues.full(s.size) {
			s.drop(e)
			continue
		}
		s.waiting = append(s.waiting, arrived{e, now})
		s.resize(memory(e))
	}
	return nil
}

// resize adds to the size of the queue. mu must be held.
func (s *socket) resize(by int) {
	s.size += by
	s.h.queues.size.Add(int64(by))
}

// leave gives up the queue. Nothing may call take afterwards.
func (s *socket) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resize(-s.size)
	s.h.queues.open.Add(-1)
}

// drop remembers a dropped entry for the next message, without its line.
func (s *socket) drop(e *lines.Entry) {
	dropped := &lines.Entry{Nanos: e.Nanos, Labels: e.Labels}
	if len(s.dropped) < maxDropped && s.droppedSize < maxDroppedSize {
		s.dropped, s.droppedSize = append(s.dropped, dropped), s.droppedSize+memory(dropped)
	}
}

// nextBatch returns the entries for the next message, and the entries dropped since the last message. more is true if
// further entries are due.
func (s *socket) nextBatch() (list, dropped []*lines.Entry, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, size := 0, 0
	for n < len(s.waiting) && time.Since(s.waiting[n].at) >= s.delay {
		if size > maxMessageSize {
			more = true
			break
		}
		list = append(list, s.waiting[n].entry)
		size += memory(s.waiting[n].entry)
		n++
	}
	s.resize(-size)
	s.waiting = append([]arrived(nil), s.waiting[n:]...)
	dropped, s.dropped, s.droppedSize = s.dropped, nil, 0
	return list, dropped, more
}

// errSlow ends the tail of a client that does not read.
var errSlow = errs.New(errs.RateLimited, "the client is too slow: it has not read a message in time")

// errLeft ends the tail of a client that has disconnected.
var errLeft = errors.New("the client closed the websocket")

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
		var list, dropped []*lines.Entry
		if list, dropped, more = s.nextBatch(); len(list) == 0 && len(dropped) == 0 {
			return nil
		}
		text := s.message(list, dropped)
		err := s.timed(ctx, func(ctx context.Context) error { return s.conn.Write(ctx, websocket.MessageText, text) })
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

// message returns a message with entries.
func (s *socket) message(list, dropped []*lines.Entry) []byte {
	out := []byte(`{"streams":`)
	out = appendStreams(out, streams(list, s.apart), s.apart)
	if s.apart {
		out = append(out, `,"encodingFlags":["categorize-labels"]`...)
	}
	out = append(out, `,"dropped_entries":[`...)
	for i, e := range dropped {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, `{"labels":`...)
		out = appendLabels(out, e.Labels)
		out = append(out, `,"timestamp":"`...)
		out = append(strconv.AppendInt(out, e.Nanos, 10), '"', '}')
	}
	return append(out, ']', '}')
}

// close ends the websocket with the reason.
func (s *socket) close(err error) {
	e := errs.From(err)
	switch {
	case errors.Is(err, errLeft), errors.Is(err, context.Canceled):
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
