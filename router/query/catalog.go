package query

import (
	"cmp"
	"context"
	"slices"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/router/access"
	"cordwood/router/query/statement"
)

// Tables returns the tables of a database that the caller in ctx may read, with the same rules as Table. In a database
// of the server, these are the tables with stored rows.
func (s *Service) Tables(ctx context.Context, database string) ([]*schema.Table, error) {
	caller := access.From(ctx)
	if err := caller.Require(access.Need{Privilege: access.Select, Action: "list tables"}); err != nil {
		return nil, err
	}
	if _, err := s.names.fresh(ctx, oldIsFine); err != nil {
		return nil, err
	}
	names := s.names.of(ctx)
	if err := names.checkDatabase(database); err != nil {
		return nil, err
	}
	return names.tables(database, false), nil
}

// Databases returns the names of the databases that the caller in ctx sees, in order, without those of the server.
func (s *Service) Databases(ctx context.Context) ([]string, error) {
	if err := access.From(ctx).Require(access.Need{Privilege: access.Select, Action: "list databases"}); err != nil {
		return nil, err
	}
	if _, err := s.names.fresh(ctx, oldIsFine); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(s.names.of(ctx).databaseNames(), schema.ReservedDatabase), nil
}

// TableRead returns a table like Table, for a caller who gets its rows by other means than a statement. request is the
// text of the record if reads of the database are recorded.
func (s *Service) TableRead(ctx context.Context, database, name, request string) (*schema.Table, error) {
	t, err := s.Table(ctx, database, name)
	s.reader.recordRead(ctx, request, &Request{}, []*shardpb.TableName{{Database: database, Name: name}}, err)
	return t, err
}

// CheckCondition returns an error if a client's condition is not a condition on the columns of a single table.
func (s *Service) CheckCondition(ctx context.Context, database, where string) error {
	if err := statement.CheckCondition(where); err != nil {
		return errs.Wrap(errs.InvalidSyntax, err, "where")
	}
	a, err := s.reader.shards.Analyze(ctx, &shardpb.AnalyzeRequest{
		Sql: statement.Alone(where), Database: database, Share: access.From(ctx).KnownShare(),
	})
	if err != nil {
		return statement.InAlone(err)
	}
	if len(a.Tables) > 0 || statement.HasQuery(where) {
		return errs.New(errs.Unsupported, "where: a condition can only use the columns of the tables; it cannot contain "+
			"a query")
	}
	return nil
}

// Segment is a file with rows of a table. Times are in the unit of the table's time index.
type Segment struct {
	Table            uint64
	Rows             int64
	MinTime, MaxTime int64
}

// Extent is the size of a table, as reported by the leaders of its shards.
type Extent struct {
	Segments []Segment
	// Rows counts the rows in segments and in memory.
	Rows int64
	// Memory has the rows in memory and their times; nil: the times are not known. Extents leaves it nil.
	Memory *Segment
}

// Extents returns the extent of each table by its id. Shards that do not answer are left out. The numbers are
// estimates, because rows change meanwhile.
func (s *Service) Extents(ctx context.Context, tables []*schema.Table) (map[uint64]*Extent, error) {
	req := &shardpb.StatsRequest{Segments: true}
	out := map[uint64]*Extent{}
	for _, t := range tables {
		req.TableIds = append(req.TableIds, t.ID)
		out[t.ID] = &Extent{}
	}
	if len(tables) == 0 {
		return out, nil
	}
	f := &facts{names: s.names, shards: s.reader.shards, ctx: ctx}
	all, err := s.reader.shards.Stats(ctx, req)
	if err != nil && (ctx.Err() != nil || len(all) == 0) {
		return nil, err
	}
	f.stats = map[statsNeed][]*shardpb.ShardStats{statsSegments: all}
	leaders, err := f.leaders(statsSegments)
	if err != nil {
		return nil, err
	}
	for _, shard := range leaders {
		for _, t := range shard.Tables {
			if e := out[t.TableId]; e != nil {
				e.Rows += t.Rows
			}
		}
		for _, seg := range shard.Segments {
			if e := out[seg.TableId]; e != nil && seg.Quarantined == "" {
				e.Segments = append(e.Segments, Segment{seg.TableId, seg.Rows, seg.MinTime, seg.MaxTime})
			}
		}
	}
	for _, e := range out {
		slices.SortFunc(e.Segments, func(a, b Segment) int { return cmp.Compare(a.MinTime, b.MinTime) })
	}
	return out, nil
}
