package shardclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"google.golang.org/grpc"

	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
)

// Analyze tells what a SELECT refers to. Any node can; the first that answers does.
func (c *Client) Analyze(ctx context.Context, req *shardpb.AnalyzeRequest) (*shardpb.AnalyzeResponse, error) {
	var resp *shardpb.AnalyzeResponse
	err := c.firstThatAnswers(ctx, "analyze", c.cfg.Dial, c.cfg.Nodes(), func(client shardpb.ShardServiceClient) error {
		var err error
		resp, err = client.Analyze(ctx, req, callOptions...)
		return err
	})
	return resp, err
}

// Query runs one SELECT or EXPLAIN on a node that holds all shards of the request and
// returns the Arrow IPC stream that it answers with. An error that occurs before the
// first byte comes from Query itself. Closing the reader ends the query; it must be closed.
func (c *Client) Query(ctx context.Context, req *shardpb.QueryRequest) (io.ReadCloser, error) {
	nodes, err := c.queryNodes(req)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var r *queryReader
	err = c.firstThatAnswers(ctx, "query", c.cfg.Dial, nodes, func(client shardpb.ShardServiceClient) error {
		stream, err := client.Query(ctx, req, callOptions...)
		if err != nil {
			return err
		}
		first, err := stream.Recv()
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		r = &queryReader{stream: stream, cancel: cancel, rest: first.GetArrowIpc(), end: err, partial: first.GetPartial()}
		return nil
	})
	if err != nil {
		cancel()
		return nil, err
	}
	return r, nil
}

// queryNodes lists the nodes that can run the query, the best one first.
func (c *Client) queryNodes(req *shardpb.QueryRequest) ([]string, error) {
	var nodes []string
	found := false
	for _, t := range req.Tables {
		if t.Inline {
			continue
		}
		holders := c.order(t.ShardId)
		if len(holders) == 0 {
			return nil, errs.New(errs.ShardUnreachable, "shard %d: query: no node is known to hold it", t.ShardId)
		}
		if !found {
			nodes, found = slices.Clone(holders), true
			continue
		}
		nodes = slices.DeleteFunc(nodes, func(id string) bool { return !slices.Contains(holders, id) })
		if len(nodes) == 0 {
			return nil, errs.New(errs.Unsupported, "query: no single node holds all shards of the tables it reads (shard %d is elsewhere)", t.ShardId)
		}
	}
	if !found {
		nodes = c.cfg.Nodes()
	}
	return nodes, nil
}

// firstThatAnswers calls the nodes in turn until one answers, be it with an error of
// the request itself. It is only for calls that change nothing.
func (c *Client) firstThatAnswers(ctx context.Context, what string, dial func(string) (grpc.ClientConnInterface, error), nodes []string, call func(shardpb.ShardServiceClient) error) error {
	last := error(errs.New(errs.ShardUnreachable, "no node with shards is known"))
	for _, node := range nodes {
		conn, err := dial(node)
		if err == nil {
			err = errs.FromGRPC(call(shardpb.NewShardServiceClient(conn)))
			if err == nil {
				return nil
			}
			if !unreachable(err) {
				return err
			}
		}
		last = errs.Wrap(errs.ShardUnreachable, err, "node %s", node)
		if ctx.Err() != nil {
			break
		}
		c.log.DebugContext(ctx, what+" is tried on the next node", "node", node, "err", err)
	}
	return errs.Wrap(errs.ShardUnreachable, last, "%s", what)
}

// unreachable tells whether another node may answer where this one did not.
func unreachable(err error) bool {
	e := errs.From(err)
	switch e.Code {
	case errs.ShardUnreachable, errs.ShardNotFound, errs.ShardNotReady:
		return true
	}
	return e.Reason == errs.NotLeader
}

// queryReader reads the chunks of a query as one stream of bytes.
type queryReader struct {
	stream grpc.ServerStreamingClient[shardpb.QueryChunk]
	cancel context.CancelFunc
	rest   []byte
	end    error
	// partial is what the answer lacks, for a query that allowed it.
	partial []string
}

// Partial lists what the answer lacks, for a query that allowed it.
func (r *queryReader) Partial() []string { return r.partial }

func (r *queryReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(r.rest) == 0 {
		if r.end != nil {
			return 0, r.end
		}
		chunk, err := r.stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			r.end = io.EOF
		case err != nil:
			r.end = errs.FromGRPC(err)
		}
		r.rest = chunk.GetArrowIpc()
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Close ends the query, whether or not it was read to its end. It may be called twice.
func (r *queryReader) Close() error {
	r.cancel()
	return nil
}

// Stats describes the shards of all nodes, ordered by shard id; a shard of several
// replicas appears once for each. If a node does not answer, the error says which, and
// what the others said is returned beside it.
func (c *Client) Stats(ctx context.Context, req *shardpb.StatsRequest) ([]*shardpb.ShardStats, error) {
	nodes := c.cfg.Nodes()
	answers := make([][]*shardpb.ShardStats, len(nodes))
	failed := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, node := range nodes {
		wg.Go(func() {
			conn, err := c.cfg.Dial(node)
			if err == nil {
				var resp *shardpb.StatsResponse
				resp, err = shardpb.NewShardServiceClient(conn).Stats(ctx, req, callOptions...)
				answers[i] = resp.GetShards()
			}
			if err != nil {
				failed[i] = fmt.Errorf("node %s: %w", node, errs.FromGRPC(err))
			}
		})
	}
	wg.Wait()
	all := slices.Concat(answers...)
	slices.SortStableFunc(all, func(a, b *shardpb.ShardStats) int { return cmp.Compare(a.ShardId, b.ShardId) })
	if err := errors.Join(failed...); err != nil {
		return all, errs.Wrap(errs.ShardUnreachable, err, "shard statistics")
	}
	return all, nil
}
