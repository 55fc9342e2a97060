package catalog

import "sync"

// counts caches the number of tables by database. The file does not have these numbers.
type counts struct {
	mu sync.Mutex // guards of
	of map[string]int64
}

// CountIn returns the number of tables of a database. In an Update, only the first call for a database reads its names.
func (t Tables) CountIn(database string) uint64 {
	t.counts.mu.Lock()
	defer t.counts.mu.Unlock()
	n, known := t.counts.of[database]
	if !known {
		n = int64(len(t.InDatabase(database, 0))) - t.more[database]
		if t.tx.Writable() { // otherwise the state may already be newer than the names
			if t.counts.of == nil {
				t.counts.of = map[string]int64{}
			}
			t.counts.of[database] = n
		}
	}
	return uint64(max(n+t.more[database], 0))
}

// add counts tables that the transaction creates or drops.
func (t *store) add(database string, n int64) {
	if t.more == nil {
		t.more = map[string]int64{}
	}
	t.more[database] += n
}

// commit adds the tables of a committed transaction to the known numbers.
func (c *counts) commit(more map[string]int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for database, n := range more {
		if have, known := c.of[database]; known {
			c.of[database] = have + n
		}
	}
}

// forget removes all numbers.
func (c *counts) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of = nil
}
