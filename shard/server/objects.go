package server

import (
	"google.golang.org/grpc"

	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
	"cordwood/shard/manifest"
	"cordwood/shard/store"
)

// objectsPiece is about how many bytes of objects one message has.
const objectsPiece = 256 << 10

// ColdObjects sends the live objects of tables.
func (s *server) ColdObjects(
	req *shardpb.ColdObjectsRequest, out grpc.ServerStreamingServer[shardpb.ColdObjectsResponse],
) error {
	sh, ok := s.cfg.Shards(req.ShardId)
	if !ok {
		return errs.ToGRPC(store.Unreachable(req.ShardId).WithReason(errs.NotLeader))
	}
	if _, err := sh.ReadBarrier(out.Context()); err != nil {
		return errs.ToGRPC(err)
	}
	objects, shared := sh.Store().Status.ObjectsOf(req.TableIds)
	resp := &shardpb.ColdObjectsResponse{}
	for _, id := range req.TableIds {
		if rows := shared[id]; rows > 0 {
			resp.Shared = append(resp.Shared, &shardpb.SharedRows{TableId: id, Rows: rows})
		}
	}
	bytes := 0
	for _, o := range objects {
		b := manifest.AppendObject(nil, o)
		resp.Objects, resp.Sets = append(resp.Objects, b), append(resp.Sets, o.Cut)
		if bytes += len(b); bytes >= objectsPiece {
			if err := out.Send(resp); err != nil {
				return err
			}
			resp, bytes = &shardpb.ColdObjectsResponse{}, 0
		}
	}
	return out.Send(resp)
}
