package write

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// seqWindow is how far apart the oldest and the newest unanswered batch of a session may
// be on one shard. A shard remembers at least that many numbers of a session, so a batch
// further behind could not be told from one that it has already appended.
const seqWindow = 1024

// maxCallBatches bounds the batches in one call, so that several calls fit the window.
const maxCallBatches = 128

// session numbers the batches of this process. Its id is registered at first use and
// never again; with the number, counted per shard, it makes a batch id that is never
// given twice.
type session struct {
	meta   Meta
	nodeID string
	flight singleflight.Group

	// mu guards the fields below; it is not held across a call.
	mu     sync.Mutex
	number uint64
	shards map[uint32]*sequence
}

func (s *session) init(meta Meta, nodeID string) {
	s.meta, s.nodeID, s.shards = meta, nodeID, map[uint32]*sequence{}
}

// id returns the session id, registering it if need be.
func (s *session) id(ctx context.Context) (uint64, error) {
	s.mu.Lock()
	id := s.number
	s.mu.Unlock()
	if id != 0 {
		return id, nil
	}
	ch := s.flight.DoChan("", func() (any, error) {
		// The caller that came first may leave; the others still need the id.
		pctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		res, err := s.meta.Propose(pctx, &metapb.Command{
			TimeUnixNano: time.Now().UnixNano(),
			Op:           &metapb.Command_RegisterSession{RegisterSession: &metapb.RegisterSession{NodeId: s.nodeID}},
		})
		if err != nil {
			return nil, errs.Wrap(errs.ShardNotReady, err, "register a session for batch ids")
		}
		if res.SessionId == 0 {
			return nil, errs.New(errs.Internal, "register a session for batch ids: the metadata group gave none")
		}
		s.mu.Lock()
		s.number = res.SessionId
		s.mu.Unlock()
		return nil, nil
	})
	select {
	case r := <-ch:
		if r.Err != nil {
			return 0, r.Err
		}
	case <-ctx.Done():
		return 0, errs.Wrap(ctxCode(ctx), ctx.Err(), "register a session for batch ids")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.number, nil
}

func (s *session) sequence(shard uint32) *sequence {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.shards[shard]
	if q == nil {
		q = &sequence{next: 1, freed: make(chan struct{})}
		s.shards[shard] = q
	}
	return q
}

// sequence hands out the numbers of one shard and keeps the unanswered ones within
// seqWindow of each other.
type sequence struct {
	mu   sync.Mutex
	next uint64
	// open are the spans without an answer, and answered ones behind an open one.
	open  []*span
	freed chan struct{} // closed, and made anew, whenever open gets shorter
}

type span struct {
	first    uint64
	answered bool
}

// take returns the first of n consecutive numbers, n ≤ maxCallBatches. done must be
// called once the shard has answered for all of them.
func (q *sequence) take(ctx context.Context, n int) (first uint64, done func(), err error) {
	for {
		q.mu.Lock()
		if len(q.open) == 0 || q.next+uint64(n)-q.open[0].first <= seqWindow {
			s := &span{first: q.next}
			q.next += uint64(n)
			q.open = append(q.open, s)
			q.mu.Unlock()
			return s.first, func() { q.answered(s) }, nil
		}
		freed := q.freed
		q.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return 0, nil, errs.Wrap(ctxCode(ctx), ctx.Err(), "wait for earlier batches")
		}
	}
}

func (q *sequence) answered(s *span) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s.answered = true
	n := 0
	for n < len(q.open) && q.open[n].answered {
		n++
	}
	if n > 0 {
		q.open = append(q.open[:0], q.open[n:]...)
		close(q.freed)
		q.freed = make(chan struct{})
	}
}

// ctxCode is the code for an ended context.
func ctxCode(ctx context.Context) errs.Code {
	if errors.Is(ctx.Err(), context.Canceled) {
		return errs.Cancelled
	}
	return errs.DeadlineExceeded
}
