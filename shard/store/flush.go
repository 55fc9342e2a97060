package store

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"cordwood/shard/manifest"
	"cordwood/shard/segment"
)

// Flusher writes frozen memtables to segments.
type Flusher struct {
	cfg        *Config
	segmentDir string
	metrics    *Metrics
	tables     *Tables
	files      *SegmentFiles
	ledger     *Ledger
	// crashes records the tables during whose flush earlier processes crashed.
	crashes *crashLog

	mu     sync.Mutex // held while frozen memtables are flushed; see doc.go
	taking taking
	// Taken is the number of segments that this replica took from flushes of leaders.
	Taken   atomic.Int64
	offerMu sync.Mutex // guards offer
	offer   *Offer     // the last one
	readers *atomic.Int64
	// retry is when the raw rows of a table may be tried again. A table that is missing was not
	// tried since the process started. mu guards it.
	retry map[uint64]time.Time
}

// Flush makes all frozen memtables durable in segments. The replica's snapshot goroutine calls it. On a follower
// it may wait for the leader's segments.
func (fl *Flusher) Flush() error {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	return fl.flush()
}

// FlushNow is Flush without waiting for the leader. The apply goroutine calls it if there is no memory.
func (fl *Flusher) FlushNow() error {
	fl.taking.urgent.Add(1)
	defer fl.taking.urgent.Add(-1)
	fl.Hurry()
	return fl.Flush()
}

// flush flushes; mu must be held.
func (fl *Flusher) flush() error {
	for {
		if err := fl.ledger.commitPending(); err != nil {
			return fmt.Errorf("shard %d: flush: %w", fl.cfg.ID, err)
		}
		generation := fl.ledger.GenerationNow()
		fl.tables.mu.RLock()
		todo := slices.Clone(fl.tables.Mem.frozen)
		fl.tables.mu.RUnlock()
		if len(todo) == 0 {
			return nil
		}
		u, err := fl.writeSegments(todo)
		if err == nil {
			u.n, u.generation, u.offer = len(todo), generation, offered(todo, u)
			err = fl.ledger.commit(u)
		}
		if err != nil {
			return fmt.Errorf("shard %d: flush up to index %d: %w", fl.cfg.ID, todo[len(todo)-1].index, err)
		}
	}
}

// writeSegments writes the rows of frozen memtables to segments and returns the edit that makes the
// segments live. When it returns, the file names are durable. Rows that cannot be written as a
// segment go to raw segments, so that they block nothing else. After an error it removes its files.
func (fl *Flusher) writeSegments(todo []*frozen) (*pendingEdit, error) {
	postponed := fl.postponed()
	for {
		u, faults, err := fl.tryWrite(todo, postponed)
		if err == nil && len(faults) == 0 {
			return u, nil
		}
		u.forget()
		if err = errors.Join(err, fl.files.removeNew(u.edit.Add)); err != nil {
			return nil, err
		}
		maps.Copy(postponed, faults)
	}
}

// tryWrite makes one attempt of writeSegments. It writes the rows of postponed tables to raw
// segments, and returns further tables whose rows cannot be written, with the reasons. In that case
// it has to be called again, because all rows of a table must go into the same kind of segment.
func (fl *Flusher) tryWrite(todo []*frozen,
	postponed map[uint64]string,
) (u *pendingEdit, faults map[uint64]string, err error) {
	last := todo[len(todo)-1]
	edit := &manifest.Edit{
		AppliedIndex: last.index,
		AppliedTerm:  last.term,
		Clock:        last.clock,
		Sessions:     last.sessions,
		Keys:         last.keys,
		Cold:         last.cold,
	}
	u = &pendingEdit{edit: edit, raws: map[uint64]loadedRaw{}}
	changed := map[uint64]manifest.Table{}
	expired := map[uint64]manifest.Expiry{}
	fl.tables.mu.RLock() // a drop may remove a table from a frozen memtable
	for _, f := range todo {
		for _, t := range f.changes.Tables {
			changed[t.ID] = t
		}
		for _, x := range f.changes.Expires {
			expired[x.TableID] = x
		}
		edit.Sets = append(edit.Sets, f.changes.Sets...)
		for _, d := range f.changes.Drops {
			edit.Drop = append(edit.Drop, d.TableID)
		}
		edit.Tombstones = append(edit.Tombstones, f.changes.Drops...)
	}
	again := fl.retryRaws(postponed, edit)
	stages := fl.stages(append(again, todo...))
	raws := rawsOf(todo, postponed)
	fl.tables.mu.RUnlock()
	for id := range postponed {
		for _, st := range stages {
			st.omit(id)
		}
	}
	for _, id := range edit.Drop {
		delete(changed, id)
		delete(expired, id)
		raws = slices.DeleteFunc(raws, func(raw *segment.Raw) bool { return raw.TableID == id })
		for _, st := range stages {
			st.omit(id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(changed)) {
		edit.Tables = append(edit.Tables, changed[id])
	}
	for _, id := range slices.Sorted(maps.Keys(expired)) {
		edit.Expire = append(edit.Expire, expired[id])
	}
	taken := false
	if len(again)+len(raws) == 0 {
		edit.Add, taken = fl.take(todo, stages)
	}
	if !taken {
		faults, err = fl.writeStages(stages, edit)
	}
	var done []uint64
	if err == nil && len(faults) == 0 {
		for _, st := range stages {
			done = slices.AppendSeq(done, maps.Keys(st.rows))
		}
		err = fl.writeRaws(u, raws)
	}
	fl.crashes.end(done...)
	return u, faults, err
}
