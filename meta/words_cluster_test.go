package meta

import (
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"cordwood/proto/metapb"
)

// number returns the value of an option, 0 without it.
func (a args) number(key string) uint32 {
	n, _ := strconv.ParseUint(a.options[key], 10, 32)
	return uint32(n)
}

// shards returns the ids in an option, which are separated by commas.
func (a args) shards(key string) (ids []uint32) {
	for _, s := range strings.FieldsFunc(a.options[key], func(r rune) bool { return r == ',' }) {
		n, _ := strconv.ParseUint(s, 10, 32)
		ids = append(ids, uint32(n))
	}
	return ids
}

// markWord returns the mark 3b: number 3, and as tag the word.
func markWord(w string) *metapb.FolderMark {
	n, _ := strconv.ParseUint(strings.TrimRight(w, "abcdefghx"), 10, 64)
	return &metapb.FolderMark{Number: n, Tag: xxhash.Sum64String(w)}
}

// clusterCommand returns the command for words about clusters of several nodes, or nil for others.
func clusterCommand(word string, a args) *metapb.Command {
	first := func() string {
		if len(a.names) == 0 {
			return ""
		}
		return a.names[0]
	}
	id, _ := strconv.ParseUint(first(), 10, 32)
	switch word {
	case "state":
		state := metapb.NodeState_value["NODE_STATE_"+strings.ToUpper(a.names[1])]
		return &metapb.Command{
			Op: &metapb.Command_SetNodeState{
				SetNodeState: &metapb.SetNodeState{NodeId: first(), State: metapb.NodeState(state)},
			},
		}
	case "remove-node":
		return &metapb.Command{Op: &metapb.Command_RemoveNode{RemoveNode: &metapb.RemoveNode{NodeId: first()}}}
	case "version":
		return &metapb.Command{
			Op: &metapb.Command_SetClusterVersion{SetClusterVersion: &metapb.SetClusterVersion{Version: uint32(id)}},
		}
	case "settings":
		return &metapb.Command{Op: &metapb.Command_SetSettings{SetSettings: &metapb.SetSettings{Settings: &metapb.Settings{
			Replication: a.number("replication"), InitialShards: a.number("initial"),
			RebalancePaused: a.options["paused"] == "true",
		}}}}
	case "create-shard":
		return &metapb.Command{
			Op: &metapb.Command_CreateShard{
				CreateShard: &metapb.CreateShard{
					Replicas: strings.Split(first(), ","), Want: a.number("want"), ShardId: a.number("id"),
				},
			},
		}
	case "change-shard":
		c := &metapb.ChangeShard{ShardId: uint32(id), Version: a.number("v")}
		for k, v := range a.options {
			switch k {
			case "add":
				c.Change = &metapb.ChangeShard_AddLearner{AddLearner: v}
			case "promote":
				c.Change = &metapb.ChangeShard_Promote{Promote: v}
			case "remove":
				c.Change = &metapb.ChangeShard_Remove{Remove: v}
			case "forget":
				c.Change = &metapb.ChangeShard_Forget{Forget: v}
			case "want":
				c.Change = &metapb.ChangeShard_Want{Want: a.number("want")}
			case "retiring":
				c.Change = &metapb.ChangeShard_Retiring{Retiring: v == "true"}
			case "anew":
				c.Change = &metapb.ChangeShard_MadeAnew{MadeAnew: &metapb.MadeAnew{NodeIds: strings.Split(v, ",")}}
			case "recovered":
				c.Change = &metapb.ChangeShard_Recovered{Recovered: &metapb.Recovered{NodeId: v, Incarnation: a.number("as")}}
			}
		}
		return &metapb.Command{Op: &metapb.Command_ChangeShard{ChangeShard: c}}
	case "retire":
		return &metapb.Command{
			Op: &metapb.Command_RetireShard{RetireShard: &metapb.RetireShard{ShardId: uint32(id), Version: a.number("v")}},
		}
	case "place":
		p := &metapb.PlaceTable{TableId: id, Epoch: a.number("epoch"), HandoffId: uint64(a.number("copy"))}
		if step := a.options["step"]; step != "" {
			p.Step = metapb.PlaceTable_Step(metapb.PlaceTable_Step_value["STEP_"+
				strings.ReplaceAll(strings.ToUpper(step), " ", "_")])
		}
		p.ShardIds = a.shards("shards")
		return &metapb.Command{Op: &metapb.Command_PlaceTable{PlaceTable: p}}
	case "found":
		f := &metapb.FoundShards{NodeId: first()}
		for _, w := range a.names[1:] {
			n, _ := strconv.ParseUint(w, 10, 32)
			f.Shards = append(f.Shards, &metapb.FoundedShard{Id: uint32(n), Incarnation: max(a.number("as"), 1)})
		}
		return &metapb.Command{Op: &metapb.Command_FoundShards{FoundShards: f}}
	case "raise":
		return &metapb.Command{
			Op: &metapb.Command_RaiseCounters{
				RaiseCounters: &metapb.RaiseCounters{Recovered: a.flags["lost"], TableId: uint64(a.number("table"))},
			},
		}
	case "drop-ops":
		return &metapb.Command{Op: &metapb.Command_DropOperations{DropOperations: &metapb.DropOperations{Keep: uint32(id)}}}
	case "op":
		state := metapb.OperationState_OPERATION_STATE_RUNNING
		if v := a.options["state"]; v != "" {
			state = metapb.OperationState(metapb.OperationState_value["OPERATION_STATE_"+strings.ToUpper(v)])
		}
		operation := &metapb.Operation{
			Id: uint64(a.number("id")), Version: a.number("v"), Kind: first(), State: state, Parent: uint64(a.number("parent")),
			ShardId: a.number("shard"), TableId: uint64(a.number("table")), NodeId: a.options["node"], ToShards: a.shards("to"),
		}
		return &metapb.Command{Op: &metapb.Command_PutOperation{
			PutOperation: &metapb.PutOperation{Operation: operation},
		}}
	}
	return nil
}
