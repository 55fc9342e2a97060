package server

import (
	"context"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/proto/words"
	"cordwood/shard/query"
	"cordwood/shard/query/spool"
	"cordwood/shard/server/distribute"
	"cordwood/shard/store"
)

// scansAtATime is how many scans a query runs at a time.
const scansAtATime = 4

// spooledOrder is greater than the order of every segment of a shard. Fetched rows are merged
// already, and have no identity in common with rows that are here.
const spooledOrder = 1 << 62

// gathered is the data that a query may read, from this node and others.
type gathered struct {
	tables []query.Table
	// missing returns texts about shards that are left out, if that is allowed.
	missing []words.Missing

	// note describes the rows that are fetched from other nodes, if the statement is an EXPLAIN. fetched are the answers
	// of the nodes.
	note    string
	fetched []fetched

	// progress is told about the rows that are fetched.
	progress *runningQuery

	// views belong to the caller.
	views  map[uint32]*store.View
	spools []*spool.Spool
	// cold reads the objects among the rows.
	cold *coldRows
}

// release releases everything but the views. The engine must not use it afterwards.
func (g *gathered) release() {
	g.cold.release()
	for _, s := range g.spools {
		_ = s.Close() // the next start removes the files otherwise
	}
}

// open opens views of the shards of the request that are read here, each at one index of the shard's log. The caller
// closes them. inner is that of query.
func (s *server) open(ctx context.Context, req *shardpb.QueryRequest, inner bool) (map[uint32]*store.View, error) {
	views := map[uint32]*store.View{}
	byShard := map[uint32][]*schemapb.Table{}
	for _, t := range req.Tables {
		if t.Name == nil || t.Table == nil {
			return nil, errs.New(errs.InvalidArguments, "query: the request has a table without a name or a definition")
		}
		if t.Inline {
			continue
		}
		for _, id := range distribute.ShardsOf(t) {
			byShard[id] = append(byShard[id], t.Table)
		}
	}
	if err := s.views(ctx, req, inner, byShard, views); err != nil {
		closeViews(views)
		return nil, err
	}
	return views, nil
}

// closeViews closes views of shards.
func closeViews(views map[uint32]*store.View) {
	for _, v := range views {
		v.Close()
	}
}

// gather collects the rows that the query may read. Rows of shards that this node leads are in the views of g; others
// are fetched.
//
// A table in several shards is the union of its rows there. Rows of one identity are in one shard
// only: tables that merge rows spread them by their tags, and move rows when the table gets other
// shards.
func (s *server) gather(ctx context.Context, req *shardpb.QueryRequest, g *gathered) (err error) {
	inline := 0
	var fetches []fetch
	for i, t := range req.Tables {
		qt := query.Table{
			Database:      t.Name.Database,
			Name:          t.Name.Name,
			Schema:        schema.FromProto(t.Table),
			ExpiredBefore: t.ExpiredBefore,
		}
		if t.Inline {
			if qt.Batches, err = decodeInline(t, &inline); err != nil {
				return err
			}
			g.tables = append(g.tables, qt)
			continue
		}
		for _, id := range t.LeftOut {
			g.missing = append(g.missing, distribute.LeftOut(t, id))
		}
		native := false
		for _, id := range distribute.ShardsOf(t) {
			v := g.views[id]
			switch {
			case slices.Contains(t.LeftOut, id):
			case v != nil && !native:
				show(&qt, v, t.Table.Id, g.cold)
				native = true
			case v != nil && joins(ctx, &qt, v, t.Table.Id, g.cold):
			default:
				fetches = append(fetches, fetch{table: i, shard: id})
			}
		}
		if req.AllowPartial {
			g.missing = append(g.missing, leaveOutOf(&qt)...)
		}
		g.tables = append(g.tables, qt)
	}
	if len(fetches) > 0 {
		return s.fetch(ctx, req, g, fetches)
	}
	return nil
}

// views opens views of the shards that this node can read: it leads them, or any replica is
// sufficient.
func (s *server) views(ctx context.Context, req *shardpb.QueryRequest, inner bool,
	byShard map[uint32][]*schemapb.Table, views map[uint32]*store.View,
) error {
	var mu sync.Mutex // guards views
	open := func(ctx context.Context, id uint32, of []*schemapb.Table) error {
		if _, ok := s.cfg.Shards(id); !ok && s.cfg.Scan != nil {
			return nil
		}
		v, err := s.view(ctx, req, inner || len(byShard) > 1, id, of)
		if v != nil {
			mu.Lock()
			defer mu.Unlock()
			views[id] = v
		}
		return err
	}
	if len(byShard) == 1 {
		for id, of := range byShard {
			return open(ctx, id, of)
		}
	}
	// A shard without a leader is waited for, so shards are opened at the same time.
	group, gctx := errgroup.WithContext(ctx)
	for id, of := range byShard {
		group.Go(func() error { return open(gctx, id, of) })
	}
	return group.Wait()
}

// view opens a view of a shard. It returns nil if its rows are to be fetched from another node. others means that no
// other node would be asked for the query if this one returned an error.
func (s *server) view(ctx context.Context, req *shardpb.QueryRequest, others bool, id uint32, of []*schemapb.Table,
) (*store.View, error) {
	sh, err := s.present(ctx, id, req.AnyReplica, time.Duration(req.MaxStalenessNanos), 0, of...)
	if err != nil {
		// Another node may lead the shard. If the query reads no other shard, this error is the error of the query, and
		// the sender asks that node.
		if s.cfg.Scan != nil && ctx.Err() == nil && (others || req.AllowPartial) {
			return nil, nil
		}
		return nil, err
	}
	tables := make([]uint64, len(of))
	for i, t := range of {
		tables[i] = t.Id
	}
	v := sh.ReadView(tables...)
	if v == nil {
		return nil, store.Unreachable(id)
	}
	if err := sh.Store().Tables.Gone(tables...); err != nil {
		return v, err
	}
	if req.Unchecked {
		return v, sh.Store().Tables.Outdated(of)
	}
	return v, nil
}

// joins reports whether a view's rows of a table can be combined with rows of another shard without
// merging, because rows that never merged need no order.
func joins(ctx context.Context, qt *query.Table, v *store.View, tableID uint64, cold *coldRows) bool {
	more := query.Table{Schema: qt.Schema}
	show(&more, v, tableID, cold)
	qt.Schema = more.Schema
	if qt.Merge != query.Append || more.Merge != query.Append || len(qt.Eras) > 0 || len(more.Eras) > 0 {
		return false
	}
	qt.Segments = append(qt.Segments, more.Segments...)
	qt.Batches = append(qt.Batches, more.Batches...)
	return true
}

// fetch describes the rows of a table in a shard that have to come from another node.
type fetch struct {
	table int // index in the request
	shard uint32
}

// fetch fetches rows into spools, several shards at a time.
func (s *server) fetch(ctx context.Context, req *shardpb.QueryRequest, g *gathered, fetches []fetch) error {
	if s.cfg.Scan == nil || s.cfg.Spool == nil {
		return store.Unreachable(fetches[0].shard)
	}
	needs, err := s.needs(ctx, req, g.tables)
	if err != nil {
		return err
	}
	about, err := s.cfg.Engine.Analyze(ctx, req.Sql, req.Database)
	if err != nil {
		return err
	}
	if about.Explain {
		g.note = noteFetches(req, needs, fetches, about.Runs)
	}
	if !about.Runs {
		return nil
	}
	nodes := map[uint32][]string{}
	for _, n := range req.Nodes {
		nodes[n.ShardId] = n.NodeIds
	}
	var mu sync.Mutex // guards g and spooled
	spooled := map[int][]*spool.Spool{}
	g.progress.Asks(len(fetches))
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(scansAtATime)
	for _, f := range fetches {
		if needs[f.table].IDs == nil {
			g.progress.Answered()
			continue
		}
		group.Go(func() error {
			t := req.Tables[f.table]
			of := fetched{fetch: f, progress: g.progress}
			sp, missing, err := s.fetchOne(gctx, req, t, &of, nodes[f.shard], needs[f.table], g.tables[f.table].Schema)
			g.progress.Answered()
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				table := t.Name.Database + "." + t.Name.Name
				away := gctx.Err() == nil && distribute.Away(err)
				if away && req.AllowPartial {
					g.missing = append(g.missing, words.Missing{Table: table, Shard: f.shard, Reason: errs.From(err).Msg})
					return nil
				}
				e := errs.Wrap(errs.ShardUnreachable, err, "query: rows of %s in shard %d", table, f.shard)
				if away {
					e = e.WithReason(errs.ShardAway)
				}
				return e
			}
			g.missing = append(g.missing, missing...)
			g.spools = append(g.spools, sp)
			spooled[f.table] = append(spooled[f.table], sp)
			g.fetched = append(g.fetched, of)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if about.Explain {
		g.note += s.noteFetched(req, g.fetched)
	}
	for _, i := range slices.Sorted(maps.Keys(spooled)) {
		qt := &g.tables[i]
		if len(qt.Segments)+len(qt.Batches) == 0 {
			qt.Merge, qt.Eras = query.Append, nil // rows are merged before they are sent
		}
		for _, sp := range spooled[i] {
			segments, batches, err := sp.Rows()
			if err != nil {
				return err
			}
			for _, seg := range segments {
				seg.Order += spooledOrder
				qt.Segments = append(qt.Segments, seg)
			}
			qt.Batches = append(qt.Batches, batches...)
			if t := sp.Table(); t != qt.Schema {
				qt.Schema = store.Widened(qt.Schema, t)
			}
		}
	}
	return nil
}

// needs asks the engine what the statement reads of each table of the request. A table without
// columns is not read.
func (s *server) needs(ctx context.Context, req *shardpb.QueryRequest, tables []query.Table) ([]query.Need, error) {
	bare := make([]query.Table, len(tables))
	for i := range tables {
		t := &tables[i]
		bare[i] = query.Table{Database: t.Database, Name: t.Name, Schema: t.Schema, Merge: query.MergeOf(t.Schema)}
	}
	found, err := s.cfg.Engine.Needs(ctx, &query.Request{
		SQL:      req.Sql,
		Database: req.Database,
		Tables:   bare,
		Timezone: req.Timezone,
	})
	if err != nil {
		return nil, err
	}
	out := make([]query.Need, len(tables))
	for i := range tables {
		for _, n := range found {
			if n.Name == (query.TableName{Database: tables[i].Database, Name: tables[i].Name}) {
				if out[i].IDs == nil {
					out[i] = n
					continue
				}
				// The statement contains the table under two names.
				for k, id := range n.IDs {
					if !slices.Contains(out[i].IDs, id) {
						out[i].IDs, out[i].Columns = append(out[i].IDs, id), append(out[i].Columns, n.Columns[k])
					}
				}
				out[i].Where = ""
			}
		}
	}
	return out, nil
}

// fetchOne fetches the rows of one table in one shard, and records which node sent them and how many.
func (s *server) fetchOne(ctx context.Context, req *shardpb.QueryRequest, t *shardpb.QueryTable, of *fetched,
	nodes []string, need query.Need, table *schema.Table,
) (sp *spool.Spool, missing []words.Missing, err error) {
	scan := &shardpb.ScanRequest{
		ShardId: of.shard, Table: t.Table, Columns: need.Columns, Where: need.Where, ExpiredBefore: t.ExpiredBefore,
		AllowPartial: req.AllowPartial, AnyReplica: req.AnyReplica, MaxStalenessNanos: req.MaxStalenessNanos,
		Unchecked: req.Unchecked, Share: req.Share, QueryId: of.progress.id,
	}
	at := int64(0) // the time of rows that are fetched without it: they have not expired
	if t.ExpiredBefore != nil {
		at = max(at, *t.ExpiredBefore)
	}
	for try := 1; ; try++ {
		if sp, err = s.cfg.Spool.New(table, need.IDs, at); err != nil {
			return nil, nil, err
		}
		missing, err = s.fill(ctx, sp, nodes, scan, of)
		if err == nil {
			of.rows = sp.NumRows()
			return sp, missing, nil
		}
		_ = sp.Close()
		if try == distribute.Tries || ctx.Err() != nil || !distribute.Again(err) {
			return nil, nil, err
		}
	}
}

// receiving tells a query about the bytes that it reads from another node.
type receiving struct {
	io.Reader
	query *runningQuery
}

func (r receiving) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.query.Received(n)
	return n, err
}

// fill reads the rows of a scan into a spool.
func (s *server) fill(ctx context.Context, sp *spool.Spool, nodes []string,
	scan *shardpb.ScanRequest, of *fetched,
) (missing []words.Missing, err error) {
	begin := time.Now()
	r, err := s.cfg.Scan(ctx, nodes, scan)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	src := &distribute.Remembering{R: receiving{r, of.progress}}
	defer func() { of.answeredBy(r, src.Bytes, time.Since(begin)) }()
	if err := sp.Read(src); err != nil {
		if src.Err != nil {
			return nil, distribute.Broke(src.Err) // the error of the IPC reader is less exact
		}
		return nil, onNode(errs.Wrap(errs.Internal, err, "read the rows of a scan"), s.cfg.Here)
	}
	if src.Err != nil {
		return nil, distribute.Broke(src.Err)
	}
	return r.Missing(), nil
}
