package shardclient

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/leader"
	"cordwood/proto/shardpb"
	"cordwood/proto/turns"
	"cordwood/proto/words"

	"google.golang.org/grpc"
)

// Analyze reports what a SELECT refers to. Any node can answer; the answer of the first is used.
func (c *Client) Analyze(ctx context.Context, req *shardpb.AnalyzeRequest) (*shardpb.AnalyzeResponse, error) {
	var resp *shardpb.AnalyzeResponse
	_, err := c.ask(ctx, readRequest{what: "analyze", nodes: c.healthy}, func(ctx context.Context,
		client shardpb.ShardServiceClient, _ *leader.Pulse,
	) error {
		r, err := client.Analyze(ctx, req, callOptions...)
		if err == nil {
			resp = r
		}
		return err
	})
	return resp, err
}

// Describe returns the columns of the answer to a SELECT. Any node can answer; the answer of the
// first is used.
func (c *Client) Describe(ctx context.Context, req *shardpb.DescribeRequest) (*shardpb.DescribeResponse, error) {
	var resp *shardpb.DescribeResponse
	_, err := c.ask(ctx, readRequest{what: "describe", nodes: c.healthy}, func(ctx context.Context,
		client shardpb.ShardServiceClient, _ *leader.Pulse,
	) error {
		r, err := client.Describe(ctx, req, callOptions...)
		if err == nil {
			resp = r
		}
		return err
	})
	return resp, err
}

// Query runs one SELECT or EXPLAIN on the node that leads most shards of the request, and returns
// its answer as an Arrow IPC stream. That node fetches the rows of the other shards. Query itself
// returns an error that occurs before the first byte. The caller must close the reader; closing it
// ends the query.
//
// A shard that cannot be reached is an error, unless the request allows a partial answer: then
// Missing of the reader lists the shard.
func (c *Client) Query(ctx context.Context, req *shardpb.QueryRequest) (io.ReadCloser, error) {
	r, err := c.query(ctx, req, false)
	if err != nil {
		return nil, err // a nil *streamReader in the interface would not be nil
	}
	return r, nil
}

// Ask runs a part of a query, as Query does. The reader must be closed. The error does not say what was requested.
func (c *Client) Ask(ctx context.Context, req *shardpb.QueryRequest) (*ScanReader, error) {
	r, err := c.query(ctx, req, true)
	if err != nil {
		return nil, err
	}
	return &ScanReader{r}, nil
}

func (c *Client) query(ctx context.Context, req *shardpb.QueryRequest, unnamed bool) (*streamReader, error) {
	first, shards, err := c.place(req)
	if err != nil {
		return nil, err
	}
	a := readRequest{
		what: "query", unnamed: unnamed, leader: len(shards) == 1 && !req.AllowPartial && !req.AnyReplica, shard: first,
		nodes: func() []string {
			if req.AnyReplica {
				return c.anyFirst(c.queryNodes(shards, req.AllowPartial))
			}
			return c.queryNodes(shards, req.AllowPartial)
		},
	}
	if req.AllowPartial || req.AnyReplica {
		a.rounds = partialRounds
	}
	return stream(ctx, c, a, func(ctx context.Context,
		client shardpb.ShardServiceClient,
	) (grpc.ServerStreamingClient[shardpb.QueryChunk], error) {
		return client.Query(ctx, req, callOptions...)
	})
}

// Scan requests rows of a table in a shard from the nodes, starting with the presumed leader. The
// caller must close the reader.
func (c *Client) Scan(ctx context.Context, nodes []string, req *shardpb.ScanRequest) (*ScanReader, error) {
	a := readRequest{what: "scan", unnamed: true, leader: !req.AnyReplica, shard: req.ShardId, nodes: func() []string {
		list := c.order(req.ShardId)
		for _, n := range nodes {
			if !slices.Contains(list, n) {
				list = append(slices.Clip(list), n)
			}
		}
		if req.AnyReplica {
			return c.anyFirst(list)
		}
		return list
	}}
	// If there are other replicas, they elect another leader.
	if req.AllowPartial && len(c.order(req.ShardId)) < 2 || req.AnyReplica {
		a.rounds = partialRounds
	}
	r, err := stream(ctx, c, a, func(ctx context.Context,
		client shardpb.ShardServiceClient,
	) (grpc.ServerStreamingClient[shardpb.ScanResponse], error) {
		return client.Scan(ctx, req, callOptions...)
	})
	if err != nil {
		return nil, err
	}
	return &ScanReader{r}, nil
}

// rows is a message with a piece of an Arrow IPC stream.
type rows[T any] interface {
	*T
	GetArrowIpc() []byte
	GetMissing() []*shardpb.Missing
	GetPartial() []string
}

// stream requests rows from nodes and waits for the first message.
func stream[T any, P rows[T]](ctx context.Context, c *Client, a readRequest,
	open func(context.Context, shardpb.ShardServiceClient) (grpc.ServerStreamingClient[T], error),
) (*streamReader, error) {
	var r *streamReader
	node := ""
	a.answered = &node
	cancel, err := c.ask(ctx, a, func(ctx context.Context, client shardpb.ShardServiceClient, p *leader.Pulse) error {
		messages, err := open(ctx, client)
		if err != nil {
			return err
		}
		if h, err := messages.Header(); err == nil {
			p.Alive()
			if len(h.Get(turns.WaitsHeader)) > 0 {
				if err := turns.Waits(ctx); err != nil {
					return err
				}
			}
		}
		first, err := receive(p, messages)
		for err == nil && isWait(first) {
			if err := turns.Waits(ctx); err != nil {
				return err
			}
			first, err = receive(p, messages)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		c.learn(first)
		r = &streamReader{
			rest: P(first).GetArrowIpc(), end: err, missing: shardpb.MissingIn(P(first)),
			next: func() ([]byte, error) {
				m, err := receive(p, messages)
				c.learn(m)
				r.describe(m)
				r.missing = append(r.missing, shardpb.MissingIn(P(m))...)
				return P(m).GetArrowIpc(), err
			},
		}
		r.describe(first)
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.cancel, r.node = cancel, node
	return r, nil
}

// isWait reports whether a message says only that the query waits for object storage.
func isWait(message any) bool {
	m, ok := message.(*shardpb.QueryChunk)
	return ok && m.GetWaits()
}

// learn records the leaders of shards that a message reports.
func (c *Client) learn(message any) {
	if m, ok := message.(*shardpb.QueryChunk); ok {
		for _, l := range m.GetLeaders() {
			c.Reported(l.ShardId, l.NodeId)
		}
	}
}

// receive waits for the next message as long as the node is alive.
func receive[T any](p *leader.Pulse, messages grpc.ServerStreamingClient[T]) (m *T, err error) {
	err = p.Receive(func() (err error) {
		m, err = messages.Recv()
		return err
	})
	return m, err
}

// ScanReader reads the rows of a scan, or the answer to a part of a query, as an Arrow IPC stream.
type ScanReader struct{ *streamReader }

// place returns the shards that a query reads, beginning with the first shard of its first table.
// It records in the request which nodes have each shard.
func (c *Client) place(req *shardpb.QueryRequest) (first uint32, shards []uint32, err error) {
	req.Nodes = nil
	for _, t := range req.Tables {
		if t.Inline {
			continue
		}
		for _, id := range append([]uint32{t.ShardId}, t.MoreShards...) {
			if slices.Contains(shards, id) || slices.Contains(t.LeftOut, id) {
				continue
			}
			holders := c.order(id)
			if len(holders) == 0 && !req.AllowPartial {
				return 0, nil, errs.New(errs.ShardUnreachable, "shard %d: query: no node is known to hold it", id)
			}
			shards = append(shards, id)
			req.Nodes = append(req.Nodes, &shardpb.ShardNodes{ShardId: id, NodeIds: holders})
		}
	}
	if len(shards) > 0 {
		first = shards[0]
	}
	return first, shards, nil
}

// queryNodes returns the nodes that can run a query over some shards: first the one that is
// believed to lead most of them, then the nodes that hold others. This node is first if it leads at least half as many
// as any other, because the answer then passes through one process less.
func (c *Client) queryNodes(shards []uint32, anyNode bool) []string {
	leads := map[string]int{}
	var nodes []string
	for _, id := range shards {
		for i, n := range c.order(id) {
			if i == 0 {
				leads[n]++
			}
			if !slices.Contains(nodes, n) {
				nodes = append(nodes, n)
			}
		}
	}
	if len(nodes) == 0 || anyNode {
		for _, n := range c.healthy() {
			if !slices.Contains(nodes, n) {
				nodes = append(nodes, n)
			}
		}
	}
	slices.SortStableFunc(nodes, func(a, b string) int { return cmp.Compare(leads[b], leads[a]) })
	if own := c.ownNode(); len(nodes) > 0 && leads[own] > 0 && 2*leads[own] >= leads[nodes[0]] {
		at := slices.Index(nodes, own)
		nodes = slices.Insert(slices.Delete(nodes, at, at+1), 0, own)
	}
	c.nodes.DownLast(nodes)
	return nodes
}

// ownNode returns the id of this node, or an empty text if it has no shards.
func (c *Client) ownNode() string {
	if all := c.cfg.Nodes(); len(all) > 0 {
		return all[0]
	}
	return ""
}

// anyFirst orders nodes for a read that any replica may answer: this node first, then the others in
// random order, so that leaders do not get all reads, and nodes that did not answer recently last.
func (c *Client) anyFirst(nodes []string) []string {
	own := c.ownNode()
	out := slices.Clone(nodes)
	rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	now := time.Now()
	rank := func(id string) int {
		switch {
		case c.nodes.Health(id).Down(now):
			return 2
		case id == own:
			return 0
		}
		return 1
	}
	slices.SortStableFunc(out, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	return out
}

// healthy returns the nodes with shards; those that did not answer recently come last.
func (c *Client) healthy() []string {
	nodes := slices.Clone(c.cfg.Nodes())
	c.nodes.DownLast(nodes)
	return nodes
}

// streamReader reads the chunks of an answer as one stream of bytes.
type streamReader struct {
	next   func() ([]byte, error)
	cancel context.CancelFunc
	rest   []byte
	end    error
	node   string
	// missing lists what is missing in the answer, for a request that allows a partial answer.
	missing []words.Missing
	stages  *shardpb.PartStages
	blocks  []*shardpb.BlockAnswer
}

// describe remembers what a message says about the answer.
func (r *streamReader) describe(message any) {
	m, ok := message.(*shardpb.QueryChunk)
	if !ok {
		return
	}
	if m.GetStages() != nil {
		r.stages = m.GetStages()
	}
	if m.GetBlocks() != nil {
		r.blocks = m.GetBlocks()
	}
}

// Blocks describes the answers to the blocks of the request. The answer must have been read.
func (r *streamReader) Blocks() []*shardpb.BlockAnswer { return r.blocks }

// Stages returns the durations of a part's stages if the request asked for them, and otherwise nil.
// The answer must have been read.
func (r *streamReader) Stages() *shardpb.PartStages { return r.stages }

// Node returns the id of the node that answers.
func (r *streamReader) Node() string { return r.node }

// Missing lists what is missing in the answer, for a request that allows a partial answer. If the request has blocks,
// the answer must have been read.
func (r *streamReader) Missing() []words.Missing { return r.missing }

// Piece returns the next bytes, which belong to the caller and are at least one, or io.EOF at the end.
func (r *streamReader) Piece() ([]byte, error) {
	if err := r.fill(); err != nil {
		return nil, err
	}
	piece := r.rest
	r.rest = nil
	return piece, nil
}

// fill waits until there are bytes.
func (r *streamReader) fill() error {
	for len(r.rest) == 0 {
		if r.end != nil {
			return r.end
		}
		var err error
		r.rest, err = r.next()
		switch {
		case errors.Is(err, io.EOF):
			r.end = io.EOF
		case err != nil:
			r.end = ofRead(errs.From(errs.FromGRPC(err)))
		}
	}
	return nil
}

func (r *streamReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := r.fill(); err != nil {
		return 0, err
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Close ends the call, even if not everything was read. It may be called twice.
func (r *streamReader) Close() error {
	r.cancel()
	return nil
}
