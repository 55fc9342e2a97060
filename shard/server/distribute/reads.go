package distribute

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"golang.org/x/sync/errgroup"

	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
	"cordwood/shard/query"
	"cordwood/shard/query/partial"
)

// For EXPLAIN, each node is asked what it reads for its part, because only its engine knows which
// segments and row groups it skips, and why.

// maxReads is the maximum size of a node's answer, in bytes.
const maxReads = 1 << 20

// errReads means that a node answered EXPLAIN with other columns.
var errReads = errs.New(errs.Internal, "query: a node did not answer EXPLAIN with two columns of text")

// explainNodes asks the nodes what they read for the parts of some statements, each node in one call. For a node that
// does not answer, it stores the reason.
func (n *Nodes) explainNodes(ctx context.Context, statements ...*Statement) {
	n.readParts(ctx, statements)
	// The nodes have reported the leaders that were presumed wrong. The statement itself would be divided by these.
	var again []*Statement
	for _, d := range statements {
		if d.table == nil || query.Analyzes(d.split.Explain) {
			continue // there are no parts, or the statement ran with these
		}
		parts := d.partsByLeader()
		if !slices.EqualFunc(parts, d.parts, func(a, b *part) bool { return slices.Equal(a.shards, b.shards) }) {
			d.parts = parts
			again = append(again, d)
		}
	}
	n.readParts(ctx, again)
}

// readParts asks the nodes once.
func (n *Nodes) readParts(ctx context.Context, statements []*Statement) {
	var nodes [][]blockPart
	at := map[string]int{}
	for _, d := range statements {
		for _, p := range d.parts {
			i, ok := at[p.node]
			if !ok || !n.callsBlocks() || len(statements) == 1 {
				i, nodes = len(nodes), append(nodes, nil)
				at[p.node] = i
			}
			nodes[i] = append(nodes[i], blockPart{d, p})
		}
	}
	var group errgroup.Group
	group.SetLimit(partsAtATime)
	for _, list := range nodes {
		group.Go(func() error {
			reads, err := n.explainParts(ctx, list)
			for i, b := range list {
				switch {
				case err != nil:
					b.part.reads = "it did not say what it reads: " + errs.From(err).Msg
				case reads[i] != "":
					b.part.reads = "reads " + reads[i]
				}
			}
			return nil
		})
	}
	_ = group.Wait() // no function fails
}

// explainParts returns, for each of some parts of a node, the part of EXPLAIN of its statement about segments.
func (n *Nodes) explainParts(ctx context.Context, list []blockPart) ([]string, error) {
	asked := make([]blockPart, len(list)) // with the statement for all nodes
	for i, b := range list {
		asked[i] = blockPart{b.of, &part{shards: b.part.shards}}
	}
	req := requestFor(asked)
	if len(list) == 1 {
		req = asked[0].of.request(asked[0].part)
		req.Sql, req.CountAs = "EXPLAIN "+req.Sql, ""
	}
	for _, b := range req.Blocks {
		b.Sql, b.CountAs = "EXPLAIN "+b.Sql, ""
	}
	req.Stages = false
	r, err := n.cfg.Ask(ctx, req)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	answer, err := io.ReadAll(io.LimitReader(r, maxReads*int64(len(list))))
	if err != nil {
		return nil, err
	}
	sizes := []*shardpb.BlockAnswer{{Bytes: uint64(len(answer))}}
	if len(list) > 1 {
		of, ok := r.(interface{ Blocks() []*shardpb.BlockAnswer })
		if !ok || !covers(of.Blocks(), len(list), len(answer)) {
			return nil, errBlocks
		}
		sizes = of.Blocks()
	}
	out := make([]string, len(list))
	for i, b := range list {
		if b.part.streams == nil { // otherwise the node that ran the part is known
			b.part.answeredBy(r)
		}
		if out[i], err = b.of.readsIn(answer[:sizes[i].Bytes]); err != nil {
			return nil, err
		}
		answer = answer[sizes[i].Bytes:]
	}
	return out, nil
}

// readsIn returns the part about segments of the answer to EXPLAIN.
func (d *Statement) readsIn(answer []byte) (string, error) {
	streams, err := partial.CutStreams(answer)
	if err != nil {
		return "", err
	}
	var reads []string
	for _, stream := range streams {
		err := eachBatch(stream, func(rec arrow.RecordBatch) error {
			keys, ok := rec.Column(0).(*array.String)
			if !ok || rec.NumCols() < 2 {
				return errReads
			}
			for i := range keys.Len() {
				if keys.Value(i) == "segments" {
					reads = append(reads, d.readsOf(rec.Column(1).ValueStr(i)))
				}
			}
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	return strings.Join(reads, "; "), nil
}

// readsOf returns the text of EXPLAIN about segments in one line, without the name of the table.
func (d *Statement) readsOf(segments string) string {
	lines := strings.Split(segments, "\n")
	for i, line := range lines {
		line = strings.TrimPrefix(strings.TrimSpace(line), d.split.Table.String()+": ")
		lines[i] = strings.Replace(line, "answered without the plan below", "answered without DuckDB", 1)
	}
	return strings.Join(lines, "; ")
}
