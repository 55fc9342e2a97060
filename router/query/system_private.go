package query

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
)

// nodesTable is svc_private.cluster_nodes.
var nodesTable = &systemTable{
	id: 4, database: schema.PrivateDatabase, name: "cluster_nodes",
	columns: []schema.Column{
		text("node_id"), text("name"), text("roles"), text("rpc_addr"), text("http_addr"), text("version"), moment("registered_at"),
	},
	rows: func(f *facts, w *rowWriter) error {
		for _, n := range f.meta().Nodes() {
			w.add(n.Id, n.Name, strings.Join(n.Roles, ","), n.RpcAddr, orNull(n.HttpAddr), n.Version, n.RegisteredUnixNano)
		}
		return nil
	},
}

// shardsTable is svc_private.shards, one row a shard.
var shardsTable = &systemTable{
	id: 5, database: schema.PrivateDatabase, name: "shards",
	columns: []schema.Column{
		number("shard_id"), number("incarnation"), text("replicas"), text("leader"), text("state"), count("term"),
		count("applied_index"), count("flushed_index"), count("lag"), number("tables"), number("rows"), number("bytes"),
		number("log_bytes"), number("memtable_bytes"), number("memtable_rows"),
	},
	rows: func(f *facts, w *rowWriter) error {
		leaders, err := f.leaders(statsTotals)
		if err != nil {
			return err
		}
		lag := map[uint32]uint64{}
		all, err := f.shards(statsTotals)
		if err != nil {
			return err
		}
		for _, s := range all {
			if l := leaders[s.ShardId]; l.AppliedIndex > s.AppliedIndex {
				lag[s.ShardId] = max(lag[s.ShardId], l.AppliedIndex-s.AppliedIndex)
			}
		}
		for _, shard := range f.meta().Shards() {
			replicas := strings.Join(shard.Replicas, ",")
			s := leaders[shard.Id]
			if s == nil {
				w.add(shard.Id, shard.Incarnation, replicas, nil, "unknown", nil, nil, nil, nil, nil, nil, nil, nil, nil, nil)
				continue
			}
			w.add(shard.Id, shard.Incarnation, replicas, orNull(s.Leader), s.State, s.Term, s.AppliedIndex, s.FlushedIndex, lag[shard.Id],
				s.TableCount, s.Rows, s.SegmentBytes+s.MemtableBytes, s.LogBytes, s.MemtableBytes, s.MemtableRows)
		}
		return nil
	},
}

// segmentsTable is svc_private.segments. Times are those of the time index.
var segmentsTable = &systemTable{
	id: 6, database: schema.PrivateDatabase, name: "segments", stats: statsSegments,
	columns: []schema.Column{
		text("table_schema"), text("table_name"), count("table_id"), number("shard_id"), text("file"), number("rows"), number("bytes"),
		{Name: "min_time", Type: schema.TimestampMicrosecond},
		{Name: "max_time", Type: schema.TimestampMicrosecond},
		text("quarantined"),
	},
	rows: func(f *facts, w *rowWriter) error {
		leaders, err := f.leaders(statsSegments)
		if err != nil {
			return err
		}
		shards := make([]*shardpb.ShardStats, 0, len(leaders))
		for _, s := range leaders {
			shards = append(shards, s)
		}
		slices.SortFunc(shards, func(a, b *shardpb.ShardStats) int { return cmp.Compare(a.ShardId, b.ShardId) })
		for _, shard := range shards {
			for _, seg := range shard.Segments {
				// A table that was dropped has segments until they are removed.
				var database, name, from, to any
				if t, ok := f.meta().TableByID(seg.TableId); ok {
					database, name = t.Database, t.Name
					unit := t.TimeIndex().Type
					from, to = micros(seg.MinTime, unit), micros(seg.MaxTime, unit)
				}
				w.add(database, name, seg.TableId, shard.ShardId, seg.File, seg.Rows, seg.Bytes, from, to, orNull(seg.Quarantined))
			}
		}
		return nil
	},
}

// operationsTable is svc_private.operations: what runs in the background of the shards,
// and what ended last.
var operationsTable = &systemTable{
	id: 8, database: schema.PrivateDatabase, name: "operations",
	columns: []schema.Column{
		number("shard_id"), number("operation_id"), text("kind"), text("state"), text("detail"),
		moment("started_at"), moment("ended_at"), number("done_bytes"), number("total_bytes"), text("error"),
	},
	rows: func(f *facts, w *rowWriter) error {
		all, err := f.shards(statsTotals)
		if err != nil {
			return err
		}
		for _, s := range all {
			for _, op := range s.Operations {
				state, ended := "running", any(nil)
				if op.EndedUnixNano != 0 {
					state, ended = "done", op.EndedUnixNano
				}
				if op.Error != "" {
					state = "failed"
				}
				w.add(s.ShardId, op.Id, op.Kind, state, op.Detail, op.StartedUnixNano, ended, op.DoneBytes, op.TotalBytes, orNull(op.Error))
			}
		}
		return nil
	},
}

// pipelinesTable is svc_private.pipelines, one row a version. All databases share them.
var pipelinesTable = &systemTable{
	id: 7, database: schema.PrivateDatabase, name: "pipelines",
	columns: []schema.Column{text("name"), text("schema"), text("content_type"), text("pipeline"), moment("created_at")},
	rows: func(f *facts, w *rowWriter) error {
		return f.meta().EachPipelineText(f.ctx, func(p *metapb.PipelineVersion, source []byte) error {
			w.add(p.Name, "", p.ContentType, string(source), p.Version)
			return nil
		})
	},
}

// internalTable finds a table with rows of its own in a database of the server's, such
// as svc_private.rejects. It may be read like any table, and changed by nobody.
func (s *Service) internalTable(database, name string) (*schema.Table, bool) {
	if !strings.EqualFold(database, schema.PrivateDatabase) {
		return nil, false
	}
	return s.cfg.Meta.Table(schema.PrivateDatabase, strings.ToLower(name))
}

// micros is a time index in microseconds, rounded down; nil if they cannot hold it.
func micros(v int64, unit schema.Type) any {
	per := unit.UnitsPerSecond()
	if per > 1e6 {
		m := v / (per / 1e6)
		if v%(per/1e6) < 0 {
			m--
		}
		return m
	}
	factor := 1e6 / per
	if v > math.MaxInt64/factor || v < math.MinInt64/factor {
		return nil
	}
	return v * factor
}
