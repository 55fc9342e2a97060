package rules

import (
	"maps"
	"slices"

	"cordwood/shard/manifest"
	"cordwood/shard/segment"
)

// State is what all replicas of the shard agree on, except the rows. Only Apply changes it, and the
// changes depend only on entries.
type State struct {
	ShardID uint32
	// Clock is the highest leader's time in an entry. It never goes back.
	Clock  int64
	Tables map[uint64]*Definition
	// Dropped are the tables dropped in the last manifest.TombstoneTTL, with the replicated clock
	// at the drop.
	Dropped map[uint64]int64
	// Expired is the latest expiry of each table.
	Expired  map[uint64]manifest.Expiry
	sessions map[uint64]*session
	// keys are the batches of requests with a key.
	keys *keyWindow
	// unlogged holds the sessions of batches that did not go through the log. This is the only
	// field that belongs to this replica alone: Apply ignores it.
	unlogged map[uint64]*session
	// dirty are the tables whose definitions changed since the last freeze.
	dirty map[uint64]struct{}
	// drops are the tables dropped since the last freeze, expires the tables with newly expired
	// rows.
	drops   []manifest.Tombstone
	expires map[uint64]struct{}
	cold    coldState
}

// NewState returns the state in a manifest.
func NewState(shardID uint32, m *manifest.State) (*State, error) {
	st := &State{
		ShardID: shardID, Clock: m.Clock, Tables: make(map[uint64]*Definition, len(m.Tables)),
		Dropped: make(map[uint64]int64, len(m.Dropped)), sessions: make(map[uint64]*session, len(m.Sessions)),
		unlogged: map[uint64]*session{}, keys: newKeyWindow(m.Keys),
		Expired: make(map[uint64]manifest.Expiry, len(m.Expired)), dirty: map[uint64]struct{}{},
		expires: map[uint64]struct{}{}, cold: newColdState(m),
	}
	for _, t := range m.Tables {
		d, err := loadDefinition(t)
		if err != nil {
			return nil, err
		}
		st.Tables[t.ID] = d
	}
	for _, d := range m.Dropped {
		if !d.Forgotten(m.Clock) {
			st.Dropped[d.TableID] = d.At
		}
	}
	for _, x := range m.Expired {
		st.Expired[x.TableID] = x
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

// Tick advances the clock to the time of an entry and removes sessions that are dead then. Its
// effect depends only on the clock, so that every replica does the same.
func (st *State) Tick(now int64) {
	before := st.Clock
	st.Clock = max(st.Clock, now)
	st.keys.age(st.Clock)
	if before/int64(sweepEvery) == st.Clock/int64(sweepEvery) {
		return
	}
	for id, s := range st.sessions {
		if st.Clock-s.last > int64(sessionTTL) {
			delete(st.sessions, id)
		}
	}
	for id, at := range st.Dropped {
		if (manifest.Tombstone{TableID: id, At: at}).Forgotten(st.Clock) {
			delete(st.Dropped, id)
		}
	}
}

// Define adopts a definition if it is newer than the known one.
func (st *State) Define(d *Definition) {
	if _, gone := st.Dropped[d.ID]; gone {
		return
	}
	if old := st.Tables[d.ID]; old != nil && !d.NewerThan(old) {
		return
	}
	st.Tables[d.ID] = d
	st.cold.defined(d)
	st.dirty[d.ID] = struct{}{}
}

// Drop removes a table. The drop is remembered for manifest.TombstoneTTL.
func (st *State) Drop(id uint64) {
	if _, gone := st.Dropped[id]; gone {
		return
	}
	delete(st.Tables, id)
	delete(st.dirty, id)
	delete(st.Expired, id)
	delete(st.expires, id)
	delete(st.cold.counted, id)
	st.Dropped[id] = st.Clock
	st.drops = append(st.drops, manifest.Tombstone{TableID: id, At: st.Clock})
}

// Expire records that rows of a table have expired, and reports whether that changes anything. A
// cutoff never decreases. order is the order of the next segment, index that of the entry in the log.
func (st *State) Expire(c Cutoff, order, index uint64) bool {
	if st.Tables[c.TableID] == nil || c.Before <= st.Expired[c.TableID].Before && st.Expired[c.TableID].Order > 0 {
		return false
	}
	x := manifest.Expiry{TableID: c.TableID, Before: c.Before, Order: order}
	if st.cold.lastCut > 0 {
		x.Index = index
		st.cold.expired(c)
	}
	st.Expired[c.TableID] = x
	st.expires[c.TableID] = struct{}{}
	return true
}

// Dead reports whether all rows of a span, in a segment of the given order, are dead.
func (st *State) Dead(t segment.TableSpan, order uint64) bool {
	if _, gone := st.Dropped[t.TableID]; gone {
		return true
	}
	x, ok := st.Expired[t.TableID]
	return ok && t.MaxTime < x.Before && order < x.Order
}

// Changes are the changes of tables since the last freeze.
type Changes struct {
	Tables  []manifest.Table
	Drops   []manifest.Tombstone
	Expires []manifest.Expiry
	Sets    []manifest.Set
}

// TakeChanges returns the changes since the last call, with tables in ascending order of ids.
func (st *State) TakeChanges() (c Changes) {
	for _, id := range slices.Sorted(maps.Keys(st.dirty)) {
		c.Tables = append(c.Tables, st.Tables[id].stored)
	}
	for _, id := range slices.Sorted(maps.Keys(st.expires)) {
		c.Expires = append(c.Expires, st.Expired[id])
	}
	c.Drops, c.Sets = st.drops, st.cold.takeSets()
	clear(st.dirty)
	clear(st.expires)
	st.drops = nil
	return c
}
