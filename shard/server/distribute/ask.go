package distribute

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
	"cordwood/shard/query"
)

const (
	// partsAtATime is how many nodes a query asks at a time.
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
	return &shardpb.QueryRequest{
		Sql: cmp.Or(p.sql, d.split.Worker), Database: d.req.Database, Part: true, Share: d.req.Share,
		QueryId: d.id, CountAs: countAs, Stages: d.split.Explain != "",
		AllowPartial: d.req.AllowPartial, AnyReplica: d.req.AnyReplica, MaxStalenessNanos: d.req.MaxStalenessNanos,
		Unchecked: d.req.Unchecked,
		Tables: []*shardpb.QueryTable{{
			Name: t.Name, Table: t.Table, ShardId: p.shards[0], MoreShards: p.shards[1:], ExpiredBefore: t.ExpiredBefore,
		}},
	}
}

// ask sends the requests to all nodes and stores their answers.
func (d *Statement) ask(ctx context.Context) error {
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(partsAtATime)
	d.frontier = newFrontier(d.split)
	d.progress.Enter(PhaseAsk)
	d.progress.Asks(len(d.parts))
	for _, p := range d.parts {
		group.Go(func() error {
			begin := time.Now()
			defer func() {
				p.took = time.Since(begin)
				d.progress.Answered()
			}()
			for try := 1; ; try++ {
				err := d.askWithin(gctx, p)
				if err == nil || try == Tries || gctx.Err() != nil || !Again(err) {
					return err
				}
			}
		})
	}
	return group.Wait()
}

// fill sends a request to one node and stores the answer.
func (d *Statement) fill(ctx context.Context, p *part) error {
	r, err := d.open(ctx, p)
	if err != nil {
		return err
	}
	defer r.Close()
	var buf bytes.Buffer
	if _, err := buf.ReadFrom(&bounded{r, &d.bytes, &d.nodes.partials}); err != nil {
		d.bytes.Add(-int64(buf.Len()))
		d.nodes.partials.Add(-int64(buf.Len()))
		return d.ofPart(ctx, p, Broke(err))
	}
	streams, err := cutStreams(buf.Bytes())
	if err != nil {
		d.bytes.Add(-int64(buf.Len()))
		d.nodes.partials.Add(-int64(buf.Len()))
		return err
	}
	p.streams, p.bytes = streams, buf.Len()
	if of, ok := r.(interface{ Stages() *shardpb.PartStages }); ok {
		p.stages = of.Stages()
	}
	for _, stream := range streams {
		d.frontier.add(stream)
	}
	d.nodes.metrics.bytes.Add(float64(buf.Len()))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.missing = append(d.missing, r.Partial()...)
	return nil
}

// ofPart adds the shards of a part to an error about a node that cannot be reached.
func (d *Statement) ofPart(ctx context.Context, p *part, err error) error {
	if ctx.Err() != nil || !Away(err) {
		return err
	}
	names := make([]string, len(p.shards))
	for i, id := range p.shards {
		names[i] = fmt.Sprintf("shard %d", id)
	}
	return errs.Wrap(errs.ShardUnreachable, err, "query: rows of %s in %s", d.split.Table, strings.Join(names, ", ")).
		WithReason(errs.ShardAway)
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
	switch sum, all := c.sum.Add(int64(n)), c.all.Add(int64(n)); {
	case sum > maxPartials:
		return n, errTooLarge
	case all > maxAllPartials:
		return n, errTooMany
	}
	return n, err
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
