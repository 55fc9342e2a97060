package server

import (
	"context"

	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/proto/tracing"
	"cordwood/shard/query"
	"cordwood/shard/server/distribute"
	"cordwood/shard/store"
)

// shardByShard divides a part of a query into one request for each shard if its table merges rows and has several
// shards on this node. All rows of an identity are in one shard, and only within a shard do rows have an order.
// Otherwise it returns nil.
func shardByShard(req *shardpb.QueryRequest) []*shardpb.QueryRequest {
	if !req.Part || len(req.Tables) != 1 {
		return nil
	}
	t := req.Tables[0]
	if t.Name == nil || t.Table == nil || t.Inline {
		return nil
	}
	if len(t.MoreShards) == 0 {
		return nil
	}
	shards := distribute.ShardsOf(t)
	if len(shards) < 2 || query.MergeOf(schema.FromProto(t.Table)) == query.Append {
		return nil
	}
	out := make([]*shardpb.QueryRequest, len(shards))
	for i, id := range shards {
		out[i] = &shardpb.QueryRequest{
			Sql: req.Sql, Database: req.Database, Limit: req.Limit, Timezone: req.Timezone, Part: true, Share: req.Share,
			QueryId: req.QueryId, AllowPartial: req.AllowPartial, AnyReplica: req.AnyReplica,
			MaxStalenessNanos: req.MaxStalenessNanos, Unchecked: req.Unchecked, Nodes: req.Nodes,
			Tables: []*shardpb.QueryTable{{Name: t.Name, Table: t.Table, ShardId: id, ExpiredBefore: t.ExpiredBefore}},
		}
	}
	return out
}

// queryEach answers several parts of a query with one Arrow IPC stream for each, one after the other. The shards of all
// of them are in views.
func (s *server) queryEach(ctx context.Context, q *runningQuery, list []*shardpb.QueryRequest,
	views map[uint32]*store.View, out *answer,
) error {
	var missing []string
	rows := make([]*gathered, len(list))
	for i, req := range list {
		gathering, span := tracing.Start(ctx, "gather rows")
		g := &gathered{views: views, cold: s.newColdRows(), progress: q}
		err := s.gather(gathering, req, g)
		defer g.release()
		span.End(err)
		if err != nil {
			return err
		}
		rows[i], missing = g, append(missing, g.missing...)
	}
	if len(missing) > 0 {
		if err := out.Missing(missing); err != nil {
			return err
		}
	}
	q.Enter(phaseRun)
	for i, req := range list {
		running, span := tracing.Start(ctx, "run query")
		err := s.runQuery(running, req, &query.Request{
			SQL: req.Sql, Database: req.Database, Tables: rows[i].tables, Limit: req.Limit, Timezone: req.Timezone, Part: true,
		}, rows[i].cold, out)
		span.End(err)
		if err != nil {
			return err
		}
	}
	return nil
}
