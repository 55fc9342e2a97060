package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/shardpb"
)

// progressEvery is the interval at which progress without a new step is stored.
const progressEvery = 2 * time.Second

// maxReason is the maximum length of a reason, in bytes.
const maxReason = 2000

// record returns the record of an operation with the changes of a decision, or nil if there is nothing to store.
// Before a call the record is always stored. Only the leader can store it, so no call of a former leader comes after
// the calls of the next one.
func record(snap *snapshot.Snapshot, op *metapb.Operation, d decision, f *failure) *metapb.Operation {
	next := proto.CloneOf(op)
	next.Step, next.Reason = d.step, reasonOf(snap, d, f)
	d.apply(snap, next)
	calls := d.do != nil && !d.do.reads // whether the call changes something
	switch {
	case calls && d.step == op.Step:
		next.Attempt++
	case calls || d.step != op.Step:
		next.Attempt = 1
	}
	must := calls || d.step != op.Step || d.again || !sameProgress(next, op)
	if d.end != metapb.OperationState_OPERATION_STATE_UNSPECIFIED {
		next.State, next.EndedUnixNano = d.end, snap.Now.UnixNano()
		must = true
	}
	if !must && (proto.Equal(next, op) || snap.Now.Sub(time.Unix(0, op.UpdatedUnixNano)) < progressEvery) {
		return nil
	}
	next.UpdatedUnixNano = snap.Now.UnixNano()
	return next
}

// apply applies a decision to a record.
func (d *decision) apply(snap *snapshot.Snapshot, next *metapb.Operation) {
	if d.done != 0 || d.total != 0 {
		next.DoneBytes, next.TotalBytes = d.done, d.total
	}
	if d.toShards != nil {
		next.ToShards = d.toShards
	}
	if d.progress != nil {
		d.progress(next)
	}
	if t := snap.Tables[next.TableId]; t != nil && next.GetTable().GetName() == "" {
		operation.TableProgress(next).Name = t.Database + "." + t.Name
	}
}

// reasonOf returns the reason of a decision, with the error of the last call if it failed.
func reasonOf(snap *snapshot.Snapshot, d decision, f *failure) string {
	reason := d.reason
	if f != nil && (f.count >= quietFailures || !passes(f.err)) {
		reason = fmt.Sprintf("%s; the last try failed: %s", reason, snap.Spell(f.err.Error()))
	}
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason], "") + "…"
	}
	return reason
}

// quietFailures is the number of consecutive failures caused by a leader change that are not shown.
const quietFailures = 4

// passes reports whether a change of leaders caused the error, so that the next try can succeed.
func passes(err error) bool {
	return errs.ReasonOf(err) == errs.NotLeader || errors.Is(err, errLost)
}

// sameProgress reports whether two records of an operation have the same progress.
func sameProgress(a, b *metapb.Operation) bool {
	return slices.Equal(a.ToShards, b.ToShards) &&
		proto.Equal(&metapb.Operation{Progress: a.Progress}, &metapb.Operation{Progress: b.Progress})
}

// execute stores the record of an operation and makes its call.
func (c *Coordinator) execute(ctx context.Context, snap *snapshot.Snapshot, op, next *metapb.Operation,
	d decision,
) outcome {
	if next != nil {
		stored, err := c.put(ctx, snap, next)
		if err != nil {
			return outcome{err: err}
		}
		c.logSteps(op, stored)
		op = stored
	}
	if d.do == nil {
		return outcome{}
	}
	o := c.perform(ctx, snap, d.do)
	if o.err != nil {
		c.metrics.failed(op.Kind, op.Step)
		c.log.Warn("a step of an operation failed; the coordinator retries it",
			append(fields(op), "call", d.do.what, "error", snap.Spell(o.err.Error()))...)
		return o
	}
	if d.then != nil {
		after := proto.CloneOf(op)
		d.then(after)
		if _, err := c.put(ctx, snap, after); err != nil {
			o.err = err
		}
	}
	return o
}

// put stores an operation. If another process has changed it, put returns an error, and everything is decided again.
func (c *Coordinator) put(ctx context.Context, snap *snapshot.Snapshot,
	op *metapb.Operation,
) (*metapb.Operation, error) {
	result, err := c.cfg.Meta.Propose(ctx, putOperation(snap, op))
	if err != nil {
		return nil, err
	}
	if result.GetOperation() == nil {
		return nil, errLost
	}
	return operation.Read(result.Operation), nil
}

// fields returns the log attributes of an operation, except those that do not apply.
func fields(op *metapb.Operation) []any {
	out := []any{"operation", op.Id, "kind", op.Kind}
	for _, f := range []struct {
		key   string
		value any
		zero  bool
	}{
		{"step", op.Step, op.Step == ""},
		{"attempt", op.Attempt, op.Attempt == 0},
		{"shard", op.ShardId, op.ShardId == 0},
		{"table", op.TableId, op.TableId == 0},
		{"node", op.NodeId, op.NodeId == ""},
		{"from", op.FromNode, op.FromNode == ""},
		{"to", op.ToNode, op.ToNode == ""},
		{"parent", op.Parent, op.Parent == 0},
		{"requested_by", op.RequestedBy, false},
	} {
		if !f.zero {
			out = append(out, f.key, f.value)
		}
	}
	return out
}

// logSteps logs new steps of an operation, and its end.
func (c *Coordinator) logSteps(before, after *metapb.Operation) {
	if after.State != metapb.OperationState_OPERATION_STATE_RUNNING {
		took := time.Duration(after.EndedUnixNano - after.CreatedUnixNano)
		c.metrics.ended(after)
		c.log.Info("operation ended", append(fields(after), "state", operation.StateName(after.State), "took", took, "reason",
			after.Reason)...)
		return
	}
	if before.Step != after.Step || before.Attempt != after.Attempt {
		c.log.Info("operation step", append(fields(after), "reason", after.Reason)...)
	}
}

// runAutomatic makes a call that the cluster itself starts.
func (c *Coordinator) runAutomatic(ctx context.Context, snap *snapshot.Snapshot, a *act) outcome {
	o := c.perform(ctx, snap, a)
	if o.err != nil {
		c.log.Warn("a step that the cluster started failed; it is tried "+
			"again", "call", a.what, "error", snap.Spell(o.err.Error()))
	} else {
		c.log.Info("cluster step", "call", a.what)
	}
	return o
}

// perform makes a call.
func (c *Coordinator) perform(ctx context.Context, snap *snapshot.Snapshot, a *act) outcome {
	switch {
	case a.propose != nil:
		_, err := c.cfg.Meta.Propose(ctx, a.propose)
		return outcome{err: err}
	case a.members != nil:
		advice, err := c.cfg.Meta.ChangeMembers(ctx, a.members.NodeId, a.members.Change)
		if advice != "" {
			c.log.Warn("changed the metadata group", "node", a.members.NodeId, "advice", advice)
		}
		return outcome{err: err}
	case a.replicas != nil:
		return c.changeGroup(ctx, a.replicas)
	case a.define != nil:
		return outcome{err: c.define(ctx, snap, a.define)}
	case a.handover != nil:
		return c.handOver(ctx, a.handover)
	}
	return outcome{err: c.startAll(ctx, snap, a.starts)}
}

// startAll starts operations. It fails only if none could be started.
func (c *Coordinator) startAll(ctx context.Context, snap *snapshot.Snapshot, ops []*metapb.Operation) error {
	var faults []error
	for _, op := range ops {
		op = proto.CloneOf(op)
		op.State = metapb.OperationState_OPERATION_STATE_RUNNING
		op.CreatedUnixNano, op.UpdatedUnixNano = snap.Now.UnixNano(), snap.Now.UnixNano()
		begun, err := c.put(ctx, snap, op)
		if err != nil {
			faults = append(faults, fmt.Errorf("start %s: %w", op.Kind, err))
			continue
		}
		c.log.Info("operation started", append(fields(begun), "reason", begun.Reason)...)
	}
	if len(faults) == len(ops) {
		return errors.Join(faults...)
	}
	return nil
}

func (c *Coordinator) changeGroup(ctx context.Context, a *replicasAct) outcome {
	conn, err := c.cfg.Dial(a.leader)
	if err != nil {
		return outcome{err: fmt.Errorf("reach node %s: %w", a.leader, err)}
	}
	began := time.Now()
	resp, err := shardpb.NewShardServiceClient(conn).ChangeReplicas(ctx, a.request)
	if err != nil {
		return outcome{err: fmt.Errorf("ask node %s: %w", a.leader, errs.FromGRPC(err))}
	}
	if a.request.Change == shardpb.ChangeReplicasRequest_CHANGE_LEAD {
		return outcome{
			shard: a.request.ShardId,
			group: snapshot.Membership{Voters: resp.Voters, Learners: resp.Learners, Leader: a.request.NodeId, At: began},
		}
	}
	if len(resp.Voters) == 0 {
		return outcome{} // the next report shows the result
	}
	return outcome{
		shard: a.request.ShardId,
		group: snapshot.Membership{Voters: resp.Voters, Learners: resp.Learners, At: began},
	}
}

// define makes a shard apply the present definition of a table.
func (c *Coordinator) define(ctx context.Context, snap *snapshot.Snapshot, a *defineAct) error {
	t := snap.Tables[a.tableID]
	conn, err := c.cfg.Dial(a.leader)
	if err != nil {
		return fmt.Errorf("reach node %s: %w", a.leader, err)
	}
	req := &shardpb.DefineTablesRequest{ShardId: a.shard}
	req.Tables = append(req.Tables, t.ToProto())
	if _, err := shardpb.NewShardServiceClient(conn).DefineTables(ctx, req); err != nil {
		return fmt.Errorf("ask node %s: %w", a.leader, errs.FromGRPC(err))
	}
	return nil
}

// handOver asks the nodes concurrently. It records their answers even if one node does not answer.
func (c *Coordinator) handOver(ctx context.Context, a *handoverAct) outcome {
	o := outcome{copy: a.table.Handoff.ID, copies: map[uint32]snapshot.Copy{}}
	var mu sync.Mutex
	var group sync.WaitGroup
	for shard, node := range a.from {
		group.Go(func() {
			resp, err := c.askCopier(ctx, a, shard, node)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				o.err = errors.Join(o.err, fmt.Errorf("ask node %s about shard %d: %w", node, shard, err))
				return
			}
			o.copies[shard] = snapshot.Copy{HandOverResponse: resp, Node: node}
		})
	}
	group.Wait()
	return o
}

func (c *Coordinator) askCopier(ctx context.Context, a *handoverAct, shard uint32,
	node string,
) (*shardpb.HandOverResponse, error) {
	conn, err := c.cfg.Dial(node)
	if err != nil {
		return nil, err
	}
	req := &shardpb.HandOverRequest{ShardId: shard, Table: a.table.ToProto(), Nodes: a.nodes, Begin: a.begin}
	if !a.begin {
		req.WaitMillis = uint32(askWait.Milliseconds())
	}
	resp, err := shardpb.NewShardServiceClient(conn).HandOver(ctx, req)
	return resp, errs.FromGRPC(err)
}
