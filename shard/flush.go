package shard

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"cordwood/shard/manifest"
	"cordwood/shard/memtable"
	"cordwood/shard/replica"
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
func (s *Shard) freeze(index uint64) replica.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.flushed.Load()
	if n := len(s.frozen); n > 0 {
		last = s.frozen[n-1].index
	}
	if index <= last && s.active.Empty() {
		return snapshot{s}
	}
	f := &frozen{
		mem: s.active, bytes: s.activeBytes, index: index, term: s.appliedTerm, clock: s.state.Clock,
		defs: map[uint64]*rules.Definition{}, changes: s.state.TakeChanges(), sessions: s.state.StoredSessions(), keys: s.state.StoredKeys(),
	}
	for _, id := range f.mem.Tables() {
		f.defs[id] = s.state.Tables[id]
	}
	s.frozen = append(s.frozen, f)
	s.active = memtable.New(s.cfg.Pool)
	s.activeBytes, s.activeSince = 0, time.Time{}
	return snapshot{s}
}

// snapshot is a freeze as the replica sees it.
type snapshot struct{ s *Shard }

// Persist flushes what is frozen. The replica cuts the log when it returns nil.
func (p snapshot) Persist(w io.Writer) error {
	if err := p.s.flushFrozen(); err != nil {
		return err
	}
	p.s.commitMu.Lock()
	st := p.s.manifest.State()
	p.s.commitMu.Unlock()
	return writeSnapshot(w, p.s.cfg.ID, st)
}

// Release has nothing to release: what could not be flushed stays frozen, and is
// flushed with the next snapshot.
func (p snapshot) Release() {}

// flushFrozen makes everything frozen durable in segments. The replica's snapshot goroutine
// calls it, and the apply goroutine if there is no memory.
func (s *Shard) flushFrozen() error {
	s.flushMu.Lock()
	defer s.flushMu.Unlock()
	for {
		if err := s.settle(); err != nil {
			return fmt.Errorf("shard %d: flush: %w", s.cfg.ID, err)
		}
		generation := s.generationNow()
		s.mu.RLock()
		todo := slices.Clone(s.frozen)
		s.mu.RUnlock()
		if len(todo) == 0 {
			return nil
		}
		u, err := s.writeSegments(todo)
		if err == nil {
			u.n, u.generation = len(todo), generation
			err = s.commit(u)
		}
		if err != nil {
			return fmt.Errorf("shard %d: flush up to index %d: %w", s.cfg.ID, todo[len(todo)-1].index, err)
		}
	}
}

// writeSegments writes the rows of frozen memtables to segments, whose names are
// durable on return, and returns the edit that makes them live. Rows of which no segment
// can be made go aside, so that they hold up nothing else. After an error none of the
// files is left.
func (s *Shard) writeSegments(todo []*frozen) (*unsettled, error) {
	untried := s.untried()
	for {
		u, faults, err := s.tryWrite(todo, untried)
		if err == nil && len(faults) == 0 {
			return u, nil
		}
		u.forget()
		if err = errors.Join(err, s.removeNew(u.edit.Add)); err != nil {
			return nil, err
		}
		maps.Copy(untried, faults)
	}
}

// tryWrite is writeSegments, with the rows of the untried tables put aside. It returns for
// which other tables the rows cannot be written, and why: all of a table goes into
// segments or nothing, so it has to be called again then.
func (s *Shard) tryWrite(todo []*frozen, untried map[uint64]string) (u *unsettled, faults map[uint64]string, err error) {
	last := todo[len(todo)-1]
	edit := &manifest.Edit{AppliedIndex: last.index, AppliedTerm: last.term, Clock: last.clock, Sessions: last.sessions, Keys: last.keys}
	u = &unsettled{edit: edit, raws: map[uint64]loadedRaw{}}
	changed := map[uint64]manifest.Table{}
	expired := map[uint64]manifest.Expiry{}
	s.mu.RLock() // a drop may take a table out of a frozen memtable
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
	again := s.asideAgain(untried, edit)
	stages := s.stages(append(again, todo...))
	raws := rawsOf(todo, untried)
	s.mu.RUnlock()
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
	faults, err = s.writeStages(stages, edit)
	var done []uint64
	if err == nil && len(faults) == 0 {
		for _, st := range stages {
			done = slices.AppendSeq(done, maps.Keys(st.rows))
		}
		err = s.setAside(u, raws)
	}
	s.flushing.end(done...)
	return u, faults, err
}
