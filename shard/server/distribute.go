package server

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"cordwood/proto/errs"
	"cordwood/proto/lru"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/proto/tracing"
	"cordwood/shard/query"
)

// A statement over a table whose shards lie on several nodes is taken apart (query.Split): each node runs a
// statement over the rows that it has, and this node makes the answer of what they return. Where that cannot be
// done, rows are fetched instead (gather.go), and the answer is the same.
//
// Nobody holds a place among the queries of a node while it waits for another node, so queries that ask each
// other's nodes cannot wait for each other.

const (
	// partsAtATime bounds the nodes that one query asks at a time.
	partsAtATime = 24
	// maxPartials bounds the partial results of a query, in bytes. Beyond it rows are fetched, to disk.
	maxPartials = 64 << 20
	// maxAllPartials bounds the partials of all queries of this node, in bytes.
	maxAllPartials = 256 << 20
	// largeFor is how long rows are fetched for a statement whose partial results were too large.
	largeFor = 10 * time.Minute
	// largeKept is how many of such statements are remembered.
	largeKept = 256
)

// large remembers the statements whose partial results were too large. It is safe for concurrent use.
type large struct {
	mu   sync.Mutex // guards seen
	seen *lru.Cache[string, time.Time]
}

func newLarge() *large { return &large{seen: lru.New[string, time.Time](largeKept)} }

func (l *large) add(sql string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen.Put(sql, time.Now(), 1)
}

func (l *large) has(sql string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, ok := l.seen.Get(sql)
	return ok && time.Since(at) < largeFor
}

// errTooLarge ends the reading of partial results.
var errTooLarge = errs.New(errs.Internal, "query: the partial results of the nodes have more than %d bytes",
	maxPartials)

// errTooMany ends it if other queries hold too much.
var errTooMany = errs.New(errs.Internal, "query: the partial results of all queries have more than %d bytes",
	maxAllPartials)

// distribution is a statement on its way to the nodes that have its rows.
type distribution struct {
	server *server
	req    *shardpb.QueryRequest
	query  *runningQuery
	split  *query.Split
	table  *shardpb.QueryTable // whose rows are spread; nil: the statement was not split
	parts  []*part

	mu      sync.Mutex // guards missing
	missing []string
	bytes   atomic.Int64
	// frontier is of statements for the first rows by time, else nil.
	frontier *frontier
	// asked is how long it took until all nodes had answered.
	asked time.Duration
	// failed is why rows are fetched although the statement was split.
	failed error
}

// part is what one node is asked.
type part struct {
	node   string // the presumed leader of the shards
	shards []uint32
	// sql, if not empty, is what it is asked in the place of the statement for all.
	sql  string
	ipc  []byte
	took time.Duration
}

// takeApart prepares a query whose rows lie on other nodes as well. It returns nil if there is nothing to take apart:
// this node has all rows, or the statement is a part already.
func (s *server) takeApart(ctx context.Context, q *runningQuery, req *shardpb.QueryRequest) (*distribution, error) {
	if req.Part || s.cfg.Ask == nil ||
		!slices.ContainsFunc(req.Tables, func(t *shardpb.QueryTable) bool { return s.spread(req, t) }) {
		return nil, nil
	}
	ctx, span := tracing.Start(ctx, "split query")
	d := &distribution{server: s, req: req, query: q}
	var err error
	d.split, err = s.cfg.Engine.Split(ctx, &query.Request{
		SQL: req.Sql, Database: req.Database, Tables: bareTables(req), Limit: req.Limit, Timezone: req.Timezone,
	})
	span.End(err)
	if err != nil {
		return nil, err
	}
	for _, t := range req.Tables {
		if d.split.Reason == "" && d.split.Table == (query.TableName{Database: t.Name.Database, Name: t.Name.Name}) {
			d.table = t
		}
	}
	switch {
	case s.large.has(req.Sql):
		d.split.Reason, d.split.Cause = "its partial results were too large lately", causeLarge
	case d.table == nil:
		const absent = "its table is not among those of the request"
		d.split.Reason, d.split.Cause = cmp.Or(d.split.Reason, absent), cmp.Or(d.split.Cause, causeFailed)
	case !s.spread(req, d.table):
		return nil, nil // what is spread is another table, which the statement does not read
	default:
		d.divide()
	}
	return d, nil
}

// bareTables returns the tables of a request without rows.
func bareTables(req *shardpb.QueryRequest) []query.Table {
	out := make([]query.Table, 0, len(req.Tables))
	for _, t := range req.Tables {
		if t.Name != nil && t.Table != nil {
			out = append(out, query.Table{Database: t.Name.Database, Name: t.Name.Name, Schema: schema.FromProto(t.Table)})
		}
	}
	return out
}

// spread reports whether rows of a table are in several shards, one of which this node cannot show.
func (s *server) spread(req *shardpb.QueryRequest, t *shardpb.QueryTable) bool {
	if t.Inline || t.Name == nil || t.Table == nil {
		return false
	}
	shards := shardsOf(t)
	return len(shards) > 1 && slices.ContainsFunc(shards, func(id uint32) bool {
		sh, ok := s.cfg.Shards(id)
		return !slices.Contains(t.LeftOut, id) && (!ok || !req.AnyReplica && !sh.Leads())
	})
}

// divide groups the shards of the table by the nodes that are presumed to lead them. Rows of a table that merges
// them are merged shard by shard, so each of its shards is a part.
func (d *distribution) divide() {
	merges := query.MergeOf(schema.FromProto(d.table.Table)) != query.Append
	leaders := map[uint32]string{}
	for _, n := range d.req.Nodes {
		if len(n.NodeIds) > 0 {
			leaders[n.ShardId] = n.NodeIds[0]
		}
	}
	byNode := map[string]*part{}
	for _, id := range shardsOf(d.table) {
		if slices.Contains(d.table.LeftOut, id) {
			d.missing = append(d.missing, fmt.Sprintf("%s.%s: shard %d cannot be reached", d.table.Name.Database,
				d.table.Name.Name, id))
			continue
		}
		node := leaders[id]
		p := byNode[node]
		if p == nil || merges {
			p = &part{node: node}
			d.parts, byNode[node] = append(d.parts, p), p
		}
		p.shards = append(p.shards, id)
	}
}

// run answers the query if the statement was taken apart. It returns false if rows have to be fetched; then nothing
// has been sent.
func (d *distribution) run(ctx context.Context,
	stream grpc.ServerStreamingServer[shardpb.QueryChunk],
) (done bool, err error) {
	if d.split.Reason != "" {
		return false, nil
	}
	ctx, span := tracing.Start(ctx, "ask nodes")
	span.Number("nodes", int64(len(d.parts)))
	defer func() { span.End(err) }()
	// What is missing stands in front of an answer, so rows are only passed on if nothing may be missing.
	if d.split.Final == "" && d.split.Explain == "" && !d.req.AllowPartial {
		return d.passOn(ctx, stream)
	}
	defer func() { d.server.partials.Add(-d.bytes.Load()) }()
	if d.split.Explain == "" || strings.Contains(strings.ToUpper(d.split.Explain), "ANALYZE") {
		begin := time.Now()
		if err := d.askBest(ctx); err != nil {
			return d.instead(ctx, err)
		}
		d.asked = time.Since(begin)
	}
	return d.finish(ctx, stream)
}

// instead reports whether err ends the query, or rows are fetched instead: what a statement gets wrong is said
// best of the client's own text, and partial results that are too large are put on disk.
func (d *distribution) instead(ctx context.Context, err error) (done bool, _ error) {
	if ctx.Err() != nil {
		return true, err
	}
	if errors.Is(err, errTooLarge) {
		d.server.large.add(d.req.Sql)
	}
	switch errs.CodeOf(err) {
	case errs.InvalidArguments, errs.PlanQuery, errs.ColumnNotFound, errs.InvalidSyntax, errs.Unsupported, errs.Internal,
		errs.Unexpected:
		d.failed = err
		return false, nil
	}
	return true, err
}

// request returns what a part's node is asked.
func (d *distribution) request(p *part) *shardpb.QueryRequest {
	t := d.table
	return &shardpb.QueryRequest{
		Sql: cmp.Or(p.sql, d.split.Worker), Database: d.req.Database, Part: true, Share: d.req.Share,
		QueryId:      d.query.id,
		AllowPartial: d.req.AllowPartial, AnyReplica: d.req.AnyReplica, MaxStalenessNanos: d.req.MaxStalenessNanos,
		Unchecked: d.req.Unchecked,
		Tables: []*shardpb.QueryTable{{
			Name: t.Name, Table: t.Table, ShardId: p.shards[0], MoreShards: p.shards[1:], ExpiredBefore: t.ExpiredBefore,
		}},
	}
}

// ask asks all nodes and keeps what they return.
func (d *distribution) ask(ctx context.Context) error {
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(partsAtATime)
	d.frontier = newFrontier(d.split)
	d.query.enter(phaseAsk)
	d.query.parts.Store(uint32(len(d.parts)))
	for _, p := range d.parts {
		group.Go(func() error {
			begin := time.Now()
			defer func() {
				p.took = time.Since(begin)
				d.query.done.Add(1)
			}()
			for try := 1; ; try++ {
				err := d.askWithin(gctx, p)
				if err == nil || try == scanTries || gctx.Err() != nil || !away(err) {
					return err
				}
				// The node was lost in the middle: another one may have the rows by now.
			}
		})
	}
	return group.Wait()
}

// fill asks one node and keeps what it returns.
func (d *distribution) fill(ctx context.Context, p *part) error {
	r, err := d.open(ctx, p)
	if err != nil {
		return err
	}
	defer r.Close()
	var buf bytes.Buffer
	if _, err := buf.ReadFrom(&bounded{r, &d.bytes, &d.server.partials}); err != nil {
		d.bytes.Add(-int64(buf.Len()))
		d.server.partials.Add(-int64(buf.Len()))
		return d.ofPart(ctx, p, err)
	}
	p.ipc = buf.Bytes()
	d.frontier.add(p.ipc)
	d.server.metrics.bytes.Add(float64(buf.Len()))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.missing = append(d.missing, r.Partial()...)
	return nil
}

// ofPart says which shards an error of a part is about, if these cannot be asked.
func (d *distribution) ofPart(ctx context.Context, p *part, err error) error {
	if ctx.Err() != nil || !away(err) {
		return err
	}
	names := make([]string, len(p.shards))
	for i, id := range p.shards {
		names[i] = fmt.Sprintf("shard %d", id)
	}
	return errs.Wrap(errs.ShardUnreachable, err, "query: rows of %s in %s", d.split.Table, strings.Join(names, ", ")).
		WithReason(errs.ShardAway)
}

// open asks one node.
func (d *distribution) open(ctx context.Context, p *part) (ScanReader, error) {
	r, err := d.server.cfg.Ask(ctx, d.request(p))
	if err != nil {
		return nil, d.ofPart(ctx, p, err)
	}
	return r, nil
}

// bounded reads partial results up to their bound.
type bounded struct {
	r        io.Reader
	sum, all *atomic.Int64 // bytes of this query, and of all
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

// sendMissing says what the answer lacks, in front of it.
func (d *distribution) sendMissing(stream grpc.ServerStreamingServer[shardpb.QueryChunk]) error {
	if len(d.missing) == 0 {
		return nil
	}
	return stream.Send(&shardpb.QueryChunk{Partial: d.missing})
}

// finish runs the last step over what the nodes returned.
func (d *distribution) finish(ctx context.Context,
	stream grpc.ServerStreamingServer[shardpb.QueryChunk],
) (done bool, err error) {
	d.query.enter(phaseFinish)
	if done, err := d.mergeHere(stream); done {
		return true, err
	}
	partials := &query.Partials{
		Final: d.split.Final, Explain: d.split.Explain, Moment: d.split.Moment, Streams: d.streams(),
	}
	if err := d.sendMissing(stream); err != nil {
		return true, err
	}
	var sent answer
	defer sent.end()
	err = d.server.cfg.Engine.Query(ctx, &query.Request{
		SQL: d.split.Worker, Database: d.req.Database,
		Tables: bareTables(&shardpb.QueryRequest{Tables: []*shardpb.QueryTable{d.table}}),
		Limit:  d.req.Limit, Partials: partials, Note: d.note(),
	}, d.counted(sent.to(stream)))
	if err != nil && sent.bytes == 0 && len(d.missing) == 0 {
		return d.instead(ctx, err)
	}
	return true, err
}

// name returns what people call a node.
func (s *server) name(node string) string {
	if s.cfg.Name == nil {
		return cmp.Or(node, "?")
	}
	return cmp.Or(s.cfg.Name(node), node, "?")
}

// note says for EXPLAIN how the statement was taken apart, or why rows are fetched.
func (d *distribution) note() string {
	if d.split.Reason != "" {
		return "rows of other nodes are fetched: " + d.split.Reason
	}
	if d.failed != nil {
		return "rows of other nodes are fetched: " + errs.From(d.failed).Msg
	}
	var b strings.Builder
	shards := 0
	for _, p := range d.parts {
		shards += len(p.shards)
	}
	fmt.Fprintf(&b, "%s: %s over %d shards, in %d parts\neach: %s\nlast: %s", d.split.Table, d.split.Kind,
		shards, len(d.parts),
		d.split.Worker, cmp.Or(d.split.Final, "the rows of one part after the other"))
	if best := d.split.Best; best != nil {
		fmt.Fprintf(&b, "\nfirst: each node's %d groups with the largest counts, all if these prove nothing", best.Rows)
	}
	if d.asked > 0 {
		fmt.Fprintf(&b, "\nall nodes had answered after %s: %d bytes", d.asked.Round(100*time.Microsecond), d.bytes.Load())
	}
	for _, p := range d.parts {
		fmt.Fprintf(&b, "\nnode %s: shards %s", d.server.name(p.node), strings.Trim(fmt.Sprint(p.shards), "[]"))
		if p.ipc != nil {
			fmt.Fprintf(&b, ", %s rows, %d bytes, %s", rowsOf(p.ipc), len(p.ipc), p.took.Round(100*time.Microsecond))
		}
		switch {
		case p.sql != "" && d.split.Best != nil:
			fmt.Fprintf(&b, ", the %d largest groups are enough", d.split.Best.Rows)
		case p.sql != "":
			b.WriteString(", asked again for rows that are not behind those of others")
		}
	}
	return b.String()
}
