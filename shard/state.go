package shard

import "cordwood/shard/manifest"

// state is what all replicas of the shard agree on, besides the rows. It changes in
// Apply only, by entries alone.
type state struct {
	shardID uint32
	// clock is the highest leader's time of all entries; it never goes back.
	clock  int64
	tables map[uint64]*tableDef
	// dropped are the tables dropped in the last manifest.TombstoneTTL, with the clock
	// at the drop.
	dropped map[uint64]int64
	// expired is what expired last of each table.
	expired  map[uint64]manifest.Expiry
	sessions map[uint64]*session
	// keys are the batches of requests with a key.
	keys *keyWindow
	// unlogged are the sessions of batches that did not go through the log. It is the
	// one thing here that is this replica's own: Apply does not look at it.
	unlogged map[uint64]*session
	// dirty are the tables whose definitions changed since the last freeze.
	dirty map[uint64]struct{}
	// drops are the tables dropped since the last freeze, expires those of which rows
	// expired.
	drops   []manifest.Tombstone
	expires map[uint64]struct{}
}

func newState(shardID uint32, m *manifest.State) (*state, error) {
	st := &state{
		shardID: shardID, clock: m.Clock, tables: make(map[uint64]*tableDef, len(m.Tables)),
		dropped: make(map[uint64]int64, len(m.Dropped)), sessions: make(map[uint64]*session, len(m.Sessions)),
		unlogged: map[uint64]*session{}, keys: newKeyWindow(m.Keys),
		expired: make(map[uint64]manifest.Expiry, len(m.Expired)), dirty: map[uint64]struct{}{}, expires: map[uint64]struct{}{},
	}
	for _, t := range m.Tables {
		d, err := loadTableDef(t)
		if err != nil {
			return nil, err
		}
		st.tables[t.ID] = d
	}
	for _, d := range m.Dropped {
		if !d.Forgotten(m.Clock) {
			st.dropped[d.TableID] = d.At
		}
	}
	for _, x := range m.Expired {
		st.expired[x.TableID] = x
	}
	for _, s := range m.Sessions {
		ses := &session{high: s.High, last: s.LastUnixNano}
		copy(ses.seen[:], s.Seen)
		if s.Unlogged {
			st.unlogged[s.ID] = ses
		} else {
			st.sessions[s.ID] = ses
		}
	}
	return st, nil
}

// tick moves the clock to the time of an entry and forgets sessions that are dead by
// it. What it does depends on the clock alone, so that every replica does the same.
func (st *state) tick(now int64) {
	before := st.clock
	st.clock = max(st.clock, now)
	st.keys.age(st.clock)
	if before/int64(sweepEvery) == st.clock/int64(sweepEvery) {
		return
	}
	for id, s := range st.sessions {
		if st.clock-s.last > int64(sessionTTL) {
			delete(st.sessions, id)
		}
	}
	for id, at := range st.dropped {
		if (manifest.Tombstone{TableID: id, At: at}).Forgotten(st.clock) {
			delete(st.dropped, id)
		}
	}
}

// define takes over a definition if it is newer than the one known.
func (st *state) define(d *tableDef) {
	if _, gone := st.dropped[d.ID]; gone {
		return
	}
	if old := st.tables[d.ID]; old != nil && !d.newer(old) {
		return
	}
	st.tables[d.ID] = d
	st.dirty[d.ID] = struct{}{}
}

// drop forgets a table; that it was dropped is remembered for manifest.TombstoneTTL.
func (st *state) drop(id uint64) {
	if _, gone := st.dropped[id]; gone {
		return
	}
	delete(st.tables, id)
	delete(st.dirty, id)
	delete(st.expired, id)
	delete(st.expires, id)
	st.dropped[id] = st.clock
	st.drops = append(st.drops, manifest.Tombstone{TableID: id, At: st.clock})
}

// expire notes that rows of a table have expired, and tells whether that is news:
// cutoffs do not go back.
func (st *state) expire(c cutoff, order uint64) bool {
	if st.tables[c.tableID] == nil || c.before <= st.expired[c.tableID].Before && st.expired[c.tableID].Order > 0 {
		return false
	}
	st.expired[c.tableID] = manifest.Expiry{TableID: c.tableID, Before: c.before, Order: order}
	st.expires[c.tableID] = struct{}{}
	return true
}
