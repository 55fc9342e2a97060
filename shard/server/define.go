package server

import (
	"context"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
	"cordwood/shard/store"
)

// maxCheckKeys is the maximum number of keys in one call.
const maxCheckKeys = 10_000

// DefineTables puts table definitions into the shard's log if they are newer than the shard's.
func (s *server) DefineTables(ctx context.Context,
	req *shardpb.DefineTablesRequest,
) (*shardpb.DefineTablesResponse, error) {
	sh, err := s.leading(req.ShardId)
	if err != nil {
		return nil, errs.ToGRPC(err)
	}
	index, err := sh.Seal(ctx, req.Tables)
	if err != nil {
		return nil, errs.ToGRPC(err)
	}
	return &shardpb.DefineTablesResponse{Index: index}, nil
}

// CheckKeys reports which batches of requests with a key were appended.
func (s *server) CheckKeys(ctx context.Context, req *shardpb.CheckKeysRequest) (*shardpb.CheckKeysResponse, error) {
	sh, err := s.leading(req.ShardId)
	if err == nil && len(req.Keys) > maxCheckKeys {
		err = errs.New(errs.InvalidArguments, "shard %d: check %d keys: at most %d are allowed in one call", req.ShardId,
			len(req.Keys), maxCheckKeys)
	}
	if err == nil {
		_, err = sh.ReadBarrier(ctx)
	}
	if err != nil {
		return nil, errs.ToGRPC(err)
	}
	resp := &shardpb.CheckKeysResponse{Appended: make([]bool, len(req.Keys))}
	for i, k := range req.Keys {
		if !column.KeyedSession(k.Session) {
			return nil, errs.ToGRPC(errs.New(errs.InvalidArguments,
				"shard %d: check key %016x: it is the session of a writer, not a key", req.ShardId, k.Session))
		}
		resp.Appended[i] = sh.Store().Definitions.HasKey(k.Session, k.Sequence)
	}
	return resp, nil
}

// leading returns a shard that this node leads.
func (s *server) leading(id uint32) (Shard, error) {
	sh, ok := s.cfg.Shards(id)
	if !ok {
		return nil, store.Unreachable(id).WithReason(errs.NotLeader)
	}
	return sh, sh.Replica().CheckLeads()
}
