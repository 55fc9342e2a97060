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

// localConn is the connection to the services of this process. Writes to shards, which are many and
// large, and queries, which may be shorter than gRPC's overhead, call the service directly;
// everything else goes through gRPC in memory.
//
// A direct call behaves like a remote one: deadline and cancellation come with the context; of its
// values the service sees only the trace and the lent bodies of batches (column.Lent); and an error
// arrives as the gRPC status that would have crossed the network. The request is shared, not
// copied: a service that is called directly must not change it, nor keep any of it after it has
// answered.
type localConn struct {
	grpc.ClientConnInterface
	shards shardpb.ShardServiceServer // nil until there is one

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
	resp, err := c.shards.Write(column.WithLent(inner, column.LentOf(ctx)), args.(*shardpb.WriteRequest))
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

// close refuses calls from now on and waits for those under way until ctx ends.
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

// detach returns a context without its values, which no network would carry either, except the
// trace.
func detach(ctx context.Context) context.Context { return tracing.Carry(detached{ctx}, ctx) }

// detached is a context without its values.
type detached struct{ context.Context }

func (detached) Value(any) any { return nil }
