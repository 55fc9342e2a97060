package node

import (
	"context"
	"errors"
	"time"

	"cordwood/node/host"
)

const (
	// scrubAfter is the longest delay between the start and the first scrub.
	scrubAfter = 10 * time.Minute
	// scrubLead is how far the scrub may be ahead of its rate.
	scrubLead = 100 * time.Millisecond
)

// scrub reads every segment periodically and slowly, so that damage is found while a backup still exists, before a
// query needs the rows.
func (n *node) scrub(ctx context.Context, h *host.Host) error {
	every, rate := n.cfg.Disk.ScrubInterval, int64(n.cfg.Disk.ScrubRate)
	if every == 0 || rate == 0 {
		return nil
	}
	for wait := min(every, scrubAfter); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		begin, read := time.Now(), int64(0)
		p := pacer{ctx: ctx, rate: rate, begin: begin}
		damaged := 0
		for _, s := range h.All() {
			found, err := s.Verify(nil, func(b int) error { read += int64(b); return p.wait(int64(b)) })
			damaged += found
			if errors.Is(err, context.Canceled) {
				return nil
			}
			if err != nil {
				n.log.Warn("a scrub of a shard's segments failed; it is retried", "shard", s.ID(),
					"error", err, "in", every)
			}
		}
		n.log.Debug("scrubbed the segments", "bytes", read, "damaged", damaged, "took", time.Since(begin))
		wait = every
	}
}

// pacer spreads reading over time.
type pacer struct {
	ctx   context.Context
	rate  int64 // bytes per second
	begin time.Time
	done  int64
}

// wait waits until the next b bytes may be read.
func (p *pacer) wait(b int64) error {
	ahead := time.Duration(float64(p.done)/float64(p.rate)*float64(time.Second)) - time.Since(p.begin)
	p.done += b
	if ahead < scrubLead {
		return p.ctx.Err()
	}
	select {
	case <-p.ctx.Done():
		return p.ctx.Err()
	case <-time.After(ahead):
		return nil
	}
}
