package operation

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/metapb"
)

// notesWritten lists, by kind, the notes of programs of protocol version 8 and older, and the progress
// that they mean.
var notesWritten = []struct {
	name string
	op   *metapb.Operation // with the progress, without notes
	text map[string]string
}{
	{
		"shards of a new cluster, none created",
		&metapb.Operation{
			Kind:     ShardAdd,
			Progress: &metapb.Operation_ShardAdd{ShardAdd: &metapb.ShardAddProgress{Count: 3, Initial: true}},
		},
		map[string]string{"count": "3", "initial": "true"},
	},
	{
		"first shard of all, started",
		&metapb.Operation{
			Kind:     ShardAdd,
			Progress: &metapb.Operation_ShardAdd{ShardAdd: &metapb.ShardAddProgress{Count: 1, Begun: true}},
		},
		map[string]string{"count": "1", "base": "0"},
	},
	{
		"move of one replica that is undone",
		&metapb.Operation{Kind: ShardMove, Progress: &metapb.Operation_Replicas{Replicas: &metapb.ReplicasProgress{
			Undo: "node d is drained", CopyingUnixNano: 1700000000000000001, PromotedUnixNano: 1700000000000000002,
		}}},
		map[string]string{"undo": "node d is drained", "copying": "1700000000000000001", "promoted": "1700000000000000002"},
	},
	{
		"change of the number of replicas",
		&metapb.Operation{Kind: ReplicaChange, Progress: &metapb.Operation_Replicas{Replicas: &metapb.ReplicasProgress{
			Chosen: true, Was: 1, Add: []string{"b", "c"}, Drop: []string{"a"},
		}}},
		map[string]string{"was": "1", "add": "b,c", "drop": "a"},
	},
	{
		"rebuild of a damaged replica",
		&metapb.Operation{
			Kind:     ReplicaRebuild,
			Progress: &metapb.Operation_Replicas{Replicas: &metapb.ReplicasProgress{Leaving: true, Left: true}},
		},
		map[string]string{"leaving": "true", "left": "true"},
	},
	{
		"repair without progress",
		&metapb.Operation{Kind: ReplicaRepair}, nil,
	},
	{
		"dropped shard",
		&metapb.Operation{
			Kind: ShardDrop,
			Progress: &metapb.Operation_ShardDrop{
				ShardDrop: &metapb.ShardDropProgress{ShardId: 2, Incarnation: 1, Loss: "all rows of shard 2"},
			},
		},
		map[string]string{"shard": "2", "was": "1", "loss": "all rows of shard 2"},
	},
	{
		"table that is moved with its rows",
		&metapb.Operation{Kind: TableMove, Progress: &metapb.Operation_Table{Table: &metapb.TableProgress{
			Name: "public.app", WithRows: true, Copy: 12, Copies: 2, Copiers: map[uint32]string{1: "a", 4: "b"},
			Why: "node a is lost", Told: []uint32{3},
		}}},
		map[string]string{
			"name": "public.app", "rows": "true", "copy": "12", "copies": "2", "copiers": "1=a,4=b",
			"why": "node a is lost", "told": "3",
		},
	},
	{
		"table over more shards",
		&metapb.Operation{Kind: TablePartition, Progress: &metapb.Operation_Table{Table: &metapb.TableProgress{
			Partitions: 4, Begun: true, Epoch: 7, Former: []uint32{1, 2}, Sealed: []uint32{2},
		}}},
		map[string]string{"count": "4", "epoch": "7", "old": "1,2", "sealed": "2"},
	},
	{
		"node before a restart",
		&metapb.Operation{
			Kind:     NodeDrain,
			Progress: &metapb.Operation_Node{Node: &metapb.NodeProgress{Name: "n1", ForRestart: true}},
		},
		map[string]string{"name": "n1", "mode": "restart"},
	},
	{
		"node that leaves",
		&metapb.Operation{Kind: NodeDecommission, Progress: &metapb.Operation_Node{Node: &metapb.NodeProgress{Name: "n1"}}},
		map[string]string{"name": "n1"},
	},
	{
		"rebalance",
		&metapb.Operation{
			Kind:     Rebalance,
			Progress: &metapb.Operation_Rebalance{Rebalance: &metapb.RebalanceProgress{Parts: 5}},
		},
		map[string]string{"moves": "5"},
	},
}

// TestNotes reads records of older programs, as after an upgrade during an operation, and writes
// records for nodes that still run such programs.
func TestNotes(t *testing.T) {
	for _, tt := range notesWritten {
		t.Run(tt.name, func(t *testing.T) {
			old := proto.CloneOf(tt.op)
			old.Id, old.Progress, old.Notes = 5, nil, tt.text
			before := proto.CloneOf(old)
			want := proto.CloneOf(tt.op)
			want.Id = 5
			typed := Read(old)
			if !proto.Equal(typed, want) {
				t.Errorf("read as %v, want %v", typed, want)
			}
			if !proto.Equal(old, before) {
				t.Errorf("reading changed the record to %v", old)
			}
			if got := Read(typed); !proto.Equal(got, want) {
				t.Errorf("read again as %v", got)
			}
			if got := Write(typed, metapb.ProtocolProgress-1); !proto.Equal(got, before) {
				t.Errorf("written for older programs as %v, want %v", got, before)
			}
			if got := Write(typed, metapb.ProtocolProgress); !proto.Equal(got, want) || len(got.Notes) > 0 {
				t.Errorf("written as %v, want %v", got, want)
			}
			if !proto.Equal(typed, want) {
				t.Errorf("writing changed the record to %v", typed)
			}
		})
	}
}

// TestNotesHaveKinds checks that each kind with progress has a record above.
func TestNotesHaveKinds(t *testing.T) {
	// The first kind has no progress, and the second one is refused before version 9.
	have := map[string]bool{ShardSplitHot: true, ShardRemove: true}
	for _, tt := range notesWritten {
		have[tt.op.Kind] = true
	}
	for kind := range Kinds {
		if !have[Kinds[kind]] {
			t.Errorf("no notes of kind %q", Kinds[kind])
		}
	}
}

// TestForeignNotes reads notes that no program wrote. They must be ignored.
func TestForeignNotes(t *testing.T) {
	op := Read(&metapb.Operation{
		Kind:  TableMove,
		Notes: map[string]string{"copiers": "x,=,7", "epoch": "-1", "old": ",9999999999", "copy": "1e9"},
	})
	p := op.GetTable()
	if p.GetCopy() != 0 || p.GetEpoch() != 0 || !p.GetBegun() {
		t.Errorf("read as %v", p)
	}
}
