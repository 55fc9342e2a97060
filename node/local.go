package node

import (
	"context"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"cordwood/proto/column"
	"cordwood/proto/shardpb"
	"cordwood/proto/tracing"
)

// localConn is the connection to the services of this process. Writes to shards, which are frequent and large, and
// queries, which may take less time than gRPC's overhead, call the service directly. All other calls use gRPC in
// memory.
//
// A direct call behaves like a remote one: The context passes the deadline and the cancellation, but no values except
// the trace and the bodies of batches (column.Bodies). An error is the gRPC status that a remote call would
// return. The request is shared and not copied, so a service must neither change it nor keep any part of it after its
// answer.
type localConn struct {
	grpc.ClientConnInterface
	shards shardpb.ShardServiceServer // nil until the service exists

	mu     sync.RWMutex // guards closed; read-locked while a call is counted
	closed bool
	calls  sync.WaitGroup
}

func (c *localConn) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	direct := method == shardpb.ShardService_Write_FullMethodName || method == shardpb.ShardService_Analyze_FullMethodName
	if !direct || c.shards == nil {
		return c.ClientConnInterface.Invoke(ctx, method, args, reply, opts...)
	}
	if !c.enter() {
		return status.Error(codes.Unavailable, "this node is stopping")
	}
	defer c.calls.Done()
	if err := ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	if req, ok := args.(*shardpb.AnalyzeRequest); ok {
		inner, span := tracing.Start(detach(ctx), methodName(method))
		resp, err := c.shards.Analyze(inner, req)
		span.End(err)
		if err != nil {
			return asStatus(err)
		}
		out := reply.(*shardpb.AnalyzeResponse)
		out.Reset()
		out.Tables, out.Explain = resp.Tables, resp.Explain
		return nil
	}
	inner, span := tracing.Start(detach(ctx), methodName(method))
	resp, err := c.shards.Write(column.WithBodies(inner, column.BodiesOf(ctx)), args.(*shardpb.WriteRequest))
	span.End(err)
	if err != nil {
		return asStatus(err)
	}
	out := reply.(*shardpb.WriteResponse)
	out.Reset()
	out.Index, out.NeedTables = resp.Index, resp.NeedTables
	return nil
}

// asStatus returns the gRPC status of an error of a service.
func asStatus(err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.FromContextError(err).Err()
}

func (c *localConn) enter() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.closed {
		return false
	}
	c.calls.Add(1)
	return true
}

// close refuses new calls and waits for running calls until ctx ends.
func (c *localConn) close(ctx context.Context) {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	idle := make(chan struct{})
	go func() {
		c.calls.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

// detach returns a context without its values, like a call over the network, except for the trace.
func detach(ctx context.Context) context.Context { return tracing.Carry(detached{ctx}, ctx) }

// detached is a context without its values.
type detached struct{ context.Context }

func (detached) Value(any) any { return nil }
