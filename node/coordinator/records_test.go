package coordinator

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/node/coordinator/view"
	"cordwood/proto/metapb"
)

// TestGoldenRecordsAreDecided passes the golden records of package operation to decide, as after an upgrade during
// operations. Each kind must be decided. A kind of a later version must be refused with a reason and keep its
// progress.
func TestGoldenRecordsAreDecided(t *testing.T) {
	files, err := filepath.Glob("operation/testdata/records/*/*.pb")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d golden records, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimPrefix(file, "operation/testdata/records/"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			stored := &metapb.Operation{}
			if err := proto.Unmarshal(data, stored); err != nil {
				t.Fatal(err)
			}
			status := newWorldStatus(t, func(w *world) {
				w.node("node-a", "node-b", "node-c", "node-d").shard(1, "node-a").shard(1, "node-b")
				w.shard(3, "node-a", "node-b", "node-c").shard(1, "node-d")
			})
			status.Operations = []*metapb.Operation{stored}
			snap := snapshot.New(time.Now(), snapshot.Limits{}.WithDefaults(), status, nil, nil)
			op := snap.Operations[0]
			d := decide(snap, op)
			const refused = "does not know operations of kind"
			if slices.Contains(operation.Kinds, op.Kind) {
				if strings.Contains(d.reason, refused) {
					t.Errorf("%s is not decided: %s", op.Kind, d.reason)
				}
				return
			}
			if d.end != metapb.OperationState_OPERATION_STATE_FAILED || !strings.Contains(d.reason, refused+` "shard-merge"`) ||
				!strings.Contains(d.reason, "start a program of the same version") {
				t.Errorf("it ends in state %v because %q, want a refusal of the kind that says what to start", d.end, d.reason)
			}
			next := record(snap, op, d, nil)
			if !bytes.Equal(next.ProtoReflect().GetUnknown(), stored.ProtoReflect().GetUnknown()) {
				t.Error("the record that is stored has lost the progress of the newer program")
			}
			if shown := view.Operation(snap, op); shown.Kind != op.Kind {
				t.Errorf("it is shown as %v", shown)
			}
		})
	}
}
