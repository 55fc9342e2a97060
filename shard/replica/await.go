package replica

import (
	"reflect"

	"github.com/hashicorp/raft"
)

// await waits for the answer of raft to what it was asked, and gives up with raft.ErrRaftShutdown when
// raft ends. Raft does not answer what then lies in its queues: proposals that its main loop has not
// taken up, and committed ones that its state machine has not. Its futures have a field for the
// channel that is closed when it ends, and raft sets it in those of its own only; the type of a future is
// not exported, hence reflection. Only Error reads the field, so that no other goroutine sees it change.
//
// Snapshots are not awaited this way: raft answers every one, and who takes one must know when it is over.
func (r *Replica) await(f raft.Future) error {
	if v := reflect.ValueOf(f); v.Kind() == reflect.Pointer {
		v.Elem().FieldByName(shutdownField).Set(reflect.ValueOf(r.ended))
	}
	return f.Error()
}

// shutdownField is the field of raft's futures.
const shutdownField = "ShutdownCh"
