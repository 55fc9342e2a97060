package simulation

import (
	"maps"
	"slices"
	"sync"
	"time"

	"cordwood/test/linear"
)

// answers contains the answers that readers got, by table, its id, and shard. In one shard, reads and writes of a
// table are linearizable while the table keeps its id. A table that moves with its rows to other shards gets a new
// id, so its rows are then in other sets. A read of several shards is linearizable in each of them, but reads them
// one after the other. Such a read has shard 0 here, and only the rules for any read apply to it, whatever id the
// table has.
type answers struct {
	mu sync.Mutex
	of map[place][]answer
}

// place identifies a set of rows. For all rows of a table, id and shard are 0.
type place struct {
	table string
	id    uint64
	shard uint32
}

type answer struct {
	who          string
	begun, ended time.Duration
	rows         map[rowID]int
	// valid means that the table had the same id after the read. A shard deletes the rows of an id
	// that the table no longer has.
	valid bool
}

func newAnswers() *answers { return &answers{of: map[place][]answer{}} }

func (a *answers) note(at place, what answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.of[at] = append(a.of[at], what)
}

// checkReads compares the answers of readers with the answers of writers. final holds the rows of the shards at the
// end. The rows that a shard had under a former id of a table are unknown, so the rows of all reads are used instead.
// A row that is missing in all reads of the shard is found by the check of all rows.
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
		w.checkPlace(place{table: t.name}, t, &whole, bad)
		for at, have := range final {
			if at.table == t.name {
				w.checkShardReads(at, t, have, bad)
			}
		}
		for at, answers := range w.answers.of {
			if _, now := final[at]; now || at.table != t.name || at.shard == 0 {
				continue
			}
			w.answers.of[at] = slices.DeleteFunc(answers, func(a answer) bool { return !a.valid })
			w.checkShardReads(at, t, w.answers.union(at), bad)
		}
	}
}

// union returns the rows of all answers of a place.
func (a *answers) union(at place) map[rowID]int {
	out := map[rowID]int{}
	for _, answer := range a.of[at] {
		maps.Copy(out, answer.rows)
	}
	return out
}

// checkShardReads checks the reads of a shard. have are the rows that the shard had.
func (w *World) checkShardReads(at place, t table, have map[rowID]int, bad func(string, ...any)) {
	var part linear.Set[rowID]
	for row := range have {
		if s, sent := w.history.rows[row]; sent {
			s.into(&part, row)
		}
	}
	w.checkPlace(at, t, &part, bad)
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
			bad("reads of table %s (id %d) in shard %d: %s", at.table, at.id, at.shard, fault)
		}
	}
}
