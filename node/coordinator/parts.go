package coordinator

import (
	"cmp"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"cordwood/meta/placement"
	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
	"cordwood/proto/words"
)

// stepParts is the step of an operation while its parts run as operations.
const stepParts = "parts"

// part returns an operation that is a part of another one.
func part(of *metapb.Operation, kind string, set func(*metapb.Operation)) *metapb.Operation {
	op := &metapb.Operation{Kind: kind, Parent: of.GetId(), RequestedBy: cmp.Or(of.GetRequestedBy(), operation.ByCluster)}
	set(op)
	return op
}

// movePart returns an operation for a move of a plan.
func movePart(snap *snapshot.Snapshot, op *metapb.Operation, m placement.Move) *metapb.Operation {
	kind := operation.ShardMove
	if m.From == "" || m.To == "" || !snap.Alive(m.From) {
		kind = operation.ReplicaRepair
	}
	return part(op, kind, func(o *metapb.Operation) {
		o.ShardId, o.FromNode, o.ToNode, o.TotalBytes, o.Reason = m.Shard, m.From, m.To, m.Bytes, snap.Relabel(m.Reason)
	})
}

// startParts starts parts of an operation.
func startParts(step string, parts []*metapb.Operation) decision {
	what := words.Say(len(parts), "part begins", "parts begin")
	return call(step, what, &act{what: "start parts", starts: parts})
}

// waitForParts returns the decision of an operation whose parts run.
func waitForParts(snap *snapshot.Snapshot, op *metapb.Operation, running, ended []*metapb.Operation) decision {
	var texts []string
	for _, o := range running {
		texts = append(texts, fmt.Sprintf("%d (%s: %s)", o.Id, snapshot.Subject(snap, o), o.Step))
	}
	if len(texts) > 4 {
		texts = append(texts[:4], fmt.Sprintf("and %d more", len(texts)-4))
	}
	return wait(stepParts, "%s ended, %d under way: %s", words.Count(len(ended), "part"), len(running),
		strings.Join(texts, ", "))
}

// cancelParts cancels the running parts of an operation one by one.
func cancelParts(snap *snapshot.Snapshot, running []*metapb.Operation) decision {
	for _, o := range running {
		if !o.Cancel {
			return call(stepUndo, fmt.Sprintf("operation %d is cancelled", o.Id), &act{
				what:    "cancel part",
				propose: cancelOperation(snap, o),
			})
		}
	}
	return wait(stepUndo, "%s under way, being cancelled", words.Count(len(running), "part"))
}

// cancelOperation marks an operation as cancelled.
func cancelOperation(snap *snapshot.Snapshot, op *metapb.Operation) *metapb.Command {
	next := proto.CloneOf(op)
	next.Cancel, next.UpdatedUnixNano = true, snap.Now.UnixNano()
	return putOperation(snap, next)
}
