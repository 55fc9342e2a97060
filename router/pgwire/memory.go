package pgwire

import (
	"context"

	"cordwood/proto/errs"
)

// smallBytes is the size up to which memory is not counted: every connection has a buffer of this size anyway.
const smallBytes = 64 << 10

// holding is memory taken from the budget for request bodies of all protocols.
type holding struct {
	cfg  *Config
	body interface {
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
	ctx, cancel := context.WithTimeout(context.Background(), h.cfg.StallTime)
	defer cancel()
	if h.body == nil {
		b, err := bodies.Hold(ctx, nil)
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
	if h.body != nil {
		h.body.Release()
		h.body = nil
	}
}
