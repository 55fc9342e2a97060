package cache

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"syscall"

	"golang.org/x/sync/errgroup"

	"cordwood/shard/cold/bucket"
	"cordwood/shard/segment"
)

const (
	// gapBytes is the largest gap between units that one request reads.
	gapBytes = 256 << 10
	// rangeBytes is the maximum length of a request.
	rangeBytes = 8 << 20
)

// run is a range of an object that is fetched for some units in it.
type run struct {
	o              *object
	file           *File
	units          []int
	offset, length int64
	flight         *flight
	// reserved is the space that it needs, besides what it takes of forgotten units: reused, for each of its extents.
	reserved int64
	reused   []int64
}

// join makes runs of ascending units.
func join(w Want) []*run {
	var out []*run
	for _, u := range w.Units {
		unit := &w.File.List[u]
		end := unit.Offset + unit.Length
		if n := len(out) - 1; n >= 0 && unit.Offset-(out[n].offset+out[n].length) <= gapBytes &&
			end-out[n].offset <= rangeBytes {
			out[n].units, out[n].length = append(out[n].units, u), end-out[n].offset
			continue
		}
		out = append(out, &run{file: w.File, units: []int{u}, offset: unit.Offset, length: unit.Length})
	}
	return out
}

// requests returns the number of requests of a run: more than one for a unit that is larger than a request.
func (r *run) requests() int { return int((r.length + rangeBytes - 1) / rangeBytes) }

// begin registers a fetch, so that others wait for it. c.mu is held.
func (c *Cache) begin(r *run) {
	r.flight = &flight{done: make(chan struct{})}
	for _, u := range r.units {
		r.o.flights[u] = r.flight
	}
	c.pin(r.o.tail)
	at := 0
	r.each(func(number int, _ []int) {
		e := r.o.entries[number]
		c.pin(e)
		e.reused += r.reused[at]
		at++
	})
}

// reserve computes the space that a fetch needs. claimed is what other fetches, which have not begun, take of forgotten
// units. c.mu is held.
func (r *run) reserve(claimed map[*entry]int64) {
	r.each(func(number int, units []int) {
		e, space := r.o.entries[number], r.file.space(units)
		// Of what was forgotten because it was wrong, the space is there.
		spare := e.bytes - r.file.space(e.there(r.file)) - e.reused - claimed[e]
		reused := min(max(spare, 0), space)
		claimed[e] += reused
		r.reused, r.reserved = append(r.reused, reused), r.reserved+space-reused
	})
}

// each calls f with the number of each extent of the run and its units.
func (r *run) each(f func(number int, units []int)) {
	for from := 0; from < len(r.units); {
		number := r.file.extentOf[r.units[from]]
		to := from + 1
		for to < len(r.units) && r.file.extentOf[r.units[to]] == number {
			to++
		}
		f(int(number), r.units[from:to])
		from = to
	}
}

// there returns the units of an extent that are there.
func (e *entry) there(f *File) (units []int) {
	for i := range e.units {
		if e.has.has(i) {
			units = append(units, f.extents[e.extent].first+i)
		}
	}
	return units
}

// space returns the space that ascending units of an extent may take.
func (f *File) space(units []int) (bytes int64) {
	for from := 0; from < len(units); {
		to := from + 1
		for to < len(units) && units[to] == units[to-1]+1 {
			to++
		}
		first, last := &f.List[units[from]], &f.List[units[to-1]]
		bytes += charge(first.Offset, last.Offset+last.Length-first.Offset)
		from = to
	}
	return bytes
}

// runAll makes fetches, and ends all of them, also those that were not tried after an error.
func (h *Hold) runAll(ctx context.Context, list []*run) error {
	if len(list) == 0 {
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(holdRequests)
	for _, r := range list {
		g.Go(func() error {
			err := h.slot(ctx)
			if err == nil {
				err = h.c.fetchRun(ctx, r)
				<-h.requests
			}
			h.c.finish(r, err)
			if err == nil {
				h.gain(r.file, r.units)
				h.took(r.requests(), r.length, 0)
			}
			return err
		})
	}
	return g.Wait()
}

// slot waits until the Hold may make another request.
func (h *Hold) slot(ctx context.Context) error {
	select {
	case h.requests <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// finish ends a fetch.
func (c *Cache) finish(r *run, err error) {
	c.mu.Lock()
	c.reserved -= r.reserved
	at := 0
	r.each(func(number int, units []int) {
		e, first := r.o.entries[number], r.file.extents[number].first
		e.reused -= r.reused[at]
		at++
		for _, u := range units {
			delete(r.o.flights, u)
			if err == nil {
				e.has.add(u - first)
			}
		}
		if err == nil {
			// It does not become less, because units that were forgotten still take space.
			c.grow(e, max(r.file.space(e.there(r.file))+e.reused-e.bytes, 0))
		}
		c.unpin(e)
	})
	c.unpin(r.o.tail)
	c.change(r.o)
	r.flight.err = err
	c.mu.Unlock()
	close(r.flight.done)
}

// fetchRun reads a run from the bucket and writes its units to the file.
func (c *Cache) fetchRun(ctx context.Context, r *run) error {
	if r.length > rangeBytes {
		return c.fetchLarge(ctx, r)
	}
	if err := c.memory.Acquire(ctx, max(r.length, 1)); err != nil {
		return err
	}
	defer c.memory.Release(max(r.length, 1))
	if r.length == 0 {
		return nil
	}
	q := bucket.Range{Offset: r.offset, Length: r.length, ObjectSize: r.o.Bytes}
	for _, u := range r.units {
		unit := &r.file.List[u]
		q.Parts = append(q.Parts, bucket.Part{Offset: unit.Offset, Length: unit.Length, CRC: unit.CRC})
	}
	b, err := c.cfg.Bucket.Range(ctx, r.o.Key, q)
	if err != nil {
		return err
	}
	c.m.fetched.WithLabelValues(reason(r.file, r.units[0])).Add(float64(len(b)))
	c.m.requests.Inc()
	// What lies between the units is not written.
	for from := 0; from < len(q.Parts); {
		to := from + 1
		for to < len(q.Parts) && q.Parts[to].Offset == q.Parts[to-1].Offset+q.Parts[to-1].Length {
			to++
		}
		first, last := q.Parts[from], q.Parts[to-1]
		if err := c.write(r.o, b[first.Offset-r.offset:last.Offset+last.Length-r.offset], first.Offset); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// reason returns the label of what is fetched.
func reason(f *File, unit int) string {
	if f.List[unit].Kind == segment.FilterUnit {
		return whyFilter
	}
	return whyChunk
}

// largeTries is how often a large unit is read if its bytes are wrong.
const largeTries = 3

// fetchLarge fetches a unit that is larger than a request, in pieces. Its bytes are in the file before they are
// compared, but nobody reads them there.
func (c *Cache) fetchLarge(ctx context.Context, r *run) error {
	unit := &r.file.List[r.units[0]]
	if err := c.memory.Acquire(ctx, rangeBytes); err != nil {
		return err
	}
	defer c.memory.Release(rangeBytes)
	for try := 1; ; try++ {
		crc := uint32(0)
		for at := unit.Offset; at < unit.Offset+unit.Length; at += rangeBytes {
			q := bucket.Range{Offset: at, Length: min(rangeBytes, unit.Offset+unit.Length-at), ObjectSize: r.o.Bytes}
			b, err := c.cfg.Bucket.Range(ctx, r.o.Key, q)
			if err != nil {
				return err
			}
			c.m.fetched.WithLabelValues(whyChunk).Add(float64(len(b)))
			c.m.requests.Inc()
			crc = crc32.Update(crc, bucket.Castagnoli, b)
			if err := c.write(r.o, b, at); err != nil {
				return err
			}
		}
		if crc == unit.CRC {
			return nil
		}
		if try == largeTries {
			return &bucket.Error{
				Kind: bucket.Damaged, Op: "read", At: c.cfg.Bucket.Location() + "/" + r.o.Key,
				Err: fmt.Errorf("%d bytes from %d have the checksum %08x, want %08x", unit.Length, unit.Offset, crc, unit.CRC),
			}
		}
	}
}

// write writes a part of the file of an object. If the disk is full, it removes other parts of the cache.
func (c *Cache) write(o *object, b []byte, offset int64) error {
	name := o.name + dataSuffix
	err := c.disk.write(name, b, offset)
	if errors.Is(err, syscall.ENOSPC) {
		c.shrink(int64(len(b)))
		err = c.disk.write(name, b, offset)
	}
	return c.failed(o, err)
}

// shrinkBytes is the least that is removed when the disk is full.
const shrinkBytes = 64 << 20

// shrink removes more than a number of bytes.
func (c *Cache) shrink(bytes int64) {
	c.mu.Lock()
	out := c.choose(max(8*bytes, shrinkBytes))
	c.mu.Unlock()
	c.clear(out)
}

// failed returns the error of a failed write. If the file is missing, all of the object is.
func (c *Cache) failed(o *object, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		c.lose(o, err)
		return ErrLost
	}
	return fmt.Errorf("write to the cache of cold objects: %w", err)
}

// lose forgets what is there of an object, because its file is missing or cannot be read.
func (c *Cache) lose(o *object, err error) {
	c.log.Warn("cache of cold objects: a file is lost; it is fetched again", "object", o.Key, "error", err)
	c.mu.Lock()
	defer c.mu.Unlock()
	missing := errors.Is(err, fs.ErrNotExist)
	for _, e := range o.entries {
		clear(e.has)
		if missing {
			c.grow(e, -e.bytes)
		}
	}
	o.begun = o.begun && !missing
	c.files.Remove(o.Key)
}

// verify compares units on disk with their checksums, and forgets those that are wrong.
func (c *Cache) verify(w Want) (wrong bool, err error) {
	parts := make([]part, len(w.Units))
	for i, u := range w.Units {
		unit := &w.File.List[u]
		parts[i] = part{unit.Offset, unit.Length, unit.CRC}
	}
	var bad []int
	o := Object{Key: w.File.Key}
	err = c.disk.check(o.name()+dataSuffix, w.File.Bytes+w.File.bareBytes, parts, func(i int) {
		bad = append(bad, w.Units[i])
	})
	c.mu.Lock()
	ob := c.objects[w.File.Key]
	c.mu.Unlock()
	if err != nil {
		c.lose(ob, err)
		return false, ErrLost
	}
	if len(bad) == 0 {
		return false, nil
	}
	c.log.Warn("cache of cold objects: parts are damaged on disk; they are fetched again", "object", w.File.Key, "parts",
		len(bad))
	c.m.damaged.Add(float64(len(bad)))
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, u := range bad {
		number := int(w.File.extentOf[u])
		e, at := ob.entries[number], u-w.File.extents[number].first
		if e != nil && e.has.has(at) {
			e.has.drop(at)
		}
	}
	c.change(ob)
	return true, nil
}
