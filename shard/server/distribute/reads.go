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
	"cordwood/shard/query"
	"cordwood/shard/query/partial"
)

// For EXPLAIN, each node is asked what it reads for its part, because only its engine knows which
// segments and row groups it skips, and why.

// maxReads is the maximum size of a node's answer, in bytes.
const maxReads = 1 << 20

// errReads means that a node answered EXPLAIN with other columns.
var errReads = errs.New(errs.Internal, "query: a node did not answer EXPLAIN with two columns of text")

// explainParts asks the nodes what they read. For a node that does not answer, it stores the
// reason.
func (d *Statement) explainParts(ctx context.Context) {
	d.readParts(ctx)
	if d.table == nil || query.Analyzes(d.split.Explain) {
		return // there are no parts, or the statement ran with these
	}
	// The nodes have reported the leaders that were presumed wrong. The statement itself would be divided by these.
	parts := d.partsByLeader()
	if !slices.EqualFunc(parts, d.parts, func(a, b *part) bool { return slices.Equal(a.shards, b.shards) }) {
		d.parts = parts
		d.readParts(ctx)
	}
}

// readParts asks the nodes once.
func (d *Statement) readParts(ctx context.Context) {
	var group errgroup.Group
	group.SetLimit(partsAtATime)
	for _, p := range d.parts {
		group.Go(func() error {
			reads, err := d.explainPart(ctx, p)
			switch {
			case err != nil:
				p.reads = "it did not say what it reads: " + errs.From(err).Msg
			case reads != "":
				p.reads = "reads " + reads
			}
			return nil
		})
	}
	_ = group.Wait() // no function fails
}

// explainPart returns the part of EXPLAIN of the statement for nodes about the segments of a node.
func (d *Statement) explainPart(ctx context.Context, p *part) (string, error) {
	req := d.request(&part{shards: p.shards})
	req.Sql, req.CountAs, req.Stages = "EXPLAIN "+req.Sql, "", false
	r, err := d.nodes.cfg.Ask(ctx, req)
	if err != nil {
		return "", err
	}
	defer r.Close()
	if p.streams == nil { // otherwise the node that ran the part is known
		p.answeredBy(r)
	}
	answer, err := io.ReadAll(io.LimitReader(r, maxReads))
	if err != nil {
		return "", err
	}
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
