package server

import (
	"context"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
	"cordwood/shard/store"
)

// HandOver makes a shard of this node copy a table to other shards, and returns the progress of the
// copy.
func (s *server) HandOver(ctx context.Context, req *shardpb.HandOverRequest) (*shardpb.HandOverResponse, error) {
	sh, ok := s.cfg.Shards(req.ShardId)
	if !ok {
		return nil, errs.ToGRPC(store.Unreachable(req.ShardId))
	}
	id := req.GetTable().GetHandoff().GetTableId()
	if id == 0 {
		return nil, errs.ToGRPC(errs.New(errs.InvalidArguments,
			"shard %d: hand over: the definition of the table has no handoff", req.ShardId))
	}
	if req.End {
		sh.Handoffs().End(id)
		return &shardpb.HandOverResponse{Unknown: true}, nil
	}
	nodes := map[uint32][]string{}
	for _, n := range req.Nodes {
		nodes[n.ShardId] = n.NodeIds
	}
	if req.Begin {
		if _, err := s.ready(ctx, req.ShardId); err != nil {
			return nil, errs.ToGRPC(err)
		}
		if err := sh.Handoffs().Begin(req.Table, nodes); err != nil {
			return nil, errs.ToGRPC(err)
		}
	}
	st, known := sh.Handoffs().Wait(ctx, id, nodes, min(time.Duration(req.WaitMillis)*time.Millisecond, maxHandoffWait))
	resp := &shardpb.HandOverResponse{
		Unknown: !known, DoneBytes: st.Done, TotalBytes: st.Total, CaughtUp: st.CaughtUp, Complete: st.Complete,
		Waits: st.Waits,
	}
	if st.Err != nil {
		resp.Error = st.Err.Error()
	}
	return resp, nil
}

// maxHandoffWait is how long one call may wait for progress.
const maxHandoffWait = 5 * time.Second
