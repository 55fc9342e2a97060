package distribute

import (
	"context"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/shardpb"
	"cordwood/proto/stack"
	"cordwood/proto/words"
	"cordwood/shard/query"
)

// blockPart is a part of a statement, which may be a block.
type blockPart struct {
	of   *Statement
	part *part
}

// errBlocks means that a node did not answer each block.
var errBlocks = errs.New(errs.Internal,
	"query: the answer of a node does not contain one answer for each statement of the request")

// askNodes sends the requests for the parts of some statements, and stores the answers. Parts for this node run in this
// goroutine, one after the other. Each other node is asked for its parts of all statements in one call.
func (n *Nodes) askNodes(ctx context.Context, progress Progress, statements ...*Statement) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	own, nodes, err := n.byNode(statements)
	if err != nil {
		return err
	}
	progress.Enter(PhaseAsk)
	progress.Asks(len(own))
	for _, list := range nodes {
		progress.Asks(n.calls(list))
	}
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(partsAtATime)
	for _, list := range nodes {
		group.Go(func() error {
			stack.Grow()
			return n.askNode(gctx, progress, list)
		})
	}
	for _, b := range own {
		err := b.of.askPart(gctx, b.part)
		if err == nil {
			continue
		}
		later := gctx.Err() != nil // another part failed before, or the query has ended
		cancel()
		if first := group.Wait(); later && first != nil {
			return first
		}
		return err
	}
	return group.Wait()
}

// byNode returns the parts of statements that this node can run, and the others by the node that is asked. Parts of one
// statement are not asked together, even if the same node answered them before.
func (n *Nodes) byNode(statements []*Statement) (own []blockPart, nodes [][]blockPart, err error) {
	at := map[string]int{}
	for _, d := range statements {
		before := len(own)
		for _, p := range d.parts {
			if p.own = d.isOwn(p); p.own {
				own = append(own, blockPart{d, p})
				continue
			}
			i, ok := at[p.node]
			if !ok || len(statements) == 1 {
				i, nodes = len(nodes), append(nodes, nil)
				at[p.node] = i
			}
			nodes[i] = append(nodes[i], blockPart{d, p})
		}
		if len(own)-before < len(d.parts) {
			if err := d.encode(); err != nil {
				return nil, nil, err
			}
		}
	}
	return own, nodes, nil
}

// calls returns the number of calls for the parts of a node. In a cluster with nodes of older versions, there is one
// for each part.
func (n *Nodes) calls(list []blockPart) int {
	if n.callsBlocks() {
		return 1
	}
	return len(list)
}

// callsBlocks reports whether all nodes understand requests with several statements.
func (n *Nodes) callsBlocks() bool {
	return n.cfg.ClusterVersion != nil && n.cfg.ClusterVersion() >= metapb.ProtocolBlocks
}

// askNode asks a node for parts, one call at a time, until the answers are complete. So a statement never takes more
// than one slot for queries of a node.
func (n *Nodes) askNode(ctx context.Context, progress Progress, list []blockPart) error {
	if n.calls(list) == len(list) {
		for _, b := range list {
			if err := b.of.askPart(ctx, b.part); err != nil {
				return err
			}
		}
		return nil
	}
	defer progress.Answered()
	return tryAgain(ctx, func() error { return n.fillBlocks(ctx, list) })
}

// fillBlocks sends one request for several parts to a node and stores the answers.
func (n *Nodes) fillBlocks(ctx context.Context, list []blockPart) error {
	begin := time.Now()
	r, err := n.cfg.Ask(ctx, requestFor(list))
	if err != nil {
		return ofParts(ctx, list, err)
	}
	defer r.Close()
	d := list[0].of
	answer, err := d.readAnswer(r)
	if err != nil {
		return ofParts(ctx, list, Broke(err))
	}
	of, ok := r.(interface{ Blocks() []*shardpb.BlockAnswer })
	if !ok || !covers(of.Blocks(), len(list), len(answer)) {
		d.giveBack(len(answer))
		return errBlocks
	}
	d.mu.Lock()
	d.missing = append(d.missing, r.Missing()...)
	d.mu.Unlock()
	for i, b := range list {
		block := of.Blocks()[i]
		b.part.answeredBy(r)
		b.part.took = time.Since(begin)
		if st := block.Stages; st != nil {
			b.part.took = time.Duration(st.GatherNanos + st.RunNanos)
		}
		err := b.of.take(b.part, answer[:block.Bytes:block.Bytes], OwnAnswer{Stages: block.Stages})
		if err != nil {
			return err
		}
		answer = answer[block.Bytes:]
	}
	return nil
}

// covers reports whether the descriptions of blocks are for n blocks with so many bytes in total.
func covers(blocks []*shardpb.BlockAnswer, n, bytes int) bool {
	left := uint64(bytes)
	for _, b := range blocks {
		if b.GetBytes() > left {
			return false
		}
		left -= b.GetBytes()
	}
	return len(blocks) == n && left == 0
}

// requestFor returns the request for several parts.
func requestFor(list []blockPart) *shardpb.QueryRequest {
	var req *shardpb.QueryRequest
	var blocks []*shardpb.QueryBlock
	at := map[*shardpb.QueryTable]uint32{} // the position of a table of the query in req
	for _, b := range list {
		one := b.of.request(b.part)
		t, ok := at[b.of.table]
		switch {
		case req == nil:
			req = one
		case !ok || !slices.Equal(ShardsOf(req.Tables[t]), b.part.shards): // its shards differ if their leaders changed
			t = uint32(len(req.Tables)) //nolint:gosec // a query has fewer tables
			req.Tables = append(req.Tables, one.Tables...)
		}
		at[b.of.table] = t
		blocks = append(blocks, &shardpb.QueryBlock{Sql: one.Sql, Table: t, CountAs: one.CountAs})
	}
	req.Sql, req.CountAs, req.Blocks = "", "", blocks
	return req
}

// namedTables is the maximum number of tables whose names an error contains.
const namedTables = 3

// ofParts adds the tables and shards of parts to an error about a node that cannot be reached.
func ofParts(ctx context.Context, list []blockPart, err error) error {
	if ctx.Err() != nil || !Away(err) || errs.ReasonOf(err) == errs.ShardAway {
		return err // the node that answered has named the shard
	}
	var tables []string
	var shards []uint32
	for _, b := range list {
		if name := b.of.split.Table.String(); !slices.Contains(tables, name) {
			tables = append(tables, name)
		}
		for _, id := range b.part.shards {
			if !slices.Contains(shards, id) {
				shards = append(shards, id)
			}
		}
	}
	names := strings.Join(tables[:min(len(tables), namedTables)], ", ")
	if more := len(tables) - namedTables; more > 0 {
		names += " and " + query.CountOf(more, "other table")
	}
	return errs.Wrap(errs.ShardUnreachable, err, "query: rows of %s in %s", names, words.Shards(shards)).
		WithReason(errs.ShardAway)
}
