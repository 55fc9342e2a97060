package body

import "time"

// Databases share the memory for bodies. A database that is alone may use all of it. While several have bodies, each
// has an equal part. A database beyond its part leaves an eighth of the memory free for the others, and gets memory
// after the databases within theirs. So a flood of bodies for one database takes memory from another one only until
// the first of its bodies are stored. A single body of a database may be larger than its part.
//
// Bodies that belong to no database, such as the text of statements, count together as those of one.

const (
	// activeFor is how long a database without bodies counts as one that has them.
	activeFor = time.Minute
	// reserve is the part of the memory that databases beyond their part leave free: one in reserve bytes.
	reserve = 8
	// maxTenants limits the number of databases that are counted. Further ones count as one.
	maxTenants = 256
	// furtherTenants is the name of these. No database has it.
	furtherTenants = "\x00"
)

// tenant has the bodies of a database. The budget's mutex guards it.
type tenant struct {
	held    int64
	holders int // reservations with memory
	// growing and entering are the queues for memory: bodies that are being read, and new bodies.
	growing, entering []*waiter
	seen              time.Time // when it last got memory or asked for it
}

// tenant returns the tenant of a database. b.mu must be held.
func (b *budget) tenant(database string) *tenant {
	now := time.Now()
	b.sweep(now)
	t := b.tenants[database]
	if t == nil && len(b.tenants) >= maxTenants {
		database = furtherTenants
		t = b.tenants[database]
	}
	if t == nil {
		t = &tenant{}
		b.tenants[database] = t
	}
	t.seen = now
	return t
}

// sweep removes databases without bodies. b.mu must be held.
func (b *budget) sweep(now time.Time) {
	if now.Sub(b.swept) < time.Second {
		return
	}
	b.swept = now
	for database, t := range b.tenants {
		if t.held == 0 && len(t.growing)+len(t.entering) == 0 && now.Sub(t.seen) >= activeFor {
			delete(b.tenants, database)
		}
	}
}

// part returns the equal part of a database. b.mu must be held.
func (b *budget) part() int64 { return b.size / int64(max(len(b.tenants), 1)) }

// within reports whether a database has less than its part. b.mu must be held.
func (b *budget) within(t *tenant) bool { return t.held < b.part() }

// allows reports whether the part of its database allows r to have n more bytes. b.mu must be held.
func (b *budget) allows(r *reservation, n int64) bool {
	t := r.tenant
	switch {
	case len(b.tenants) < 2 || t.held+n <= b.part():
		return true
	case t.held == r.held: // its only body
		return true
	}
	return b.used.Load()+n <= b.size-b.size/reserve
}

// mustWait reports whether other bodies get memory before r gets n more bytes. b.mu must be held.
func (b *budget) mustWait(r *reservation, n int64) bool {
	small := r.tenant.held+n <= b.part()
	for _, t := range b.tenants {
		if len(t.growing) == 0 && (r.held > 0 || len(t.entering) == 0) {
			continue
		}
		if t == r.tenant || b.within(t) || !small {
			return true
		}
	}
	return false
}

// next returns the waiting body that gets memory next: of a database within its part before others, a body that is
// being read before a new one, and then the one that has waited longest. b.mu must be held.
func (b *budget) next() (next *waiter) {
	for _, small := range [...]bool{true, false} {
		for _, entering := range [...]bool{false, true} {
			for _, t := range b.tenants {
				queue := t.growing
				if entering {
					queue = t.entering
				}
				if b.within(t) == small && len(queue) > 0 && (next == nil || queue[0].seq < next.seq) {
					next = queue[0]
				}
			}
			if next != nil {
				return next
			}
		}
	}
	return nil
}

// largest returns the database with the most memory among those with bodies that wait for more. b.mu must be held.
func (b *budget) largest() (most *tenant) {
	for _, t := range b.tenants {
		if len(t.growing) > 0 && (most == nil || t.held > most.held) {
			most = t
		}
	}
	return most
}

// stuck reports whether all bodies of t wait for memory, and none would get n bytes even if the other databases
// returned theirs. b.mu must be held.
func (b *budget) stuck(t *tenant, n int64) bool {
	return len(t.growing) == t.holders && t.holders > 1 && len(b.tenants) > 1 && t.held+n > b.part() &&
		t.held+n > b.size-b.size/reserve
}
