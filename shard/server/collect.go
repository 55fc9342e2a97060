package server

import (
	"context"

	"google.golang.org/grpc"

	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
	"cordwood/shard/server/distribute"
)

// maxCollected is the maximum number of bytes of an answer that a query needs for another query.
const maxCollected = 8 << 20

// collected is an answer that stays on this node.
type collected struct {
	grpc.ServerStreamingServer[shardpb.QueryChunk]
	ipc     []byte
	missing []string
}

// Send keeps a piece of the answer.
func (c *collected) Send(chunk *shardpb.QueryChunk) error {
	if len(c.ipc)+len(chunk.ArrowIpc) > maxCollected {
		return errs.New(errs.Internal, "query: the answer to a subquery has more than %d bytes", maxCollected)
	}
	c.ipc, c.missing = append(c.ipc, chunk.ArrowIpc...), append(c.missing, chunk.Partial...)
	return nil
}

// emitted is an answer whose rows are passed to a function.
type emitted struct {
	grpc.ServerStreamingServer[shardpb.QueryChunk]
	emit    func(ipc []byte) error
	missing []string
}

// Send passes a piece of the answer on.
func (e *emitted) Send(chunk *shardpb.QueryChunk) error {
	e.missing = append(e.missing, chunk.Partial...)
	if len(chunk.ArrowIpc) == 0 {
		return nil
	}
	return e.emit(chunk.ArrowIpc)
}

// ownPart runs a part of a query of this node over its own shards.
func (s *server) ownPart(ctx context.Context, req *shardpb.QueryRequest, emit func(ipc []byte) error,
) (of distribute.OwnAnswer, err error) {
	ctx, q, leave := s.running.enter(ctx, req)
	defer leave()
	out := &emitted{emit: emit}
	err = q.ended(ctx, s.query(ctx, q, req, false, watched{out, q}))
	of.Missing = out.missing
	if req.Stages {
		of.Stages = q.stages()
	}
	return of, err
}

// rowsFor runs a query whose rows another query of this node needs.
func (s *server) rowsFor(ctx context.Context, req *shardpb.QueryRequest, progress distribute.Progress,
) (ipc []byte, missing []string, err error) {
	q, ok := progress.(*runningQuery)
	if !ok {
		return nil, nil, errs.New(errs.Unexpected, "run a subquery: its query is not in the list of running queries")
	}
	var out collected
	err = s.query(ctx, q, req, true, &out)
	return out.ipc, out.missing, err
}
