package coordinator

import (
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
)

// startOperation starts an operation that no user requested.
func startOperation(snap *snapshot.Snapshot, kind, reason string, set func(*metapb.Operation)) *act {
	op := part(nil, kind, set)
	op.Reason = reason
	return &act{what: "start " + kind, starts: []*metapb.Operation{op}}
}

func countRunning(snap *snapshot.Snapshot, kind string) int {
	n := 0
	for _, op := range snap.Running() {
		if op.Kind == kind {
			n++
		}
	}
	return n
}
