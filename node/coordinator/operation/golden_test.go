package operation

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"cordwood/proto/metapb"
)

var update = flag.Bool("update", false, "write the golden records that do not exist yet")

// underway returns one running record of each kind, with every field of its progress set. The golden
// files contain these records.
func underway() map[string]*metapb.Operation {
	replicas := func(kind, step string, p *metapb.ReplicasProgress) *metapb.Operation {
		return &metapb.Operation{
			Kind: kind, ShardId: 3, FromNode: "node-a", ToNode: "node-d", Step: step,
			Progress: &metapb.Operation_Replicas{Replicas: p},
		}
	}
	ops := []*metapb.Operation{
		{Kind: ShardAdd, Step: "create", Progress: &metapb.Operation_ShardAdd{
			ShardAdd: &metapb.ShardAddProgress{Count: 4, Initial: true, Begun: true, Base: 2},
		}},
		replicas(ShardMove, "copy", &metapb.ReplicasProgress{
			Undo: "node node-d is drained", CopyingUnixNano: 1700000000000000001, PromotedUnixNano: 1700000000000000002,
		}),
		replicas(ReplicaRepair, StepCopy, &metapb.ReplicasProgress{CopyingUnixNano: 1700000000000000001}),
		replicas(ReplicaRebuild, "remove", &metapb.ReplicasProgress{Leaving: true, Left: true}),
		replicas(ReplicaChange, "promote", &metapb.ReplicasProgress{
			Chosen: true, Was: 1, Add: []string{"node-b", "node-c"}, Drop: []string{"node-a"},
		}),
		{Kind: ShardSplitHot, TableId: 77, Step: "parts", ToShards: []uint32{1, 4}},
		{Kind: ShardDrop, Step: "create", Progress: &metapb.Operation_ShardDrop{
			ShardDrop: &metapb.ShardDropProgress{ShardId: 2, Incarnation: 1001, Loss: "all rows of shard 2"},
		}},
		{Kind: ShardRemove, Step: "quiet", Progress: &metapb.Operation_ShardRemove{
			ShardRemove: &metapb.ShardRemoveProgress{ShardId: 2, Undo: "table app is moved", EmptyNanos: 240e9},
		}},
		{Kind: TableMove, TableId: 77, ToShards: []uint32{4}, Step: StepCopy, Progress: &metapb.Operation_Table{
			Table: &metapb.TableProgress{
				Name: "public.app", WithRows: true, Begun: true, Epoch: 7, Former: []uint32{1, 3}, Sealed: []uint32{1},
				Copy: 12, Copies: 2, Copiers: map[uint32]string{1: "node-a", 3: "node-b"}, Why: "node node-a is lost",
				Told: []uint32{4},
			},
		}},
		{Kind: TablePartition, TableId: 78, ToShards: []uint32{1, 2}, Step: "place", Progress: &metapb.Operation_Table{
			Table: &metapb.TableProgress{Name: "public.web", Partitions: 2, Begun: true, Former: []uint32{1}},
		}},
		{Kind: NodeDrain, NodeId: "node-a", Step: "lead", Progress: &metapb.Operation_Node{
			Node: &metapb.NodeProgress{Name: "web-1", ForRestart: true},
		}},
		{Kind: NodeDecommission, NodeId: "node-a", Step: "parts", Progress: &metapb.Operation_Node{
			Node: &metapb.NodeProgress{Name: "web-1"},
		}},
		{Kind: Rebalance, Step: "parts", Progress: &metapb.Operation_Rebalance{
			Rebalance: &metapb.RebalanceProgress{Parts: 5},
		}},
	}
	all := map[string]*metapb.Operation{}
	for i, op := range ops {
		op.Id, op.Parent, op.Version, op.Attempt, op.Want = uint64(i)+10, 9, 6, 2, 3
		op.State, op.RequestedBy = metapb.OperationState_OPERATION_STATE_RUNNING, "ann"
		op.Reason, op.DoneBytes, op.TotalBytes = "waits for a replica", 1<<20, 1<<30
		op.CreatedUnixNano, op.UpdatedUnixNano = 1700000000000000000, 1700000005000000000
		op.Cancel = op.Kind == ShardMove
		all[op.Kind] = op
	}
	return all
}

// future returns a record of a kind that a later version may add, with progress in an unknown field of the oneof.
func future() *metapb.Operation {
	op := &metapb.Operation{
		Id: 40, Kind: "shard-merge", State: metapb.OperationState_OPERATION_STATE_RUNNING, ShardId: 3, Step: "join",
		RequestedBy: "ann", Version: 2, CreatedUnixNano: 1700000000000000000, UpdatedUnixNano: 1700000005000000000,
	}
	progress := protowire.AppendTag(nil, 1, protowire.VarintType)
	progress = protowire.AppendVarint(progress, 5)
	unknown := protowire.AppendTag(nil, 90, protowire.BytesType)
	op.ProtoReflect().SetUnknown(protowire.AppendBytes(unknown, progress))
	return op
}

// TestGoldenRecords reads records of operations as clusters have stored them, one of each kind, in
// the typed form and in the form before protocol version 9. A running operation must continue after
// an upgrade.
func TestGoldenRecords(t *testing.T) {
	all := underway()
	for _, kind := range Kinds {
		want := all[kind]
		if want == nil {
			t.Errorf("no golden record of kind %q: add one to underway, and run this test with -update", kind)
			continue
		}
		golden(t, "v9", kind, want, want)
		if kind != ShardRemove { // no older program has that kind
			golden(t, "v8", kind, Write(want, metapb.ProtocolProgress-1), want)
		}
	}
	golden(t, "future", future().Kind, future(), future())
	files, err := filepath.Glob("testdata/records/*/*.pb")
	if err != nil || len(files) != 2*len(Kinds) {
		t.Errorf("%d golden records, %v: want one of each kind and version, and one of the future", len(files), err)
	}
}

// golden compares the record in a file with its meaning. -update writes stored to a file that does
// not exist.
func golden(t *testing.T, version, kind string, stored, want *metapb.Operation) {
	t.Helper()
	name := filepath.Join("testdata", "records", version, kind+".pb")
	data, err := os.ReadFile(name)
	if *update && errors.Is(err, fs.ErrNotExist) {
		if data, err = (proto.MarshalOptions{Deterministic: true}).Marshal(stored); err == nil {
			err = os.MkdirAll(filepath.Dir(name), 0o755)
		}
		if err == nil {
			err = os.WriteFile(name, data, 0o600)
		}
	}
	if err != nil {
		t.Error(err)
		return
	}
	record := &metapb.Operation{}
	if err := proto.Unmarshal(data, record); err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if got := Read(record); !proto.Equal(got, want) {
		t.Errorf("%s is read as\n%v\nwant\n%v", name, got, want)
	}
	if unknown := record.ProtoReflect().GetUnknown(); (len(unknown) > 0) != (version == "future") {
		t.Errorf("%s: %d bytes of fields that this program does not know", name, len(unknown))
	}
	if typed := record.Progress != nil; typed != (strings.HasPrefix(version, "v9") && kind != ShardSplitHot) {
		t.Errorf("%s: it has typed progress: %t", name, typed)
	}
}
