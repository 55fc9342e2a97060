package view

import (
	"fmt"
	"time"

	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
	"cordwood/router/httpapi/clusterapi"
)

// Operation describes an operation.
func Operation(snap *snapshot.Snapshot, op *metapb.Operation) clusterapi.Operation {
	out := clusterapi.Operation{
		ID: op.Id, Kind: op.Kind, State: operation.StateName(op.State), Subject: snapshot.Subject(snap, op), Step: op.Step,
		Attempt: op.Attempt, Reason: op.Reason,
		Shard: operation.About(op), ToShards: op.ToShards, Replicas: op.Want, DoneBytes: op.DoneBytes,
		TotalBytes: op.TotalBytes,
		Parent:     op.Parent, By: op.RequestedBy, Cancel: op.Cancel, Created: time.Unix(0, op.CreatedUnixNano).UTC(),
		Updated: time.Unix(0, op.UpdatedUnixNano).UTC(),
	}
	for _, n := range []struct {
		id   string
		name *string
	}{{op.NodeId, &out.Node}, {op.FromNode, &out.From}, {op.ToNode, &out.To}} {
		if n.id != "" {
			*n.name = snap.Label(n.id)
		}
	}
	if t := snap.Tables[op.TableId]; t != nil {
		out.Table = t.Database + "." + t.Name
	} else if op.TableId != 0 {
		out.Table = op.GetTable().GetName()
	}
	if op.EndedUnixNano != 0 {
		ended := operation.Ended(op).UTC()
		out.Ended = &ended
	}
	out.ETASeconds = eta(snap, op)
	return out
}

// eta estimates the remaining time of a running operation from the time so far. It returns nil in the first seconds,
// and before a fiftieth of the work is done: the estimate would be too inaccurate.
func eta(snap *snapshot.Snapshot, op *metapb.Operation) *float64 {
	since := op.CreatedUnixNano
	if copying := op.GetReplicas().GetCopyingUnixNano(); copying != 0 {
		since = copying
	}
	took := snap.Now.Sub(time.Unix(0, since)).Seconds()
	if op.State != metapb.OperationState_OPERATION_STATE_RUNNING || op.DoneBytes <= 0 || op.DoneBytes < op.TotalBytes/50 ||
		took < 5 {
		return nil
	}
	left := took * float64(max(op.TotalBytes-op.DoneBytes, 0)) / float64(op.DoneBytes)
	return &left
}

// stuckAfter is the time for which an operation may stay at one step without a warning.
const stuckAfter = 2 * time.Minute

func (d *diagnosis) operations() {
	snap := d.snap
	for _, op := range snap.Running() {
		if op.Parent != 0 || op.Step == operation.StepCopy ||
			snap.Now.Sub(time.Unix(0, op.UpdatedUnixNano)) < stuckAfter && op.Attempt < 5 {
			continue
		}
		if running, _ := snap.Parts(op.Id); len(running) > 0 {
			continue
		}
		if op.Kind == operation.Rebalance && snap.Status.GetSettings().GetRebalancePaused() {
			continue
		}
		d.add(warning, fmt.Sprintf("resolve what it waits for, or run 'cordwood cluster cancel %d'", op.Id),
			"operation %d (%s %s) waits: %s", op.Id, op.Kind, snapshot.Subject(snap, op), op.Reason)
		d.offer(clusterapi.Action{Kind: clusterapi.ActionCancel, Operation: op.Id})
	}
}
