package distribute

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cordwood/proto/shardpb"
	"cordwood/shard/query"
)

// A statement of kind several has several blocks. Each block has its own statement for nodes, over one table. One last
// step combines the partial results of all blocks.

// divideBlocks makes a statement of each block. If a block reads tables that are not in shards, rows are fetched.
func (d *Statement) divideBlocks() {
	for i, b := range d.split.Blocks {
		if same := slices.Index(d.split.Blocks[:i], b); same >= 0 {
			d.blocks = append(d.blocks, d.blocks[same]) // equal blocks ask their nodes once
			continue
		}
		of := &Statement{
			nodes: d.nodes, req: d.req, id: d.id, progress: d.progress, bytes: d.bytes,
			table: d.tableOf(b.Table),
			split: &query.Split{
				Table: b.Table, Worker: b.Worker, Kind: b.Kind, Counts: b.Counts, Moment: d.split.Moment,
				Explain: d.split.Explain,
			},
		}
		if of.table == nil || of.table.Inline || of.table.Table == nil {
			d.blocks = nil
			d.split = &query.Split{
				Reason: fmt.Sprintf("the table %s is not in shards", b.Table), Cause: causeFailed, Explain: d.split.Explain,
			}
			return
		}
		of.divide()
		d.missing = append(d.missing, of.missing...)
		of.missing = nil
		d.blocks = append(d.blocks, of)
	}
}

// different returns the blocks, each once.
func (d *Statement) different() (out []*Statement) {
	for _, b := range d.blocks {
		if !slices.Contains(out, b) {
			out = append(out, b)
		}
	}
	return out
}

// askBlocks requests the partial results of all blocks, or of the statement itself if it has none.
func (d *Statement) askBlocks(ctx context.Context) error {
	if d.blocks == nil {
		return d.askAll(ctx)
	}
	err := d.nodes.askNodes(ctx, d.progress, d.different()...)
	for _, b := range d.different() {
		d.missing = append(d.missing, b.missing...)
	}
	return err
}

// partialsOfBlocks adds the answers of the nodes for all blocks to a request.
func (d *Statement) partialsOfBlocks(out *query.Partials) *query.Partials {
	for _, b := range d.blocks {
		out.Blocks = append(out.Blocks, query.BlockPartials{Worker: b.split.Worker, Streams: b.streams()})
	}
	return out
}

// bareTables returns the tables of the partial results, without rows.
func (d *Statement) bareTables() []query.Table {
	if d.blocks == nil {
		return BareTables(d.table)
	}
	var tables []*shardpb.QueryTable
	seen := map[query.TableName]bool{}
	for _, b := range d.blocks {
		if !seen[b.split.Table] {
			seen[b.split.Table] = true
			tables = append(tables, b.table)
		}
	}
	return BareTables(tables...)
}

// noteBlocks writes the part of EXPLAIN about the blocks.
func (d *Statement) noteBlocks(b *strings.Builder) {
	fmt.Fprintf(b, "%d queries of the statement, each split by itself\nlast: %s", len(d.blocks), d.split.Final)
	d.noteTimes(b)
	for _, of := range d.different() {
		b.WriteString("\n")
		of.noteEach(b)
		of.noteNodes(b)
	}
}
