package server

import (
	"context"

	"google.golang.org/grpc"

	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
	"cordwood/proto/words"
	"cordwood/shard/server/distribute"
)

// maxCollected is the maximum number of bytes of an answer that a query needs for another query.
const maxCollected = 8 << 20

// collected is an answer that stays on this node.
type collected struct {
	grpc.ServerStreamingServer[shardpb.QueryChunk]
	ipc     []byte
	missing []words.Missing
	// ran says which nodes sent what, if noted is set.
	noted bool
	ran   string
}

// Send keeps a piece of the answer.
func (c *collected) Send(chunk *shardpb.QueryChunk) error {
	if len(c.ipc)+len(chunk.ArrowIpc) > maxCollected {
		return errs.New(errs.Internal, "query: the answer to a subquery has more than %d bytes", maxCollected)
	}
	c.ipc, c.missing = append(c.ipc, chunk.ArrowIpc...), append(c.missing, shardpb.MissingIn(chunk)...)
	return nil
}

// emitted is an answer whose rows are passed to a function.
type emitted struct {
	grpc.ServerStreamingServer[shardpb.QueryChunk]
	emit    func(ipc []byte) error
	missing []words.Missing
}

// Send passes a piece of the answer on.
func (e *emitted) Send(chunk *shardpb.QueryChunk) error {
	e.missing = append(e.missing, shardpb.MissingIn(chunk)...)
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
) (distribute.InnerAnswer, error) {
	q, ok := progress.(*runningQuery)
	if !ok {
		return distribute.InnerAnswer{}, errs.New(errs.Unexpected,
			"run a subquery: its query is not in the list of running queries")
	}
	out := collected{noted: req.Stages}
	err := s.query(ctx, q, req, true, &out)
	return distribute.InnerAnswer{IPC: out.ipc, Missing: out.missing, Ran: out.ran}, err
}

// note records which nodes sent what for a query whose rows another query needs, if that is asked for.
func note(stream grpc.ServerStreamingServer[shardpb.QueryChunk], ran func() string) {
	if c, ok := stream.(*collected); ok && c.noted {
		c.ran = ran()
	}
}
