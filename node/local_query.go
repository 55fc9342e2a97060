package node

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"cordwood/proto/shardpb"
	"cordwood/proto/stack"
	"cordwood/proto/tracing"
)

func (c *localConn) NewStream(
	ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	if method != shardpb.ShardService_Query_FullMethodName || c.shards == nil {
		return c.ClientConnInterface.NewStream(ctx, desc, method, opts...)
	}
	if err := ctx.Err(); err != nil {
		return nil, status.FromContextError(err).Err()
	}
	return &localQuery{
		conn: c, ctx: ctx, begun: make(chan struct{}), chunks: make(chan *shardpb.QueryChunk),
		done: make(chan struct{}),
	}, nil
}

// localQuery is a running query: the caller's end of the stream. CloseSend starts the service on another goroutine.
// The service waits after each chunk until the caller takes it.
type localQuery struct {
	conn   *localConn
	ctx    context.Context
	req    *shardpb.QueryRequest
	header metadata.MD   // what the service has sent; read it only after begun is closed
	begun  chan struct{} // closed when the service has sent its header
	once   sync.Once     // closes begun
	chunks chan *shardpb.QueryChunk
	done   chan struct{} // closed when the service has returned
	err    error         // the result of the service; read it only after done is closed
}

// SendMsg sets the request.
func (q *localQuery) SendMsg(m any) error {
	req, ok := m.(*shardpb.QueryRequest)
	if !ok || q.req != nil {
		return status.Error(codes.Internal, fmt.Sprintf("query: unexpected message %T instead of one request", m))
	}
	q.req = req
	return nil
}

// CloseSend starts the service.
func (q *localQuery) CloseSend() error {
	if q.req == nil {
		return status.Error(codes.Internal, "query: no request was sent")
	}
	if !q.conn.enter() {
		return status.Error(codes.Unavailable, "this node is stopping")
	}
	go func() {
		stack.Grow()
		defer q.conn.calls.Done()
		ctx, span := tracing.Start(detach(q.ctx), methodName(shardpb.ShardService_Query_FullMethodName))
		q.err = q.conn.shards.Query(q.req, &localAnswer{query: q, ctx: ctx})
		span.End(q.err)
		close(q.done)
	}()
	return nil
}

// RecvMsg waits for the next chunk.
func (q *localQuery) RecvMsg(m any) error {
	out, ok := m.(*shardpb.QueryChunk)
	if !ok {
		return status.Error(codes.Internal, fmt.Sprintf("query: cannot receive an answer as %T", m))
	}
	select {
	case chunk := <-q.chunks:
		out.Reset()
		out.ArrowIpc, out.Missing, out.Stages = chunk.ArrowIpc, chunk.Missing, chunk.Stages
		out.Waits = chunk.Waits
		return nil
	case <-q.done:
	case <-q.ctx.Done():
		return status.FromContextError(q.ctx.Err()).Err()
	}
	if q.err == nil {
		return io.EOF
	}
	return asStatus(q.err)
}

// Header waits until the service sends its header or ends.
func (q *localQuery) Header() (metadata.MD, error) {
	select {
	case <-q.begun:
		return q.header, nil
	case <-q.done:
	case <-q.ctx.Done():
		return nil, status.FromContextError(q.ctx.Err()).Err()
	}
	return metadata.MD{}, nil
}

// Trailer and Context have no meaning without a network.
func (q *localQuery) Trailer() metadata.MD     { return nil }
func (q *localQuery) Context() context.Context { return q.ctx }

// localAnswer is the service's end of the stream.
type localAnswer struct {
	grpc.ServerStream // nil, because the service calls no other methods
	query             *localQuery
	ctx               context.Context
}

func (a *localAnswer) Context() context.Context { return a.ctx }

// SendHeader signals that the service answers.
func (a *localAnswer) SendHeader(h metadata.MD) error {
	a.query.once.Do(func() {
		a.query.header = h
		close(a.query.begun)
	})
	return nil
}

// SetHeader and SetTrailer do nothing: there is no network.
func (a *localAnswer) SetHeader(metadata.MD) error { return nil }
func (a *localAnswer) SetTrailer(metadata.MD)      {}

// Send passes a chunk to the caller. It copies the chunk, since the service may reuse its memory.
func (a *localAnswer) Send(chunk *shardpb.QueryChunk) error {
	_ = a.SendHeader(nil) // never fails
	out := &shardpb.QueryChunk{
		ArrowIpc: bytes.Clone(chunk.ArrowIpc), Missing: chunk.Missing, Stages: chunk.Stages, Waits: chunk.Waits,
	}
	select {
	case a.query.chunks <- out:
		return nil
	case <-a.ctx.Done():
		return status.FromContextError(a.ctx.Err()).Err()
	}
}
