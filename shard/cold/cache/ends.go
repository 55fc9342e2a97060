package cache

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"cordwood/shard/cold/bucket"
)

// This file fetches the tails of objects before a query asks for them.

const (
	// endsShare is the share of the cache that tails may take that no query asked for, in percent.
	endsShare = metaShare / 2
	// endsRequests is the number of requests for them that run at once.
	endsRequests = 4
)

// FetchEnds fetches the tails of objects that are not there, in the given order, as long as tails and filters take less
// than a part of the cache. It removes nothing for them. It leaves out objects that the bucket lacks or that are
// damaged, and stops at any other error. It returns the number of tails that it asked for.
func (c *Cache) FetchEnds(ctx context.Context, objects []Object) (fetched int, err error) {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(endsRequests)
	var pending atomic.Int64 // the space of what is being fetched
	for _, o := range objects {
		if ctx.Err() != nil {
			break
		}
		space := 2*(o.Bytes-o.TailOffset) + 3*blockBytes
		there, room := c.endOf(&o, space+pending.Load())
		if there {
			continue
		}
		if !room {
			break
		}
		fetched++
		pending.Add(space)
		g.Go(func() error {
			defer pending.Add(-space)
			h := c.Hold()
			defer h.Release()
			_, err := h.Open(ctx, o)
			if kind, ok := bucket.KindOf(err); ok && (kind == bucket.NotFound || kind == bucket.Damaged) {
				return nil // the scrub reports it
			}
			return err
		})
	}
	return fetched, g.Wait()
}

// endOf reports whether the tail of an object is there, and whether there is room for tails of a size.
func (c *Cache) endOf(o *Object, size int64) (there, room bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if x := c.objects[o.Key]; x != nil && (x.tail.has.has(0) || x.flights[tailUnit] != nil) {
		return true, true
	}
	return false, !c.closed && c.used()+size <= c.limit && c.meta.bytes+size <= c.limit*endsShare/100
}

// MissingEnds returns the size of the tails that Open of these objects would fetch.
func (c *Cache) MissingEnds(objects []Object) (bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range objects {
		if x := c.objects[objects[i].Key]; x == nil || !x.tail.has.has(0) {
			bytes += objects[i].Bytes - objects[i].TailOffset
		}
	}
	return bytes
}
