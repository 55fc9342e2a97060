package node

import (
	"context"
	"errors"
	"time"

	"cordwood/node/host"
	"cordwood/shard/cold"
	"cordwood/shard/cold/object"
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
		n.scrubObjects(ctx, h, &p)
		n.log.Debug("scrubbed the segments", "bytes", read, "damaged", damaged, "took", time.Since(begin))
		wait = every
	}
}

// maxObjectsShown is the number of damaged objects in the log and in a warning. All are counted.
const maxObjectsShown = 20

// scrubObjects checks the objects of the shards that this node leads: that they are in the bucket, with their sizes and
// checksums. If the bucket does not answer, the findings of the last scrub stay.
func (n *node) scrubObjects(ctx context.Context, h *host.Host, p *pacer) {
	if n.objects == nil {
		return
	}
	var lost []string
	rows := int64(0)
	for _, s := range h.All() {
		if !s.Leads() {
			continue
		}
		var again []*cold.Object
		for _, o := range s.Store().Status.Objects() {
			err := object.Verify(ctx, n.objects.guard, o, p.wait)
			switch {
			case err == nil:
			case object.Lost(err) && !s.Store().Status.HasObject(o):
				// It died since the scrub began, and was deleted.
			case object.Lost(err):
				rows += o.Meta.Rows
				again = append(again, o)
				if lost = append(lost, err.Error()); len(lost) <= maxObjectsShown {
					n.log.Error("an object in object storage is missing or damaged: restore it from a version or a copy of the "+
						"bucket; queries fail that need its rows and do not find them in local segments", "shard", s.ID(), "object",
						o.Key, "error", err)
				}
			default:
				if ctx.Err() == nil {
					n.log.Warn("could not check the objects in object storage; it is tried again", "shard", s.ID(), "error", err)
				}
				return
			}
		}
		s.LostObjects(again)
	}
	n.objects.lost.Store(&lost)
	n.objects.lostRows.Store(rows)
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
