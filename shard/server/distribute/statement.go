package distribute

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"cordwood/proto/lazyregexp"
	"cordwood/proto/shardpb"
	"cordwood/proto/tracing"
	"cordwood/proto/words"
	"cordwood/shard/query"
)

// Statement is a query that runs on the nodes with its rows.
type Statement struct {
	nodes    *Nodes
	req      *shardpb.QueryRequest
	id       string // the id of the query
	progress Progress
	split    *query.Split
	table    *shardpb.QueryTable // the table with several shards; nil if the statement was not split
	parts    []*part
	// definition is the encoded definition of table; nil if the requests for nodes contain table itself.
	definition []byte

	mu      sync.Mutex // guards missing
	missing []words.Missing
	// bytes is the size of the partial results. Blocks have it in common with their statement.
	bytes *atomic.Int64
	// blocks are the parts of a statement of kind several.
	blocks []*Statement
	// frontier is set for statements for the first rows by time, and nil for others.
	frontier *frontier
	// planned is the time that it took to split the statement, asked the time until all nodes had answered.
	planned, asked time.Duration
	// counted reports that the distinct values were counted by their hashes, and number is the result. The nodes sent
	// sentHashes hashes.
	counted    bool
	number     int64
	sentHashes int
	// first are the subqueries that were run first.
	first []ranFirst
	// failed is the reason why rows are fetched although the statement was split.
	failed error

	// copying means that the answer is copied to copied, to be kept.
	copying bool
	copied  []byte

	out Answer
	// sent reports whether rows have been sent to out.
	sent bool
}

// part is the request to one node, and its answer.
type part struct {
	node   string // the presumed leader of the shards, or the node that answered
	shards []uint32
	own    bool // this node leads the shards
	// sql, if not empty, is sent to this node instead of the statement for all nodes.
	sql string
	// streams is the node's answer, and bytes its total size. It is one Arrow stream, or one for each shard if the node
	// has several shards of a table that merges rows. sorted has the rows of each stream, if the statement requests the
	// first rows by time.
	streams [][]byte
	sorted  []*sorted
	bytes   int
	took    time.Duration
	// passed means that rows of the node were sent on as they came, and rows is their number.
	passed bool
	rows   int64
	// reads says what the node reads, and stages how long its stages took, for EXPLAIN.
	reads  string
	stages *shardpb.PartStages
}

// TakeApart splits a query whose rows are also on other nodes; id identifies the query on all
// nodes. It returns nil if this node has all rows, or if the statement is a part already. inner means that the rows are
// for another query of this node. If another query reads only one shard, it returns nil, too: the sender finds the node
// that leads the shard.
func (n *Nodes) TakeApart(ctx context.Context, req *shardpb.QueryRequest, id string, progress Progress, inner bool,
) (*Statement, error) {
	spread := func(t *shardpb.QueryTable) bool { return n.spread(req, t, inner) }
	if req.Part || n.cfg.Ask == nil || !slices.ContainsFunc(req.Tables, spread) {
		return nil, nil
	}
	ctx, span := tracing.Start(ctx, "split query")
	begin := time.Now()
	d := &Statement{nodes: n, req: req, id: id, progress: progress, bytes: &atomic.Int64{}}
	err := d.takeApart(ctx, nil)
	d.planned = time.Since(begin)
	span.End(err)
	if err != nil {
		return nil, err
	}
	if err := d.runFirst(ctx); err != nil {
		return nil, err
	}
	d.table = d.tableOf(d.split.Table)
	switch {
	case d.split.Reason == "" && n.large.has(d.statement()) && (d.split.Hashed == nil || n.shared.has(d.statement())):
		d.split.Reason, d.split.Cause = fmt.Sprintf("in the last %d minutes, its partial results were too large; "+
			"a condition or a LIMIT that leaves fewer groups helps", keptFor/time.Minute), causeLarge
	case d.split.Blocks != nil:
		d.divideBlocks()
	case d.table == nil:
		const absent = "its table is not among those of the request"
		d.split.Reason, d.split.Cause = cmp.Or(d.split.Reason, absent), cmp.Or(d.split.Cause, causeFailed)
	case !spread(d.table) && len(d.split.First) == 0:
		return nil, nil // the statement does not read the table whose rows are elsewhere
	default:
		d.divide()
	}
	return d, nil
}

// explains matches the beginning of an EXPLAIN.
var explains = lazyregexp.New(`(?i)^\s*EXPLAIN(\s+ANALYZE\b)?(\s*\([^)]*\))?\s*`)

// statement returns the text by which the statement is remembered, which is the same for an EXPLAIN of it.
func (d *Statement) statement() string {
	sql := d.req.Sql
	if d.split != nil && d.split.Explain != "" {
		sql = explains.ReplaceAllString(sql, "")
	}
	return d.req.Database + "\x00" + sql
}

// takeApart asks the engine how to split the statement. values are the values of its subqueries, if these are known.
func (d *Statement) takeApart(ctx context.Context, values []query.Values) (err error) {
	d.split, err = d.nodes.cfg.Engine.Split(ctx, &query.Request{
		SQL: d.req.Sql, Database: d.req.Database, Tables: BareTables(d.req.Tables...), Limit: d.req.Limit,
		Timezone: d.req.Timezone, Values: values,
	})
	return err
}

// tableOf returns the table of the request with a name, or nil.
func (d *Statement) tableOf(name query.TableName) *shardpb.QueryTable {
	for _, t := range d.req.Tables {
		if d.split.Reason == "" && t.Name != nil && name == (query.TableName{Database: t.Name.Database, Name: t.Name.Name}) {
			return t
		}
	}
	return nil
}

// spread reports whether this node cannot read the rows of a table in at least one of several shards of the request.
// inner is that of TakeApart.
func (n *Nodes) spread(req *shardpb.QueryRequest, t *shardpb.QueryTable, inner bool) bool {
	if t.Inline || t.Name == nil || t.Table == nil {
		return false
	}
	shards := ShardsOf(t)
	several := len(shards) > 1 || len(req.Tables) > 1 || inner
	return several && slices.ContainsFunc(shards, func(id uint32) bool {
		return !slices.Contains(t.LeftOut, id) && !n.cfg.Shows(id, req.AnyReplica)
	})
}

// divide groups the shards of the table by the nodes that are presumed to lead them, and lists those that are left out.
func (d *Statement) divide() {
	for _, id := range d.table.LeftOut {
		d.missing = append(d.missing, LeftOut(d.table, id))
	}
	d.parts = d.partsByLeader()
}

// LeftOut says that a shard is missing that the request leaves out of a partial answer.
func LeftOut(t *shardpb.QueryTable, shard uint32) words.Missing {
	return words.Missing{Table: t.Name.Database + "." + t.Name.Name, Shard: shard, Reason: "it cannot be reached"}
}

// partsByLeader returns a part for each node that is presumed to lead shards of the table.
func (d *Statement) partsByLeader() (parts []*part) {
	presumed := map[uint32]string{}
	for _, of := range d.req.Nodes {
		if len(of.NodeIds) > 0 {
			presumed[of.ShardId] = of.NodeIds[0]
		}
	}
	byNode := map[string]*part{}
	for _, id := range ShardsOf(d.table) {
		if slices.Contains(d.table.LeftOut, id) {
			continue
		}
		node := presumed[id]
		if d.nodes.cfg.Leader != nil {
			node = cmp.Or(d.nodes.cfg.Leader(id), node)
		}
		p := byNode[node]
		if p == nil {
			p = &part{node: node}
			parts, byNode[node] = append(parts, p), p
		}
		p.shards = append(p.shards, id)
	}
	return parts
}
