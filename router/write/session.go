package write

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"sync"

	"cordwood/proto/errs"
	"cordwood/proto/turns"
)

// seqWindow limits the distance between the oldest and the newest unanswered batch of a session on one shard. A shard
// remembers at least that many numbers of a session. For a batch with an older number, it would not know whether it
// has appended it.
const seqWindow = 1024

// maxCallBatches limits the number of batches in one call, so that several calls fit into the window.
const maxCallBatches = 128

// ownBit is set in session ids that writers choose; column.KeyedBit is not. Ids from the metadata group count from 1
// and have neither bit.
const ownBit = 1 << 62

// newSessionID returns a random id. A shard remembers at most 1,024 sessions, for half an hour, so a collision
// among 2^62 ids is negligible. No node has to assign ids, and no id is reused if the metadata loses its newest
// commands.
func newSessionID() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the program instead
	return binary.LittleEndian.Uint64(b[:])&(ownBit-1) | ownBit
}

// session numbers the batches of this process. Its id and a number, which counts for each shard separately, form a
// batch id that is never used twice.
type session struct {
	id uint64

	// mu guards the fields below. It is not held during a call.
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

// sequence gives out the numbers for one shard and keeps the unanswered ones within seqWindow of each other.
type sequence struct {
	mu   sync.Mutex
	next uint64
	// open has the spans without an answer, and answered spans after one without an answer.
	open  []*span
	freed chan struct{} // closed and replaced whenever open gets shorter
}

type span struct {
	first    uint64
	answered bool
}

// take returns the first of n consecutive numbers, n ≤ maxCallBatches. The caller must call done when the shard has
// answered for all of them.
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
		turns.Leave(ctx)
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
