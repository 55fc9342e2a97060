package distribute

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/shard/query"
	"cordwood/shard/query/partial"
)

const (
	// partsAtATime is the maximum number of nodes that a query asks at a time.
	partsAtATime = 24
	// maxPartials is the maximum size of the partial results of a query, in bytes. If they are
	// larger, rows are fetched and stored on disk.
	maxPartials = 64 << 20
	// maxAllPartials is the maximum size of the partial results of all queries of this node, in
	// bytes.
	maxAllPartials = 256 << 20
)

// errTooLarge stops reading when the partial results of a query exceed maxPartials.
var errTooLarge = errs.New(errs.Internal, "query: the partial results of the nodes have more than %d bytes",
	maxPartials)

// errTooMany stops reading when the partial results of all queries exceed maxAllPartials.
var errTooMany = errs.New(errs.Internal, "query: the partial results of all queries have more than %d bytes",
	maxAllPartials)

// request returns the request for the node of a part.
func (d *Statement) request(p *part) *shardpb.QueryRequest {
	t, countAs := d.table, ""
	if d.split.Counts {
		countAs = query.CountColumn
	}
	req := &shardpb.QueryRequest{
		Sql: cmp.Or(p.sql, d.split.Worker), Database: d.req.Database, Part: true, Share: d.req.Share,
		QueryId: d.id, CountAs: countAs, Stages: d.split.Explain != "" || d.req.Stages,
		AllowPartial: d.req.AllowPartial, AnyReplica: d.req.AnyReplica, MaxStalenessNanos: d.req.MaxStalenessNanos,
		Unchecked: d.req.Unchecked, HearsWaits: true,
		Tables: []*shardpb.QueryTable{{
			Name: t.Name, Table: t.Table, ShardId: p.shards[0], MoreShards: p.shards[1:], ExpiredBefore: t.ExpiredBefore,
		}},
	}
	if d.definition != nil && !p.own {
		req.Tables[0].Table, req.Tables[0].Definition = nil, d.definition
	}
	return req
}

// encode encodes the definition of the table for the requests to other nodes, if all nodes understand it and the
// request has not brought it.
func (d *Statement) encode() error {
	if d.definition == nil {
		d.definition = d.table.Definition
	}
	version := d.nodes.cfg.ClusterVersion
	if d.definition != nil || version == nil || version() < metapb.ProtocolDefinitions {
		return nil
	}
	var err error
	d.definition, err = schema.EncodeDefinition(d.table.Table)
	if err != nil {
		return errs.Wrap(errs.Internal, err, "query: encode the definition of table %s", d.split.Table)
	}
	return nil
}

// ask sends the requests to all nodes and stores their answers.
func (d *Statement) ask(ctx context.Context) error {
	d.frontier = newFrontier(d.split)
	return d.nodes.askNodes(ctx, d.progress, d)
}

// askPart sends the request for a part until the answer is complete.
func (d *Statement) askPart(ctx context.Context, p *part) error {
	begin := time.Now()
	defer func() {
		p.took = time.Since(begin)
		d.progress.Answered()
	}()
	return tryAgain(ctx, func() error { return d.askWithin(ctx, p) })
}

// tryAgain calls ask until the answer of a node is complete, at most Tries times.
func tryAgain(ctx context.Context, ask func() error) error {
	for try := 1; ; try++ {
		err := ask()
		if err == nil || try == Tries || ctx.Err() != nil || !Again(err) {
			return err
		}
	}
}

// isOwn reports whether this node can read all shards of a part.
func (d *Statement) isOwn(p *part) bool {
	cfg := &d.nodes.cfg
	return cfg.Own != nil &&
		!slices.ContainsFunc(p.shards, func(id uint32) bool { return !cfg.Shows(id, d.req.AnyReplica) })
}

// fill sends a request to one node and stores the answer.
func (d *Statement) fill(ctx context.Context, p *part) error {
	if p.own {
		err := d.fillOwn(ctx, p)
		if err == nil || ctx.Err() != nil || !Away(err) {
			return err
		}
		p.own = false // another node leads a shard by now
	}
	r, err := d.open(ctx, p)
	if err != nil {
		return err
	}
	defer r.Close()
	answer, err := d.readAnswer(r)
	if err != nil {
		return d.ofPart(ctx, p, Broke(err))
	}
	var of OwnAnswer
	if r, ok := r.(interface{ Stages() *shardpb.PartStages }); ok {
		of.Stages = r.Stages()
	}
	of.Missing = r.Missing()
	p.answeredBy(r)
	return d.take(p, answer, of)
}

// answeredBy notes which node answers a part. It may be another one than the presumed leader of the shards.
func (p *part) answeredBy(r Reader) {
	if of, ok := r.(interface{ Node() string }); ok {
		p.node = of.Node()
	}
}

// fillOwn runs a part on this node and stores the answer.
func (d *Statement) fillOwn(ctx context.Context, p *part) error {
	var answer []byte
	counted := 0
	of, err := d.nodes.cfg.Own(ctx, d.request(p), func(ipc []byte) error {
		counted += len(ipc)
		if err := within(len(ipc), d.bytes, &d.nodes.partials); err != nil {
			return err
		}
		answer = append(answer, ipc...)
		return nil
	})
	if err != nil {
		d.giveBack(counted)
		return err
	}
	return d.take(p, answer, of)
}

// take stores the answer to a part.
func (d *Statement) take(p *part, answer []byte, of OwnAnswer) error {
	streams, err := partial.CutStreams(answer)
	if err != nil {
		d.giveBack(len(answer))
		return err
	}
	p.streams, p.bytes, p.stages = streams, len(answer), of.Stages
	p.sorted = nil
	for _, stream := range streams {
		p.sorted = append(p.sorted, d.frontier.add(stream))
	}
	d.nodes.metrics.bytes.Add(float64(len(answer)))
	d.progress.Received(len(answer))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.missing = append(d.missing, of.Missing...)
	return nil
}

// readAnswer reads the answer of a node. Most answers are one piece, which need not be copied.
func (d *Statement) readAnswer(r Reader) (answer []byte, err error) {
	pieces, ok := r.(interface{ Piece() ([]byte, error) })
	if !ok {
		var buf bytes.Buffer
		if _, err = buf.ReadFrom(&bounded{r, d.bytes, &d.nodes.partials}); err != nil {
			d.giveBack(buf.Len())
		}
		return buf.Bytes(), err
	}
	for {
		piece, err := pieces.Piece()
		if err == nil {
			err = within(len(piece), d.bytes, &d.nodes.partials)
		}
		switch {
		case errors.Is(err, io.EOF):
			return answer, nil
		case err != nil:
			d.giveBack(len(answer) + len(piece))
			return nil, err
		case answer == nil:
			answer = piece
		default:
			answer = append(answer, piece...)
		}
	}
}

// giveBack subtracts from the size of the held partial results.
func (d *Statement) giveBack(bytes int) {
	d.bytes.Add(-int64(bytes))
	d.nodes.partials.Add(-int64(bytes))
}

// ofPart adds the shards of the part to an error about a node that cannot be reached.
func (d *Statement) ofPart(ctx context.Context, p *part, err error) error {
	return ofParts(ctx, []blockPart{{d, p}}, err)
}

// open sends a request to one node.
func (d *Statement) open(ctx context.Context, p *part) (Reader, error) {
	r, err := d.nodes.cfg.Ask(ctx, d.request(p))
	if err != nil {
		return nil, d.ofPart(ctx, p, err)
	}
	return r, nil
}

// bounded is a reader of partial results that stops at the limit.
type bounded struct {
	r        io.Reader
	sum, all *atomic.Int64 // bytes of this query, and of all queries
}

func (c *bounded) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if over := within(n, c.sum, c.all); over != nil {
		return n, over
	}
	return n, err
}

// within counts bytes of this query and of all queries. It returns an error if they exceed a limit.
func within(n int, sum, all *atomic.Int64) error {
	switch sum, all := sum.Add(int64(n)), all.Add(int64(n)); {
	case sum > maxPartials:
		return errTooLarge
	case all > maxAllPartials:
		return errTooMany
	}
	return nil
}

// askWithin sends a request as fill does. If other nodes return enough rows before this node has
// finished, it sends another request only for the rows that may still be in the answer.
func (d *Statement) askWithin(ctx context.Context, p *part) error {
	f := d.frontier
	if f == nil || p.sql != "" {
		return d.fill(ctx, p)
	}
	first, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		if f.again(first) {
			cancel(errAskedAgain)
		}
	}()
	err := d.fill(first, p)
	if err == nil || ctx.Err() != nil || !errors.Is(context.Cause(first), errAskedAgain) {
		return err
	}
	p.sql = f.sql()
	return d.fill(ctx, p)
}

// streams returns the answers of the nodes.
func (d *Statement) streams() [][]byte {
	var out [][]byte
	for _, p := range d.parts {
		out = append(out, p.streams...)
	}
	return out
}

// sorted returns the rows of the nodes, if the statement is for the first rows by time.
func (d *Statement) sorted() []*sorted {
	var out []*sorted
	for _, p := range d.parts {
		out = append(out, p.sorted...)
	}
	return out
}
