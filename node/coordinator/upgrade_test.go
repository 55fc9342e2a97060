package coordinator

import (
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"cordwood/node/coordinator/operation"
	"cordwood/proto/metapb"
)

// startOlder starts a scenario in a cluster of the version before typed progress, with the record
// in the form of that version.
func (s scenario) startOlder(t *testing.T) *world {
	const version = metapb.ProtocolProgress - 1
	if s.op != nil {
		s.op = proto.CloneOf(operation.Write(s.op, version))
	}
	begin := s.world
	s.world = func(w *world) *world { w.version = version; return begin(w) }
	return s.start(t)
}

// TestOperationsDuringUpgrade runs each operation in a cluster of the version before typed progress,
// which the fake metadata refuse there. It raises the version after every call in turn: the running
// record must be read in the old form and stored in the new one.
func TestOperationsDuringUpgrade(t *testing.T) {
	done := 0
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			total, ends := 0, metapb.OperationState_OPERATION_STATE_UNSPECIFIED
			synctest.Test(t, func(t *testing.T) {
				w := s.startOlder(t)
				total = run(t, w, 10*time.Minute, w.idle)
				ends = w.ops[1].State
			})
			if ends != metapb.OperationState_OPERATION_STATE_DONE {
				t.Skip("the cluster of the older version refuses the operation")
			}
			done++
			for at := 1; at <= total; at++ {
				synctest.Test(t, func(t *testing.T) {
					w := s.startOlder(t)
					w.raiseAt = at
					run(t, w, 10*time.Minute, w.idle)
					if w.ops[1].State != metapb.OperationState_OPERATION_STATE_DONE || !s.check(w) {
						t.Errorf("upgraded at %d of %d: %s", at, total, w.describe())
					}
					w.settledCheck()
				})
			}
		})
	}
	if done < 12 {
		t.Errorf("only %d operations were carried out in the older version", done)
	}
}
