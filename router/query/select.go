package query

import (
	"cmp"
	"context"
	"strings"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/proto/tracing"
	"cordwood/proto/turns"
	"cordwood/proto/words"
	"cordwood/router/access"
	"cordwood/router/audit"
	"cordwood/router/query/statement"
)

// reader lets the engines of shard nodes run statements that read rows.
type reader struct {
	names
	shards Shards
	gate   *turns.Gate
	quotas Quotas // nil if nothing is limited
	clients
	changes     *audit.Log
	definitions *definitions
}

// of returns a reader for the caller in ctx.
func (r *reader) of(ctx context.Context) *reader {
	mine := *r
	mine.names = r.names.of(ctx)
	return &mine
}

// query has the engine of a shard node run the statement.
func (r *reader) query(ctx context.Context, q *statement.Query, req *Request, each resultFunc) (err error) {
	_, span := tracing.Start(ctx, "wait for a turn")
	r = r.of(ctx)
	caller := access.From(ctx)
	payer := r.payer(caller, req.Database)
	slot, err := r.gate.Slot(ctx, payer, caller.Share())
	span.End(err)
	if err != nil {
		return err
	}
	defer func() { slot.Leave() }()
	id := cmp.Or(req.QueryID, NewID()) // the same id for every try
	stage, span := tracing.Start(ctx, "analyze")
	analysis, err := r.shards.Analyze(stage, &shardpb.AnalyzeRequest{
		Sql: q.Text, Database: req.Database,
		Share: caller.KnownShare(),
	})
	span.End(err)
	if err != nil {
		return err
	}
	asked := charged(analysis.Tables, payer)
	if err := r.ready(asked); err != nil {
		return err
	}
	if other := r.queried(analysis.Tables, req.Database, payer); other != payer {
		slot.Leave()
		again, err := r.gate.Slot(ctx, other, caller.Share())
		if err != nil {
			return err
		}
		slot = again
	}
	// While the shards wait for object storage, another query may have the slot.
	ctx = turns.WithWaits(ctx, slot.Lend)
	ctx, stop := r.limitTime(ctx, asked)
	defer func() { err = stop(err) }()
	// The span lasts until the whole answer has been written.
	ctx, span = tracing.Start(ctx, "query shards")
	defer func() { span.End(err) }()
	var warnings []string
	stream, missing, err := r.follow(ctx, req, func() (*stream, []words.Missing, error) {
		tables, facts, err := r.queryTables(ctx, q.Text, req, analysis.Tables)
		r.recordRead(ctx, q.Text, req, analysis.Tables, err)
		if err != nil {
			return nil, nil, err
		}
		qr := &shardpb.QueryRequest{
			Sql: q.Text, Database: req.Database, Tables: tables, AllowPartial: req.AllowPartial,
			AnyReplica: req.MaxStaleness > 0, MaxStalenessNanos: int64(req.MaxStaleness), Unchecked: req.behind != nil,
			Share: caller.KnownShare(), Charged: payer, Timezone: req.Timezone, QueryId: id,
		}
		if req.Limited && !analysis.Explain {
			qr.Limit = req.Limit
		}
		stream, err := r.ask(ctx, qr)
		warnings = facts.warnings
		return stream, facts.missing, err
	})
	if err != nil {
		return err
	}
	defer stream.close()
	if err := slot.Return(ctx); err != nil {
		return err
	}
	partial := missing
	if p, ok := stream.src.(interface{ Missing() []words.Missing }); ok {
		partial = append(partial, p.Missing()...)
	}
	if req.Limited {
		return each(ctx, Result{Rows: &limited{Rows: stream, left: req.Limit}, Partial: partial, Warnings: warnings})
	}
	return each(ctx, Result{Rows: stream, Partial: partial, Warnings: warnings})
}

// queried returns the database to which a query counts: the first one of its tables that has a limit of queries, or
// otherwise named, if the query reads one of its tables, or otherwise the first one. It is payer if the query reads
// only tables of the server.
func (r *reader) queried(tables []*shardpb.TableName, named, payer string) string {
	first := ""
	for _, t := range tables {
		d := t.GetDatabase()
		if _, exists := r.meta.Database(d); !exists || schema.ReservedDatabase(d) {
			continue
		}
		if r.quotas != nil {
			if _, limited := r.quotas.QueryLimit(d); limited {
				return d
			}
		}
		if first == "" || d == named {
			first = d
		}
	}
	return cmp.Or(first, payer)
}

// ask sends a query, and returns its answer as soon as the answer starts.
func (r *reader) ask(ctx context.Context, qr *shardpb.QueryRequest) (*stream, error) {
	qr.HearsWaits = true
	body, err := r.shards.Query(ctx, qr)
	if err != nil {
		return nil, err
	}
	s := &stream{src: body}
	if err := s.open(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// followTries is how often a query follows tables whose rows have gone elsewhere.
const followTries = 5

// follow repeats a query with the current tables if one of them has another id by now: because it was truncated,
// because its rows moved to other shards, or because this node could not read the metadata and a shard knows a
// newer table.
func (r *reader) follow(ctx context.Context, req *Request,
	ask func() (*stream, []words.Missing, error),
) (*stream, []words.Missing, error) {
	for try := 1; ; try++ {
		stream, missing, err := ask()
		if reason := errs.ReasonOf(err); err == nil || reason != errs.TableGone && reason != errs.SchemaStale {
			return stream, missing, err
		}
		if try == followTries {
			return nil, nil, errs.New(errs.TableUnavailable,
				"the rows of a table that the statement reads move again and again; try again").WithRetryAfter(time.Second)
		}
		if req.behind = r.newest(ctx); req.behind != nil {
			return nil, nil, unread(req.behind, errs.From(err).Msg+"; its current definition cannot be read")
		}
	}
}

// queryTables finds the tables that a statement reads. The facts contain what their rows lack because a node does not
// answer.
func (r *reader) queryTables(ctx context.Context, sql string, req *Request,
	names []*shardpb.TableName,
) (tables []*shardpb.QueryTable, _ *facts, err error) {
	out := make([]*shardpb.QueryTable, 0, len(names))
	facts := &facts{
		names: r.names, shards: r.shards, clients: r.clients, quotas: r.quotas, ctx: ctx, system: r.names.systemTables(),
		needSizes: true, catalog: req.catalogName(),
	}
	for _, name := range names {
		if t, err := r.findSystemTable(name.Database, name.Name); err == nil && len(names) > 1 {
			facts.least = max(facts.least, t.stats)
		}
		if facts.only == nil && strings.EqualFold(name.Database, schema.CatalogDatabase) {
			facts.only = statement.Restrictions(sql)
		}
	}
	if len(names) == 1 && schema.ReservedDatabase(names[0].Database) {
		facts.filter = statement.TableFilter(sql)
		facts.needSizes = !statement.OnlyUses(sql, tablesTable.namesBut("rows", "bytes", "bucket_bytes", "waiting_bytes"))
	}
	for _, name := range names {
		t, internal := r.internalTable(name.Database, name.Name)
		if schema.ReservedDatabase(name.Database) && !internal {
			qt, err := r.systemRows(name, facts, sql, len(names) == 1)
			if err != nil {
				return nil, nil, err
			}
			out = append(out, qt)
			continue
		}
		if !internal {
			var err error
			if t, err = r.readable(name.Database, name.Name); err != nil {
				return nil, nil, err
			}
		} else if err := r.by().Require(reads(t.Database, t.Name)); err != nil {
			return nil, nil, err
		}
		if len(t.Placement) == 0 {
			return nil, nil, errs.New(errs.TableUnavailable, "table %s.%s has no shard yet; try again", t.Database, t.Name)
		}
		qt := r.queryTable(name, t, nil)
		if err := r.definitions.put(qt, t); err != nil {
			return nil, nil, err
		}
		out = append(out, qt)
	}
	return out, facts, nil
}

// systemRows returns a system table with its rows. If alone is set, the statement reads no other table, and columns
// that it does not use may be left out.
func (r *reader) systemRows(name *shardpb.TableName, facts *facts, sql string, alone bool,
) (*shardpb.QueryTable, error) {
	t, err := r.names.systemTable(name.Database, name.Name)
	if err != nil {
		return nil, err
	}
	var unused []string
	if alone {
		unused = t.unused(sql)
	}
	qt, err := t.encode(facts, unused)
	if err != nil {
		return nil, errs.Wrap(errs.Internal, err, "compute the rows of %s.%s", name.Database, name.Name)
	}
	qt.Name = name
	return qt, nil
}
