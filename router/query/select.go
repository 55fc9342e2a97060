package query

import (
	"context"
	"errors"
	"io"
	"math"
	"time"

	"github.com/apache/arrow-go/v18/arrow/ipc"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/proto/tracing"
	"cordwood/router/access"
	"cordwood/router/query/statement"
)

// query has the engine of a shard node run the statement.
func (s *Service) query(ctx context.Context, q *statement.Query, req *Request, each func(context.Context, Result) error) (err error) {
	_, span := tracing.Start(ctx, "wait for a turn")
	caller := access.From(ctx)
	leave, err := s.gate.Enter(ctx, caller.Share())
	span.End(err)
	if err != nil {
		return err
	}
	defer leave()
	stage, span := tracing.Start(ctx, "analyze")
	analysis, err := s.cfg.Shards.Analyze(stage, &shardpb.AnalyzeRequest{Sql: q.Text, Database: req.Database, Share: caller.KnownShare()})
	span.End(err)
	if err != nil {
		return err
	}
	// Until the whole answer has been written.
	ctx, span = tracing.Start(ctx, "query shards")
	defer func() { span.End(err) }()
	stream, missing, err := s.follow(ctx, q, req, func() (*stream, []string, error) {
		tables, missing, err := s.queryTables(ctx, q.Text, analysis.Tables)
		if err != nil {
			return nil, nil, err
		}
		qr := &shardpb.QueryRequest{Sql: q.Text, Database: req.Database, Tables: tables, AllowPartial: req.AllowPartial, AnyReplica: req.MaxStaleness > 0, MaxStalenessNanos: int64(req.MaxStaleness), Unchecked: req.behind != nil, Share: caller.KnownShare(), Timezone: req.Timezone}
		if req.Limited && !analysis.Explain {
			qr.Limit = req.Limit
		}
		stream, err := s.ask(ctx, qr)
		return stream, missing, err
	})
	if err != nil {
		return err
	}
	defer stream.close()
	partial := missing
	if p, ok := stream.src.(interface{ Partial() []string }); ok {
		partial = append(partial, p.Partial()...)
	}
	if req.Limited {
		return each(ctx, Result{Rows: &limited{Rows: stream, left: req.Limit}, Partial: partial})
	}
	return each(ctx, Result{Rows: stream, Partial: partial})
}

// ask sends a query, and returns its answer once that has begun.
func (s *Service) ask(ctx context.Context, qr *shardpb.QueryRequest) (*stream, error) {
	body, err := s.cfg.Shards.Query(ctx, qr)
	if err != nil {
		return nil, err
	}
	r := &stream{src: body}
	if err := r.open(); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// followTries is how often a query follows tables whose rows have gone elsewhere.
const followTries = 5

// follow has a query asked once more, with the tables as they are then, if one of them has
// another id by now, because it was truncated, or its rows were handed over to other shards,
// or if this node could not read the metadata and a shard knows that the table was changed.
func (s *Service) follow(ctx context.Context, st statement.Statement, req *Request, ask func() (*stream, []string, error)) (*stream, []string, error) {
	for try := 1; ; try++ {
		r, missing, err := ask()
		if reason := errs.ReasonOf(err); err == nil || reason != errs.TableGone && reason != errs.SchemaStale {
			return r, missing, err
		}
		if try == followTries {
			return nil, nil, errs.New(errs.TableUnavailable, "a table that the statement reads keeps changing its place; try again").WithRetryAfter(time.Second)
		}
		if req.behind, _ = s.fresh(ctx, st); req.behind != nil {
			return nil, nil, unread(req.behind, errs.From(err).Msg+"; what it is now cannot be read")
		}
	}
}

// queryTables finds each table that a statement reads, and tells what their rows lack
// because a node does not answer.
func (s *Service) queryTables(ctx context.Context, sql string, names []*shardpb.TableName) (tables []*shardpb.QueryTable, missing []string, err error) {
	out := make([]*shardpb.QueryTable, 0, len(names))
	facts := &facts{service: s, ctx: ctx, system: systemTables, needSizes: true}
	for _, name := range names {
		if t, err := s.systemTable(name.Database, name.Name); err == nil && len(names) > 1 {
			facts.least = max(facts.least, t.stats)
		}
	}
	if len(names) == 1 && schema.ReservedDatabase(names[0].Database) {
		facts.filter = statement.TableFilter(sql)
		facts.needSizes = !statement.OnlyUses(sql, tablesTable.namesBut("rows", "bytes"))
	}
	for _, name := range names {
		t, internal := s.internalTable(name.Database, name.Name)
		if schema.ReservedDatabase(name.Database) && !internal {
			t, err := s.systemTable(name.Database, name.Name)
			if err != nil {
				return nil, nil, err
			}
			var unused []string
			if len(names) == 1 {
				unused = t.unused(sql)
			}
			qt, err := t.encode(facts, unused)
			if err != nil {
				return nil, nil, errs.Wrap(errs.Internal, err, "make the rows of %s.%s", name.Database, name.Name)
			}
			qt.Name = name
			out = append(out, qt)
			continue
		}
		if !internal {
			var err error
			if t, err = s.table(name.Database, name.Name); err != nil {
				return nil, nil, err
			}
		}
		if len(t.Placement) == 0 {
			return nil, nil, errs.New(errs.TableUnavailable, "table %s.%s has no shard yet; try again", t.Database, t.Name)
		}
		out = append(out, s.queryTable(name, t, t.ToProto()))
	}
	return out, facts.missing, nil
}

// queryTable is a table as a shard node is told of it: with all shards that may hold rows
// of it, be it by an earlier placement.
func (s *Service) queryTable(name *shardpb.TableName, t *schema.Table, def *schemapb.Table) *shardpb.QueryTable {
	shards := t.Shards()
	qt := &shardpb.QueryTable{Name: name, Table: def, ShardId: shards[0], MoreShards: shards[1:]}
	if before, ok := s.expiredBefore(t); ok {
		qt.ExpiredBefore = &before
	}
	return qt
}

// expiredBefore is the time index before which rows of the table have expired.
func (s *Service) expiredBefore(t *schema.Table) (int64, bool) {
	ttl := s.ttl(t)
	if ttl.Instant {
		return math.MaxInt64, true // what was written before it was set, too
	}
	return ttl.ExpiredBefore(s.cfg.Now(), t.TimeIndex().Type)
}

// ttl is the table's own ttl, else its database's.
func (s *Service) ttl(t *schema.Table) schema.TTL {
	return schema.EffectiveTTL(t.Options[schema.OptionTTL], s.databaseTTL(t.Database))
}

// databaseTTL is the text of a database's ttl, or nothing.
func (s *Service) databaseTTL(name string) string {
	if d, ok := s.cfg.Meta.Database(name); ok {
		return d.Options[schema.OptionTTL]
	}
	return ""
}

// stream reads the Arrow IPC stream of a query. It remembers the error of the
// connection, which the IPC reader may hide behind one of its own.
type stream struct {
	src io.ReadCloser
	err error
	*ipc.Reader
}

// Read implements io.Reader for the IPC reader.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.src.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

func (s *stream) open() error {
	r, err := ipc.NewReader(readerOnly{s})
	if err != nil {
		return s.cause(err)
	}
	s.Reader = r
	return nil
}

// Err implements format.Rows.
func (s *stream) Err() error { return s.cause(s.Reader.Err()) }

func (s *stream) cause(err error) error {
	if s.err != nil {
		return s.err
	}
	if err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	return errs.Wrap(errs.Internal, err, "read the result of the query")
}

func (s *stream) close() {
	if s.Reader != nil {
		s.Reader.Release()
	}
	_ = s.src.Close() // ends the query; nothing is to be done about an error
}

// readerOnly hides the methods of the record reader that Read stands beside.
type readerOnly struct{ s *stream }

func (r readerOnly) Read(p []byte) (int, error) { return r.s.Read(p) }
