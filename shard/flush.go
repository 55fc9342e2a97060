package shard

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"cordwood/shard/manifest"
	"cordwood/shard/memtable"
	"cordwood/shard/rules"
	"cordwood/shard/segment"
)

// frozen is a memtable that takes no more rows, with the state as it was when the
// last of them was applied.
type frozen struct {
	mem         *memtable.Memtable
	bytes       int64
	index, term uint64
	clock       int64
	defs        map[uint64]*rules.Definition // of the tables that have rows here
	changes     rules.Changes                // since the freeze before
	sessions    []manifest.Session
	keys        []manifest.Key
}

// freeze is called between two Applies: it puts the active memtable aside, if that
// holds anything that the last freeze or flush does not.
func (tb *tables) freeze(index uint64) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	last := tb.flushed.Load()
	if n := len(tb.mem.frozen); n > 0 {
		last = tb.mem.frozen[n-1].index
	}
	if index <= last && tb.mem.active.Empty() {
		return
	}
	f := &frozen{
		mem: tb.mem.active, bytes: tb.mem.bytes, index: index, term: tb.appliedTerm, clock: tb.state.Clock,
		defs: map[uint64]*rules.Definition{}, changes: tb.state.TakeChanges(), sessions: tb.state.StoredSessions(), keys: tb.state.StoredKeys(),
	}
	for _, id := range f.mem.Tables() {
		f.defs[id] = tb.state.Tables[id]
	}
	tb.mem.frozen = append(tb.mem.frozen, f)
	tb.mem.active = memtable.New(tb.cfg.Pool)
	tb.mem.bytes, tb.mem.since = 0, time.Time{}
}

// snapshot is a freeze as the replica sees it.
type snapshot struct{ s *Shard }

// Persist flushes what is frozen. The replica cuts the log when it returns nil.
func (p snapshot) Persist(w io.Writer) error {
	if err := p.s.flusher.flush(); err != nil {
		return err
	}
	return writeSnapshot(w, p.s.cfg.ID, p.s.ledger.state())
}

// Release has nothing to release: what could not be flushed stays frozen, and is
// flushed with the next snapshot.
func (p snapshot) Release() {}

// flusher makes frozen memtables durable in segments.
type flusher struct {
	cfg        *Config
	segmentDir string
	metrics    *metrics
	tables     *tables
	files      *segmentFiles
	ledger     *ledger
	// book remembers what the process before this one died over, by table.
	book *deathbook

	mu sync.Mutex // held while frozen memtables are flushed; see tables
	// retry is when rows that are set aside may be tried again, by table; a table that is not here
	// was not tried since the process began. mu guards it.
	retry map[uint64]time.Time
}

// flush makes everything frozen durable in segments. The replica's snapshot goroutine
// calls it, and the apply goroutine if there is no memory.
func (fl *flusher) flush() error {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	for {
		if err := fl.ledger.settle(); err != nil {
			return fmt.Errorf("shard %d: flush: %w", fl.cfg.ID, err)
		}
		generation := fl.ledger.generationNow()
		fl.tables.mu.RLock()
		todo := slices.Clone(fl.tables.mem.frozen)
		fl.tables.mu.RUnlock()
		if len(todo) == 0 {
			return nil
		}
		u, err := fl.writeSegments(todo)
		if err == nil {
			u.n, u.generation = len(todo), generation
			err = fl.ledger.commit(u)
		}
		if err != nil {
			return fmt.Errorf("shard %d: flush up to index %d: %w", fl.cfg.ID, todo[len(todo)-1].index, err)
		}
	}
}

// writeSegments writes the rows of frozen memtables to segments, whose names are
// durable on return, and returns the edit that makes them live. Rows of which no segment
// can be made go aside, so that they hold up nothing else. After an error none of the
// files is left.
func (fl *flusher) writeSegments(todo []*frozen) (*unsettled, error) {
	untried := fl.untried()
	for {
		u, faults, err := fl.tryWrite(todo, untried)
		if err == nil && len(faults) == 0 {
			return u, nil
		}
		u.forget()
		if err = errors.Join(err, fl.files.removeNew(u.edit.Add)); err != nil {
			return nil, err
		}
		maps.Copy(untried, faults)
	}
}

// tryWrite is writeSegments, with the rows of the untried tables put aside. It returns for
// which other tables the rows cannot be written, and why: all of a table goes into
// segments or nothing, so it has to be called again then.
func (fl *flusher) tryWrite(todo []*frozen, untried map[uint64]string) (u *unsettled, faults map[uint64]string, err error) {
	last := todo[len(todo)-1]
	edit := &manifest.Edit{AppliedIndex: last.index, AppliedTerm: last.term, Clock: last.clock, Sessions: last.sessions, Keys: last.keys}
	u = &unsettled{edit: edit, raws: map[uint64]loadedRaw{}}
	changed := map[uint64]manifest.Table{}
	expired := map[uint64]manifest.Expiry{}
	fl.tables.mu.RLock() // a drop may take a table out of a frozen memtable
	for _, f := range todo {
		for _, t := range f.changes.Tables {
			changed[t.ID] = t
		}
		for _, x := range f.changes.Expires {
			expired[x.TableID] = x
		}
		for _, d := range f.changes.Drops {
			edit.Drop = append(edit.Drop, d.TableID)
		}
		edit.Tombstones = append(edit.Tombstones, f.changes.Drops...)
	}
	again := fl.asideAgain(untried, edit)
	stages := fl.stages(append(again, todo...))
	raws := rawsOf(todo, untried)
	fl.tables.mu.RUnlock()
	for id := range untried {
		for _, st := range stages {
			delete(st.rows, id)
			delete(st.ends, id)
		}
	}
	for _, id := range edit.Drop {
		delete(changed, id)
		delete(expired, id)
		raws = slices.DeleteFunc(raws, func(raw *segment.Raw) bool { return raw.TableID == id })
		for _, st := range stages {
			delete(st.rows, id)
			delete(st.ends, id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(changed)) {
		edit.Tables = append(edit.Tables, changed[id])
	}
	for _, id := range slices.Sorted(maps.Keys(expired)) {
		edit.Expire = append(edit.Expire, expired[id])
	}
	faults, err = fl.writeStages(stages, edit)
	var done []uint64
	if err == nil && len(faults) == 0 {
		for _, st := range stages {
			done = slices.AppendSeq(done, maps.Keys(st.rows))
		}
		err = fl.setAside(u, raws)
	}
	fl.book.end(done...)
	return u, faults, err
}
