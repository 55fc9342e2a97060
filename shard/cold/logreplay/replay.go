package logreplay

import (
	"fmt"
	"maps"
	"slices"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/shard/cold/states"
	"cordwood/shard/manifest"
	"cordwood/shard/rules"
)

// replay turns the entries of a lost log into those that are put behind a state. The state has everything up to its
// index except rows that are in no object: of the entries up to there, only these rows are taken. Later entries are
// taken as they are, except those about object storage: rows that were cut after the state stay in the log.
type replay struct {
	log   *Log
	state *rules.State // at log.applied
	shard uint32
	// known are the definitions that the entries so far have brought.
	known map[uint64]*rules.Definition
	// done are the batches: true for those up to the state, whose later copies were not appended.
	done    map[rules.BatchID]bool
	without map[uint64]bool

	clock         int64
	rows, refused map[uint64]int64
	dropped       []uint64
}

func newReplay(g *Log, state *manifest.State) (*replay, error) {
	st, err := rules.NewState(g.Shard, state)
	if err != nil {
		return nil, fmt.Errorf("the state of shard %d: %w", g.Shard, err)
	}
	r := &replay{
		log: g, state: st, shard: g.Shard, known: map[uint64]*rules.Definition{}, done: map[rules.BatchID]bool{},
		without: map[uint64]bool{}, rows: map[uint64]int64{}, refused: map[uint64]int64{},
	}
	for _, id := range g.Without {
		r.without[id] = true
	}
	return r, nil
}

// tables returns the definitions that the entries brought and that the state lacks.
func (r *replay) tables() (list []*schemapb.Table) {
	for _, id := range slices.Sorted(maps.Keys(r.known)) {
		d := r.known[id]
		had := r.state.Tables[id]
		if _, gone := r.state.Dropped[id]; !gone && (had == nil || d.NewerThan(had)) {
			list = append(list, d.ToProto())
		}
	}
	return list
}

// entry passes on what an entry becomes, if anything. f may be nil.
func (r *replay) entry(e *states.LogEntry, f func([]byte) error) error {
	if !e.Command {
		return nil
	}
	x, err := rules.DecodeEntry(e.Data)
	if err != nil {
		return fmt.Errorf("entry %d of the log of shard %d: %w", e.Index, r.shard, err)
	}
	if e.Index < r.log.From {
		return r.before(x)
	}
	r.clock = max(r.clock, x.Time)
	later := e.Index > r.log.applied
	data := e.Data
	switch x.Kind {
	case rules.KindWrite:
		changed, err := r.write(e.Index, x)
		if err != nil {
			return fmt.Errorf("entry %d of the log of shard %d: %w", e.Index, r.shard, err)
		}
		if changed {
			if len(x.Writes) == 0 && !later {
				return nil
			}
			data = rules.AppendEntry(nil, x)
		}
	case rules.KindDefine:
		if _, err := r.learn(x.Tables); err != nil {
			return err
		}
		if !later {
			return nil
		}
	case rules.KindDropTable:
		if !later {
			return nil
		}
		r.dropped = append(r.dropped, x.TableID)
		delete(r.known, x.TableID)
		delete(r.rows, x.TableID)
	case rules.KindExpire:
		if !later {
			return nil
		}
	default: // about object storage
		return nil
	}
	if f == nil {
		return nil
	}
	return f(data)
}

// before notes the batches of an entry whose rows are in objects, because they may have been sent again.
func (r *replay) before(x *rules.Entry) error {
	if _, err := r.learn(x.Tables); err != nil {
		return err
	}
	for i := range x.Writes {
		if _, err := r.learn(x.Writes[i].Tables); err != nil {
			return err
		}
		for _, data := range x.Writes[i].Batches {
			h, err := column.DecodeHeader(data)
			if err != nil {
				return err
			}
			if !r.refusedThen(&h) {
				r.done[rules.IDOf(&h)] = true
			}
		}
	}
	return nil
}

// learn notes definitions.
func (r *replay) learn(encoded [][]byte) ([]*rules.Definition, error) {
	defs, err := rules.ParseTables(encoded)
	if err != nil {
		return nil, err
	}
	for _, d := range defs {
		if had := r.known[d.ID]; had == nil || d.NewerThan(had) {
			r.known[d.ID] = d
		}
	}
	return defs, nil
}

// write takes out of an entry what is not to be written again. changed reports whether the entry differs now.
func (r *replay) write(index uint64, x *rules.Entry) (changed bool, err error) {
	later := index > r.log.applied
	var writes []rules.Write
	for i := range x.Writes {
		w := x.Writes[i]
		if _, err := r.learn(w.Tables); err != nil {
			return false, err
		}
		var batches [][]byte
		for _, data := range w.Batches {
			h, err := column.DecodeHeader(data)
			if err != nil {
				return false, err
			}
			kept := data
			if later {
				if r.without[h.TableID] || r.wasDone(&h) {
					kept = nil
				}
			} else if kept, err = r.early(index, &h, data); err != nil {
				return false, err
			}
			if kept != nil {
				batches = append(batches, kept)
				if _, again := r.done[rules.IDOf(&h)]; !again || !later || h.Session == 0 {
					r.rows[h.TableID] += int64(h.Rows)
				}
				if later && h.Session != 0 {
					r.done[rules.IDOf(&h)] = false
				}
			}
		}
		switch {
		case later && len(batches) == len(w.Batches):
			writes = append(writes, w)
		case len(batches) > 0:
			changed = true
			if !later {
				w.Tables = nil // the state has them, or newer ones
			}
			writes = append(writes, rules.Write{Tables: w.Tables, Batches: batches})
		default:
			changed = true
		}
	}
	x.Writes = writes
	return changed, nil
}

func (r *replay) wasDone(h *column.Header) bool {
	return h.Session != 0 && r.done[rules.IDOf(h)]
}

// early returns what is to be written of a batch in an entry that the state has, or nil: its rows may be in objects.
func (r *replay) early(index uint64, h *column.Header, data []byte) ([]byte, error) {
	d := r.state.Tables[h.TableID]
	switch x := r.state.Expired[h.TableID]; {
	case d == nil || d.Instant || r.without[h.TableID] || r.refusedThen(h) || r.wasDone(h):
		return nil, nil
	case h.Session != 0:
		r.done[rules.IDOf(h)] = true
		fallthrough
	default:
		if index <= r.log.covered[h.TableID] || h.MaxTime < x.Before && index < x.Index {
			return nil, nil
		}
	}
	return r.mend(h, d, data)
}

// refusedThen reports whether a batch was refused when its entry was applied, as far as the definitions tell that were
// in the log before it.
func (r *replay) refusedThen(h *column.Header) bool {
	d := r.known[h.TableID]
	if d == nil {
		return false
	}
	w := d.Writable()
	return len(d.Placement) > 0 && (h.Epoch < w.Epoch || h.Epoch == w.Epoch && !w.Takes(r.shard)) ||
		h.SchemaVersion < d.MinWriterVersion
}

// mend returns a batch as the present definition of its table takes it, or nil if there is no way. The batch was taken
// when the definition was an older one.
func (r *replay) mend(h *column.Header, d *rules.Definition, data []byte) ([]byte, error) {
	w := d.Writable()
	placed := len(d.Placement) == 0 || h.Epoch == w.Epoch
	if placed && h.SchemaVersion >= d.MinWriterVersion {
		return data, nil
	}
	if len(d.Placement) > 0 && !w.Takes(r.shard) {
		r.refused[d.ID] += int64(h.Rows)
		return nil, nil
	}
	b, err := column.Decode(data, nil)
	if err != nil {
		return nil, err
	}
	var rows column.Builder
	kept := 0
	for i := range b.Cols {
		v := &b.Cols[i]
		at := slices.IndexFunc(d.Columns, func(c schema.Column) bool { return c.ID == v.ID })
		c := schema.Column{ID: v.ID, Type: v.Type}
		switch {
		case at >= 0:
			c.Semantic = d.Columns[at].Semantic
		case v.ID != schema.DeletedColumnID:
			continue // it was dropped
		}
		col := rows.Add(c)
		for row := range b.Rows {
			col.SetFrom(row, v, row)
		}
		kept++
	}
	for range b.Rows {
		rows.EndRow()
	}
	head := *h
	head.Epoch, head.SchemaVersion = w.Epoch, max(h.SchemaVersion, d.MinWriterVersion)
	mended := rows.Encode(nil, head)
	again, err := column.Decode(mended, nil)
	if err != nil {
		return nil, err
	}
	adm := rules.Admission{State: r.state}
	if v, err := adm.Admit(&again.Header); v != rules.Admitted || err != nil || adm.Accept(again) != nil {
		r.refused[d.ID] += int64(h.Rows)
		return nil, nil
	}
	return mended, nil
}
