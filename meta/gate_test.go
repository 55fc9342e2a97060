package meta

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schemapb"
)

// gated lists the cluster version that each command, and each later form of it, needs. It is
// maintained by hand: the version of a command must not change once it is released.
var gated = []struct {
	need uint32
	cmd  *metapb.Command
}{
	{1, &metapb.Command{Op: &metapb.Command_Bootstrap{Bootstrap: &metapb.Bootstrap{}}}},
	{1, &metapb.Command{Op: &metapb.Command_RegisterNode{RegisterNode: &metapb.RegisterNode{}}}},
	{8, &metapb.Command{Op: &metapb.Command_RegisterNode{RegisterNode: &metapb.RegisterNode{
		Node: &metapb.Node{Mark: &metapb.FolderMark{}},
	}}}},
	{8, &metapb.Command{Op: &metapb.Command_RegisterNode{RegisterNode: &metapb.RegisterNode{
		Earlier: []*metapb.FolderMark{{}},
	}}}},
	{8, &metapb.Command{Op: &metapb.Command_RegisterNode{RegisterNode: &metapb.RegisterNode{Readmit: true}}}},
	{1, &metapb.Command{Op: &metapb.Command_RegisterSession{RegisterSession: &metapb.RegisterSession{}}}},
	{2, &metapb.Command{Op: &metapb.Command_SetNodeState{SetNodeState: &metapb.SetNodeState{}}}},
	{2, &metapb.Command{Op: &metapb.Command_RemoveNode{RemoveNode: &metapb.RemoveNode{}}}},
	{1, &metapb.Command{Op: &metapb.Command_SetClusterVersion{SetClusterVersion: &metapb.SetClusterVersion{}}}},
	{2, &metapb.Command{Op: &metapb.Command_SetSettings{SetSettings: &metapb.SetSettings{}}}},
	{1, &metapb.Command{Op: &metapb.Command_CreateDatabase{CreateDatabase: &metapb.CreateDatabase{}}}},
	{1, &metapb.Command{Op: &metapb.Command_DropDatabase{DropDatabase: &metapb.DropDatabase{}}}},
	{1, &metapb.Command{Op: &metapb.Command_AlterDatabase{AlterDatabase: &metapb.AlterDatabase{}}}},
	{1, &metapb.Command{Op: &metapb.Command_EnsureSchema{EnsureSchema: &metapb.EnsureSchema{}}}},
	{1, &metapb.Command{Op: &metapb.Command_CreateTable{CreateTable: &metapb.CreateTable{}}}},
	{9, &metapb.Command{Op: &metapb.Command_CreateTable{CreateTable: &metapb.CreateTable{
		Table: &schemapb.Table{Restored: &schemapb.Restored{Replaces: "app"}},
	}}}},
	{1, alter(&metapb.AlterTable{Change: &metapb.AlterTable_AddColumn{}})},
	{1, alter(&metapb.AlterTable{Change: &metapb.AlterTable_DropColumn{}})},
	{1, alter(&metapb.AlterTable{Change: &metapb.AlterTable_SetOptions{}})},
	{1, alter(&metapb.AlterTable{Change: &metapb.AlterTable_UnsetOptions{}})},
	{1, alter(&metapb.AlterTable{Change: &metapb.AlterTable_RenameTo{}})},
	{9, alter(&metapb.AlterTable{Change: &metapb.AlterTable_RenameColumn{}})},
	{9, alter(&metapb.AlterTable{Change: &metapb.AlterTable_ModifyColumn{}})},
	{9, alter(&metapb.AlterTable{Change: &metapb.AlterTable_ModifyIndex{}})},
	{1, alter(&metapb.AlterTable{Change: &metapb.AlterTable_RestoreComplete{}})},
	{1, &metapb.Command{Op: &metapb.Command_DropTable{DropTable: &metapb.DropTable{}}}},
	{1, &metapb.Command{Op: &metapb.Command_TruncateTable{TruncateTable: &metapb.TruncateTable{}}}},
	{9, &metapb.Command{Op: &metapb.Command_ReplaceTables{ReplaceTables: &metapb.ReplaceTables{}}}},
	{1, &metapb.Command{Op: &metapb.Command_PutPipeline{PutPipeline: &metapb.PutPipeline{}}}},
	{1, &metapb.Command{Op: &metapb.Command_DeletePipeline{DeletePipeline: &metapb.DeletePipeline{}}}},
	{1, &metapb.Command{Op: &metapb.Command_RestorePipeline{RestorePipeline: &metapb.RestorePipeline{}}}},
	{2, &metapb.Command{Op: &metapb.Command_CreateShard{CreateShard: &metapb.CreateShard{}}}},
	{2, shard(&metapb.ChangeShard{Change: &metapb.ChangeShard_AddLearner{}})},
	{2, shard(&metapb.ChangeShard{Change: &metapb.ChangeShard_Promote{}})},
	{2, shard(&metapb.ChangeShard{Change: &metapb.ChangeShard_Remove{}})},
	{2, shard(&metapb.ChangeShard{Change: &metapb.ChangeShard_Want{}})},
	{2, shard(&metapb.ChangeShard{Change: &metapb.ChangeShard_Forget{}})},
	{2, shard(&metapb.ChangeShard{Change: &metapb.ChangeShard_Recovered{}})},
	{3, shard(&metapb.ChangeShard{Change: &metapb.ChangeShard_MadeAnew{}})},
	{9, shard(&metapb.ChangeShard{Change: &metapb.ChangeShard_Retiring{}})},
	{2, &metapb.Command{Op: &metapb.Command_PlaceTable{PlaceTable: &metapb.PlaceTable{}}}},
	{4, &metapb.Command{Op: &metapb.Command_PlaceTable{
		PlaceTable: &metapb.PlaceTable{Step: metapb.PlaceTable_STEP_BEGIN},
	}}},
	{8, &metapb.Command{Op: &metapb.Command_FoundShards{FoundShards: &metapb.FoundShards{}}}},
	{8, &metapb.Command{Op: &metapb.Command_RaiseCounters{RaiseCounters: &metapb.RaiseCounters{}}}},
	{9, &metapb.Command{Op: &metapb.Command_RetireShard{RetireShard: &metapb.RetireShard{}}}},
	{2, &metapb.Command{Op: &metapb.Command_PutOperation{PutOperation: &metapb.PutOperation{
		Operation: &metapb.Operation{Notes: map[string]string{"moves": "5"}},
	}}}},
	{9, &metapb.Command{Op: &metapb.Command_PutOperation{PutOperation: &metapb.PutOperation{
		Operation: &metapb.Operation{Progress: &metapb.Operation_Rebalance{Rebalance: &metapb.RebalanceProgress{}}},
	}}}},
	{10, &metapb.Command{Op: &metapb.Command_PutPipeline{PutPipeline: &metapb.PutPipeline{Note: "n"}}}},
	{10, &metapb.Command{Op: &metapb.Command_PutPipeline{PutPipeline: &metapb.PutPipeline{BasedOn: proto.Int64(0)}}}},
	{10, &metapb.Command{Op: &metapb.Command_RestorePipeline{RestorePipeline: &metapb.RestorePipeline{
		Pipeline: &metapb.PipelineVersion{Note: "n"},
	}}}},
	{10, &metapb.Command{Op: &metapb.Command_PutSaved{PutSaved: &metapb.PutSaved{}}}},
	{10, &metapb.Command{Op: &metapb.Command_DropSaved{DropSaved: &metapb.DropSaved{}}}},
	{10, &metapb.Command{Op: &metapb.Command_TouchSaved{TouchSaved: &metapb.TouchSaved{}}}},
	{10, &metapb.Command{Op: &metapb.Command_RestoreSaved{RestoreSaved: &metapb.RestoreSaved{}}}},
	{13, &metapb.Command{Op: &metapb.Command_ChangeAccess{ChangeAccess: &metapb.ChangeAccess{}}}},
	{20, &metapb.Command{Op: &metapb.Command_ChangeAccess{ChangeAccess: &metapb.ChangeAccess{
		Changes: []*metapb.AccessChange{createOne("ann", false), databaseOf("ann", "")},
	}}}},
	{16, &metapb.Command{Op: &metapb.Command_ChangeAccess{ChangeAccess: &metapb.ChangeAccess{
		Conditions: []*metapb.AccessCondition{{}},
	}}}},
	{16, &metapb.Command{Op: &metapb.Command_ChangeAccess{ChangeAccess: &metapb.ChangeAccess{
		Changes: []*metapb.AccessChange{{Change: &metapb.AccessChange_ResetAdmin{ResetAdmin: &metapb.ResetAdmin{}}}},
	}}}},
	{14, &metapb.Command{Op: &metapb.Command_ChangeAccess{ChangeAccess: &metapb.ChangeAccess{
		Changes: []*metapb.AccessChange{
			{Change: &metapb.AccessChange_Drop{}}, {Change: &metapb.AccessChange_DropToken{DropToken: &metapb.DropToken{}}},
		},
	}}}},
	{14, &metapb.Command{Op: &metapb.Command_TouchTokens{TouchTokens: &metapb.TouchTokens{}}}},
	{22, &metapb.Command{Op: &metapb.Command_CommitIceberg{CommitIceberg: &metapb.CommitIceberg{}}}},
	{15, &metapb.Command{Op: &metapb.Command_MarkAudit{MarkAudit: &metapb.MarkAudit{}}}},
	{2, &metapb.Command{Op: &metapb.Command_DropOperations{DropOperations: &metapb.DropOperations{}}}},
}

func alter(x *metapb.AlterTable) *metapb.Command {
	return &metapb.Command{Op: &metapb.Command_AlterTable{AlterTable: x}}
}

func shard(x *metapb.ChangeShard) *metapb.Command {
	return &metapb.Command{Op: &metapb.Command_ChangeShard{ChangeShard: x}}
}

// TestMinVersion checks for every command and every cluster version whether the command may be
// proposed. It fails if a command of the protocol has no row.
func TestMinVersion(t *testing.T) {
	seen := map[protoreflect.FullName]bool{}
	mark := func(m protoreflect.Message, oneof protoreflect.Name) protoreflect.FieldDescriptor {
		fd := m.WhichOneof(m.Descriptor().Oneofs().ByName(oneof))
		if fd != nil {
			seen[fd.FullName()] = true
		}
		return fd
	}
	for _, row := range gated {
		m := row.cmd.ProtoReflect()
		if fd := mark(m, "op"); fd == nil {
			t.Fatalf("%v is no command", row.cmd)
		}
		mark(row.cmd.GetAlterTable().ProtoReflect(), "change")
		mark(row.cmd.GetChangeShard().ProtoReflect(), "change")
		if got := minVersion(row.cmd); got != row.need {
			t.Errorf("%v needs version %d, want %d", row.cmd, got, row.need)
		}
		for version := uint32(metapb.MinProtocol); version <= metapb.MaxProtocol; version++ {
			err := checkGate(row.cmd, version)
			if version >= row.need {
				if err != nil {
					t.Errorf("%v in a cluster of version %d: %v", row.cmd, version, err)
				}
				continue
			}
			want := fmt.Sprintf("%s needs protocol version %d, and the cluster uses %d", opName(row.cmd), row.need, version)
			if errs.CodeOf(err) != errs.Unsupported || !strings.Contains(err.Error(), want) {
				t.Errorf("%v in a cluster of version %d: %v, want %q", row.cmd, version, err, want)
			}
		}
	}
	for _, oneof := range []protoreflect.OneofDescriptor{
		(&metapb.Command{}).ProtoReflect().Descriptor().Oneofs().ByName("op"),
		(&metapb.AlterTable{}).ProtoReflect().Descriptor().Oneofs().ByName("change"),
		(&metapb.ChangeShard{}).ProtoReflect().Descriptor().Oneofs().ByName("change"),
	} {
		for i := range oneof.Fields().Len() {
			if name := oneof.Fields().Get(i).FullName(); !seen[name] {
				t.Errorf("%s has no row: say which version of the cluster it needs", name)
			}
		}
	}
}

// TestLowestVersionDecides upgrades the nodes of a cluster one after another. The features of the
// new version must be refused until the last node, which may be down, is upgraded or removed.
func TestLowestVersionDecides(t *testing.T) {
	const before, after = metapb.ProtocolReplace - 1, metapb.ProtocolReplace
	m := mustOpen(t, Config{})
	propose(t, m, fmt.Sprintf("bootstrap c1 shards=1 version=%d", before))
	for _, name := range []string{"n1", "n2", "n3"} {
		propose(t, m, fmt.Sprintf("node %s max=%d", name, before))
	}
	newer := []string{"replace b1 r/1>t", "retire 1 v=1", "change-shard 1 v=1 retiring=true"}
	for i, upgraded := range []string{"n1", "n2", "n3"} {
		last := i == 2
		propose(t, m, fmt.Sprintf("node %s max=%d", upgraded, after))
		if got := propose(t, m, fmt.Sprintf("version %d", after)); (got == "") != last {
			t.Errorf("after the upgrade of %s the version is raised: %q", upgraded, got)
		} else if !last && !strings.Contains(got, "node n") {
			t.Errorf("the refusal does not name the nodes that understand less: %s", got)
		}
		for _, line := range newer {
			got := propose(t, m, line)
			if refused := strings.Contains(got, fmt.Sprintf("needs protocol version %d", after)); refused == last {
				t.Errorf("%s, after the upgrade of %s: %q", line, upgraded, got)
			}
		}
	}
	if got := propose(t, m, fmt.Sprintf("node n4 max=%d", before)); !strings.HasPrefix(got, "1") {
		t.Errorf("a node that does not understand the version of the cluster is taken in: %q", got)
	}
}
