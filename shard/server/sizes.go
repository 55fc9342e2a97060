package server

import (
	"context"

	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
	"cordwood/shard/rules"
	"cordwood/shard/store"
)

// TableSizes returns how large tables of a shard are.
func (s *server) TableSizes(ctx context.Context, req *shardpb.TableSizesRequest) (*shardpb.TableSizesResponse, error) {
	sh, ok := s.cfg.Shards(req.ShardId)
	if !ok {
		return nil, errs.ToGRPC(store.Unreachable(req.ShardId).WithReason(errs.NotLeader))
	}
	if _, err := sh.ReadBarrier(ctx); err != nil {
		return nil, errs.ToGRPC(err)
	}
	return &shardpb.TableSizesResponse{Tables: sh.Store().Status.Sizes(req.TableIds)}, nil
}

// ExpireRows makes rows of a shard expire.
func (s *server) ExpireRows(ctx context.Context, req *shardpb.ExpireRowsRequest) (*shardpb.ExpireRowsResponse, error) {
	sh, ok := s.cfg.Shards(req.ShardId)
	if !ok {
		return nil, errs.ToGRPC(store.Unreachable(req.ShardId).WithReason(errs.NotLeader))
	}
	cutoffs := make([]rules.Cutoff, len(req.Cutoffs))
	for i, c := range req.Cutoffs {
		cutoffs[i] = rules.Cutoff{TableID: c.TableId, Before: c.Before}
	}
	if err := sh.ExpireBefore(ctx, cutoffs); err != nil {
		return nil, errs.ToGRPC(err)
	}
	return &shardpb.ExpireRowsResponse{}, nil
}
