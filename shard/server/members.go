package server

import (
	"context"

	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
	"cordwood/shard/replica"
	"cordwood/shard/store"
)

// ChangeReplicas changes the members of a shard's group.
func (s *server) ChangeReplicas(ctx context.Context,
	req *shardpb.ChangeReplicasRequest,
) (*shardpb.ChangeReplicasResponse, error) {
	sh, ok := s.cfg.Shards(req.ShardId)
	if !ok {
		return nil, errs.ToGRPC(store.Unreachable(req.ShardId).WithReason(errs.NotLeader))
	}
	kinds := map[shardpb.ChangeReplicasRequest_Change]replica.ChangeKind{
		shardpb.ChangeReplicasRequest_CHANGE_ADD_LEARNER: replica.AddLearner,
		shardpb.ChangeReplicasRequest_CHANGE_PROMOTE:     replica.Promote,
		shardpb.ChangeReplicasRequest_CHANGE_REMOVE:      replica.Remove,
		shardpb.ChangeReplicasRequest_CHANGE_LEAD:        replica.Lead,
	}
	kind, ok := kinds[req.Change]
	if !ok {
		return nil, errs.ToGRPC(errs.New(errs.InvalidArguments,
			"shard %d: change replicas: this version does not know the change %d; upgrade the node", req.ShardId, req.Change))
	}
	if err := sh.Change(ctx, kind, req.NodeId); err != nil {
		return nil, errs.ToGRPC(err)
	}
	resp := &shardpb.ChangeReplicasResponse{}
	resp.Voters, resp.Learners = sh.Replica().Members()
	return resp, nil
}

// ReadBarrier returns an index of a shard's log at which everything acknowledged is applied.
func (s *server) ReadBarrier(ctx context.Context,
	req *shardpb.ReadBarrierRequest,
) (*shardpb.ReadBarrierResponse, error) {
	sh, ok := s.cfg.Shards(req.ShardId)
	if !ok {
		return nil, errs.ToGRPC(store.Unreachable(req.ShardId).WithReason(errs.NotLeader))
	}
	index, p, err := sh.Replica().ReadProgress(ctx)
	if err != nil {
		return nil, errs.ToGRPC(err)
	}
	return &shardpb.ReadBarrierResponse{Index: index, Term: p.Term, Committed: p.Index, Incarnation: sh.Incarnation()}, nil
}
