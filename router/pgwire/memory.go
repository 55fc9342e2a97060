package pgwire

import (
	"context"

	"cordwood/proto/errs"
)

// smallBytes is up to how many bytes memory is not counted: so much has every connection anyway.
const smallBytes = 64 << 10

// holding is memory of a connection that is taken from the memory for the bodies of all doors.
type holding struct {
	c    *conn
	body interface {
		Reserve(ctx context.Context, n int64) error
		Release()
	}
}

// grow takes memory until there are n bytes. It waits until others give theirs back, and fails if they do not in time.
func (h *holding) grow(n int) error {
	bodies := h.c.srv.cfg.Bodies
	if bodies == nil || n <= smallBytes {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), h.c.srv.cfg.StallTime)
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

// release gives the memory back.
func (h *holding) release() {
	if h.body != nil {
		h.body.Release()
		h.body = nil
	}
}
