package cache

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// This file removes what is not in use.

// removal is a removal under way of some of an object's data. done is closed when the last one is over.
type removal struct {
	done  chan struct{}
	count int
	// whole means that the object's files are removed.
	whole bool
}

// victims are what was chosen to be removed, by object.
type victims map[*object]*victim

type victim struct {
	// whole means that the object's files are removed. Otherwise holes are made.
	whole bool
	holes []hole
	// bytes is the space of all of it.
	bytes int64
}

// hole is a range of a file that is given back.
type hole struct{ from, to, bytes int64 }

// choose takes what is not in use out of the queues until that makes the given number of bytes, or nothing is left. The
// caller passes the result to clear. c.mu is held.
func (c *Cache) choose(bytes int64) victims {
	out := victims{}
	var aside []*entry
	for bytes > 0 {
		e := c.victim()
		if e == nil {
			break
		}
		switch {
		case e.extent != tailExtent && !c.wholly:
			bytes -= c.takeEntry(out, e)
		case e.o.pins > 0:
			c.queue(e).use(e)
			aside = append(aside, e)
		default:
			bytes -= c.takeObject(out, e.o)
		}
	}
	for _, e := range aside {
		c.queue(e).rest(e)
	}
	return out
}

// victim returns the entry that is to be removed next, or nil.
func (c *Cache) victim() *entry {
	first, second := &c.data, &c.meta
	if c.meta.bytes*100 > c.limit*metaShare {
		first, second = second, first
	}
	if e := first.victim(); e != nil {
		return e
	}
	return second.victim()
}

// take begins a removal.
func (v victims) take(o *object) *victim {
	if v[o] == nil {
		v[o] = &victim{}
		if o.removal == nil {
			o.removal = &removal{done: make(chan struct{})}
		}
		o.removal.count++
	}
	return v[o]
}

// takeEntry takes an extent out.
func (c *Cache) takeEntry(out victims, e *entry) int64 {
	v, n := out.take(e.o), e.bytes
	from, to := c.block(e)
	v.holes = append(v.holes, hole{from, to, n})
	v.bytes += n
	c.leaving += n
	c.queue(e).leave(e)
	delete(e.o.entries, e.extent)
	c.m.evicted.Add(float64(n))
	c.change(e.o)
	return n
}

// fewEntries is the number of entries of an object up to which all of them are looked at to find neighbours.
const fewEntries = 64

// block returns the range of the file that an extent has for itself, in whole blocks where neighbours are not there.
func (c *Cache) block(e *entry) (from, to int64) {
	from, to = max(roundDown(e.offset), int64(len(magic))), min(roundUp(e.offset+e.length), e.o.TailOffset)
	clip := func(x *entry) {
		if x.extent == tailExtent || x == e {
			return
		}
		if x.extent < e.extent {
			from = max(from, x.offset+x.length)
		} else {
			to = min(to, x.offset)
		}
	}
	if len(e.o.entries) <= fewEntries {
		for _, x := range e.o.entries {
			clip(x)
		}
		return from, to
	}
	// An extent has at least a byte, so farther ones are in other blocks.
	for n := e.extent - 1; n > max(tailExtent, e.extent-blockBytes); n-- {
		if x := e.o.entries[n]; x != nil {
			clip(x)
			break
		}
	}
	for n := e.extent + 1; n < e.extent+blockBytes; n++ {
		if x := e.o.entries[n]; x != nil {
			clip(x)
			break
		}
	}
	return from, to
}

// takeObject takes a whole object out. Nothing of it may be in use.
func (c *Cache) takeObject(out victims, o *object) int64 {
	v, n := out.take(o), int64(0)
	for _, e := range o.entries {
		n += e.bytes
		c.queue(e).leave(e)
	}
	clear(o.entries)
	v.whole, v.bytes = true, v.bytes+n
	o.removal.whole = true
	c.leaving += n
	c.m.evicted.Add(float64(n))
	delete(c.changed, o)
	return n
}

// clear removes what was chosen.
func (c *Cache) clear(list victims) {
	for o, v := range list {
		kept := int64(0) // bytes that could not be given back
		for _, h := range v.holes {
			if v.whole || h.to <= h.from {
				continue
			}
			err := c.disk.punch(o.name+dataSuffix, h.from, h.to-h.from)
			switch {
			case err == nil || errors.Is(err, fs.ErrNotExist):
				continue
			case errors.Is(err, unix.EOPNOTSUPP):
				c.mu.Lock()
				c.wholly = true
				c.mu.Unlock()
			}
			kept += h.bytes
			c.log.Warn("cache of cold objects: space cannot be given back before all of the object is removed", "object",
				o.Key, "error", err)
		}
		if v.whole {
			err := errors.Join(c.disk.remove(o.name+mapSuffix), c.disk.remove(o.name+dataSuffix))
			if err != nil {
				c.log.Warn("cache of cold objects: files cannot be removed; the next start tries again", "object", o.Key,
					"error", err)
			}
		}
		c.mu.Lock()
		c.leaving -= v.bytes
		if kept > 0 && !o.removal.whole {
			c.grow(o.tail, kept)
		}
		if o.removal.count--; o.removal.count == 0 {
			if o.removal.whole {
				delete(c.objects, o.Key)
			}
			close(o.removal.done)
			o.removal = nil
		}
		close(c.freed)
		c.freed = make(chan struct{})
		c.mu.Unlock()
	}
}
