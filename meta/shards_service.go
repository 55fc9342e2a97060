package meta

import (
	"fmt"
	"slices"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// This file prepares commands about shards and placement.

const (
	// maxReplicas is the maximum number of replicas of a shard, including learners.
	maxReplicas = 9
	// maxWant is the maximum wanted number of replicas.
	maxWant = 7
	// maxPartitions is the maximum number of shards that take the writes of one table.
	maxPartitions = 256
)

func prepareCreateShard(s *metapb.CreateShard) error {
	if err := checkFounders("Create a shard", s.Replicas); err != nil {
		return err
	}
	if s.Want == 0 {
		s.Want = uint32(len(s.Replicas))
	}
	return checkWant(s.Want)
}

// checkFounders refuses nodes that cannot form a group.
func checkFounders(what string, nodes []string) error {
	if n := len(nodes); n == 0 || n > maxWant {
		return errs.New(errs.InvalidArguments, "%s on %d nodes: 1 to %d are possible", what, n, maxWant)
	}
	for i, id := range nodes {
		if err := checkText("node id", id, true); err != nil {
			return err
		}
		if slices.Contains(nodes[:i], id) {
			return errs.New(errs.InvalidArguments, "%s: node %s is given twice", what, id)
		}
	}
	return nil
}

func checkWant(n uint32) error {
	if n < 1 || n > maxWant {
		return errs.New(errs.InvalidArguments, "A shard with %d replicas: 1 to %d are possible", n, maxWant)
	}
	return nil
}

func prepareChangeShard(s *metapb.ChangeShard) error {
	node := ""
	switch change := s.Change.(type) {
	case *metapb.ChangeShard_AddLearner:
		node = change.AddLearner
	case *metapb.ChangeShard_Promote:
		node = change.Promote
	case *metapb.ChangeShard_Remove:
		node = change.Remove
	case *metapb.ChangeShard_Forget:
		node = change.Forget
	case *metapb.ChangeShard_Recovered:
		node = change.Recovered.GetNodeId()
	case *metapb.ChangeShard_MadeAnew:
		return checkFounders(fmt.Sprintf("Create shard %d again", s.ShardId), change.MadeAnew.GetNodeIds())
	case *metapb.ChangeShard_Want:
		return checkWant(change.Want)
	case *metapb.ChangeShard_Retiring:
		return nil
	default:
		return errs.New(errs.InvalidArguments, "Change shard %d: no change is given", s.ShardId)
	}
	return checkText("node id", node, true)
}

func preparePlaceTable(p *metapb.PlaceTable) error {
	places := p.Step == metapb.PlaceTable_STEP_UNSPECIFIED || p.Step == metapb.PlaceTable_STEP_BEGIN
	if _, known := metapb.PlaceTable_Step_name[int32(p.Step)]; !known {
		return errs.New(errs.InvalidArguments, "Place table %d: step %d is not known", p.TableId, p.Step)
	}
	if !places && len(p.ShardIds) > 0 {
		return errs.New(errs.InvalidArguments, "Place table %d: the shards of a handoff are given when it begins", p.TableId)
	}
	if n := len(p.ShardIds); places && (n == 0 || n > maxPartitions) {
		return errs.New(errs.InvalidArguments, "Place table %d on %d shards: 1 to %d are possible", p.TableId, n,
			maxPartitions)
	}
	for i, id := range p.ShardIds {
		if slices.Contains(p.ShardIds[:i], id) {
			return errs.New(errs.InvalidArguments, "Place table %d: shard %d is given twice", p.TableId, id)
		}
	}
	return nil
}

func prepareFoundShards(f *metapb.FoundShards) error {
	if n := len(f.Shards); n > catalog.MaxShards {
		return errs.New(errs.InvalidArguments, "Record the founders of shards: %d shards, at most %d are possible", n,
			catalog.MaxShards)
	}
	return checkText("node id", f.NodeId, true)
}
