package server

import (
	"context"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
	"cordwood/shard/store"
)

// FreezeMemtable makes a follower freeze its memtable where the leader froze its own.
func (s *server) FreezeMemtable(ctx context.Context,
	req *shardpb.FreezeMemtableRequest,
) (*shardpb.FreezeMemtableResponse, error) {
	sh, ok := s.cfg.Shards(req.ShardId)
	if !ok {
		return nil, errs.ToGRPC(store.Unreachable(req.ShardId))
	}
	if err := sameIncarnation(sh, req.Incarnation); err != nil {
		return nil, errs.ToGRPC(err)
	}
	same, err := sh.FreezeMemtable(ctx, req.Leader, req.Index, rangeOf(req.Rows), req.Offered)
	if err != nil {
		return nil, errs.ToGRPC(err)
	}
	return &shardpb.FreezeMemtableResponse{Same: same}, nil
}

func rangeOf(r *shardpb.MemtableRange) store.Range {
	return store.Range{After: r.GetAfter(), Last: r.GetLast()}
}

// sameIncarnation refuses a request of a member of another group of the shard.
func sameIncarnation(sh Shard, incarnation uint32) error {
	if incarnation == sh.Incarnation() {
		return nil
	}
	return errs.New(errs.IllegalState, "shard %d: the request is for incarnation %d, this is incarnation %d", sh.ID(),
		incarnation, sh.Incarnation())
}

// offeredWait is the maximum time for which a follower waits for segments that a flush is writing.
const offeredWait = 20 * time.Second

// pinOffered pins the segments that a flush wrote, for a follower.
func (s *server) pinOffered(ctx context.Context, req *shardpb.PinRequest) (*store.Pinned, error) {
	sh, ok := s.cfg.Shards(req.ShardId)
	if !ok {
		return nil, store.Unreachable(req.ShardId)
	}
	if err := sameIncarnation(sh, req.Incarnation); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, offeredWait)
	defer cancel()
	p, err := sh.PinOffered(ctx, rangeOf(req.Flush))
	if err != nil {
		return nil, errs.Wrap(errs.IllegalState, err, "pin the segments of a flush")
	}
	return p, nil
}
