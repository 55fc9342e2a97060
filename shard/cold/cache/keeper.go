package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// This file writes the lists of what is there, and reads them at the start.

// keepEvery is the time after which a change is in a list.
const keepEvery = time.Second

// keep writes the lists of changed objects until the cache is closed.
func (c *Cache) keep() {
	for {
		select {
		case <-c.wake:
		case <-c.stop:
			c.save()
			return
		}
		timer := time.NewTimer(keepEvery)
		select {
		case <-timer.C:
		case <-c.stop:
			timer.Stop()
		}
		c.save()
	}
}

// save writes the lists of all changed objects.
func (c *Cache) save() {
	for {
		c.mu.Lock()
		var o *object
		for o = range c.changed {
			break
		}
		if o == nil {
			c.mu.Unlock()
			return
		}
		delete(c.changed, o)
		if c.objects[o.Key] != o || !o.tail.has.has(0) || o.removal != nil && o.removal.whole {
			c.mu.Unlock()
			continue
		}
		m := o.saved()
		c.pin(o.tail) // so that the files are not removed meanwhile
		c.mu.Unlock()
		err := c.disk.publish(o.name+mapSuffix, m.encode())
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			c.log.Warn("cache of cold objects: the list of an object cannot be written; a restart fetches it again", "object",
				o.Key, "error", err)
		}
		c.mu.Lock()
		c.unpin(o.tail)
		c.mu.Unlock()
	}
}

// saved returns what is there of an object. c.mu is held.
func (o *object) saved() *savedMap {
	m := &savedMap{Object: o.Object, bareBytes: o.bareBytes, bareCRC: o.bareCRC}
	for number, e := range o.entries {
		if number == tailExtent || e.bytes == 0 {
			continue
		}
		m.extents = append(m.extents, savedExtent{
			number: number, offset: e.offset, length: e.length, bytes: e.bytes, main: e.main, filters: e.meta, uses: e.uses,
			units: e.units, has: slices.Clone(e.has),
		})
	}
	slices.SortFunc(m.extents, func(a, b savedExtent) int { return a.number - b.number })
	return m
}

// load reads the lists of what is there. It removes files that no list or object explains.
func (c *Cache) load() error {
	files, err := os.ReadDir(c.disk.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the folder: %w", err)
	}
	data := map[string]bool{}
	var maps, useless []string
	for _, f := range files {
		name := f.Name()
		switch {
		case strings.HasSuffix(name, dataSuffix):
			data[strings.TrimSuffix(name, dataSuffix)] = true
		case strings.HasSuffix(name, mapSuffix):
			maps = append(maps, strings.TrimSuffix(name, mapSuffix))
		case strings.HasSuffix(name, mapSuffix+tempSuffix):
			useless = append(useless, name)
		}
	}
	for _, name := range maps {
		if err := c.loadMap(name); err != nil {
			c.log.Warn("cache of cold objects: the list of an object cannot be used; it is fetched again", "file",
				c.disk.path(name+mapSuffix), "error", err)
			useless = append(useless, name+mapSuffix)
			continue
		}
		delete(data, name)
	}
	for name := range data {
		useless = append(useless, name+dataSuffix)
	}
	for _, name := range useless {
		if err := c.disk.remove(name); err != nil {
			return fmt.Errorf("remove a file of no use: %w", err)
		}
	}
	c.SetLimit(c.limit)
	return nil
}

// loadMap reads the list of an object.
func (c *Cache) loadMap(name string) error {
	b, err := c.disk.readAll(name+mapSuffix, maxMapBytes)
	if err != nil {
		return err
	}
	m, err := parseMap(b)
	if err != nil {
		return err
	}
	if m.name() != name {
		return fmt.Errorf("it is of object %s", m.Key)
	}
	info, err := os.Stat(c.disk.path(name + dataSuffix))
	if err != nil {
		return err
	}
	if info.Size() != m.Bytes+m.bareBytes {
		return fmt.Errorf("the file has %d bytes, want %d", info.Size(), m.Bytes+m.bareBytes)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.object(m.Object)
	o.bareBytes, o.bareCRC = m.bareBytes, m.bareCRC
	o.tail.length = m.Bytes + m.bareBytes - m.TailOffset
	o.tail.has.add(0)
	o.begun = true
	total := o.tailCharge()
	c.grow(o.tail, total)
	for i := range m.extents {
		x := &m.extents[i]
		e := c.entry(o, x.number, extent{offset: x.offset, length: x.length, units: x.units, filters: x.filters})
		e.main, e.uses, e.has = x.main, x.uses, x.has
		c.grow(e, x.bytes)
		c.queue(e).rest(e)
		total += x.bytes
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		c.grow(o.tail, max(stat.Blocks*512-total, 0)) // of units that the list lacks
	}
	c.queue(o.tail).rest(o.tail)
	return nil
}
