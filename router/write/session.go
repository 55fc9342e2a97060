package write

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"sync"

	"cordwood/proto/errs"
)

// seqWindow is how far apart the oldest and the newest unanswered batch of a session may
// be on one shard. A shard remembers at least that many numbers of a session: it does not know
// whether it has appended a batch that is further behind.
const seqWindow = 1024

// maxCallBatches bounds the batches in one call, so that several calls fit the window.
const maxCallBatches = 128

// ownBit is set in the session ids that writers draw; column.KeyedBit is not. Ids that the
// metadata group gives count from 1 and have neither.
const ownBit = 1 << 62

// drawSession returns a random id. A shard remembers at most 1,024 sessions, for half an hour,
// so a collision among 2^62 is negligible. No node has to be asked for an id, and an id is
// not given again after the metadata has lost its newest commands.
func drawSession() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the program instead
	return binary.LittleEndian.Uint64(b[:])&(ownBit-1) | ownBit
}

// session numbers the batches of this process. Its id, with the number, counted per shard,
// makes a batch id that is never given twice.
type session struct {
	id uint64

	// mu guards the fields below; it is not held across a call.
	mu     sync.Mutex
	shards map[uint32]*sequence
}

func (s *session) init(id uint64) {
	s.id, s.shards = id, map[uint32]*sequence{}
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
			return 0, nil, errs.Wrap(errs.ContextCode(ctx.Err()), ctx.Err(), "wait for earlier batches")
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
