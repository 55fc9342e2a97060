package simulation

import (
	"sync"
	"time"

	"cordwood/test/linear"
)

// answers is what readers were answered, by table and shard. In one shard reads and writes of a table
// are linearizable. A read of several shards is so in each of them, but asks one after the other: of such a
// read, which has the number 0 here, only what holds for any read is required.
type answers struct {
	mu sync.Mutex
	of map[place][]answer
}

type place struct {
	table string
	shard uint32
}

type answer struct {
	who          string
	begun, ended time.Duration
	rows         map[rowID]int
}

func newAnswers() *answers { return &answers{of: map[place][]answer{}} }

func (a *answers) note(table string, shard uint32, what answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := place{table, shard}
	a.of[at] = append(a.of[at], what)
}

// checkReads holds what readers were answered against what writers were told. final has the rows that
// shards have at the end, by table: a row stays in its shard, but in tables that merge rows, which
// take theirs along.
func (w *World) checkReads(final map[place]map[rowID]int, bad func(string, ...any)) {
	w.answers.mu.Lock()
	defer w.answers.mu.Unlock()
	w.history.mu.Lock()
	defer w.history.mu.Unlock()
	for i, t := range w.tables {
		var whole linear.Set[rowID]
		for row, s := range w.history.rows {
			if w.tableOf(row.writer) == i {
				s.into(&whole, row)
			}
		}
		w.checkPlace(place{t.name, 0}, t, &whole, bad)
		for at, have := range final {
			if at.table != t.name || t.merges {
				continue
			}
			var part linear.Set[rowID]
			for row := range have {
				w.history.rows[row].into(&part, row)
			}
			w.checkPlace(at, t, &part, bad)
		}
	}
}

func (w *World) checkPlace(at place, t table, set *linear.Set[rowID], bad func(string, ...any)) {
	set.Apart = at.shard == 0
	for _, a := range w.answers.of[at] {
		set.Read(a.who, a.begun, a.ended, once(a.rows, t))
	}
	for _, fault := range set.Check() {
		if at.shard == 0 {
			bad("reads of table %s: %s", at.table, fault)
		} else {
			bad("reads of table %s in shard %d: %s", at.table, at.shard, fault)
		}
	}
}
