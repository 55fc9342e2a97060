package shard

import (
	"fmt"
	"time"

	"cordwood/proto/column"
	"cordwood/shard/memtable"
	"cordwood/shard/replica"
	"cordwood/shard/rules"
)

// fsm is the shard as its replica sees it.
type fsm struct{ s *Shard }

var (
	_ replica.Termed = fsm{}
	_ replica.Stager = fsm{}
	_ replica.Ahead  = fsm{}
)

// AppliedIndex is the index of the last entry that the manifest holds.
func (f fsm) AppliedIndex() uint64 { return f.s.base }

// AppliedTerm is the term of that entry.
func (f fsm) AppliedTerm() uint64 { return f.s.appliedTerm }

// AheadIndex is the index up to which the manifest may be ahead of the log, because it
// was taken over from another replica.
func (f fsm) AheadIndex() uint64 { return f.s.ahead }

// Apply applies a committed entry. It does memory work only, unless there is no memory.
func (f fsm) Apply(index, term uint64, data []byte) any { return f.s.apply(index, term, data) }

// Snapshot freezes the memtable after the last Apply.
func (f fsm) Snapshot(index uint64) (replica.Snapshot, error) { return f.s.freeze(index), nil }

// applied is the result of an entry of writes.
type applied struct {
	writes []outcome
}

// outcome is what became of one write of an entry.
type outcome struct {
	// err, if set, refused the write; need, if set, are the tables whose definitions
	// it lacked. In both cases nothing of it was appended.
	err  error
	need []uint64
	// duplicates are the batches that had been appended before.
	duplicates int
}

// apply is called by the replica's goroutine, index after index.
func (s *Shard) apply(index, term uint64, data []byte) any {
	if index <= s.base {
		return nil // replayed: the manifest has it
	}
	e, err := rules.DecodeEntry(data)
	if err != nil {
		return replica.Halt(fmt.Errorf("shard %d: entry %d: %w", s.cfg.ID, index, err))
	}
	switch e.Kind {
	case rules.KindDropTable:
		s.applyDrop(index, term, e)
		return nil
	case rules.KindExpire:
		s.applyExpire(index, term, e)
		return nil
	case rules.KindDefine:
		if err := s.applyDefine(index, term, e); err != nil {
			return replica.Halt(fmt.Errorf("shard %d: entry %d: %w", s.cfg.ID, index, err))
		}
		return nil
	}
	begin := time.Now()
	defer func() { s.metrics.applySeconds.Observe(time.Since(begin).Seconds()) }()
	result, ok, err := s.applyWithMemory(index, term, data, e)
	if !ok {
		return replica.Abandon()
	}
	if err != nil {
		return replica.Halt(fmt.Errorf("shard %d: entry %d: %w", s.cfg.ID, index, err))
	}
	return result
}

// applyWrites appends the writes of an entry that the rules admit. Everything that
// takes time is done before the lock; under it batches are only linked, all of an
// entry at once.
func (s *Shard) applyWrites(index, term uint64, e *rules.Entry, ready []decoded) (*applied, error) {
	result := &applied{writes: make([]outcome, len(e.Writes))}
	// No lock to read: only this goroutine changes the state and the active memtable.
	adm := rules.Admission{State: s.state, IDs: s.applyIDs}
	clear(adm.IDs)
	var defs []definedAt
	link := s.applyBatches[:0]
	for i := range e.Writes {
		w := &e.Writes[i]
		learned, err := rules.ParseTables(w.Tables)
		if err != nil {
			return nil, fmt.Errorf("write %d: table definition: %w", i, err)
		}
		for _, d := range learned {
			defs = append(defs, definedAt{d, len(link)})
		}
		adm.Learn(learned)
		from := len(link)
		out := &result.writes[i]
		var have []*column.Batch
		if i < len(ready) && ready[i].mem == s.active {
			have = ready[i].batches
		}
		if link, err = s.applyWrite(&adm, w, have, link, out); err != nil {
			return nil, fmt.Errorf("write %d: %w", i, err)
		}
		if out.err != nil || out.need != nil {
			for _, b := range link[from:] {
				delete(adm.IDs, rules.IDOf(&b.Header))
			}
			link = link[:from]
		}
	}

	s.mu.Lock()
	s.tick(e.Time)
	bytes := s.active.Bytes()
	first := s.active.Empty()
	rows := 0
	s.state.ShareKeys(e.ByUser)
	for i, b := range link {
		defs = s.defineUpTo(defs, i)
		s.state.Note(&b.Header)
		s.ingested.add(b.TableID, len(s.applyEncoded[i]))
		if s.state.Tables[b.TableID].Instant {
			continue // accepted, and thrown away
		}
		s.active.Append(b)
		rows += b.Rows
	}
	s.defineUpTo(defs, len(link))
	s.tellTails(link, s.applyEncoded[:len(link)])
	s.appliedIndex, s.appliedTerm = index, term
	if len(link) > 0 {
		s.activeLast = s.now()
		if first {
			s.activeSince = s.activeLast
		}
	}
	s.cfg.Budget.add(bytes - s.activeBytes)
	s.activeBytes = bytes
	wake := bytes >= s.cfg.FlushBytes || s.active.Rows() >= s.cfg.FlushBytes/rowBytes || bytes >= s.cfg.Budget.share()
	s.mu.Unlock()

	clear(link) // the memtable has them; a stale pointer here would keep them
	s.applyBatches = link[:0]
	clear(s.applyEncoded)
	s.metrics.entries.Inc()
	s.metrics.rows.Add(float64(rows))
	if wake {
		s.wakeFlusher()
	}
	return result, nil
}

// definedAt is a definition of an entry, and how many of its batches come before.
type definedAt struct {
	*rules.Definition
	batches int
}

// defineUpTo takes over the definitions that come before a batch of the entry, and
// returns the others; mu is held.
func (s *Shard) defineUpTo(defs []definedAt, batch int) []definedAt {
	for len(defs) > 0 && defs[0].batches <= batch {
		s.define(defs[0].Definition)
		defs = defs[1:]
	}
	return defs
}

// applyWrite decodes those batches of a write that are to be appended, unless have has
// them, and adds them to link. An error means that the entry is not what a leader
// proposes.
func (s *Shard) applyWrite(adm *rules.Admission, w *rules.Write, have, link []*column.Batch, out *outcome) ([]*column.Batch, error) {
	for j, data := range w.Batches {
		var b *column.Batch
		if have != nil {
			b = have[j]
		}
		h, err := headerOf(b, data)
		if err != nil {
			return link, fmt.Errorf("batch %d: %w", j, err)
		}
		v, err := adm.Admit(&h)
		switch v {
		case rules.Duplicate:
			out.duplicates++
			continue
		case rules.NeedsTable:
			out.need = appendNew(out.need, h.TableID)
			continue
		case rules.Refused:
			out.err = err
			return link, nil
		}
		if b == nil {
			if b, err = decodeInto(s.active, data); err != nil {
				return link, fmt.Errorf("batch %d: %w", j, err)
			}
		}
		if err := adm.Accept(b); err != nil {
			out.err = err
			return link, nil
		}
		if b.Rows == 0 {
			continue
		}
		link = append(link, b)
		s.applyEncoded = append(s.applyEncoded[:len(link)-1], data)
		if b.Session != 0 {
			adm.IDs[rules.IDOf(&b.Header)] = struct{}{}
		}
	}
	return link, nil
}

// headerOf is the header of b, or, if there is none, of the encoded batch.
func headerOf(b *column.Batch, data []byte) (column.Header, error) {
	if b != nil {
		return b.Header, nil
	}
	return column.DecodeHeader(data)
}

// decodeInto decodes a batch into the memory of a memtable, to which the caller has a
// reference. The error is noMemory if there is none.
func decodeInto(m *memtable.Memtable, data []byte) (*column.Batch, error) {
	size, err := column.InflatedSize(data)
	if err != nil {
		return nil, err
	}
	mem, err := m.Alloc(size)
	if err != nil {
		return nil, noMemory{err}
	}
	return column.Decode(data, mem)
}

func appendNew(ids []uint64, id uint64) []uint64 {
	for _, have := range ids {
		if have == id {
			return ids
		}
	}
	return append(ids, id)
}

// applyDrop forgets a table and its rows. Its files go when the manifest says that
// they are dead and nobody reads them.
func (s *Shard) applyDrop(index, term uint64, e *rules.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tick(e.Time)
	s.state.Drop(e.TableID)
	s.active.Drop(e.TableID)
	for _, f := range s.frozen {
		f.mem.Drop(e.TableID)
	}
	delete(s.segments, e.TableID)
	delete(s.aside.segments, e.TableID)
	s.endTails(e.TableID, tableGone(s.cfg.ID, e.TableID))
	s.tellHandoffs(e.TableID)
	s.appliedIndex, s.appliedTerm = index, term
}

// applyDefine takes over definitions that are newer than those known.
func (s *Shard) applyDefine(index, term uint64, e *rules.Entry) error {
	defs, err := rules.ParseTables(e.Tables)
	if err != nil {
		return fmt.Errorf("table definition: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tick(e.Time)
	for _, d := range defs {
		s.define(d)
	}
	s.appliedIndex, s.appliedTerm = index, term
	return nil
}

// applyExpire lets go of what has expired of tables, as far as all of a segment's or
// a batch's rows have: new views do not have it. Of the rest compaction takes care.
// What is written from now on is not touched, whatever its time: a table may get a
// longer ttl.
func (s *Shard) applyExpire(index, term uint64, e *rules.Entry) {
	order := s.ids.Upcoming()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tick(e.Time)
	for _, c := range e.Cutoffs {
		if !s.state.Expire(c, order) {
			continue
		}
		s.active.Expire(c.TableID, c.Before)
		for _, mem := range s.asideMems(c.TableID) {
			mem.Expire(c.TableID, c.Before)
		}
		for _, f := range s.frozen {
			f.mem.Expire(c.TableID, c.Before)
		}
		s.hide(c.TableID, func(l *liveSegment) bool { return s.state.Dead(l.span(c.TableID), l.Order) })
	}
	s.appliedIndex, s.appliedTerm = index, term
}
