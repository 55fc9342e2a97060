package meta

import (
	"slices"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// Before the log: shards and placement.

const (
	// maxReplicas is the most replicas of a shard, learners included.
	maxReplicas = 9
	// maxWant is the most replicas that a shard may be asked to have.
	maxWant = 7
	// maxPartitions is the most shards that take the writes of one table.
	maxPartitions = 256
)

func prepareCreateShard(s *metapb.CreateShard) error {
	if n := len(s.Replicas); n == 0 || n > maxWant {
		return errs.New(errs.InvalidArguments, "Create a shard on %d nodes: 1 to %d are possible", n, maxWant)
	}
	for i, id := range s.Replicas {
		if err := checkText("node id", id, true); err != nil {
			return err
		}
		if slices.Contains(s.Replicas[:i], id) {
			return errs.New(errs.InvalidArguments, "Create a shard: node %s is given twice", id)
		}
	}
	if s.Want == 0 {
		s.Want = uint32(len(s.Replicas))
	}
	return checkWant(s.Want)
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
	case *metapb.ChangeShard_Want:
		return checkWant(change.Want)
	default:
		return errs.New(errs.InvalidArguments, "Change shard %d: no change is given", s.ShardId)
	}
	return checkText("node id", node, true)
}

func preparePlaceTable(p *metapb.PlaceTable) error {
	if n := len(p.ShardIds); n == 0 || n > maxPartitions {
		return errs.New(errs.InvalidArguments, "Place table %d on %d shards: 1 to %d are possible", p.TableId, n, maxPartitions)
	}
	for i, id := range p.ShardIds {
		if slices.Contains(p.ShardIds[:i], id) {
			return errs.New(errs.InvalidArguments, "Place table %d: shard %d is given twice", p.TableId, id)
		}
	}
	return nil
}
