package snapshot

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"cordwood/node/coordinator/operation"
	"cordwood/proto/metapb"
)

// SinceLast returns how long ago the last operation of a kind ended.
func (snap *Snapshot) SinceLast(kind string) time.Duration {
	last := time.Time{}
	for _, op := range snap.Operations {
		if op.Kind == kind && op.EndedUnixNano > 0 && operation.Ended(op).After(last) {
			last = operation.Ended(op)
		}
	}
	return snap.Now.Sub(last)
}

// Subject returns the object of an operation as text.
func Subject(snap *Snapshot, o *metapb.Operation) string {
	switch {
	case o.TableId != 0:
		if t := snap.Tables[o.TableId]; t != nil {
			return "table " + t.Database + "." + t.Name
		}
		if name := o.GetTable().GetName(); name != "" {
			return "table " + name // its rows are now in a table with another id, or the table was dropped
		}
		return fmt.Sprintf("table %d", o.TableId)
	case operation.About(o) != 0:
		return fmt.Sprintf("shard %d", operation.About(o))
	case o.NodeId != "" && snap.Nodes[o.NodeId] == nil:
		return "node " + cmp.Or(o.GetNode().GetName(), o.NodeId)
	case o.NodeId != "":
		return "node " + snap.Name(o.NodeId)
	}
	if o.ToNode != "" {
		return "for node " + snap.Name(o.ToNode)
	}
	return "cluster"
}

// Running returns the running operations, by id.
func (snap *Snapshot) Running() []*metapb.Operation {
	var out []*metapb.Operation
	for _, op := range snap.Operations {
		if op.State == metapb.OperationState_OPERATION_STATE_RUNNING {
			out = append(out, op)
		}
	}
	slices.SortFunc(out, func(a, b *metapb.Operation) int { return cmp.Compare(a.Id, b.Id) })
	return out
}

// FindRunning returns the first running operation that matches, or nil.
func (snap *Snapshot) FindRunning(match func(*metapb.Operation) bool) *metapb.Operation {
	for _, op := range snap.Running() {
		if match(op) {
			return op
		}
	}
	return nil
}

// Parts returns the operations that are parts of another one.
func (snap *Snapshot) Parts(parent uint64) (running, ended []*metapb.Operation) {
	for _, op := range snap.Operations {
		switch {
		case op.Parent != parent:
		case op.State == metapb.OperationState_OPERATION_STATE_RUNNING:
			running = append(running, op)
		default:
			ended = append(ended, op)
		}
	}
	return running, ended
}
