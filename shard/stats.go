package shard

import (
	"maps"
	"slices"
	"strings"

	"cordwood/proto/shardpb"
	"cordwood/shard/segment"
)

// Stats describes the shard; with segments set it lists them too. State is that of
// the replica in lower case, followed by what a flush last failed with, if it did.
func (s *Shard) Stats(segments bool) *shardpb.ShardStats {
	r := s.replica.Stats()
	out := &shardpb.ShardStats{
		ShardId: s.cfg.ID, State: strings.ToLower(r.State), Leader: r.Leader, Term: r.Term,
		LogBytes: r.LogBytes, FlushedIndex: s.flushed.Load(),
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closing {
		out.State = "closing"
	}
	if s.flushErr != nil {
		out.State += "; flush fails: " + s.flushErr.Error()
	}
	out.AppliedIndex = s.appliedIndex
	out.MemtableBytes = s.memoryLocked()

	tables := map[uint64]*shardpb.TableStats{}
	table := func(id uint64) *shardpb.TableStats {
		t := tables[id]
		if t == nil {
			t = &shardpb.TableStats{TableId: id}
			tables[id] = t
		}
		return t
	}
	for id := range s.state.tables {
		table(id)
	}
	mems := append(make([]*frozen, 0, len(s.frozen)+1), s.frozen...)
	for _, f := range append(mems, &frozen{mem: s.active}) {
		out.MemtableRows += f.mem.Rows()
		for _, id := range f.mem.Tables() {
			rows, bytes := f.mem.Table(id)
			t := table(id)
			t.Rows += rows
			t.MemtableBytes += bytes
		}
	}
	for id, list := range s.segments {
		t := table(id)
		for _, l := range list {
			t.Rows += l.span(id).Rows
			t.SegmentBytes += l.bytes(id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(tables)) {
		out.Tables = append(out.Tables, tables[id])
		if !segments {
			continue
		}
		for _, l := range s.segments[id] {
			span := l.span(id)
			out.Segments = append(out.Segments, &shardpb.SegmentStats{
				TableId: id, File: segment.FileName(l.ID), Rows: span.Rows, Bytes: l.bytes(id), MinTime: span.MinTime, MaxTime: span.MaxTime,
				Quarantined: l.damaged(),
			})
		}
	}
	return out
}
