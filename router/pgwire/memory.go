package pgwire

import (
	"context"
	"sync"

	"cordwood/proto/errs"
	"cordwood/proto/turns"
)

// smallBytes is the size up to which memory is not counted: every connection has a buffer of this size anyway.
const smallBytes = 64 << 10

// parked is the memory of all connections that waits for their clients: rows of COPY that are not stored yet, and the
// texts of portals that have not run. Clients decide how long it waits, so it has only a part of the budget, and the
// rest remains for requests that make progress.
type parked struct {
	most int64 // 0 means no limit

	mu    sync.Mutex // guards bytes
	bytes int64
}

// parkedPart is the part of the budget that parked memory may have.
const parkedPart = 2

func newParked(cfg *Config) *parked {
	if cfg.Bodies == nil {
		return &parked{}
	}
	return &parked{most: cfg.Bodies.MaxInFlight() / parkedPart}
}

// add changes the number of bytes, and reports whether they are within the limit.
func (p *parked) add(n int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n > 0 && p.most > 0 && p.bytes+n > p.most {
		return false
	}
	p.bytes += n
	return true
}

// holding is memory taken from the budget for request bodies of all protocols.
type holding struct {
	cfg *Config
	// parked has the memory if it waits for the client; it is nil for the memory of a message. counted are its bytes.
	parked  *parked
	counted int64
	// database is the one that the memory counts for, or "" for none.
	database string
	body     interface {
		Reserve(ctx context.Context, n int64) error
		Release()
	}
}

// grow takes memory until holding has n bytes. It waits until others return memory, and fails after a time.
func (h *holding) grow(n int) error {
	bodies := h.cfg.Bodies
	if bodies == nil || n <= smallBytes {
		return nil
	}
	if more := int64(n) - h.counted; h.parked != nil && more > 0 {
		if !h.parked.add(more) {
			return failure("53200", "no memory for %d bytes: rows of COPY and portals of all clients that wait to be stored or "+
				"run have %d bytes at most", n, h.parked.most).withHint("send less at a time, or try again later")
		}
		h.counted = int64(n)
	}
	ctx, cancel := context.WithTimeout(context.Background(), h.cfg.StallTime)
	defer cancel()
	if h.body == nil {
		b, err := bodies.Hold(turns.WithDatabase(ctx, h.database), nil)
		if err != nil {
			return outOfMemory(err)
		}
		h.body = b
	}
	if err := h.body.Reserve(ctx, int64(n)); err != nil {
		return outOfMemory(err)
	}
	return nil
}

func outOfMemory(err error) *Error {
	return failure("53200", "no memory for a large message: %s", errs.From(err).Msg).
		withHint("send smaller messages, or try again later")
}

// release returns the memory.
func (h *holding) release() {
	if h.counted > 0 {
		h.parked.add(-h.counted)
		h.counted = 0
	}
	if h.body != nil {
		h.body.Release()
		h.body = nil
	}
}
