package manifest

import (
	"cmp"
	"maps"
	"slices"

	"cordwood/proto/schemapb"
	"cordwood/shard/segment"
)

// State is the durable state of a shard.
type State struct {
	// AppliedIndex is the index of the log up to which Segments and the rest hold
	// everything; AppliedTerm is its term.
	AppliedIndex, AppliedTerm uint64
	// NextSegmentID is above the id of every segment that was ever committed.
	NextSegmentID uint64
	// Clock is the shard's replicated clock, in nanoseconds since 1970.
	Clock int64
	// Segments are the live segments, by ascending id.
	Segments []segment.Meta
	// Tables are the newest known definitions, by ascending id.
	Tables []*schemapb.Table
	// Dropped are the ids of dropped tables, ascending.
	Dropped []uint64
	// Sessions are those of the writers, by ascending id.
	Sessions []Session
}

// Session is what a shard remembers of a writer to recognise its duplicates.
type Session struct {
	ID uint64
	// High is the highest sequence number appended.
	High uint64
	// Seen has bit i of word i/64 set if High-i was appended.
	Seen []uint64
	// LastUnixNano is the replicated clock at the last append.
	LastUnixNano int64
}

// Edit is a change of the state.
type Edit struct {
	AppliedIndex, AppliedTerm uint64
	// NextSegmentID takes effect if it is higher than the state's.
	NextSegmentID uint64
	Clock         int64
	// Add and Remove make segments live and dead.
	Add    []segment.Meta
	Remove []uint64
	// Tables replaces definitions; Drop drops tables, and makes their segments dead.
	Tables []*schemapb.Table
	Drop   []uint64
	// Sessions replaces all sessions.
	Sessions []Session
}

// apply returns the state after e; s stays as it is.
func (s *State) apply(e *Edit) *State {
	n := &State{
		AppliedIndex: e.AppliedIndex, AppliedTerm: e.AppliedTerm, Clock: e.Clock,
		NextSegmentID: max(s.NextSegmentID, e.NextSegmentID),
		Segments:      s.Segments, Tables: s.Tables, Dropped: s.Dropped,
		Sessions: slices.Clone(e.Sessions),
	}
	slices.SortFunc(n.Sessions, func(a, b Session) int { return cmp.Compare(a.ID, b.ID) })
	if len(e.Add)+len(e.Remove)+len(e.Drop) > 0 {
		live := map[uint64]segment.Meta{}
		for _, m := range s.Segments {
			if !slices.Contains(e.Drop, m.TableID) {
				live[m.ID] = m
			}
		}
		for _, id := range e.Remove {
			delete(live, id)
		}
		for _, m := range e.Add {
			live[m.ID] = m
			n.NextSegmentID = max(n.NextSegmentID, m.ID+1)
		}
		n.Segments = sorted(live)
	}
	if len(e.Drop) > 0 {
		dropped := map[uint64]uint64{}
		for _, id := range s.Dropped {
			dropped[id] = id
		}
		for _, id := range e.Drop {
			dropped[id] = id
		}
		n.Dropped = sorted(dropped)
	}
	if len(e.Tables)+len(e.Drop) > 0 {
		tables := map[uint64]*schemapb.Table{}
		for _, t := range s.Tables {
			tables[t.Id] = t
		}
		for _, t := range e.Tables {
			tables[t.Id] = t
		}
		for _, id := range e.Drop {
			delete(tables, id)
		}
		n.Tables = sorted(tables)
	}
	return n
}

// asEdit returns the edit that makes s out of nothing.
func (s *State) asEdit() *Edit {
	return &Edit{
		AppliedIndex: s.AppliedIndex, AppliedTerm: s.AppliedTerm, NextSegmentID: s.NextSegmentID, Clock: s.Clock,
		Add: s.Segments, Tables: s.Tables, Drop: s.Dropped, Sessions: s.Sessions,
	}
}

func sorted[V any](m map[uint64]V) []V {
	out := make([]V, 0, len(m))
	for _, id := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[id])
	}
	return out
}
