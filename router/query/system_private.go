package query

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/router/access"
)

// nodesTable is svc_private.cluster_nodes. Values that only the leader of the metadata group knows are null if
// there is no leader.
var nodesTable = &systemTable{
	id: 4, database: schema.PrivateDatabase, name: "cluster_nodes", needs: access.Monitor,
	columns: []schema.Column{
		text("node_id"), text("name"), text("roles"), text("rpc_addr"), text("http_addr"), text("version"),
		moment("registered_at"),
		text("zone"), text("state"), text("meta_role"), number("silent_ms"), number("replicas"), number("leads"),
		number("bytes"),
		number("disk_used"), number("disk_capacity"),
	},
	rows: func(f *facts, w *rowWriter) error {
		// Without a leader the rest is known anyway.
		status, _ := f.meta().Status(f.ctx)
		reported := map[string]*metapb.NodeStatus{}
		for _, n := range status.GetNodes() {
			reported[n.GetNode().GetId()] = n
		}
		replicas := map[string]int{}
		for _, s := range f.meta().Shards() {
			for _, id := range s.Replicas {
				replicas[id]++
			}
		}
		for _, n := range f.meta().Nodes() {
			state, meta := nodeState(n, reported[n.Id]), any(nil)
			for _, m := range status.GetMembers() {
				if m.NodeId == n.Id {
					meta = memberRole(m, status.Leader)
				}
			}
			var silent, leads, bytes, used, capacity any
			if r := reported[n.Id]; r != nil {
				silent = r.SilentNanos / 1e6
				if report := r.Report; report != nil {
					l, b := 0, int64(0)
					for _, shard := range report.Replicas {
						b += shard.SegmentBytes + shard.MemtableBytes + shard.LogBytes
						if strings.EqualFold(shard.State, "leader") && !r.Down {
							l++
						}
					}
					leads, bytes, used, capacity = l, b, report.DiskUsed, report.DiskCapacity
				}
			}
			w.add(n.Id, n.Name, strings.Join(n.Roles, ","), n.RpcAddr, orNull(n.HttpAddr), n.Version, n.RegisteredUnixNano,
				orNull(n.Zone), state, meta, silent, replicas[n.Id], leads, bytes, used, capacity)
		}
		return nil
	},
}

// nodeState returns the planned state of a node, or that it does not answer.
func nodeState(n *metapb.Node, r *metapb.NodeStatus) any {
	switch {
	case r.GetDown():
		return "down"
	case n.State == metapb.NodeState_NODE_STATE_DRAINING:
		return "draining"
	case n.State == metapb.NodeState_NODE_STATE_DRAINED:
		return "drained"
	case r.GetReport() == nil:
		return nil
	}
	return "up"
}

func memberRole(m *metapb.MemberStatus, leader string) string {
	switch {
	case m.NodeId == leader:
		return "leader"
	case m.Voter:
		return "voter"
	}
	return "learner"
}

// shardsTable is svc_private.shards, with a row for each shard.
var shardsTable = &systemTable{
	id: 5, database: schema.PrivateDatabase, name: "shards", needs: access.Monitor,
	columns: []schema.Column{
		number("shard_id"), number("incarnation"), text("replicas"), text("leader"), text("state"), count("term"),
		count("applied_index"), count("flushed_index"), count("lag"), number("tables"), number("rows"), number("bytes"),
		number("log_bytes"), number("memtable_bytes"), number("memtable_rows"),
		text("learners"), number("want"), number("answering"), truth("retiring"),
	},
	rows: func(f *facts, w *rowWriter) error {
		leaders, err := f.leaders(statsTotals)
		if err != nil {
			return err
		}
		lag, answering := map[uint32]uint64{}, map[uint32]int{}
		all, err := f.shardStats(statsTotals)
		if err != nil {
			return err
		}
		for _, s := range all {
			answering[s.ShardId]++
			if l := leaders[s.ShardId]; l.AppliedIndex > s.AppliedIndex {
				lag[s.ShardId] = max(lag[s.ShardId], l.AppliedIndex-s.AppliedIndex)
			}
		}
		for _, shard := range f.meta().Shards() {
			replicas, learners := strings.Join(shard.Replicas, ","), orNull(strings.Join(shard.Learners, ","))
			want := max(int(shard.Want), 1)
			if shard.Want == 0 {
				want = len(shard.Replicas)
			}
			s := leaders[shard.Id]
			if s == nil {
				w.add(shard.Id, shard.Incarnation, replicas, nil, "unknown",
					nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, learners, want, 0, shard.Retiring)
				continue
			}
			w.add(shard.Id, shard.Incarnation, replicas, orNull(s.Leader), s.State, s.Term, s.AppliedIndex, s.FlushedIndex,
				lag[shard.Id],
				s.TableCount, s.Rows, s.SegmentBytes+s.MemtableBytes, s.LogBytes, s.MemtableBytes, s.MemtableRows, learners, want,
				answering[shard.Id], shard.Retiring)
		}
		return nil
	},
}

// segmentsTable is svc_private.segments. Its times come from the time index.
var segmentsTable = &systemTable{
	id: 6, database: schema.PrivateDatabase, name: "segments", needs: access.Monitor, stats: statsSegments,
	columns: []schema.Column{
		text("table_schema"), text("table_name"), count("table_id"), number("shard_id"), text("file"), number("rows"),
		number("bytes"),
		{Name: "min_time", Type: schema.TimestampMicrosecond},
		{Name: "max_time", Type: schema.TimestampMicrosecond},
		text("quarantined"), text("location"),
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
				w.add(database, name, seg.TableId, shard.ShardId, seg.File, seg.Rows, seg.Bytes, from, to,
					orNull(seg.Quarantined), cmp.Or(seg.Location, shardpb.LocationLocal))
			}
		}
		return nil
	},
}

// operationsTable is svc_private.operations: the operations of the cluster, the background work of the shards of
// each node, and the operations that ended last.
var operationsTable = &systemTable{
	id: 8, database: schema.PrivateDatabase, name: "operations", needs: access.Monitor,
	columns: []schema.Column{
		number("shard_id"), number("operation_id"), text("kind"), text("state"), text("detail"),
		moment("started_at"), moment("ended_at"), number("done_bytes"), number("total_bytes"), text("error"),
		text("scope"), text("node_id"), text("step"), number("attempt"), number("parent_id"), text("requested_by"),
	},
	rows: func(f *facts, w *rowWriter) error {
		for _, op := range f.meta().Operations() {
			addClusterOperation(w, op)
		}
		all, err := f.shardStats(statsTotals)
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
				w.add(s.ShardId, op.Id, op.Kind, state, op.Detail, op.StartedUnixNano, ended, op.DoneBytes, op.TotalBytes,
					orNull(op.Error),
					"node", orNull(s.NodeId), nil, nil, nil, nil)
			}
		}
		return nil
	},
}

func addClusterOperation(w *rowWriter, op *metapb.Operation) {
	states := map[metapb.OperationState]string{
		metapb.OperationState_OPERATION_STATE_RUNNING: "running", metapb.OperationState_OPERATION_STATE_DONE: "done",
		metapb.OperationState_OPERATION_STATE_CANCELLED: "cancelled", metapb.OperationState_OPERATION_STATE_FAILED: "failed",
	}
	var shard, ended, parent, fault any
	// A shard-drop and a shard-remove do not lock their shard, but have it in their progress.
	if id := cmp.Or(op.ShardId, op.GetShardDrop().GetShardId(), op.GetShardRemove().GetShardId()); id != 0 {
		shard = id
	}
	if op.EndedUnixNano != 0 {
		ended = op.EndedUnixNano
	}
	if op.Parent != 0 {
		parent = op.Parent
	}
	if op.State == metapb.OperationState_OPERATION_STATE_FAILED {
		fault = op.Reason
	}
	w.add(shard, op.Id, op.Kind, states[op.State], op.Reason, op.CreatedUnixNano, ended, op.DoneBytes, op.TotalBytes,
		fault,
		"cluster", orNull(cmp.Or(op.NodeId, op.FromNode)), op.Step, op.Attempt, parent, orNull(op.RequestedBy))
}

// pipelinesTable is svc_private.pipelines, with a row for each version. All databases share them.
var pipelinesTable = &systemTable{
	id: 7, database: schema.PrivateDatabase, name: "pipelines", needs: access.Query,
	columns: []schema.Column{text("name"), text("schema"), text("content_type"), text("pipeline"), moment("created_at")},
	rows: func(f *facts, w *rowWriter) error {
		caller := f.names.by()
		return f.meta().EachPipelineText(f.ctx, func(p *metapb.PipelineVersion, source []byte) error {
			if !caller.May(access.Need{
				Privilege: access.PipelineRead, Object: access.Object{Kind: access.Pipeline, Name: p.Name},
			}) {
				return nil
			}
			w.add(p.Name, "", p.ContentType, string(source), p.Version)
			return nil
		})
	},
}

// micros returns a time index in microseconds, rounded down; nil if they cannot hold it.
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
