package tail

import (
	"bytes"
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/klauspost/compress/gzhttp"
	"google.golang.org/protobuf/proto"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/router/access"
	"cordwood/router/explore/rows"
	"cordwood/router/query/format"
	"cordwood/router/vrl/value"
)

// session is one client that follows a table.
type session struct {
	h       *Handler
	w       http.ResponseWriter
	rc      *http.ResponseController
	tableID uint64
	origin  uint64       // the table's first id, which it was created with
	table   atomic.Value // the table's name, for messages; a string
	events  bool
	waits   bool          // for the quota of its database; guarded by the mutex of h
	def     *schema.Table // the definition of the table when the tail began
	in      *input
	cancel  context.CancelCauseFunc
	// take receives the rows instead of a client over HTTP. It is nil if there is an HTTP client.
	take  func(format.Rows) error
	ended <-chan struct{} // closed when the tail is over; no row is sent afterwards

	// mu is held while a shard's reader or the heartbeat writes. It guards the fields below.
	mu    sync.Mutex
	wrote time.Time
	buf   []byte
	gone  bool // the connection is closed
	brief bool // the next write must be short
}

func newSession(h *Handler, w http.ResponseWriter, t *schema.Table, in *input,
	cancel context.CancelCauseFunc,
) *session {
	s := &session{
		h: h, w: w, rc: http.NewResponseController(w), tableID: t.ID, origin: t.Origin(), events: in.events,
		cancel: cancel, def: t, in: in,
	}
	s.table.Store(schema.FormatTableName(t.Database, t.Name))
	return s
}

var (
	errStalled = errs.New(errs.RateLimited,
		"the reader is too slow: a write to it took too long; some rows were not sent")
	errGone = errors.New("tail: the client went away")
)

// run sends rows until the client, the server or a shard ends the tail, or its time is up. If the client is still
// connected, the last event contains the reason.
func (s *session) run(ctx context.Context, readers []Reader, first []*shardpb.TailRequest) {
	s.ended = ctx.Done()
	s.begin()
	var wg sync.WaitGroup
	var stored sync.WaitGroup
	stored.Add(len(readers))
	for _, r := range readers {
		wg.Go(func() {
			var once sync.Once
			seam := func() { once.Do(stored.Done) }
			defer seam()
			s.cancel(s.copy(r, seam))
		})
		defer r.Close()
	}
	wg.Go(func() { s.followTable(ctx, &wg, first) })
	wg.Go(func() {
		stored.Wait()
		s.beat(ctx)
	})
	<-ctx.Done()
	for _, r := range readers {
		r.Close()
	}
	wg.Wait()
	s.end(ctx)
}

// followMore follows another shard. It returns the reason why the following ended.
func (s *session) followMore(ctx context.Context, req *shardpb.TailRequest) error {
	r, err := s.h.cfg.Follow(ctx, req)
	if err != nil {
		return err
	}
	defer r.Close()
	return s.copy(r, func() {})
}

// followTable watches the metadata. If the table is renamed, the tail continues if its user may read the new name,
// which the last message then uses. If other shards start to take rows of the table, it follows them too; all rows in
// them are new. first are the requests with which the tail began.
func (s *session) followTable(ctx context.Context, wg *sync.WaitGroup, first []*shardpb.TailRequest) {
	followed := map[uint32]bool{}
	for _, req := range first {
		followed[req.ShardId] = true
	}
	for {
		changed := s.h.cfg.Meta.Changed()
		if t, ok := s.h.cfg.Meta.TableByID(s.tableID); ok {
			if name := schema.FormatTableName(t.Database, t.Name); name != s.table.Load() {
				if access.From(ctx).Require(tails(t.Database, t.Name)) != nil {
					// Its error contains the new name, which the user may not see.
					s.cancel(errs.New(errs.AccessDenied, "table %s was renamed, and its new name needs a right to read it",
						s.table.Load()))
					return
				}
				s.table.Store(name)
			}
			for _, shard := range t.Shards() {
				if followed[shard] {
					continue
				}
				followed[shard] = true
				all := int64(math.MinInt64)
				req := proto.Clone(first[0]).(*shardpb.TailRequest)
				req.ShardId, req.Table, req.Since = shard, t.ToProto(), &all
				wg.Go(func() { s.cancel(s.followMore(ctx, req)) })
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// begin sends the headers.
func (s *session) begin() {
	h := s.w.Header()
	if s.events {
		h.Set("Content-Type", "text/event-stream")
	} else {
		h.Set("Content-Type", "application/x-ndjson")
	}
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // asks proxies not to buffer the answer
	h.Set(gzhttp.HeaderNoCompression, "1")
	s.w.WriteHeader(http.StatusOK)
	_ = s.rc.Flush()
}

// copy sends the answers of one shard. The first answers are stored rows, and seam is called after them. It returns
// the reason why the answers ended.
func (s *session) copy(r Reader, seam func()) error {
	for {
		n, err := s.answer(r)
		s.h.metrics.rows.Add(float64(n))
		if err != nil {
			return err
		}
		seam()
		if err := r.Next(); err != nil {
			return err
		}
	}
}

// answer sends the rows of one answer.
func (s *session) answer(r Reader) (int64, error) {
	list, err := ipc.NewReader(r)
	if err == nil {
		defer list.Release()
		var n int64
		if n, err = s.write(list); err == nil {
			return n, nil
		}
	}
	if r.Err() != nil {
		return 0, r.Err() // the error of the IPC reader has less information
	}
	if errors.Is(err, errGone) {
		return 0, err
	}
	return 0, errs.Wrap(errs.Internal, err, "read the rows of a tail")
}

// write sends rows in the shape that the client asked for.
func (s *session) write(all format.Rows) (n int64, err error) {
	switch {
	case s.take != nil:
		return s.pass(all)
	case s.in.rows:
		return rows.WriteLines(rowWriter{s}, all, s.def, s.in.most)
	case s.in.safe:
		return format.WriteSafe(rowWriter{s}, format.NDJSON, all)
	}
	return format.Write(rowWriter{s}, format.NDJSON, all)
}

// rowWriter writes lines of JSON, plain or as events. Every write contains whole lines.
type rowWriter struct{ s *session }

func (w rowWriter) Write(p []byte) (int, error) {
	s := w.s
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.ended:
		return 0, errGone // a user who lost the right must not get later rows
	default:
	}
	if !s.events {
		return len(p), s.send(p)
	}
	s.buf = s.buf[:0]
	for line := range bytes.Lines(p) {
		s.buf = append(append(append(s.buf, "data: "...), line...), '\n')
	}
	return len(p), s.send(s.buf)
}

// send writes bytes and flushes them. If a client's write takes too long, the tail ends, and the client gets the
// error when it reads again. mu must be held.
func (s *session) send(p []byte) error {
	if s.gone {
		return errGone
	}
	stall := time.AfterFunc(s.h.cfg.StallAfter, func() { s.cancel(errStalled) })
	defer stall.Stop()
	// Some connections have no deadlines, and nothing can replace them.
	patience := s.h.cfg.StallAfter + s.h.cfg.LingerAfter
	if s.brief {
		patience = lastWait
	}
	_ = s.rc.SetWriteDeadline(time.Now().Add(patience))
	_, err := s.w.Write(p)
	if err == nil {
		err = s.rc.Flush()
	}
	if err != nil {
		s.gone = true
		s.cancel(errGone)
		return errGone
	}
	s.wrote = time.Now()
	return nil
}

// beat sends an empty line or a comment: once after the stored rows, and later whenever nothing was sent for a
// while.
func (s *session) beat(ctx context.Context) {
	every := s.h.cfg.Heartbeat
	tick := time.NewTicker(max(every/4, time.Millisecond))
	defer tick.Stop()
	for first := true; ctx.Err() == nil; first = false {
		s.mu.Lock()
		if first || time.Since(s.wrote) >= every {
			s.comment()
		}
		s.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

func (s *session) comment() {
	line := "\n"
	if s.events {
		line = ":\n\n"
	}
	_ = s.send([]byte(line)) // send ends the session if the write fails
}

// timeUp reports whether the tail's own time limit has passed. The shard uses the same limit and may report the end
// before this process's clock does.
func timeUp(ctx context.Context) bool {
	const early = 100 * time.Millisecond
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) < early
}

// learnMove is how long an ending tail waits until the local view of the metadata shows what happened to its table,
// because the shard may learn of it earlier.
const learnMove = time.Second

// tableGone returns the error for a table whose id a shard no longer knows.
func (s *session) tableGone() *errs.Error {
	timer := time.NewTimer(learnMove)
	defer timer.Stop()
	meta := s.h.cfg.Meta
	for late := false; !late; {
		changed := meta.Changed()
		if _, ok := meta.TableByID(s.tableID); !ok {
			break
		}
		select {
		case <-changed:
		case <-timer.C:
			late = true
		}
	}
	full, _ := s.table.Load().(string)
	database, name, err := schema.ParseTableName(full)
	if t, ok := meta.Table(database, name); err == nil && ok && t.ID != s.tableID && t.Origin() == s.origin {
		return errs.New(errs.ShardNotReady, "the rows of table %s were moved to other shards; follow again", full)
	}
	return errs.New(errs.TableNotFound, "table %s was dropped or truncated", full)
}

// lastWait is how long a client may take to read the last message if its user has lost the right to read.
const lastWait = 500 * time.Millisecond

// endReason returns the reason why a tail ended, as the metrics name it.
func endReason(ctx context.Context, cause error, e *errs.Error) string {
	switch {
	case errors.Is(cause, context.DeadlineExceeded), e.Code == errs.DeadlineExceeded && timeUp(ctx):
		return "timeout"
	case errors.Is(cause, errStopping):
		return "stopping"
	case errors.Is(cause, errGone), errors.Is(cause, context.Canceled), e.Code == errs.Cancelled:
		return "client"
	case e.Code == errs.RateLimited:
		return "slow"
	case e.Code == errs.UserPasswordMismatch, e.Code == errs.AccessDenied:
		return "access"
	}
	return "error"
}

// end sends the final event, unless the client has disconnected or requested a time limit.
func (s *session) end(ctx context.Context) {
	cause := context.Cause(ctx)
	e := errs.From(cause)
	if e.Reason == errs.TableGone {
		e = s.tableGone()
	}
	reason := endReason(ctx, cause, e)
	s.h.metrics.ended.WithLabelValues(reason).Inc()
	if reason == "client" || reason == "timeout" {
		return
	}
	if e.Code.Masked() {
		s.h.cfg.Logger.ErrorContext(ctx, "tail ended", "error", cause)
	}
	msg := append([]byte(nil), `{"error":`...)
	msg = value.AppendJSONString(msg, e.ClientMessage())
	msg = strconv.AppendUint(append(msg, `,"code":`...), uint64(e.Code), 10)
	msg = append(msg, "}\n"...)
	if s.events {
		msg = append(append([]byte("event: error\ndata: "), msg...), '\n')
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.brief = reason == "access"
	_ = s.send(msg)
}
