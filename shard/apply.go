package shard

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"cordwood/proto/column"
	"cordwood/shard/replica"
	"cordwood/shard/rules"
	"cordwood/shard/store"
)

// fsm is the shard as its replica sees it.
type fsm struct{ s *Shard }

var (
	_ replica.Termed = fsm{}
	_ replica.Stager = fsm{}
	_ replica.Ahead  = fsm{}
)

// AppliedIndex returns the index of the last entry that the manifest holds.
func (f fsm) AppliedIndex() uint64 { return f.s.store.Tables.Base }

// AppliedTerm returns the term of that entry.
func (f fsm) AppliedTerm() uint64 { return f.s.store.Tables.AppliedTerm }

// AheadIndex returns the index up to which the manifest may be ahead of the log, because the manifest
// was taken over from another replica.
func (f fsm) AheadIndex() uint64 { return f.s.ahead }

// Apply applies a committed entry. It changes only memory. If there is no memory, it waits for a
// flush.
func (f fsm) Apply(index, term uint64, data []byte) any { return f.s.applier.apply(index, term, data) }

// Snapshot freezes the memtable after the last Apply.
func (f fsm) Snapshot(index uint64) (replica.Snapshot, error) {
	f.s.store.Tables.Freeze(index)
	return snapshot(f), nil
}

// applied is the result of an entry of writes.
type applied struct {
	writes []outcome
}

// outcome is the result of one write of an entry.
type outcome struct {
	// err, if set, is why the write was refused. need lists the tables whose definitions the write
	// lacked. If either is set, nothing of the write was appended.
	err  error
	need []uint64
	// duplicates is the number of batches that had been appended before.
	duplicates int
}

// applier applies the entries of the log. Only the replica's apply goroutine uses it.
type applier struct {
	cfg         *Config
	metrics     *store.Metrics
	tables      *store.Tables
	files       *store.SegmentFiles
	flusher     *store.Flusher
	decoded     *sync.Map // shared with writer
	opened      <-chan struct{}
	stop        <-chan struct{}
	wakeFlusher func()

	ids     map[rules.BatchID]struct{}
	batches []*column.Batch
	encoded [][]byte // the encoded batches of the entry, by index
	// waits is set while Apply waits for memory that will not be free soon.
	waits atomic.Bool
}

// apply is called by the replica's goroutine, index after index.
func (ap *applier) apply(index, term uint64, data []byte) any {
	if index <= ap.tables.Base {
		return nil // a replay: the manifest already has the entry
	}
	e, err := rules.DecodeEntry(data)
	if err != nil {
		return replica.Halt(fmt.Errorf("shard %d: entry %d: %w", ap.cfg.ID, index, err))
	}
	if e.Kind != rules.KindWrite || len(e.Writes) > 0 {
		defer func() { ap.tables.Content = index }()
	}
	switch e.Kind {
	case rules.KindDropTable:
		ap.tables.Drop(index, term, e)
		return nil
	case rules.KindExpire:
		ap.tables.Expire(index, term, e, ap.files.IDs.Upcoming())
		return nil
	case rules.KindCut:
		return ap.cold("cut", ap.tables.OpenCut(index, term, e))
	case rules.KindJoin:
		return ap.cold("join", ap.tables.Join(index, term, e))
	case rules.KindOffload:
		return ap.cold("offload", ap.tables.Offload(index, term, e))
	case rules.KindForget:
		ap.tables.ForgetObjects(index, term, e)
		return nil
	case rules.KindDefine:
		if err := ap.applyDefine(index, term, e); err != nil {
			return replica.Halt(fmt.Errorf("shard %d: entry %d: %w", ap.cfg.ID, index, err))
		}
		return nil
	}
	begin := time.Now()
	defer func() { ap.metrics.ApplySeconds.Observe(time.Since(begin).Seconds()) }()
	result, ok, err := ap.applyWithMemory(index, term, data, e)
	if !ok {
		return replica.Abandon()
	}
	if err != nil {
		return replica.Halt(fmt.Errorf("shard %d: entry %d: %w", ap.cfg.ID, index, err))
	}
	return result
}

// cold returns the outcome of an entry about object storage. A difference between the rows in the objects and the rows
// that were appended is counted and logged on each replica.
func (ap *applier) cold(kind string, err error) any {
	refused := (*rules.ErrCold)(nil)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused) && refused.Mismatch:
		ap.metrics.ColdMismatches.Inc()
		ap.cfg.Logger.Error("objects do not have the rows that they should have: they are not used, and all rows stay where "+
			"they are", "error", err)
	default:
		ap.cfg.Logger.Debug("refused an entry about object storage", "kind", kind, "error", err)
	}
	return err
}

// applyWrites appends the writes of an entry that the rules admit. It decodes before it takes the
// lock; under the lock it only links the batches of the entry.
func (ap *applier) applyWrites(index, term uint64, e *rules.Entry, ready []decoded) (*applied, error) {
	result := &applied{writes: make([]outcome, len(e.Writes))}
	// Reading needs no lock here: only this goroutine changes the state and the active memtable.
	adm := rules.Admission{State: ap.tables.State, IDs: ap.ids}
	clear(adm.IDs)
	var defs []store.DefinedAt
	link := ap.batches[:0]
	for i := range e.Writes {
		w := &e.Writes[i]
		learned, err := rules.ParseTables(w.Tables)
		if err != nil {
			return nil, fmt.Errorf("write %d: table definition: %w", i, err)
		}
		for _, d := range learned {
			defs = append(defs, store.DefinedAt{Definition: d, Batches: len(link)})
		}
		adm.Learn(learned)
		from := len(link)
		out := &result.writes[i]
		var have []*column.Batch
		if i < len(ready) && ready[i].mem == ap.tables.Mem.Active {
			have = ready[i].batches
		}
		if link, err = ap.applyWrite(&adm, w, have, link, out); err != nil {
			return nil, fmt.Errorf("write %d: %w", i, err)
		}
		if out.err != nil || out.need != nil {
			for _, b := range link[from:] {
				delete(adm.IDs, rules.IDOf(&b.Header))
			}
			link = link[:from]
		}
	}

	rows, full := ap.tables.Link(&store.Addition{
		Index: index, Term: term, Time: e.Time, ByUser: e.ByUser, Defs: defs, Batches: link, Encoded: ap.encoded[:len(link)],
	})
	clear(link) // the memtable has them now, and a stale pointer would keep them alive
	ap.batches = link[:0]
	clear(ap.encoded)
	ap.metrics.Entries.Inc()
	ap.metrics.Rows.Add(float64(rows))
	if full {
		ap.wakeFlusher()
	}
	return result, nil
}

// applyWrite decodes the batches of a write that are to be appended, and adds them to link. It
// reuses batches that are already decoded in have. An error means that no leader would propose such
// an entry.
func (ap *applier) applyWrite(adm *rules.Admission, w *rules.Write, have, link []*column.Batch,
	out *outcome,
) ([]*column.Batch, error) {
	for j, data := range w.Batches {
		var b *column.Batch
		if have != nil {
			b = have[j]
		}
		h, err := store.HeaderOf(b, data)
		if err != nil {
			return link, fmt.Errorf("batch %d: %w", j, err)
		}
		v, err := adm.Admit(&h)
		switch v {
		case rules.Duplicate:
			out.duplicates++
			continue
		case rules.NeedsTable:
			if !slices.Contains(out.need, h.TableID) {
				out.need = append(out.need, h.TableID)
			}
			continue
		case rules.Refused:
			out.err = err
			return link, nil
		}
		if b == nil {
			if b, err = store.DecodeInto(ap.tables.Mem.Active, data); err != nil {
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
		ap.encoded = append(ap.encoded[:len(link)-1], data)
		if b.Session != 0 {
			adm.IDs[rules.IDOf(&b.Header)] = struct{}{}
		}
	}
	return link, nil
}

// applyDefine adopts the definitions that are newer than the known ones.
func (ap *applier) applyDefine(index, term uint64, e *rules.Entry) error {
	defs, err := rules.ParseTables(e.Tables)
	if err != nil {
		return fmt.Errorf("table definition: %w", err)
	}
	ap.tables.Redefine(index, term, e.Time, defs)
	return nil
}

// snapshot is a frozen memtable as the replica sees it.
type snapshot struct{ s *Shard }

// Persist flushes the frozen memtable. When it returns nil, the replica cuts the log.
func (p snapshot) Persist(w io.Writer) error {
	if err := p.s.store.Flusher.Flush(); err != nil {
		return err
	}
	return writeSnapshot(w, p.s.cfg.ID, p.s.store.Ledger.State())
}

// Release does nothing: a memtable that could not be flushed stays frozen, and is flushed with the
// next snapshot.
func (p snapshot) Release() {}
