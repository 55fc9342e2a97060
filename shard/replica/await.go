package replica

import (
	"reflect"

	"github.com/hashicorp/raft"
)

// await waits for the answer of raft to a request, and returns raft.ErrRaftShutdown when raft ends.
// Raft does not answer the requests that are then in its queues: proposals that its main loop has
// not processed, and committed entries that its state machine has not. Raft's futures have a field
// for a channel that is closed when raft ends, but raft sets it only in some of them. It is set
// here by reflection, because the types of futures are not exported. Only Error reads the field, so
// no other goroutine sees it change.
//
// Snapshots are not awaited in this way: raft answers every one, and the caller must know when it
// has ended.
func (r *Replica) await(f raft.Future) error {
	if v := reflect.ValueOf(f); v.Kind() == reflect.Pointer {
		v.Elem().FieldByName(shutdownField).Set(reflect.ValueOf(r.ended))
	}
	return f.Error()
}

// shutdownField is the name of that field.
const shutdownField = "ShutdownCh"
