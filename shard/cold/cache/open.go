package cache

import (
	"context"
	"errors"
	"hash/crc32"
	"syscall"

	"cordwood/shard/cold/bucket"
)

// This file makes the tails of objects available.

// open makes the tail of an object available.
func (h *Hold) open(ctx context.Context, o Object) (*File, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		f, wait, err := h.tryOpen(ctx, o)
		if f != nil || err != nil {
			return f, err
		}
		if try == fetchTries {
			return nil, ErrLost
		}
		if wait == nil {
			continue
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// tryOpen opens an object, or returns what to wait for before the next try.
func (h *Hold) tryOpen(ctx context.Context, o Object) (*File, <-chan struct{}, error) {
	h.mu.Lock()
	if x := h.held[o.Key]; x != nil && x.file.Object == o {
		h.mu.Unlock()
		return x.file, nil, nil
	}
	c := h.c
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		h.mu.Unlock()
		return nil, nil, ErrClosed
	}
	ob := c.object(o)
	unlock := func() { c.mu.Unlock(); h.mu.Unlock() }
	switch flown := ob.flights[tailUnit]; {
	case ob.removal != nil:
		over := ob.removal.done
		unlock()
		return nil, over, nil
	case ob.Object != o: // the manifest of a cluster that was made anew, perhaps
		out := victims{}
		if ob.pins == 0 {
			c.takeObject(out, ob)
		}
		unlock()
		c.clear(out)
		return nil, nil, nil
	case flown != nil:
		unlock()
		select {
		case <-flown.done:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
		if room := (*NoRoomError)(nil); flown.err != nil && !isContext(flown.err) && !errors.As(flown.err, &room) {
			return nil, nil, flown.err
		}
		return nil, nil, nil
	case ob.tail.has.has(0):
		if !h.pin(ob.tail) {
			ob.tail.uses = min(ob.tail.uses+1, maxUses)
		}
		c.m.hits.Inc()
		unlock()
		f, err := c.openThere(ob)
		if f == nil || err != nil {
			return nil, nil, err
		}
		h.took(0, 0, o.Bytes-o.TailOffset)
		h.hold(f, ob)
		return f, nil, nil
	}
	h.pin(ob.tail)
	length := o.Bytes - o.TailOffset
	need := charge(o.TailOffset, 2*length+blockBytes) + blockBytes // the bare footer is not longer than the tail
	out, until, err := c.room(h, need)
	if err != nil || until != nil {
		unlock()
		c.clear(out)
		return nil, until, err
	}
	flown := &flight{done: make(chan struct{})}
	ob.flights[tailUnit] = flown
	c.pin(ob.tail)
	c.m.misses.Inc()
	unlock()
	f, err := c.fetchTail(ctx, h, ob, need)
	c.mu.Lock()
	flown.err = err
	delete(ob.flights, tailUnit)
	c.unpin(ob.tail)
	c.mu.Unlock()
	close(flown.done)
	if err != nil {
		return nil, nil, err
	}
	h.hold(f, ob)
	return f, nil, nil
}

// hold records an open object.
func (h *Hold) hold(f *File, o *object) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held[f.Key] = &held{file: f, o: o, got: newBits(len(f.List))}
}

// fetchTail reads the tail of an object from the bucket, and begins the file.
func (c *Cache) fetchTail(ctx context.Context, h *Hold, o *object, reserved int64) (*File, error) {
	f, err := c.readTail(ctx, h, o)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reserved -= reserved
	if err != nil {
		return nil, err
	}
	o.begun, o.bareBytes, o.bareCRC = true, f.bareBytes, f.bareCRC
	o.tail.length = o.Bytes + f.bareBytes - o.TailOffset
	o.tail.has.add(0)
	c.grow(o.tail, o.tailCharge()-o.tail.bytes)
	c.files.Put(o.Key, f, f.memory())
	c.change(o)
	return f, nil
}

// tailCharge returns the space that the tail and the magic number take.
func (o *object) tailCharge() int64 { return charge(o.TailOffset, o.tail.length) + blockBytes }

func (c *Cache) readTail(ctx context.Context, h *Hold, o *object) (*File, error) {
	length := o.Bytes - o.TailOffset
	if err := h.slot(ctx); err != nil {
		return nil, err
	}
	defer func() { <-h.requests }()
	weight := min(length, int64(fetchMemory))
	if err := c.memory.Acquire(ctx, weight); err != nil {
		return nil, err
	}
	defer c.memory.Release(weight)
	b, err := c.cfg.Bucket.Range(ctx, o.Key, bucket.Range{
		Offset: o.TailOffset, Length: length, ObjectSize: o.Bytes,
		Parts: []bucket.Part{{Offset: o.TailOffset, Length: length, CRC: o.TailCRC}},
	})
	if err != nil {
		return nil, err
	}
	c.m.fetched.WithLabelValues(whyTail).Add(float64(len(b)))
	c.m.requests.Inc()
	h.took(1, length, 0)
	f, b, err := newFile(o.Object, c.disk.path(o.name+dataSuffix), b)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	anew := !o.begun
	c.mu.Unlock()
	name, size := o.name+dataSuffix, f.Bytes+f.bareBytes
	err = c.disk.begin(name, size, anew, b, o.TailOffset)
	if errors.Is(err, syscall.ENOSPC) {
		c.shrink(int64(len(b)))
		err = c.disk.begin(name, size, anew, b, o.TailOffset)
	}
	return f, c.failed(o, err)
}

// openThere opens an object whose tail is on disk. Without a File and an error, the tail was wrong.
func (c *Cache) openThere(o *object) (*File, error) {
	c.mu.Lock()
	f, known := c.files.Get(o.Key)
	bare, crc := o.bareBytes, o.bareCRC
	c.mu.Unlock()
	name := o.name + dataSuffix
	if !known {
		b, err := c.disk.read(name, o.TailOffset, o.Bytes-o.TailOffset)
		if err == nil && crc32.Checksum(b, bucket.Castagnoli) == o.TailCRC {
			f, _, err = newFile(o.Object, c.disk.path(name), b)
			if err != nil {
				return nil, err
			}
		}
		if f == nil || f.bareBytes != bare || f.bareCRC != crc {
			c.lose(o, err)
			return nil, nil
		}
		c.mu.Lock()
		c.files.Put(o.Key, f, f.memory())
		c.mu.Unlock()
	}
	wrong := false
	err := c.disk.check(name, f.Bytes+f.bareBytes, f.parts(), func(int) { wrong = true })
	if err != nil || wrong {
		c.lose(o, err)
		return nil, nil
	}
	return f, nil
}
