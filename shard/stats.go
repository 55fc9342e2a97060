package shard

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"cordwood/proto/shardpb"
	"cordwood/shard/memtable"
)

// Stats describes the shard; with segments set it lists them too.
func (s *Shard) Stats(segments bool) *shardpb.ShardStats {
	return s.StatsOf(&shardpb.StatsRequest{Segments: segments})
}

// StatsOf describes the shard, and those of its tables that are asked for. State is that of
// the replica in lower case, followed by what a flush last failed with, if it did.
func (s *Shard) StatsOf(req *shardpb.StatsRequest) *shardpb.ShardStats {
	r := s.replica.Stats()
	out := &shardpb.ShardStats{
		ShardId: s.cfg.ID, State: strings.ToLower(r.State), Leader: r.Leader, Term: r.Term,
		LogBytes: r.LogBytes, FlushedIndex: s.tables.flushed.Load(), Incarnation: s.cfg.Incarnation, NodeId: s.cfg.NodeID,
		CommitIndex: r.ToldIndex, LastIndex: r.LastIndex,
	}
	for _, m := range r.Members {
		if m.Voter {
			out.Voters = append(out.Voters, m.NodeID)
		} else {
			out.Learners = append(out.Learners, m.NodeID)
		}
	}
	s.tables.mu.RLock()
	defer s.tables.mu.RUnlock()
	if s.tables.closing {
		out.State = "closing"
	}
	if s.tables.flushErr != nil {
		out.State += "; flush fails: " + s.tables.flushErr.Error()
	}
	out.AppliedIndex = s.tables.appliedIndex
	out.MemtableBytes = s.tables.mem.size()

	mems := []*memtable.Memtable{s.tables.mem.active}
	for _, f := range s.tables.mem.frozen {
		mems = append(mems, f.mem)
	}
	for _, id := range slices.Sorted(maps.Keys(s.tables.segs.aside)) {
		mems = append(mems, s.tables.segs.asideMems(id)...)
	}
	out.TableCount = int64(len(s.tables.state.Tables))
	for _, m := range mems {
		out.MemtableRows += m.Rows()
	}
	out.Rows = out.MemtableRows
	for id, list := range s.tables.segs.byTable {
		for _, l := range list {
			out.Rows += l.span(id).Rows
			out.SegmentBytes += l.bytes(id)
		}
	}
	out.Operations = s.operations.list()
	if req.NoTables {
		return out
	}
	var wanted iter.Seq[uint64]
	if len(req.TableIds) > 0 {
		wanted = slices.Values(req.TableIds)
	}
	s.tables.tableStats(out, mems, wanted, req.Segments)
	return out
}

// tableStats adds what there is to say of the wanted tables; nil: of all. mu is held.
func (tb *tables) tableStats(out *shardpb.ShardStats, mems []*memtable.Memtable, wanted iter.Seq[uint64], segments bool) {
	tables := map[uint64]*shardpb.TableStats{}
	table := func(id uint64) *shardpb.TableStats {
		t := tables[id]
		if t == nil {
			t = &shardpb.TableStats{TableId: id}
			tables[id] = t
		}
		return t
	}
	if wanted == nil {
		for _, m := range mems {
			for _, id := range m.Tables() {
				table(id)
			}
		}
		for id := range tb.segs.byTable {
			table(id)
		}
		wanted = maps.Keys(tb.state.Tables)
	}
	for id := range wanted {
		if tb.state.Tables[id] != nil || tb.segs.byTable[id] != nil {
			table(id)
		}
	}
	for id, t := range tables {
		for _, m := range mems {
			rows, bytes := m.Table(id)
			t.Rows += rows
			t.MemtableBytes += bytes
		}
		for _, l := range tb.segs.byTable[id] {
			t.Rows += l.span(id).Rows
			t.SegmentBytes += l.bytes(id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(tables)) {
		out.Tables = append(out.Tables, tables[id])
		if !segments {
			continue
		}
		for _, l := range tb.segs.byTable[id] {
			span := l.span(id)
			out.Segments = append(out.Segments, &shardpb.SegmentStats{
				TableId: id, File: l.FileName(), Rows: span.Rows, Bytes: l.bytes(id), MinTime: span.MinTime, MaxTime: span.MaxTime,
				Quarantined: l.damaged(),
			})
		}
	}
}
