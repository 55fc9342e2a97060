package store

import (
	"sync"
	"time"

	"cordwood/proto/schema"
)

// Databases share the memory for rows, so that one of them does not fill the memtables of a node or a shard and others
// are refused. A database that is alone may use all of it. While several databases write, the last eighth of the
// memory is only for those that use less than an equal part.

const (
	// reservedPart is the part of the memory that databases beyond their part leave free: one in reservedPart bytes.
	reservedPart = 8
	// activeFor is how long a database counts as one that writes.
	activeFor = time.Minute
	// countEvery is how often the memory of databases is counted, if it is scarce.
	countEvery = 100 * time.Millisecond
)

// databaseParts has the databases that wrote lately, and how much memory their rows use. Its zero value is empty. It
// may be used concurrently.
type databaseParts struct {
	mu   sync.Mutex // guards the rest
	seen map[string]time.Time
	uses map[string]int64
	at   time.Time // when uses was counted
}

// note records that a database writes.
func (p *databaseParts) note(database string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen == nil {
		p.seen = map[string]time.Time{}
	}
	p.seen[database] = now
}

// beyond reports whether a database would use more than an equal part of limit bytes with n more bytes. If it is the
// only one that writes, it would not. count returns the memory of all databases; it is called rarely.
func (p *databaseParts) beyond(database string, n, limit int64, now time.Time, count func() map[string]int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for other, at := range p.seen {
		if now.Sub(at) >= activeFor {
			delete(p.seen, other)
		}
	}
	if len(p.seen) < 2 {
		return false
	}
	if p.uses == nil || now.Sub(p.at) >= countEvery || now.Before(p.at) {
		p.uses, p.at = count(), now
	}
	return p.uses[database]+n > limit/int64(len(p.seen))
}

// scarce reports whether only the reserved part of limit bytes is left.
func scarce(used, limit int64) bool { return used >= limit-limit/reservedPart }

// memoryByDatabase adds the memory of the rows of each database.
func (tb *Tables) memoryByDatabase(sum map[string]int64) {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	add := func(id uint64, bytes int64) {
		if t := tb.State.Tables[id]; t != nil {
			sum[t.Database] += bytes
		}
	}
	for _, id := range tb.Mem.Active.Tables() {
		_, bytes := tb.Mem.Active.Table(id)
		add(id, bytes)
	}
	for _, f := range tb.Mem.frozen {
		for _, id := range f.mem.Tables() {
			_, bytes := f.mem.Table(id)
			add(id, bytes)
		}
	}
}

// Beyond reports whether a write of n bytes to a database has to wait, because little memory of the shard or the node
// is left and the database uses more than its part. used is the memory of the shard, with the writes in flight.
// Databases of the server, which store little, do not count. An empty name stands for several databases, whose writes
// do not wait.
func (m *Memory) Beyond(database string, n, used int64) bool {
	if database == "" || schema.ReservedDatabase(database) {
		return false
	}
	tb, now := m.tables, m.tables.cfg.Now()
	tb.parts.note(database, now)
	b := tb.cfg.Budget
	if b != nil {
		b.parts.note(database, now)
	}
	if scarce(used, tb.cfg.MemoryLimit) && tb.parts.beyond(database, n, tb.cfg.MemoryLimit, now, func() map[string]int64 {
		sum := map[string]int64{}
		tb.memoryByDatabase(sum)
		return sum
	}) {
		return true
	}
	return b != nil && scarce(b.Used(), b.limit) && b.parts.beyond(database, n, b.limit, now, b.byDatabase)
}

// byDatabase returns the memory of the rows of each database in all shards.
func (b *Budget) byDatabase() map[string]int64 {
	sum := map[string]int64{}
	b.members.Range(func(tb, _ any) bool {
		tb.(*Tables).memoryByDatabase(sum)
		return true
	})
	return sum
}
