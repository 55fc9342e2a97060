package coordinator

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// status returns the metadata as the leader reports them to a coordinator.
func (w *world) status() *metapb.StatusResponse {
	now := time.Now()
	st := &metapb.StatusResponse{
		ClusterId: "c", Leader: "meta-leader", Settings: proto.CloneOf(w.settings), ClusterVersion: w.version,
		LeadingNanos: int64(now.Sub(w.began)),
	}
	if len(w.voters) > 0 {
		st.Leader = w.voters[0]
	}
	for i, id := range slices.Concat(w.voters, w.learners) {
		m := &metapb.MemberStatus{NodeId: id, Voter: i < len(w.voters), SilentNanos: int64(100 * time.Millisecond)}
		if since := w.down[id]; !since.IsZero() {
			m.SilentNanos = int64(now.Sub(since))
		}
		st.Members = append(st.Members, m)
	}
	for _, id := range slices.Sorted(maps.Keys(w.nodes)) {
		n := &metapb.NodeStatus{Node: proto.CloneOf(w.nodes[id]), Report: &metapb.ReportRequest{
			NodeId: id, Process: 1, DiskCapacity: 1 << 40, DiskUsed: 1 << 30, MaxProtocol: metapb.MaxProtocol,
			Stopping: w.stopping[id],
		}}
		if since := w.down[id]; !since.IsZero() {
			n.SilentNanos = int64(now.Sub(since))
			n.Down = now.Sub(since) > 10*time.Second
		}
		if used := w.used[id]; used > 0 {
			n.Report.DiskUsed = used
		}
		n.Report.Unreachable = w.shut[id]
		for _, from := range w.mute[id] {
			n.Report.Unreached = append(n.Report.Unreached, &metapb.Unreached{NodeId: from, Silent: true})
		}
		for _, from := range w.unreached[id] {
			n.Report.Unreached = append(n.Report.Unreached, &metapb.Unreached{NodeId: from, Reason: "dial tcp: i/o timeout"})
		}
		for _, sid := range slices.Sorted(maps.Keys(w.shards)) {
			g := w.groups[sid]
			at, open := g.opened[id]
			if !open || now.Before(at) {
				continue
			}
			r := &metapb.ReplicaReport{
				ShardId: sid, Incarnation: w.shards[sid].Incarnation, State: "Follower", Leader: g.leader,
				SegmentBytes: w.bytes, LastIndex: 1000, AppliedIndex: 1000,
			}
			ready, has := g.ready[id]
			r.CaughtUp = has && !now.Before(ready)
			if !r.CaughtUp {
				r.State, r.AppliedIndex, r.SegmentBytes = "Installing", 0, 0
				r.InstallTotalBytes, r.InstallDoneBytes = w.bytes, w.bytes/2
			}
			if g.deaf[id] {
				r.CaughtUp, r.Leader, r.CommitIndex = false, "", 0
			}
			r.Pins, r.KeysNanos = w.reads[sid], max(0, int64(w.keys[sid].Sub(now)), int64(w.keysSaid[sid]))
			r.Aside, r.AsideTables = g.aside[id], uint32(len(g.aside[id]))
			switch g.damaged[id] {
			case damagedSegment:
				r.DamagedSegments, r.Damaged = 2, []*metapb.DamagedSegment{
					{File: "shards/1/segments/7.parquet", Rows: 99, Reason: "checksum"},
				}
			case damagedLog:
				r = &metapb.ReplicaReport{
					ShardId: sid, Incarnation: w.shards[sid].Incarnation, State: snapshot.StateFailed, FilesDamaged: true,
					Reason: "the log is damaged",
				}
			}
			if since, ok := g.stuck[id]; ok {
				r.FlushError, r.FlushFailingNanos = "cannot create a file", int64(now.Sub(since))
			}
			if g.leader == id && w.down[id].IsZero() {
				r.State, r.Voters, r.Learners, r.Term = "Leader", slices.Clone(g.voters), slices.Clone(g.learners), 5
				for _, tid := range slices.Sorted(maps.Keys(w.tables)) {
					takes := w.tables[tid].Writable().Shards()
					if slices.Contains(takes, sid) {
						b := int64(w.ingest[tid] * now.Sub(w.began).Seconds() / float64(len(takes)))
						r.Tables = append(r.Tables, &metapb.TableIngest{TableId: tid, Bytes: b})
						r.IngestedBytes += b
					}
				}
			}
			n.Report.Replicas = append(n.Report.Replicas, r)
		}
		if w.unheard[id] {
			n.Report = nil
		}
		st.Nodes = append(st.Nodes, n)
	}
	for _, id := range slices.Sorted(maps.Keys(w.shards)) {
		st.Shards = append(st.Shards, proto.CloneOf(w.shards[id]))
		led := &metapb.ShardLed{ShardId: id, LedNanos: int64(cmp.Or(w.groups[id].ledFor, time.Hour))}
		if lost := w.groups[id].leaderLost; !lost.IsZero() {
			led.SilentNanos = int64(now.Sub(lost))
		}
		st.ShardsLed = append(st.ShardsLed, led)
	}
	st.LastShardId = w.lastShard
	for _, id := range slices.Sorted(maps.Keys(w.retired)) {
		if s := w.retired[id]; len(s.Removed) > 0 {
			st.RetiredShards = append(st.RetiredShards, proto.CloneOf(s))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.ops)) {
		st.Operations = append(st.Operations, proto.CloneOf(w.ops[id]))
	}
	return st
}

func refused(format string, args ...any) error {
	return errs.New(errs.InvalidArguments, format, args...)
}

func (w *world) apply(cmd *metapb.Command) (*metapb.Result, error) {
	switch op := cmd.Op.(type) {
	case *metapb.Command_PutOperation:
		return w.putOperation(op.PutOperation.Operation, cmd.TimeUnixNano)
	case *metapb.Command_DropOperations:
		ended := []uint64{}
		for _, id := range slices.Sorted(maps.Keys(w.ops)) {
			if w.ops[id].State != metapb.OperationState_OPERATION_STATE_RUNNING {
				ended = append(ended, id)
			}
		}
		for _, id := range ended[:max(0, len(ended)-int(op.DropOperations.Keep))] {
			delete(w.ops, id)
		}
	case *metapb.Command_SetSettings:
		w.settings = op.SetSettings.Settings
	case *metapb.Command_SetClusterVersion:
		w.version = op.SetClusterVersion.Version
	case *metapb.Command_SetNodeState:
		for _, s := range w.shards {
			if op.SetNodeState.State == metapb.NodeState_NODE_STATE_DRAINED &&
				slices.Contains(slices.Concat(s.Replicas, s.Learners), op.SetNodeState.NodeId) {
				return nil, refused("node %s has replicas", op.SetNodeState.NodeId)
			}
		}
		w.nodes[op.SetNodeState.NodeId].State = op.SetNodeState.State
	case *metapb.Command_RemoveNode:
		for _, s := range w.shards {
			if slices.Contains(slices.Concat(s.Replicas, s.Learners), op.RemoveNode.NodeId) {
				return nil, refused("node %s has replicas", op.RemoveNode.NodeId)
			}
			s.Removed = slices.DeleteFunc(s.Removed, func(n string) bool { return n == op.RemoveNode.NodeId })
		}
		delete(w.nodes, op.RemoveNode.NodeId)
	case *metapb.Command_CreateShard:
		if int(op.CreateShard.ShardId) != int(w.lastShard)+1 {
			return nil, refused("another shard was created")
		}
		w.shard(op.CreateShard.Want, op.CreateShard.Replicas...)
		w.settings.InitialShards = max(w.settings.InitialShards, 1) - 1
	case *metapb.Command_ChangeShard:
		return &metapb.Result{}, w.changeShard(op.ChangeShard)
	case *metapb.Command_RetireShard:
		return &metapb.Result{}, w.retire(op.RetireShard)
	case *metapb.Command_PlaceTable:
		return w.place(op.PlaceTable, cmd.TimeUnixNano)
	default:
		w.fail("an unknown command: %v", cmd)
	}
	return &metapb.Result{}, nil
}

func (w *world) putOperation(op *metapb.Operation, now int64) (*metapb.Result, error) {
	if op.Progress != nil && w.version < metapb.ProtocolProgress {
		w.t.Errorf("typed progress %v is stored in a cluster of version %d", op.Progress, w.version)
	}
	running := op.State == metapb.OperationState_OPERATION_STATE_RUNNING
	if op.Id != 0 {
		had := w.ops[op.Id]
		if had == nil || had.Version != op.Version || had.State != metapb.OperationState_OPERATION_STATE_RUNNING {
			return nil, refused("operation %d was changed meanwhile", op.Id)
		}
	} else {
		for _, other := range w.ops {
			if other.State != metapb.OperationState_OPERATION_STATE_RUNNING || op.Parent == other.Id && op.Parent != 0 {
				continue
			}
			if op.ShardId != 0 && op.ShardId == other.ShardId || op.TableId != 0 && op.TableId == other.TableId ||
				op.NodeId != "" && op.NodeId == other.NodeId ||
				op.Kind == operation.Rebalance && other.Kind == operation.Rebalance {
				return nil, refused("operation %d excludes it", other.Id)
			}
		}
		w.lastOp++
		op.Id = w.lastOp
		op.CreatedUnixNano = now
	}
	op.Version++
	op.UpdatedUnixNano = now
	if !running {
		op.EndedUnixNano = now
	}
	w.ops[op.Id] = op
	return &metapb.Result{Operation: proto.CloneOf(op)}, nil
}

func (w *world) changeShard(c *metapb.ChangeShard) error {
	s := w.shards[c.ShardId]
	if s == nil || s.Version != c.Version {
		return refused("shard %d was changed meanwhile", c.ShardId)
	}
	g := w.groups[c.ShardId]
	cut := func(list []string, id string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(x string) bool { return x == id })
	}
	switch x := c.Change.(type) {
	case *metapb.ChangeShard_AddLearner:
		if slices.Contains(slices.Concat(s.Replicas, s.Learners, s.Removed), x.AddLearner) {
			return refused("the group has one")
		}
		s.Learners = append(s.Learners, x.AddLearner)
	case *metapb.ChangeShard_Promote:
		if !slices.Contains(s.Learners, x.Promote) {
			return refused("no learner")
		}
		if !slices.Contains(g.voters, x.Promote) {
			w.fail("shard %d: the metadata list node %s as voter before the group does", s.Id, x.Promote)
		}
		s.Learners, s.Replicas = cut(s.Learners, x.Promote), append(s.Replicas, x.Promote)
	case *metapb.ChangeShard_Remove:
		if slices.Contains(slices.Concat(g.voters, g.learners), x.Remove) {
			w.fail("shard %d: node %s is to delete its replica, which is still a member", s.Id, x.Remove)
		}
		if !slices.Contains(slices.Concat(s.Replicas, s.Learners), x.Remove) {
			return refused("the group has none")
		}
		s.Learners, s.Replicas, s.Removed = cut(s.Learners, x.Remove), cut(s.Replicas, x.Remove), append(s.Removed, x.Remove)
		if len(s.Replicas) == 0 {
			w.fail("shard %d is not listed", s.Id)
		}
	case *metapb.ChangeShard_MadeAnew:
		if w.votes(g) >= snapshot.Majority(len(g.voters)) {
			w.fail("shard %d is created again although it works", s.Id)
		}
		if slices.ContainsFunc(x.MadeAnew.NodeIds, func(id string) bool { return slices.Contains(s.Removed, id) }) {
			return refused("the group still has one")
		}
		s.Want = max(s.Want, uint32(len(s.Replicas)))
		s.Incarnation += 1000
		s.Replicas, s.Learners, s.Founders = x.MadeAnew.NodeIds, nil, x.MadeAnew.NodeIds
		w.groups[s.Id] = &fakeGroup{
			voters: s.Replicas, ready: map[string]time.Time{}, opened: map[string]time.Time{},
			gone: map[string]time.Time{}, damaged: map[string]string{}, stuck: map[string]time.Time{},
		}
		for _, n := range s.Replicas {
			w.groups[s.Id].ready[n] = time.Now()
		}
	case *metapb.ChangeShard_Retiring:
		if x.Retiring && w.staying(s.Id) == 0 {
			return refused("no other shard stays")
		}
		s.Retiring = x.Retiring
	case *metapb.ChangeShard_Want:
		s.Want = x.Want
	case *metapb.ChangeShard_Forget:
		s.Removed = cut(s.Removed, x.Forget)
	}
	s.Version++
	return nil
}
